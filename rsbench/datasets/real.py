"""The switch between a real data set and its simulated stand-in.

The stand-ins have the real ones' shape and some of their marginals (votes per image, class sizes, how
well detectors detect). The model's other knobs were settled by looking at the order of the methods, so
that order is no evidence of anything; docs/data.md says more.
"""

import dataclasses
import inspect
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rsbench.core.data import Data
from rsbench.errors import UserError
from rsbench.files.atomic import data_root

log = logging.getLogger(__name__)

Source = Literal["auto", "disk", "simulated"]


@dataclasses.dataclass(frozen=True)
class Archive:
    """Where a data set comes from: its folder, and the archive that holds it and files to lie beside it.

    Where no md5 is known, the archive's own checksums, which unpacking verifies, are all there is.
    """

    folder: str
    url: str = ""
    md5: str = ""
    beside: tuple[str, ...] = ()


class RealOrSimulated:
    """Takes the real data set when it is there, and otherwise says that it is simulated."""

    #: The real data set's folder below RSBENCH_DATA, where it comes from, and how to come by it.
    archive: Archive
    how_to_get_real: str
    #: Settings that the stand-in knows.
    simulated_settings: tuple[str, ...] = ("difficulty", "draw")

    def __init__(self, source: Source = "auto", root: str | None = None):
        self.source = source
        self.root = root

    def load(self) -> Data:
        """The data set, real or simulated; `Data.simulated` tells which."""
        root = self.find()
        if root is not None:
            return self._read(root)
        self._say_idle()
        return dataclasses.replace(
            self._simulate(), how_to_get_real=self.how_to_get_real
        )

    def _say_idle(self) -> None:
        """Warn of settings that the stand-in does not know."""
        idle = [
            name
            for name, default in self._defaults().items()
            if getattr(self, name) != default
        ]
        if idle:
            log.warning(
                "the stand-in knows no %s: without effect",
                ", ".join(f"dataset.{name}" for name in idle),
            )

    def _defaults(self) -> dict[str, Any]:
        """Settings that only the real data set knows, with their default values."""
        parameters = inspect.signature(type(self)).parameters.values()
        return {
            p.name: p.default
            for p in parameters
            if p.name not in ("source", "root", *self.simulated_settings)
        }

    def find(self) -> Path | None:
        """Where the real data set is; None if the stand-in is to be taken."""
        root = Path(self.root) if self.root else data_root() / self.archive.folder
        if self.source == "simulated":
            return None
        if root.exists():
            return root
        if self.source == "disk" or self.root:
            raise UserError(
                f"{root} is not there. Put {self.archive.folder} there, or name its place with dataset.root or "
                f"RSBENCH_DATA. {self.how_to_get_real}"
            )
        return None

    def _read(self, root: Path) -> Data:
        raise NotImplementedError

    def _simulate(self) -> Data:
        raise NotImplementedError


def take(images: Sequence[Path], rows: np.ndarray) -> tuple[Path, ...]:
    """The images of these rows."""
    return tuple(images[i] for i in rows)
