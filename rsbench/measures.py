"""Errors and losses, online and on the test set.

A margin is the true class's score less the best other one's. A prediction is right only if its
margin is above zero, so a tie is an error; the loss is the multiclass hinge, max(0, 1 - margin).
"""

from typing import Any

import numpy as np

MEASURES = (
    "test_error",
    "test_loss",
    "cumulative_error",
    "cumulative_loss",
    "online_error",
    "online_loss",
)


def margins(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margins of `decision_function`'s output, (n, K) or, for two classes, (n,)."""
    if scores.ndim == 1:
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
    learner: Any, X: np.ndarray, y: np.ndarray, classes: np.ndarray, rich: dict[str, np.ndarray]
) -> np.ndarray:
    """Margins of the predictions made just before learning from each sample.

    A learner may have a `prequential` of its own that does the same faster; the others predict
    and learn one sample at a time. One that has learned nothing yet has no preference: a tie.
    """
    own = getattr(learner, "prequential", None)
    if own is not None:
        return own(X, y, classes, **rich)
    result = np.zeros(len(y))
    for i in range(len(y)):
        one = slice(i, i + 1)
        if hasattr(learner, "classes_"):
            result[i] = margins(learner.decision_function(X[one]), y[one])[0]
        learner.partial_fit(X[one], y[one], classes, **{name: rows[one] for name, rows in rich.items()})
    return result


def running_mean(values: np.ndarray) -> np.ndarray:
    """The mean of the values so far, at each position."""
    return np.cumsum(values) / np.arange(1, len(values) + 1)
