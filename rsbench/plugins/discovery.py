"""Where plugins are: rsbench's own rooms, installed packages, and dropped-in files."""

import enum
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsbench.plugins import kinds

log = logging.getLogger(__name__)

#: The group of entry points in which installed packages name their plugins.
ENTRY_POINTS = "rsbench"

#: A package of learners on nothing but the public interface, which is part of rsbench's
#: own distribution: its experiments name them.
COMES_ALONG = "rsbench_whys"


class Origin(enum.Enum):
    """Where a plugin comes from."""

    BUILT_IN = "rsbench"
    PACKAGE = "package"
    FILE = "file"


@dataclass(frozen=True)
class Source:
    """A plugin that was found, not imported yet.

    Parameters
    ----------
    origin : Origin
        Where it comes from.
    name : str
        Name of the module, the package or the file.
    load : callable
        Imports it, and returns what holds its hooks.
    version : str, optional
        Version of the package.
    """

    origin: Origin
    name: str
    load: Callable[[], Any]
    version: str | None = None

    @property
    def short_name(self) -> str:
        """What RSBENCH_LOAD_PLUGINS calls it."""
        if self.origin is Origin.FILE:
            return Path(self.name).stem
        return self.name


def find_sources(base: Path | None = None) -> list[Source]:
    """Return all plugins there are, those of rsbench first.

    Parameters
    ----------
    base : Path, optional
        The folder from which relative plugin folders are seen; the working folder.
    """
    # rsbench's own always load: without them no command has anything to run.
    found = list(_built_in())
    wanted = _wanted_names()
    for source in (*_packages(), *_files(base)):
        if wanted is None or _normal(source.short_name) in wanted:
            found.append(source)
    there = {_normal(source.short_name) for source in found}
    for name in (wanted or set()) - there:
        log.warning("RSBENCH_LOAD_PLUGINS names %s, which is no plugin here", name)
    return found


def _built_in() -> Iterator[Source]:
    for kind in kinds.ALL:
        load = functools.partial(importlib.import_module, kind.room)
        yield Source(Origin.BUILT_IN, kind.room, load)
    load = functools.partial(importlib.import_module, COMES_ALONG)
    yield Source(Origin.BUILT_IN, COMES_ALONG, load)


def _packages() -> Iterator[Source]:
    # One by one: pluggy's own loader stops at the first that cannot be imported.
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        # It may be installed by itself as well.
        if entry.value == COMES_ALONG:
            continue
        if entry.dist is None:
            yield Source(Origin.PACKAGE, entry.value, entry.load)
        else:
            name = entry.dist.name
            yield Source(Origin.PACKAGE, name, entry.load, entry.dist.version)


def _files(base: Path | None) -> Iterator[Source]:
    for folder in plugin_folders(base):
        # Editors keep hidden files beside those that are being edited.
        for file in sorted(folder.glob("[!.]*.py")):
            load = functools.partial(_load_file, file)
            yield Source(Origin.FILE, str(file), load)


def _wanted_names() -> set[str] | None:
    """Return the plugins that RSBENCH_LOAD_PLUGINS lets load; None if all may."""
    named = os.environ.get("RSBENCH_LOAD_PLUGINS")
    if named is None:
        return None
    words = [word for word in named.split(",") if word.strip()]
    return set(map(_normal, words))


def _normal(name: str) -> str:
    """Return a package's name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def plugin_folders(base: Path | None = None) -> list[Path]:
    """Return the folders that hold dropped-in files, each once.

    RSBENCH_PLUGINS names them; by default it is `plugins` of the working folder.

    Parameters
    ----------
    base : Path, optional
        The folder from which relative ones are seen; the working folder.
    """
    named = os.environ.get("RSBENCH_PLUGINS")
    parts = ["plugins"]
    if named is not None:
        parts = [part for part in named.split(os.pathsep) if part]
    # By where they really are: one folder by two names would offer everything twice.
    folders: dict[Path, Path] = {}
    for part in parts:
        folder = (base or Path()) / part
        folders.setdefault(folder.resolve(), folder)
        # Nobody has asked for the default one, so that it may be missing.
        if named is not None and not folder.is_dir():
            log.warning("RSBENCH_PLUGINS names %s, which is not a folder", folder)
    return list(folders.values())


def _load_file(path: Path) -> types.ModuleType:
    """Import a file that is in no package."""
    path = path.resolve(strict=True)
    # Two folders may hold files of one name.
    suffix = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"rsbench_dropin_{path.stem}_{suffix}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, as imports are, so that its classes can be pickled.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
