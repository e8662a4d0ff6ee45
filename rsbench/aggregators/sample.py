"""Relevance from each sample's own annotation."""

from typing import Self

import numpy as np

from rsbench.errors import check_positive


class _OwnVotes:
    """Relevance from a sample's own votes alone, so that any part of the stream can be asked for."""

    def fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Nothing to learn from other samples."""
        return self

    partial_fit = fit

    def see(self, Z: np.ndarray, y: np.ndarray) -> None:
        """Nothing to keep."""

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One row per sample."""
        return self._rows(np.asarray(Z))

    def _rows(self, Z: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class Sample(_OwnVotes):
    """r = irrelevant + (relevant - irrelevant) * z: the annotator's marks, taken as they are.

    A sample that nobody annotated is taken as it is: all ones.

    `relevant=2 irrelevant=1` is the soft mask 1 + z.

    Parameters
    ----------
    relevant : relevance of a marked feature.
    irrelevant : relevance of an unmarked one; above zero.
    """

    #: Told of votes that were not given, by NaN.
    takes_missing = True

    def __init__(self, relevant: float = 1.0, irrelevant: float = 1e-10):
        self.relevant = relevant
        self.irrelevant = irrelevant
        check_positive(self, "relevant")
        check_positive(self, "irrelevant")

    def _rows(self, Z: np.ndarray) -> np.ndarray:
        Z = Z.astype(np.float64)
        R = self.irrelevant + (self.relevant - self.irrelevant) * np.nan_to_num(Z)
        R[np.isnan(Z).all(axis=1)] = 1.0
        return R


class Ones(_OwnVotes):
    """All ones: every feature of every sample is relevant, whatever the annotation says."""

    def _rows(self, Z: np.ndarray) -> np.ndarray:
        return np.ones(Z.shape)
