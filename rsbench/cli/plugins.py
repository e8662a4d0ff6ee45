"""python -m rsbench plugins, new and check: what is there, a start for one's own, and whether it keeps its promises."""

import argparse
import inspect
import json
import math
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsbench.errors import UserError, did_you_mean, first_line
from rsbench.files.atomic import CONF
from rsbench.plugins import registry
from rsbench.plugins.registry import KINDS, Component, Registry


def add_commands(commands: Any) -> None:
    """The commands about plugins."""
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
    starting.add_argument("kind", choices=KINDS)
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
        "--kind", choices=KINDS, help="where several kinds have the name"
    )
    checking.set_defaults(run=check)


def plugins(args: argparse.Namespace) -> int:
    """Print every component with its plugin and parameters, then what is broken and why."""
    loaded = registry.load()
    if args.what == "show":
        if not args.name:
            raise UserError("which one? python -m rsbench plugins show NAME")
        return _show(find(loaded, args.name))
    if args.json:
        print(json.dumps(_as_json(loaded), indent=2))
    else:
        _print_table(loaded, args.verbose)
    return 1 if loaded.broken else 0


def _print_table(loaded: Registry, verbose: bool) -> None:
    rows = [("kind", "name", "from", "parameters")]
    for components in loaded.components.values():
        rows += [
            (c.kind, c.name, _origin(c), ", ".join(_parameters(c).values()))
            for c in components.values()
        ]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    room = max(20, _terminal_width() - sum(widths) - 6)
    for *first, last in rows:
        cells = [cell.ljust(width) for cell, width in zip(first, widths, strict=True)]
        print(
            "  ".join(
                [*cells, last if len(last) <= room else last[: room - 1] + "…"]
            ).rstrip()
        )
    for broken in loaded.broken:
        print(f"broken  {_shown(broken.plugin)}: {broken.cause}")
        if verbose:
            print(broken.traceback)
    if verbose:
        every = [plugin for parts in loaded.plugins.values() for plugin in parts]
        for plugin in sorted(every, key=lambda plugin: -plugin.milliseconds):
            print(f"{plugin.milliseconds:>8.0f} ms  {_shown(plugin.name)}")


def _terminal_width() -> int:
    """Of a terminal; what goes elsewhere is not cut."""
    return os.get_terminal_size().columns if sys.stdout.isatty() else 10_000


def _shown(path: str) -> str:
    """A plugin's name; a file's as seen from here, if it is here."""
    return (
        os.path.relpath(path)
        if os.path.isabs(path) and Path(path).is_relative_to(Path.cwd())
        else path
    )


def _origin(component: Component) -> str:
    return "rsbench" if component.built_in else _shown(component.plugin)


def _parameters(component: Component) -> dict[str, str]:
    """Each parameter as `name: type = default`."""
    found = {}
    for name, parameter in component.parameters.items():
        hint = component.types.get(name)
        text = (
            f": {inspect.formatannotation(hint).replace('typing.', '')}"
            if hint is not None
            else ""
        )
        found[name] = f"{name}{text} = {parameter.default!r}"
    return found


def _as_json(loaded: Registry) -> dict[str, Any]:
    return {
        "components": [
            {
                "kind": component.kind,
                "name": component.name,
                "plugin": component.plugin,
                "version": next(
                    (part.version for part in loaded.plugins.get(component.plugin, [])),
                    None,
                ),
                "where": component.where,
                "parameters": {
                    name: _plain(parameter.default)
                    for name, parameter in component.parameters.items()
                },
                "summary": (inspect.getdoc(component.cls) or "").partition("\n")[0],
            }
            for components in loaded.components.values()
            for component in components.values()
        ],
        "broken": [
            {"plugin": broken.plugin, "cause": broken.cause} for broken in loaded.broken
        ],
    }


