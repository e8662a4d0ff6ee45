"""Counterparts, draws of classes and the judged step, as a person sets them on the command line."""

import json
from collections import Counter

import numpy as np
import pytest

from rsbench.store.record import read_record
from tests.helpers import SMALL

#: A method that says what it is without annotations, data with draws, and a diary.
PLUGIN = """
import os
from rsbench import Dataset, hookimpl
from rsbench.datasets import Synthetic
from rsbench.learners import Ellipsotron, Lean

def note(learner):
    if not hasattr(learner, "coef_"):
        with open(os.environ["RSBENCH_TEST_DIARY"], "a") as diary:
            diary.write(type(learner).__name__ + "\\n")

class Plain(Lean):
    '''Lean, which notes each seed it begins.'''
    def prequential(self, X, y, classes=None):
        note(self)
        return super().prequential(X, y, classes)

class Rich(Ellipsotron):
    '''Ellipsotron, likewise.'''
    without = Plain
    def prequential(self, X, y, classes=None, *, relevance=None):
        note(self)
        return super().prequential(X, y, classes, relevance=relevance)

class Worlds(Dataset):
    '''Other classes in each draw.'''
    def __init__(self, number: int = 0):
        self.number = number
    def load(self):
        return Synthetic(classes=4, samples=12, draw=self.number).load()
    def drawn(self, number):
        return Worlds(number)

@hookimpl
def rsbench_learners():
    return {"plain": Plain, "rich": Rich}

@hookimpl
def rsbench_datasets():
    return {"worlds": Worlds}
"""

RICH = ("learner=rich", "tracking=none", *SMALL)
WORLDS = (
    *("dataset=worlds", "protocol.samples_per_class=5", "seeds=2", "tracking=none"),
)


