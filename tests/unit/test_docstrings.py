"""Every public name says what it is, in numpydoc's form, with its parameters as they are."""

import importlib
import inspect
import pkgutil
import warnings

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

import rsbench
from rsbench import core
from rsbench.plugins import registry

ROOMS = (
    "aggregators",
    "checks",
    "corruptions",
    "datasets",
    "extractors",
    "learners",
    "preprocessors",
    "protocols",
    "report",
)


def is_documented_here(thing):
    """Tell whether a name is a class or function of rsbench's, not a constant or alias."""
    is_code = inspect.isclass(thing) or inspect.isfunction(thing)
    return is_code and thing.__module__.startswith("rsbench")


def names_of_rooms():
    """Yield what the rooms and the package itself offer to everyone."""
    modules = [rsbench]
    for room in ROOMS:
        modules.append(importlib.import_module(f"rsbench.{room}"))
    for module in modules:
        for name in module.__all__:
            yield getattr(module, name)


def names_of_core():
    """Yield the public classes and functions of the core."""
    for found in pkgutil.iter_modules(core.__path__):
        module = importlib.import_module(f"rsbench.core.{found.name}")
        for name, thing in vars(module).items():
            is_own = getattr(thing, "__module__", None) == module.__name__
            if is_own and not name.startswith("_"):
                yield thing


def components():
    """Yield the class of every built-in component."""
    for by_name in registry.load().components.values():
        for component in by_name.values():
            if component.plugin.is_built_in:
                yield component.cls


def own_methods(cls):
    """Return the public methods that a class itself defines."""
    found = []
    for name, thing in vars(cls).items():
        if inspect.isfunction(thing) and not name.startswith("_"):
            found.append(thing)
    return found


def by_full_name(things):
    """Return each thing once, by the name that tells it from all others."""
    found = {f"{thing.__module__}.{thing.__qualname__}": thing for thing in things}
    return dict(sorted(found.items()))


def public():
    """Return all public classes, functions and methods."""
    offered = (*names_of_rooms(), *names_of_core(), *components())
    found = []
    for thing in filter(is_documented_here, offered):
        found.append(thing)
        if inspect.isclass(thing):
            found += own_methods(thing)
    return by_full_name(found)


PUBLIC = public()
COMPONENTS = by_full_name(components())


def parse(thing):
    """Return a docstring as numpydoc reads it; what it cannot read is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if inspect.isclass(thing):
            return ClassDoc(thing)
        # A method may leave its docstring to the one that it takes the place of.
        return FunctionDoc(thing, doc=inspect.getdoc(thing))


def parameters(thing):
    """Return the names in a signature, as numpydoc spells them."""
    found = []
    for parameter in inspect.signature(thing).parameters.values():
        prefix = {
            parameter.VAR_POSITIONAL: "*",
            parameter.VAR_KEYWORD: "**",
        }.get(parameter.kind, "")
        found.append(prefix + parameter.name)
    if found[:1] == ["self"]:
        return found[1:]
    return found


def documented(parsed):
    """Return the names in a section `Parameters`, where one line may have several."""
    found = []
    for section in ("Parameters", "Other Parameters"):
        for parameter in parsed[section]:
            found += parameter.name.split(", ")
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_the_first_line_is_a_sentence(name):
    thing = PUBLIC[name]
    assert inspect.getdoc(thing), "it has no docstring"
    first, *rest = parse(thing)["Summary"]
    assert not rest, "the summary goes on for more than a line"
    assert first[0].isupper()
    assert first.endswith(".")


@pytest.mark.parametrize("name", PUBLIC)
def test_documented_parameters_are_those_of_the_signature(name):
    thing = PUBLIC[name]
    found = documented(parse(thing))
    if found:
        assert found == parameters(thing)


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_documents_all_of_its_parameters(name):
    cls = COMPONENTS[name]
    parsed = parse(cls)
    assert documented(parsed) == parameters(cls)
    for parameter in parsed["Parameters"]:
        assert parameter.type, f"{parameter.name} has no type"
        assert parameter.desc, f"{parameter.name} has no description"
