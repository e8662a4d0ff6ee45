"""Paired statistics: how sure can one be that one curve lies below another?

Everything here takes arrays. Values are paired by seed, since within a seed all methods
see the same split and the same order.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.errors import UserError

#: From so many seeds on a bootstrap interval is given. With 5 it covers 84 % where it
#: says 95 %.
ENOUGH_TO_BOOTSTRAP = 20

#: Fewer pairs cannot make Wilcoxon's p fall below 0.05, whatever they show.
ENOUGH_FOR_WILCOXON = 6

#: Differences that vary by less are the same, but for rounding: curves are kept with
#: ten digits.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Interval:
    """A mean, and where it lies with the given confidence."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Needed:
    """The samples that it takes to reach an error.

    Parameters
    ----------
    reached : int
        How many seeds reached it.
    seeds : int
        How many seeds there are.
    samples : Interval, optional
        Samples needed, over the seeds; None if one of them never got there.
    """

    reached: int
    seeds: int
    samples: Interval | None


def t_interval(
    values: Sequence[float] | np.ndarray, level: float = 0.95, overlap: float = 0.0
) -> Interval:
    """Return the mean with Student's interval; without end for a single value.

    Parameters
    ----------
    values : array of shape (n,)
        One value per seed.
    level : float
        Confidence.
    overlap : float
        Test samples over training samples of a split, as in `paired_t`.

    Examples
    --------
    >>> t_interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484137..., high=4.484137...)
    """
    values = np.asarray(values, float)
    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return Interval(mean, -np.inf, np.inf)
    half = critical_t(level, n) * values.std(ddof=1) * np.sqrt(1 / n + overlap)
    return Interval(mean, float(values.mean() - half), float(values.mean() + half))


@functools.cache
def critical_t(level: float, n: int) -> float:
    """Return Student's t that n values exceed, either way, with chance 1 - level."""
    from scipy.special import stdtrit  # scipy.stats takes long to import

    return float(stdtrit(n - 1, (1 + level) / 2))


def bootstrap_interval(
    values: Sequence[float] | np.ndarray, level: float = 0.95, seed: int = 0
) -> Interval:
    """Return the mean with a bootstrap interval (BCa).

    Parameters
    ----------
    values : array of shape (n,)
        One value per seed.
    level : float
        Confidence.
    seed : int
        Decides the resamples, so that the same values give the same interval.

    Raises
    ------
    UserError
        For fewer than 20 values, for which it promises too much.
    """
    from scipy import stats

    values = np.asarray(values, float)
    if len(values) < ENOUGH_TO_BOOTSTRAP:
        raise UserError(
            f"a bootstrap interval of {len(values)} seeds covers less than it says "
            "(with 5, 84 % in place of 95 %): take the t interval, or "
            f"{ENOUGH_TO_BOOTSTRAP} seeds"
        )
    if np.ptp(values) == 0:  # of which scipy makes NaN
        same = float(values[0])
        return Interval(same, same, same)
    found = stats.bootstrap(
        (values,), np.mean, confidence_level=level, random_state=seed, method="BCa"
    ).confidence_interval
    return Interval(float(values.mean()), float(found.low), float(found.high))


def paired_t(differences: np.ndarray, overlap: float = 0.0) -> Any:
    """Return the two-sided p of the mean difference being zero.

    Seeds draw their splits from the same samples, so their differences are not
    independent, and the plain test is too sure. Nadeau and Bengio take
    s² (1/n + n_test/n_train) for the variance of the mean, in place of s²/n.

    Parameters
    ----------
    differences : array of shape (n,) or (m, n)
        Differences of n seeds, or m rows of them at once.
    overlap : float
        n_test / n_train; 0 for independent repeats.

    Returns
    -------
    float or array of shape (m,)
        NaN without any spread, by which alone a difference can be judged; but 1 where
        all differences are zero.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine Learning
    52, 2003.
    """
    from scipy.special import stdtr

    n = differences.shape[-1]
    mean = differences.mean(axis=-1)
    if n < 2:
        return np.full(mean.shape, np.nan)[()]  # a plain number for a single row
    deviation = differences.std(axis=-1, ddof=1)
    # Rows without spread divide by zero; what they give is replaced below.
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / (deviation * np.sqrt(1 / n + overlap))
    p = 2 * stdtr(n - 1, -abs(t))
    without_spread = np.where(mean == 0, 1.0, np.nan)
    return np.where(has_spread(differences), p, without_spread)[()]


