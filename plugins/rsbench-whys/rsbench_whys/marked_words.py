"""Naive Bayes in which marked words count for more."""

from typing import Any, ClassVar

import numpy as np

from rsbench.errors import check_positive
from rsbench.learners import NaiveBayes, OnlineVotesLearner, votes_on


class MarkedNaiveBayes(OnlineVotesLearner, NaiveBayes):
    """Count a marked word as if it had been met more often.

    With z_j the votes for word j of a sample, from 0 to 1, the sums of its class grow
    by

        N_cj += (1 + weight z_j) x_j

    and predictions are those of `NaiveBayes`. Where nobody was asked z_j is zero, and
    so is this.

    Parameters
    ----------
    alpha : float
        Added to every sum; 1 is Laplace's rule.
    weight : float
        How many times more a marked word counts.

    References
    ----------
    McCallum, Nigam, "A Comparison of Event Models for Naive Bayes Text Classification",
    AAAI Workshop 1998; Settles, "Closing the Loop: Fast, Interactive Semi-Supervised
    Annotation with Queries on Features and Instances", EMNLP 2011, which adds
    pseudo-counts for labelled words.
    """

    without: ClassVar = NaiveBayes
    needs_feature_votes = True
    takes_sparse = True
    grid: ClassVar = {"alpha": (0.1, 1.0), "weight": (1.0, 5.0)}

    def __init__(self, alpha: float = 1.0, weight: float = 1.0):
        super().__init__(alpha)
        self.weight = weight

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "weight")

    def _learn_told(self, X: Any, y: np.ndarray, votes: Any) -> np.ndarray:
        marked = np.nan_to_num(votes_on(votes, X))
        return self._predict_and_learn(X, y, marked)

    def _step(
        self, x: np.ndarray, features: Any, pos: int, votes: Any = None
    ) -> np.ndarray:
        scores = x @ self.logs_.T[features] - float(x.sum()) * self._log_totals()
        self._count(x * (1 + self.weight * votes), features, pos)
        return scores
