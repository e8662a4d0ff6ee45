"""Take in plugins, keep broken ones with their cause, and build components by name.

Configs carry a component's name and its constructor's parameters, never code to run.
"""

import functools
import importlib.util
import inspect
import logging
import re
import time
import traceback
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pluggy

from rsbench.errors import UserError, did_you_mean, first_line
from rsbench.files.places import CONF
from rsbench.plugins import hookspecs, kinds, provenance
from rsbench.plugins.discovery import Origin, Source, find_sources, plugin_folders
from rsbench.plugins.kinds import Kind
from rsbench.plugins.schema import (
    as_hinted,
    check_schema,
    check_value,
    make_schema,
    type_hints,
)

__all__ = ["Broken", "Component", "Plugin", "Registry", "load", "plugin_folders"]

log = logging.getLogger(__name__)

#: Words that the command line takes for a value, not for a name. Built-in components
#: are called `none` all the same: in their groups nothing else is meant by it.
VALUE_WORDS = ("null", "true", "false", "none")

#: What a component can be called: a word of Hydra's grammar that needs no quotes.
_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Plugin:
    """Where components come from.

    Parameters
    ----------
    origin : Origin
        Whether it is built in, an installed package or a file.
    name : str
        Name of the module, the package or the file.
    version : str, optional
        Version of the package.
    milliseconds : float
        How long its import took.
    conf : Path, optional
        Folder with its presets, if it ships one.
    sha256 : str
        Hash of its sources as they were imported: people edit while a sweep goes on.
    """

    origin: Origin
    name: str
    version: str | None = None
    milliseconds: float = 0.0
    conf: Path | None = None
    sha256: str = ""

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of rsbench's own rooms."""
        return self.origin is Origin.BUILT_IN

    def __str__(self) -> str:
        if self.version is None:
            return self.name
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Component:
    """A class that a plugin offers under a name.

    Parameters
    ----------
    kind : str
        The config group in which it is chosen.
    name : str
        What configs call it.
    cls : type
        The class itself.
    plugin : Plugin
        Who offers it.
    """

    kind: str
    name: str
    cls: Callable[..., Any]
    plugin: Plugin

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The constructor's parameters, which are the configuration."""
        return dict(inspect.signature(self.cls).parameters)

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """Type hints of the parameters that have one."""
        return type_hints(self.cls)

    @functools.cached_property
    def schema(self) -> type:
        """The configuration as a dataclass; an error if it cannot be one."""
        return make_schema(self.name, self.cls)

    @property
    def where(self) -> str:
        """File and line of the class, as far as they can be found."""
        try:
            line = inspect.getsourcelines(self.cls)[1]
            return f"{inspect.getsourcefile(self.cls)}:{line}"
        except (TypeError, OSError):
            return f"class {self.cls.__module__}.{self.cls.__qualname__}"


@dataclass(frozen=True)
class Broken:
    """A plugin that could not be used, and why."""

    plugin: Plugin
    cause: str
    traceback: str


def _no_components() -> dict[str, dict[str, Component]]:
    """Return an empty place for each kind, so that no group is ever missing."""
    return {kind.group: {} for kind in kinds.ALL}


