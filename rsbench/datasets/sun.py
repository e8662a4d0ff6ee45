"""The SUN database: scenes, and the objects that people tagged in them."""

from pathlib import Path

import numpy as np

from rsbench.data import Data, Names
from rsbench.datasets.generative import World, generate
from rsbench.datasets.real import RealOrSimulated, Source
from rsbench.download import Archive
from rsbench.errors import UserError

#: (smallest class, classes at least as large, up to 100 samples): the paper's class counts.
BOUNDS = (
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
TOO_LARGE, TOO_SMALL = (200, 150, 120), (17, 16, 15, 14, 12, 10, 8)


class SUN(RealOrSimulated):
    """SUN scenes: 1000 visual-concept terms, objects in the scene marked by free-text tags.

    Class sizes are such that the paper's bounds select its numbers of classes.

    Parameters
    ----------
    source : `auto` (real if there, else simulated), `disk` (real or an error), `simulated`.
    root : folder SUN; by default looked for in RSBENCH_DATA.
    difficulty : of the stand-in; scales its detectors' disturbances.
    draw : of the stand-in; another number, another simulated data set.
    """

    archive = Archive("SUN")
    how_to_get_real = "Real term scores can be used now with dataset=arrays dataset.path=FILE.npz (docs/data.md)"

    def __init__(self, source: Source = "auto", root: str | None = None, difficulty: float = 1.0, draw: int = 0):
        super().__init__(source, root)
        self.difficulty = difficulty
        self.draw = draw

    def _read(self, root: Path) -> Data:
        raise UserError(
            f"{root} is there, but reading SUN is not built yet. "
            f"{self.how_to_get_real}; or take the stand-in: dataset.source=simulated"
        )

    def status(self, root: Path) -> tuple[bool, str]:
        """Whether the folder is complete, and what is in it."""
        return False, "reading it is not built yet"

    def _simulate(self) -> Data:
        sizes = class_sizes()
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


def class_sizes() -> tuple[int, ...]:
    """Class sizes that meet every bound in BOUNDS exactly, largest first."""
    bounds, counts = zip(*BOUNDS, strict=True)
    within = np.floor(np.interp(np.arange(1, counts[-1] + 1), counts, bounds)).astype(int)
    return (*TOO_LARGE, *within.tolist(), *TOO_SMALL)
