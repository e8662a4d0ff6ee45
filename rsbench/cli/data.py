"""python -m rsbench data: get data sets, and see what is there."""

import argparse
import sys
from typing import Any

from rsbench.errors import UserError, did_you_mean
from rsbench.files.atomic import data_root
from rsbench.plugins import registry


def add_commands(commands: Any) -> None:
    """The sub-commands of `data`."""
    data = commands.add_parser(
        "data", help="get data sets, and see what is there"
    ).add_subparsers(required=True)
    getting = data.add_parser(
        "get", help="download and unpack a data set into RSBENCH_DATA (default: data)"
    )
    getting.add_argument("name", help="such as cub")
    getting.add_argument(
        "--url", help="address of the archive, in place of the official one"
    )
    getting.set_defaults(run=get)
    explaining = data.add_parser(
        "explain",
        help="what becomes of each free-text tag: its term, or why it has none",
    )
    explaining.add_argument("name", help="such as sun")
    explaining.add_argument(
        "--root",
        help="folder of the data set; by default in RSBENCH_DATA, else the stand-in",
    )
    explaining.add_argument("--vocabulary", help="file with one term a line")
    explaining.add_argument(
        "--matcher", default="second", help="how tags become terms (default: second)"
    )
    explaining.add_argument(
        "--top",
        type=int,
        default=40,
        help="so many of the most frequent tags; 0 for all",
    )
    explaining.set_defaults(run=explain)
    showing = data.add_parser(
        "status", help="which data sets are there, complete or not"
    )
    showing.set_defaults(run=status)


def get(args: argparse.Namespace) -> int:
    """Download, check and unpack; what is there already stays."""
    available = _archives()
    if args.name not in available:
        raise UserError(
            f"unknown data set '{args.name}'. {did_you_mean(args.name, available)}"
        )
    from rsbench.files import download

    archive = available[args.name].archive
    folder = data_root() / archive.folder
    new = download.get(archive, data_root(), args.url)
    complete, found = _state(args.name)
    print(f"{folder}: {'now there' if new else 'there already'}, {found}")
    if not complete:
        print(f"incomplete: remove {folder} and run this again", file=sys.stderr)
    return 0 if complete else 1


def status(args: argparse.Namespace) -> int:
    """One line for each data set that has a place on disk."""
    for name, cls in sorted(_archives().items()):
        complete, found = _state(name)
        print(
            f"{name:<6} {'complete' if complete else 'incomplete' if found else 'absent':<11} "
            f"{data_root() / cls.archive.folder}{': ' + found if found else ''}"
        )
        part = data_root() / f"{cls.archive.folder}.tgz.part"
        if part.exists():
            print(
                f"       {part.stat().st_size:,} bytes are downloaded; go on: python -m rsbench data get {name}"
            )
        elif not found and cls.archive.url:
            print(f"       python -m rsbench data get {name}")
    return 0


def explain(args: argparse.Namespace) -> int:
    """Print every tag with the terms it stands for, or why there are none, then the counts beside the paper's."""
    from rsbench.datasets.sun import PAPER_COUNTS

    able = {name: cls for name, cls in _archives().items() if hasattr(cls, "explain")}
    if args.name not in able:
        raise UserError(
            f"data set '{args.name}' has no tags to explain. {did_you_mean(args.name, able)}"
        )
    if args.top < 0:
        raise UserError(f"--top {args.top}: expected 0 or more")
    tags, simulated = able[args.name](
        root=args.root, vocabulary=args.vocabulary, matcher=args.matcher
    ).explain()
    decisions = tags.decisions()
    room = 32 if args.top else max(len(decision.tag) for decision in decisions)
    for decision in decisions[: args.top or None]:
        terms = ", ".join(decision.terms) or "-"
        forms = [form for form in decision.typed if form != decision.tag]
        typed = (
            f"; typed {', '.join(forms[:3] if args.top else forms)}" if forms else ""
        )
        shown = [
            _short(_printable(text), room).ljust(min(room, 32))
            for text in (decision.tag, terms)
        ]
        print(
            f"{decision.count:>7}  {' '.join(shown)} {decision.why}{_printable(typed)}"
        )
    if 0 < args.top < len(decisions):
        print(f"     …  {len(decisions) - args.top} more; --top 0 for all")
    print(f"\n{'':<40} {'here':>10} {'paper':>10}")
    for what, count in tags.summary().items():
        paper = PAPER_COUNTS.get(what)
        print(
            f"{what.replace('_', ' '):<40} {count:>10,.6g} {'' if paper is None else f'{paper:>10,}'}".rstrip()
        )
    if simulated:
        print(
            "\nSIMULATED tags: these counts say nothing about the real data set, nor about the paper's."
        )
    return 0


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _printable(text: str) -> str:
    """Text that strangers typed, without characters that could confuse a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _archives() -> dict[str, Any]:
    components = registry.load().components["dataset"].values()
    return {
        component.name: component.cls
        for component in components
        if hasattr(component.cls, "archive")
    }


def _state(name: str) -> tuple[bool, str]:
    """Whether the data set is complete, and what is there of it; nothing if it is absent."""
    cls = _archives()[name]
    root = data_root() / cls.archive.folder
    if not root.exists():
        return False, ""
    try:
        return cls().status(root)
    except UserError as error:
        return False, str(error)