@dataclass
class Registry:
    """All components, by config group and name, and the plugins that failed.

    Parameters
    ----------
    components : dict of dicts
        By config group and name.
    plugins : list of Plugin
        Those that were loaded.
    broken : list of Broken
        Those that could not be.
    contested : dict
        Names that two third-party plugins offer, and what to say when one is asked for.
    """

    components: dict[str, dict[str, Component]] = field(default_factory=_no_components)
    plugins: list[Plugin] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    contested: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._manager = pluggy.PluginManager("rsbench")
        self._manager.add_hookspecs(hookspecs)

    def get(self, group: str, name: str) -> Component:
        """Return the component of that name.

        Parameters
        ----------
        group : str
            The config group, such as `learner`.
        name : str
            What configs call it.

        Raises
        ------
        UserError
            If there is none, with the nearest name; or if two plugins offer it.
        """
        if (group, name) in self.contested:
            raise UserError(self.contested[group, name])
        try:
            return self.components[group][name]
        except KeyError:
            known = self.components[group]
            raise UserError(self.unknown(group, name, known)) from None

    def unknown(self, group: str, name: str, known: Iterable[str]) -> str:
        """Return what to say of an unknown name.

        That is the nearest known one, and plugins that may have meant to offer it.
        """
        lines = [f"unknown {group} '{name}'. {did_you_mean(name, known)}"]
        lines += self.left_out()
        return "\n".join(lines)

    def left_out(self) -> list[str]:
        """Return a line for each broken plugin."""
        lines = []
        for broken in self.broken:
            lines.append(
                f"The plugin {broken.plugin} is broken and was left out: {broken.cause}"
            )
        return lines

    def build(self, group: str, config: dict[str, Any]) -> Any:
        """Return a component made from its config.

        Parameters
        ----------
        group : str
            The config group, such as `learner`.
        config : dict
            The component's `name`, and parameters of its constructor.

        Raises
        ------
        UserError
            If the component or a parameter is unknown, or a value makes no sense.
        """
        params = dict(config)
        component = self.get(group, params.pop("name"))
        where = f"{group}={component.name}"
        hinted = {}
        for name, value in params.items():
            if name not in component.parameters:
                near = did_you_mean(name, component.parameters)
                raise UserError(f"{where} has no parameter '{name}'. {near}")
            hint = component.types.get(name)
            check_value(value, hint, f"{group}.{name}", where)
            hinted[name] = as_hinted(value, hint)
        try:
            made = component.cls(**hinted)
            # A class of no base class may not have it.
            check_params = getattr(made, "check_params", None)
            if check_params is not None:
                check_params()
        except UserError:
            raise
        except (ValueError, TypeError) as error:  # how a stranger refuses a parameter
            raise UserError(f"{where}: {error}") from error
        return made

    def add(self, source: Source) -> None:
        """Load one plugin and take in its components, all of them or none."""
        started = time.perf_counter()
        try:
            module = source.load()
            if self._manager.is_registered(module):
                return  # two entry points may name one module
            plugin = _describe(source, module, started)
            found = self._components_of(plugin, module)
            self._check_presets(plugin)
        # SystemExit too: a stranger's module may call it when it is imported. Ctrl-C is
        # a person's and stops everything.
        except (Exception, SystemExit) as error:
            plugin = Plugin(source.origin, source.name, source.version)
            trace = traceback.format_exc()
            self.broken.append(Broken(plugin, _cause(error), trace))
            return
        for component in found:
            self.components[component.kind][component.name] = component
            # Known by its sources as they were imported, not as they are when it runs.
            if not plugin.is_built_in:
                provenance.of_class(component.cls)
        self.plugins.append(plugin)

    def _components_of(self, plugin: Plugin, module: Any) -> list[Component]:
        """Register a plugin's hooks and return what they offer, checked."""
        _check_marked(module)
        # A package may bring several modules, so its name alone is not unique.
        self._manager.register(module, name=f"{plugin} {id(module)}")
        try:
            self._manager.check_pending()
            found = []
            for kind in kinds.ALL:
                for component in self._offered(kind, plugin, module):
                    self._check_component(component)
                    found.append(component)
        except BaseException:
            self._manager.unregister(module)
            raise
        return found

    def _offered(self, kind: Kind, plugin: Plugin, module: Any) -> Iterator[Component]:
        """Yield the components of a kind that a module's own hook returns."""
        # Not by calling the hook, which would ask all other plugins again.
        hook = getattr(self._manager.hook, kind.hook)
        for implementation in hook.get_hookimpls():
            if implementation.plugin is module:
                for name, cls in implementation.function().items():
                    yield Component(kind.group, name, cls, plugin)

    def _check_component(self, component: Component) -> None:
        """Raise an error unless a component can be chosen and configured."""
        name = component.name
        built_in = component.plugin.is_built_in
        what = f"{component.kind} {name!r}"
        # A plugin's hook may return anything, whatever it is typed to return.
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UserError(
                f"{what}: a name is letters, digits and _ . -, a letter first"
            )
        if name.lower() in VALUE_WORDS and not built_in:
            raise UserError(f"{what}: the command line takes this word for a value")
        if not isinstance(component.cls, type):
            raise UserError(f"{what}: expected a class, got {component.cls!r}")
        self._check_unique(component, what)
        if built_in:  # whose parameters are known to be sound
            return
        try:
            check_schema(component.schema)
        except UserError as error:
            raise UserError(f"{what}: {error}") from None

    def _check_unique(self, component: Component, what: str) -> None:
        other = self.components[component.kind].get(component.name)
        if other is None:
            return
        clash = (
            f"{what} is offered by both {other.plugin} and {component.plugin}: "
            "rename one"
        )
        # Between strangers nobody can tell which of the two was meant.
        if not other.plugin.is_built_in:
            self.contested[component.kind, component.name] = clash
        raise UserError(clash)

    def _check_presets(self, plugin: Plugin) -> None:
        """Raise an error for a preset that hides another one, or a component."""
        if plugin.conf is None:
            return
        # Several modules of one package share its presets.
        folders = [CONF]
        for other in self.plugins:
            if other.conf is not None and other.conf != plugin.conf:
                folders.append(other.conf)
        for preset in sorted(plugin.conf.rglob("*.yaml")):
            name = preset.relative_to(plugin.conf).with_suffix("")
            # conf/learner/lean.yaml would stand in for the component of that name.
            if len(name.parts) != 2 or name.parts[0] not in ("method", "experiment"):
                raise UserError(
                    f"conf/{name}.yaml: presets are conf/method/NAME.yaml or "
                    "conf/experiment/NAME.yaml"
                )
            for folder in folders:
                if (folder / name.parent / preset.name).exists():
                    raise UserError(
                        f"the preset {name.parts[0]}={name.name} is there already: "
                        f"rename conf/{name}.yaml"
                    )


