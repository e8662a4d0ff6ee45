"""A connection to one experiment of one MLflow store."""

import contextlib
import functools
import gc
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from rsbench.errors import UserError
from rsbench.files.atomic import locked
from rsbench.report import FILES
from rsbench.report.labels import commands, data_label, flatten, is_simulated
from rsbench.store.record import (
    ARTIFACTS_FOLDER,
    BESIDE,
    RECORD_FILES,
    Run,
)
from rsbench.store.sweep import Sweep, sweep_folder
from rsbench.tracking.content import metric_points, note, provenance

#: MLflow takes a thousand values at once, a hundred of them params.
_METRICS = 900
_PARAMS = 100
#: It refuses longer ones. A list of classes may be as long.
_PARAM_LENGTH = 6000

#: MLflow reads its settings from the environment alone. Its own defaults keep a run
#: waiting for minutes when a server is down, and print bars between our lines. What a
#: user has set stays.
_MLFLOW_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


def _client(uri: str) -> Any:
    """Return MLflow's client, which neither waits for long nor chatters."""
    for name, value in _MLFLOW_SETTINGS.items():
        os.environ.setdefault(name, value)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    with _no_garbage_collected():
        from mlflow import MlflowClient

        return MlflowClient(uri)


@contextlib.contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Pause the garbage collector.

    MLflow's two thousand modules make objects that stay. To look for garbage among
    them, again and again, takes a fifth of the time that their import takes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Tracker:
    """Send records to one experiment of one MLflow store.

    What was sent is marked in the store by the record's id and a `complete` tag, so
    that sending again adds nothing and repairs what broke off.

    Parameters
    ----------
    uri : str
        MLflow's tracking URI.
    experiment : str
        Name of the experiment; made if it is not there.
    """

    def __init__(self, uri: str, experiment: str):
        self.uri = uri
        if self.database:
            self.database.parent.mkdir(parents=True, exist_ok=True)
        # Processes that open a fresh SQLite store together corrupt it, so the first one
        # makes it alone.
        lock: Any = contextlib.nullcontext()
        if self.database:
            lock = FileLock(f"{self.database}.lock")
        with lock:
            self._client = _client(self._connectable())
            self.experiment_id = self._experiment(experiment)

    @classmethod
    def existing(cls, uri: str, experiment: str) -> "Tracker":
        """Return a connection to what is there; nothing is made.

        Raises
        ------
        UserError
            If there is no such store, or no such experiment in it.
        """
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
        """Yield the complete runs that are no sweeps.

        Yields
        ------
        name, run_id : str
            How MLflow calls it.
        download : callable
            Fetches one of its files into a folder.
        """
        token = None
        while True:
            found = self._client.search_runs(
                [self.experiment_id],
                "tags.`rsbench.complete` = 'true'",
                order_by=["start_time"],
                page_token=token,
            )
            for run in found:
                # Sweeps, and what others log to the experiment, have none.
                if "fingerprint" not in run.data.tags:
                    continue
                run_id = run.info.run_id
                download = functools.partial(self._client.download_artifacts, run_id)
                yield run.info.run_name, run_id, download
            token = found.token
            if not token:
                return

    @property
    def database(self) -> Path | None:
        """The SQLite file, if the store is one."""
        scheme = "sqlite:///"
        if not self.uri.startswith(scheme):
            return None
        return Path(self.uri.removeprefix(scheme)).absolute()

    def _connectable(self) -> str:
        """Return the URI; relative, if its path has characters that mean something.

        A URI gives `%`, `?` and `#` a meaning of its own; the path from the working
        folder may do without them.
        """
        if self.database and set("%?#") & set(str(self.database)):
            return f"sqlite:///{os.path.relpath(self.database)}"
        return self.uri

    def _experiment(self, name: str) -> str:
        """Return the id of an experiment, made if it is not there."""
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return found.experiment_id
        # Beside the database; MLflow would put artifacts into the working folder.
        location = None
        if self.database:
            location = (self.database.parent / ARTIFACTS_FOLDER).as_uri()
        try:
            return self._client.create_experiment(name, artifact_location=location)
        except Exception:  # another process may have been faster
            found = self._client.get_experiment_by_name(name)
            if found is None:
                raise
            return found.experiment_id

    def open(
        self,
        record_id: str,
        name: str,
        tags: dict[str, str],
        parent: str | None = None,
    ) -> str | None:
        """Start a run for a record; return its id, or None if it is complete.

        One that is not complete, because sending it broke off, is sent anew.
        """
        found = self._only(record_id)
        if found is not None:
            if _is_complete(found):
                return None
            self._client.delete_run(found.info.run_id)
        tags = {"rsbench.id": record_id, **tags}
        if parent:
            tags["mlflow.parentRunId"] = parent
        made = self._client.create_run(self.experiment_id, run_name=name, tags=tags)
        return made.info.run_id

    def open_sweep(self, sweep: Sweep, folder: Path) -> str | None:
        """Return the sweep's parent run, started if it is not there."""
        with one_sender(folder):
            return self.find(sweep.id) or self.open(sweep.id, sweep.name, {})

    def find(self, record_id: str) -> str | None:
        """Return the MLflow run of a record, if there is one."""
        found = self._only(record_id)
        if found is None:
            return None
        return found.info.run_id

    def _only(self, record_id: str) -> Any:
        """Return the one run of a record, the complete one if there is one.

        A server that made a run and then failed to say so is asked again, and makes a
        second: that one goes.
        """
        found = self._client.search_runs(
            [self.experiment_id], f"tags.`rsbench.id` = '{record_id}'"
        )
        best_first = sorted(found, key=_is_complete, reverse=True)
        for run in best_first[1:]:
            self._client.delete_run(run.info.run_id)
        if not best_first:
            return None
        return best_first[0]

    def send_run(self, run: Run, sweep: Sweep | None) -> None:
        """Send a finished run, below its sweep's, in place of those it replaces."""
        parent = None
        tags = {"run": run.info.label}
        if sweep is not None:
            parent = self.open_sweep(sweep, sweep_folder(run.folder) or run.folder)
            tags["sweep"] = sweep.id
        with one_sender(run.folder):
            self._send(run, tags, parent)
            # Only now: a run that cannot be sent leaves what was there before.
            for replaced in run.info.replaces:
                self.discard(replaced)

    def _send(self, run: Run, tags: dict[str, str], parent: str | None) -> None:
        """Send params, curves, provenance and the record's files."""
        from mlflow.entities import Metric, Param

        tags = {**provenance(run), **tags}
        run_id = self.open(run.info.id, run.info.label, tags, parent)
        if run_id is None:
            return
        params = []
        for key, value in flatten(run.info.config).items():
            params.append(Param(key, str(value)[:_PARAM_LENGTH]))
        metrics = [Metric(*point) for point in metric_points(run)]
        while params or metrics:  # mostly a single batch
            self._client.log_batch(
                run_id, metrics=metrics[:_METRICS], params=params[:_PARAMS]
            )
            metrics = metrics[_METRICS:]
            params = params[_PARAMS:]
        # From which a report can be made without the folder.
        self._attach(run_id, run.folder, RECORD_FILES)
        for name in BESIDE:
            self._attach(run_id, run.folder / name, RECORD_FILES, name)
        self._end(run_id, "FINISHED")

    def finish(
        self, record_id: str, folder: Path, status: str, runs: list[Run]
    ) -> None:
        """End a run or a sweep: attach the folder's report, say of what data it is."""
        with one_sender(folder):
            run_id = self.find(record_id)
            if run_id is None:
                return
            self._attach(run_id, folder, FILES)
            if runs:
                simulated = str(is_simulated(runs)).lower()
                description = note(runs, "\n".join(commands(runs)))
                self._client.set_tag(run_id, "simulated", simulated)
                self._client.set_tag(run_id, "data", data_label(runs))
                self._client.set_tag(run_id, "mlflow.note.content", description)
            self._end(run_id, status)

    def _attach(
        self,
        run_id: str,
        folder: Path,
        names: tuple[str, ...],
        below: str | None = None,
    ) -> None:
        """Send the files of a folder that are there."""
        for name in names:
            if (folder / name).exists():
                self._client.log_artifact(run_id, str(folder / name), below)

    def _end(self, run_id: str, status: str) -> None:
        """End a run, and mark it as complete."""
        # What is marked as complete is never sent again, so the mark is last.
        self._client.set_terminated(run_id, status)
        self._client.set_tag(run_id, "rsbench.complete", "true")

    def discard(self, record_id: str) -> None:
        """Take back the run of a record."""
        run_id = self.find(record_id)
        if run_id is not None:
            self._client.delete_run(run_id)

    def page(self, record_id: str) -> str:
        """Return the page, below the server's address, that shows a record's curves."""
        run_id = self.find(record_id)
        here = f"/#/experiments/{self.experiment_id}/runs"
        if run_id is not None and self._client.get_run(run_id).data.metrics:
            return f"{here}/{run_id}/model-metrics"
        # MLflow folds child runs away and draws nothing of a folded run. A shared
        # view, which it keeps in a tag of the experiment, lists them by name instead
        # and draws their curves together.
        by_name = {"mode": "tag", "groupByData": "run"}
        view = {
            "searchFilter": f"tags.sweep = '{record_id}'",
            "groupBy": {"aggregateFunction": "average", "groupByKeys": [by_name]},
        }
        tag = f"mlflow.sharedViewState.{record_id}"
        self._client.set_experiment_tag(self.experiment_id, tag, json.dumps(view))
        return f"{here}?compareRunsMode=CHART&viewStateShareKey={record_id}"


@contextlib.contextmanager
def one_sender(folder: Path) -> Iterator[None]:
    """Let one process at a time send what is in a folder.

    Two of them could otherwise find the same thing missing, and send it twice.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # results of others, only to be read
            stack.enter_context(locked(folder / ".track.lock"))
        yield


def _is_complete(run: Any) -> bool:
    return run.data.tags.get("rsbench.complete") == "true"
