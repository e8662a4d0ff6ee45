"""Features of standard deviation 1, their zeros left where they are."""

from typing import Any, Literal, Self

import numpy as np

from rsbench.core.components import Preprocessor
from rsbench.core.sparse import is_sparse, with_values


class Scale(Preprocessor):
    """Divide each feature by its standard deviation, without centring.

    So sparse features stay sparse. A feature that does not vary (yet) stays as it is.

    Parameters
    ----------
    fit_on : {"background", "seen"}, default "background"
        Where deviations come from: samples of other classes, or the stream so far.

    Attributes
    ----------
    n_ : int
        Number of samples that the statistics are of.
    sums_, squares_ : ndarray of shape (d,)
        Sums of each feature and of its squares.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 7.0], [4.0, 7.0]])
    >>> Scale().fit(X).transform(X)
    array([[0., 7.],
           [2., 7.]])
    """

    takes_sparse = True

    n_: int = 0
    sums_: np.ndarray
    squares_: np.ndarray

    def __init__(self, fit_on: Literal["background", "seen"] = "background"):
        self.fit_on = fit_on

    def fit(self, X: Any) -> Self:
        """Take the statistics of these samples alone."""
        self.n_ = 0
        self._add(X)
        return self

    def partial_fit(self, X: Any) -> Self:
        """Add these samples to the statistics."""
        self._add(X)
        return self

    def transform(self, X: Any) -> Any:
        """Return features divided by their deviation, in X's precision."""
        mean = self.sums_ / self.n_
        variance = self.squares_ / self.n_ - np.square(mean)
        # Rounding leaves a constant feature a little variance, or less than none.
        constant = variance <= 1e-12 * np.square(mean)
        deviation = np.sqrt(np.where(constant, 1.0, variance)).astype(X.dtype)
        if is_sparse(X):
            return with_values(X, X.data / deviation[X.indices])
        return X / deviation

    def _add(self, X: Any) -> None:
        # Apart from partial_fit, which a subclass that changes `fit` does not have.
        if self.n_ == 0:
            self.sums_ = np.zeros(X.shape[1])
            self.squares_ = np.zeros(X.shape[1])
        if is_sparse(X):
            d = X.shape[1]
            values = X.data.astype(np.float64)
            self.sums_ += np.bincount(X.indices, values, minlength=d)
            self.squares_ += np.bincount(X.indices, values**2, minlength=d)
        else:
            self.sums_ += X.sum(axis=0, dtype=np.float64)
            self.squares_ += np.square(X, dtype=np.float64).sum(axis=0)
        self.n_ += X.shape[0]
