"""The numbers as one data frame, and as a file that others can read."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rsbench.core.measures import MEASURES
from rsbench.core.told import Told
from rsbench.store.results import frame, write_parquet
from tests import made_up

COLUMNS = [
    "method",
    "control",
    "told",
    "preprocessor",
    "fitted_on_stream",
    "draw",
    "seed",
    "step",
    "samples",
    *MEASURES,
    "counterpart_test_error",
    "counterpart_cumulative_error",
    "experiment",
    "data",
    "simulated",
    "classes",
    "unit",
    "fingerprint",
    "changed",
]


@pytest.fixture
def runs(rng):
    return [
        made_up.run(rng.random((3, 2)), experiment="cub"),
        made_up.run(
            rng.random((4, 2)),
            "class_soft",
            steps=[1, 5, 10, 20],
            control="tuned",
            told=Told.CLASS_VOTES,
            preprocessor="center",
            changed={"learner.C": 3.0, "annotation": {"name": "noisy"}},
            draws=(2,),
        ),
    ]


def test_a_row_for_each_run_seed_and_step(runs):
    found = frame(runs)
    assert list(found.columns) == COLUMNS and len(found) == 3 * 2 + 4 * 2
    lean = found[found["method"] == "lean"]
    assert list(zip(lean["seed"], lean["step"], strict=True)) == [
        (seed, step) for seed in range(2) for step in (1, 2, 3)
    ]
    for i, step in enumerate(runs[0].steps):
        at_step = lean[lean["step"] == step]["test_error"]
        np.testing.assert_array_equal(at_step, runs[0].values("test_error")[i])


def test_rows_say_what_their_run_was(runs):
    row = frame(runs).iloc[-1]
    assert (row["method"], row["control"], row["told"]) == (
        "class_soft",
        "tuned",
        "class votes",
    )
    assert (row["preprocessor"], row["draw"], row["seed"], row["step"]) == (
        "center",
        2,
        1,
        20,
    )
    assert json.loads(row["changed"]) == runs[1].info.changed
    assert frame(runs)["control"].isna().sum() == 6


def test_the_file_reads_back_the_same_in_pandas_and_polars(runs, tmp_path):
    path = tmp_path / "results.parquet"
    write_parquet(runs, path)
    pd.testing.assert_frame_equal(pd.read_parquet(path), frame(runs))
    read = pl.read_parquet(path)
    assert read.columns == COLUMNS and len(read) == 14
    assert read["control"].dtype == pl.String and read["control"].null_count() == 6
    assert read["step"].dtype == pl.Int64 and read["simulated"].dtype == pl.Boolean
    mean = read.filter(method="lean", step=3)["cumulative_error"].mean()
    assert mean == pytest.approx(runs[0].mean("cumulative_error")[2])


def test_the_file_is_the_same_every_time(runs, tmp_path):
    for name in ("a", "b"):
        write_parquet(runs, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_rows_stand_by_draw_seed_and_step(rng):
    found = frame([made_up.run(rng.random((2, 3, 2)), seeds=(5, 4))])
    places = list(zip(found["draw"], found["seed"], found["step"], strict=True))
    assert len(places) == 12 and places == sorted(places)


def test_a_row_has_the_errors_of_its_counterpart(rng):
    lean = made_up.run(rng.random((3, 2, 2)), test_error=rng.random((3, 2, 2)))
    mine = made_up.run(rng.random((3, 2, 2)), "mine", counterpart=lean)
    found = frame([lean, mine])
    of_lean = found[found["method"] == "lean"].reset_index()
    of_mine = found[found["method"] == "mine"].reset_index()
    for measure in ("test_error", "cumulative_error"):
        beside = of_mine[f"counterpart_{measure}"]
        np.testing.assert_array_equal(beside, of_lean[measure])
        assert of_lean[f"counterpart_{measure}"].isna().all()


def test_no_runs_make_a_table_without_rows():
    found = frame([])
    assert list(found.columns) == COLUMNS and len(found) == 0
    assert found["step"].dtype == np.int64