def _plain(value: Any) -> Any:
    """A default as JSON can hold it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    finite = not isinstance(value, float) or math.isfinite(value)
    return (
        value
        if isinstance(value, (str, int, float, type(None))) and finite
        else repr(value)
    )


def _show(found: list[Component]) -> int:
    for component in found:
        print(
            f"{component.kind}={component.name}, from {_origin(component)} ({_shown(component.where)})\n"
        )
        print(inspect.getdoc(component.cls) or "No description.")
        parameters = _parameters(component).values()
        print(
            "\n" + "\n".join(f"  {component.kind}.{text}" for text in parameters)
            if parameters
            else "\nNo parameters."
        )
    return 0


def find(loaded: Registry, name: str, kind: str | None = None) -> list[Component]:
    """Components of that name, of any kind; none is an error with a suggestion."""
    kinds = [kind] if kind else list(KINDS)
    for each in kinds:
        if (each, name) in loaded.contested:
            raise UserError(loaded.contested[each, name])
    found = [
        loaded.components[each][name]
        for each in kinds
        if name in loaded.components[each]
    ]
    if not found:
        known = {name for each in kinds for name in loaded.components[each]}
        broken = [
            f"\nThe plugin {b.plugin} is broken and was left out: {b.cause}"
            for b in loaded.broken
        ]
        raise UserError(
            f"no component is called '{name}'. {did_you_mean(name, known)}{''.join(broken)}"
        )
    return found


def new(args: argparse.Namespace) -> int:
    """Write a plugin to start from."""
    from rsbench.cli.scaffold import write_file, write_package

    taken = registry.load().components[args.kind]
    if args.name in taken:
        raise UserError(
            f"{args.kind} '{args.name}' is there already, from {taken[args.name].plugin}: choose another name"
        )
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", args.name):
        raise UserError(
            f"'{args.name}': a name is made of small letters, digits and single underscores, a letter first"
        )
    if (
        args.name in ("null", "true", "false", "none")
        or (CONF / "method" / f"{args.name}.yaml").exists()
    ):
        raise UserError(
            f"'{args.name}' has a meaning of its own on the command line: choose another name"
        )
    written = (
        write_package(args.kind, args.name)
        if args.package
        else write_file(args.kind, args.name)
    )
    for path in written:
        print(f"wrote {path}")
    if args.package:
        print(f"install it:  pip install -e {written[0].parent}")
    print(f"check it:    python -m rsbench check {args.name}")
    print(f"use it:      python -m rsbench {args.kind}={args.name}")
    return 0


@dataclass(frozen=True)
class _Make:
    """Makes components; can be sent to another process, which finds the plugin by itself."""

    kind: str
    config: dict[str, Any]

    def __call__(self) -> Any:
        return registry.load().build(self.kind, self.config)


def check(args: argparse.Namespace) -> int:
    """Try every promise and say which are kept."""
    from rsbench.checks import verdicts

    loaded = registry.load()
    found = find(loaded, args.name, args.kind)
    if len(found) > 1:
        raise UserError(
            f"'{args.name}' is a {' and a '.join(c.kind for c in found)}: choose with --kind"
        )
    component = found[0]
    make = _Make(component.kind, _configured(component, args.settings))
    make()
    broken = total = 0
    print(f"{component.kind} {component.name}, from {_origin(component)}")
    for verdict in verdicts(component.kind, make):
        total, broken = total + 1, broken + (not verdict.kept)
        print(
            f"  {'kept  ' if verdict.kept else 'BROKEN'}  {verdict.promise.name:<32} {verdict.promise.says}"
        )
        if verdict.cause:
            print(f"          {verdict.cause}")
    print(f"{total - broken} of {total} promises kept")
    return 1 if broken else 0


def _configured(component: Component, words: list[str]) -> dict[str, Any]:
    """The component's config with KEY=VALUE words set, checked as a run checks it."""
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    for word in words:
        key, equals, _ = word.partition("=")
        if not equals or key not in component.parameters:
            raise UserError(
                f"'{word}': expected KEY=VALUE. {did_you_mean(key, component.parameters)}"
            )
    try:
        config = OmegaConf.merge(
            OmegaConf.structured(component.schema), OmegaConf.from_dotlist(words)
        )
    except (OmegaConfBaseException, yaml.YAMLError) as error:
        raise UserError(f"{' '.join(words)}: {first_line(error)}") from None
    values: Any = OmegaConf.to_container(config)
    return values
