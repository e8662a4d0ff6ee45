"""The record on disk: whole or not at all, and finished by a single rename."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from rsbench.core.measures import MEASURES
from rsbench.errors import UserError
from rsbench.files.atomic import write_whole
from rsbench.store import record as results

INFO = {
    **dict.fromkeys(results.INFO[1:]),
    **dict.fromkeys(("method", "label", "preprocessor", "fingerprint"), "lean"),
    **{key: {} for key in ("config", "versions", "tuned")},
    "overrides": [],
    "seconds": 1.0,
    "seeds": [0, 1],
    "data": {"name": "x", "identity": "y", "simulated": False},
}


def rows(seed, steps=(1, 2, 5), scale=1.0):
    return [
        {
            "seed": seed,
            "step": step,
            "samples": 3 * step,
            **{m: scale * (i + 1) / (3 * step) for i, m in enumerate(MEASURES)},
        }
        for step in steps
    ]


def finished(folder, seeds=(0, 1), **kwargs):
    record = results.Record(folder)
    for seed in seeds:
        record.add(rows(seed, scale=1 + seed, **kwargs))
    return record.finish({**INFO, "seeds": list(seeds)})


def test_curves_appear_only_when_finished(tmp_path):
    record = results.Record(tmp_path)
    record.add(rows(0))
    assert list(tmp_path.iterdir()) == []
    assert results.find(tmp_path) == []
    record.add(rows(1))
    record.finish(INFO)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "classes.csv",
        "curves.csv",
        "run.json",
        "summary.json",
    ]


def test_curves_are_the_last_thing_written(tmp_path, monkeypatch):
    written = []
    real = os.replace
    monkeypatch.setattr(
        os, "replace", lambda a, b: (written.append(b.name), real(a, b))
    )
    finished(tmp_path, seeds=(0,))
    assert written == ["run.json", "summary.json", "classes.csv", "curves.csv"]


def test_columns_and_digits_are_as_promised(tmp_path):
    finished(tmp_path)
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines[0] == (
        "seed,step,samples,test_error,test_loss,cumulative_error,cumulative_loss,online_error,online_loss"
    )
    assert lines[1].split(",")[:4] == ["0", "1", "3", "0.3333333333"]
    assert len(lines) == 1 + 2 * 3


def test_reading_gives_back_what_was_written(tmp_path):
    written, read = finished(tmp_path), results.read(tmp_path)
    assert read.info == written.info
    for column in results.COLUMNS:
        np.testing.assert_array_equal(read.curves[column], written.curves[column])


def test_errors_by_class_are_pooled_over_seeds(tmp_path):
    record = results.Record(tmp_path)
    for seed, n, error in ((0, 10, 0.5), (1, 30, 0.1)):
        one = {"seed": seed, "class": 'a, "b"', "samples": n, "test_error": error}
        record.add(rows(seed), [one, {**one, "class": "c", "test_error": 1.0}])
    record.finish(INFO)
    assert results.read(tmp_path).per_class() == {
        'a, "b"': (40, pytest.approx(0.2)),
        "c": (40, 1.0),
    }
    (tmp_path / "classes.csv").write_text("seed\n1\n")
    with pytest.raises(UserError, match="classes.csv"):
        results.read(tmp_path).per_class()
    (tmp_path / "classes.csv").unlink()
    assert results.read(tmp_path).per_class() == {}


def test_summary_is_mean_and_standard_error_at_the_tables_steps(tmp_path):
    run = finished(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert list(summary) == ["5"]
    values = [1 / 15, 2 / 15]
    assert summary["5"]["test_error"]["mean"] == pytest.approx(np.mean(values))
    assert summary["5"]["test_error"]["standard_error"] == pytest.approx(
        np.std(values, ddof=1) / np.sqrt(2)
    )
    assert run.values("test_error").shape == (3, 2)


def test_one_seed_has_no_standard_error(tmp_path):
    run = finished(tmp_path, seeds=(0,))
    assert (
        json.loads((tmp_path / "summary.json").read_text())["5"]["test_error"][
            "standard_error"
        ]
        is None
    )
    assert np.isnan(run.standard_error("test_error")).all()


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((1, 5, 10, 20, 25), [5, 10, 20]),
        ((1, 2, 3), [1, 2, 3]),
        (tuple(range(50, 1001, 50)), [250, 500, 1000]),
        ((7,), [7]),
    ],
)
def test_table_steps_follow_the_run(steps, expected, tmp_path):
    assert finished(tmp_path, steps=steps).table_steps() == expected


def test_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    write_whole(tmp_path / "file", "before")
    real = os.fsync

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        write_whole(tmp_path / "file", "after")
    monkeypatch.setattr(os, "fsync", real)
    assert (tmp_path / "file").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_crash_while_finishing_leaves_an_unfinished_run(tmp_path, monkeypatch):
    record = results.Record(tmp_path)
    record.add(rows(0))
    monkeypatch.setattr(
        os, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "gone"))
    )
    with pytest.raises((UserError, OSError)):
        record.finish(INFO)
    assert not (tmp_path / "curves.csv").exists()
    assert results.find(tmp_path) == []


@pytest.mark.parametrize("damage", ["", "seed,step\n1,2\n", "garbage", "\x00\x01"])
def test_damaged_records_are_named(damage, tmp_path):
    finished(tmp_path)
    (tmp_path / "curves.csv").write_text(damage)
    with pytest.raises(UserError, match=str(tmp_path)):
        results.read(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"data": {"name": "x"}},
        {"data": "x"},
        {"config": None},
        {"samples": {}},
        {"samples": {"pool": 0, "test": 3}},
        {"overrides": None},
        {"seconds": "1"},
        {"seeds": [0]},
        {"label": 3},
    ],
)
def test_records_that_tables_could_not_be_made_of_are_left_out_by_name(
    change, tmp_path
):
    finished(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(
        UserError, match=f"run.json: {next(iter(change))} not as expected"
    ):
        results.read(tmp_path)
    assert results.find(tmp_path) == []


def test_runs_are_found_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 0):
        (tmp_path / str(number)).mkdir()
        finished(tmp_path / str(number))
    assert [run.folder.name for run in results.find(tmp_path)] == ["0", "2", "10"]


def test_steps_that_differ_between_seeds_are_refused(tmp_path):
    record = results.Record(tmp_path)
    record.add(rows(0))
    for steps in ((1, 2, 6), (1, 2), (1, 2, 5, 7)):
        with pytest.raises(UserError, match="steps differ between seeds"):
            record.add(rows(1, steps=steps))


@pytest.mark.parametrize("content", ["{}", "[]", "nonsense", '{"id": 1}'])
def test_a_damaged_sweep_file_is_named(content, tmp_path):
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(UserError, match="sweep.json"):
        results.read_sweep(tmp_path)


def test_large_seeds_stay_apart(tmp_path):
    run = finished(tmp_path, seeds=(20_000_000_001, 20_000_000_002))
    assert results.read(tmp_path).seeds == run.seeds == 2


def test_a_damaged_record_does_not_hide_the_others(tmp_path, caplog):
    for name in ("0", "1"):
        (tmp_path / name).mkdir()
        finished(tmp_path / name)
    (tmp_path / "0" / "curves.csv").write_text("garbage")
    assert [run.folder.name for run in results.find(tmp_path)] == ["1"]
    assert "left out" in caplog.text and str(tmp_path / "0") in caplog.text


def test_git_commit_is_that_of_the_projects_own_checkout():
    root = Path(results.__file__).resolve().parent.parent.parent
    commit = results.git_commit()
    assert (commit is not None) == (root / ".git").exists()
    assert commit is None or len(commit.rstrip("+")) == 40
