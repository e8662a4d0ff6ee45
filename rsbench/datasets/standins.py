"""CUB and SUN: the switch between the real data sets and their simulated stand-ins.

The stand-ins have the real ones' shape and some of their marginals (votes per image, class sizes, how
well detectors detect). The model's other knobs were settled by looking at the order of the methods, so
that order is no evidence of anything; docs/data.md says more.
"""

import dataclasses
import os
from pathlib import Path
from typing import Literal

import numpy as np

from rsbench.data import Data, Names
from rsbench.datasets.generative import World, generate
from rsbench.errors import UserError

Source = Literal["auto", "disk", "simulated"]

#: The 28 groups of CUB's 312 attributes, in the order of its attributes.txt.
CUB_GROUPS = {
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

#: 50 classes, 2,933 images.
CUB_CLASS_SIZES = (60,) * 35 + (59,) * 5 + (58, 58, 56, 56, 53, 53, 52, 52, 50, 50)

#: (smallest class, classes at least as large, up to 100 samples): the paper's class counts.
SUN_BOUNDS = (
    (100, 1),
    (75, 13),
    (62, 21),
    (47, 34),
    (40, 41),
    (34, 54),
    (31, 62),
    (28, 72),
    (24, 83),
    (20, 100),
    (18, 110),
)
SUN_TOO_LARGE, SUN_TOO_SMALL = (200, 150, 120), (17, 16, 15, 14, 12, 10, 8)


class _RealOrSimulated:
    """Takes the real data set when it is there, and otherwise says that it is simulated."""

    #: Folder of the real data set below RSBENCH_DATA, and how to come by it.
    folder: str
    how_to_get_real: str

    def __init__(self, source: Source = "auto", root: str | None = None, difficulty: float = 1.0, draw: int = 0):
        self.source = source
        self.root = root
        self.difficulty = difficulty
        self.draw = draw

    def load(self) -> Data:
        """The data set, real or simulated; `Data.simulated` tells which."""
        root = Path(self.root) if self.root else Path(os.environ.get("RSBENCH_DATA", "data")) / self.folder
        if self.source == "simulated":
            return self._stand_in()
        if root.exists():
            raise UserError(
                f"{root} is there, but reading {self.folder} is not built yet. "
                f"{self.how_to_get_real}; or take the stand-in: dataset.source=simulated"
            )
        if self.source == "disk" or self.root:
            raise UserError(
                f"{root} is not there. Put {self.folder} there, or name its place with dataset.root or RSBENCH_DATA"
            )
        return self._stand_in()

    def _stand_in(self) -> Data:
        return dataclasses.replace(self._simulate(), how_to_get_real=self.how_to_get_real)

    def _simulate(self) -> Data:
        raise NotImplementedError


class CUB(_RealOrSimulated):
    """Caltech-UCSD Birds: 50 species, 312 attributes, about 31 marked per image.

    Parameters
    ----------
    source : `auto` (real if there, else simulated), `disk` (real or an error), `simulated`.
    root : folder CUB_200_2011; by default looked for in RSBENCH_DATA.
    difficulty : of the stand-in; scales its detectors' disturbances.
    draw : of the stand-in; another number, another simulated data set.
    """

    folder = "CUB_200_2011"
    how_to_get_real = "Real attribute scores can be used now with dataset=arrays dataset.path=FILE.npz (docs/data.md)"

    def _simulate(self) -> Data:
        features = tuple(f"{group}::{i}" for group, size in CUB_GROUPS.items() for i in range(size))
        names = Names(features, tuple(f"species{c}" for c in range(len(CUB_CLASS_SIZES))))
        world = World(difficulty=self.difficulty, draw=self.draw)
        return generate(world, CUB_CLASS_SIZES, tuple(CUB_GROUPS.values()), names)


class SUN(_RealOrSimulated):
    """SUN scenes: 1000 visual-concept terms, objects in the scene marked by free-text tags.

    Class sizes are such that the paper's bounds select its numbers of classes.

    Parameters
    ----------
    source : `auto` (real if there, else simulated), `disk` (real or an error), `simulated`.
    root : folder SUN; by default looked for in RSBENCH_DATA.
    difficulty : of the stand-in; scales its detectors' disturbances.
    draw : of the stand-in; another number, another simulated data set.
    """

    folder = "SUN"
    how_to_get_real = "Real term scores can be used now with dataset=arrays dataset.path=FILE.npz (docs/data.md)"

    def _simulate(self) -> Data:
        sizes = sun_class_sizes()
        names = Names(tuple(f"term{i}" for i in range(1000)), tuple(f"scene{c}" for c in range(len(sizes))))
        world = World(
            marks=10.0,
            difficulty=self.difficulty,
            draw=self.draw,
            families=40,
            variety=40.0,
            likeness=60.0,
            unnameable=0.469,
            annotator_err=0.0005,
            detector_offset=-0.5,
            background_classes=60,
        )
        return generate(world, sizes, (1000,), names)


def sun_class_sizes() -> tuple[int, ...]:
    """Class sizes that meet every bound in SUN_BOUNDS exactly, largest first."""
    bounds, counts = zip(*SUN_BOUNDS, strict=True)
    within = np.floor(np.interp(np.arange(1, counts[-1] + 1), counts, bounds)).astype(int)
    return (*SUN_TOO_LARGE, *within.tolist(), *SUN_TOO_SMALL)
