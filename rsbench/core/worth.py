"""Worth: how many labels one annotated sample replaces.

A method that learns from n labelled and annotated samples has some error. Its
counterpart, the same method when nobody annotates anything, has that error after n0
samples that are merely labelled. Then an annotated sample is worth k = n0 / n labels,
and an annotation may cost as much as k - 1 labels before it stops paying.

Only test error can be asked this way: cumulative error, which averages over the steps
before, makes 2.5 of a true 2. And curves are averaged before they are asked: the first
passage of single seeds, which noise makes early, gives 1.11 for a true 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rsbench.core.statistics import Estimate
from rsbench.errors import UserError

#: Of a test that leaves the 95 % interval over.
_ALPHA = 0.05

#: Places between two tested steps at which the test is made, before the interval's
#: ends are sought between them.
_PLACES = 8

#: Each halving makes an end twice as exact; this many are finer than any print.
_HALVINGS = 15


@dataclass(frozen=True)
class Worth:
    """What an annotated sample is worth, in labels.

    An end that is not reached is a bound, given by the steps at which the counterpart
    was tested: beside the largest that could be measured it reads "more than", and
    beside the smallest "less than".

    Parameters
    ----------
    n : int
        Labelled and annotated samples (per class) at which it is asked.
    k : float
        Labelled samples that make up for one of them; NaN if nothing can be said.
    k_reached : bool
        Whether the counterpart's curve reaches the method's error.
    low, high : float
        The 95 % interval of k.
    low_reached, high_reached : bool
        Whether the interval ends there, and not only the tested steps.
    largest : float
        The largest k that could be measured: the counterpart's last step over n.

    Examples
    --------
    >>> found = Worth(10, 2.5, True, 1.8, 4.0, True, False, largest=4.0)
    >>> found.price, found.labels_saved
    (1.5, 15.0)
    >>> found.contains(1), found.contains(5)
    (False, True)
    """

    n: int
    k: float
    k_reached: bool
    low: float
    high: float
    low_reached: bool
    high_reached: bool
    largest: float

    @property
    def price(self) -> float:
        """Return the break-even price of an annotation, in labels."""
        return self.k - 1

    @property
    def labels_saved(self) -> float:
        """Return how many labels (per class) are saved by n annotated samples."""
        return (self.k - 1) * self.n

    def contains(self, k: float) -> bool:
        """Tell whether a worth is inside of the interval, as far as it is bounded."""
        is_above_low = k >= self.low
        # A bound at the smallest k that could be measured excludes nothing below.
        if not self.low_reached and self.low < self.largest:
            is_above_low = True
        is_below_high = k <= self.high
        if not self.high_reached and self.high == self.largest:
            is_below_high = True
        return is_above_low and is_below_high


def worth(
    n: int,
    errors: np.ndarray,
    steps: Sequence[int],
    counterpart: np.ndarray,
    estimate: Callable[[np.ndarray], Estimate],
) -> Worth:
    """Return what a method's annotated samples are worth in labels.

    The counterpart's mean curve is made to never rise, and is taken as straight in
    log n between its tested steps. The interval holds all x / n at which the paired
    test of the method's error at n against the counterpart's at x does not reject.

    Parameters
    ----------
    n : int
        Samples (per class) that the method learned from.
    errors : array of shape (units...)
        Its test errors after those. A unit is a seed, or a draw with its seeds averaged
        inside; for a fixed test set, units are of shape (seeds, items).
    steps : sequence of int
        Samples after which its counterpart was tested, growing from 1 or more.
    counterpart : array of shape (steps, units...)
        The counterpart's test errors.
    estimate : callable
        Turns paired differences of shape (units...) into the table's estimate: one of
        `over_seeds`, `over_draws` and `fixed_test`, with its settings filled in.

    Returns
    -------
    Worth
        Without a k if the counterpart was tested at a single step: it has no slope to
        read a number of samples from.

    Raises
    ------
    UserError
        If the steps do not grow, or shapes do not fit.

    Examples
    --------
    >>> from rsbench.core.statistics import over_draws
    >>> counterpart = np.array([[0.8, 0.81, 0.82], [0.6, 0.62, 0.61], [0.5, 0.51, 0.5]])
    >>> errors = np.array([0.61, 0.6, 0.62])
    >>> found = worth(5, errors, [5, 10, 20], counterpart, over_draws)
    >>> round(found.k, 2), round(found.low, 2), round(found.high, 2)
    (2.0, 1.75, 2.6)
    """
    errors = np.asarray(errors, float)
    curve = _Curve(steps, counterpart)
    if curve.counterpart.shape[1:] != errors.shape:
        raise UserError(
            f"the counterpart's errors are of shape {curve.counterpart.shape}, the "
            f"method's of {errors.shape}: expected (steps, units...) and (units...)"
        )
    largest = curve.last / n
    # A method that is its own counterpart is worth nothing, and that for sure, whatever
    # its curve does around n.
    if curve.is_tested(n) and estimate(errors - curve.tested(n)).variance == 0:
        return Worth(n, 1.0, True, 1.0, 1.0, True, True, largest)
    if len(steps) == 1:
        return Worth(n, np.nan, False, 0.0, np.inf, False, False, largest)

    def is_possible(samples: float) -> bool:
        p = estimate(errors - curve.at(samples)).p()
        return not p < _ALPHA  # an unknown p rejects nothing

    error = float(errors.mean())
    equal = curve.samples_to(error)
    low, high = _ends(is_possible, curve.places(equal))
    # Beyond the tested steps nothing is rejected.
    is_more = error < curve.means[-1]
    is_less = error > curve.means[0]
    if is_more:
        high = curve.last
    if is_less:
        low = curve.first
    return Worth(
        n=n,
        k=equal / n,
        k_reached=not is_more and not is_less,
        low=low / n,
        high=high / n,
        low_reached=curve.first < low < curve.last,
        high_reached=curve.first < high < curve.last,
        largest=largest,
    )


def at_place(place: float, places: np.ndarray, curves: np.ndarray) -> np.ndarray:
    """Return curves at a place between those where they are known.

    They are taken as straight in the logarithm of the places.

    Parameters
    ----------
    place : float
        Where to look: samples, or what they cost.
    places : array of shape (n,)
        Where curves are known, growing.
    curves : array of shape (n, units...)
        What they are there.
    """
    after = int(np.clip(places.searchsorted(place), 1, len(places) - 1))
    start, end = np.log(places[after - 1 : after + 1])
    share = (np.log(place) - start) / (end - start)
    return (1 - share) * curves[after - 1] + share * curves[after]


class _Curve:
    """The counterpart's errors, straight in log n between tested steps."""

    def __init__(self, steps: Sequence[int], counterpart: np.ndarray):
        self.steps = np.asarray(steps, float)
        self.counterpart = np.asarray(counterpart, float)
        if self.steps[0] < 1 or (np.diff(self.steps) <= 0).any():
            raise UserError(f"steps {list(steps)}: expected to grow, from 1 or more")
        self.first = float(self.steps[0])
        self.last = float(self.steps[-1])
        self.pooled = _never_rising(self.counterpart)
        means = self.pooled.reshape(len(steps), -1).mean(axis=1)
        # Means of pooled steps are the same, but for rounding.
        self.means = np.minimum.accumulate(means)

    def is_tested(self, samples: int) -> bool:
        """Tell whether there was a test after so many samples."""
        return samples in self.steps

    def tested(self, samples: int) -> np.ndarray:
        """Return the errors after so many samples as they are."""
        return self.counterpart[self.steps.searchsorted(samples)]

    def at(self, samples: float) -> np.ndarray:
        """Return the errors of all units after so many samples."""
        return at_place(samples, self.steps, self.pooled)

    def samples_to(self, error: float) -> float:
        """Return the samples with this mean error: the middle, if several have it."""
        if error < self.means[-1]:
            return self.last
        if error > self.means[0]:
            return self.first
        # The first place that is as low, and the last that is as high.
        until = int(np.argmax(self.means <= error))
        since = len(self.means) - 1 - int(np.argmax(self.means[::-1] >= error))
        return float(np.sqrt(self._cross(until, error) * self._cross(since + 1, error)))

    def _cross(self, after: int, error: float) -> float:
        """Return where the curve meets an error on its way to a step."""
        if after == 0:
            return self.first
        if after == len(self.steps):
            return self.last
        before = after - 1
        fall = self.means[before] - self.means[after]
        share = (self.means[before] - error) / fall
        ratio = self.steps[after] / self.steps[before]
        return float(self.steps[before] * ratio**share)

    def places(self, *others: float) -> np.ndarray:
        """Return the steps, places between them, and others, in order."""
        gaps = len(self.steps) - 1
        fine = np.linspace(0, gaps, 1 + _PLACES * gaps)
        logs = np.interp(fine, np.arange(1 + gaps), np.log(self.steps))
        # The steps themselves as well: exp(log(20)) is not quite 20.
        places = np.concatenate([self.steps, np.exp(logs), others])
        return np.unique(np.clip(places, self.first, self.last))


