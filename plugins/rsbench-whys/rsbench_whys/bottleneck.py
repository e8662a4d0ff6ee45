"""Concept bottlenecks: features say which concepts there are, and these which class."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from rsbench.core.data import Background
from rsbench.errors import check_positive
from rsbench.learners import BatchLearner, Ridge, VotesLearner
from rsbench_whys.concepts import filled, ridge, without_gaps


class Sums(NamedTuple):
    """Sums over samples with votes, from which concepts are regressed on features."""

    n: int
    x: np.ndarray
    z: np.ndarray
    xx: np.ndarray
    xz: np.ndarray

    def plus(self, other: "Sums") -> "Sums":
        """Return the sums over both."""
        return Sums(
            self.n + other.n,
            self.x + other.x,
            self.z + other.z,
            self.xx + other.xx,
            self.xz + other.xz,
        )


def sums_over(X: np.ndarray, Z: np.ndarray) -> Sums:
    """Return the sums over samples and their votes, which have no gaps."""
    X = X.astype(np.float64, copy=False)
    return Sums(len(X), X.sum(axis=0), Z.sum(axis=0), X.T @ X, X.T @ Z)


def concept_weights(sums: Sums, alpha: float) -> np.ndarray:
    """Return the weights of features in concepts, (d, m), by ridge regression.

    Parameters
    ----------
    sums : Sums
        Over all samples with votes.
    alpha : float
        The penalty, in units of the features' total variance.
    """
    from scipy.linalg import cho_factor, cho_solve

    products = sums.xx - np.outer(sums.x, sums.x) / sums.n
    across = sums.xz - np.outer(sums.x, sums.z) / sums.n
    penalty = alpha * float(np.trace(products)) / sums.n
    if penalty <= 0:  # one sample, or all the same
        return np.zeros(across.shape)
    products[np.diag_indices_from(products)] += penalty
    return cho_solve(cho_factor(products), across)


class Bottleneck(VotesLearner, BatchLearner):
    """Predict concepts from features, and classes from predicted concepts alone.

    Concepts are regressed on features by ridge regression over the background's votes,
    if it has any, and those of the stream so far; it is exact after each step. Classes
    are then regressed, again by ridge regression, on the concepts that it predicts of
    all samples so far. Both are linear, so that this is ridge regression in the space
    of concepts. Without votes of any kind it can tell nothing.

    Parameters
    ----------
    alpha : float
        The penalty of classes on concepts, in units of their total variance.
    alpha_concepts : float
        The penalty of concepts on features, in units of their total variance.

    Attributes
    ----------
    concepts_ : ndarray of shape (d, m), or None
        The weights of features in concepts.

    References
    ----------
    Koh et al., "Concept Bottleneck Models", ICML 2020; trained one after the other
    ("sequential"), with ridge regression for both.
    """

    substitute: ClassVar = Ridge
    grid: ClassVar = {"alpha": (0.04, 0.2, 1.0), "alpha_concepts": (1.0, 10.0)}

    def __init__(self, alpha: float = 0.2, alpha_concepts: float = 10.0):
        self.alpha = alpha
        self.alpha_concepts = alpha_concepts

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_positive(self, "alpha")
        check_positive(self, "alpha_concepts")

    def prepare(self, *, background: Background | None = None) -> Self:
        """Learn of concepts from annotated samples of other classes.

        Parameters
        ----------
        background : Background, optional
            Samples with votes; of labels there is no need.

        Returns
        -------
        Bottleneck
            The learner itself.
        """
        self.prepared_sums = None
        if background is not None and background.Z is not None:
            Z = without_gaps(np.asarray(background.Z, np.float64))
            self.prepared_sums = sums_over(background.X, Z)
        return self

    def _init(self, n_classes: int, X: Any) -> None:
        super()._init(n_classes, X)
        self.votes_seen_: list[np.ndarray | None] = []
        self.concepts_: np.ndarray | None = None

    def _learn_told(self, X: Any, y: np.ndarray, votes: Any) -> None:
        for i in range(len(y)):
            self.votes_seen_.append(None if votes is None else votes[i])
        self._learn(X, y)

    def refit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit concepts to votes, and classes to concepts, on all samples so far."""
        sums = vars(self).get("prepared_sums")
        Z, asked = filled(self.votes_seen_)
        if asked.any():
            own = sums_over(X[asked], Z)
            sums = own if sums is None else sums.plus(own)
        self.concepts_ = None
        if sums is not None:
            self.concepts_ = concept_weights(sums, self.alpha_concepts)
        self._scale(X)
        targets = np.zeros((len(y), len(self.classes_)))
        targets[np.arange(len(y)), y] = 1.0
        self.weights_, self.mean_, self.shares_ = ridge(
            self._inputs(X), targets, self.alpha
        )

    def _scale(self, X: np.ndarray) -> None:
        """Measure what features and concepts are divided by; nothing here."""

    def _inputs(self, X: np.ndarray) -> np.ndarray:
        """Return what classes are regressed on."""
        X = X.astype(np.float64, copy=False)
        if self.concepts_ is None:
            return np.zeros((len(X), 1))
        return X @ self.concepts_

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return (self._inputs(X) - self.mean_) @ self.weights_ + self.shares_


class BottleneckBeside(Bottleneck):
    """Predict concepts from features, and classes from features and concepts together.

    As `Bottleneck`, but classes are regressed on features and predicted concepts. Both
    are scaled to a total variance of one, and concepts are then multiplied by `weight`.
    Since concepts are linear in features, this bends the penalty of a ridge regression:
    directions that show in concepts cost less. Without votes of any kind it is a ridge
    regression on features.

    Parameters
    ----------
    alpha : float
        The penalty of classes on features and concepts, in units of their total
        variance.
    alpha_concepts : float
        The penalty of concepts on features, in units of their total variance.
    weight : float
        How much concepts count beside features.

    References
    ----------
    Koh et al., "Concept Bottleneck Models", ICML 2020; Mahinpei et al., "Promises and
    Pitfalls of Black-Box Concept Learning Models", 2021, on concepts beside features.
    """

    grid: ClassVar = {"alpha": (0.04, 0.2, 1.0), "weight": (0.5, 1.0)}

    def __init__(
        self, alpha: float = 0.2, alpha_concepts: float = 1.0, weight: float = 1.0
    ):
        super().__init__(alpha, alpha_concepts)
        self.weight = weight

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "weight")

    def _scale(self, X: np.ndarray) -> None:
        X = X.astype(np.float64, copy=False)
        self.size_ = _size(X)
        self.size_of_concepts_ = 1.0
        if self.concepts_ is not None:
            self.size_of_concepts_ = _size(X @ self.concepts_)

    def _inputs(self, X: np.ndarray) -> np.ndarray:
        X = X.astype(np.float64, copy=False)
        if self.concepts_ is None:
            return X / self.size_
        concepts = X @ self.concepts_ * (self.weight / self.size_of_concepts_)
        return np.hstack([X / self.size_, concepts])


def _size(X: np.ndarray) -> float:
    """Return the root of the total variance; one where there is none."""
    return float(np.sqrt(X.var(axis=0).sum())) or 1.0
