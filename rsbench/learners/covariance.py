"""Covariances from few samples: shrunk towards a sphere, as much as they need it."""

from typing import Literal

import numpy as np

from rsbench.core.sparse import by_class

Shrinkage = Literal["oas"] | float


def shrinkage_of(covariance: np.ndarray, n: int) -> float:
    """Return how far an empirical covariance is to be shrunk, from 0 to 1.

    The oracle approximating shrinkage: of covariances (1 - rho) S + rho (tr S / d) I,
    it comes near the one with the least expected squared error if samples are Gaussian.

    Parameters
    ----------
    covariance : ndarray of shape (d, d)
        The empirical covariance S.
    n : int
        How many independent samples it is of.

    References
    ----------
    Chen, Wiesel, Eldar, Hero, "Shrinkage Algorithms for MMSE Covariance Estimation",
    IEEE Transactions on Signal Processing 2010, Eq. 23.
    """
    d = len(covariance)
    trace = float(np.trace(covariance))
    squares = float(np.square(covariance).sum())
    # What is left of the squares is how far S is from a sphere already.
    spread = squares - trace**2 / d
    if spread <= 1e-12 * squares:
        return 1.0
    wanted = (1 - 2 / d) * squares + trace**2
    return min(1.0, wanted / ((n + 1 - 2 / d) * spread))


def shrunk(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """Return (1 - rho) S + rho (tr S / d) I."""
    d = len(covariance)
    mean_variance = float(np.trace(covariance)) / d
    return (1 - shrinkage) * covariance + shrinkage * mean_variance * np.eye(d)


def within_classes(
    X: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how samples vary around the means of their classes.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Classes, 0 to K-1, none without samples.

    Returns
    -------
    scatter : ndarray of shape (d, d)
        The sum over samples of (x - m)(x - m)^T; it has n - K degrees of freedom.
    means : ndarray of shape (K, d)
        The classes' means.
    counts : ndarray of shape (K,)
        How many samples each has.
    """
    counts = np.bincount(y)
    means = by_class(X, y, len(counts)) / counts[:, None]
    deviations = X - means[y]
    return deviations.T @ deviations, means, counts
