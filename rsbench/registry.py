"""Finds plugins, keeps broken ones with their cause, and builds components by name.

Configs carry a component's name and its constructor's parameters, never code to run.
"""

import functools
import importlib.metadata
import importlib.util
import inspect
import logging
import os
import sys
import time
import traceback
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pluggy

from rsbench import hookspecs
from rsbench.annotation import ANNOTATIONS
from rsbench.errors import UserError, did_you_mean, first_line
from rsbench.schema import is_union, literal_choices, make_schema, type_hints

log = logging.getLogger(__name__)

#: Kinds that plugins can offer; `annotation` is a kind of component too, but not a hook.
KINDS = ("dataset", "extractor", "preprocessor", "protocol", "aggregator", "learner")


@dataclass(frozen=True)
class Component:
    """A class that a plugin offers under a name."""

    kind: str
    name: str
    cls: Callable[..., Any]
    plugin: str

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The constructor's parameters, which are the configuration."""
        return dict(inspect.signature(self.cls).parameters)

    @property
    def source(self) -> Path | None:
        """The file of a plugin's class; None for rsbench's own."""
        file = inspect.getsourcefile(self.cls)
        path = Path(file).resolve() if file else None
        return None if path is None or path.is_relative_to(Path(__file__).resolve().parent) else path

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """Type hints of the parameters that have one."""
        return type_hints(self.cls)

    @functools.cached_property
    def schema(self) -> type:
        """The configuration as a dataclass; an error if the constructor cannot be configured."""
        return make_schema(self.name, self.cls)


@dataclass(frozen=True)
class Plugin:
    """Where components come from: its name, version (of a package), file, and how long its import took."""

    name: str
    version: str | None = None
    file: Path | None = None
    milliseconds: float = 0.0

    @property
    def conf(self) -> Path | None:
        """The folder with its presets, if it ships one: `conf` beside its file."""
        folder = self.file.parent / "conf" if self.file else None
        return folder if folder is not None and folder.is_dir() else None


@dataclass(frozen=True)
class Broken:
    """A plugin that could not be used, and why."""

    plugin: str
    cause: str
    traceback: str


@dataclass
class Registry:
    """All components, by kind and name, and the plugins that failed to give theirs."""

    components: dict[str, dict[str, Component]] = field(default_factory=lambda: {k: {} for k in (*KINDS, "annotation")})
    broken: list[Broken] = field(default_factory=list)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    contested: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self):
        for name, cls in ANNOTATIONS.items():
            self.components["annotation"][name] = Component("annotation", name, cls, "rsbench.annotation")
        self._plugins = pluggy.PluginManager("rsbench")
        self._plugins.add_hookspecs(hookspecs)

    def get(self, kind: str, name: str) -> Component:
        """The component of that name; an unknown one is an error with a suggestion."""
        if (kind, name) in self.contested:
            raise UserError(self.contested[kind, name])
        try:
            return self.components[kind][name]
        except KeyError:
            raise UserError(self.unknown(kind, name, self.components[kind])) from None

    def unknown(self, kind: str, name: str, known: Iterable[str]) -> str:
        """What to say of an unknown name: the nearest known one, and plugins that may have meant to offer it."""
        lines = [f"unknown {kind} '{name}'. {did_you_mean(name, known)}"]
        lines += [f"The plugin {b.plugin} is broken and was left out: {b.cause}" for b in self.broken]
        return "\n".join(lines)

    def build(self, kind: str, config: dict[str, Any]) -> Any:
        """An instance from its config: the name and the constructor's parameters."""
        params = dict(config)
        component = self.get(kind, params.pop("name"))
        check_parameters(component, params)
        hinted = {name: _as_hinted(value, component.types.get(name)) for name, value in params.items()}
        try:
            made = component.cls(**hinted)
            if hasattr(made, "check_params"):
                made.check_params()
        except UserError:
            raise
        except (ValueError, TypeError) as error:  # how a stranger refuses a parameter
            raise UserError(f"{kind}={component.name}: {error}") from error
        return made

    def add(self, plugin: str, load: Callable[[], Any], version: str | None = None) -> None:
        """Load one plugin and take in its components, all of them or none."""
        try:
            started = time.perf_counter()
            module = load()
            file = getattr(module, "__file__", None)
            milliseconds = 1000 * (time.perf_counter() - started)
            self.plugins[plugin] = Plugin(plugin, version, Path(file).resolve() if file else None, milliseconds)
            _check_marked(module)
            self._plugins.register(module, name=f"{plugin} {id(module)}")  # a package may bring several
            try:
                self._plugins.check_pending()
                found = list(self._collect(plugin, module))
            except BaseException:
                self._plugins.unregister(module)
                raise
            for component in found:
                self.components[component.kind][component.name] = component
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit included: a stranger's module may call it at import
            self.broken.append(Broken(plugin, _cause(error), traceback.format_exc()))

    def _collect(self, plugin: str, module: Any) -> Iterator[Component]:
        for kind in KINDS:
            for hook in getattr(self._plugins.hook, f"rsbench_{kind}s").get_hookimpls():
                if hook.plugin is not module:
                    continue
                for name, cls in hook.function().items():
                    if not isinstance(name, str):
                        raise UserError(f"{kind} {name!r}: a name must be text")
                    component = Component(kind, name, cls, plugin)
                    self._check_component(component)
                    yield component

    def _check_component(self, component: Component) -> None:
        other = self.components[component.kind].get(component.name)
        what = f"{component.kind} '{component.name}'"
        if not isinstance(component.cls, type):
            raise UserError(f"{what}: expected a class, got {component.cls!r}")
        if other is not None:
            clash = f"{what} is offered by both {other.plugin} and {component.plugin}: rename one"
            if not other.plugin.startswith("rsbench."):
                self.contested[component.kind, component.name] = clash
            raise UserError(clash)
        try:
            _ = component.schema
        except UserError as error:
            raise UserError(f"{what}: {error}") from None


