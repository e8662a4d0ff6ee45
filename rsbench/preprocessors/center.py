"""Features without their mean."""

from typing import Literal, Self

import numpy as np

from rsbench.core.components import Preprocessor


class Center(Preprocessor):
    """Subtract from each feature its mean.

    Parameters
    ----------
    fit_on : {"background", "seen"}, default "background"
        Where the mean comes from: samples of other classes, or the stream so far.

    Attributes
    ----------
    n_ : int
        Number of samples that the statistics are of.
    mean_ : ndarray of shape (d,)
        Mean of each feature.
    squares_ : ndarray of shape (d,)
        Sum of each feature's squared deviations from its mean.

    References
    ----------
    Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance: Analysis and
    Recommendations", The American Statistician, 1983: how statistics are added up.

    Examples
    --------
    >>> import numpy as np
    >>> Center().fit(np.array([[1.0], [3.0]])).transform(np.array([[5.0]]))
    array([[3.]])
    """

    n_: int = 0
    mean_: np.ndarray
    squares_: np.ndarray

    def __init__(self, fit_on: Literal["background", "seen"] = "background"):
        self.fit_on = fit_on

    def fit(self, X: np.ndarray) -> Self:
        """Take the statistics of these samples alone."""
        self.n_ = 0
        self._add(X)
        return self

    def partial_fit(self, X: np.ndarray) -> Self:
        """Add these samples to the statistics."""
        self._add(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return centred features, in the samples' own precision."""
        return (X - self.mean_).astype(X.dtype, copy=False)

    def _add(self, X: np.ndarray) -> None:
        # Apart from partial_fit, which a subclass that changes `fit` does not have.
        if self.n_ == 0:
            self.mean_ = np.zeros(X.shape[1])
            self.squares_ = np.zeros(X.shape[1])
        n = len(X)
        total = self.n_ + n
        # In double precision: sums of many float32 values lose digits.
        mean = X.mean(axis=0, dtype=np.float64)
        squares = np.square(X - mean).sum(axis=0)
        delta = mean - self.mean_
        # What the distance between the two parts' means adds to the whole's squares.
        between = np.square(delta) * (self.n_ * n / total)
        self.mean_ = self.mean_ + delta * (n / total)
        self.squares_ = self.squares_ + squares + between
        self.n_ = total
