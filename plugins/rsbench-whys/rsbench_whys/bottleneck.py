"""Concept bottlenecks: features say which concepts there are, and these which class."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from rsbench.core.data import Background
from rsbench.errors import check_positive
from rsbench.learners import Ridge
from rsbench_whys.concepts import (
    KeptVotes,
    annotated,
    centre,
    check_width,
    ridge,
    total_variance,
)


class Sums(NamedTuple):
    """What concepts are regressed on features from: means, and products around them."""

    n: int
    x: np.ndarray
    z: np.ndarray
    xx: np.ndarray
    xz: np.ndarray

    def plus(self, other: "Sums") -> "Sums":
        """Return those over both.

        Products around a common mean are those around each mean, and what the means
        are apart (Chan, Golub, LeVeque 1983): nothing large is subtracted.
        """
        n = self.n + other.n
        apart = self.n * other.n / n
        x = other.x - self.x
        z = other.z - self.z
        return Sums(
            n,
            self.x + (other.n / n) * x,
            self.z + (other.n / n) * z,
            self.xx + other.xx + apart * np.outer(x, x),
            self.xz + other.xz + apart * np.outer(x, z),
        )


def sums_over(X: np.ndarray, Z: np.ndarray) -> Sums:
    """Return the means of samples and votes, which have no gaps, and their products."""
    x = np.asarray(centre(X))
    z = np.asarray(centre(Z))
    X = X - x
    Z = Z - z
    return Sums(len(X), x, z, X.T @ X, X.T @ Z)


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

    penalty = alpha * float(np.trace(sums.xx)) / sums.n
    if penalty == 0:  # one sample, or all the same
        return np.zeros(sums.xz.shape)
    products = sums.xx.copy()
    products[np.diag_indices_from(products)] += penalty
    return cho_solve(cho_factor(products), sums.xz)


class Bottleneck(KeptVotes):
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
            Z, asked = annotated(background.Z)
            if asked.any():
                self.prepared_sums = sums_over(background.X[asked], Z)
        return self

    def _check_width(self, n_concepts: int) -> None:
        super()._check_width(n_concepts)
        sums = vars(self).get("prepared_sums")
        if sums is not None:
            check_width(self, n_concepts, len(sums.z))

    def _init(self, n_classes: int, X: Any) -> None:
        super()._init(n_classes, X)
        self.concepts_: np.ndarray | None = None

    def refit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit concepts to votes, and classes to concepts, on all samples so far."""
        sums = vars(self).get("prepared_sums")
        Z, asked = self._annotated()
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
    return float(np.sqrt(total_variance(X))) or 1.0
