"""Make all comparisons of speed in one command: tables in markdown, figures in JSON.

    pip install -e ".[benchmark]"
    python benchmarks/all.py [--quick] [--only PART] [--to FOLDER]

Run it on an otherwise idle machine: the load at the start is in the output. Contestants
take turns and ratios are taken within a round; tables have the median over rounds, the
spread, and the ratio of the best times, which noise touches least.
"""

import argparse
from pathlib import Path
from typing import Any

import commands
import common
import marked_texts
import opponents
import scale
import sparse_rows
import tools
import updates

PARTS = {
    "updates": updates.main,
    "tools": tools.main,
    "opponents": opponents.main,
    "sparse": sparse_rows.main,
    "texts": marked_texts.main,
    "scale": scale.main,
    "commands": commands.main,
}


def main() -> None:
    """Measure the parts that are asked for, and write what was found."""
    args = _arguments()
    machine = common.machine()
    told = [f"{key}: {value}" for key, value in machine.items()]
    quick = ""
    if args.quick:
        quick = "Quick: few rounds, to try things out."
    lines = ["# Speed", "", ", ".join(told) + ".", quick, ""]
    values: dict[str, Any] = {"machine": machine, "quick": args.quick}
    for name in args.only or PARTS:
        part, values[name] = PARTS[name](args.quick)
        print("\n".join(part), flush=True)
        lines += part
        # After each part: so that a break loses little.
        common.write(args.to, "speed", lines, values)
    print(f"written: {args.to / 'speed.md'}, {args.to / 'speed.json'}")


def _arguments() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer rounds, smaller budgets, a shorter stream from disk",
    )
    parser.add_argument(
        "--only",
        choices=PARTS,
        action="append",
        help="this part; may be given more than once",
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("outputs/benchmarks"),
        help="folder for speed.md and speed.json",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
