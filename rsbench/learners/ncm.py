"""Nearest class mean: three lines, nothing to tune, and hard to beat with few samples.

With m_c the mean of the samples of class c, a sample x is of the class with the highest

    euclidean    -|x - m_c|^2, that is 2 x.m_c - |m_c|^2 (|x|^2 is the same for all)
    cosine       x.m_c / (|x| |m_c|)

The means of a block's samples change along the block, but not by what was predicted. So
what every sample would have been predicted just before it was learned can be had for
the whole block at once, from products of samples with each other and with the sums.
"""

from typing import Any, Literal

import numpy as np

from rsbench.core.sparse import by_class, is_sparse, row_sums
from rsbench.errors import UserError
from rsbench.learners.base import (
    OnlineLearner,
    before_each,
    below_the_others,
    margins_of,
)
from rsbench.learners.least_squares import one_hot
from rsbench.learners.sparse_rows import by_feature

Metric = Literal["euclidean", "cosine"]

#: Samples whose products with each other are taken at once.
_AT_ONCE = 128


class NCM(OnlineLearner):
    """Predict the class whose mean is nearest; classes without samples come last.

    Parameters
    ----------
    metric : {"euclidean", "cosine"}
        Nearest by distance, or by angle.

    Attributes
    ----------
    sums_ : ndarray of shape (K, d)
        The sum of each class's samples.
    counts_ : ndarray of shape (K,)
        How many these are.

    References
    ----------
    Mensink et al., "Distance-Based Image Classification: Generalizing to New Classes at
    Near-Zero Cost", TPAMI 2013; Snell, Swersky, Zemel, "Prototypical Networks for
    Few-Shot Learning", NeurIPS 2017.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    >>> NCM().fit(X, np.array([0, 0, 1])).predict(np.array([[0.0, 2.0], [0.0, 3.0]]))
    array([0, 1])
    """

    takes_sparse = True

    sums_: np.ndarray
    counts_: np.ndarray

    def __init__(self, metric: Metric = "euclidean"):
        self.metric = metric

    def check_params(self) -> None:
        if self.metric not in ("euclidean", "cosine"):
            raise UserError(
                f"NCM: metric={self.metric!r}, expected euclidean or cosine"
            )

    def _learn(self, X: Any, y: np.ndarray) -> None:
        n_classes = len(self.classes_)
        self.sums_ += by_class(X, y, n_classes)
        self.counts_ += np.bincount(y, minlength=n_classes)

    def _predict_and_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        found = []
        for start in range(0, len(y), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            found.append(self._learn_some(X[rows], y[rows]))
        return np.concatenate(found)

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        self.sums_ = by_feature(n_classes, X.shape[1])
        self.counts_ = np.zeros(n_classes, int)

    def _learn_some(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn from a few samples; return the margin of each before its update."""
        n_classes = len(self.classes_)
        squared_norms = np.square(self.sums_).sum(axis=1)
        if is_sparse(X):
            products, squares = _along_sparse(self.sums_, X, y)
        else:
            products, squares = _along(self.sums_, X, y)
        rows = np.arange(len(y))
        # |s + x|^2 = |s|^2 + 2 s.x + |x|^2: by how much a class's squared norm grows.
        growth = 2 * products[rows, y] + squares
        is_class = one_hot(y, n_classes)
        squared_norms = squared_norms + before_each(is_class * growth[:, None])
        counts = self.counts_ + before_each(is_class)
        self.counts_ += np.bincount(y, minlength=n_classes)
        return margins_of(self._compare(products, squared_norms, counts, squares), y)

    def _compare(
        self,
        products: np.ndarray,
        squared_norms: np.ndarray,
        counts: np.ndarray,
        squares: np.ndarray,
    ) -> np.ndarray:
        """Return scores, (n, K).

        Parameters
        ----------
        products : ndarray of shape (n, K)
            Of samples with the sums of classes.
        squared_norms, counts : ndarray of shape (K,) or (n, K)
            The squared norms of these sums, and how many samples are in them.
        squares : ndarray of shape (n,)
            The samples' own squared norms.
        """
        if self.metric == "cosine":
            lengths = np.sqrt(squares[:, None] * squared_norms)
            # Of zeros, nothing is known of the angle: they are at right angles to all.
            scores = products / np.where(lengths > 0, lengths, 1.0)
        else:
            n = np.maximum(counts, 1)
            scores = (2 * products - squared_norms / n) / n
        return below_the_others(scores, np.broadcast_to(counts == 0, scores.shape))

    def _scores(self, X: Any) -> np.ndarray:
        squared_norms = np.square(self.sums_).sum(axis=1)
        squares = _squares(X)
        products = X @ self.sums_.T
        return self._compare(products, squared_norms, self.counts_, squares)


def _along(
    sums: np.ndarray, X: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add samples to the sums of their classes.

    Returns
    -------
    products : ndarray of shape (n, K)
        Of each sample with the sums as they were just before it.
    squares : ndarray of shape (n,)
        The samples' squared norms.
    """
    X = X.astype(np.float64, copy=False)
    is_class = one_hot(y, len(sums))
    gram = X @ X.T
    # Of earlier samples alone: what stands below the diagonal.
    products = X @ sums.T + np.tril(gram, -1) @ is_class
    sums += is_class.T @ X
    return products, gram.diagonal().copy()


def _along_sparse(
    sums: np.ndarray, X: Any, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Do as `_along`, for sparse samples: one at a time, only where they have values.

    Their products with each other would take longer.
    """
    of_features = sums.T
    starts = X.indptr.tolist()
    products = np.empty((len(y), len(sums)))
    for i, pos in enumerate(y.tolist()):
        own = slice(starts[i], starts[i + 1])
        features = X.indices[own]
        values = X.data[own]
        own_sums = of_features.take(features, axis=0)
        products[i] = values.dot(own_sums)
        own_sums[:, pos] += values
        of_features[features] = own_sums
    return products, _squares(X)


def _squares(X: Any) -> np.ndarray:
    """Return the squared norm of each sample."""
    if is_sparse(X):
        return row_sums(X, np.square(X.data, dtype=np.float64))
    return np.einsum("ij,ij->i", X, X)
