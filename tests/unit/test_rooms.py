"""The house: every room imports only from the rooms before it, also inside of functions."""

import ast
import sys
from pathlib import Path

import pytest

import rsbench

ROOT = Path(rsbench.__file__).resolve().parent

#: From the ground up. Rooms of one row may know each other only where it is said below.
ORDER = (
    ("errors",),
    ("core",),
    ("files",),
    (
        "learners",
        "aggregators",
        "corruptions",
        "preprocessors",
        "protocols",
        "datasets",
        "extractors",
    ),
    ("plugins",),
    ("checks",),
    ("store",),
    ("running",),
    ("report",),
    ("tracking",),
    ("api",),
    ("cli",),
)

LEVELS = {room: level for level, rooms in enumerate(ORDER) for room in rooms}

#: Modules that only pass on names of a room, for people who import them from there.
ALIASES = {"data": "core", "seeds": "core", "compare": "report"}

#: The package itself passes on names when they are first used, and imports no room.
#: What starts the command line belongs to it.
OUTSIDE = {"__init__": "errors", "__main__": "cli"}

#: A module, a room that it may reach all the same, and why.
EXCEPTIONS = {
    # `rsbench.experiment` is the command, from Python.
    ("rsbench.api", "cli"),
}


def room_of(name):
    """The room of a module: rsbench.core.data is in core."""
    part = name.split(".")[1] if "." in name else "__init__"
    part = OUTSIDE.get(part, part)
    return ALIASES.get(part, part)


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        yield ".".join(parts), path


MODULES = dict(modules())


def imports(name):
    """The modules that a module imports, wherever in it, but for type checkers alone."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: a relative import"
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                yield below if below in MODULES else node.module


def test_every_room_is_in_the_order():
    assert {room_of(name) for name in MODULES} == set(LEVELS)


@pytest.mark.parametrize("name", MODULES)
def test_no_module_imports_from_a_room_behind_it(name):
    own = room_of(name)
    for imported in imports(name):
        if imported.partition(".")[0] != "rsbench" or imported == "rsbench":
            continue
        room = room_of(imported)
        if room == own or (name, room) in EXCEPTIONS:
            continue
        assert LEVELS[room] < LEVELS[own], f"{name} imports {imported}"


@pytest.mark.parametrize("name", [n for n in MODULES if room_of(n) == "core"])
def test_the_core_needs_nothing_but_numpy_and_scipy(name):
    for imported in imports(name):
        top = imported.partition(".")[0]
        allowed = top in sys.stdlib_module_names or top in ("numpy", "scipy", "rsbench")
        assert allowed, f"{name} imports {imported}"


def test_every_exception_is_still_needed():
    for name, room in EXCEPTIONS:
        assert room in {room_of(i) for i in imports(name) if i.startswith("rsbench.")}


def test_public_names_are_where_the_package_says():
    for name in rsbench.__all__:
        assert getattr(rsbench, name) is not None
    assert set(rsbench.__all__) <= set(dir(rsbench))
    with pytest.raises(AttributeError, match="module 'rsbench' has no attribute 'rum'"):
        _ = rsbench.rum
