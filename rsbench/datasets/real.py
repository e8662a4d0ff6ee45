"""The switch between a real data set and its simulated stand-in.

The stand-ins have the real ones' shape and some of their marginals (votes per image,
class sizes, how well detectors detect). The model's other knobs were settled by looking
at the order of the methods, so that order is no evidence of anything; docs/data.md says
more.
"""

import dataclasses
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from rsbench.core.components import Dataset
from rsbench.core.data import Data
from rsbench.errors import UserError
from rsbench.files.archive import Archive
from rsbench.files.places import data_root

log = logging.getLogger(__name__)

Source = Literal["auto", "disk", "simulated"]


class RealOrSimulated(Dataset):
    """Take the real data set when it is there, and else a simulated stand-in.

    Subclasses say what to do in either case: `read` and `simulate`.

    Parameters
    ----------
    source : {"auto", "disk", "simulated"}
        The real data set if it is there, else the stand-in; the real one or an error;
        the stand-in.
    root : str or None
        Where the real data set is; by default, its folder below RSBENCH_DATA.
    """

    #: The real data set's folder, and where to download it.
    archive: ClassVar[Archive]
    #: A sentence on how to get the real data set.
    how_to_get_real: ClassVar[str]
    #: Parameters that the stand-in knows.
    simulated_settings: ClassVar[tuple[str, ...]] = ("difficulty", "draw")
    #: Return how free-text tags become terms, and whether the tags are simulated. None
    #: where annotations are no tags.
    explain: Callable[..., tuple[Any, bool]] | None = None

    def __init__(self, source: Source = "auto", root: str | None = None):
        self.source = source
        self.root = root

    def load(self) -> Data:
        """Return the data set, real or simulated; `Data.simulated` tells which."""
        root = self.find()
        if root is not None:
            return self.read(root)
        self.warn_of_idle_settings()
        data = self.simulate()
        return dataclasses.replace(data, how_to_get_real=self.how_to_get_real)

    @classmethod
    def get(cls, root: Path, url: str | None = None) -> bool:
        """Download and unpack the data set; tell whether it is new.

        Parameters
        ----------
        root : Path
            Where data sets lie, RSBENCH_DATA.
        url : str, optional
            Address of the archive, in place of the official one.
        """
        from rsbench.files import download

        return download.get(cls.archive, root, url)

    def find(self) -> Path | None:
        """Return where the real data set is; None if the stand-in is to be taken."""
        if self.source == "simulated":
            return None
        root = data_root() / self.archive.folder
        if self.root:
            root = Path(self.root)
        if root.exists():
            return root
        # Whoever names a place wants the real data set, and no stand-in in silence.
        if self.source == "disk" or self.root:
            raise UserError(
                f"{root} is not there. Put {self.archive.folder} there, or name its "
                f"place with dataset.root or RSBENCH_DATA. {self.how_to_get_real}"
            )
        return None

    def read(self, root: Path) -> Data:
        """Return the real data set, which is at `root`."""
        raise NotImplementedError

    def simulate(self) -> Data:
        """Return the stand-in."""
        raise NotImplementedError

    def status(self, root: Path) -> tuple[bool, str]:
        """Return whether the real data set is complete, and in words what is there."""
        raise NotImplementedError

    def warn_of_idle_settings(self) -> None:
        """Log a warning of settings that the stand-in does not know."""
        known = ("source", "root", *self.simulated_settings)
        # Only a setting that somebody changed is one that somebody counts on.
        defaults = type(self)().get_params()
        idle = []
        for name, value in self.get_params().items():
            if name not in known and _plain(value) != _plain(defaults[name]):
                idle.append(f"dataset.{name}")
        if idle:
            log.warning("the stand-in knows no %s: without effect", ", ".join(idle))


def _plain(value: Any) -> Any:
    """Return a tuple as a list, which is what a config makes of it."""
    if isinstance(value, tuple):
        return list(value)
    return value


def take(images: Sequence[Path], rows: np.ndarray) -> tuple[Path, ...]:
    """Return the images of these rows."""
    return tuple(images[i] for i in rows)
