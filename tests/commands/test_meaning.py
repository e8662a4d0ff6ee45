"""What once was read out of names and texts, and came out wrong."""

import csv
import os

from rsbench.store.record import find_records
from rsbench.store.results import frame
from tests.helpers import SMALL

LEARNER = """
from rsbench import hookimpl
from rsbench.learners import Lean, RelevanceLearner


class Mine({base}):
    '''A learner of one's own.'''

    {body}


@hookimpl
def rsbench_learners():
    return {{"mine": Mine}}
"""

#: Its own parameter happens to be called as one of ours is.
WITH_A_VARIANT = """def __init__(self, variant: str = "pa1"):
        self.variant = variant

    def step_vector(self, X, R):
        return R * X

    def tau(self, loss, squared_norm):
        return 0.5 * loss / max(squared_norm, 1e-12)
"""

#: Does not call the constructor above it, which stores C.
FORGETFUL = """def __init__(self, rate: float = 0.5):
        self.rate = rate
"""


def write_plugin(folder, base, body):
    (folder / "plugins").mkdir(exist_ok=True)
    text = LEARNER.format(base=base, body=body)
    (folder / "plugins" / "mine.py").write_text(text)


def test_a_sweep_over_one_setting_compares_its_runs(rsbench, tmp_path):
    done = rsbench("-m", "learner.C=0.1,1", "tracking=none", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "1 pair of settings of one method" in done.stdout
    (file,) = tmp_path.rglob("comparisons.csv")
    with open(file, newline="") as lines:
        rows = list(csv.DictReader(lines))
    # Each of them is also compared with what it is without annotations.
    assert [row["family"] for row in rows].count("counterpart") == 2
    (row,) = [row for row in rows if row["family"] == "settings"]
    assert row["first"].endswith("learner.C=0.1")
    assert row["second"].endswith("learner.C=1")


def test_settings_of_how_a_run_goes_keep_the_papers_columns(rsbench):
    how = ("force=true", "on_error=stop", "precision=data", "learner.C=1")
    done = rsbench("+experiment=cub", "method=lean", "seeds=1", "tracking=none", *how)
    assert done.returncode == 0, done.stderr
    assert "paper @20" in done.stdout and "80.28" in done.stdout
    other = ("precision=float64", "seeds=1", "tracking=none")
    changed = rsbench("+experiment=cub", "method=lean", *other)
    assert changed.returncode == 0, changed.stderr
    assert "paper @20" not in changed.stdout


def test_a_plugins_own_parameter_makes_it_no_control(rsbench, tmp_path):
    write_plugin(tmp_path, "RelevanceLearner", WITH_A_VARIANT)
    done = rsbench("-m", "method=lean,mine", "tracking=none", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "The best method told votes, mine, " in done.stdout
    controls = {run.info.control for run in find_records(tmp_path)}
    assert controls == {None}


#: A nearest-class-mean learner, which takes no annotations; one that learns from
#: relevance; and one that learns from votes.
STRANGERS = """
import numpy as np
from rsbench import Learner, hookimpl
from rsbench.learners import RelevanceLearner


class Nearest(Learner):
    '''The nearest class mean.'''

    def partial_fit(self, X, y, classes=None):
        if classes is not None:
            self.sums = np.zeros((len(classes), X.shape[1]))
            self.counts = np.zeros(len(classes))
        np.add.at(self.sums, y, X)
        np.add.at(self.counts, y, 1)
        return self

    def decision_function(self, X):
        means = self.sums / np.maximum(self.counts, 1)[:, None]
        return X @ means.T - (means**2).sum(axis=1) / 2


class Scaled(RelevanceLearner):
    '''Steps along relevant features.'''

    def step_vector(self, X, R):
        return R * X

    def tau(self, loss, squared_norm):
        return 0.1


class Marked(Nearest):
    '''The nearest mean of what was marked; of all where nobody was asked.'''

    def partial_fit(self, X, y, classes=None, *, annotation):
        marked = np.where(np.isnan(annotation), 1.0, annotation)
        return super().partial_fit(X * (0.5 + marked), y, classes)


@hookimpl
def rsbench_learners():
    return {"nearest": Nearest, "scaled": Scaled, "marked": Marked}
"""


def test_each_strangers_method_is_judged_by_what_it_was_told(rsbench, tmp_path):
    """Whatever was not named lean was once rich supervision."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "strangers.py").write_text(STRANGERS)
    methods = "method=lean,nearest,scaled,marked,class_soft"
    done = rsbench("-m", methods, "tracking=none", *SMALL, "seeds=4")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "outputs" / "sweeps").iterdir()
    told = frame(find_records(folder)).groupby("method")["told"].unique()
    assert {name: list(values) for name, values in told.items()} == {
        "lean": ["nothing"],
        "nearest": ["nothing"],
        "scaled": ["votes"],
        "marked": ["votes"],
        "class_soft": ["class votes"],
    }
    pairs = {}
    with open(folder / "comparisons.csv", newline="") as lines:
        for row in csv.DictReader(lines):
            pairs[row["first"], row["second"]] = (row["family"], row["track"])
    assert pairs["lean", "nearest"] == ("track", "nothing")
    assert pairs["scaled", "marked"] == ("track", "votes")
    assert pairs["scaled", "scaled without annotations"] == ("counterpart", "")
    assert pairs["marked", "marked without annotations"] == ("counterpart", "")
    assert pairs["class_soft", "lean"] == ("counterpart", "")
    assert pairs["class_soft", "nearest"] == ("nothing", "class votes")
    page = (folder / "report.html").read_text()
    for text in (done.stdout, (folder / "table.md").read_text(), page):
        assert "class votes of 20 samples; 20 learned from" in text
        assert "The best method told votes, " in text
    for line in done.stdout.splitlines():
        if line.startswith(("- Annotations", "- Open for")):
            assert "nearest" not in line


#: It counts the pool's votes, and says nothing of that.
COUNTING = """
import numpy as np
from rsbench import Aggregator, hookimpl


class Counted(Aggregator):
    '''How often a feature is marked in the class.'''

    def fit(self, Z, y):
        self.shares = np.array([Z[y == c].mean(axis=0) for c in range(y.max() + 1)])
        return self

    def relevance(self, Z, y):
        return 0.1 + self.shares[y]


@hookimpl
def rsbench_aggregators():
    return {"counted": Counted}
"""


def test_votes_that_a_stranger_counts_over_the_pool_are_told_as_such(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "counting.py").write_text(COUNTING)
    choices = ("learner=lean,ellipsotron", "aggregator=sample,counted")
    done = rsbench("-m", *choices, *SMALL, "seeds=4")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "outputs" / "sweeps").iterdir()
    told = {run.info.method: run.info.told.value for run in find_records(folder)}
    assert told["ellipsotron+sample"] == "votes"
    assert told["ellipsotron+counted"] == "class votes"
    assert told["lean+counted"] == told["lean+sample"] == "nothing"
    page = (folder / "report.html").read_text()
    for text in (done.stdout, (folder / "table.md").read_text(), page):
        assert "class votes of 20 samples; 20 learned from" in text
        assert "The best method told class votes, ellipsotron+counted" in text
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'outputs' / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("rsbench").experiment_id
    tags = {}
    for run in client.search_runs([experiment]):
        if "method" in run.data.tags:
            tags[run.data.tags["method"]] = run.data.tags
    assert tags["ellipsotron+counted"]["told"] == "class votes"
    assert tags["ellipsotron+counted"]["class_votes.samples"] == "20"
    assert tags["ellipsotron+counted"]["counterpart"] == "lean"
    assert tags["ellipsotron+sample"]["told"] == "votes"
    assert tags["lean+sample"]["told"] == "nothing"
    assert "counterpart" not in tags["lean+sample"]


def test_a_distribution_that_is_called_like_ours_is_a_plugin(rsbench, tmp_path):
    site = tmp_path / "site"
    info = site / "rsbench_extra-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: rsbench.extra\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[rsbench]\nextra = extra_code\n")
    env = {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    curves = []
    for factor in (1, 3):
        body = f"def step_vector(self, X, R):\n        return {factor} * X\n"
        text = LEARNER.format(base="Lean", body=body)
        (site / "extra_code.py").write_text(text)
        folder = f"hydra.run.dir=run{factor}"
        done = rsbench("learner=mine", "tracking=none", *SMALL, folder, env=env)
        assert done.returncode == 0, done.stderr
        assert "reused" not in done.stdout
        curves.append((tmp_path / f"run{factor}" / "curves.csv").read_text())
    assert curves[0] != curves[1]


def test_a_forgotten_constructor_is_explained(rsbench, tmp_path):
    write_plugin(tmp_path, "Lean", FORGETFUL)
    done = rsbench("learner=mine", "tracking=none", *SMALL)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "Mine has no 'C'" in done.stderr and "super().__init__()" in done.stderr