@pytest.fixture
def command(rsbench, tmp_path):
    """Runs a command that finds the plugin."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "told.py").write_text(PLUGIN)

    def run(*args, check=True):
        done = rsbench(*args, env={"RSBENCH_TEST_DIARY": str(tmp_path / "diary")})
        assert not check or done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def begun(tmp_path):
    """How many seeds each learner has begun since it was last asked."""
    path = tmp_path / "diary"

    def count():
        if not path.exists():
            return {}
        found = Counter(path.read_text().split())
        path.unlink()
        return dict(found)

    return count


# Counterparts.


def test_a_run_has_its_counterpart_beside_it(command, tmp_path):
    command(*RICH, "hydra.run.dir=run")
    run = read_record(tmp_path / "run")
    about = run.info.counterpart
    assert (about.kind, about.name) == ("equal", "plain")
    assert run.counterpart.folder == tmp_path / "run" / "counterpart"
    command("learner=plain", "tracking=none", *SMALL, "hydra.run.dir=plain")
    plain = tmp_path / "plain"
    assert about.fingerprint == read_record(plain).info.fingerprint
    for name in ("curves.csv", "classes.csv", "items.npz"):
        there = (run.counterpart.folder / name).read_bytes()
        assert there == (plain / name).read_bytes(), name


def test_no_counterpart_is_computed_twice_by_any_command(command, begun):
    # Two seeds of itself, two with shuffled annotations, and one to see that it is Plain
    # without any.
    command(*RICH)
    assert begun() == {"Rich": 5, "Plain": 2}
    command(*RICH, "annotation=shuffled")
    assert begun() == {}
    command(*RICH, "aggregator=class_soft")
    assert begun() == {"Rich": 5}
    command("learner=plain", "tracking=none", *SMALL, "annotation=random")
    assert begun() == {}
    command(*RICH, "seeds=3")
    assert begun() == {"Rich": 3, "Plain": 1}
    command(*RICH, "preprocessor=l2")
    assert begun() == {"Rich": 5, "Plain": 2}


def test_counterparts_can_be_left_out(command, begun, tmp_path):
    command(*RICH, "counterparts=false", "hydra.run.dir=run")
    assert begun() == {"Rich": 2}
    assert not (tmp_path / "run" / "counterpart").exists()
    # And asked for later, in the same folder: what is there is not computed again.
    command(*RICH, "hydra.run.dir=run")
    assert begun() == {"Plain": 2, "Rich": 2}
    assert read_record(tmp_path / "run").counterpart is not None
    command(*RICH, "counterparts=false", "hydra.run.dir=run")
    assert begun() == {}
    assert not (tmp_path / "run" / "counterpart").exists()


def test_a_method_that_is_told_nothing_is_run_once(command, begun, tmp_path):
    command("learner=plain", "tracking=none", *SMALL, "hydra.run.dir=run")
    assert begun() == {"Plain": 2}
    assert not (tmp_path / "run" / "counterpart").exists()


def test_a_sweep_counts_no_counterpart_as_a_job(command, rsbench):
    sweep = ("-m", "learner=plain,rich", "hydra.sweep.dir=sweep")
    done = command(*sweep, "tracking=none", *SMALL)
    assert "2 done" in rsbench("status", "sweep").stdout
    again = command(*sweep, "tracking=none", *SMALL)
    assert again.stdout.count("finished earlier") == 2
    assert done.returncode == again.returncode == 0


# Where methods are judged, and what is said of them.


def test_what_is_said_of_results_can_change_without_computing_them_anew(
    command, begun, tmp_path
):
    settings = ["judged_step=2", "table_steps=[1,2]", "margin=2.5"]
    command(*RICH, "table_steps=[1,2,3]", "hydra.run.dir=run")
    first = read_record(tmp_path / "run")
    assert (first.judged_step, first.info.table_steps) == (5, (1, 2, 3, 5))
    assert begun() == {"Rich": 5, "Plain": 2}
    command(*RICH, *settings, "hydra.run.dir=run")
    assert begun() == {}
    run = read_record(tmp_path / "run")
    for info in (run.info, run.counterpart.info):
        assert (info.judged_step, info.table_steps) == (2, (1, 2))
        assert info.margin == 0.025
    assert run.info.replaces == (first.info.id,) and run.info.reused == (0, 1)
    assert run.info.fingerprint == first.info.fingerprint
    assert run.info.changed == first.info.changed
    np.testing.assert_array_equal(run.curves["test_loss"], first.curves["test_loss"])
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert list(summary) == ["1", "2"]
    # The same once more is left as it is.
    again = command(*RICH, *settings, "hydra.run.dir=run")
    assert "finished earlier" in again.stdout
    assert read_record(tmp_path / "run").info.id == run.info.id


def test_the_terminal_tells_of_the_judged_step(command):
    assert "at 5 samples per class" in command(*RICH).stdout
    assert "at 3 samples per class" in command(*RICH, "judged_step=3").stdout


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("judged_step=0", "judged_step=0, expected a whole number from 1 on"),
        ("judged_step=end", "judged_step='end', expected a whole number"),
        ("judged_step=6", "judged_step=6 is not tested: choose of 1, 2, 3, 4, 5"),
        ("table_steps=5", "table_steps=5, expected a list of steps, [5,10,20]"),
        ("table_steps=2.5", "table_steps=2.5, expected a list of steps"),
        ("table_steps=[]", "table_steps=[], expected a list of steps"),
        ("table_steps=[5,x]", "table_steps='x', expected a whole number"),
        ("margin=-1", "margin=-1, expected points of error, 0 or more"),
        ("margin=small", "margin='small', expected points of error"),
        ("counterparts=maybe", "counterparts='maybe', expected true or false"),
        ("draws=0", "draws=0, expected a whole number from 1 on"),
        ("draws=two", "draws='two', expected a whole number"),
    ],
)
def test_bad_values_get_one_line_before_anything_is_learned(
    setting, words, command, begun, tmp_path
):
    done = command(*RICH, setting, check=False)
    assert done.returncode == 1 and words in done.stderr, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if words in line]
    assert "Traceback" not in done.stderr and len(line) < 200
    assert begun() == {} and not list(tmp_path.rglob("curves.csv"))


# Draws of classes.


def test_draws_are_recorded_beside_each_other(command, begun, tmp_path):
    done = command(*WORLDS, "learner=rich", "draws=3", "hydra.run.dir=run")
    assert begun() == {"Rich": 13, "Plain": 6}
    assert "3 draws of 2 seeds" in done.stdout
    run = read_record(tmp_path / "run")
    assert run.info.draws == run.counterpart.info.draws == (0, 1, 2)
    assert run.by_draw("test_error").shape == (5, 3, 2)
    for place in (run.folder, run.counterpart.folder):
        header = (place / "curves.csv").read_text().splitlines()[0]
        assert header.startswith("draw,seed,step,samples,")


def test_more_draws_compute_only_what_is_missing(command, begun, tmp_path):
    command(*WORLDS, "learner=rich", "hydra.run.dir=one")
    assert begun() == {"Rich": 5, "Plain": 2}
    command(*WORLDS, "learner=rich", "draws=2", "hydra.run.dir=two")
    assert begun() == {"Rich": 5, "Plain": 2}
    one = (tmp_path / "one" / "curves.csv").read_text().splitlines()
    two = (tmp_path / "two" / "curves.csv").read_text().splitlines()
    assert not one[0].startswith("draw") and two[0] == f"draw,{one[0]}"
    first = [line.removeprefix("0,") for line in two if line.startswith("0,")]
    assert first == one[1:]


def test_a_draw_is_the_data_set_with_that_draw(command, tmp_path):
    command(*WORLDS, "learner=plain", "draws=2", "hydra.run.dir=both")
    command(*WORLDS, "learner=plain", "dataset.number=1", "hydra.run.dir=second")
    both = read_record(tmp_path / "both").by_draw("test_loss")
    second = read_record(tmp_path / "second").by_draw("test_loss")
    np.testing.assert_array_equal(both[:, 1], second[:, 0])


NO_DRAWS = """
from rsbench import Dataset, hookimpl
from rsbench.datasets import Synthetic

class Single(Dataset):
    def load(self):
        raise AssertionError("it was read")

@hookimpl
def rsbench_datasets():
    return {"single": Single}
"""


def test_data_without_draws_refuse_more_than_one_in_a_line(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "single.py").write_text(NO_DRAWS)
    done = rsbench("dataset=single", "method=lean", "tracking=none", "draws=2")
    assert done.returncode == 1
    assert "draws: Single has one draw of classes alone, draws=1" in done.stderr
    assert "Traceback" not in done.stderr and "it was read" not in done.stderr
