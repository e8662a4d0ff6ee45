"""python -m rsbench data: get data sets, and see what is there."""

import argparse
import sys
from typing import Any

from rsbench.cli.terminal import cut
from rsbench.datasets.real import RealOrSimulated
from rsbench.errors import UserError, did_you_mean
from rsbench.files.places import data_root
from rsbench.plugins import registry

#: Room for a tag, and for its terms, in a line of `explain`.
_COLUMN = 32


def add_commands(commands: Any) -> None:
    """Add the sub-commands of `data`."""
    data = commands.add_parser("data", help="get data sets, and see what is there")
    data_commands = data.add_subparsers(required=True)

    getting = data_commands.add_parser(
        "get", help="download and unpack a data set into RSBENCH_DATA (default: data)"
    )
    getting.add_argument("name", help="such as cub")
    getting.add_argument(
        "--url", help="address of the archive, in place of the official one"
    )
    getting.set_defaults(run=get)

    explaining = data_commands.add_parser(
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

    showing = data_commands.add_parser(
        "status", help="which data sets are there, complete or not"
    )
    showing.set_defaults(run=status)


def get(args: argparse.Namespace) -> int:
    """Download, check and unpack; what is there already stays."""
    available = _datasets_on_disk()
    if args.name not in available:
        raise UserError(
            f"unknown data set '{args.name}'. {did_you_mean(args.name, available)}"
        )
    cls = available[args.name]
    folder = data_root() / cls.archive.folder
    is_new = cls.get(data_root(), args.url)
    # What is there may be incomplete all the same, as an archive of another address.
    complete, found = _state(cls)
    arrival = "there already"
    if is_new:
        arrival = "now there"
    print(f"{folder}: {arrival}, {found}")
    if not complete:
        print(f"incomplete: remove {folder} and run this again", file=sys.stderr)
        return 1
    return 0


def status(args: argparse.Namespace) -> int:
    """Print a line for each data set that has a place on disk."""
    for name, cls in sorted(_datasets_on_disk().items()):
        folder = data_root() / cls.archive.folder
        complete, found = _state(cls)
        if complete:
            state = "complete"
        elif found:
            state = "incomplete"
        else:
            state = "absent"
        line = f"{name:<8} {state:<11} {folder}"
        if found:
            line += f": {found}"
        print(line)
        # What a download that was broken off has left.
        part = folder.with_name(f"{folder.name}.tgz.part")
        if part.exists():
            print(
                f"         {part.stat().st_size:,} bytes are downloaded; go on: "
                f"python -m rsbench data get {name}"
            )
        elif not found:
            print(f"         python -m rsbench data get {name}")
    return 0


def explain(args: argparse.Namespace) -> int:
    """Print every tag with the terms it stands for, or why it stands for none.

    The counts come last, beside the paper's.
    """
    on_disk = _datasets_on_disk()
    tagged = {name: cls for name, cls in on_disk.items() if cls.explain is not None}
    if args.name not in tagged:
        raise UserError(
            f"data set '{args.name}' has no tags to explain. "
            f"{did_you_mean(args.name, tagged)}"
        )
    if args.top < 0:
        raise UserError(f"--top {args.top}: expected 0 or more")
    # Any: only data sets with tags have these parameters.
    make: Any = tagged[args.name]
    dataset = make(root=args.root, vocabulary=args.vocabulary, matcher=args.matcher)
    tags, simulated = dataset.explain()
    _print_decisions(tags.decisions(), args.top)
    _print_counts(tags.summary())
    if simulated:
        print(
            "\nSIMULATED tags: these counts say nothing about the real data set, nor "
            "about the paper's."
        )
    return 0


def _print_decisions(decisions: list[Any], top: int) -> None:
    """Print the first so many decisions shortened, or all of them whole."""
    shown = decisions
    longest = max((len(decision.tag) for decision in decisions), default=0)
    room = longest
    if top:
        shown = decisions[:top]
        room = _COLUMN
    for decision in shown:
        terms = ", ".join(decision.terms) or "-"
        columns = [_column(decision.tag, room), _column(terms, room)]
        line = f"{decision.count:>7}  {' '.join(columns)} {decision.why}"
        forms = [form for form in decision.typed if form != decision.tag]
        if top:
            forms = forms[:3]
        if forms:
            line += _printable(f"; typed {', '.join(forms)}")
        print(line)
    more = len(decisions) - len(shown)
    if more:
        print(f"     …  {more} more; --top 0 for all")


def _print_counts(summary: dict[str, Any]) -> None:
    """Print how much of the tags was used, with the paper's counts where it has any."""
    from rsbench.datasets.sun import PAPER_COUNTS

    print(f"\n{'':<40} {'here':>10} {'paper':>10}")
    for what, count in summary.items():
        line = f"{what.replace('_', ' '):<40} {count:>10,.6g}"
        if what in PAPER_COUNTS:
            line += f" {PAPER_COUNTS[what]:>10,}"
        print(line)


def _column(text: str, room: int) -> str:
    """Return text cut to the room there is, and filled up to a column's width."""
    shown = cut(_printable(text), room)
    return shown.ljust(min(room, _COLUMN))


def _printable(text: str) -> str:
    """Return what strangers typed without characters that could confuse a terminal."""
    shown = ""
    for character in text:
        if character.isprintable():
            shown += character
        else:
            shown += "?"
    return shown


def _datasets_on_disk() -> dict[str, type[RealOrSimulated]]:
    """Return the data sets that have a place on disk, by name."""
    found = {}
    for component in registry.load().components["dataset"].values():
        cls = component.cls
        if isinstance(cls, type) and issubclass(cls, RealOrSimulated):
            found[component.name] = cls
    return found


def _state(cls: type[RealOrSimulated]) -> tuple[bool, str]:
    """Return whether the data set is complete, and in words what is there of it.

    There are no words where it is absent.
    """
    root = data_root() / cls.archive.folder
    if not root.exists():
        return False, ""
    try:
        return cls().status(root)
    except UserError as error:
        return False, str(error)
