"""What learners that are told concepts share: votes with gaps, shares, regressions."""

from typing import Any

import numpy as np

from rsbench.learners import BatchLearner, VotesLearner


class KeptVotes(VotesLearner, BatchLearner):
    """Keep the votes of all samples so far, beside their features.

    A subclass writes `refit(X, y)`, and finds the votes by `_annotated`.
    """

    votes_seen_: list[np.ndarray | None]

    def _init(self, n_classes: int, X: Any) -> None:
        super()._init(n_classes, X)
        self.votes_seen_ = []

    def _learn_told(self, X: Any, y: np.ndarray, votes: Any) -> None:
        # Before anything is kept: a learner that was told nonsense can go on.
        if votes is None:
            self.votes_seen_ += [None] * len(y)
        else:
            self._check_width(votes.shape[1])
            self.votes_seen_ += list(votes)
        self._learn(X, y)

    def _check_width(self, n_concepts: int) -> None:
        """Raise an error for votes on another number of concepts than before."""
        for row in self.votes_seen_:
            if row is not None:
                check_width(self, n_concepts, len(row))
                return

    def _annotated(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the votes of annotated samples, and which samples these are.

        Returns
        -------
        Z : ndarray of shape (a, m)
            Votes; one that is missing is the mean of the others for its concept.
        asked : ndarray of shape (n,), bool
            Which samples somebody was asked about.
        """
        there = np.array([row is not None for row in self.votes_seen_], bool)
        if not there.any():
            return np.empty((0, 0)), there
        Z, asked = annotated(np.array([r for r in self.votes_seen_ if r is not None]))
        there[there] = asked
        return Z, there


def annotated(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return votes of samples that have any, without gaps, and which these are."""
    Z = np.asarray(Z, np.float64)
    missing = np.isnan(Z)
    asked = ~missing.all(axis=1)
    if not missing.any():
        return Z, asked
    counts = (~missing).sum(axis=0)
    means = np.where(missing, 0.0, Z).sum(axis=0) / np.maximum(counts, 1)
    return np.where(missing, means, Z)[asked], asked


def shares(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean of rows in each class, such as shares of votes, (K, m).

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Votes; NaN where nobody was asked. Where nobody of a class was, the mean of
        all classes.
    y : ndarray of shape (n,)
        Classes, 0 to K-1, none without samples.
    """
    asked = ~np.isnan(Z)
    members = np.zeros((y.max() + 1, len(y)))
    members[y, np.arange(len(y))] = 1.0
    counts = members @ asked
    found = members @ np.where(asked, Z, 0.0) / np.maximum(counts, 1)
    known = np.maximum((counts > 0).sum(axis=0), 1)
    return np.where(counts > 0, found, found.sum(axis=0) / known)


def centre(rows: np.ndarray) -> np.ndarray:
    """Return the mean of rows; that of equal ones is the row itself, to the bit."""
    first = np.asarray(rows[0], np.float64)
    return first + (rows - first).mean(axis=0)


def total_variance(rows: np.ndarray) -> float:
    """Return the mean squared distance of rows from their mean."""
    return float(((rows - centre(rows)) ** 2).sum()) / len(rows)


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

    mean_x = centre(X)
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


def check_width(learner: Any, found: int, expected: int) -> None:
    """Raise an error for votes on another number of concepts than before."""
    if found != expected:
        raise ValueError(
            f"{type(learner).__name__}: votes are for {found} concepts, expected "
            f"{expected} as before."
        )


def check_described(learner: Any, described: int, n_classes: int) -> None:
    """Raise an error if other classes were described than are learned."""
    if described != n_classes:
        raise ValueError(
            f"{type(learner).__name__}: {described} classes were described to prepare, "
            f"and {n_classes} are to be learned."
        )