def _never_rising(curves: np.ndarray) -> np.ndarray:
    """Pool neighbouring steps until the mean curve never rises.

    The same steps are pooled for every unit, so that units' curves still average to the
    mean curve.
    """
    from scipy.optimize import isotonic_regression

    means = curves.reshape(len(curves), -1).mean(axis=1)
    starts = isotonic_regression(means, increasing=False).blocks
    sizes = np.diff(starts)
    sums = np.add.reduceat(curves, starts[:-1], axis=0)
    of_blocks = sums / sizes.reshape(-1, *[1] * (curves.ndim - 1))
    return np.repeat(of_blocks, sizes, axis=0)


def _ends(
    is_possible: Callable[[float], bool], places: np.ndarray
) -> tuple[float, float]:
    """Return the first and last samples that are possible.

    If none are, the far ends: the first is then the last place and the last the first.
    """
    possible = np.array([is_possible(place) for place in places])
    if not possible.any():
        return float(places[-1]), float(places[0])
    first = int(np.argmax(possible))
    last = len(places) - 1 - int(np.argmax(possible[::-1]))
    low = float(places[first])
    high = float(places[last])
    if first > 0:
        low = _between(is_possible, low, float(places[first - 1]))
    if last < len(places) - 1:
        high = _between(is_possible, high, float(places[last + 1]))
    return low, high


def _between(
    is_possible: Callable[[float], bool], inside: float, outside: float
) -> float:
    """Return, on the way from inside to outside, the last samples that are possible."""
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(inside * outside))
        if is_possible(middle):
            inside = middle
        else:
            outside = middle
    return inside
