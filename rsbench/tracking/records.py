"""Finished runs from an MLflow experiment, by the records among their artifacts."""

import contextlib
from pathlib import Path

from rsbench.errors import UserError, first_line
from rsbench.report.collect import Collection
from rsbench.store.items import ITEMS_FILE
from rsbench.store.record import BESIDE, read_record
from rsbench.tracking.store import Tracker

#: What a report cannot do without of a run's record.
_RECORD = ("run.json", "curves.csv")
#: What there may be besides. A whole folder is downloaded like a file.
_OTHERS = ("classes.csv", ITEMS_FILE, *BESIDE)


def from_mlflow(experiment: str, uri: str, folder: Path) -> Collection:
    """Return all complete runs of an MLflow experiment.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    uri : str
        MLflow's tracking URI.
    folder : Path
        Where the records among the runs' artifacts are downloaded to.

    Raises
    ------
    UserError
        If the store cannot be read, or has no complete run of rsbench.
    """
    found = Collection()
    try:
        for name, run_id, download in Tracker.existing(uri, experiment).records():
            place = folder / run_id
            place.mkdir()
            try:
                for file in _RECORD:
                    download(file, place)
                for other in _OTHERS:  # which older records do not have
                    with contextlib.suppress(Exception):
                        download(other, place)
                found.add([read_record(place)])
            except Exception as error:  # of one run: the others are still there
                # The temporary folder means nothing to anybody.
                told = first_line(error).replace(f"{place}: ", "")
                found.left_out.append(f"{name} ({run_id}): {told}")
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{uri}: {first_line(error)}") from error
    if not found.runs:
        raise UserError(
            f"{uri}: the experiment '{experiment}' has no complete run of rsbench"
        )
    return found
