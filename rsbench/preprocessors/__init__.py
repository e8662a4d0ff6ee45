"""Built-in preprocessors. They decide who wins, so they are an axis of the benchmark.

A preprocessor with `fit` says in `fit_on` where its statistics come from: `background` (other classes)
or `seen` (the stream so far). The test set is never among them. One without `fit` changes each sample
by itself; the built-in ones take `fit_on` all the same, so that a sweep over preprocessors can set it.
"""

from typing import Literal, Self

import numpy as np

from rsbench import hookimpl

FitOn = Literal["background", "seen"]


class _Preprocessor:
    def __init__(self, fit_on: FitOn = "background"):
        self.fit_on = fit_on


class Identity(_Preprocessor):
    """Features as they are, as in the paper.

    Parameters
    ----------
    fit_on : without effect, nothing is fitted.
    """

    def transform(self, X: np.ndarray) -> np.ndarray:
        """The same features."""
        return X


class L2(_Preprocessor):
    """Each sample scaled to L2 norm 1; a sample of zeros stays as it is.

    Parameters
    ----------
    fit_on : without effect, nothing is fitted.
    """

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Rows of norm 1."""
        norm = np.linalg.norm(X, axis=1, keepdims=True)
        return X / np.where(norm > 0, norm, 1)


class Center(_Preprocessor):
    """The mean subtracted from each feature.

    Parameters
    ----------
    fit_on : `background` (other classes) or `seen` (samples of the stream so far).
    """

    def fit(self, X: np.ndarray) -> Self:
        """Take the statistics of these samples alone."""
        self.n_ = 0
        self.mean_ = np.zeros(X.shape[1])
        self.squares_ = np.zeros(X.shape[1])
        return self.partial_fit(X)

    def partial_fit(self, X: np.ndarray) -> Self:
        """Add these samples to the statistics (Chan, Golub & LeVeque's update)."""
        if not hasattr(self, "n_"):
            return self.fit(X)
        n, mean = len(X), X.mean(axis=0, dtype=np.float64)
        squares = np.square(X - mean).sum(axis=0)
        delta, total = mean - self.mean_, self.n_ + n
        self.mean_ = self.mean_ + delta * (n / total)
        self.squares_ = (
            self.squares_ + squares + np.square(delta) * (self.n_ * n / total)
        )
        self.n_ = total
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Centred features, in the samples' own precision."""
        return (X - self.mean_).astype(X.dtype, copy=False)


class Standardize(Center):
    """The mean subtracted from each feature, then divided by its standard deviation.

    A feature that does not vary (yet) is only centred.

    Parameters
    ----------
    fit_on : `background` (other classes) or `seen` (samples of the stream so far).
    """

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Features of mean 0 and standard deviation 1 on the samples fitted on."""
        deviation = np.sqrt(self.squares_ / self.n_)
        # Rounding leaves a constant feature a deviation of about 1e-16 of its mean, not zero.
        constant = deviation <= 1e-12 * np.abs(self.mean_)
        return ((X - self.mean_) / np.where(constant, 1.0, deviation)).astype(
            X.dtype, copy=False
        )


@hookimpl
def rsbench_preprocessors() -> dict[str, type]:
    return {"none": Identity, "center": Center, "standardize": Standardize, "l2": L2}
