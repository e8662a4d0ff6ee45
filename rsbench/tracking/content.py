"""What MLflow is told of a run: tags, metrics and a description."""

import math
from typing import Any

from rsbench.core.measures import MEASURES
from rsbench.core.told import Told
from rsbench.errors import is_number
from rsbench.report.labels import command, flatten, hints, is_simulated, voters
from rsbench.store.record import Run


def provenance(run: Run) -> dict[str, str]:
    """Return tags that say where the numbers come from."""
    info = run.info
    # Their names are what people search by in MLflow, so they stay.
    tags: dict[str, Any] = {
        "method": info.method,
        "control": info.control,
        "told": info.track.text,
        "preprocessor": info.features,
        "experiment": info.experiment,
        "data": info.data.label,
        "data.identity": info.data.identity,
        "simulated": str(info.data.simulated).lower(),
        "fingerprint": info.fingerprint,
        "git_commit": info.git_commit,
        "folder": str(run.folder),
    }
    if info.counterpart is not None:
        tags["counterpart"] = info.counterpart.name
        tags["counterpart.kind"] = info.counterpart.kind
    if info.told is Told.CLASS_VOTES and info.samples is not None:
        tags["class_votes.samples"] = voters(run)
        tags["class_votes.learned_from"] = info.samples.learned
    for name, version in info.versions.items():
        tags[f"version.{name}"] = version
    for key, value in flatten(info.data.details).items():
        if not is_number(value):  # numbers are metrics
            tags[key] = value
    tags["command"] = command(list(info.overrides))
    tags["mlflow.note.content"] = note([run], tags["command"])
    return {key: str(value) for key, value in tags.items() if value is not None}


def note(runs: list[Run], repeat: str) -> str:
    """Return what MLflow shows as the description: a warning, and how to repeat it."""
    warning = ""
    if is_simulated(runs):
        told = " ".join(hints(runs))
        warning = (
            "**Simulated data**: these numbers say nothing about the real data set. "
            f"{told}\n\n"
        )
    return f"{warning}Repeat it:\n\n```\n{repeat}\n```"


def metric_points(run: Run) -> list[tuple[str, float, int, int]]:
    """Return the curves as metrics: the mean over seeds and its standard error.

    A gain is by how much the error is less than the counterpart's. MLflow makes a
    section of its page of what stands before the slash.

    Returns
    -------
    list of tuples
        Name, value, timestamp in milliseconds, and step.
    """
    time = int((run.folder / "curves.csv").stat().st_mtime * 1000)
    points = []
    # How the data came about, such as the detectors' quality, has no step.
    for key, value in flatten(run.info.data.details).items():
        if is_number(value):
            points.append((key.replace(".", "/", 1), float(value), time, 0))
    for measure in MEASURES:
        means = run.mean(measure)
        errors = run.standard_error(measure)
        _, _, section = measure.rpartition("_")
        for step, mean, deviation in zip(run.steps, means, errors, strict=True):
            points.append((f"{section}/{measure}", float(mean), time, step))
            if not math.isnan(deviation):
                name = f"standard_error/{measure}"
                points.append((name, float(deviation), time, step))
    if run.counterpart is not None:
        for measure in ("test_error", "cumulative_error"):
            gains = run.counterpart.mean(measure) - run.mean(measure)
            for step, gain in zip(run.steps, gains, strict=True):
                points.append((f"gain/{measure}", float(gain), time, step))
    return points
