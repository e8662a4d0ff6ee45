"""Paired statistics: how sure can one be that one curve lies below another?

Everything here takes arrays. Values are paired by seed, since within a seed all methods
see the same split and the same order. What repeats share decides how sure one can be:
splits of the same samples (`over_seeds`), classes drawn from the same few
(`over_draws`), or one test set for all (`fixed_test`).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Of fewer draws nothing is said: two say next to nothing of how draws vary.
ENOUGH_DRAWS = 3

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
class Estimate:
    """A mean difference and how well it is known.

    Parameters
    ----------
    mean : float
        The mean difference; below zero, the first of the two errs less.
    variance : float
        Variance of that mean. NaN where it cannot be known: a single unit, too few
        draws, or differences that are all the same; but zero where all are zero.
    df : float
        Degrees of freedom of the variance.

    Examples
    --------
    >>> estimate = Estimate(mean=-2.0, variance=0.25, df=9)
    >>> round(estimate.p(), 4)
    0.0031
    >>> estimate.interval()
    Interval(mean=-2.0, low=-3.131..., high=-0.868...)
    """

    mean: float
    variance: float
    df: float

    def p(self) -> float:
        """Return the two-sided p of the mean difference being zero; NaN if unknown."""
        from scipy.special import stdtr

        if self.variance == 0:
            return 1.0
        t = self.mean / np.sqrt(self.variance)
        return float(2 * stdtr(self.df, -abs(t)))

    def interval(self, level: float = 0.95) -> Interval:
        """Return where the mean lies with the given confidence; anywhere if unknown."""
        from scipy.special import stdtrit

        if self.variance == 0:
            return Interval(self.mean, self.mean, self.mean)
        if np.isnan(self.variance):
            return Interval(self.mean, -np.inf, np.inf)
        half = float(stdtrit(self.df, (1 + level) / 2) * np.sqrt(self.variance))
        return Interval(self.mean, self.mean - half, self.mean + half)


def over_seeds(differences: np.ndarray, overlap: float) -> Estimate:
    """Return what seeds of one draw say of a mean difference, for these classes.

    Seeds split the same samples again and again, so they are not independent: the
    variance of their mean is taken as s² (1/n + overlap), not s²/n.

    Parameters
    ----------
    differences : array of shape (n,)
        One difference per seed.
    overlap : float
        Test samples over training samples of a split; 0 for independent repeats.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine Learning
    52, 2003.
    """
    differences = np.asarray(differences, float)
    n = len(differences)
    return _estimate(differences, 1 / n + overlap, is_enough=n > 1)


def over_draws(
    means: np.ndarray, classes: int | None = None, of: int | None = None
) -> Estimate:
    """Return what draws of classes say of a mean difference.

    Two draws of m of N classes share a share m/N of them, and so of what is special
    about these N. The variance of the mean is s² (1/J + m/(N-m)) for J draws, and the
    claim is about classes like these. If m is more than half of N, the term would
    swallow everything: it is left out, and the claim is about draws from these N.

    Parameters
    ----------
    means : array of shape (J,)
        One difference per draw, averaged over the draw's seeds.
    classes : int, optional
        How many classes a draw has; None if draws are independent worlds.
    of : int, optional
        How many classes they are drawn from.

    Returns
    -------
    Estimate
        Its variance is unknown for fewer than three draws.
    """
    means = np.asarray(means, float)
    shared = shared_by_draws(classes, of)
    return _estimate(means, 1 / len(means) + shared, len(means) >= ENOUGH_DRAWS)


def shared_by_draws(classes: int | None, of: int | None) -> float:
    """Return what overlapping draws add to 1/J in the variance of their mean."""
    if classes is None or of is None or 2 * classes > of:
        return 0.0
    return classes / (of - classes)


def _estimate(differences: np.ndarray, factor: float, is_enough: bool) -> Estimate:
    """Return the mean of differences, with s² times a factor for its variance."""
    mean = float(differences.mean())
    variance = float("nan")
    if is_enough and has_spread(differences):
        variance = float(factor * differences.var(ddof=1))
    elif is_enough and mean == 0:
        variance = 0.0
    return Estimate(mean, variance, len(differences) - 1)


def fixed_test(differences: np.ndarray, learned: int, pool: int) -> Estimate:
    """Return what seeds that share one test set say of a mean difference.

    Seeds learn from other samples but are tested on the same items. So the mean has two
    sources of chance, as in a two-way analysis of variance: which samples were learned
    from, and which items are in the test set. More seeds help against the first alone.
    Seeds that learn from a good part of the pool also share what they learn from.

    Parameters
    ----------
    differences : array of shape (S, I)
        Paired differences of the errors on I test items, for S seeds.
    learned : int
        Samples that each seed learned from.
    pool : int
        Samples that these were drawn from. If all of them are learned from, the claim
        is about this training set, and nothing is added for what seeds share.

    References
    ----------
    F. E. Satterthwaite, "An Approximate Distribution of Estimates of Variance
    Components", Biometrics Bulletin 2, 1946.
    """
    differences = np.asarray(differences, float)
    seeds, items = differences.shape
    mean = float(differences.mean())
    unknown = Estimate(mean, float("nan"), float("nan"))
    if min(seeds, items) < 2:
        return unknown
    if not has_spread(differences.ravel()):
        if mean == 0:
            return Estimate(mean, 0.0, float("nan"))
        return unknown

    shared = 0.0
    if learned < pool:
        shared = learned / (pool - learned)
    squares, df = _mean_squares(differences)
    of_seeds, of_items, of_both = squares
    # The variance is a weighted sum of the mean squares. A component that comes out
    # negative is none; so it is never less than of_items / (seeds * items).
    weights = np.array([0.0, 0.0, 1 / (seeds * items)])
    if of_seeds > of_both:
        weight = (1 / seeds + shared) / items
        weights += [weight, 0.0, -weight]
    if of_items > of_both:
        weight = 1 / (seeds * items)
        weights += [0.0, weight, -weight]
    parts = weights * squares
    variance = float(parts.sum())
    # Where large parts nearly cancel, the approximation gives less than one degree of
    # freedom, and intervals of many thousand points. One as the least finds no more
    # differences where there are none: the same share in each of 36 simulated designs.
    satterthwaite = float(variance**2 / (parts**2 / df).sum())
    return Estimate(mean, variance, max(satterthwaite, 1.0))


def _mean_squares(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean squares of seeds, items and both together, and their df."""
    seeds, items = differences.shape
    df = np.array([seeds - 1, items - 1, (seeds - 1) * (items - 1)])
    of_seeds = items * differences.mean(axis=1).var(ddof=1)
    of_items = seeds * differences.mean(axis=0).var(ddof=1)
    total = (seeds * items - 1) * differences.var(ddof=1)
    # What is left of the whole; rounding may leave less than nothing.
    left = max(total - df[0] * of_seeds - df[1] * of_items, 0.0)
    return np.array([of_seeds, of_items, left / df[2]]), df


