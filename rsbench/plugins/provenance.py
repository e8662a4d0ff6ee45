"""Where code comes from, by content: a result is known by the code that computed it."""

import ast
import contextlib
import dataclasses
import functools
import hashlib
import inspect
import sys
import sysconfig
import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Files of a package whose content can change what it computes.
_SOURCES = (".py", ".yaml", ".yml", ".json", ".so", ".pyd")

#: How folders of installed packages are called; the second is Debian's.
_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})

#: The folder of rsbench's own sources.
_RSBENCH = Path(__file__).resolve().parent.parent


def of_module(module: Any) -> str:
    """Return a hash of a plugin's sources, as they are now.

    These are its file, or all files of its package, and the files of modules that it
    refers to and that are neither Python's nor installed: somebody edits those too.
    """
    return _digest(_sources(module))


@functools.cache
def of_class(cls: type) -> str | None:
    """Return a hash of a class's sources; None if it has no file to take it from.

    Such a class was typed into a notebook or at a prompt. Nobody can tell whether it is
    still the class of a result that was kept.
    """
    sources: set[Path] = set()
    for each in cls.__mro__:
        if _is_pythons(each) or is_built_in(each):
            continue
        module = sys.modules.get(each.__module__)
        file = _file_of(module)
        if file is None or _is_typed(each):
            return None
        # Of a library that it derives from, hashing all files would take seconds.
        if each is not cls and _is_installed(file):
            sources.add(file)
        else:
            sources.update(_sources(module))
    return _digest(sorted(sources))


def was_edited(cls: type) -> bool:
    """Tell whether a class's sources are no longer those that it was imported from.

    Another process would import it as it is now. A script's own classes are sent to it
    as they are.
    """
    if cls.__module__ == "__main__":
        return False
    # `of_class` keeps the hash of when it was first asked; below its cache is today's.
    return of_class(cls) != of_class.__wrapped__(cls)


def is_built_in(cls: type) -> bool:
    """Tell whether a class is one of rsbench's own, whose sources are hashed anyway."""
    file = _file_of(sys.modules.get(cls.__module__))
    return file is not None and file.is_relative_to(_RSBENCH)


def _is_pythons(cls: type) -> bool:
    """Tell whether a class is one of the interpreter's own, such as `object`."""
    module = sys.modules.get(cls.__module__)
    # A class can claim any module as its own, and one made by `exec` claims builtins.
    is_there = getattr(module, cls.__name__, None) is cls
    return is_there and cls.__module__ in sys.builtin_module_names


def _is_typed(cls: type) -> bool:
    """Tell whether a class was made by `exec`, or at a prompt behind a script."""
    for name, value in vars(cls).items():
        if not inspect.isfunction(value):
            continue
        # Which dataclasses make by `exec` too.
        is_generated = dataclasses.is_dataclass(cls) and name.startswith("__")
        # In angle brackets is what Python calls code that comes from no file.
        if value.__code__.co_filename.startswith("<") and not is_generated:
            return True
    return False


def _sources(module: Any) -> list[Path]:
    """Return the files of a plugin: a module, or an object that stands for one."""
    if isinstance(module, types.ModuleType):
        own = module
    else:
        own = sys.modules.get(module.__class__.__module__, types.ModuleType(""))
    found = set(_package_files(own))
    file = _file_of(own)
    if file is not None:
        found.add(file)
    # Helpers of helpers too: what any of them does can change a result.
    waiting = [own]
    helpers: set[Path] = set()
    while waiting:
        for other in _referred_to(waiting.pop()):
            file = _file_of(other)
            if file is not None and file not in helpers and _is_somebodys(file):
                helpers.add(file)
                waiting.append(typing.cast(types.ModuleType, other))
    return sorted(found | helpers)


def _package_files(module: types.ModuleType) -> Iterable[Path]:
    """Yield the files of the package that a module is in, if it is in one."""
    top = sys.modules.get(module.__name__.partition(".")[0])
    for folder in getattr(top, "__path__", ()):
        for path in Path(folder).rglob("*"):
            if path.suffix in _SOURCES and "__pycache__" not in path.parts:
                yield path.resolve()


def _referred_to(module: types.ModuleType) -> Iterable[types.ModuleType | None]:
    """Yield the modules that a module's names come from, or that it imports."""
    # A list, since a module's names may change while they are gone through.
    for value in list(vars(module).values()):
        if isinstance(value, types.ModuleType):
            yield value
        elif isinstance(value, (type, types.FunctionType)):
            yield sys.modules.get(value.__module__ or "")
    # A number that was imported does not say where it comes from.
    for name in _imports(_file_of(module)):
        yield sys.modules.get(name)


def _imports(file: Path | None) -> Iterable[str]:
    """Yield the names of modules that a file's import statements may mean.

    Those of its own package are left out: all of its files count.
    """
    if file is None or file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError):  # it may have been edited since it was imported
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            # `from package import part`: a part may be a module, or a name in one.
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def _file_of(module: types.ModuleType | None) -> Path | None:
    name = getattr(module, "__file__", None)
    if not name or not Path(name).is_file():
        return None
    return Path(name).resolve()


@functools.cache
def _installed() -> tuple[Path, ...]:
    """Return the folders of Python's own modules and of installed packages."""
    return tuple(Path(place).resolve() for place in sysconfig.get_paths().values())


def _is_installed(file: Path) -> bool:
    """Tell whether a file is Python's or an installed package's."""
    # Packages of the user, or of the system below a virtual environment, are in folders
    # that this Python does not count as its own.
    if not _PACKAGE_FOLDERS.isdisjoint(file.parts):
        return True
    return any(file.is_relative_to(place) for place in _installed())


def _is_somebodys(file: Path) -> bool:
    """Tell whether a file is neither installed nor ours."""
    return not _is_installed(file) and not file.is_relative_to(_RSBENCH)


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        # A module may say that it is in a file that is not there.
        with contextlib.suppress(OSError):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
