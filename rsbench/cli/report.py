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
    from rsbench.report.collect import from_folders, from_mlflow

    if bool(args.folders) == bool(args.mlflow):
        raise UserError(
            "report of what? Folders of runs, report outputs/sweeps/…, or --mlflow EXPERIMENT"
        )
    with tempfile.TemporaryDirectory() as temporary:
        if args.mlflow:
            found = from_mlflow(
                args.mlflow, args.uri or _default_uri(), Path(temporary)
            )
        else:
            found = from_folders(args.folders)
        folder = args.to or (
            args.folders[0] if len(args.folders) == 1 else _new_folder()
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot write to {folder}: {error.strerror}. Choose another folder with --to DIR"
            ) from None
        print(_write(found, folder))
    for line in found.left_out:
        print(f"left out: {line}", file=sys.stderr)
    print(f"report  {folder / 'report.html'}")
    return 0


def _write(found: "Collection", folder: Path) -> str:
    from rsbench.report import write_report

    try:
        return write_report(found.runs, folder, found.left_out)
    except UserError as error:
        told = str(error).partition(". Earlier results")[0]
        raise UserError(f"{told}. Choose another folder with --to DIR") from None


def _default_uri() -> str:
    from rsbench.tracking.mirror import default_settings

    return default_settings()["uri"]


def _new_folder() -> Path:
    return Path("outputs") / "reports" / time.strftime("%Y-%m-%d_%H-%M-%S")
