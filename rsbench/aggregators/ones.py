"""No relevance: what a rich learner does without its annotations."""

from typing import Any, Self

import numpy as np

from rsbench.core.components import Aggregator
from rsbench.core.told import Told


class Ones(Aggregator):
    """Call every feature of every sample relevant, whatever the annotation says."""

    told = Told.NOTHING

    # With these two, large pools and streams are gone through block by block.
    def partial_fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Learn nothing."""
        return self

    def see(self, Z: np.ndarray, y: np.ndarray) -> None:
        """Keep nothing, so that any part of the stream can be asked for."""

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return ones in the shape of the votes."""
        return np.ones(np.shape(Z))

    def relevance_on(self, X: Any, Z: Any, y: np.ndarray) -> np.ndarray:
        """Return a one for each value that sparse features store."""
        return np.ones(X.nnz)
