"""Weights that are known more or less surely: AROW and soft confidence-weighted.

Each class c has a Gaussian over its weights, with mean m_c and covariance S_c. With
x+ = (x for the true class, -x for the hardest other one) a sample has

    margin        m = m_pos.x - m_neg.x
    variance      v = x.S_pos x + x.S_neg x

and a step changes both classes, with s = 1 for the true one and -1 for the other:

    m_c += s a S_c x            S_c -= b (S_c x)(S_c x)^T

The learners differ in a and b, which minimise the Kullback-Leibler divergence from the
Gaussian before plus what the sample costs. The originals have two classes and one
Gaussian; here the covariance between classes, which a step would make, is left out, and
of a diagonal covariance everything but the diagonal.
"""

import functools
import math
from typing import Any, ClassVar, Literal

import numpy as np

from rsbench import UserError
from rsbench.learners import OneByOne, by_feature, check_memory, hardest_negative

Covariance = Literal["diagonal", "full"]


class ConfidenceWeighted(OneByOne):
    """Keep a Gaussian over each class's weights; a subclass says how it changes.

    Covariances start as the identity over the first sample's squared norm, so that the
    features' units do not matter.

    Parameters
    ----------
    covariance : {"diagonal", "full"}
        Whether a variance is kept for each weight, or all covariances of a class.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        The means of the weights.
    covariance_ : ndarray of shape (K, d) or (K, d, d)
        Their variances, or covariances.
    """

    coef_: np.ndarray
    covariance_: np.ndarray

    def __init__(self, covariance: Covariance = "diagonal"):
        self.covariance = covariance

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether it takes sparse rows: not with all covariances."""
        return self.covariance == "diagonal"

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        if self.covariance not in ("diagonal", "full"):
            raise UserError(
                f"{type(self).__name__}: covariance={self.covariance!r}, expected "
                "diagonal or full"
            )

    def factors(self, margin: float, variance: float) -> tuple[float, float]:
        """Return how far the mean moves, and by how much the variance shrinks.

        Parameters
        ----------
        margin : float
            The true class's score less that of the hardest other one.
        variance : float
            That of the margin; above zero.

        Returns
        -------
        a, b : float
            Zeros for a sample that changes nothing.
        """
        raise NotImplementedError

    def _init(self, n_classes: int, X: Any) -> None:
        d = X.shape[1]
        squares = (X[:1] ** 2).sum()
        start = 1.0
        if squares > 0:
            start = 1.0 / float(squares)
        self.coef_ = by_feature(n_classes, d)
        if self.covariance == "diagonal":
            self.covariance_ = by_feature(n_classes, d, start)
        else:
            check_memory(
                8 * n_classes * d**2,
                f"{n_classes:,} classes have covariances of {d:,} features each",
            )
            self.covariance_ = np.tile(start * np.eye(d), (n_classes, 1, 1))

    def _step(self, x: np.ndarray, features: Any, pos: int) -> np.ndarray:
        scores = x @ self.coef_.T[features]
        neg, margin = hardest_negative(scores.copy(), pos)
        along = {c: self._times(c, x, features) for c in (pos, neg)}
        variance = float(x @ along[pos] + x @ along[neg])
        if variance <= 0:  # a sample of zeros: nothing to move along
            return scores
        a, b = self.factors(margin, variance)
        for c, sign in ((pos, 1.0), (neg, -1.0)):
            self.coef_[c, features] += sign * a * along[c]
            self._shrink(c, along[c], b, features)
        return scores

    def _times(self, c: int, x: np.ndarray, features: Any) -> np.ndarray:
        """Return a class's covariance times the sample, S_c x."""
        if self.covariance == "diagonal":
            return self.covariance_[c, features] * x
        return self.covariance_[c] @ x

    def _shrink(self, c: int, along: np.ndarray, b: float, features: Any) -> None:
        """Take b (S_c x)(S_c x)^T from a class's covariance, or its diagonal."""
        if self.covariance == "diagonal":
            self.covariance_[c, features] -= b * along**2
        else:
            self.covariance_[c] -= b * np.multiply.outer(along, along)

    def _scores(self, X: Any) -> np.ndarray:
        return X @ self.coef_.T


