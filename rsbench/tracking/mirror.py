"""The MLflow mirror of the records on disk; losing it loses nothing.

A sweep is one parent run, each run in it a child. What was sent is marked in the store by the
record's id and a `complete` tag, so that sending again adds nothing and repairs what broke off.
"""

import contextlib
import functools
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from rsbench.cli.configs import CONF
from rsbench.core.measures import MEASURES
from rsbench.errors import UserError, first_line, is_number
from rsbench.files.atomic import alone
from rsbench.report import FILES
from rsbench.report.labels import (
    command,
    commands,
    data_label,
    flatten,
    hints,
    is_simulated,
)
from rsbench.store.record import ARTIFACTS_FOLDER, Run, find, read_sweep, sweep_folder

log = logging.getLogger(__name__)

#: MLflow takes a thousand values at once, a hundred of them params.
_METRICS, _PARAMS = 900, 100
_PARAM_LENGTH = 6000


def _client(uri: str) -> Any:
    # MLflow's own defaults keep a run waiting for minutes when a server is down.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    from mlflow import MlflowClient

    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    return MlflowClient(uri)


class Tracker:
    """A connection to one experiment of one MLflow store."""

    def __init__(self, uri: str, experiment: str):
        self.uri = uri
        if self.database:
            self.database.parent.mkdir(parents=True, exist_ok=True)
        # Processes that open a fresh SQLite store together corrupt it, so the first one makes it alone.
        with (
            FileLock(f"{self.database}.lock")
            if self.database
            else contextlib.nullcontext()
        ):
            self._client = _client(self._connectable())
            self.experiment_id = self._experiment(experiment)

    @classmethod
    def existing(cls, uri: str, experiment: str) -> "Tracker":
        """A connection to a store and an experiment that are there; nothing is made."""
        tracker = cls.__new__(cls)
        tracker.uri = uri
        if tracker.database and not tracker.database.is_file():
            raise UserError(f"{uri}: there is no such database")
        tracker._client = _client(tracker._connectable())
        found = tracker._client.get_experiment_by_name(experiment)
        if found is None:
            raise UserError(f"{uri}: there is no experiment '{experiment}'")
        tracker.experiment_id = found.experiment_id
        return tracker

    def records(self) -> Iterator[tuple[str, str, Callable[[str, Path], Any]]]:
        """Complete runs that are no sweeps: name, id, and a way to download their files into a folder."""
        token = None
        while True:
            found = self._client.search_runs(
                [self.experiment_id],
                "tags.`rsbench.complete` = 'true'",
                order_by=["start_time"],
                page_token=token,
            )
            for run in found:
                if "fingerprint" in run.data.tags:
                    run_id = run.info.run_id
                    download = functools.partial(
                        self._client.download_artifacts, run_id
                    )
                    yield run.info.run_name, run_id, download
            token = found.token
            if not token:
                return

    @property
    def database(self) -> Path | None:
        """The SQLite file, if the store is one."""
        return (
            Path(self.uri.removeprefix("sqlite:///")).absolute()
            if self.uri.startswith("sqlite:///")
            else None
        )

    def _connectable(self) -> str:
        """The URI without characters that have a meaning in one, if the way from here has none."""
        if self.database and set("%?#") & set(str(self.database)):
            return f"sqlite:///{os.path.relpath(self.database)}"
        return self.uri

    def _experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return found.experiment_id
        # Beside the database; MLflow would put artifacts into the working folder.
        location = (
            (self.database.parent / ARTIFACTS_FOLDER).as_uri()
            if self.database
            else None
        )
        try:
            return self._client.create_experiment(name, artifact_location=location)
        except Exception:  # another process may have been faster
            found = self._client.get_experiment_by_name(name)
            if found is None:
                raise
            return found.experiment_id

    def open(
        self, record_id: str, name: str, tags: dict[str, str], parent: str | None = None
    ) -> str | None:
        """Start a run for a record; None if it is complete in the store already."""
        found = self._only(record_id)
        if found is not None:
            if _complete(found):
                return None
            self._client.delete_run(found.info.run_id)
        tags = {
            "rsbench.id": record_id,
            **tags,
            **({"mlflow.parentRunId": parent} if parent else {}),
        }
        return self._client.create_run(
            self.experiment_id, run_name=name, tags=tags
        ).info.run_id

    def find(self, record_id: str) -> str | None:
        """The MLflow run of a record, if there is one."""
        found = self._only(record_id)
        return found.info.run_id if found is not None else None

    def _only(self, record_id: str) -> Any:
        """The one run of a record, the complete one if there is one.

        A server that made a run and then failed to say so is asked again, and makes a second: that one goes.
        """
        found = self._client.search_runs(
            [self.experiment_id], f"tags.`rsbench.id` = '{record_id}'"
        )
        best_first = sorted(found, key=_complete, reverse=True)
        for run in best_first[1:]:
            self._client.delete_run(run.info.run_id)
        return best_first[0] if found else None

    def send_run(self, run: Run, sweep: dict[str, Any] | None) -> None:
        """Send a finished run, below its sweep's, in place of those it replaces."""
        parent, tags = None, {"run": run.info["label"]}
        if sweep is not None:
            with _one_sender(sweep_folder(run.folder) or run.folder):
                parent = self.find(sweep["id"]) or self.open(
                    sweep["id"], sweep["name"], {}
                )
            tags["sweep"] = sweep["id"]
        with _one_sender(run.folder):
            self._send(run, tags, parent)
            for replaced in run.info.get("replaces", ()):
                self.discard(replaced)

    def _send(self, run: Run, tags: dict[str, str], parent: str | None) -> None:
        """Params, curves, provenance and the record's files."""
        from mlflow.entities import Metric, Param

        run_id = self.open(
            run.info["id"], run.info["label"], {**provenance(run), **tags}, parent
        )
        if run_id is None:
            return
        params = [
            Param(key, str(value)[:_PARAM_LENGTH])
            for key, value in flatten(run.info["config"]).items()
        ]
        metrics = [Metric(*point) for point in metric_points(run)]
        while params or metrics:  # mostly a single batch
            self._client.log_batch(
                run_id, metrics=metrics[:_METRICS], params=params[:_PARAMS]
            )
            metrics, params = metrics[_METRICS:], params[_PARAMS:]
        self._attach(
            run_id,
            run.folder,
            ("curves.csv", "classes.csv", "summary.json", "run.json"),
        )
        self._end(run_id, "FINISHED")

    def finish(
        self, record_id: str, folder: Path, status: str, runs: list[Run]
    ) -> None:
        """Attach a folder's table and figure to its run or sweep, say of what data it is, and end it."""
        with _one_sender(folder):
            self._finish(record_id, folder, status, runs)

    def _finish(
        self, record_id: str, folder: Path, status: str, runs: list[Run]
    ) -> None:
        run_id = self.find(record_id)
        if run_id is None:
            return
        self._attach(run_id, folder, FILES)
        if runs:
            self._client.set_tag(run_id, "simulated", str(is_simulated(runs)).lower())
            self._client.set_tag(run_id, "data", data_label(runs))
            self._client.set_tag(
                run_id, "mlflow.note.content", _note(runs, "\n".join(commands(runs)))
            )
        self._end(run_id, status)

    def _attach(self, run_id: str, folder: Path, names: tuple[str, ...]) -> None:
        for file in (folder / name for name in names):
            if file.exists():
                self._client.log_artifact(run_id, str(file))

    def _end(self, run_id: str, status: str) -> None:
        # What is marked as complete is never sent again, so the mark is last.
        self._client.set_terminated(run_id, status)
        self._client.set_tag(run_id, "rsbench.complete", "true")

    def discard(self, record_id: str) -> None:
        """Take back the run of a record."""
        run_id = self.find(record_id)
        if run_id is not None:
            self._client.delete_run(run_id)

    def page(self, record_id: str) -> str:
        """The page, below the server's address, that shows the curves of a run or of a sweep's runs."""
        run_id = self.find(record_id)
        if run_id is not None and self._client.get_run(run_id).data.metrics:
            return f"/#/experiments/{self.experiment_id}/runs/{run_id}/model-metrics"
        # MLflow folds child runs away and draws nothing of a folded run. A shared view, which it keeps
        # in a tag of the experiment, lists them by name instead and draws their curves together.
        view = {
            "searchFilter": f"tags.sweep = '{record_id}'",
            "groupBy": {
                "aggregateFunction": "average",
                "groupByKeys": [{"mode": "tag", "groupByData": "run"}],
            },
        }
        self._client.set_experiment_tag(
            self.experiment_id, f"mlflow.sharedViewState.{record_id}", json.dumps(view)
        )
        return f"/#/experiments/{self.experiment_id}/runs?compareRunsMode=CHART&viewStateShareKey={record_id}"


