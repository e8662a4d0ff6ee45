"""The record on disk: written atomically, and finished by a single rename."""

import dataclasses
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from rsbench.core.items import TestItems
from rsbench.core.measures import MEASURES
from rsbench.core.told import Told
from rsbench.errors import UserError
from rsbench.store import record
from rsbench.store.fingerprint import fingerprint, git_commit, versions
from rsbench.store.record import find_records, make_run, read_record, write_record
from rsbench.store.run_info import (
    Counterpart,
    CounterpartKind,
    DataInfo,
    RunInfo,
    SplitSizes,
)
from rsbench.store.sweep import Sweep, read_sweep, sweep_folder, write_sweep

INFO = RunInfo(
    id="1",
    method="lean",
    told=Told.NOTHING,
    preprocessor="none",
    label="lean",
    config={},
    fingerprint="lean",
    seeds=(0, 1),
    data=DataInfo(name="x", identity="y", simulated=False),
    classes=3,
    samples=SplitSizes(pool=20, test=10),
    unit="samples per class",
)


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


def classes(seed, n=10, error=0.5, name="a"):
    return [{"seed": seed, "class": name, "samples": n, "test_error": error}]


def items(seed, steps=(1, 2, 5)):
    """Ten test samples, of which seed + 1 are wrong after each step."""
    wrong = np.zeros((len(steps), 10), dtype=bool)
    wrong[:, : seed + 1] = True
    margins = np.where(wrong[-1:], -0.5, 0.25).astype(np.float32)
    return TestItems(
        steps=np.array(steps),
        items=np.arange(10),
        labels=np.arange(10) % 3,
        wrong=wrong,
        margin_steps=np.array(steps[-1:]),
        margins=margins,
    )


def made(
    seeds=(0, 1), draws=(0,), per_class=None, info=INFO, counterpart=None, **kwargs
):
    """A run that was never on disk; each draw's errors are larger than the last's."""
    curves = []
    by_class = []
    tested = {}
    for draw in draws:
        for seed in seeds:
            for row in rows(seed, scale=1 + seed + draw, **kwargs):
                curves.append({"draw": draw, **row})
            for row in classes(seed):
                by_class.append({"draw": draw, **row})
            tested[draw, seed] = items(seed % 10)
    info = dataclasses.replace(info, seeds=tuple(seeds), draws=tuple(draws))
    return make_run(Path(), info, curves, per_class or by_class, tested, counterpart)


def finished(folder, **kwargs):
    folder.mkdir(parents=True, exist_ok=True)
    return write_record(folder, made(**kwargs))


def with_counterpart(folder, **kwargs):
    """A run of a method that is told something, and the same without, on disk."""
    counterpart = Counterpart(CounterpartKind.EQUAL, "lean", "lean")
    info = dataclasses.replace(INFO, method="mine", counterpart=counterpart)
    bare = dataclasses.replace(INFO, id="2", control="absent", control_of="mine")
    return finished(folder, info=info, counterpart=made(info=bare), **kwargs)


def test_a_record_is_five_files(tmp_path):
    finished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "classes.csv",
        "curves.csv",
        "items.npz",
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
    assert written == [
        *("run.json", "summary.json", "classes.csv", "items.npz", "curves.csv")
    ]


