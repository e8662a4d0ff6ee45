"""Finds plugins, keeps broken ones with their cause, and builds components by name.

Configs carry a component's name and its constructor's parameters, never code to run.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import logging
import os
import re
import sys
import sysconfig
import time
import traceback
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pluggy

from rsbench.corruptions import ANNOTATIONS
from rsbench.errors import UserError, did_you_mean, first_line
from rsbench.files.atomic import CONF
from rsbench.plugins import hookspecs
from rsbench.plugins.schema import (
    check_schema,
    is_union,
    literal_choices,
    make_schema,
    type_hints,
)

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
    def built_in(self) -> bool:
        """Whether it is one of rsbench's own."""
        return self.plugin.startswith("rsbench.")

    @property
    def where(self) -> str:
        """File and line of the class, as far as they can be found."""
        try:
            return f"{inspect.getsourcefile(self.cls)}:{inspect.getsourcelines(self.cls)[1]}"
        except (TypeError, OSError):
            return f"class {self.cls.__module__}.{self.cls.__qualname__}"

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

    #: Folder with its presets, if it ships one.
    conf: Path | None = None
    #: A hash of its sources as they were imported: people edit while a sweep goes on.
    identity: str = ""


@dataclass(frozen=True)
class Broken:
    """A plugin that could not be used, and why."""

    plugin: str
    cause: str
    traceback: str


@dataclass
class Registry:
    """All components, by kind and name, and the plugins that failed to give theirs."""

    components: dict[str, dict[str, Component]] = field(
        default_factory=lambda: {k: {} for k in (*KINDS, "annotation")}
    )
    broken: list[Broken] = field(default_factory=list)
    plugins: dict[str, list[Plugin]] = field(default_factory=dict)
    contested: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self):
        for name, cls in ANNOTATIONS.items():
            self.components["annotation"][name] = Component(
                "annotation", name, cls, "rsbench.corruptions"
            )
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
        lines += [
            f"The plugin {b.plugin} is broken and was left out: {b.cause}"
            for b in self.broken
        ]
        return "\n".join(lines)

    def build(self, kind: str, config: dict[str, Any]) -> Any:
        """An instance from its config: the name and the constructor's parameters."""
        params = dict(config)
        component = self.get(kind, params.pop("name"))
        check_parameters(component, params)
        hinted = {
            name: _as_hinted(value, component.types.get(name))
            for name, value in params.items()
        }
        try:
            made = component.cls(**hinted)
            if hasattr(made, "check_params"):
                made.check_params()
        except UserError:
            raise
        except (ValueError, TypeError) as error:  # how a stranger refuses a parameter
            raise UserError(f"{kind}={component.name}: {error}") from error
        return made

    def add(
        self, plugin: str, load: Callable[[], Any], version: str | None = None
    ) -> None:
        """Load one plugin and take in its components, all of them or none."""
        started, before = time.perf_counter(), set(sys.modules)
        try:
            with contained():
                module = load()
                if self._plugins.is_registered(
                    module
                ):  # two entry points may name one module
                    return
                _check_marked(module)
                self._plugins.register(
                    module, name=f"{plugin} {id(module)}"
                )  # a package may bring several
                try:
                    self._plugins.check_pending()
                    found = list(self._collect(plugin, module))
                    about = _about(
                        plugin,
                        module,
                        version,
                        1000 * (time.perf_counter() - started),
                        before,
                    )
                    self._check_presets(about)
                except BaseException:
                    self._plugins.unregister(module)
                    raise
            for component in found:
                self.components[component.kind][component.name] = component
            self.plugins.setdefault(plugin, []).append(about)
        except KeyboardInterrupt:
            if time.perf_counter() - started > 0.5 or plugin.startswith(
                "rsbench."
            ):  # a person's, not the plugin's own
                raise
            self.broken.append(
                Broken(plugin, "KeyboardInterrupt", traceback.format_exc())
            )
        except (
            BaseException
        ) as error:  # SystemExit included: a stranger's module may call it at import
            self.broken.append(Broken(plugin, _cause(error), traceback.format_exc()))

    def _check_presets(self, plugin: Plugin) -> None:
        """Presets are new methods and experiments; one that hides another, or a component, is refused."""
        for preset in sorted(plugin.conf.rglob("*.yaml")) if plugin.conf else ():
            name = preset.relative_to(plugin.conf).with_suffix("")  # type: ignore[arg-type]
            if len(name.parts) != 2 or name.parts[0] not in ("method", "experiment"):
                raise UserError(
                    f"conf/{name}.yaml: presets are conf/method/NAME.yaml or conf/experiment/NAME.yaml"
                )
            others = [
                CONF,
                *(
                    other.conf
                    for each in self.plugins.values()
                    for other in each
                    if other.conf
                ),
            ]
            if any(
                (folder / name.parent / preset.name).exists()
                for folder in others
                if folder != plugin.conf
            ):
                raise UserError(
                    f"the preset {name.parts[0]}={name.name} is there already: rename conf/{name}.yaml"
                )

    def _collect(self, plugin: str, module: Any) -> Iterator[Component]:
        for kind in KINDS:
            for hook in getattr(self._plugins.hook, f"rsbench_{kind}s").get_hookimpls():
                if hook.plugin is not module:
                    continue
                for name, cls in hook.function().items():
                    if not isinstance(name, str) or not re.fullmatch(
                        r"[A-Za-z][\w.-]*", name, re.ASCII
                    ):
                        raise UserError(
                            f"{kind} {name!r}: a name is letters, digits and _ . -, a letter first"
                        )
                    if name.lower() in (
                        "null",
                        "true",
                        "false",
                        "none",
                    ) and not plugin.startswith("rsbench."):
                        raise UserError(
                            f"{kind} '{name}': the command line takes this word for a value"
                        )
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
        if component.built_in:  # whose parameters are known to be sound
            return
        try:
            check_schema(component.schema)
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
        name, version = (
            (entry.dist.name, entry.dist.version) if entry.dist else (entry.value, None)
        )
        if _wanted(name):
            registry.add(f"{name} {version}" if version else name, entry.load, version)
    for folder in plugin_folders():
        for file in sorted(folder.glob("[!.]*.py")):
            if _wanted(file.stem):
                registry.add(str(file), functools.partial(_load_file, file))
    for broken in registry.broken:
        log.warning(
            "plugin %s is broken and was left out: %s", broken.plugin, broken.cause
        )
    found = {
        _normal(Path(name.split(" ")[0]).name.removesuffix(".py"))
        for name in registry.plugins
    }
    found |= {
        _normal(Path(broken.plugin.split(" ")[0]).name.removesuffix(".py"))
        for broken in registry.broken
    }
    for name in set(_named() or ()) - found:
        log.warning("RSBENCH_LOAD_PLUGINS names %s, which is no plugin here", name)
    return registry


