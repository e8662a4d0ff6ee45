"""Statistics against scipy's own, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from rsbench.core.statistics import (
    Estimate,
    fixed_test,
    holm,
    is_equivalent,
    over_draws,
    over_seeds,
    ranks,
)


def test_holm_is_the_textbooks():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0]) and holm([]) == []
    assert holm([0.01, np.nan, 0.02]) == pytest.approx(
        [0.03, np.nan, 0.04], nan_ok=True
    )


def as_numbers(interval):
    return interval.mean, interval.low, interval.high


def test_an_estimate_is_students_t(rng):
    for df in (1, 3.7, 40):
        estimate = Estimate(mean=rng.normal(), variance=rng.random(), df=df)
        error = np.sqrt(estimate.variance)
        p = 2 * stats.t.sf(abs(estimate.mean) / error, df)
        assert estimate.p() == pytest.approx(p)
        for level in (0.9, 0.95):
            ends = stats.t.interval(level, df, estimate.mean, error)
            assert as_numbers(estimate.interval(level))[1:] == pytest.approx(ends)


def test_seeds_of_independent_repeats_are_scipys_and_of_splits_nadeau_and_bengios(rng):
    d = rng.normal(size=8) + 0.5
    assert over_seeds(d, 0).p() == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    # Nadeau and Bengio's variance of the mean: s² (1/n + n_test/n_train).
    deviation = np.sqrt(d.var(ddof=1) * (1 / 8 + 0.6))
    found = over_seeds(d, 0.6)
    assert found.p() == pytest.approx(2 * stats.t.sf(abs(d.mean()) / deviation, 7))
    half = stats.t.ppf(0.975, 7) * deviation
    assert as_numbers(found.interval()) == pytest.approx(
        (d.mean(), d.mean() - half, d.mean() + half)
    )
    assert found.p() > over_seeds(d, 0).p()


def test_draws_that_share_classes_are_less_sure(rng):
    d = rng.normal(size=10) + 1
    worlds = over_draws(d)
    assert worlds.p() == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    thirds = over_draws(d, classes=50, of=150)
    assert thirds.variance == pytest.approx(d.var(ddof=1) * (1 / 10 + 50 / 100))
    assert thirds.df == 9
    halves = over_draws(d, classes=50, of=100)
    assert halves.variance == pytest.approx(d.var(ddof=1) * (1 / 10 + 1))
    # Of these 90 classes, and of no others: no term.
    assert over_draws(d, classes=50, of=90) == worlds


def two_way(d, learned, pool):
    """The variance and its degrees of freedom, with loops, as a textbook has them."""
    S, T = d.shape
    whole = sum(d[s, i] for s in range(S) for i in range(T)) / (S * T)
    row = [sum(d[s, i] for i in range(T)) / T for s in range(S)]
    column = [sum(d[s, i] for s in range(S)) / S for i in range(T)]
    ms_s = T * sum((r - whole) ** 2 for r in row) / (S - 1)
    ms_i = S * sum((c - whole) ** 2 for c in column) / (T - 1)
    left = 0
    for s in range(S):
        for i in range(T):
            left += (d[s, i] - row[s] - column[i] + whole) ** 2
    ms_si = left / ((S - 1) * (T - 1))
    v_s, v_i = max(ms_s - ms_si, 0) / T, max(ms_i - ms_si, 0) / S
    factor = 1 / S + learned / (pool - learned)
    variance = v_s * factor + v_i / T + ms_si / (S * T)
    variance = max(variance, ms_i / (S * T))
    weight_s = factor / T if v_s else 0
    weight_i = 1 / (S * T) if v_i else 0
    weight_si = 1 / (S * T) - weight_s - weight_i
    below = (weight_s * ms_s) ** 2 / (S - 1) + (weight_i * ms_i) ** 2 / (T - 1)
    below += (weight_si * ms_si) ** 2 / ((S - 1) * (T - 1))
    return variance, variance**2 / below


@pytest.mark.parametrize("seeds_vary", [0, 1])
@pytest.mark.parametrize("items_vary", [0, 1])
def test_a_fixed_test_set_is_a_two_way_analysis_of_variance(
    rng, seeds_vary, items_vary
):
    for _ in range(10):
        d = rng.normal(size=(5, 12))
        d += seeds_vary * rng.normal(size=(5, 1)) + items_vary * rng.normal(size=12)
        found = fixed_test(d, learned=400, pool=1600)
        variance, df = two_way(d, 400, 1600)
        assert (found.variance, found.df) == pytest.approx((variance, max(df, 1)))
        assert found.mean == pytest.approx(d.mean())
        assert found.variance >= d.mean(axis=0).var(ddof=1) / 12 * (1 - 1e-12)


def test_seeds_that_learn_from_the_whole_pool_speak_of_this_training_set(rng):
    d = rng.normal(size=(5, 12)) + rng.normal(size=(5, 1))
    assert fixed_test(d, 1600, 1600) == fixed_test(d, 0, 1600)
    assert fixed_test(d, 400, 1600).variance > fixed_test(d, 1600, 1600).variance


def test_parts_that_cancel_leave_one_degree_of_freedom(rng):
    """Seeds that learn from nearly all of a pool: the interval stays readable."""
    for _ in range(50):
        found = fixed_test(rng.normal(size=(3, 40)), learned=468, pool=480)
        assert found.df >= 1
        limits = as_numbers(found.interval())
        assert max(map(abs, limits)) < 13 * np.sqrt(found.variance) + abs(found.mean)


def test_more_seeds_do_not_make_up_for_few_test_items(rng):
    items = rng.normal(size=20)
    few, many = (
        fixed_test(items + 0.1 * rng.normal(size=(s, 20)), 40, 1600) for s in (5, 500)
    )
    assert many.variance == pytest.approx(items.var(ddof=1) / 20, rel=0.05)
    assert few.variance < 1.2 * many.variance


def test_what_cannot_be_known_is_not_said():
    unknown = [
        over_seeds([0.1], 0.5),
        over_seeds([0.1, 0.1], 0.5),
        over_draws([0.1, 0.2]),
        over_draws([0.1, 0.1, 0.1]),
        fixed_test(np.ones((1, 4)), 40, 1600),
        fixed_test(np.eye(4)[:, :1], 40, 1600),
        fixed_test(np.ones((3, 4)), 40, 1600),
    ]
    for estimate in unknown:
        assert np.isnan(estimate.variance) and np.isnan(estimate.p())
        assert as_numbers(estimate.interval())[1:] == (-np.inf, np.inf)
        assert not is_equivalent(estimate, margin=1)


def test_no_difference_at_all_is_known_to_be_none():
    for estimate in (
        over_seeds(np.zeros(3), 0.5),
        over_draws(np.zeros(3), 5, 15),
        fixed_test(np.zeros((3, 4)), 40, 1600),
    ):
        assert estimate.p() == 1 and as_numbers(estimate.interval()) == (0, 0, 0)
        assert is_equivalent(estimate, margin=0.01)


def test_equivalence_asks_for_the_90_percent_interval_inside_of_the_margin():
    estimate = Estimate(mean=0.2, variance=0.16, df=9)
    end = stats.t.interval(0.9, 9, 0.2, 0.4)[1]
    assert is_equivalent(estimate, end + 0.01) and not is_equivalent(
        estimate, end - 0.01
    )
    other = Estimate(mean=-0.2, variance=0.16, df=9)
    assert is_equivalent(other, end + 0.01) and not is_equivalent(other, end - 0.01)


def test_ranks_count_what_is_clearly_better_and_worse():
    errors = np.array([10.0, 11.0, 20.0, 30.0])
    mean = errors[:, None] - errors
    p = np.full((4, 4), np.nan)
    p[np.triu_indices(4, 1)] = [0.3, 0.01, 0.001, 0.06, 0.02, np.nan]
    p = np.fmin(p, p.T)
    assert ranks(p, mean) == [(1, 2), (1, 3), (2, 4), (3, 4)]
    assert ranks(p, mean, alpha=0.005) == [(1, 3), (1, 4), (1, 4), (2, 4)]
    assert ranks(np.full((4, 4), np.nan), mean) == [(1, 4)] * 4