def test_digests_are_those_of_the_files(tmp_path):
    run = finished(tmp_path)
    told = json.loads((tmp_path / "run.json").read_text())["digests"]
    assert run.info.digests == told
    assert set(told) == {"summary.json", "classes.csv", "items.npz", "curves.csv"}
    for name, digest in told.items():
        content = (tmp_path / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest, name


def test_columns_and_digits_are_as_promised(tmp_path):
    finished(tmp_path)
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines[0] == (
        "seed,step,samples,test_error,test_loss,cumulative_error,cumulative_loss,online_error,online_loss"
    )
    assert lines[1].split(",")[:4] == ["0", "1", "3", "0.3333333333"]
    assert len(lines) == 1 + 2 * 3


def test_reading_gives_back_what_was_written(tmp_path):
    written, read = finished(tmp_path), read_record(tmp_path)
    assert read.info == written.info
    for column in record.COLUMNS:
        np.testing.assert_array_equal(read.curves[column], written.curves[column])


def test_a_run_that_was_never_on_disk_is_rounded_as_if_it_had_been(tmp_path):
    """So that a notebook shows what is in its folder."""
    kept = made()
    written = write_record(tmp_path, kept)
    for run in (written, read_record(tmp_path)):
        for column in ("draw", *record.COLUMNS):
            np.testing.assert_array_equal(kept.curves[column], run.curves[column])
        assert kept.per_class() == run.per_class() == {"a": (20, 0.5)}
        assert kept.summary() == run.summary()


def test_errors_by_class_are_pooled_over_seeds(tmp_path):
    odd = 'a, "b"'
    per_class = [
        *classes(0, 10, 0.5, odd),
        *classes(0, 10, 1.0, "c"),
        *classes(1, 30, 0.1, odd),
        *classes(1, 30, 1.0, "c"),
    ]
    finished(tmp_path, per_class=per_class)
    expected = {odd: (40, pytest.approx(0.2)), "c": (40, 1.0)}
    assert read_record(tmp_path).per_class() == expected
    for damage in ("seed\n1\n", "seed,class,samples,test_error\n0,a,0,1\n"):
        (tmp_path / "classes.csv").write_text(damage)
        with pytest.raises(UserError, match="classes.csv"):
            read_record(tmp_path).per_class()
    (tmp_path / "classes.csv").unlink()
    assert read_record(tmp_path).per_class() == {}


def test_summary_is_mean_and_standard_error_at_the_tables_steps(tmp_path):
    run = finished(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert list(summary) == ["1", "2", "5"]
    values = [1 / 15, 2 / 15]
    assert summary["5"]["test_error"]["mean"] == pytest.approx(np.mean(values))
    assert summary["5"]["test_error"]["standard_error"] == pytest.approx(
        np.std(values, ddof=1) / np.sqrt(2)
    )
    assert run.values("test_error").shape == (3, 2)


def test_one_seed_has_no_standard_error(tmp_path):
    run = finished(tmp_path, seeds=(0,))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["5"]["test_error"]["standard_error"] is None
    assert np.isnan(run.standard_error("test_error")).all()


@pytest.mark.parametrize(
    ("steps", "judged", "wanted", "expected"),
    [
        (range(1, 26), None, (), [6, 12, 25]),
        (range(1, 26), None, (5, 10, 20), [5, 10, 20, 25]),
        (range(1, 26), 20, (5, 10), [5, 10, 20]),
        (range(1, 26), 7, (), [6, 7, 12, 25]),
        ((1, 5, 10, 20, 25), None, (), [5, 10, 25]),
        ((1, 2, 3), None, (5, 10, 20), [3]),
        (range(50, 1001, 50), None, (), [250, 500, 1000]),
        ((7,), None, (), [7]),
    ],
)
def test_table_steps_are_those_set_and_tested_with_the_judged_one(
    steps, judged, wanted, expected, tmp_path
):
    """By default a quarter, half and all of the curve, whatever else was tested."""
    info = dataclasses.replace(INFO, judged_step=judged, table_steps=wanted)
    run = finished(tmp_path, steps=tuple(steps), info=info)
    assert run.table_steps() == expected
    assert run.judged_step == (judged or expected[-1])
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert list(map(int, summary)) == expected


def test_a_step_that_was_not_tested_cannot_be_the_judged_one(tmp_path):
    info = dataclasses.replace(INFO, judged_step=4)
    with pytest.raises(UserError, match="judged_step=4 is not tested: .* 1, 2, 5$"):
        finished(tmp_path, info=info)
    many = dataclasses.replace(INFO, judged_step=999)
    with pytest.raises(UserError, match="choose of 40 steps from 1 to 40$"):
        finished(tmp_path, info=many, steps=tuple(range(1, 41)))


# Test samples.


def test_each_test_sample_is_kept_as_it_was(tmp_path):
    written = finished(tmp_path, draws=(0, 1))
    read = read_record(tmp_path)
    assert set(read.items()) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    for unit, kept in read.items().items():
        expected = written.items()[unit]
        for field in dataclasses.fields(TestItems):
            value = getattr(kept, field.name)
            np.testing.assert_array_equal(value, getattr(expected, field.name))
            assert value.dtype == getattr(expected, field.name).dtype


def test_a_damaged_file_of_test_samples_is_named(tmp_path):
    finished(tmp_path)
    (tmp_path / "items.npz").write_bytes(b"PK\x03\x04garbage")
    with pytest.raises(UserError, match="items.npz"):
        read_record(tmp_path).items()
    (tmp_path / "items.npz").unlink()
    assert read_record(tmp_path).items() == {}


@pytest.mark.parametrize("missing", ["items", "labels", "wrong", "margins"])
def test_a_file_without_some_of_the_test_samples_is_named(missing, tmp_path):
    finished(tmp_path)
    with np.load(tmp_path / "items.npz") as file:
        arrays = dict(file)
    del arrays[f"draw0.seed1.{missing}"]
    np.savez(tmp_path / "items.npz", **arrays)
    with pytest.raises(UserError, match=f"items.npz: not readable.*{missing}"):
        read_record(tmp_path).items()


# Draws of classes.


def test_only_records_of_several_draws_have_a_column_for_them(tmp_path):
    finished(tmp_path / "one")
    finished(tmp_path / "two", draws=(0, 1))
    for name in ("curves.csv", "classes.csv"):
        alone = (tmp_path / "one" / name).read_text().splitlines()
        both = (tmp_path / "two" / name).read_text().splitlines()
        assert both[0] == f"draw,{alone[0]}"
        # The first draw's rows, but for their number, are those of it alone.
        first = [line for line in both[1:] if line.startswith("0,")]
        assert first == [f"0,{line}" for line in alone[1:]]
        assert len(both) - 1 == 2 * (len(alone) - 1)


def test_numbers_are_found_by_step_draw_and_seed(tmp_path):
    finished(tmp_path, seeds=(0, 1), draws=(0, 1, 2))
    run = read_record(tmp_path)
    assert (run.n_draws, run.n_seeds) == (3, 2)
    found = run.by_draw("test_error")
    assert found.shape == (3, 3, 2)
    for draw in range(3):
        for seed in range(2):
            expected = [(1 + seed + draw) / (3 * step) for step in (1, 2, 5)]
            np.testing.assert_allclose(found[:, draw, seed], expected, rtol=1e-9)
    np.testing.assert_array_equal(run.values("test_error"), found.reshape(3, 6))
    np.testing.assert_allclose(run.mean("test_error"), found.mean(axis=(1, 2)))


def test_the_unit_of_the_standard_error_is_the_draw_where_there_are_several(tmp_path):
    """Seeds of one draw learn the same classes: they are not as good as draws."""
    run = finished(tmp_path, seeds=(0, 1), draws=(0, 1, 2))
    of_draws = run.by_draw("test_error").mean(axis=2)
    expected = of_draws.std(axis=1, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(run.standard_error("test_error"), expected)
    summary = json.loads((tmp_path / "summary.json").read_text())
    told = summary["5"]["test_error"]["standard_error"]
    assert told == pytest.approx(expected[-1])


def test_draws_of_one_seed_each_have_a_standard_error(tmp_path):
    run = finished(tmp_path, seeds=(0,), draws=(0, 1))
    assert np.isfinite(run.standard_error("test_error")).all()
    assert run.summary()["5"]["test_error"]["standard_error"] > 0


def test_a_draw_that_lost_a_seed_is_noticed(tmp_path):
    finished(tmp_path, draws=(0, 1))
    lines = (tmp_path / "curves.csv").read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("1,1,")]
    (tmp_path / "curves.csv").write_text("".join(kept))
    with pytest.raises(UserError, match="expected one row per draw, seed and step"):
        read_record(tmp_path)


def test_draws_that_are_not_those_of_the_curves_are_noticed(tmp_path):
    finished(tmp_path, draws=(0, 1))
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"draws": [0, 2]}))
    with pytest.raises(UserError, match="run.json: seeds or draws not as expected"):
        read_record(tmp_path)


