"""Linear discriminant analysis from a stream."""

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from rsbench.core.data import Background
from rsbench.core.sparse import by_class, check_memory
from rsbench.core.told import OfBackground
from rsbench.errors import UserError, is_number
from rsbench.learners.base import Learner, below_the_others
from rsbench.learners.covariance import (
    Shrinkage,
    shrinkage_of,
    shrunk,
    within_classes,
)


class Scatter(NamedTuple):
    """How samples of known classes vary around their means.

    Attributes
    ----------
    matrix : ndarray of shape (d, d)
        The sum of squares and products.
    freedom : int
        Its degrees of freedom.
    """

    matrix: np.ndarray
    freedom: int


class SLDA(Learner):
    """Model classes as Gaussians of one covariance, both estimated along the stream.

    With class means m_c and S the covariance of samples around the means of their
    classes, shrunk towards a sphere, the score of class c is that of linear
    discriminant analysis with equal priors:

        x.S^-1 m_c - m_c.S^-1 m_c / 2

    S has n - K degrees of freedom for n samples of K classes; while it has none, it is
    a sphere, and the nearest class mean wins. Classes without samples come last. Means
    and covariance are those of all samples so far, exactly; the original's running
    average weighs samples a little differently.

    S takes a Cholesky factor to invert, so the learner is taught a step at a time.

    Parameters
    ----------
    shrinkage : {"oas"} or float
        How far S is shrunk towards a sphere, from 0 to 1; `oas` takes what the oracle
        approximating shrinkage says at each step.
    start : {"stream", "background"}
        Where S starts from: nothing, or how labelled samples of other classes vary
        around the means of theirs.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        S^-1 m_c, all less what the first sample has in place of m_c: scores then differ
        by as much, and rounding is less.
    intercept_ : ndarray of shape (K,)
        What goes with these weights.
    counts_ : ndarray of shape (K,)
        Samples of each class.
    shrinkage_ : float
        How far S was shrunk.

    References
    ----------
    Hayes, Kanan, "Lifelong Machine Learning with Deep Streaming Linear Discriminant
    Analysis", CVPR Workshops 2020; Chen et al., "Shrinkage Algorithms for MMSE
    Covariance Estimation", IEEE Transactions on Signal Processing 2010.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 4.0], [1.0, 1.0], [1.0, 5.0]])
    >>> SLDA(0.01).fit(X, np.array([0, 0, 1, 1])).predict(np.array([[0.3, 9.0]]))
    array([0])
    """

    batch = True
    grid: ClassVar = {"shrinkage": ("oas", 0.1, 0.5, 0.9)}

    coef_: np.ndarray
    intercept_: np.ndarray
    counts_: np.ndarray
    shrinkage_: float
    prepared_: Scatter | None
    shift_: np.ndarray
    sums_: np.ndarray
    products_: np.ndarray

    def __init__(
        self,
        shrinkage: Shrinkage = "oas",
        start: Literal["stream", "background"] = "stream",
    ):
        self.shrinkage = shrinkage
        self.start = start

    def check_params(self) -> None:
        shrinkage: Any = self.shrinkage
        is_share = is_number(shrinkage) and 0 <= shrinkage <= 1
        if shrinkage != "oas" and not is_share:
            raise UserError(
                f"SLDA: shrinkage={self.shrinkage!r}, expected oas or a number from 0 "
                "to 1"
            )
        if self.start not in ("stream", "background"):
            raise UserError(
                f"SLDA: start={self.start!r}, expected stream or background"
            )

    @property
    def of_background(self) -> OfBackground:  # type: ignore[override]
        """What it is told of the background, which is for the parameter to say."""
        if self.start == "background":
            return OfBackground.LABELS
        return OfBackground.NOTHING

    def prepare(self, *, background: Background | None = None) -> Self:
        """Take over how samples of other classes vary around their means.

        Parameters
        ----------
        background : Background, optional
            Samples of other classes, with labels.

        Returns
        -------
        SLDA
            The learner itself.
        """
        self.prepared_ = None
        if background is not None:
            X, y = background.labelled("SLDA")
            matrix, _, counts = within_classes(X.astype(np.float64), y)
            self.prepared_ = Scatter(matrix, len(y) - len(counts))
        elif self.start == "background":
            raise UserError(
                "SLDA: start=background, and the data set has no background"
            )
        return self

    def _learn(self, X: np.ndarray, y: np.ndarray) -> None:
        # Less the first sample: means that are large against the spread cost digits.
        X = X - self.shift_
        n_classes = len(self.classes_)
        self.counts_ = self.counts_ + np.bincount(y, minlength=n_classes)
        self.sums_ = self.sums_ + by_class(X, y, n_classes)
        self.products_ = self.products_ + X.T @ X
        self._solve()

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        d = X.shape[1]
        check_memory(4 * 8 * d**2, f"SLDA needs the covariance of {d:,} features")
        self.shift_ = X[0].astype(np.float64)
        self.counts_ = np.zeros(n_classes, int)
        self.sums_ = np.zeros((n_classes, d))
        self.products_ = np.zeros((d, d))

    def _covariance(self) -> np.ndarray:
        """Return the covariance within classes, shrunk."""
        seen = self.counts_ > 0
        # The sum of squares around means is that around zero, less what means have.
        roots = self.sums_[seen] / np.sqrt(self.counts_[seen])[:, None]
        scatter = self.products_ - roots.T @ roots
        freedom = int(self.counts_.sum() - seen.sum())
        prepared = vars(self).get("prepared_")
        if prepared is not None:
            scatter = scatter + prepared.matrix
            freedom += prepared.freedom
        # Of one sample a class, nothing but rounding is left.
        if freedom == 0 or np.trace(scatter) <= 1e-12 * np.trace(self.products_):
            self.shrinkage_ = 1.0
            return np.eye(len(scatter))
        covariance = scatter / freedom
        self.shrinkage_ = self._shrinkage(covariance, freedom)
        return shrunk(covariance, self.shrinkage_)

    def _shrinkage(self, covariance: np.ndarray, freedom: int) -> float:
        if self.shrinkage == "oas":
            return shrinkage_of(covariance, freedom)
        return float(self.shrinkage)

    def _solve(self) -> None:
        """Make the weights of the means and the covariance as they are."""
        from scipy.linalg import LinAlgError, cho_solve, cholesky

        means = self.sums_ / np.maximum(self.counts_, 1)[:, None]
        try:
            factor = cholesky(self._covariance(), lower=True, check_finite=False)
        except LinAlgError:
            raise UserError(
                f"SLDA: the covariance has no inverse with shrinkage={self.shrinkage}: "
                "a larger one, or oas"
            ) from None
        self.coef_ = cho_solve((factor, True), means.T, check_finite=False).T
        constant = -0.5 * np.einsum("ij,ij->i", means, self.coef_)
        self.intercept_ = constant - self.coef_ @ self.shift_

    def _scores(self, X: Any) -> np.ndarray:
        scores = X @ self.coef_.T + self.intercept_
        return below_the_others(
            scores, np.broadcast_to(self.counts_ == 0, scores.shape)
        )
