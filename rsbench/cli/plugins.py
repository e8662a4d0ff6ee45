"""The commands `plugins`, `new` and `check`.

They show what is there, write a start for one's own, and try whether it keeps its
promises.
"""

import argparse
import inspect
import json
import math
import os
import re
import sys
from dataclasses import dataclass
from typing import Any

from rsbench.cli.terminal import cut, shown_path
from rsbench.errors import UserError, did_you_mean, first_line
from rsbench.files.places import CONF
from rsbench.plugins import kinds, registry
from rsbench.plugins.registry import VALUE_WORDS, Component, Plugin, Registry

_KINDS = tuple(kinds.BY_NAME)

#: A name that the file, the class and the package of a template can all be made of.
_NEW_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def add_commands(commands: Any) -> None:
    """Add the commands about plugins to a parser's."""
    listing = commands.add_parser(
        "plugins", help="components, where they come from, and plugins that are broken"
    )
    listing.add_argument(
        "what", nargs="?", choices=["show"], help="show one component whole"
    )
    listing.add_argument("name", nargs="?", help="its name")
    listing.add_argument("--json", action="store_true", help="for programs")
    listing.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="with import times, and tracebacks of broken ones",
    )
    listing.set_defaults(run=plugins)

    starting = commands.add_parser(
        "new", help="write a plugin that runs at once, to be changed into your own"
    )
    starting.add_argument("kind", choices=_KINDS)
    starting.add_argument("name")
    starting.add_argument(
        "--package",
        action="store_true",
        help="a package to install, with tests, in a folder of its own",
    )
    starting.set_defaults(run=new)

    checking = commands.add_parser(
        "check", help="try a component's promises, one by one"
    )
    checking.add_argument("name")
    checking.add_argument(
        "settings",
        nargs="*",
        metavar="KEY=VALUE",
        help="parameters, as on the command line",
    )
    checking.add_argument(
        "--kind", choices=_KINDS, help="where several kinds have the name"
    )
    checking.set_defaults(run=check)


def plugins(args: argparse.Namespace) -> int:
    """Print every component with its plugin and parameters, then what is broken."""
    loaded = registry.load()
    if args.what == "show":
        if not args.name:
            raise UserError("which one? python -m rsbench plugins show NAME")
        for component in find(loaded, args.name):
            _show(component)
        return 0
    if args.json:
        print(json.dumps(_as_json(loaded), indent=2))
    else:
        _print_table(loaded)
        _print_broken(loaded, args.verbose)
    if loaded.broken:
        return 1  # so that a script notices
    return 0


def _print_table(loaded: Registry) -> None:
    """Print a line for each component, its parameters cut to the terminal's width."""
    rows = [("kind", "name", "from", "parameters")]
    for component in _every(loaded):
        parameters = ", ".join(_parameters(component).values())
        origin = _origin(component.plugin)
        rows.append((component.kind, component.name, origin, parameters))
    widths = []
    for i in range(3):
        widths.append(max(len(row[i]) for row in rows))
    gap = "  "
    room = max(20, _terminal_width() - sum(widths) - 3 * len(gap))
    for *first, last in rows:
        cells = []
        for cell, width in zip(first, widths, strict=True):
            cells.append(cell.ljust(width))
        cells.append(cut(last, room))
        print(gap.join(cells).rstrip())


def _print_broken(loaded: Registry, verbose: bool) -> None:
    for broken in loaded.broken:
        print(f"broken  {shown_path(str(broken.plugin))}: {broken.cause}")
        if verbose:
            print(broken.traceback)
    if verbose:
        slowest_first = sorted(loaded.plugins, key=lambda each: -each.milliseconds)
        for plugin in slowest_first:
            print(f"{plugin.milliseconds:>8.0f} ms  {shown_path(str(plugin))}")


def _every(loaded: Registry) -> list[Component]:
    found: list[Component] = []
    for components in loaded.components.values():
        found += components.values()
    return found


def _terminal_width() -> int:
    """Return the width of a terminal; what goes elsewhere is not cut."""
    if sys.stdout.isatty():
        return os.get_terminal_size().columns
    return 10_000


def _origin(plugin: Plugin) -> str:
    """Return where a plugin is from; rsbench's rooms go by one name."""
    if plugin.is_built_in:
        return "rsbench"
    return shown_path(str(plugin))


def _parameters(component: Component) -> dict[str, str]:
    """Return each parameter as `name: type = default`."""
    found = {}
    for name, parameter in component.parameters.items():
        hint = component.types.get(name)
        typed = name
        if hint is not None:
            written = inspect.formatannotation(hint).replace("typing.", "")
            typed = f"{name}: {written}"
        found[name] = f"{typed} = {parameter.default!r}"
    return found


def _as_json(loaded: Registry) -> dict[str, Any]:
    """Return what the table shows, for programs."""
    components = []
    for component in _every(loaded):
        defaults = {}
        for name, parameter in component.parameters.items():
            defaults[name] = _to_json(parameter.default)
        summary, _, _ = (inspect.getdoc(component.cls) or "").partition("\n")
        components.append(
            {
                "kind": component.kind,
                "name": component.name,
                "plugin": str(component.plugin),
                "version": component.plugin.version,
                "where": component.where,
                "parameters": defaults,
                "summary": summary,
            }
        )
    broken = []
    for each in loaded.broken:
        broken.append({"plugin": str(each.plugin), "cause": each.cause})
    return {"components": components, "broken": broken}