def _wanted(name: str) -> bool:
    """Whether RSBENCH_LOAD_PLUGINS, names of packages and files with commas between them, lets a plugin load."""
    named = _named()
    return named is None or _normal(name) in named


def _named() -> list[str] | None:
    named = os.environ.get("RSBENCH_LOAD_PLUGINS")
    return (
        None
        if named is None
        else [_normal(word) for word in named.split(",") if word.strip()]
    )


def _normal(name: str) -> str:
    """A package's name as the package index compares it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


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
    for name, function in list(vars(module).items()):
        own = getattr(function, "__module__", None) == getattr(module, "__name__", None)
        if (
            name.startswith("rsbench_")
            and inspect.isfunction(function)
            and own
            and not hasattr(function, "rsbench_impl")
        ):
            raise UserError(
                f"{name} is not marked as a hook: put @rsbench.hookimpl before it"
            )


def _about(
    plugin: str, module: Any, version: str | None, milliseconds: float, before: set[str]
) -> Plugin:
    file = getattr(module, "__file__", None)
    path = Path(file).resolve() if file else None
    # Beside a module that is neither a package nor dropped in, `conf` may be anybody's.
    owns = hasattr(module, "__path__") or getattr(module, "__name__", "").startswith(
        _DROPPED_IN
    )
    conf = (
        path.parent / "conf"
        if path and owns and not plugin.startswith("rsbench.")
        else None
    )
    presets = conf if conf is not None and conf.is_dir() else None
    # Of rsbench's own, the hash of all its sources is enough.
    identity = (
        "" if plugin.startswith("rsbench.") else _identity(_sources(module, before))
    )
    return Plugin(plugin, version, path, milliseconds, presets, identity)


def _identity(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sources:
        with contextlib.suppress(
            OSError
        ):  # a module may say that it is in a file that is not there
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _sources(plugin: Any, before: set[str]) -> list[Path]:
    """A plugin's files: its package's, and those of other modules beside it that it brought in or refers to."""
    own = (
        plugin.__name__
        if isinstance(plugin, types.ModuleType)
        else getattr(plugin, "__module__", "")
    )
    module = sys.modules.get(own)
    files = {
        path
        for folder in getattr(sys.modules.get(own.partition(".")[0]), "__path__", ())
        for path in Path(folder).rglob("*")
        if path.suffix in _SOURCES and "__pycache__" not in path.parts
    }
    globals_ = vars(module).values() if module else ()
    referred = {
        getattr(value, "__module__", None) or getattr(value, "__name__", None)
        for value in globals_
    }
    for name in {
        own,
        *(set(sys.modules) - before),
        *(name for name in referred if isinstance(name, str)),
    }:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and (name == own or _is_somebodys(Path(file).resolve())):
            files.add(Path(file).resolve())
    return sorted(files)


_SOURCES = (".py", ".yaml", ".yml", ".json", ".so", ".pyd")


def _is_somebodys(file: Path) -> bool:
    """Whether a module is neither Python's, nor an installed package's, nor ours."""
    theirs = [Path(place).resolve() for place in sysconfig.get_paths().values()] + [
        Path(__file__).resolve().parent.parent
    ]
    return not any(file.is_relative_to(place) for place in theirs)


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """What strangers' modules do to the process while they are imported is undone afterwards."""
    directory, argv, environment = os.getcwd(), sys.argv, dict(os.environ)
    limit, disabled, floats = (
        sys.getrecursionlimit(),
        logging.root.manager.disable,
        np.geterr(),
    )
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.chdir(directory)
        sys.argv = argv
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        sys.setrecursionlimit(limit)
        logging.disable(disabled)
        np.seterr(**floats)