def has_spread(differences: np.ndarray) -> np.ndarray:
    """Tell whether differences vary by more than rounding, row by row."""
    return np.ptp(differences, axis=-1) > _ROUNDING


def mean_difference(differences: np.ndarray, overlap: float = 0.0) -> Interval:
    """Return the mean of paired differences, and where it lies.

    If all of them are the same, where it lies is unknown, unless they are zero.

    Parameters
    ----------
    differences : array of shape (n,)
        One difference per seed.
    overlap : float
        Test samples over training samples of a split, as in `paired_t`.
    """
    mean = float(differences.mean())
    if len(differences) > 1 and not has_spread(differences):
        if mean == 0:
            return Interval(mean, mean, mean)
        return Interval(mean, -np.inf, np.inf)
    return t_interval(differences, overlap=overlap)


def effect_size(differences: np.ndarray) -> float:
    """Return the mean difference in standard deviations; NaN without any spread."""
    if not has_spread(differences):
        return float("nan")
    return float(differences.mean() / differences.std(ddof=1))


def wilcoxon(differences: np.ndarray) -> float | None:
    """Return Wilcoxon's signed-rank p.

    None where so few pairs could never be significant, or all differences are zero.
    """
    if len(differences) < ENOUGH_FOR_WILCOXON or not differences.any():
        return None
    from scipy import stats

    return float(stats.wilcoxon(differences).pvalue)


def holm(ps: Sequence[float] | np.ndarray) -> list[float]:
    """Return p values corrected, after Holm, for being looked at together.

    One that is unknown (NaN) counts among them, and stays unknown.

    Examples
    --------
    >>> holm([0.01, 0.04])
    [0.02, 0.04]
    """
    # An unknown p comes last, as 1, and so still counts in the factors of the others.
    known = np.nan_to_num(np.asarray(ps, float), nan=1.0)
    corrected = np.empty(len(known))
    # A p is never corrected to less than a smaller one is.
    largest = 0.0
    for rank, i in enumerate(np.argsort(known, kind="stable")):
        largest = max(largest, min(1.0, (len(known) - rank) * known[i]))
        corrected[i] = largest
    corrected[np.isnan(ps)] = np.nan
    return corrected.tolist()


def samples_needed(
    steps: Sequence[int], errors: np.ndarray, error: float
) -> list[float | None]:
    """Return for each seed the step at which its curve first falls to an error.

    Parameters
    ----------
    steps : sequence of int
        Samples at each step.
    errors : array of shape (steps, seeds)
        The curves.
    error : float
        What is to be reached.

    Returns
    -------
    list
        None for seeds that never get there.
    """
    found: list[float | None] = []
    for curve in errors.T:
        below = np.flatnonzero(curve <= error)
        if len(below):
            found.append(float(steps[below[0]]))
        else:
            found.append(None)
    return found


def needed(steps: Sequence[int], errors: np.ndarray, error: float) -> Needed:
    """Return the samples needed to reach an error, over the seeds.

    Parameters are those of `samples_needed`.
    """
    found = samples_needed(steps, errors, error)
    reached = [n for n in found if n is not None]
    # The mean of those that got there would be too low: the slow ones are missing.
    if len(reached) < len(found):
        return Needed(len(reached), len(found), None)
    return Needed(len(reached), len(found), t_interval(reached))


def area_under_curve(steps: Sequence[int], values: np.ndarray) -> np.ndarray:
    """Return each curve's mean height between the first and the last step.

    Parameters
    ----------
    steps : sequence of int
        Samples at each step.
    values : array of shape (steps, seeds)
        The curves.
    """
    if len(steps) == 1:  # which has no width to divide by
        return values[0]
    return np.trapezoid(values, steps, axis=0) / (steps[-1] - steps[0])


def round_levels(low: float, high: float, most: int = 4) -> list[float]:
    """Return a few round errors from `low` up to below `high`, the largest first.

    Examples
    --------
    >>> round_levels(0.31, 0.97)
    [0.8, 0.6, 0.4]
    """
    found: list[float] = []
    # The finest spacing that gives no more levels than wanted.
    for spacing in (0.05, 0.1, 0.2):
        found = []
        for k in range(1, round(1 / spacing)):
            if low <= k * spacing < high:
                found.append(round(k * spacing, 2))  # 0.15, not 0.15000000000000002
        if len(found) <= most:
            break
    return found[:most][::-1]