def _to_json(value: Any) -> Any:
    """Return a default as JSON can hold it."""
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _to_json(item) for key, item in value.items()}
    # JSON has no infinity; it becomes text.
    is_finite = not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, (str, int, float, type(None))) and is_finite:
        return value
    return repr(value)


def _show(component: Component) -> None:
    origin = _origin(component.plugin)
    print(f"{component.kind}={component.name}, from {origin}", end=" ")
    print(f"({shown_path(component.where)})\n")
    print(inspect.getdoc(component.cls) or "No description.")
    print()
    for text in _parameters(component).values():
        print(f"  {component.kind}.{text}")
    if not component.parameters:
        print("No parameters.")


def find(loaded: Registry, name: str, kind: str | None = None) -> list[Component]:
    """Return the components of that name, of any kind or of one.

    Raises
    ------
    UserError
        If there is none, with a suggestion; or if two plugins offer it.
    """
    groups = [each.group for each in kinds.ALL]
    if kind is not None:
        groups = [kinds.BY_NAME[kind].group]
    found = []
    known: set[str] = set()
    for group in groups:
        if (group, name) in loaded.contested:
            raise UserError(loaded.contested[group, name])
        known.update(loaded.components[group])
        if name in loaded.components[group]:
            found.append(loaded.components[group][name])
    # A broken plugin may be the one that offers it, so that they are named too.
    if not found:
        lines = [f"no component is called '{name}'. {did_you_mean(name, known)}"]
        raise UserError("\n".join([*lines, *loaded.left_out()]))
    return found


def new(args: argparse.Namespace) -> int:
    """Write a plugin to start from."""
    from rsbench.cli.scaffold import write_file, write_package

    kind = kinds.BY_NAME[args.kind]
    _check_new_name(kind.group, args.name)
    if args.package:
        written = write_package(kind.name, args.name)
    else:
        written = write_file(kind.name, args.name)
    for path in written:
        print(f"wrote {path}")
    # What to type next.
    if args.package:
        print(f"install it:  pip install -e {written[0].parent}")
    print(f"check it:    python -m rsbench check {args.name}")
    print(f"use it:      python -m rsbench {kind.group}={args.name}")
    return 0


def _check_new_name(group: str, name: str) -> None:
    """Raise an error unless a new component can be called so."""
    # Two plugins with one name would be refused when they are loaded.
    taken = registry.load().components[group]
    if name in taken:
        raise UserError(
            f"{group} '{name}' is there already, from {taken[name].plugin}: "
            "choose another name"
        )
    if not _NEW_NAME.fullmatch(name):
        raise UserError(
            f"'{name}': a name is made of small letters, digits and single "
            "underscores, a letter first"
        )
    if name in VALUE_WORDS or (CONF / "method" / f"{name}.yaml").exists():
        raise UserError(
            f"'{name}' has a meaning of its own on the command line: "
            "choose another name"
        )


@dataclass(frozen=True)
class _Make:
    """Make components when called.

    A class, and not a function in a function, so that it can be pickled: one of the
    checks sends it to another process, which finds the plugin by itself.
    """

    group: str
    config: dict[str, Any]

    def __call__(self) -> Any:
        return registry.load().build(self.group, self.config)


def check(args: argparse.Namespace) -> int:
    """Try every promise and say which are kept."""
    from rsbench.checks import verdicts

    found = find(registry.load(), args.name, args.kind)
    if len(found) > 1:
        names = [kinds.BY_GROUP[each.kind].name for each in found]
        choices = " and a ".join(names)
        raise UserError(f"'{args.name}' is a {choices}: choose with --kind")
    component = found[0]
    kind = kinds.BY_GROUP[component.kind].name
    make = _Make(component.kind, _configured(component, args.settings))
    make()  # a setting that makes no sense is the user's, and breaks no promise
    print(f"{kind} {component.name}, from {_origin(component.plugin)}")
    broken = 0
    total = 0
    for verdict in verdicts(kind, make):
        total += 1
        mark = "kept  "
        if not verdict.kept:
            broken += 1
            mark = "BROKEN"
        print(f"  {mark}  {verdict.promise.name:<32} {verdict.promise.says}")
        if verdict.cause:
            print(f"          {verdict.cause}")
    print(f"{total - broken} of {total} promises kept")
    if broken:
        return 1
    return 0


def _configured(component: Component, words: list[str]) -> dict[str, Any]:
    """Return the component's config with KEY=VALUE words set, checked as in a run."""
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    # Checked here, for a suggestion that OmegaConf's own error does not have.
    for word in words:
        key, equals, _ = word.partition("=")
        near = did_you_mean(key, component.parameters)
        if not equals:
            raise UserError(f"'{word}': expected KEY=VALUE. {near}")
        if key not in component.parameters:
            raise UserError(f"{component.name} has no parameter '{key}'. {near}")
    try:
        defaults = OmegaConf.structured(component.schema)
        config = OmegaConf.merge(defaults, OmegaConf.from_dotlist(words))
    except (OmegaConfBaseException, yaml.YAMLError) as error:
        raise UserError(f"{' '.join(words)}: {first_line(error)}") from None
    values: Any = OmegaConf.to_container(config)
    return values
