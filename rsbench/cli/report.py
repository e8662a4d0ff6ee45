"""The command `report`: one page of runs that finished, wherever they are."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rsbench.errors import UserError

if TYPE_CHECKING:
    from rsbench.report.collect import Collection


#: The fix that errors about the report's folder end with.
_CHOOSE_FOLDER = "Choose another folder with --to DIR"


def add_commands(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "report", help="tables, figures and one HTML page of finished runs"
    )
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="DIR",
        help="folders of sweeps or single runs",
    )
    parser.add_argument(
        "--mlflow", metavar="EXPERIMENT", help="take the runs from an MLflow experiment"
    )
    parser.add_argument(
        "--uri", help="MLflow tracking URI; by default that of tracking=mlflow"
    )
    parser.add_argument(
        "--to",
        type=Path,
        metavar="DIR",
        help="where to write; by default DIR itself, if it is one",
    )
    parser.set_defaults(run=report)


def report(args: argparse.Namespace) -> int:
    """Write a report of the runs in folders, or in an MLflow experiment."""
    from rsbench.report import write_report

    if bool(args.folders) == bool(args.mlflow):
        raise UserError(
            "report of what? Folders of runs, report outputs/sweeps/…, or "
            "--mlflow EXPERIMENT"
        )
    # For records from MLflow, which are read while the report is made.
    with tempfile.TemporaryDirectory() as temporary:
        found = _collect(args, Path(temporary))
        folder = _folder(args)
        print(write_report(found.runs, folder, found.left_out, fix=_CHOOSE_FOLDER))
    # On stderr, so that the table alone can go to a file.
    for line in found.left_out:
        print(f"left out: {line}", file=sys.stderr)
    print(f"report  {folder / 'report.html'}")
    return 0


def _collect(args: argparse.Namespace, temporary: Path) -> "Collection":
    """Return the runs that were asked for; those of MLflow are downloaded first."""
    from rsbench.report.collect import from_folders
    from rsbench.tracking.records import from_mlflow

    if args.mlflow:
        return from_mlflow(args.mlflow, args.uri or _default_uri(), temporary)
    return from_folders(args.folders)


def _folder(args: argparse.Namespace) -> Path:
    """Return the folder that the report goes to, made if it is not there."""
    if args.to:
        folder = args.to
    elif len(args.folders) == 1:
        folder = args.folders[0]
    else:
        folder = Path("outputs") / "reports" / time.strftime("%Y-%m-%d_%H-%M-%S")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write to {folder}: {error.strerror}. {_CHOOSE_FOLDER}"
        ) from None
    return folder


def _default_uri() -> str:
    """Return the URI of the store that runs are tracked in by default."""
    from rsbench.tracking.mirror import default_settings

    return default_settings()["uri"]
