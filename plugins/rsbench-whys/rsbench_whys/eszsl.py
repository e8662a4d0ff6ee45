"""Zero-shot learning as a prior: weights made of a class's description."""

from typing import Any, ClassVar, Self

import numpy as np

from rsbench.core.data import Background
from rsbench.errors import check_positive
from rsbench.learners import Ridge
from rsbench_whys.concepts import check_described, check_width, shares


class ESZSL(Ridge):
    """Ridge regression towards the weights that descriptions of classes give.

    On the background, with X its features, Y its one-hot classes and S the shares of
    votes of these classes, all less their means,

        V = (X^T X + gamma I)^-1 X^T Y S (S^T S + lambda I)^-1

    makes weights w_c = V s_c of a class's shares s_c. The stream refines them:

        min over W, b of |Y - X W^T - 1 b^T|^2 + alpha_ |W - W_0|^2

    with W_0 these weights, of the class votes given. Without class votes, or without
    an annotated background, W_0 is zero and this is `Ridge`.

    Parameters
    ----------
    alpha : float
        The penalty, in units of the features' total variance.
    fit_intercept : bool
        Whether each class has an intercept, which is not penalised.
    relative : bool
        Whether `alpha` is in those units; else it is the penalty itself.
    penalty_features : float
        The paper's gamma, in units of the background's total variance.
    penalty_concepts : float
        The paper's lambda, in units of the total variance of shares.

    References
    ----------
    Romera-Paredes, Torr, "An Embarrassingly Simple Approach to Zero-Shot Learning",
    ICML 2015, Eq. 5, with targets of zero and one in place of minus one and one.
    """

    without: ClassVar = Ridge
    grid: ClassVar = {"alpha": (0.04, 0.2, 1.0), "penalty_concepts": (0.1, 1.0)}

    def __init__(
        self,
        alpha: float = 0.2,
        fit_intercept: bool = True,
        relative: bool = True,
        penalty_features: float = 1.0,
        penalty_concepts: float = 0.1,
    ):
        super().__init__(alpha, fit_intercept, relative)
        self.penalty_features = penalty_features
        self.penalty_concepts = penalty_concepts

    # The background is dense, and so are the weights that it gives.
    takes_sparse = False

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "penalty_features")
        check_positive(self, "penalty_concepts")

    def prepare(
        self,
        *,
        background: Background | None = None,
        class_votes: np.ndarray | None = None,
    ) -> Self:
        """Make weights of what is said of each class.

        Parameters
        ----------
        background : Background, optional
            Samples of other classes, with labels and votes.
        class_votes : array of shape (K, m), optional
            The share of votes for each concept in each class; NaN where nobody was
            asked.

        Returns
        -------
        ESZSL
            The learner itself.
        """
        self.prepared_weights = None
        if background is None or background.Z is None or class_votes is None:
            return self
        X, y = background.labelled("ESZSL")
        S = shares(np.asarray(background.Z, np.float64), y)
        check_width(self, class_votes.shape[1], S.shape[1])
        V = zero_shot(
            np.asarray(X, np.float64),
            y,
            S,
            self.penalty_features,
            self.penalty_concepts,
        )
        centred = class_votes - S.mean(axis=0)
        # Of a concept that nobody was asked about in a class nothing is known.
        self.prepared_weights = np.nan_to_num(centred) @ V.T
        # Without an intercept the weights go through the origin.
        self.prepared_mean = X.mean(axis=0) * self.fit_intercept
        return self

    def _init(self, n_classes: int, X: Any) -> None:
        super()._init(n_classes, X)
        weights = vars(self).get("prepared_weights")
        if weights is not None:
            check_described(self, len(weights), n_classes)

    def _known(self, X: Any) -> np.ndarray | None:
        weights = vars(self).get("prepared_weights")
        if weights is None:
            return None
        return (X - self.prepared_mean) @ weights.T


def zero_shot(
    X: np.ndarray, y: np.ndarray, S: np.ndarray, gamma: float, lambda_: float
) -> np.ndarray:
    """Return V, which makes weights of shares, (d, m).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Classes, 0 to K-1, none without samples.
    S : ndarray of shape (K, m)
        Shares of votes.
    gamma, lambda_ : float
        Penalties, in units of the total variances of features and shares.
    """
    from scipy.linalg import cho_factor, cho_solve

    X = X - X.mean(axis=0)
    S = S - S.mean(axis=0)
    Y = np.zeros((len(y), len(S)))
    Y[np.arange(len(y)), y] = 1.0
    Y -= Y.mean(axis=0)
    on_features = gamma * max(float((X**2).sum()) / len(X), 1e-12)
    on_shares = lambda_ * max(float((S**2).sum()) / len(S), 1e-12)
    left = cho_factor(X.T @ X + on_features * np.eye(X.shape[1]))
    right = cho_factor(S.T @ S + on_shares * np.eye(S.shape[1]))
    by_features = cho_solve(left, X.T @ (Y @ S))
    return cho_solve(right, by_features.T).T
