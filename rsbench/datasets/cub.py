"""Caltech-UCSD Birds 200-2011: species, images, and attributes marked in them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.core.components import fresh
from rsbench.core.data import Data, Drawn, Names, Training
from rsbench.datasets.cub_files import CERTAINTIES, Table, list_folder, read_table
from rsbench.datasets.generative import World, generate
from rsbench.datasets.real import RealOrSimulated, Source, take
from rsbench.datasets.splits import check_split, is_by_counts, split_classes
from rsbench.errors import UserError, is_number
from rsbench.files.archive import Archive

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

#: Of the stand-in: 50 classes, 2,933 images, as the standard split has.
CLASS_SIZES = (60,) * 35 + (59,) * 5 + (58, 58, 56, 56, 53, 53, 52, 52, 50, 50)


class CUB(RealOrSimulated):
    """Caltech-UCSD Birds: 50 species, 312 attributes, about 31 marked per image.

    Parameters
    ----------
    source : {"auto", "disk", "simulated"}
        The real data set if it is there, else the stand-in; the real one or an error;
        the stand-in.
    root : str or None
        Folder CUB_200_2011, by default looked for in RSBENCH_DATA; or an npz file with
        `y`, `Z`, `class_names` and `attribute_names`, for features made elsewhere.
    split : sequence of int, sequence of str, or str
        Species to train attribute detectors on, to validate them on, and to learn from
        few samples: three counts, three files of names, or one file with the few-shot
        species.
    split_seed : int
        Draws the species.
    votes : {"given", "certainty"}
        Votes as they are, or weighted by how certain the annotator was.
    certainty_weights : tuple of float
        Weights of a vote given as not visible, guessing, probably and definitely.
    not_visible : {"count", "drop"}
        What class-level counts make of a part that was not visible: no vote for it, or
        no vote at all.
    annotated : int or None
        Learn only from images that a person annotated, of species with so many of them,
        and test on the others (protocol.test=mask); for a file that has made up some
        votes and says which, in `real_annotation`.
    concepts : {"features", "beside"}
        Whether attributes are the features that are learned from, by the scores of
        their detectors; or concepts beside the features of a network, which have no
        names.
    on_bad_image : {"error", "drop"}
        Whether images that are missing or damaged are an error, or left out and
        counted.
    difficulty : float
        Of the stand-in; scales its detectors' disturbances.
    draw : int
        Of the stand-in; another number, another simulated data set.
    """

    archive = Archive(
        folder="CUB_200_2011",
        url=(
            "https://data.caltech.edu/records/65de6-vp158/files/"
            "CUB_200_2011.tgz?download=1"
        ),
        md5="97eceeb196236b17998738112f37df78",
        beside=("attributes.txt",),
    )
    how_to_get_real = "Get the real one with: python -m rsbench data get cub"
    simulated_settings = (*RealOrSimulated.simulated_settings, "concepts")

    def __init__(
        self,
        source: Source = "auto",
        root: str | None = None,
        split: Any = (100, 50, 50),
        split_seed: int = 0,
        votes: Literal["given", "certainty"] = "given",
        certainty_weights: tuple[float, ...] = (0.0, 0.5, 0.75, 1.0),
        not_visible: Literal["count", "drop"] = "count",
        annotated: int | None = None,
        concepts: Literal["features", "beside"] = "features",
        on_bad_image: Literal["error", "drop"] = "error",
        difficulty: float = 1.0,
        draw: int = 0,
    ):
        super().__init__(source, root)
        self.split = split
        self.split_seed = split_seed
        self.votes = votes
        self.certainty_weights = certainty_weights
        self.not_visible = not_visible
        self.annotated = annotated
        self.concepts = concepts
        self.on_bad_image = on_bad_image
        self.difficulty = difficulty
        self.draw = draw
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_split(self.split)
        if self.split_seed < 0:
            raise UserError(f"dataset.split_seed={self.split_seed}: expected 0 or more")
        if self.annotated is not None and self.annotated < 1:
            raise UserError(f"dataset.annotated={self.annotated}: expected 1 or more")
        weights = self.certainty_weights
        right = len(weights) == len(CERTAINTIES)
        for weight in weights:
            right = right and is_number(weight) and 0 <= weight <= 1
        if not right:
            raise UserError(
                f"dataset.certainty_weights={list(weights)}: expected four numbers in "
                f"[0, 1], for {', '.join(CERTAINTIES)}"
            )

    def drawn(self, number: int) -> "CUB":
        """Return the data set of another split of the species, or another stand-in."""
        if self.find() is None:
            return fresh(self, draw=self.draw + number)
        if number > 0 and not is_by_counts(self.split):
            raise UserError(
                f"dataset.split={self.split}: species that files name cannot be drawn "
                "anew. Give counts of species, such as dataset.split=[100,50,50]"
            )
        return fresh(self, split_seed=self.split_seed + number)

    def read(self, root: Path) -> Data:
        """Return the few-shot species' images, and the others for training."""
        table = read_table(root)
        shown = np.unique(table.y)  # a copy may list species that it has no images of
        species = np.array(table.classes)
        parts = split_classes(self.split, species[shown].tolist(), self.split_seed)
        train, validation, few = (shown[part] for part in parts)
        if self.annotated is not None:
            few = self._really_annotated(table, few)

        samples = np.flatnonzero(np.isin(table.y, few))
        # Numbered anew: learners know the few-shot species alone.
        present, y = np.unique(table.y[samples], return_inverse=True)
        class_names = tuple(species[present].tolist())
        Z, visible = self._votes(table)
        if visible is not None:
            visible = visible[samples]
        others = np.flatnonzero(np.isin(table.y, np.concatenate([train, validation])))
        test = None
        if self.annotated is not None and table.annotated is not None:
            test = ~table.annotated[samples]
        drawn = None
        if is_by_counts(self.split):
            drawn = Drawn(len(few), len(shown))
        return Data(
            y=y,
            Z=Z[samples],
            visible=visible,
            test=test,
            images=take(table.images, samples),
            training=Training(
                images=take(table.images, others),
                y=table.y[others],
                # As given: how annotations are weighed must not change the features.
                Z=table.present[others],
                validation=np.isin(table.y[others], validation),
            ),
            on_bad_image=self.on_bad_image,
            names=self._names(table.attributes, class_names),
            drawn=drawn,
        )

    def _names(self, attributes: Sequence[str], classes: Sequence[str]) -> Names:
        """Return names, of which attributes' are for features or for concepts."""
        if self.concepts == "beside":
            return Names((), tuple(classes), tuple(attributes))
        return Names(tuple(attributes), tuple(classes))

    def _really_annotated(self, table: Table, few: np.ndarray) -> np.ndarray:
        """Return the species with enough images that a person annotated."""
        if table.annotated is None:
            raise UserError(
                f"dataset.annotated={self.annotated}: {table.where} does not say whose "
                "votes were made up ('real_annotation'), so all of them count"
            )
        real = np.bincount(table.y[table.annotated], minlength=len(table.classes))
        others = np.bincount(table.y[~table.annotated], minlength=len(table.classes))
        kept = few[(real[few] >= self.annotated) & (others[few] > 0)]
        if len(kept) < 2:
            raise UserError(
                f"dataset.annotated={self.annotated}: {len(kept)} few-shot species "
                "have so many images that a person annotated, at least two are needed"
            )
        return kept

    def _votes(self, table: Table) -> tuple[np.ndarray, np.ndarray | None]:
        """Return votes as `votes` has them, and which could be given.

        None stands for all of them.
        """
        if self.votes == "given" and self.not_visible == "count":
            return table.present, None
        if table.certainty is None:
            raise UserError(
                f"{table.where} holds no certainties: only dataset.votes=given "
                "dataset.not_visible=count"
            )
        weights = np.ones(len(CERTAINTIES), np.float32)
        if self.votes == "certainty":
            weights = np.array(self.certainty_weights, np.float32)
        visible = None
        if self.not_visible == "drop":
            visible = table.certainty > CERTAINTIES.index("not visible")
        return table.present * weights[table.certainty], visible

    def simulate(self) -> Data:
        """Return simulated species over CUB's attributes."""
        attributes: list[str] = []
        for group, size in GROUPS.items():
            attributes += [f"{group}::{i}" for i in range(size)]
        classes = [f"species{c}" for c in range(len(CLASS_SIZES))]
        world = World(difficulty=self.difficulty, draw=self.draw)
        names = self._names(attributes, classes)
        return generate(world, CLASS_SIZES, tuple(GROUPS.values()), names)

    def status(self, root: Path) -> tuple[bool, str]:
        """Return whether the folder is complete, and in words what is in it."""
        images, classes, attributes = list_folder(root)
        there = 0
        for name in images:
            if (root / "images" / name).is_file():
                there += 1
        found = f"{there:,} of {len(images):,} images"
        complete = there == len(images)
        return complete, f"{found}, {classes} species, {attributes} attributes"