@functools.cache
def load(base: Path | None = None) -> Registry:
    """Return all plugins: built-in, installed and dropped into a folder.

    They are loaded once for each process and folder.

    Parameters
    ----------
    base : Path, optional
        The folder from which relative plugin folders are seen; the working folder.
    """
    registry = Registry()
    for source in find_sources(base):
        registry.add(source)
    for broken in registry.broken:
        log.warning(
            "plugin %s is broken and was left out: %s", broken.plugin, broken.cause
        )
    return registry


def _describe(source: Source, module: Any, started: float) -> Plugin:
    """Return what is to know of a plugin that has just been imported."""
    sha256 = ""
    conf = None
    # Of rsbench's own, the hash of all its sources is enough.
    if source.origin is not Origin.BUILT_IN:
        sha256 = provenance.of_module(module)
        conf = _presets(source, module)
    milliseconds = 1000 * (time.perf_counter() - started)
    return Plugin(
        source.origin, source.name, source.version, milliseconds, conf, sha256
    )


def _presets(source: Source, module: Any) -> Path | None:
    """Return the folder of a plugin's presets, if it has one."""
    is_package = isinstance(module, types.ModuleType) and hasattr(module, "__path__")
    # Beside a module that is neither a package nor dropped in, `conf` may be anybody's.
    if not is_package and source.origin is not Origin.FILE:
        return None
    conf = Path(module.__file__).resolve().parent / "conf"
    if conf.is_dir():
        return conf
    return None


def _check_marked(module: Any) -> None:
    """Raise an error for a hook without its mark, which pluggy would pass over."""
    if not isinstance(module, types.ModuleType):
        return
    for name, function in list(vars(module).items()):
        if not name.startswith("rsbench_") or not inspect.isfunction(function):
            continue
        # A helper that was imported, or rsbench's own specification, needs no mark.
        is_own = function.__module__ == module.__name__
        is_marked = hasattr(function, "rsbench_impl")
        if is_own and not is_marked:
            raise UserError(
                f"{name} is not marked as a hook: put @rsbench.hookimpl before it"
            )


def _cause(error: BaseException) -> str:
    """Return why a plugin could not be used, with the fix where there is one."""
    if isinstance(error, pluggy.PluginValidationError):
        return _unknown_hook(error) or first_line(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        # Where the package is there, a module in it is misspelt: no pip helps.
        if importlib.util.find_spec(package) is None:
            return (
                f"needs the package '{package}', which is not installed: "
                f"pip install {package}"
            )
    if isinstance(error, UserError):
        return str(error)
    return first_line(error)


def _unknown_hook(error: pluggy.PluginValidationError) -> str | None:
    """Return what to say of a misspelt hook, if that is what pluggy complains about."""
    known = [kind.hook for kind in kinds.ALL]
    for name in dir(error.plugin):
        is_marked = hasattr(getattr(error.plugin, name, None), "rsbench_impl")
        if is_marked and name not in known:
            return f"unknown hook {name}. {did_you_mean(name, known)}"
    return None