@contextlib.contextmanager
def _one_sender(folder: Path) -> Iterator[None]:
    """One process at a time sends what is in a folder, so that what two of them find missing is not sent twice."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # results of others, which may only be read
            stack.enter_context(alone(folder / ".track.lock"))
        yield


def _complete(run: Any) -> bool:
    return run.data.tags.get("rsbench.complete") == "true"


def settings(tracking: dict[str, Any], folder: Path) -> dict[str, str] | None:
    """Where runs are tracked, whatever the working folder is later; None if they are not."""
    if tracking["name"] != "mlflow":
        return None
    for key in ("uri", "experiment"):
        if not isinstance(tracking.get(key), str) or not tracking[key]:
            raise UserError(
                f"tracking.{key}={tracking.get(key)}, expected text; or choose tracking=none"
            )
    uri = tracking["uri"]
    if uri.startswith("sqlite:///") and not uri.startswith("sqlite:////"):
        uri = f"sqlite:///{folder / uri.removeprefix('sqlite:///')}"
    return {"uri": uri, "experiment": tracking["experiment"]}


def provenance(run: Run) -> dict[str, str]:
    """Tags that say where the numbers come from."""
    info = run.info
    tags = {
        "method": info["method"],
        "preprocessor": info["preprocessor"],
        "experiment": info["experiment"],
        "data": info["data"]["name"],
        "data.identity": info["data"]["identity"],
        "simulated": str(info["data"]["simulated"]).lower(),
        "fingerprint": info["fingerprint"],
        "git_commit": info["git_commit"],
        "folder": str(run.folder),
        **{f"version.{name}": version for name, version in info["versions"].items()},
    }
    tags |= {
        key: str(value) for key, value in _details(run).items() if not is_number(value)
    }
    tags["command"] = command(info["overrides"])
    tags["mlflow.note.content"] = _note([run], tags["command"])
    return {key: str(value) for key, value in tags.items() if value is not None}


def _note(runs: list[Run], repeat: str) -> str:
    """What MLflow shows as the description: a warning, if there is one to give, and how to repeat the run."""
    warning = ""
    if is_simulated(runs):
        told = " ".join(hints(runs))
        warning = f"**Simulated data**: these numbers say nothing about the real data set. {told}\n\n"
    return f"{warning}Repeat it:\n\n```\n{repeat}\n```"


def _details(run: Run) -> dict[str, Any]:
    """What is to know of how the data came about, by dotted keys, such as detectors.validation_auc."""
    return flatten(run.info["data"].get("details", {}))


def metric_points(run: Run) -> list[tuple[str, float, int, int]]:
    """Curves as (name, value, timestamp, step): the mean over seeds, and its standard error.

    MLflow makes a section of its page of what stands before the slash: error, loss, standard_error.
    """
    time = int((run.folder / "curves.csv").stat().st_mtime * 1000)
    details = {
        key: float(value) for key, value in _details(run).items() if is_number(value)
    }
    points = [
        (key.replace(".", "/", 1), value, time, 0) for key, value in details.items()
    ]
    for measure in MEASURES:
        means, errors = run.mean(measure), run.standard_error(measure)
        for step, mean, deviation in zip(run.steps, means, errors, strict=True):
            points.append(
                (f"{measure.rpartition('_')[2]}/{measure}", float(mean), time, step)
            )
            if run.seeds > 1:
                points.append(
                    (f"standard_error/{measure}", float(deviation), time, step)
                )
    return points


def open_sweep(sweep: dict[str, Any], folder: Path) -> bool:
    """Make the store ready and start the sweep's parent run, before any job can want it."""
    try:
        tracker = Tracker(**sweep["tracking"])
        with _one_sender(folder):
            tracker.find(sweep["id"]) or tracker.open(sweep["id"], sweep["name"], {})
    except Exception as error:
        log.warning(_later(error, folder))
        return False
    return True


