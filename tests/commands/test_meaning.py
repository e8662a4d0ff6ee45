"""What once was read out of names and texts, and came out wrong."""

import csv
import os

from rsbench.store.record import find_records
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
    assert "Differences in cumulative error" in done.stdout
    assert "corrected (Holm) for 1 pair" in done.stdout
    (file,) = tmp_path.rglob("comparisons.csv")
    with open(file, newline="") as lines:
        (row,) = csv.DictReader(lines)
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
    assert "the best method with it, mine, has" in done.stdout
    controls = {run.info.control for run in find_records(tmp_path)}
    assert controls == {None}


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