class AROW(ConfidenceWeighted):
    """Adaptive regularisation of weights: squared hinge, and less variance every time.

    Minimises KL + hinge^2 / (2 r) + v / (2 r) whenever there is a loss, m < 1:

        b = 1 / (v + r)    a = b (1 - m)

    A sample without one changes nothing, as in the original, though the objective alone
    would let the variance shrink then too.

    Parameters
    ----------
    r : float
        How little a single sample says; large values step carefully.
    covariance : {"diagonal", "full"}
        Whether a variance is kept for each weight, or all covariances of a class.

    References
    ----------
    Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NeurIPS 2009.
    """

    grid: ClassVar = {"r": (0.1, 1.0, 10.0, 100.0)}

    def __init__(self, r: float = 1.0, covariance: Covariance = "diagonal"):
        super().__init__(covariance)
        self.r = r

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        if not self.r > 0:
            raise UserError(f"AROW: r={self.r}, expected a number above 0")

    def factors(self, margin: float, variance: float) -> tuple[float, float]:
        """Return how far the mean moves, and by how much the variance shrinks."""
        if margin >= 1:
            return 0.0, 0.0
        b = 1.0 / (variance + self.r)
        return (1.0 - margin) * b, b


class SCW(ConfidenceWeighted):
    """Soft confidence-weighted learning, I and II: right with a probability of eta.

    With phi = Phi^-1(eta), the loss l = max(0, phi sqrt(v) - m) is zero if the sample
    is right with that probability. SCW-I minimises KL + C l, SCW-II KL + C l^2, both
    over mean and covariance. With v the variance before the step, u that after it and
    t the multiplier of the loss's constraint:

        mean moves by a = t
        sqrt(u) = (-t v phi + sqrt(t^2 v^2 phi^2 + 4 v)) / 2
        b = t phi / (sqrt(u) + t v phi)

    The constraint m + t n = phi sqrt(u), with n = v in SCW-I and n = v + 1 / (2 C) in
    SCW-II, makes t the larger root of

        (n^2 + n v phi^2) t^2 + (2 m n + m v phi^2) t + m^2 - phi^2 v = 0

    which SCW-I bounds by C.

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    eta : float
        The probability to be right with, above 0.5 and below 1.
    variant : {1, 2}
        SCW-I or SCW-II.
    covariance : {"diagonal", "full"}
        Whether a variance is kept for each weight, or all covariances of a class.

    References
    ----------
    Wang, Zhao, Hoi, "Exact Soft Confidence-Weighted Learning", ICML 2012.
    """

    grid: ClassVar = {"C": (0.01, 0.1, 1.0, 10.0)}

    def __init__(
        self,
        C: float = 1.0,
        eta: float = 0.9,
        variant: Literal[1, 2] = 1,
        covariance: Covariance = "diagonal",
    ):
        super().__init__(covariance)
        self.C = C
        self.eta = eta
        self.variant = variant

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        if not self.C > 0:
            raise UserError(f"SCW: C={self.C}, expected a number above 0")
        if not 0.5 < self.eta < 1:
            raise UserError(f"SCW: eta={self.eta}, expected a number from 0.5 to 1")
        if self.variant not in (1, 2):
            raise UserError(f"SCW: variant={self.variant!r}, expected 1 or 2")

    def factors(self, margin: float, variance: float) -> tuple[float, float]:
        """Return how far the mean moves, and by how much the variance shrinks."""
        phi = _quantile(self.eta)
        if margin >= phi * math.sqrt(variance):
            return 0.0, 0.0
        n = variance
        if self.variant == 2:
            n += 1 / (2 * self.C)
        square = n * (n + variance * phi**2)
        half = margin * (n + 0.5 * variance * phi**2)
        constant = margin**2 - phi**2 * variance
        a = (-half + math.sqrt(half**2 - square * constant)) / square
        if self.variant == 1:
            a = min(self.C, a)
        root = 0.5 * (
            -a * variance * phi + math.sqrt((a * variance * phi) ** 2 + 4 * variance)
        )
        return a, a * phi / (root + a * variance * phi)


@functools.cache
def _quantile(share: float) -> float:
    """Return what a standard normal number is below of, with that probability."""
    # Here, since importing it takes longer than listing all plugins.
    from scipy.special import ndtri

    return float(ndtri(share))
