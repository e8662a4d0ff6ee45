"""Commands beside the Hydra run: plugins, data sets, the state of sweeps, reports, and sending results to MLflow."""

import argparse
import io
import logging
import sys
from pathlib import Path

from rsbench.cli import data, plugins, report, status
from rsbench.errors import UserError


def main(argv: list[str]) -> int:
    """Run a named command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m rsbench")
    commands = parser.add_subparsers(required=True)
    plugins.add_commands(commands)
    data.add_commands(commands)
    report.add_commands(commands)
    asking = commands.add_parser(
        "status", help="what is done, failed, running and missing"
    )
    asking.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="a run's or a sweep's folder, or one above",
    )
    asking.set_defaults(run=status.show)
    sending = commands.add_parser(
        "track", help="send finished runs to MLflow, each once"
    )
    sending.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="a run's or a sweep's folder, or one above",
    )
    sending.add_argument(
        "--uri",
        help="MLflow tracking URI; by default the one each run was configured with",
    )
    sending.set_defaults(run=track)
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s", level=logging.ERROR)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            errors="replace"
        )  # a terminal may not know every letter that people type
    try:
        return args.run(args)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def track(args: argparse.Namespace) -> int:
    """Send finished runs to MLflow."""
    from rsbench.tracking.mirror import track as send

    count, uri = send(args.folder, args.uri)
    print(f"{count} finished run{'' if count == 1 else 's'} of {args.folder} in {uri}")
    return 0
