"""Statistics against scipy's own, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from rsbench.core.statistics import (
    area_under_curve,
    bootstrap_interval,
    effect_size,
    holm,
    mean_difference,
    needed,
    paired_t,
    round_levels,
    samples_needed,
    t_interval,
    wilcoxon,
)
from rsbench.errors import UserError


def test_intervals_and_tests_are_scipys(rng):
    values, others = rng.normal(size=8), rng.normal(size=8) + 0.5
    low, high = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    found = t_interval(values)
    assert (found.mean, found.low, found.high) == pytest.approx(
        (values.mean(), low, high)
    )
    assert paired_t(values - others) == pytest.approx(
        stats.ttest_rel(values, others).pvalue
    )
    assert wilcoxon(values - others) == pytest.approx(
        stats.wilcoxon(values, others).pvalue
    )
    assert t_interval([1.0]).high == np.inf and np.isnan(paired_t(np.array([1.0])))
    assert paired_t(np.zeros(5)) == 1
    assert np.isnan(paired_t(np.full(5, 0.1))) and np.isnan(
        paired_t(0.1 + 0.2 + np.full(3, 0.7))
    )


def test_many_rows_are_tested_at_once_as_one_by_one(rng):
    rows = rng.normal(size=(4, 6))
    rows[2] = 0
    together = paired_t(rows, overlap=0.5)
    np.testing.assert_array_equal(together, [paired_t(row, 0.5) for row in rows])


def test_nadeau_and_bengios_variance(rng):
    d = rng.normal(size=10) + 1
    t = d.mean() / np.sqrt((1 / 10 + 0.6) * d.var(ddof=1))
    assert paired_t(d, overlap=0.6) == pytest.approx(2 * stats.t.sf(abs(t), 9))
    assert paired_t(d, overlap=0.6) > paired_t(d)
    wide = t_interval(d, overlap=0.6)
    assert wide.high - wide.mean == pytest.approx(
        (t_interval(d).high - d.mean()) * np.sqrt(0.7 / 0.1)
    )


def test_differences_that_are_all_the_same_prove_nothing():
    same = mean_difference(np.full(3, 0.1))
    assert (same.low, same.high) == (-np.inf, np.inf)
    none = mean_difference(np.zeros(3))
    assert (none.low, none.high) == (0, 0)
    assert np.isnan(effect_size(np.full(3, 0.1)))
    assert effect_size(np.array([0.1, 0.2, 0.3])) == pytest.approx(2)


def test_holm_is_the_textbooks():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0]) and holm([]) == []
    assert holm([0.01, np.nan, 0.02]) == pytest.approx(
        [0.03, np.nan, 0.04], nan_ok=True
    )


def test_five_seeds_cannot_make_wilcoxon_significant(rng):
    assert wilcoxon(np.full(5, 0.1)) is None and wilcoxon(np.zeros(10)) is None
    assert stats.wilcoxon(np.arange(1, 6)).pvalue == pytest.approx(0.0625)
    assert wilcoxon(np.arange(1.0, 7)) < 0.05


def test_few_seeds_are_not_bootstrapped(rng):
    with pytest.raises(UserError, match="5 seeds covers less than it says"):
        bootstrap_interval(rng.normal(size=5))
    found = bootstrap_interval(rng.normal(size=40))
    assert found.low < found.mean < found.high
    assert bootstrap_interval(np.ones(25)).low == 1


def test_t_intervals_cover_and_paired_t_errs_as_often_as_they_say():
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(4000, 5))
    covered = np.mean(
        [found.low <= 0 <= found.high for found in map(t_interval, samples)]
    )
    assert 0.93 <= covered <= 0.97
    false = np.mean([paired_t(sample) < 0.05 for sample in samples])
    assert 0.04 <= false <= 0.06


def test_the_correction_holds_on_overlapping_splits_where_plain_t_does_not():
    """Two methods that are equally good, tried on splits of the same 60 samples again and again.

    What a sample adds to the difference when it is tested on is noise. Where the training sets add noise of their
    own, the correction errs more often as well (8 % in a like simulation): it is better than none, not exact.
    """
    rng = np.random.default_rng(2)
    plain, corrected = [], []
    for _ in range(4000):
        noise = rng.normal(size=60)
        tested = np.argsort(rng.random((10, 60)), axis=1)[:, :20]
        differences = noise[tested].mean(axis=1)
        plain.append(paired_t(differences) < 0.05)
        corrected.append(paired_t(differences, overlap=20 / 40) < 0.05)
    two_standard_errors = 2 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean(plain) > 0.3 and np.mean(corrected) <= 0.05 + two_standard_errors


def test_samples_needed_and_area():
    steps = [1, 2, 3, 4]
    curves = np.array([[0.9, 0.9], [0.6, 0.8], [0.5, 0.7], [0.4, 0.7]])
    assert samples_needed(steps, curves, 0.6) == [2.0, None]
    some = needed(steps, curves, 0.6)
    assert (some.reached, some.seeds, some.samples) == (1, 2, None)
    every = needed(steps, curves, 0.8)
    assert every.reached == 2
    assert (every.samples.mean, every.samples.low, every.samples.high) == (2, 2, 2)
    assert needed(steps, curves, 0.7).samples.mean == 2.5
    np.testing.assert_allclose(
        area_under_curve(steps, curves),
        [(0.75 + 0.55 + 0.45) / 3, (0.85 + 0.75 + 0.7) / 3],
    )
    np.testing.assert_allclose(area_under_curve([1], curves[:1]), [0.9, 0.9])


def test_errors_to_reach_are_few_and_round():
    assert round_levels(0.31, 0.97) == [0.8, 0.6, 0.4]
    assert round_levels(0.41, 0.52) == [0.5, 0.45]
    assert round_levels(0.5, 0.5) == []