_DROPPED_IN = "rsbench_dropin_"


def _load_file(path: Path) -> types.ModuleType:
    path = path.resolve(strict=True)
    # Two folders may hold files of one name.
    name = (
        f"{_DROPPED_IN}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    )
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
        unknown = [
            word.strip("'\"")
            for word in str(error).split()
            if word.strip("'\"").startswith("rsbench_")
        ]
        if unknown and unknown[0] not in known:
            return f"unknown hook {unknown[0]}. {did_you_mean(unknown[0], known)}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            return f"needs the package '{package}', which is not installed: pip install {package}"
    return str(error) if isinstance(error, UserError) else first_line(error)


def check_parameters(component: Component, params: dict[str, Any]) -> None:
    """Unknown names and values outside a `Literal` are errors that say what is possible."""
    where = f"{component.kind}={component.name}"
    for name, value in params.items():
        if name not in component.parameters:
            raise UserError(
                f"{where} has no parameter '{name}'. {did_you_mean(name, component.parameters)}"
            )
        hint = component.types.get(name)
        choices = literal_choices(hint)
        if choices and value not in choices and not _matches_other(value, hint):
            others = [t.__name__ for t in typing.get_args(hint) if isinstance(t, type)]
            raise UserError(
                f"{component.kind}.{name}={value!r}: expected {' or '.join([*map(str, choices), *others])} ({where})"
            )


def _matches_other(value: Any, hint: Any) -> bool:
    plain = (
        tuple(part for part in typing.get_args(hint) if isinstance(part, type))
        if is_union(hint)
        else ()
    )
    return isinstance(value, plain) and not isinstance(value, bool)


def _as_hinted(value: Any, hint: Any) -> Any:
    return (
        tuple(value)
        if isinstance(value, list) and typing.get_origin(hint) is tuple
        else value
    )
