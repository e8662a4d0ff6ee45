"""The plain loop on sparse rows: only weights of features that a sample has are read.

Weights are kept so that those of one feature lie together, one for each class: what a
sample needs of them to be scored is then a few whole rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rsbench.core.sparse import check_memory, row_sums
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
        The weights, best in the order of `by_feature`.
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
    n_classes = len(W)
    of_features = np.ascontiguousarray(W.T)
    one_after_the_other = of_features.reshape(-1)
    indices = X.indices
    # Where the weights of each stored value's feature begin.
    places = indices.astype(np.int64) * n_classes
    predicts_scored = score is X.data
    squared_norms = row_sums(X, score.astype(np.float64, copy=False) * step)
    starts = X.indptr.tolist()
    margins = []
    for pos, start, end, squared_norm in zip(
        y.tolist(), starts[:-1], starts[1:], squared_norms.tolist(), strict=True
    ):
        weights = of_features.take(indices[start:end], axis=0)
        neg, margin = hardest_negative(score[start:end].dot(weights), pos)
        if predicts_scored:
            margins.append(margin)
        else:
            margins.append(hardest_negative(X.data[start:end].dot(weights), pos)[1])
        loss = 1.0 - margin
        if loss > 0:
            change = step[start:end] * tau(loss, squared_norm)
            at = places[start:end]
            # A feature stands once in a row, so that nothing is added to twice.
            one_after_the_other[at + pos] += change
            one_after_the_other[at + neg] -= change
    if not np.shares_memory(of_features, W):
        W[:] = of_features.T
    return np.array(margins)


def by_feature(
    n_classes: int, n_features: int, value: float = 0.0, dtype: Any = np.float64
) -> np.ndarray:
    """Return an array of shape (K, d), that of one feature next to each other.

    So a sparse sample reads whole rows of its transpose. Features may be many: an array
    that the machine has no room for is refused.
    """
    size = n_classes * n_features * np.dtype(dtype).itemsize
    check_memory(size, f"{n_classes:,} classes have weights of {n_features:,} features")
    return np.full((n_features, n_classes), value, dtype).T
