"""Caltech-UCSD Birds 200-2011: species, images, and attributes that people marked in them."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.core.data import Data, Names, Training
from rsbench.datasets.cub_files import CERTAINTIES, Table, list_folder, read_table
from rsbench.datasets.generative import World, generate
from rsbench.datasets.real import Archive, RealOrSimulated, Source, take
from rsbench.datasets.splits import check_split, split_classes
from rsbench.errors import UserError, is_number

#: The 28 groups of CUB's 312 attributes, in the order of its attributes.txt.
GROUPS = {
    "has_bill_shape": 9,
    "has_wing_color": 15,
    "has_upperparts_color": 15,
    "has_underparts_color": 15,
    "has_breast_pattern": 4,
    "has_back_color": 15,
    "has_tail_shape": 6,
    "has_upper_tail_color": 15,
    "has_head_pattern": 11,
    "has_breast_color": 15,
    "has_throat_color": 15,
    "has_eye_color": 14,
    "has_bill_length": 3,
    "has_forehead_color": 15,
    "has_under_tail_color": 15,
    "has_nape_color": 15,
    "has_belly_color": 15,
    "has_wing_shape": 5,
    "has_size": 5,
    "has_shape": 14,
    "has_back_pattern": 4,
    "has_tail_pattern": 4,
    "has_belly_pattern": 4,
    "has_primary_color": 15,
    "has_leg_color": 15,
    "has_bill_color": 15,
    "has_crown_color": 15,
    "has_wing_pattern": 4,
}

#: Of the stand-in: 50 classes, 2,933 images.
CLASS_SIZES = (60,) * 35 + (59,) * 5 + (58, 58, 56, 56, 53, 53, 52, 52, 50, 50)


class CUB(RealOrSimulated):
    """Caltech-UCSD Birds: 50 species, 312 attributes, about 31 marked per image.

    Parameters
    ----------
    source : `auto` (real if there, else simulated), `disk` (real or an error), `simulated`.
    root : folder CUB_200_2011, by default looked for in RSBENCH_DATA; or an npz with `y`, `Z`, `class_names`,
        `attribute_names` for features made elsewhere.
    split : species to train attribute detectors on, to validate them on, and to learn from few samples: three
        counts, three files of names, or one file with the few-shot species.
    split_seed : draws the species.
    votes : as `given`, or weighted by the annotator's `certainty`.
    certainty_weights : of a vote given as not visible, guessing, probably, definitely.
    not_visible : `count` as no vote, or `drop` from class-level counts where the part was not visible.
    on_bad_image : `error`, or `drop` images that are missing or damaged and say how many.
    difficulty : of the stand-in; scales its detectors' disturbances.
    draw : of the stand-in; another number, another simulated data set.
    """

    archive = Archive(
        folder="CUB_200_2011",
        url="https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz?download=1",
        md5="97eceeb196236b17998738112f37df78",
        beside=("attributes.txt",),
    )
    how_to_get_real = "Get the real one with: python -m rsbench data get cub"

    def __init__(
        self,
        source: Source = "auto",
        root: str | None = None,
        split: Any = (100, 50, 50),
        split_seed: int = 0,
        votes: Literal["given", "certainty"] = "given",
        certainty_weights: tuple[float, ...] = (0.0, 0.5, 0.75, 1.0),
        not_visible: Literal["count", "drop"] = "count",
        on_bad_image: Literal["error", "drop"] = "error",
        difficulty: float = 1.0,
        draw: int = 0,
    ):
        super().__init__(source, root)
        self.split = (
            tuple(split) if isinstance(split, list) else split
        )  # as a config has it, and the default
        self.split_seed = split_seed
        self.votes = votes
        self.certainty_weights = certainty_weights
        self.not_visible = not_visible
        self.on_bad_image: Literal["error", "drop"] = on_bad_image
        self.difficulty = difficulty
        self.draw = draw
        check_split(split)
        if split_seed < 0:
            raise UserError(f"dataset.split_seed={split_seed}: expected 0 or more")
        weights = certainty_weights
        if len(weights) != len(CERTAINTIES) or not all(
            is_number(w) and 0 <= w <= 1 for w in weights
        ):
            raise UserError(
                f"dataset.certainty_weights={list(weights)}: expected four numbers in [0, 1], "
                f"for {', '.join(CERTAINTIES)}"
            )

    def _read(self, root: Path) -> Data:
        table = read_table(root)
        shown = np.unique(table.y)  # a copy may list species that it has no images of
        parts = split_classes(
            self.split, [table.classes[c] for c in shown], self.split_seed
        )
        train, validation, few = (shown[part] for part in parts)
        Z, visible = self._policy(table)
        samples = np.flatnonzero(np.isin(table.y, few))
        others = np.flatnonzero(np.isin(table.y, np.concatenate([train, validation])))
        present, y = np.unique(table.y[samples], return_inverse=True)
        return Data(
            y=y,
            Z=Z[samples],
            visible=None if visible is None else visible[samples],
            images=take(table.images, samples),
            # Detectors always learn the votes as given: a policy for annotations must not change the features.
            training=Training(
                take(table.images, others),
                table.y[others],
                table.present[others],
                np.isin(table.y[others], validation),
            ),
            on_bad_image=self.on_bad_image,
            names=Names(table.attributes, tuple(table.classes[c] for c in present)),
        )

    def _policy(self, table: Table) -> tuple[np.ndarray, np.ndarray | None]:
        """Votes, and which could be given, by the chosen policy."""
        if (self.votes, self.not_visible) == ("given", "count"):
            return table.present, None
        if table.certainty is None:
            raise UserError(
                f"{table.where} holds no certainties: only dataset.votes=given dataset.not_visible=count"
            )
        weights = np.array(
            self.certainty_weights if self.votes == "certainty" else (1.0,) * 4,
            np.float32,
        )
        visible = table.certainty > 0 if self.not_visible == "drop" else None
        return table.present * weights[table.certainty], visible

    def status(self, root: Path) -> tuple[bool, str]:
        """Whether the folder is complete, and what is in it."""
        images, classes, attributes = list_folder(root)
        missing = sum(not (root / "images" / name).is_file() for name in images)
        found = f"{len(images) - missing:,} of {len(images):,} images"
        return not missing, f"{found}, {classes} species, {attributes} attributes"

    def _simulate(self) -> Data:
        features = tuple(
            f"{group}::{i}" for group, size in GROUPS.items() for i in range(size)
        )
        names = Names(features, tuple(f"species{c}" for c in range(len(CLASS_SIZES))))
        world = World(difficulty=self.difficulty, draw=self.draw)
        return generate(world, CLASS_SIZES, tuple(GROUPS.values()), names)
