"""Learners whose every step depends on the one before: one sample at a time."""

from typing import Any, ClassVar

import numpy as np

from rsbench.core.sparse import is_sparse
from rsbench.learners.base import OnlineLearner, margins_of


class OneByOne(OnlineLearner):
    """Learn from one sample after the other, dense or sparse.

    A subclass writes `_step(x, features, pos)`, which learns from one sample and
    returns its scores from before; and `_scores`, to which these belong.
    """

    shortcuts: ClassVar = {
        **OnlineLearner.shortcuts,
        "prequential": (*OnlineLearner.shortcuts["prequential"], "_step"),
    }
    made_of: ClassVar = {"prequential": "_step"}
    takes_sparse = True

    def _predict_and_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        scores = np.empty((len(y), len(self.classes_)))
        X = X.astype(np.float64, copy=False)
        if is_sparse(X):
            starts = X.indptr.tolist()
            for i, pos in enumerate(y.tolist()):
                own = slice(starts[i], starts[i + 1])
                scores[i] = self._step(X.data[own], X.indices[own], pos)
        else:
            every_feature = slice(None)
            for i, pos in enumerate(y.tolist()):
                scores[i] = self._step(X[i], every_feature, pos)
        return margins_of(scores, y)

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
