"""Learners whose every step depends on the one before: one sample at a time."""

from typing import Any, ClassVar

import numpy as np

from rsbench.core.sparse import is_sparse
from rsbench.learners.base import OnlineLearner, margins_of


class OneByOne(OnlineLearner):
    """Learn from one sample after the other, dense or sparse.

    A subclass writes `_step(x, features, pos)`, which learns from one sample and
    returns its scores from before; and `_scores`, to which these belong. One that is
    told votes for features has `_step(x, features, pos, votes)`, and hands them to
    `_predict_and_learn`.
    """

    shortcuts: ClassVar = {
        **OnlineLearner.shortcuts,
        "prequential": (*OnlineLearner.shortcuts["prequential"], "_step"),
    }
    made_of: ClassVar = {"prequential": "_step"}
    takes_sparse = True

    def _predict_and_learn(
        self, X: Any, y: np.ndarray, votes: np.ndarray | None = None
    ) -> np.ndarray:
        scores = np.empty((len(y), len(self.classes_)))
        X = X.astype(np.float64, copy=False)
        if is_sparse(X):
            values = X.data
            starts = X.indptr.tolist()
        else:
            values = X
        features: Any = slice(None)
        for i, pos in enumerate(y.tolist()):
            own: Any = i
            if is_sparse(X):
                own = slice(starts[i], starts[i + 1])
                features = X.indices[own]
            if votes is None:
                scores[i] = self._step(values[own], features, pos)
            else:
                scores[i] = self._step(values[own], features, pos, votes[own])
        return margins_of(scores, y)

    def _step(
        self, x: np.ndarray, features: Any, pos: int, votes: Any = None
    ) -> np.ndarray:
        """Learn from one sample; return its scores from before, (K,).

        Parameters
        ----------
        x : ndarray
            The sample's values, in double precision.
        features : ndarray of int or slice
            Which features these are of.
        pos : int
            Its class.
        votes : ndarray or None
            Votes for these features; NaN where nobody was asked. None for a learner
            that is told none.
        """
        raise NotImplementedError