# Counterparts.


def test_a_counterpart_is_a_record_within_its_runs(tmp_path):
    written = with_counterpart(tmp_path)
    assert (tmp_path / "counterpart" / "curves.csv").exists()
    run = read_record(tmp_path)
    assert run.info == written.info
    assert run.counterpart.info == written.counterpart.info
    assert run.counterpart.folder == tmp_path / "counterpart"
    assert run.counterpart.info.control_of == "mine"
    told = run.info.digests["counterpart/curves.csv"]
    content = (tmp_path / "counterpart" / "curves.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == told


def test_a_counterpart_is_no_run_of_its_own(tmp_path):
    with_counterpart(tmp_path / "0")
    assert [run.folder.name for run in find_records(tmp_path)] == ["0"]


def test_without_its_counterpart_a_run_is_not_finished(tmp_path):
    with_counterpart(tmp_path)
    (tmp_path / "counterpart" / "curves.csv").unlink()
    with pytest.raises(UserError, match="counterpart"):
        read_record(tmp_path)
    assert record.finished(tmp_path) is None


def test_a_run_leaves_no_counterpart_of_the_run_that_it_replaces(tmp_path):
    with_counterpart(tmp_path)
    finished(tmp_path)
    assert not (tmp_path / "counterpart").exists()
    assert read_record(tmp_path).counterpart is None


def test_a_crash_never_leaves_a_run_beside_anothers_counterpart(tmp_path, monkeypatch):
    with_counterpart(tmp_path)
    real = os.replace

    def dying(a, b):
        if b == tmp_path / "run.json":
            raise KeyboardInterrupt
        real(a, b)

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        with_counterpart(tmp_path, seeds=(0, 1, 2))
    assert find_records(tmp_path) == []


# Crashes.


def no_room(*_):
    raise OSError(28, "No space left on device")


def test_a_full_disk_leaves_an_unfinished_run_and_no_remains(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(UserError, match="No space left on device"):
        finished(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("files", [0, 1, 2, 3, 4])
def test_a_crash_while_finishing_leaves_an_unfinished_run(files, tmp_path, monkeypatch):
    real = os.replace
    written = []

    def dying(a, b):
        if len(written) == files:
            raise KeyboardInterrupt
        written.append(b)
        real(a, b)

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        finished(tmp_path)
    assert record.finished(tmp_path) is None and find_records(tmp_path) == []


@pytest.mark.parametrize("files", [0, 1, 2, 3, 4])
def test_a_crash_while_replacing_a_run_never_mixes_the_two(
    files, tmp_path, monkeypatch
):
    """Neither counts, and what was there can still be found."""
    finished(tmp_path)
    before = (tmp_path / "curves.csv").read_bytes()
    real = os.replace
    written = []

    def dying(a, b):
        if b.name != "superseded.csv":
            if len(written) == files:
                raise KeyboardInterrupt
            written.append(b)
        real(a, b)

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        finished(tmp_path, steps=(1, 2, 3))
    assert find_records(tmp_path) == []
    assert (tmp_path / "superseded.csv").read_bytes() == before
    monkeypatch.undo()
    finished(tmp_path, steps=(1, 2, 3))
    assert not (tmp_path / "superseded.csv").exists()
    assert read_record(tmp_path).steps == [1, 2, 3]


def test_a_run_set_aside_is_unfinished_and_not_lost(tmp_path):
    finished(tmp_path)
    record.set_aside(tmp_path)
    assert record.finished(tmp_path) is None
    assert (tmp_path / "superseded.csv").exists()


def test_a_run_answers_for_its_own_fingerprint_and_seeds(tmp_path):
    run = finished(tmp_path)
    assert run.answers("lean", range(2)) and run.answers("lean", [0, 1])
    assert not run.answers("lean", range(3)) and not run.answers("other", range(2))


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "seed,step\n1,2\n",
        "garbage",
        "\x00\x01",
        ",".join(record.COLUMNS) + "\n",
        ",".join(record.COLUMNS) + "\n0,1,3,0.1,0.1,0.1,0.1,0.1\n",
        ",".join(record.COLUMNS) + "\n0,1,3,0.1,0.1,0.1,0.1,0.1,0.1,9\n",
        ",".join(record.COLUMNS) + "\n0,1,3,much,0.1,0.1,0.1,0.1,0.1\n",
    ],
)
def test_damaged_records_are_named(damage, tmp_path):
    finished(tmp_path)
    (tmp_path / "curves.csv").write_text(damage)
    with pytest.raises(UserError, match=str(tmp_path)):
        read_record(tmp_path)
    assert record.finished(tmp_path) is None


def test_a_seed_that_lost_a_row_is_noticed(tmp_path):
    finished(tmp_path)
    lines = (tmp_path / "curves.csv").read_text().splitlines(keepends=True)
    (tmp_path / "curves.csv").write_text("".join(lines[:-1]))
    with pytest.raises(UserError):
        read_record(tmp_path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"data": {"name": "x"}}, "data.identity is missing"),
        ({"data": "x"}, "data is"),
        ({"config": None}, "config is"),
        ({"samples": {}}, "samples.pool is missing"),
        ({"samples": {"pool": 0, "test": 3}}, "samples"),
        ({"overrides": None}, "overrides is"),
        ({"seconds": "1"}, "seconds is"),
        ({"seeds": [0]}, "seeds|curves.csv: expected one row per draw, seed"),
        ({"draws": [0, 1]}, "draws|curves.csv: expected one row per draw, seed"),
        ({"draws": []}, "draws is empty"),
        ({"judged_step": 3}, "judged_step"),
        ({"seeds": [0, 2]}, "seeds"),
        ({"label": 3}, "label is"),
    ],
)
def test_records_that_tables_could_not_be_made_of_are_left_out_by_name(
    change, named, tmp_path
):
    finished(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match=f"run.json: {named}"):
        read_record(tmp_path)
    damaged = []
    assert find_records(tmp_path, damaged) == []
    assert len(damaged) == 1 and str(tmp_path) in damaged[0]


