"""Plans: the draws that a gain takes."""

import numpy as np
import pytest
from scipy import stats

from rsbench.core.planning import plan, variance_limit
from rsbench.errors import UserError


def power(gain, variance, draws, shared=0.0, alpha=0.05):
    """The textbook's, with scipy's noncentral t."""
    noncentrality = gain / np.sqrt(variance * (1 / draws + shared))
    critical = stats.t.ppf(1 - alpha / 2, draws - 1)
    return stats.nct.sf(critical, draws - 1, noncentrality)


@pytest.mark.parametrize("family", [1, 6])
@pytest.mark.parametrize("gain", [1.5, 4.0, 8.0])
def test_the_planned_draws_are_the_fewest_with_the_promised_power(gain, family):
    found = plan(gain, 5.5, family=family)
    assert found.power == pytest.approx(
        power(gain, 5.5, found.draws, alpha=0.05 / family)
    )
    assert found.power >= 0.8
    fewer = found.draws - 1
    if fewer >= 3:
        assert power(gain, 5.5, fewer, alpha=0.05 / family) < 0.8
    assert power(
        found.smallest_gain, 5.5, found.draws, alpha=0.05 / family
    ) == pytest.approx(0.8)


def test_a_harm_takes_as_many_draws_as_a_gain():
    assert plan(-4.0, 5.5) == plan(4.0, 5.5)


def test_draws_that_share_classes_are_worth_less():
    alone = plan(6.0, 5.5)
    shared = plan(6.0, 5.5, classes=10, of=30)
    assert shared.draws > alone.draws
    assert shared.power == pytest.approx(power(6.0, 5.5, shared.draws, shared=0.5))
    # Of these 15 classes alone: as if independent.
    assert plan(6.0, 5.5, classes=10, of=15) == alone


def test_it_says_so_when_no_number_of_draws_suffices():
    found = plan(4.0, 5.5, classes=10, of=30)
    assert found.draws is None
    error = np.sqrt(5.5 * 0.5)
    assert found.power == pytest.approx(stats.norm.sf(1.96 - 4 / error), abs=1e-3)
    assert found.power < 0.8
    just_enough = plan(1.01 * found.smallest_gain, 5.5, classes=10, of=30)
    assert just_enough.draws > 10
    assert plan(0.99 * found.smallest_gain, 5.5, classes=10, of=30).draws is None


def test_a_tiny_gain_takes_many_independent_draws_and_a_huge_one_three():
    assert plan(0.01, 5.5).draws > 100_000
    assert plan(1e6, 5.5).draws == 3
    with pytest.raises(UserError, match="gain of nothing"):
        plan(0.0, 5.5)


def test_a_pilots_variance_is_exceeded_in_one_of_five(rng):
    pilots = rng.normal(size=(4000, 5))
    limits = np.array([variance_limit(pilot) for pilot in pilots])
    assert np.mean(limits >= 1) == pytest.approx(0.8, abs=0.02)
    assert variance_limit(pilots[0]) == pytest.approx(
        4 * pilots[0].var(ddof=1) / stats.chi2.ppf(0.2, 4)
    )
    assert variance_limit(pilots[0], 20, 30) == variance_limit(pilots[0])
    with pytest.raises(UserError, match="a pilot of 2 draws"):
        variance_limit([1.0, 2.0])


def test_a_pilots_limit_holds_for_draws_of_a_few_classes_too(rng):
    """Each class has its part in the difference; draws take 3 of the same 9."""
    effects = rng.normal(size=(4000, 9))
    drawn = np.argsort(rng.random((4000, 5, 9)), axis=2)[..., :3]
    pilots = np.take_along_axis(effects[:, None].repeat(5, axis=1), drawn, axis=2).mean(
        axis=2
    )
    true = 1 / 3 * (1 - 3 / 9)
    naive = np.mean([variance_limit(pilot) >= true for pilot in pilots])
    aware = np.mean([variance_limit(pilot, 3, 9) >= true for pilot in pilots])
    assert naive < 0.77 and aware >= 0.8
