"""Naive Bayes for counts, such as those of words."""

from typing import Any, ClassVar

import numpy as np

from rsbench.core.sparse import by_class
from rsbench.errors import check_positive
from rsbench.learners.one_by_one import OneByOne
from rsbench.learners.sparse_rows import by_feature


class NaiveBayes(OneByOne):
    """Multinomial naive Bayes: each count drawn from its class's words, independently.

    With N_cj the sum of feature j over samples of class c, N_c = sum_j N_cj, and equal
    priors, the score of class c is

        sum_j x_j log((N_cj + alpha) / (N_c + alpha d))

    Features must not be negative; tf-idf and other weights of words are taken as if
    they were counts. A class without samples has all words alike.

    Parameters
    ----------
    alpha : float
        Added to every sum, so that a word that was never met does not rule a class
        out; 1 is Laplace's rule.

    Attributes
    ----------
    counts_ : ndarray of shape (K, d)
        The sums N_cj.
    logs_ : ndarray of shape (K, d)
        log(N_cj + alpha).
    totals_ : ndarray of shape (K,)
        N_c.

    References
    ----------
    McCallum, Nigam, "A Comparison of Event Models for Naive Bayes Text Classification",
    AAAI Workshop 1998.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> NaiveBayes().fit(X, np.array([0, 1])).predict(np.array([[1.0, 4.0]]))
    array([1])
    """

    takes_negative = False
    grid: ClassVar = {"alpha": (0.01, 0.1, 0.5, 1.0)}

    counts_: np.ndarray
    logs_: np.ndarray
    totals_: np.ndarray

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def check_params(self) -> None:
        check_positive(self, "alpha")

    def _learn(self, X: Any, y: np.ndarray) -> None:
        self.counts_ += by_class(X, y, len(self.classes_))
        np.log(self.counts_ + self.alpha, out=self.logs_)
        self.totals_ = self.counts_.sum(axis=1)

    def _init(self, n_classes: int, X: Any) -> None:
        d = X.shape[1]
        self.counts_ = by_feature(n_classes, d)
        self.logs_ = by_feature(n_classes, d, np.log(self.alpha))
        self.totals_ = np.zeros(n_classes)

    def _step(
        self, x: np.ndarray, features: Any, pos: int, votes: Any = None
    ) -> np.ndarray:
        scores = x @ self.logs_.T[features] - float(x.sum()) * self._log_totals()
        self._count(x, features, pos)
        return scores

    def _count(self, x: np.ndarray, features: Any, pos: int) -> None:
        """Add a sample's counts to those of its class."""
        counts = self.counts_[pos]
        counts[features] += x
        self.logs_[pos, features] = np.log(counts[features] + self.alpha)
        self.totals_[pos] += float(x.sum())

    def _log_totals(self) -> np.ndarray:
        """Return what all of a class's logarithms are less by."""
        return np.log(self.totals_ + self.alpha * self.n_features_in_)

    def _scores(self, X: Any) -> np.ndarray:
        lengths = np.asarray(X.sum(axis=1)).reshape(-1, 1)
        return X @ self.logs_.T - lengths * self._log_totals()
