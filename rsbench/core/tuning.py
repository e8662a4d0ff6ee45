"""Hyperparameters chosen on held-out classes: never on those that are reported."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rsbench.core.components import Learner, Preprocessor, adopt, parameters_of
from rsbench.core.data import Data, keep_samples
from rsbench.core.experiment import Setup, run_seed
from rsbench.core.sparse import is_sparse
from rsbench.errors import UserError

#: Each candidate learns under so many seeds. They need not differ from the run's own:
#: the samples are of other classes.
SEEDS = 3

#: Kinds of components whose parameters can be tuned.
TUNABLE = ("learner", "aggregator")

#: The kind that is chosen as a whole, among components.
CHOSEN = "preprocessor"

#: In place of a grid for the learner: the values that its class names, `Learner.grid`.
OWN = "own"

#: Every method has the same budget: so many settings, the preprocessor included.
MOST_SETTINGS = 12


def with_own_grid(grid: Mapping[str, Any], learner: Any) -> dict[str, Any]:
    """Return a grid by dotted keys, in which the learner's own is spelled out.

    Parameters
    ----------
    grid : mapping
        Values to try. `learner: own` stands for those that the learner's class names;
        a learner that names none has nothing of its own to tune.
    learner : Learner
        The learner.
    """
    found = dict(grid)
    if found.get("learner") != OWN:
        return found
    del found["learner"]
    for name, values in adopt(learner, Learner).grid.items():
        found[f"learner.{name}"] = list(values)
    return found


def check_grid(grid: Mapping[str, Any]) -> None:
    """Raise an error unless a grid has lists of values, by dotted keys."""
    for key, tried in grid.items():
        kind, _, name = key.partition(".")
        is_parameter = kind in TUNABLE and name
        if not is_parameter and key != CHOSEN:
            raise UserError(
                f"tune.{key}: only parameters of {' and '.join(TUNABLE)} can be tuned, "
                f"tune.learner.C, and the {CHOSEN} as a whole"
            )
        # A word is a sequence too, of letters.
        is_list = isinstance(tried, Sequence) and not isinstance(tried, str)
        if name == "name" or not is_list or not tried:
            raise UserError(
                f"tune.{key}={tried!r}, expected a list of values to try, [0.1,1,10]"
            )


def candidates(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of the values to try; none if there are no values."""
    if not grid:
        return []
    check_grid(grid)
    # Sorted, since the order of candidates decides between equals.
    keys = sorted(grid)
    lists = [grid[key] for key in keys]
    count = math.prod(len(values) for values in lists)
    if count > MOST_SETTINGS:
        raise UserError(
            f"tune: {count} settings, at most {MOST_SETTINGS} so that all methods have "
            "the same budget"
        )
    found = []
    for chosen in itertools.product(*lists):
        found.append(dict(zip(keys, chosen, strict=True)))
    return found


def tune(
    setup: Setup, data: Data, per_class: Callable[[int], Any]
) -> tuple[Setup, dict[str, Any]]:
    """Choose the values of the lowest error on held-out classes.

    Parameters
    ----------
    setup : Setup
        The components, and in `tune` the values to try.
    data : Data
        Samples, with held-out classes in `validation`.
    per_class : callable
        Makes the protocol of so many samples of each class, the rest to test on.

    Returns
    -------
    setup : Setup
        With the chosen values; the first ones among equals.
    values : dict
        What was chosen, by dotted key; empty if there is nothing to tune.

    Raises
    ------
    UserError
        If there are no held-out classes, or one of them has too few samples.
    """
    found = candidates(_possible(setup.tune, data))
    if not found:
        return setup, {}
    held = held_out(data, apart=setup.asks_for_background())
    # As many of each class as in the run itself, if that leaves as many to test on.
    wanted = parameters_of(setup.protocol).get("samples_per_class", 10)
    steps = min(wanted, int(np.bincount(held.y).min()) // 2)
    if steps < 1:
        raise UserError(
            "tune: a held-out class has a single sample, "
            "to tune takes two or more of each"
        )
    errors = []
    for values in found:
        trial = setup.with_values(values)
        # Its own steps: those that the run is judged at may not be among them.
        trial = dataclasses.replace(
            trial, protocol=per_class(steps), judged_step=None, table_steps=None
        )
        errors.append(_mean_error(trial, held))
    best = found[int(np.argmin(errors))]  # the first among equals
    return setup.with_values(best), best


def _possible(grid: Mapping[str, Any], data: Data) -> dict[str, Any]:
    """Return a grid without preprocessors that cannot take the data.

    Of sparse features these are all that would fill in every zero.
    """
    found = dict(grid)
    if not is_sparse(data.X) or CHOSEN not in found:
        return found
    tried = []
    for each in found[CHOSEN]:
        if adopt(each, Preprocessor).takes_sparse:
            tried.append(each)
    if not tried:
        raise UserError(
            f"tune.{CHOSEN}: none of these takes sparse features; none, l2 and scale do"
        )
    found[CHOSEN] = tried
    return found


def _mean_error(setup: Setup, data: Data) -> float:
    """Return the cumulative error at the last step, which the run's tables report."""
    errors = []
    for seed in range(SEEDS):
        last = run_seed(setup, data, seed).rows[-1]
        errors.append(last["cumulative_error"])
    return float(np.mean(errors))


def held_out(data: Data, apart: bool = False) -> Data:
    """Return annotated samples of other classes, as data of their own.

    Parameters
    ----------
    data : Data
        The data set.
    apart : bool
        Whether to take the held-out classes out of the background: a learner that is
        told of the background must not have met those that it is tuned on.
    """
    if data.validation is None:
        raise UserError(
            "tuning needs annotated samples of other classes, and the data set has none"
        )
    if apart and data.background is not None:
        return _apart(data)
    # The same background, so that a preprocessor has the statistics of the run itself.
    return dataclasses.replace(data.validation, background=data.background)


def _apart(data: Data) -> Data:
    """Return held-out classes, and a background in which there are none of them."""
    held = data.background_held
    y = data.background_y
    if held is None or y is None:
        raise UserError(
            "a learner that asks for the background is tuned on classes that are none "
            "of it, and the data set does not say which of the background these are "
            "(Data.background_held)"
        )
    assert data.validation is not None
    validation = data.validation
    if held.all():
        # There is nothing else: a third of the classes to tune on, the others to tell.
        classes = np.unique(y)
        if len(classes) < 6:
            raise UserError(
                f"tuning: {len(classes)} classes of the background are too few to tell "
                "some to the learner and tune on others, 6 are needed"
            )
        held = np.isin(y, classes[::3])
        validation = keep_samples(validation, held)
    rest = ~held
    told_Z = data.background_Z
    if told_Z is not None:
        told_Z = told_Z[rest]
    return dataclasses.replace(
        validation,
        background=data.background[rest],
        background_y=y[rest],
        background_Z=told_Z,
    )
