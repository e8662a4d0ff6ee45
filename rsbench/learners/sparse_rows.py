"""The plain loop on sparse rows: only weights of features that a sample has are read.

Weights are kept so that those of one feature lie together, one for each class: what a
sample needs of them is then a few whole rows, taken out, moved and put back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rsbench.core.sparse import row_numbers
from rsbench.learners.negatives import hardest_negative


def learn_sparse(
    W: np.ndarray,
    y: np.ndarray,
    X: Any,
    score: np.ndarray,
    step: np.ndarray,
    tau: Callable[[float, float], float],
) -> np.ndarray:
    """Update the weights in place, one sample after the other.

    Parameters
    ----------
    W : ndarray of shape (K, d)
        The weights, best in the order of `sparse_weights`.
    y : ndarray of shape (n,)
        The true class of each sample, from 0 to K - 1.
    X : csr_array of shape (n, d)
        The samples as they would be at test time, without annotations.
    score : ndarray
        For each value that X stores, what the learner scores in its place to find its
        loss and the hardest negative; X's own values where that makes no difference.
    step : ndarray
        Likewise, the direction in which the weights move.
    tau : callable
        How far to step, by the loss and the squared norm.

    Returns
    -------
    ndarray of shape (n,)
        The true class's margin over the best other before each update, on X.
    """
    by_feature = W.T
    indices = X.indices
    predicts_scored = score is X.data
    squared_norms = _row_sums(X, score.astype(np.float64) * step).tolist()
    starts = X.indptr.tolist()
    margins = []
    for i, pos in enumerate(y.tolist()):
        own = slice(starts[i], starts[i + 1])
        features = indices[own]
        weights = by_feature.take(features, axis=0)
        neg, margin = hardest_negative(score[own].dot(weights), pos)
        if predicts_scored:
            margins.append(margin)
        else:
            margins.append(hardest_negative(X.data[own].dot(weights), pos)[1])
        loss = 1.0 - margin
        if loss > 0:
            change = step[own] * tau(loss, squared_norms[i])
            weights[:, pos] += change
            weights[:, neg] -= change
            # A feature stands once in a row, so that nothing is written twice.
            by_feature[features] = weights
    return np.array(margins)


def sparse_weights(n_classes: int, n_features: int, dtype: Any) -> np.ndarray:
    """Return weights of zero, (K, d), those of one feature next to each other."""
    return np.zeros((n_features, n_classes), dtype).T


def _row_sums(X: Any, values: np.ndarray) -> np.ndarray:
    """Return the sum of each row's values."""
    return np.bincount(row_numbers(X), weights=values, minlength=X.shape[0])
