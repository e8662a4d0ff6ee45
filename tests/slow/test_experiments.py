"""The paper's experiments, whole."""

import json

import pytest

from rsbench.store.record import find_records


@pytest.mark.parametrize("experiment", ["sun", "sun_stream", "sun_classes", "c_scan"])
def test_the_papers_experiments_run_on_the_stand_in(rsbench, experiment, tmp_path):
    done = rsbench(
        f"+experiment={experiment}",
        "seeds=1",
        "tracking=none",
        "hydra.sweep.dir=out",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "sun (SIMULATED)" in done.stdout and (tmp_path / "out" / "curves.png").exists()
    )
    assert ("paper @20" in done.stdout) == (experiment == "sun")
    counts = {
        json.loads(path.read_text())["classes"]
        for path in (tmp_path / "out").glob("*/run.json")
    }
    expected = {"sun": {41}, "sun_stream": {100}, "c_scan": {41}}
    assert counts == expected.get(experiment, {13, 21, 34, 41, 54, 62, 72, 83, 110})


@pytest.mark.parametrize(
    ("experiment", "classes", "last"),
    [
        ("sun", {41}, 20),
        ("sun_stream", {100}, 1000),
        ("sun_classes", {13, 110}, 5),
        ("c_scan", {41}, 20),
    ],
)
def test_every_experiment_runs(rsbench, experiment, classes, last, tmp_path):
    fewer = {
        "sun_classes": ["protocol.min_samples=75,18"],
        "c_scan": ["learner.C=0.01,100"],
    }
    done = rsbench(
        f"+experiment={experiment}",
        "seeds=2",
        "tracking=none",
        "method=lean,class_soft",
        *fewer.get(experiment, []),
    )
    assert done.returncode == 0, done.stderr
    runs = find_records(tmp_path)
    assert {run.info.classes for run in runs} == classes
    assert {run.steps[-1] for run in runs} == {last}
    assert ("paper @5" in done.stdout) == (experiment == "sun")
    header = next(
        line
        for line in done.stdout.splitlines()
        if line.startswith("| cumulative error")
    )
    assert ("learner.C" in header) == (experiment == "c_scan")
    assert (" classes " in header) == (experiment == "sun_classes")
