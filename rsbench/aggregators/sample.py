"""Relevance from each sample's own annotation."""

from typing import Any, Self

import numpy as np

from rsbench.core.components import Aggregator
from rsbench.core.sparse import SparseVotes, row_numbers, values_at
from rsbench.errors import check_positive


class Sample(Aggregator):
    """Take the annotator's marks as they are, each sample's for itself.

    With z the sample's votes, r = irrelevant + (relevant - irrelevant) z; so
    `relevant=2 irrelevant=1` is the soft mask 1 + z. All features of a sample that
    nobody annotated are relevant: its row is all ones.

    Parameters
    ----------
    relevant : float, default 1.0
        Relevance of a marked feature.
    irrelevant : float, default 1e-10
        Relevance of an unmarked one; above zero.

    Examples
    --------
    >>> import numpy as np
    >>> Sample(relevant=2, irrelevant=1).relevance(np.array([[1, 0, 1]]), [0])
    array([[2., 1., 2.]])
    """

    # A sample that nobody annotated is told from one without marks by its NaNs.
    takes_missing = True

    def __init__(self, relevant: float = 1.0, irrelevant: float = 1e-10):
        self.relevant = relevant
        self.irrelevant = irrelevant

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_positive(self, "relevant")
        check_positive(self, "irrelevant")

    def partial_fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Learn nothing: other samples' votes have no say."""
        return self

    def see(self, Z: np.ndarray, y: np.ndarray) -> None:
        """Keep nothing, so that any part of the stream can be asked for."""

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return one row per sample, from its own votes."""
        votes = np.asarray(Z).astype(np.float64)
        span = self.relevant - self.irrelevant
        R = self.irrelevant + span * np.nan_to_num(votes)
        # Not even asked: a row of `irrelevant` would call all of it irrelevant.
        R[np.isnan(votes).all(axis=1)] = 1.0
        return R

    def relevance_on(self, X: Any, Z: SparseVotes, y: np.ndarray) -> np.ndarray:
        """Return relevance of the features that sparse rows have, from their votes."""
        votes = values_at(Z.matrix, X).astype(np.float64)
        span = self.relevant - self.irrelevant
        R = self.irrelevant + span * votes
        R[~Z.asked[row_numbers(X)]] = 1.0
        return R
