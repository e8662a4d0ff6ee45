"""The MLflow mirror of the records on disk; losing it loses nothing.

A sweep is one parent run, each run in it a child. What was sent is marked in the store by the
record's id and a `complete` tag, so that sending again adds nothing and repairs what broke off.
"""

import contextlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from filelock import FileLock

from rsbench.configs import CONF
from rsbench.errors import UserError
from rsbench.measures import MEASURES
from rsbench.report.labels import flatten
from rsbench.results import ARTIFACTS_FOLDER, Run, find, read, read_sweep

log = logging.getLogger(__name__)

_BATCH = 1000
_PARAM_LENGTH = 6000


class Tracker:
    """A connection to one experiment of one MLflow store."""

    def __init__(self, uri: str, experiment: str):
        # MLflow's own defaults keep a run waiting for minutes when a server is down.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
        from mlflow import MlflowClient

        logging.getLogger("alembic").setLevel(logging.WARNING)
        self.uri = absolute(uri)
        # Processes that open a fresh SQLite store together corrupt it, so the first one makes it alone.
        with FileLock(f"{self.database}.lock") if self.database else contextlib.nullcontext():
            self._client = MlflowClient(self.uri)
            self.experiment_id = self._experiment(experiment)

    @property
    def database(self) -> Path | None:
        """The SQLite file, if the store is one."""
        return Path(self.uri.removeprefix("sqlite:///")) if self.uri.startswith("sqlite:///") else None

    def _experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return found.experiment_id
        # Beside the database; MLflow would put artifacts into the working folder.
        location = (self.database.parent / ARTIFACTS_FOLDER).as_uri() if self.database else None
        return self._client.create_experiment(name, artifact_location=location)

    def open(self, record_id: str, name: str, tags: dict[str, str], parent: str | None = None) -> str | None:
        """Start a run for a record; None if it is complete in the store already."""
        found = self._client.search_runs([self.experiment_id], f"tags.`rsbench.id` = '{record_id}'")
        for run in found:
            if run.data.tags.get("rsbench.complete") == "true":
                return None
            self._client.delete_run(run.info.run_id)
        tags = {"rsbench.id": record_id, **tags, **({"mlflow.parentRunId": parent} if parent else {})}
        return self._client.create_run(self.experiment_id, run_name=name, tags=tags).info.run_id

    def find(self, record_id: str) -> str | None:
        """The MLflow run of a record, if there is one."""
        found = self._client.search_runs([self.experiment_id], f"tags.`rsbench.id` = '{record_id}'")
        return found[0].info.run_id if found else None

    def send_run(self, run: Run, sweep: dict[str, Any] | None) -> None:
        """Send a finished run, below its sweep's: params, curves, provenance and the record's files."""
        from mlflow.entities import Metric, Param

        parent, tags = None, {"run": run.info["label"]}
        if sweep is not None:
            parent = self.find(sweep["id"]) or self.open(sweep["id"], sweep["name"], {})
            tags["sweep"] = sweep["id"]
        run_id = self.open(run.info["id"], run.info["label"], {**provenance(run), **tags}, parent)
        if run_id is None:
            return
        params = [Param(key, str(value)[:_PARAM_LENGTH]) for key, value in flatten(run.info["config"]).items()]
        metrics = [Metric(*point) for point in metric_points(run)]
        for start in range(0, len(params), 100):
            self._client.log_batch(run_id, params=params[start : start + 100])
        for start in range(0, len(metrics), _BATCH):
            self._client.log_batch(run_id, metrics=metrics[start : start + _BATCH])
        for name in ("curves.csv", "summary.json", "run.json"):
            self._client.log_artifact(run_id, str(run.folder / name))
        self.complete(run_id)

    def finish(self, record_id: str, folder: Path, status: str) -> None:
        """Attach a folder's table and figure to its run or sweep, and end it."""
        run_id = self.find(record_id)
        if run_id is None:
            return
        for file in (folder / "table.md", folder / "curves.png"):
            if file.exists():
                self._client.log_artifact(run_id, str(file))
        self.complete(run_id, status)

    def complete(self, run_id: str, status: str = "FINISHED") -> None:
        """End a run and mark it as wholly sent, in this order: what is marked is never sent again."""
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
            "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "tag", "groupByData": "run"}]},
        }
        self._client.set_experiment_tag(self.experiment_id, f"mlflow.sharedViewState.{record_id}", json.dumps(view))
        return f"/#/experiments/{self.experiment_id}/runs?compareRunsMode=CHART&viewStateShareKey={record_id}"


def absolute(uri: str) -> str:
    """The URI with a relative SQLite path made absolute, and its folder made."""
    if not uri.startswith("sqlite:///"):
        return uri
    path = Path(uri.removeprefix("sqlite:///")).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{path}"