def test_runs_are_found_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 0):
        finished(tmp_path / str(number))
    assert [run.folder.name for run in find_records(tmp_path)] == ["0", "2", "10"]


def test_copies_that_mlflow_keeps_are_not_found_again(tmp_path):
    finished(tmp_path / "0")
    finished(tmp_path / record.ARTIFACTS_FOLDER / "0")
    finished(tmp_path / ".hidden")
    assert [run.folder for run in find_records(tmp_path)] == [tmp_path / "0"]


@pytest.mark.parametrize("steps", [(1, 2, 6), (1, 2), (1, 2, 5, 7), (2, 1, 5)])
def test_steps_that_differ_between_seeds_are_refused(steps, tmp_path):
    with pytest.raises(UserError, match="steps differ between seeds"):
        make_run(tmp_path, INFO, rows(0) + rows(1, steps=steps))
    assert list(tmp_path.iterdir()) == []


def test_steps_that_repeat_are_refused(tmp_path):
    with pytest.raises(UserError, match="or repeat"):
        finished(tmp_path, seeds=(0,), steps=(1, 1, 2))


def test_large_seeds_stay_apart(tmp_path):
    seeds = (20_000_000_001, 20_000_000_002)
    run = finished(tmp_path, seeds=seeds)
    assert read_record(tmp_path).info.seeds == run.info.seeds == seeds
    assert read_record(tmp_path).values("test_error").shape == (3, 2)


