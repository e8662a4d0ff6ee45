"""What learners that are told concepts share: votes with gaps, shares, regressions."""

import numpy as np


def filled(rows: list[np.ndarray | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return the votes of annotated samples, and which samples these are.

    A vote that is missing is taken to be the mean of the others for its concept.

    Parameters
    ----------
    rows : list of arrays of shape (m,), or None
        The votes of each sample, NaN where nobody was asked; None for all of them.

    Returns
    -------
    Z : ndarray of shape (a, m)
        Votes without gaps.
    asked : ndarray of shape (n,), bool
        Which samples somebody was asked about.
    """
    asked = np.array([row is not None and not np.isnan(row).all() for row in rows])
    if not asked.any():
        return np.empty((0, 0)), asked
    Z = np.array([row for row, there in zip(rows, asked, strict=True) if there])
    return without_gaps(Z), asked


def without_gaps(Z: np.ndarray) -> np.ndarray:
    """Return votes in which a missing one is the mean of the others; zero for none."""
    missing = np.isnan(Z)
    if not missing.any():
        return Z
    counts = (~missing).sum(axis=0)
    means = np.where(missing, 0.0, Z).sum(axis=0) / np.maximum(counts, 1)
    return np.where(missing, means, Z)


def shares(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the share of votes that each concept has in each class, (K, m).

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Votes without gaps.
    y : ndarray of shape (n,)
        Classes, 0 to K-1, none without samples.
    """
    members = np.zeros((y.max() + 1, len(y)))
    members[y, np.arange(len(y))] = 1.0
    return members @ Z / members.sum(axis=1, keepdims=True)


def ridge(
    X: np.ndarray, Y: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, and the means of features and targets, of a ridge regression.

        min over W of |Y - X W|^2 + alpha s |W|^2        both less their means

    with s the total variance of the features, as in rsbench's `Ridge`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features.
    Y : ndarray of shape (n, k)
        Targets.
    alpha : float
        The penalty, relative to s.

    Returns
    -------
    W : ndarray of shape (d, k)
        The weights.
    mean_x, mean_y : ndarray of shape (d,) and (k,)
        Predictions are (x - mean_x) W + mean_y.
    """
    from scipy.linalg import cho_factor, cho_solve

    mean_x = X.mean(axis=0)
    mean_y = Y.mean(axis=0)
    X = X - mean_x
    Y = Y - mean_y
    penalty = alpha * float((X**2).sum()) / len(X)
    if penalty == 0:  # samples are all the same
        return np.zeros((X.shape[1], Y.shape[1])), mean_x, mean_y
    n, d = X.shape
    if n <= d:
        dual = cho_solve(cho_factor(X @ X.T + penalty * np.eye(n)), Y)
        return X.T @ dual, mean_x, mean_y
    products = X.T @ X + penalty * np.eye(d)
    return cho_solve(cho_factor(products), X.T @ Y), mean_x, mean_y
