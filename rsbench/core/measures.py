"""Errors and losses, online and on the test set.

A margin is the true class's score less the best other one's. A prediction is right only if its
margin is above zero, so a tie is an error; the loss is the multiclass hinge, max(0, 1 - margin).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rsbench.errors import UserError

MEASURES = (
    "test_error",
    "test_loss",
    "cumulative_error",
    "cumulative_loss",
    "online_error",
    "online_loss",
)


def margins(scores: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Margins of `decision_function`'s output, (n, K) or, for two classes, (n,)."""
    expected = (len(y),) if n_classes == 2 else (len(y), n_classes)
    if np.shape(scores) != expected:
        raise UserError(
            f"the learner's decision_function gave scores of shape {np.shape(scores)}, expected {expected}"
        )
    if n_classes == 2:
        return np.where(y == 1, scores, -scores).astype(np.float64)
    rows = np.arange(len(y))
    others = np.array(scores, dtype=np.float64)
    true = others[rows, y]
    others[rows, y] = -np.inf
    return true - others.max(axis=1)


def error(margin: np.ndarray) -> np.ndarray:
    """1 for each wrong prediction or tie, 0 for each right one."""
    return (~(margin > 0)).astype(np.float64)


def hinge(margin: np.ndarray) -> np.ndarray:
    """Multiclass hinge loss of each prediction."""
    return np.maximum(0.0, 1.0 - margin)


def prequential(
    learner: Any,
    X: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    rich: dict[str, np.ndarray],
    new: bool,
) -> np.ndarray:
    """Margins of the predictions made just before learning from each sample, on features alone.

    A learner that is `new` has learned nothing and has no preference: a tie.
    """
    own = _own_prequential(learner)
    if own is not None:
        before = np.asarray(own(X, y, classes=classes, **rich))
        if before.shape != (len(y),):
            raise UserError(
                f"{type(learner).__name__}.prequential gave shape {before.shape}, expected {(len(y),)}"
            )
        return before
    result = np.zeros(len(y))
    for i in range(len(y)):
        one = slice(i, i + 1)
        if i > 0 or not new:
            result[i] = margins(
                learner.decision_function(X[one]), y[one], len(classes)
            )[0]
        learner.partial_fit(
            X[one],
            y[one],
            classes=classes,
            **{name: rows[one] for name, rows in rich.items()},
        )
    return result


def _own_prequential(learner: Any) -> Callable[..., np.ndarray] | None:
    """The learner's `prequential`, which does the same faster; not one inherited past changed behaviour."""
    for cls in type(learner).__mro__:
        if "prequential" in vars(cls):
            return learner.prequential
        if {"partial_fit", "decision_function", "_scores"} & vars(cls).keys():
            return None
    return None


def running_mean(values: np.ndarray) -> np.ndarray:
    """The mean of the values so far, at each position."""
    return np.cumsum(values) / np.arange(1, len(values) + 1)