def test_a_damaged_record_does_not_hide_the_others(tmp_path, caplog):
    for name in ("0", "1"):
        finished(tmp_path / name)
    (tmp_path / "0" / "curves.csv").write_text("garbage")
    assert [run.folder.name for run in find_records(tmp_path)] == ["1"]
    assert "left out" in caplog.text and str(tmp_path / "0") in caplog.text


def test_a_record_of_an_earlier_release_is_read(tmp_path):
    """Untyped, and without digests, test samples or an error of each class."""
    finished(tmp_path)
    old = INFO.to_json()
    later = ("schema", "told", "control", "control_of", "changed", "built_in")
    for name in (*later, *AFTER_SCHEMA_2):
        del old[name]
    old["config"] = {"learner": {"name": "lean"}, "aggregator": {"name": "none"}}
    (tmp_path / "run.json").write_text(json.dumps({**old, "method": "lean_exact"}))
    (tmp_path / "classes.csv").unlink()
    (tmp_path / "items.npz").unlink()
    run = read_record(tmp_path)
    assert (run.info.method, run.info.control) == ("lean", "exact")
    assert run.per_class() == {} and run.items() == {}
    assert (run.n_draws, run.counterpart) == (1, None)


#: What run.json has had since schema 3.
AFTER_SCHEMA_2 = (
    *("draws", "judged_step", "table_steps", "margin", "counterpart", "score_scale"),
)


