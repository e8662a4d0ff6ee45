"""Where things are on this machine, and how many cores it has."""

import contextlib
import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def _find_conf() -> Path:
    """Find the folder: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / "conf"
    if inside.is_dir():
        return inside
    return _PACKAGE.parent / "conf"


#: The folder of configs that come with rsbench.
CONF = _find_conf()

_BASE: ContextVar[Path] = ContextVar("base", default=Path())


@contextlib.contextmanager
def seen_from(folder: Path) -> Iterator[None]:
    """Let relative folders of data and caches be seen from a folder.

    Jobs may run in a folder of their own, and are to find the data and caches of the
    folder that the command was given in.
    """
    token = _BASE.set(folder)
    try:
        yield
    finally:
        _BASE.reset(token)


def data_root() -> Path:
    """Return where data sets live: RSBENCH_DATA, or `data` of the working folder."""
    return _BASE.get() / (os.environ.get("RSBENCH_DATA") or "data")


def cache_root() -> Path:
    """Return where caches live: RSBENCH_CACHE, or `outputs/cache`."""
    return _BASE.get() / (os.environ.get("RSBENCH_CACHE") or "outputs/cache")


def cores() -> int:
    """Return how many cores this process may use.

    These are the cores that it is bound to; in a Slurm job, no more of them than the
    job was given.
    """
    if sys.platform == "linux":
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    # Slurm does not always bind a job to its cores, but says how many they are.
    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if given.isdecimal() and int(given) > 0:
        return min(available, int(given))
    return available