def is_equivalent(estimate: Estimate, margin: float) -> bool:
    """Tell whether a difference is surely smaller than a margin, either way.

    Both one-sided tests at 5 %: the 90 % interval lies inside of the margin.
    """
    within = estimate.interval(0.90)
    return -margin < within.low and within.high < margin


def ranks(
    p: np.ndarray, mean: np.ndarray, alpha: float = 0.05
) -> list[tuple[int, int]]:
    """Return the places that each method may have, from the best to the worst.

    Parameters
    ----------
    p : array of shape (M, M)
        The p of each pair, corrected for all of them; NaN where unknown.
    mean : array of shape (M, M)
        Mean difference of each pair: the error of the row's method less the column's.
    alpha : float
        A difference is clear if its p is smaller.

    Returns
    -------
    list of (int, int)
        For each method one more than how many are clearly better, and M less how many
        are clearly worse.

    Examples
    --------
    >>> p = np.array([[1.0, 0.3, 0.01], [0.3, 1.0, 0.2], [0.01, 0.2, 1.0]])
    >>> mean = np.array([[0.0, -1.0, -4.0], [1.0, 0.0, -3.0], [4.0, 3.0, 0.0]])
    >>> ranks(p, mean)
    [(1, 2), (1, 3), (2, 3)]
    """
    is_clear = np.asarray(p) < alpha
    better = (is_clear & (np.asarray(mean) > 0)).sum(axis=1)
    worse = (is_clear & (np.asarray(mean) < 0)).sum(axis=1)
    found = []
    for above, below in zip(better, worse, strict=True):
        found.append((1 + int(above), len(is_clear) - int(below)))
    return found


@functools.cache
def critical_t(level: float, n: int) -> float:
    """Return Student's t that n values exceed, either way, with chance 1 - level."""
    from scipy.special import stdtrit  # scipy.stats takes long to import

    return float(stdtrit(n - 1, (1 + level) / 2))


def has_spread(differences: np.ndarray) -> np.ndarray:
    """Tell whether differences vary by more than rounding, row by row."""
    return np.ptp(differences, axis=-1) > _ROUNDING


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
