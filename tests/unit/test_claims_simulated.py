"""What rsbench may say, tried in worlds whose truth is known: a small version of benchmarks/claims.py."""

import importlib
import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from rsbench.core.statistics import Estimate, over_draws, over_seeds
from rsbench.report.claims import Verdict, judge

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

#: Enough to see that something is badly wrong, in a second or so.
SWEEPS = {
    "rest": 30,
    "fixed": 30,
    "draws": 30,
    "found": 200,
    "denied": 100,
    "worth-draws": 5,
    "worth-seeds": 10,
    "worth-items": 5,
    "plan": 40,
}


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    module = importlib.import_module("claims")
    monkeypatch.setattr(module, "TRACKS", (2, 3))
    return module


def is_near(outcome):
    """Whether an outcome is within its bound but for four Monte Carlo errors, so few sweeps are there."""
    low, high = outcome.bound.low, outcome.bound.high
    if "median" in outcome.said:
        return 0.5 < outcome.value < 2 or math.isinf(high)
    slack = [
        4 * math.sqrt(end * (1 - end) / outcome.sweeps) for end in (low, min(high, 1))
    ]
    return low - slack[0] <= outcome.value <= high + slack[1]


@pytest.mark.parametrize("name", SWEEPS)
def test_a_few_sweeps_of_each_simulation_keep_near_their_bounds(claims, name):
    outcomes = claims.run(name, SWEEPS[name])
    assert [outcome for outcome in outcomes if not is_near(outcome)] == []
    assert any(outcome.bound != claims.NO_BOUND for outcome in outcomes)


def test_every_simulation_has_a_small_version(claims):
    assert list(claims.SIMULATIONS) == list(SWEEPS)


@pytest.mark.parametrize(
    ("name", "forgetful"),
    [
        ("rest", {"over_seeds": lambda d, overlap: over_seeds(d, 0)}),
        ("draws", {"over_draws": lambda d, **_: over_draws(d)}),
        ("fixed", {"fixed_test": lambda d, **_: over_seeds(d.mean(axis=1), 1 / 8)}),
        ("denied", {"judge": lambda *_: Verdict.EQUIVALENT}),
        ("plan", {"variance_limit": lambda pilot, *_, **__: pilot.var(ddof=1)}),
    ],
)
def test_a_simulation_fails_when_a_correction_is_forgotten(
    claims, monkeypatch, name, forgetful
):
    for function, wrong in forgetful.items():
        monkeypatch.setattr(claims, function, wrong)
    outcomes = claims.run(name, SWEEPS[name])
    assert not all(is_near(outcome) for outcome in outcomes)


def test_a_failed_test_is_no_verdict(claims):
    wide = Estimate(mean=-3.0, variance=4.0, df=4)
    assert judge(wide, 0.2, 1.0) is Verdict.UNCLEAR
    assert judge(wide, 0.01, 1.0) is Verdict.HELPS
    assert judge(Estimate(3.0, 4.0, 4), 0.01, 1.0) is Verdict.HARMS
    assert judge(Estimate(0.1, 0.01, 9), 0.2, 1.0) is Verdict.EQUIVALENT
    unknown = Estimate(-3.0, np.nan, 0)
    assert judge(unknown, unknown.p(), 1.0) is Verdict.NOT_JUDGED


def test_a_family_is_corrected_together(claims):
    gain, nothing = Estimate(-2.3, 1.0, 30), Estimate(0.0, 1.0, 30)
    assert claims.verdicts([gain]) == [Verdict.HELPS]
    assert claims.verdicts([gain, *[nothing] * 5]) == [Verdict.UNCLEAR] * 6


def test_all_views_of_a_world_have_the_same_expected_error(claims, rng):
    worlds = importlib.import_module("worlds")
    for world in (
        partial(worlds.splits_of_one_sample, seeds=2),
        partial(worlds.draws_of_classes, draws=2, of=30),
        partial(worlds.fixed_test_set, seeds=2),
    ):
        errors = np.array(
            [world(rng, 2, (5, 20)).reshape(2, 2, -1).mean(axis=2) for _ in range(200)]
        )
        of_views = errors[:, 0] - errors[:, 1]
        t = of_views.mean(axis=0) / (of_views.std(axis=0) / np.sqrt(200))
        assert (abs(t) < 4).all() and of_views.any()
        assert (errors[..., 0] > errors[..., 1]).mean() > 0.7  # it learns


def test_the_command_prints_commit_errors_and_what_is_missed(tmp_path):
    found = subprocess.run(
        [
            sys.executable,
            str(BENCHMARKS / "claims.py"),
            "--sweeps",
            "20",
            "--only",
            "found",
            "--write",
            "page.md",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == int("missed**" in found.stdout), found.stderr
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "python benchmarks/claims.py --sweeps 20 --only found" in page
    assert "at commit" in page and "±" in page and "20 sweeps" in page


def test_the_page_in_docs_shows_every_simulation_within_its_bounds(claims):
    page = (BENCHMARKS.parent / "docs" / "simulations.md").read_text(encoding="utf-8")
    for name in claims.SIMULATIONS:
        assert f"`--only {name}`" in page
    assert "missed" not in page and "-dirty" not in page
