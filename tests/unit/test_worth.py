"""Worth: known ones are found, and what was not reached is told as a bound."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from rsbench.core.statistics import fixed_test, over_draws, over_seeds
from rsbench.core.worth import Worth, worth
from rsbench.errors import UserError

STEPS = [1, 2, 5, 10, 20]


def curve(samples):
    """An error that is straight in log n."""
    return 0.9 - 0.2 * np.log(samples)


def noisy(rng, units=8, scale=0.01):
    """The counterpart's errors at all steps."""
    return curve(np.array(STEPS))[:, None] + scale * rng.normal(size=(5, units))


@pytest.mark.parametrize(
    ("n", "k"), [(2, 1.0), (5, 1.0), (5, 2.0), (2, 3.7), (10, 0.5)]
)
def test_a_true_worth_is_found(rng, n, k):
    errors = curve(n * k) + 0.01 * rng.normal(size=8)
    found = worth(n, errors, STEPS, noisy(rng), over_draws)
    assert found.k == pytest.approx(k, rel=0.1) and found.k_reached
    assert found.low < found.k < found.high
    assert found.low_reached and found.high_reached and found.contains(k)
    assert not found.contains(1.5 * k) and not found.contains(k / 1.5)
    assert found.price == found.k - 1
    assert found.labels_saved == pytest.approx((found.k - 1) * n)
    assert found.largest == 20 / n


def test_at_the_intervals_ends_the_tables_test_just_rejects(rng):
    errors = curve(7) + 0.03 * rng.normal(size=8)
    counterpart = noisy(rng, scale=0.02)
    estimate = partial(over_seeds, overlap=0.3)
    found = worth(5, errors, STEPS, counterpart, estimate)
    for end in (found.low, found.high):
        e0 = [np.interp(np.log(5 * end), np.log(STEPS), unit) for unit in counterpart.T]
        d = errors - e0
        t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 8 + 0.3))
        assert 2 * stats.t.sf(abs(t), 7) == pytest.approx(0.05, abs=1e-3)


def test_a_step_that_goes_up_is_pooled_with_its_neighbours():
    means = np.array([0.9, 0.5, 0.6, 0.4, 0.3])
    wobble = 0.01 * np.array([-1, 0, 1])
    found = worth(2, 0.55 + wobble[::-1], STEPS, means[:, None] + wobble, over_draws)
    # From 2 to 5 samples it stays at 0.55: the middle, in log n.
    assert found.k == pytest.approx(np.sqrt(2 * 5) / 2)
    assert found.contains(1) and found.contains(2.5)
    straight = worth(2, 0.5 + wobble[::-1], STEPS, means[:, None] + wobble, over_draws)
    assert straight.k == pytest.approx(5 * 2 ** (1 / 3) / 2)


def test_a_method_that_is_its_own_counterpart_is_worth_one_label_for_sure(rng):
    counterpart = noisy(rng)
    counterpart[2] = counterpart[1] + 0.05  # a curve that goes up
    for at in (1, 2):
        n = STEPS[at]
        found = worth(n, counterpart[at], STEPS, counterpart, over_draws)
        assert found == Worth(n, 1, True, 1, 1, True, True, 20 / n)


def test_a_curve_that_ends_above_the_methods_error_gives_a_bound(rng):
    better = worth(
        5, curve(60) + 0.01 * rng.normal(size=8), STEPS, noisy(rng), over_draws
    )
    assert (better.k, better.k_reached) == (4, False)
    assert (better.low, better.low_reached) == (4, False)
    assert (better.high, better.high_reached) == (4, False)
    assert better.contains(12) and not better.contains(3.9)


def test_a_curve_that_begins_below_the_methods_error_gives_a_bound(rng):
    worse = worth(
        5, curve(0.3) + 0.01 * rng.normal(size=8), STEPS, noisy(rng), over_draws
    )
    assert (worse.k, worse.k_reached) == (0.2, False)
    assert (worse.high, worse.high_reached) == (0.2, False)
    assert worse.contains(0.1) and not worse.contains(0.3)


def test_an_interval_may_end_on_one_side_alone(rng):
    errors = curve(21) + 0.05 * rng.normal(size=8)
    found = worth(5, errors - errors.mean() + curve(21), STEPS, noisy(rng), over_draws)
    assert (found.k, found.k_reached, found.high_reached) == (4, False, False)
    assert 1 < found.low < 4 and found.low_reached
    assert found.contains(100) and found.contains(3.9) and not found.contains(1)


def test_few_units_say_where_a_worth_is_but_not_how_surely(rng):
    found = worth(5, curve(10) + np.zeros(1), STEPS, noisy(rng, units=1), over_draws)
    assert found.k == pytest.approx(2, rel=0.2) and found.k_reached
    assert (found.low, found.high) == (0.2, 4)
    assert not found.low_reached and not found.high_reached
    assert found.contains(0.01) and found.contains(100)


def test_a_counterpart_tested_once_says_nothing(rng):
    found = worth(5, rng.random(4), [5], rng.random((1, 4)), over_draws)
    assert np.isnan(found.k) and not found.k_reached
    assert found.contains(0.1) and found.contains(10)


def test_units_of_a_fixed_test_set_are_seeds_by_items(rng):
    estimate = partial(fixed_test, learned=40, pool=1600)
    chance = rng.random((6, 30, 200))
    counterpart = (chance[:5] < curve(np.array(STEPS))[:, None, None]).astype(float)
    errors = (chance[5] < curve(10)).astype(float)
    found = worth(5, errors, STEPS, counterpart, estimate)
    assert found.k == pytest.approx(2, rel=0.1) and found.contains(2)
    assert found.low_reached and found.high_reached


def test_steps_and_shapes_that_do_not_fit_are_named(rng):
    with pytest.raises(UserError, match="expected to grow"):
        worth(5, rng.random(4), [2, 1], rng.random((2, 4)), over_draws)
    with pytest.raises(UserError, match=r"shape \(2, 3\)"):
        worth(5, rng.random(4), [1, 2], rng.random((2, 3)), over_draws)


@pytest.mark.parametrize("k", [1.0, 2.0])
def test_intervals_cover_as_often_as_they_say_and_k_is_found_in_the_median(rng, k):
    found = []
    for _ in range(400):
        of_draw = 0.05 * rng.normal(size=6)
        counterpart = noisy(rng, units=6, scale=0.03) + of_draw
        errors = curve(5 * k) + 0.03 * rng.normal(size=6) + of_draw
        found.append(worth(5, errors, STEPS, counterpart, over_draws))
    three_errors = 3 * np.sqrt(0.95 * 0.05 / 400)
    covered = np.mean([one.contains(k) for one in found])
    assert covered == pytest.approx(0.95, abs=three_errors)
    assert np.median([one.k for one in found]) == pytest.approx(k, rel=0.03)
    elsewhere = np.mean([one.contains(1.3 * k) for one in found])
    assert elsewhere < 0.5