def send_child(run: Run, sweep: dict[str, Any]) -> None:
    """Send a run of a sweep that has just finished."""
    try:
        Tracker(**sweep["tracking"]).send_run(run, sweep)
    except Exception as error:
        log.warning(_later(error, run.folder))


def send_single(run: Run, tracking: dict[str, str]) -> tuple[Tracker, str] | None:
    """Send a run that is no sweep's, with its figure; its page, or None if the store cannot be reached."""
    return _send_and_close(tracking, run.folder, run.info["id"], "FINISHED", [run], run)


def close_sweep(
    folder: Path, sweep: dict[str, Any], runs: list[Run]
) -> tuple[Tracker, str] | None:
    """End a sweep's parent run with table and figure; its page, or None if the store cannot be reached."""
    if not sweep["tracked"]:
        return None
    return _send_and_close(
        sweep["tracking"], folder, sweep["id"], sweep["status"], runs
    )


def _send_and_close(
    tracking: dict[str, str],
    folder: Path,
    record_id: str,
    status: str,
    runs: list[Run],
    new: Run | None = None,
) -> tuple[Tracker, str] | None:
    try:
        tracker = Tracker(**tracking)
        if new is not None:
            tracker.send_run(new, None)
        tracker.finish(record_id, folder, status, runs)
        return tracker, tracker.page(record_id)
    except Exception as error:
        log.warning(_later(error, folder))
        return None


