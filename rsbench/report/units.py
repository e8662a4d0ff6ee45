"""How sure one can be of a difference: what repeats share decides its variance.

Repeats are draws of classes, seeds of one draw, or seeds that share one test set.
Every table and sentence, and worth, take their estimates from here.
"""

import enum
import functools
from collections.abc import Callable, Mapping

import numpy as np

from rsbench.core.items import TestItems
from rsbench.core.statistics import (
    ENOUGH_DRAWS,
    Estimate,
    fixed_test,
    over_draws,
    over_seeds,
)
from rsbench.errors import UserError
from rsbench.store.items import Unit
from rsbench.store.record import Run

#: Those that a test sample's being right or wrong decides, after a step or on average
#: over the steps so far.
_OF_ITEMS = {"test_error": False, "cumulative_error": True}

#: Those that the test set has no part in: predictions made before learning.
_ONLINE = ("online_error", "online_loss")


class Repeats(enum.Enum):
    """What a difference is averaged over."""

    DRAWS = "draws"
    SEEDS = "seeds"
    #: Seeds that are all tested on the same samples.
    FIXED_TEST = "fixed test"


class Scope(enum.Enum):
    """What a claim is about: which other classes or samples it would hold for."""

    THESE_CLASSES = "for these classes"
    CLASSES_LIKE_THESE = "for classes like these"
    FROM_THESE_CLASSES = "over draws from these classes"
    THIS_TRAINING_SET = "for this training set"


def repeats_of(run: Run) -> Repeats:
    """Return what the differences of a run to others are averaged over."""
    if run.n_draws > 1:
        return Repeats.DRAWS
    if run.info.samples is not None and run.info.samples.fixed_test:
        return Repeats.FIXED_TEST
    return Repeats.SEEDS


def scope_of(run: Run, step: int) -> Scope:
    """Return what a claim about a run at a step is about."""
    repeats = repeats_of(run)
    if repeats is Repeats.DRAWS:
        drawn = run.info.data.drawn
        # Draws of more than half of the classes share too many of them to speak of
        # others.
        if drawn is not None and 2 * drawn.classes > drawn.of:
            return Scope.FROM_THESE_CLASSES
        return Scope.CLASSES_LIKE_THESE
    # Likewise of seeds that learn from more than half of the training pool.
    if repeats is Repeats.FIXED_TEST and 2 * learned_at(run, step) > pool_of(run):
        return Scope.THIS_TRAINING_SET
    return Scope.THESE_CLASSES


def has_enough_repeats(run: Run) -> bool:
    """Tell whether a run has repeats enough for anything to be sure."""
    if run.n_draws > 1:
        return run.n_draws >= ENOUGH_DRAWS
    return run.n_seeds > 1


def units(run: Run, measure: str, step: int) -> np.ndarray:
    """Return a measure after a step, for each unit that differences are paired by.

    Parameters
    ----------
    run : Run
        A finished run.
    measure : str
        A column of the curves.
    step : int
        A step of the curves.

    Returns
    -------
    array of shape (draws,), (seeds,) or (seeds, items)
        Means of draws; or values of seeds; or, where all seeds share a test set whose
        samples are kept, the error of each seed on each of them.
    """
    repeats = repeats_of(run)
    if repeats is Repeats.FIXED_TEST and measure in _OF_ITEMS:
        tested = _items(run)
        if tested:
            return _errors_by_item(tested, step, _OF_ITEMS[measure])
    at = run.steps.index(step)
    if repeats is Repeats.DRAWS:
        return run.by_draw(measure)[at].mean(axis=1)
    return run.values(measure)[at]


# A run's file is read once, however many comparisons it is part of.
@functools.lru_cache(maxsize=128)
def _items(run: Run) -> Mapping[Unit, TestItems]:
    return run.items()


def _errors_by_item(
    tested: Mapping[Unit, TestItems], step: int, cumulative: bool
) -> np.ndarray:
    """Return errors of shape (seeds, items), seeds in ascending order."""
    rows = []
    for unit in sorted(tested):
        rows.append(tested[unit].errors(step, cumulative))
    return np.stack(rows)


def estimator(run: Run, measure: str, step: int) -> Callable[[np.ndarray], Estimate]:
    """Return what makes an estimate of paired differences of units.

    Parameters
    ----------
    run : Run
        One of the two; the other shares its data, protocol, draws and seeds.
    measure : str
        What is compared.
    step : int
        Where on the curve: how much was learned from decides what seeds share.

    Raises
    ------
    UserError
        If the record does not say how large its split was.
    """
    repeats = repeats_of(run)
    if repeats is Repeats.DRAWS:
        drawn = run.info.data.drawn
        if drawn is None:
            return over_draws
        return functools.partial(over_draws, classes=drawn.classes, of=drawn.of)
    if repeats is Repeats.SEEDS or measure in _ONLINE:
        return functools.partial(over_seeds, overlap=overlap_of(run))
    if measure in _OF_ITEMS and _items(run):
        pool = pool_of(run)
        learned = learned_at(run, step)
        if 2 * learned > pool:  # see `scope_of`
            learned = pool
        return functools.partial(fixed_test, learned=learned, pool=pool)
    # Losses of single samples are not kept, nor is anything in old records; and seeds
    # alone would be too sure: all of them share the chance of one test set.
    return _unknown


def _unknown(differences: np.ndarray) -> Estimate:
    """Return a mean difference of which nobody knows how sure it is."""
    return Estimate(float(differences.mean()), float("nan"), float("nan"))


def estimate(one: Run, two: Run, measure: str, step: int) -> Estimate:
    """Estimate by how much one run's measure differs from another's: one minus two.

    Parameters
    ----------
    one, two : Run
        Runs that share data, protocol, draws and seeds.
    measure : str
        A column of the curves.
    step : int
        A step of both.
    """
    first = units(one, measure, step)
    second = units(two, measure, step)
    return estimate_units(one, first, second, measure, step)


def estimate_units(
    run: Run, first: np.ndarray, second: np.ndarray, measure: str, step: int
) -> Estimate:
    """Estimate the difference of two runs' units, where somebody has them already."""
    if first.shape != second.shape:  # of only one of them test samples are kept
        mean = float(first.mean() - second.mean())
        return Estimate(mean, float("nan"), float("nan"))
    return estimator(run, measure, step)(first - second)


def overlap_of(run: Run) -> float:
    """Return test over training samples of a split: the pool's, not the step's.

    Splits of two seeds share samples, by which differences of seeds resemble each
    other; Nadeau and Bengio's correction asks for this ratio.
    """
    sizes = run.info.samples
    if sizes is None:
        raise UserError(without_sizes(run))
    return sizes.test / sizes.pool


def without_sizes(run: Run) -> str:
    """Return why a record of the first releases cannot be judged."""
    return (
        f"{run.folder}: a record of an older version, without its split's sizes: "
        "run it again"
    )


def learned_at(run: Run, step: int) -> int:
    """Return how many samples were learned from until a step."""
    at = np.flatnonzero(run.curves["step"] == step)
    return int(run.curves["samples"][at[0]])


def pool_of(run: Run) -> int:
    """Return how many samples there were to learn from."""
    if run.info.samples is None:
        raise UserError(without_sizes(run))
    return run.info.samples.pool
