"""The benchmark from Python: the same numbers as the command, kept and resumed alike."""

import dataclasses
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

import rsbench
from rsbench import UserError
from rsbench.aggregators import ClassSoft, Ones, Sample
from rsbench.core.experiment import Setup, run_seed
from rsbench.core.told import Told
from rsbench.corruptions import Full
from rsbench.learners import SVMFF, Ellipsotron, Lean
from rsbench.plugins import registry
from rsbench.preprocessors import Center, Identity
from rsbench.protocols import PerClass, Stream
from rsbench.store.record import COLUMNS, find_records
from tests.helpers import ROOT

PROTOCOL = PerClass(4)

#: What somebody types into a notebook: it has no file.
TYPED = """
import numpy as np

class Mine:
    '''Nearest mean, of the features that were marked.'''

    def partial_fit(self, X, y, classes=None, *, relevance=None):
        if not hasattr(self, "sums"):
            self.sums = np.zeros((len(classes), X.shape[1]))
        np.add.at(self.sums, y, X * relevance)
        return self

    def decision_function(self, X):
        return X @ self.sums.T
"""


def typed():
    space = {"__name__": "a_notebook"}
    exec(TYPED, space)
    return space["Mine"]()


def make_data(seed=0, n=60, d=6, k=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rsbench.Data(
        X=rng.random((n, d)) + 0.8 * np.eye(k, d)[y],
        y=y,
        Z=rng.random((n, d)) < 0.3 + 0.5 * np.eye(k, d)[y],
        background=rng.random((20, d)),
    )


@pytest.fixture
def data():
    return make_data()


def run(data, methods, **settings):
    return rsbench.run(data, methods, **{"protocol": PROTOCOL, "seeds": 2, **settings})


def curves(results):
    """By method, all numbers of the curves."""
    return {
        each.info.method: {name: each.curves[name].tolist() for name in COLUMNS}
        for each in results.runs
    }


# As in a notebook.


def test_the_whole_api_as_in_a_notebook(data, tmp_path):
    results = run(
        data,
        {
            "lean": Lean(),
            "ellipsotron": (Ellipsotron(C=1.0), Sample()),
            "class_soft": (Ellipsotron(), ClassSoft()),
            "mine": typed(),
        },
        preprocessor="center",
        seeds=3,
        folder=tmp_path / "out",
    )
    assert len(results) == 4 and "mine" in repr(results)

    frame = results.frame
    assert len(frame) == 4 * 3 * 4  # methods, seeds, steps
    assert {
        *("method", "told", "preprocessor", "draw", "seed", "step", "samples"),
        *("test_error", "test_loss", "cumulative_error", "cumulative_loss"),
        *("online_error", "online_loss"),
    } <= set(frame.columns)
    told = frame.groupby("method")["told"].first().to_dict()
    assert told == {
        "lean": "nothing",
        "ellipsotron": "votes",
        "class_soft": "class votes",
        "mine": "votes",
    }
    assert set(frame["preprocessor"]) == {"center"}

    table = results.compare(at=4)
    assert set(table["step"]) == {4}
    # Three methods have counterparts, and a pair is in one family alone.
    assert (table["family"] == "counterpart").sum() == 3
    assert not table.duplicated(["first", "second"]).any()
    row = table[table["second"].str.contains("lean")].iloc[0]
    both = [row["first"], row["second"]]
    last = frame[frame["step"] == 4].groupby("method")["cumulative_error"].mean()
    names = [name.removesuffix(" center") for name in both]
    assert row["first_minus_second"] == pytest.approx(last[names[0]] - last[names[1]])

    sentences = results.findings()
    assert sentences and all(isinstance(each, str) for each in sentences)
    # Of which data, and how to read the rest.
    assert "seeds" in sentences[0] and "Cumulative error" in sentences[0]

    page = results.report(tmp_path / "report")
    assert page.exists() and "mine" in page.read_text()

    again = rsbench.load_results(tmp_path / "out")
    assert curves(again) == curves(results)
    assert [r.info for r in again.runs] == [r.info for r in results.runs]
    assert again.findings() == sentences


def test_the_numbers_are_those_of_the_core(data):
    setup = Setup(Lean(), Ones(), Identity(), PROTOCOL, Full())
    rows = run_seed(setup, data, 7).rows
    (made,) = run(data, {"lean": (Lean(), Ones())}, seed=7, seeds=1).runs
    for name in COLUMNS:
        expected = [row[name] for row in rows]
        np.testing.assert_allclose(made.curves[name], expected, rtol=1e-9)


def test_a_learner_alone_gets_each_samples_own_annotation(data):
    results = run(data, {"alone": Ellipsotron(), "pair": (Ellipsotron(), Sample())})
    found = curves(results)
    assert found["alone"] == found["pair"]


def test_learners_in_a_list_go_by_the_names_of_their_classes(data):
    results = run(data, [Lean(), (Ellipsotron(), ClassSoft()), SVMFF()])
    assert [r.info.method for r in results.runs] == ["lean", "ellipsotron", "svmff"]


def test_data_can_be_named_or_made_by_an_object(data):
    class Mine:
        def load(self):
            return data

    small = rsbench.datasets.Synthetic(classes=3, samples=8)
    for given, name in ((Mine(), "Mine"), (data, "arrays"), (small, "synthetic")):
        (made,) = run(given, [Lean()], seeds=1).runs
        assert made.info.data.name == name
    (made,) = run("synthetic", [Lean()], seeds=1).runs
    assert made.info.data.name == "synthetic" and made.info.data.simulated


def test_a_run_is_described_as_the_command_would(data):
    results = run(
        data,
        {"e": (Ellipsotron(C=3.0), ClassSoft())},
        preprocessor=Center(fit_on="seen"),
        annotation="shuffled",
        protocol=Stream((10, 20)),
        precision="float32",
        seed=5,
    )
    info = results.runs[0].info
    assert info.seeds == (5, 6) and info.unit == "samples"
    assert info.told is Told.CLASS_VOTES and info.built_in
    assert info.features == "center (seen)" and info.label.startswith("e center")
    config = info.config
    assert (config["seed"], config["seeds"], config["precision"]) == (5, 2, "float32")
    assert config["learner"] == {"name": "ellipsotron", "C": 3.0, "variant": "pa2"}
    assert config["aggregator"]["name"] == "class_soft"
    assert config["annotation"] == {"name": "shuffled"}
    assert config["preprocessor"] == {"name": "center", "fit_on": "seen"}
    assert config["protocol"]["name"] == "stream"


def test_a_control_of_annotations_changes_those_who_are_told(data):
    methods = {"lean": (Lean(), Ones()), "ellipsotron": Ellipsotron()}
    full = curves(run(data, methods))
    shuffled = curves(run(data, methods, annotation="shuffled"))
    assert full["lean"] == shuffled["lean"]
    assert full["ellipsotron"] != shuffled["ellipsotron"]

    def nothing(Z, rng):
        return np.zeros(Z.shape)

    results = run(data, methods, annotation=nothing)
    assert curves(results)["lean"] == full["lean"] != curves(results)["ellipsotron"]
    assert results.runs[0].info.config["annotation"] == {"name": "nothing"}


def test_hyperparameters_can_be_tuned(data):
    tuned = dataclasses.replace(data, validation=make_data(seed=1))
    grid = {"learner.C": [1e-6, 1.0]}
    (made,) = run(tuned, [Ellipsotron()], tune=grid).runs
    assert made.info.tuned["0"]["learner.C"] in grid["learner.C"]


# What is kept.


def test_a_second_call_computes_nothing(data):
    first = run(data, [Lean(), Ellipsotron()])
    second = run(data, [Lean(), Ellipsotron()])
    for one, two in zip(first.runs, second.runs, strict=True):
        assert one.info.reused == () and two.info.reused == (0, 1)
    assert curves(first) == curves(second)
    (more,) = run(data, [Lean()], seeds=3).runs
    assert more.info.reused == (0, 1)
    (forced,) = run(data, [Lean()], force=True).runs
    assert forced.info.reused == ()


def test_without_a_cache_nothing_is_left_on_disk(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        (made,) = run(data, [Lean()], cache=False).runs
        assert made.info.reused == ()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_class_typed_into_a_notebook_is_computed_anew(jobs, data, tmp_path):
    """Also where it was sent to other processes, in which it seems to have a file."""
    for _ in range(2):
        made = run(data, {"mine": typed(), "other": typed()}, jobs=jobs)
        assert [each.info.reused for each in made.runs] == [(), ()]
        assert not made.runs[0].info.built_in
    assert list(tmp_path.rglob("*.json")) == []


def test_a_record_is_what_the_command_writes(data, tmp_path):
    results = run(data, [Lean(), Ellipsotron()], folder=tmp_path / "out")
    found = find_records(tmp_path / "out")
    assert [each.folder.name for each in found] == ["0", "1"]
    assert [each.info for each in found] == [each.info for each in results.runs]
    assert found[0].per_class() == results.runs[0].per_class()
    in_memory = run(data, [Lean(), Ellipsotron()])
    assert curves(in_memory) == curves(results)
    assert in_memory.runs[0].per_class() == found[0].per_class()
    assert in_memory.runs[0].summary() == found[0].summary()


def test_folders_are_read_together(data, tmp_path):
    run(data, [Lean()], folder=tmp_path / "a")
    run(data, [Ellipsotron()], folder=tmp_path / "b")
    both = rsbench.load_results(tmp_path / "a", tmp_path / "b")
    assert [each.info.method for each in both.runs] == ["lean", "ellipsotron"]
    with pytest.raises(UserError, match="nowhere"):
        rsbench.load_results(tmp_path / "nowhere")


def test_a_damaged_record_is_left_out_by_name(data, tmp_path):
    run(data, [Lean(), Ellipsotron()], folder=tmp_path / "out")
    (tmp_path / "out" / "0" / "curves.csv").write_text("garbage")
    results = rsbench.load_results(tmp_path / "out")
    assert len(results) == 1
    assert len(results.left_out) == 1 and "curves.csv" not in results.left_out[0][:3]


# Several processes.


def curve_files(folder):
    return {path.parent.name: path.read_bytes() for path in folder.glob("*/curves.csv")}


def test_two_processes_give_the_same_bytes_as_one(data, tmp_path):
    methods = {"lean": Lean(), "e": Ellipsotron(), "mine": typed()}
    for jobs in (1, 2):
        run(data, methods, jobs=jobs, cache=False, folder=tmp_path / str(jobs))
    assert len(curve_files(tmp_path / "1")) == 3
    assert curve_files(tmp_path / "1") == curve_files(tmp_path / "2")


def test_what_one_process_kept_another_finds(data):
    run(data, [Lean(), Ellipsotron()], jobs=2)
    again = run(data, [Lean(), Ellipsotron()])
    assert [each.info.reused for each in again.runs] == [(0, 1), (0, 1)]


def test_workers_follow_to_another_folder(data, tmp_path, monkeypatch):
    """A notebook may change its working folder, or name another one for caches."""
    monkeypatch.delenv("RSBENCH_CACHE")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        run(data, [Lean(), Ellipsotron()], jobs=2, counterparts=False)
        kept = list((tmp_path / name / "outputs" / "cache").rglob("[01].json"))
        assert len(kept) == 4


def test_workers_use_as_many_threads_as_one_process_would(data, monkeypatch):
    """joblib would give them more on a machine with many cores, and so other bytes."""
    code = TYPED.replace(
        "if not hasattr",
        "from threadpoolctl import threadpool_info as i; "
        "raise ValueError(max(p['num_threads'] for p in i() if p['user_api'] == 'blas'))"
        "\n        if not hasattr",
    )
    space = {"__name__": "a_notebook"}
    exec(code, space)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with pytest.raises(ValueError, match="^1$"):
        run(data, {"a": space["Mine"](), "b": Lean()}, jobs=2)


class Wilful(PerClass):
    """Changes the labels that it is given."""

    def plan(self, y, test, rng):
        y[:] = y[::-1].copy()
        return super().plan(y, test, rng)


@pytest.mark.parametrize("jobs", [1, 2])
def test_nobody_can_change_the_data(jobs, data):
    before = data.y.copy()
    with pytest.raises(ValueError, match="read-only"):
        run(data, [Lean(), Ellipsotron()], protocol=Wilful(4), jobs=jobs)
    np.testing.assert_array_equal(data.y, before)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_the_same_from_any_process(jobs, data):
    with pytest.raises(UserError, match="class 0 has 20 samples"):
        run(data, [Lean(), Ellipsotron()], protocol=PerClass(20), jobs=jobs)


DROPPED = """
from rsbench import Preprocessor, hookimpl

class Twice(Preprocessor):
    def transform(self, X):
        return 2 * X

@hookimpl
def rsbench_preprocessors():
    return {"twice": Twice}
"""


@pytest.fixture
def dropped(tmp_path, monkeypatch):
    """A file in a plugin folder."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "twice.py").write_text(DROPPED)
    monkeypatch.setenv("RSBENCH_PLUGINS", str(tmp_path / "plugins"))
    registry.load.cache_clear()
    yield tmp_path / "plugins" / "twice.py"
    registry.load.cache_clear()


def test_a_dropped_in_plugin_works_in_any_number_of_processes(data, dropped):
    found = []
    for jobs in (1, 2):
        results = run(data, [Lean(), SVMFF()], preprocessor="twice", jobs=jobs)
        assert results.runs[0].info.preprocessor == "twice"
        found.append(curves(results))
    assert found[0] == found[1]
    assert [each.info.reused for each in results.runs] == [(0, 1), (0, 1)]


def test_code_edited_since_its_import_is_not_sent_to_other_processes(data, dropped):
    """They would import what it is now, and keep its results as those of what it was."""
    run(data, [Lean()], preprocessor="twice")
    dropped.write_text(DROPPED.replace("2 * X", "3 * X"))
    assert run(data, [Lean()], preprocessor="twice").runs[0].info.reused == (0, 1)
    with pytest.raises(UserError, match="Twice has been edited since it was imported"):
        run(data, [Lean(), SVMFF()], preprocessor="twice", jobs=2)


def test_reloaded_code_is_not_computed_by_workers_that_have_the_old(
    data, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for factor in (1, 1e6):
        code = TYPED.replace("X * relevance", f"{factor} * X * relevance")
        (tmp_path / "ap_mine.py").write_text(code)
        importlib.invalidate_caches()
        sys.modules.pop("ap_mine", None)
        mine = importlib.import_module("ap_mine").Mine
        found.append(curves(run(data, {"a": mine(), "b": mine()}, jobs=2)))
    assert found[0]["a"] != found[1]["a"]
    del sys.modules["ap_mine"]


# Draws, counterparts, and what is said of results.


class Bare(Ellipsotron):
    """Lean, when nobody annotates anything."""

    without = Lean


class Worlds(rsbench.Dataset):
    """Other samples in each draw."""

    def __init__(self, number: int = 0):
        self.number = number

    def load(self):
        return make_data(seed=self.number)

    def drawn(self, number):
        return Worlds(number)


def test_draws_are_of_the_same_methods_and_seeds(tmp_path):
    methods = {"lean": Lean(), "mine": Bare()}
    results = run(Worlds(), methods, draws=3, folder=tmp_path / "out")
    frame = results.frame
    assert len(frame) == 2 * 3 * 2 * 4  # methods, draws, seeds, steps
    order = ["method", "draw", "seed", "step"]
    assert frame[order].equals(frame[order].sort_values(order, ignore_index=True))
    for made in results.runs:
        assert made.info.draws == (0, 1, 2) and made.info.config["draws"] == 3
        assert made.by_draw("test_error").shape == (4, 3, 2)
        for draw in range(3):
            (alone,) = run(Worlds(draw), {"x": methods[made.info.method]}).runs
            np.testing.assert_array_equal(
                made.by_draw("test_error")[:, draw], alone.values("test_error")
            )
    again = rsbench.load_results(tmp_path / "out")
    assert curves(again) == curves(results)
    assert again.frame.equals(frame)


def test_methods_are_paired_in_each_draw():
    one, two = run(Worlds(), {"lean": Lean(), "mine": Bare()}, draws=2).runs
    assert set(one.items()) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    for unit, tested in one.items().items():
        np.testing.assert_array_equal(tested.items, two.items()[unit].items)


def test_the_first_draw_is_the_run_without_draws(tmp_path):
    run(Worlds(), [Lean()], folder=tmp_path / "one")
    run(make_data(), [Lean()], folder=tmp_path / "plain", cache=False)
    run(Worlds(), [Lean()], draws=2, folder=tmp_path / "two")
    alone = (tmp_path / "one" / "0" / "curves.csv").read_text()
    assert alone == (tmp_path / "plain" / "0" / "curves.csv").read_text()
    assert not alone.startswith("draw,")
    both = (tmp_path / "two" / "0" / "curves.csv").read_text().splitlines()
    first = [line.removeprefix("0,") for line in both if line.startswith("0,")]
    assert first == alone.splitlines()[1:]


def test_what_has_no_draws_refuses_more_than_one_before_it_is_read(data):
    class Slow:
        def load(self):
            raise AssertionError("it was read")

    with pytest.raises(UserError, match="^draws: Slow has one draw of classes alone"):
        run(Slow(), [Lean()], draws=2)
    with pytest.raises(UserError, match="^draws: Data has one draw of classes alone"):
        run(data, [Lean()], draws=2)


def test_a_method_that_is_told_something_comes_with_its_counterpart(data, tmp_path):
    results = run(data, {"lean": Lean(), "mine": Bare()}, folder=tmp_path / "out")
    lean, mine = results.runs
    assert lean.counterpart is None and lean.info.counterpart is None
    assert mine.info.counterpart.name == "lean"
    assert mine.info.counterpart.fingerprint == lean.info.fingerprint
    np.testing.assert_array_equal(
        mine.counterpart.curves["test_loss"], lean.curves["test_loss"]
    )
    # It is no run of its own.
    assert len(results) == len(rsbench.load_results(tmp_path / "out")) == 2
    read = rsbench.load_results(tmp_path / "out").runs[1]
    assert read.counterpart.info == mine.counterpart.info


def test_a_method_of_no_base_class_is_its_own_counterpart(data):
    (mine,) = run(data, {"mine": typed()}).runs
    assert (mine.info.counterpart.kind, mine.info.counterpart.name) == (
        "itself",
        "mine",
    )
    assert mine.counterpart.info.told is Told.NOTHING
    # Relevance is one: its sums are those of the samples themselves.
    ones = run(data, {"mine": (typed(), Ones())}).runs[0]
    for name in COLUMNS:
        np.testing.assert_array_equal(mine.counterpart.curves[name], ones.curves[name])


def test_counterparts_can_be_left_out(data, tmp_path):
    (mine,) = run(data, [Bare()], counterparts=False, folder=tmp_path / "out").runs
    assert mine.counterpart is None and mine.info.counterpart is None
    assert not list(tmp_path.rglob("counterpart"))
    assert mine.info.config["counterparts"] is False


def test_counterparts_are_the_same_from_any_number_of_processes(data, tmp_path):
    methods = {"lean": Lean(), "mine": Bare(), "typed": typed()}
    found = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        results = run(data, methods, jobs=jobs, cache=False, folder=folder)
        found.append([each.info.counterpart for each in results.runs])
        assert results.runs[0].counterpart is None
    assert found[0] == found[1]
    files = [path.relative_to(tmp_path / "1") for path in tmp_path.glob("1/**/*.csv")]
    # Curves and classes: of three methods, two counterparts and two shuffled ones.
    assert len(files) == 2 * (3 + 2 + 2)
    for file in files:
        one = (tmp_path / "1" / file).read_bytes()
        assert one == (tmp_path / "2" / file).read_bytes()


def test_processes_share_the_counterpart_of_several_methods(data):
    methods = {"a": Bare(), "b": (Bare(), ClassSoft()), "c": Bare(C=2.0)}
    run(data, methods, jobs=2)
    (lean,) = run(data, [Lean()]).runs
    assert lean.info.reused == (0, 1)


#: As Jupyter runs a cell: in `__main__`, which has no file, and under a file's name.
NOTEBOOK = """
import rsbench
from rsbench.learners import Ellipsotron
from tests.unit.test_api import PROTOCOL, make_data

cell = '''
class Mine(Ellipsotron):
    without = None

    def partial_fit(self, X, y, classes=None, *, relevance=None):
        return super().partial_fit(X, y, classes, relevance=relevance)
'''
exec(compile(cell, "/tmp/ipykernel_1/1.py", "exec"))
methods = {"a": Mine(), "b": Mine(C=2.0)}
for run in rsbench.run(make_data(), methods, seeds=2, jobs=2, protocol=PROTOCOL).runs:
    print(run.info.reused, run.counterpart.info.reused)
"""


def test_the_counterpart_of_a_notebooks_class_is_not_kept_either(tmp_path):
    """In other processes such a class seems to have a file."""
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "() ()\n() ()\n", done.stderr
    assert list((tmp_path / "cache").rglob("*.json")) == []


def test_where_methods_are_judged_is_set_and_recorded(data, tmp_path):
    settings = {"judged_step": 3, "table_steps": [1, 2], "margin": 2.5}
    (made,) = run(data, [Bare()], **settings, folder=tmp_path / "out").runs
    for info in (made.info, made.counterpart.info):
        assert (info.judged_step, info.table_steps) == (3, (1, 2, 3))
        assert info.margin == pytest.approx(0.025)
    assert {key: made.info.config[key] for key in settings} == settings
    assert made.judged_step == 3 and made.table_steps() == [1, 2, 3]
    assert list(made.summary()) == ["1", "2", "3"]
    (usual,) = run(data, [Bare()]).runs
    assert usual.info.fingerprint == made.info.fingerprint
    assert (usual.info.judged_step, usual.info.margin) == (4, 0.01)


def test_a_judged_step_that_is_not_tested_is_named(data, tmp_path):
    with pytest.raises(UserError, match="judged_step=9 is not tested: .* 1, 2, 3, 4"):
        run(data, [Lean()], judged_step=9)
    assert list(tmp_path.rglob("*.json")) == []
    run(data, [Lean()])
    with pytest.raises(UserError, match="judged_step=9 is not tested"):
        run(data, [Lean()], judged_step=9)


# Promises that hold for any method.


def test_ones_own_arrays_stay_writable(data):
    run(data, [Lean()])
    for array in (data.X, data.y, data.Z, data.background):
        assert array.flags.writeable


def test_ones_own_learner_is_left_untrained(data):
    learner = Lean()
    run(data, [learner])
    assert vars(learner) == {"C": 1.0, "variant": "pa2"}


def test_a_methods_results_do_not_depend_on_those_beside_it(data):
    methods = {"lean": Lean(), "e": Ellipsotron(), "svm": SVMFF(), "mine": typed()}
    together = curves(run(data, methods, cache=False))
    backwards = curves(run(data, dict(reversed(methods.items())), cache=False))
    assert together == backwards
    for name, method in methods.items():
        alone = curves(run(data, {name: method}, cache=False))
        assert alone[name] == together[name]


class Nosy(Ellipsotron):
    """Notes what it is shown to predict."""

    shown: list = []

    def decision_function(self, X):
        self.shown.append(X.copy())
        return super().decision_function(X)


def test_annotations_never_reach_predictions(data):
    """Whatever is marked, a prediction is shown the features and nothing else."""
    rows = {row.tobytes() for row in data.X}
    for Z in (data.Z, ~data.Z):
        Nosy.shown.clear()
        run(dataclasses.replace(data, Z=Z), [Nosy()], cache=False)
        assert Nosy.shown
        for X in Nosy.shown:
            assert X.shape[1] == 6 and {row.tobytes() for row in X} <= rows


def test_a_methods_first_prediction_is_the_same_whatever_is_marked(data):
    """Marks of the step's own samples come after the predictions of them."""
    for learner in (Ellipsotron(), SVMFF()):
        first = []
        for Z in (data.Z, ~data.Z):
            given = dataclasses.replace(data, Z=Z)
            (made,) = run(given, [learner], protocol=Stream((1, 2))).runs
            first.append(made.curves["online_loss"][0])
        assert first[0] == first[1]


# Wrong input.


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"preprocessor": "centre"},
            "unknown preprocessor 'centre'. Did you mean 'center'",
        ),
        ({"preprocessor": Center}, r"preprocessor: Center is a class.*Center\(\)"),
        ({"preprocessor": Center(fit_on="sen")}, "preprocessor.fit_on='sen'"),
        ({"preprocessor": 3}, "int has no transform, which a preprocessor needs"),
        ({"protocol": PerClass}, r"protocol: PerClass is a class.*PerClass\(\)"),
        ({"protocol": PerClass(0)}, "protocol.samples_per_class=0, expected 1 or more"),
        (
            {"protocol": "per_clas"},
            "unknown protocol 'per_clas'. Did you mean 'per_class'",
        ),
        ({"annotation": "shufled"}, "unknown annotation 'shufled'. Did you mean"),
        ({"extractor": "clip"}, "unknown extractor 'clip'. "),
        ({"seeds": 0}, "seeds=0, expected a whole number from 1 on"),
        ({"seeds": 2.5}, "seeds=2.5, expected a whole number"),
        ({"seeds": True}, "seeds=True, expected a whole number"),
        ({"seed": -1}, "seed=-1, expected a whole number from 0 on"),
        ({"jobs": 0}, "jobs=0, expected a whole number from 1 on"),
        ({"draws": 0}, "draws=0, expected a whole number from 1 on"),
        ({"draws": 1.5}, "draws=1.5, expected a whole number"),
        ({"judged_step": "end"}, "judged_step='end', expected a whole number"),
        ({"table_steps": 5}, "table_steps=5, expected a list of steps"),
        ({"margin": "small"}, "margin='small', expected points of error, 0 or more"),
        ({"counterparts": "no"}, "counterparts='no', expected true or false"),
        ({"precision": "half"}, "precision='half', expected data, float32, float64"),
        ({"tune": {"C": [1]}}, "tune.C: only parameters of learner and aggregator"),
        ({"tune": {"learner.Q": [1]}}, "Lean has no parameter 'Q'"),
        ({"tune": {"learner.C": [1, -1]}}, "Lean: C=-1"),
        ({"methods": {}}, "methods: there is none to run"),
        ({"methods": []}, "methods: there is none to run"),
        ({"methods": "lean"}, "methods: expected learners by name"),
        ({"methods": Lean()}, "methods: expected learners by name"),
        ({"methods": {"lean": Lean}}, r"methods: lean is <class .*an object: Lean\(\)"),
        ({"methods": {"lean": "lean"}}, "methods: lean is 'lean', expected an object"),
        ({"methods": ["lean", "ellipsotron"]}, "'lean' is a name, expected an object"),
        (
            {"methods": {"x": (Ellipsotron(), Sample)}},
            r"methods: x is <class .*expected an object: Sample\(\)",
        ),
        (
            {"methods": {"x": (Lean(), Ones)}},
            "methods: x is <class .*expected an object",
        ),
        (
            {"methods": {"x": (Lean(),)}},
            "methods: x has 1 parts, expected a learner, or",
        ),
        (
            {"methods": {"x": object()}},
            "object has no partial_fit, which a learner needs",
        ),
        ({"methods": {"x": (Lean(), Lean())}}, "Lean has no relevance|relevance"),
        ({"methods": {1: Lean()}}, "methods: 1 is no name"),
        ({"methods": {"x": Lean(C=-1)}}, "Lean: C=-1, expected a number above 0"),
        ({"methods": [Lean(C=1.0), Lean(C=2.0)]}, "methods: two are called lean"),
        (
            {"methods": {"x": (Ellipsotron(), ClassSoft(scope="sen"))}},
            "aggregator.scope='sen': expected teacher or seen",
        ),
        ({"data": "cup"}, "unknown dataset 'cup'. Did you mean 'cub'"),
        ({"data": rsbench.datasets.Synthetic}, "dataset: Synthetic is a class"),
        ({"data": 3}, "int has no load, which a dataset needs"),
    ],
)
def test_wrong_input_is_named_in_one_sentence(settings, words, data, tmp_path):
    given = {"data": data, "methods": [Lean()], **settings}
    with pytest.raises(UserError, match=words):
        rsbench.run(given.pop("data"), given.pop("methods"), **given)
    assert list(tmp_path.rglob("*.json")) == []


def test_wrong_arrays_are_named(data):
    for change, words in (
        ({"y": np.arange(60) % 3 + 1}, "labels in y must be 0..K-1"),
        ({"X": np.zeros((3, 6))}, "dataset=arrays: X has shape"),
        ({"Z": 2.0 * data.Z}, "votes must lie in"),
        ({"X": data.X.tolist()}, "X is a list, expected an array: np.asarray"),
    ):
        with pytest.raises(UserError, match=words):
            run(dataclasses.replace(data, **change), [Lean()])


def test_mistakes_show_before_data_are_read():
    class Slow:
        def load(self):
            raise AssertionError("it was read")

    with pytest.raises(UserError, match="C=-1"):
        run(Slow(), [Lean(C=-1)])


def test_numbers_of_numpy_are_numbers(data):
    (made,) = run(data, [Lean()], seeds=np.int64(2), seed=np.int64(1)).runs
    assert made.info.seeds == (1, 2)