def discard_sweep(sweep: dict[str, Any]) -> None:
    """Take back the parent run of a sweep in which nothing ran."""
    with contextlib.suppress(Exception):
        Tracker(**sweep["tracking"]).discard(sweep["id"])


def track(folder: Path, uri: str | None) -> tuple[int, str]:
    """Send all finished runs in a folder that the store does not have; their number and the URI."""
    damaged: list[str] = []
    runs = find(folder.resolve(), damaged)
    if not runs and not damaged:
        raise UserError(f"{folder}: no finished run in it")
    trackers: dict[tuple[str, str], Tracker] = {}
    places: dict[
        Path, list[Run]
    ] = {}  # a sweep's folder and its runs, or a single run's
    for run in runs:
        places.setdefault(sweep_folder(run.folder) or run.folder, []).append(run)
    for place, members in places.items():
        where = members[0].info["tracking"] or default_settings()
        target = (uri or where["uri"], where["experiment"])
        try:
            if target not in trackers:
                trackers[target] = Tracker(*target)
            _send_place(trackers[target], place, members)
        except UserError as error:
            damaged.append(str(error))
        except Exception as error:
            raise UserError(
                f"{target[0]}: {first_line(error)}. What was sent stays; run this again"
            ) from error
    if damaged:
        raise UserError(
            "\n".join(["these could not be sent, all others were:", *damaged])
        )
    return len(runs), ", ".join(tracker.uri for tracker in trackers.values())


def _send_place(tracker: Tracker, place: Path, runs: list[Run]) -> None:
    sweep = read_sweep(place)
    for run in runs:
        tracker.send_run(run, sweep)
    if sweep is None:
        tracker.finish(runs[0].info["id"], place, "FINISHED", runs)
    else:
        tracker.finish(sweep["id"], place, sweep.get("status", "KILLED"), runs)


def default_settings() -> dict[str, str]:
    """Where runs go that were not to be tracked at first."""
    from omegaconf import OmegaConf

    default: Any = OmegaConf.to_container(
        OmegaConf.load(CONF / "tracking" / "mlflow.yaml")
    )
    found = settings(default, Path.cwd())
    assert found is not None
    return found


def _later(error: Exception, folder: Path) -> str:
    return (
        f"MLflow could not be reached or failed ({first_line(error)}). Results are safe in {folder}; "
        f"send them later: python -m rsbench track {folder}"
    )