def provenance(run: Run) -> dict[str, str]:
    """Tags that say where the numbers come from."""
    info = run.info
    tags = {
        "method": info["method"],
        "preprocessor": run.info["preprocessor"],
        "experiment": info["experiment"],
        "data": info["data"]["name"],
        "data.identity": info["data"]["identity"],
        "simulated": str(info["data"]["simulated"]).lower(),
        "fingerprint": info["fingerprint"],
        "git_commit": info["git_commit"],
        "folder": str(run.folder),
        **{f"version.{name}": version for name, version in info["versions"].items()},
    }
    if info["data"]["simulated"]:
        hint = info["data"].get("how_to_get_real")
        tags["mlflow.note.content"] = "**Simulated data**: these numbers say nothing about the real data set." + (
            f" {hint}." if hint else ""
        )
    return {key: str(value) for key, value in tags.items() if value is not None}


def metric_points(run: Run) -> list[tuple[str, float, int, int]]:
    """Curves as (name, value, timestamp, step): the mean over seeds, and its standard error as NAME_se."""
    time = int((run.folder / "curves.csv").stat().st_mtime * 1000)
    points = []
    for measure in MEASURES:
        means, errors = run.mean(measure), run.standard_error(measure)
        for step, mean, deviation in zip(run.steps, means, errors, strict=True):
            points.append((measure, float(mean), time, step))
            if run.seeds > 1:
                points.append((f"{measure}_se", float(deviation), time, step))
    return points


def open_sweep(sweep: dict[str, Any], folder: Path) -> bool:
    """Make the store ready and start the sweep's parent run, before any job can want it."""
    try:
        Tracker(**sweep["tracking"]).open(sweep["id"], sweep["name"], {})
    except Exception as error:
        log.warning(_later(error, folder))
        return False
    return True


def send_job(run: Run, tracking: dict[str, Any], sweep: dict[str, Any] | None) -> None:
    """Send a run that has just finished, below its sweep's parent run."""
    if sweep and not sweep["tracked"]:
        return  # said once for the whole sweep
    try:
        Tracker(tracking["uri"], tracking["experiment"]).send_run(run, sweep)
    except Exception as error:
        log.warning(_later(error, run.folder))


def close_run(run: Run, tracking: dict[str, Any]) -> tuple[Tracker, str] | None:
    """Attach its table and figure to a single run; its page, or None if the store cannot be reached."""
    return _close(run.folder, run.info["id"], tracking, "FINISHED")


def close_sweep(folder: Path, sweep: dict[str, Any]) -> tuple[Tracker, str] | None:
    """End a sweep's parent run with table and figure; its page, or None if the store cannot be reached."""
    return _close(folder, sweep["id"], sweep["tracking"], sweep["status"]) if sweep["tracked"] else None


def _close(folder: Path, record_id: str, tracking: dict[str, Any], status: str) -> tuple[Tracker, str] | None:
    try:
        tracker = Tracker(tracking["uri"], tracking["experiment"])
        tracker.finish(record_id, folder, status)
        return tracker, tracker.page(record_id)
    except Exception as error:
        log.warning(_later(error, folder))
        return None


def discard_sweep(sweep: dict[str, Any]) -> None:
    """Take back the parent run of a sweep in which nothing ran."""
    if sweep["tracked"]:
        with contextlib.suppress(Exception):
            Tracker(**sweep["tracking"]).discard(sweep["id"])


def track(folder: Path, uri: str | None) -> tuple[int, str]:
    """Send all finished runs in a folder that the store does not have; their number and the URI."""
    runs = find(folder)
    if not runs:
        raise UserError(f"{folder}: no finished run in it")
    trackers: dict[tuple[str, str], Tracker] = {}
    ended: dict[Path, Tracker] = {}
    for run in runs:
        settings = {**_defaults(), **run.info["config"]["tracking"]}
        target = (uri or settings["uri"], settings["experiment"])
        try:
            tracker = trackers[target] if target in trackers else trackers.setdefault(target, Tracker(*target))
            sweep = read_sweep(run.folder.parent)
            tracker.send_run(run, sweep)
            ended[run.folder.parent if sweep else run.folder] = tracker
        except Exception as error:
            raise _failed(target[0], error) from error
    for place, tracker in ended.items():
        try:
            sweep = read_sweep(place) or {"id": read(place).info["id"]}
            tracker.finish(sweep["id"], place, sweep.get("status", "FINISHED"))
        except Exception as error:
            raise _failed(tracker.uri, error) from error
    return len(runs), ", ".join(tracker.uri for tracker in trackers.values())


def _defaults() -> dict[str, Any]:
    """Where runs go that were not tracked at first."""
    from omegaconf import OmegaConf

    settings: Any = OmegaConf.to_container(OmegaConf.load(CONF / "tracking" / "mlflow.yaml"))
    return settings


def _failed(uri: str, error: Exception) -> UserError:
    return UserError(f"{uri}: {_first_line(error)}. What was sent stays; run this again")


def _later(error: Exception, folder: Path) -> str:
    return (
        f"MLflow could not be reached or failed ({_first_line(error)}). Results are safe in {folder}; "
        f"send them later: python -m rsbench track {folder}"
    )


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]
