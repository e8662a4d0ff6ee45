"""Errors and losses, online and on the test set.

A margin is the true class's score less the best other one's. A prediction is right only
if its margin is above zero, so a tie is an error; the loss is the multiclass hinge,
max(0, 1 - margin).
"""

import numpy as np

from rsbench.errors import UserError

#: Columns of the curves, in their order in curves.csv.
MEASURES = (
    "test_error",
    "test_loss",
    "cumulative_error",
    "cumulative_loss",
    "online_error",
    "online_loss",
)


def margins(scores: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the margin of each sample.

    Parameters
    ----------
    scores : array of shape (n, K), or (n,) for two classes
        Output of a learner's `decision_function`.
    y : array of shape (n,)
        True classes, 0 to K-1.
    n_classes : int
        The number of classes, K.

    Returns
    -------
    array of shape (n,), of float64
        In double precision whatever the scores are in, since losses are summed.

    Raises
    ------
    UserError
        If the scores have another shape.
    """
    expected: tuple[int, ...] = (len(y), n_classes)
    if n_classes == 2:
        expected = (len(y),)
    if np.shape(scores) != expected:
        raise UserError(
            "the learner's decision_function gave scores of shape "
            f"{np.shape(scores)}, expected {expected}"
        )
    if n_classes == 2:
        # As scikit-learn has it: one score, positive for the second class.
        return np.where(y == 1, scores, -scores).astype(np.float64)
    rows = np.arange(len(y))
    others = np.array(scores, dtype=np.float64)
    true = others[rows, y]
    # So that the true class is never the best of the others.
    others[rows, y] = -np.inf
    return true - others.max(axis=1)


def error(margin: np.ndarray) -> np.ndarray:
    """Return 1 for each wrong prediction or tie, 0 for each right one."""
    # Not `margin <= 0`: a margin of NaN is an error too.
    is_right = margin > 0
    return (~is_right).astype(np.float64)


def hinge(margin: np.ndarray) -> np.ndarray:
    """Return the multiclass hinge loss of each prediction."""
    return np.maximum(0.0, 1.0 - margin)


def running_mean(values: np.ndarray) -> np.ndarray:
    """Return the mean of the values so far, at each position."""
    return np.cumsum(values) / np.arange(1, len(values) + 1)
