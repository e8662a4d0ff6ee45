"""Softmax regression by online gradient steps, each weight at a pace of its own."""

from typing import Any, ClassVar

import numpy as np

from rsbench.errors import check_positive
from rsbench.learners.one_by_one import OneByOne
from rsbench.learners.sparse_rows import by_feature

#: In place of a gradient of zero, which no step divides by.
_TINY = 1e-300


class Softmax(OneByOne):
    """Descend the cross-entropy of one sample after the other, by Adagrad.

    With p the softmax of the scores W x and e the one-hot target, each sample gives the
    gradient g = (p - e) x^T, and moves every weight by

        w -= step g / sqrt(sum of all its g^2 so far)

    The step is relative, `rate` over the mean of |x|_1 so far: a first step changes a
    score by about the rate, whatever the features' units. There is no intercept, which
    changed nothing where it was tried.

    Parameters
    ----------
    rate : float
        By how much a step may change a score.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        The weights W.

    References
    ----------
    Duchi, Hazan, Singer, "Adaptive Subgradient Methods for Online Learning and
    Stochastic Optimization", JMLR 2011.

    Examples
    --------
    >>> Softmax().fit(np.eye(3), np.array([0, 1, 2])).predict(np.eye(3))
    array([0, 1, 2])
    """

    grid: ClassVar = {"rate": (0.3, 1.0, 3.0, 10.0)}

    coef_: np.ndarray
    squares_: np.ndarray
    n_: int
    length_: float

    def __init__(self, rate: float = 3.0):
        self.rate = rate

    def check_params(self) -> None:
        check_positive(self, "rate")

    def _init(self, n_classes: int, X: Any) -> None:
        d = X.shape[1]
        self.coef_ = by_feature(n_classes, d)
        self.squares_ = by_feature(n_classes, d)
        self.n_ = 0
        self.length_ = 0.0

    def _step(
        self, x: np.ndarray, features: Any, pos: int, votes: Any = None
    ) -> np.ndarray:
        self.n_ += 1
        self.length_ += float(np.abs(x).sum())
        step = self.rate
        if self.length_ > 0:
            step = self.rate * self.n_ / self.length_
        weights = self.coef_.T
        squares = self.squares_.T
        scores = x @ weights[features]
        gradient = self._gradient(x, weights[features], softmax(scores), pos, votes)
        squares[features] += gradient**2
        weights[features] -= step * gradient / np.sqrt(squares[features] + _TINY)
        return scores

    def _gradient(
        self, x: np.ndarray, w: np.ndarray, p: np.ndarray, pos: int, votes: Any
    ) -> np.ndarray:
        """Return the gradient of what is descended, for the sample's features.

        Parameters
        ----------
        x : ndarray of shape (d,)
            The sample's values.
        w : ndarray of shape (d, K)
            The weights of their features.
        p : ndarray of shape (K,)
            The softmax of the scores.
        pos : int
            The sample's class.
        votes : ndarray of shape (d,) or None
            Votes for the features, of no use here.
        """
        slope = p.copy()
        slope[pos] -= 1.0
        return np.multiply.outer(x, slope)

    def _scores(self, X: Any) -> np.ndarray:
        return X @ self.coef_.T


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities, without overflow."""
    grown = np.exp(scores - scores.max())
    return grown / grown.sum()