def test_a_record_of_schema_2_is_read(tmp_path):
    """Before draws, counterparts and test samples: judged at the end of its curve."""
    written = finished(tmp_path)
    old = {**written.info.to_json(), "schema": 2, "draw": 0}
    for name in AFTER_SCHEMA_2:
        del old[name]
    for name in ("learned", "fixed_test"):
        del old["samples"][name]
    del old["data"]["drawn"]
    (tmp_path / "run.json").write_text(json.dumps(old))
    (tmp_path / "items.npz").unlink()
    run = read_record(tmp_path)
    assert (run.n_draws, run.n_seeds, run.judged_step) == (1, 2, 5)
    assert run.items() == {} and run.counterpart is None
    np.testing.assert_array_equal(
        run.by_draw("test_error")[:, 0], run.values("test_error")
    )
    assert find_records(tmp_path)[0].info.data.drawn is None


# Sweeps.


def test_a_sweep_is_read_as_it_was_written(tmp_path):
    sweep = Sweep(
        id="1",
        name="cub",
        swept=("method",),
        command=("+experiment=cub",),
        jobs=(("method=lean",), ("method=mine", "learner.C=3")),
        tracking={"uri": "u", "experiment": "e"},
        tracked=True,
        status="FINISHED",
    )
    write_sweep(tmp_path, sweep)
    assert read_sweep(tmp_path) == sweep
    assert sweep_folder(tmp_path / "0") == tmp_path
    assert sweep_folder(tmp_path) is None and read_sweep(None) is None
    assert read_sweep(tmp_path / "0") is None


@pytest.mark.parametrize("content", ["{}", "[]", "nonsense", '{"id": 1}', "3", "\xff"])
def test_a_damaged_sweep_file_is_named(content, tmp_path):
    (tmp_path / "sweep.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match="sweep.json"):
        read_sweep(tmp_path)


# What a run is known by.


def test_git_commit_is_that_of_the_projects_own_checkout():
    root = Path(record.__file__).resolve().parent.parent.parent
    commit = git_commit()
    assert (commit is not None) == (root / ".git").exists()
    assert commit is None or len(commit.rstrip("+")) == 40


def test_versions_are_read_without_importing():
    assert {"rsbench", "python", "numpy", "torch"} <= set(versions())


def test_a_fingerprint_is_of_everything_that_changes_numbers():
    learner = {"class": "Lean", "params": {"C": 1.0}}
    one = fingerprint({"learner": learner}, ["data"], ["code"])
    assert one == fingerprint({"learner": learner}, ["data"], ["code"])
    other = {"class": "Lean", "params": {"C": 2.0}}
    assert one != fingerprint({"learner": other}, ["data"], ["code"])
    assert one != fingerprint({"learner": learner}, ["other"], ["code"])
    assert one != fingerprint({"learner": learner}, ["data"], ["other"])
    assert one != fingerprint({"learner": learner}, ["data", "code"], [])


def test_large_arrays_among_the_parameters_are_known_by_their_content():
    """Printed, they are mostly dots."""
    zeros = np.zeros(10_000)
    other = zeros.copy()
    other[5000] = 1

    def of(array):
        return fingerprint({"learner": {"params": {"prior": array}}}, [], [])

    assert of(zeros) == of(zeros.copy()) != of(other)
    assert of(zeros) != of(zeros.astype(np.float32)) != of(zeros.reshape(100, 100))
