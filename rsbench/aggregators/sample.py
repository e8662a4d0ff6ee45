"""Relevance from each sample's own annotation."""

import numpy as np

from rsbench.errors import check_positive


class Sample:
    """r = irrelevant + (relevant - irrelevant) * z: the annotator's marks, taken as they are.

    `relevant=2 irrelevant=1` is the soft mask 1 + z.

    Parameters
    ----------
    relevant : relevance of a marked feature.
    irrelevant : relevance of an unmarked one; above zero.
    """

    def __init__(self, relevant: float = 1.0, irrelevant: float = 1e-10):
        self.relevant = relevant
        self.irrelevant = irrelevant
        check_positive(self, "relevant")
        check_positive(self, "irrelevant")

    def fit(self, Z: np.ndarray, y: np.ndarray) -> "Sample":
        """Nothing to learn from other samples."""
        return self

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One row per sample."""
        return self.irrelevant + (self.relevant - self.irrelevant) * np.asarray(Z, np.float64)


class Ones:
    """All ones: every feature of every sample is relevant, whatever the annotation says."""

    def fit(self, Z: np.ndarray, y: np.ndarray) -> "Ones":
        """Nothing to learn."""
        return self

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One row of ones per sample."""
        return np.ones(Z.shape)
