"""Commands beside the Hydra run: plugins, data, states of sweeps, reports, MLflow."""

import argparse
import io
import logging
import sys
from pathlib import Path

from rsbench.cli import data, planning, plugins, report, status
from rsbench.errors import UserError

_FOLDER = "a run's or a sweep's folder, or one above"


def main(argv: list[str]) -> int:
    """Run a named command and return its exit code."""
    args = _parser().parse_args(argv)
    # Errors alone: a broken plugin is part of what `plugins` prints.
    logging.basicConfig(format="%(message)s", level=logging.ERROR)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal may not know every letter that people type.
        sys.stdout.reconfigure(errors="replace")
    try:
        return args.run(args)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets the function that runs it."""
    parser = argparse.ArgumentParser(prog="python -m rsbench")
    commands = parser.add_subparsers(required=True)
    plugins.add_commands(commands)
    data.add_commands(commands)
    report.add_commands(commands)
    planning.add_commands(commands)
    asking = commands.add_parser(
        "status", help="what is done, failed, running and missing"
    )
    asking.add_argument("folder", type=Path, metavar="DIR", help=_FOLDER)
    asking.set_defaults(run=status.show)
    sending = commands.add_parser(
        "track", help="send finished runs to MLflow, each once"
    )
    sending.add_argument("folder", type=Path, metavar="DIR", help=_FOLDER)
    sending.add_argument(
        "--uri",
        help="MLflow tracking URI; by default the one each run was configured with",
    )
    sending.set_defaults(run=track)
    return parser


def track(args: argparse.Namespace) -> int:
    """Send finished runs to MLflow."""
    from rsbench.tracking.mirror import track as send

    count, uri = send(args.folder, args.uri)
    runs = "runs"
    if count == 1:
        runs = "run"
    print(f"{count} finished {runs} of {args.folder} in {uri}")
    return 0
