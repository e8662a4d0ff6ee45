"""Learners whose every step depends on the one before: one sample at a time."""

from typing import Any, Self

import numpy as np

from rsbench.core.sparse import is_sparse
from rsbench.learners.base import Learner, margins_of


class OneByOne(Learner):
    """Learn from one sample after the other, dense or sparse.

    A subclass writes `_step(x, features, pos)`, which learns from one sample and
    returns its scores from before; and `_scores`, to which these belong. It says that
    they do by `prequential = OneByOne.prequential`: a subclass of its own that changes
    scores does not inherit that.
    """

    takes_sparse = True

    def partial_fit(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> Self:
        """Learn from the samples, one at a time and in order.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels.
        classes : array of shape (K,), optional
            All labels there are; needed at the first call.

        Returns
        -------
        OneByOne
            The learner itself.
        """
        self.prequential(X, y, classes)
        return self

    def prequential(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample before it.

        Parameters are those of `partial_fit`.

        Returns
        -------
        ndarray of shape (n,)
            The true class's score less the best other one's, just before the update.
        """
        rows: Any
        rows, codes = self._continue(X, y, classes)
        scores = np.empty((len(codes), len(self.classes_)))
        if is_sparse(rows):
            starts = rows.indptr.tolist()
            for i, pos in enumerate(codes.tolist()):
                own = slice(starts[i], starts[i + 1])
                x = rows.data[own].astype(np.float64, copy=False)
                scores[i] = self._step(x, rows.indices[own], pos)
        else:
            rows = rows.astype(np.float64, copy=False)
            every_feature = slice(None)
            for i, pos in enumerate(codes.tolist()):
                scores[i] = self._step(rows[i], every_feature, pos)
        return margins_of(scores, codes)

    def _step(self, x: np.ndarray, features: Any, pos: int) -> np.ndarray:
        """Learn from one sample; return its scores from before, (K,).

        Parameters
        ----------
        x : ndarray
            The sample's values, in double precision.
        features : ndarray of int or slice
            Which features these are of.
        pos : int
            Its class.
        """
        raise NotImplementedError


def by_feature(n_classes: int, n_features: int, value: float = 0.0) -> np.ndarray:
    """Return an array of shape (K, d), that of one feature next to each other.

    So a sparse sample reads whole rows of its transpose.
    """
    return np.full((n_features, n_classes), value).T