@functools.cache
def load() -> Registry:
    """All plugins: built-in, installed (entry-point group `rsbench`) and dropped into a folder."""
    registry = Registry()
    for kind in KINDS:
        module = f"rsbench.{kind}s"
        registry.add(module, functools.partial(importlib.import_module, module))
    for entry in importlib.metadata.entry_points(group="rsbench"):
        name, version = (entry.dist.name, entry.dist.version) if entry.dist else (entry.value, None)
        if _wanted(name):
            registry.add(f"{name} {version}" if version else name, entry.load, version)
    for folder in plugin_folders():
        for file in sorted(folder.glob("*.py")):
            if _wanted(file.stem):
                registry.add(str(file), functools.partial(_load_file, file.resolve()))
    for broken in registry.broken:
        log.warning("plugin %s is broken and was left out: %s", broken.plugin, broken.cause)
    return registry


def _wanted(name: str) -> bool:
    """Whether RSBENCH_LOAD_PLUGINS, names of packages and files with commas between them, lets a plugin load."""
    named = os.environ.get("RSBENCH_LOAD_PLUGINS")
    return named is None or name in [word.strip() for word in named.split(",")]


def plugin_folders() -> list[Path]:
    """Folders named by RSBENCH_PLUGINS, each once; `plugins` of the working folder by default."""
    named = os.environ.get("RSBENCH_PLUGINS")
    folders = {
        Path(part).resolve(): Path(part)
        for part in (named if named is not None else "plugins").split(os.pathsep)
        if part
    }
    for folder in folders.values() if named else ():
        if not folder.is_dir():
            log.warning("RSBENCH_PLUGINS names %s, which is not a folder", folder)
    return list(folders.values())


def _check_marked(module: Any) -> None:
    """A hook that lacks its mark would be passed over in silence."""
    for kind in KINDS:
        function = getattr(module, f"rsbench_{kind}s", None)
        if callable(function) and not hasattr(function, "rsbench_impl"):
            raise UserError(f"rsbench_{kind}s is not marked as a hook: put @rsbench.hookimpl before it")


def _load_file(path: Path) -> types.ModuleType:
    name = f"rsbench_dropin_{path.stem}"
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


def _cause(error: BaseException) -> str:
    if isinstance(error, pluggy.PluginValidationError):
        known = [f"rsbench_{kind}s" for kind in KINDS]
        unknown = [word.strip("'\"") for word in str(error).split() if word.strip("'\"").startswith("rsbench_")]
        if unknown and unknown[0] not in known:
            return f"unknown hook {unknown[0]}. {did_you_mean(unknown[0], known)}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return f"needs the package '{package}', which is not installed: pip install {package}"
    return str(error) if isinstance(error, UserError) else first_line(error)


def check_parameters(component: Component, params: dict[str, Any]) -> None:
    """Unknown names and values outside a `Literal` are errors that say what is possible."""
    where = f"{component.kind}={component.name}"
    for name, value in params.items():
        if name not in component.parameters:
            raise UserError(f"{where} has no parameter '{name}'. {did_you_mean(name, component.parameters)}")
        hint = component.types.get(name)
        choices = literal_choices(hint)
        if choices and value not in choices and not _matches_other(value, hint):
            others = [t.__name__ for t in typing.get_args(hint) if isinstance(t, type)]
            raise UserError(
                f"{component.kind}.{name}={value!r}: expected {' or '.join([*map(str, choices), *others])} ({where})"
            )


def _matches_other(value: Any, hint: Any) -> bool:
    plain = tuple(part for part in typing.get_args(hint) if isinstance(part, type)) if is_union(hint) else ()
    return isinstance(value, plain) and not isinstance(value, bool)


def _as_hinted(value: Any, hint: Any) -> Any:
    return tuple(value) if isinstance(value, list) and typing.get_origin(hint) is tuple else value
