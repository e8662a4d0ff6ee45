"""Ridge regression on random features."""

from typing import Any, ClassVar

import numpy as np

from rsbench.core.sparse import check_memory
from rsbench.errors import UserError
from rsbench.learners.ridge import Ridge


class RanPAC(Ridge):
    """Project samples at random, keep what is positive, and regress on that.

    The features of a sample x are max(0, P x), with a matrix P of standard normal
    numbers that is drawn once; then everything is as in `Ridge`. Unlike the original,
    which chooses its penalty by a grid, this one has a relative penalty, and an
    intercept.

    Parameters
    ----------
    width : int
        The number of random features.
    alpha : float
        The penalty, in units of the random features' total variance.
    fit_intercept : bool
        Whether each class has an intercept, which is not penalised.
    relative : bool
        Whether `alpha` is in those units; else it is the penalty itself.
    random_state : int or None
        Seed of the projection; a run sets it.

    Attributes
    ----------
    projection_ : ndarray of shape (d, width)
        The matrix P, transposed.

    References
    ----------
    McDonnell et al., "RanPAC: Random Projections and Pre-trained Models for Continual
    Learning", NeurIPS 2023.
    """

    grid: ClassVar = {"alpha": (0.02, 0.1, 0.5, 2.5)}

    projection_: np.ndarray

    def __init__(
        self,
        width: int = 1000,
        alpha: float = 0.1,
        fit_intercept: bool = True,
        relative: bool = True,
        random_state: int | None = None,
    ):
        super().__init__(alpha, fit_intercept, relative)
        self.width = width
        self.random_state = random_state

    def check_params(self) -> None:
        super().check_params()
        if self.width < 1:
            raise UserError(f"RanPAC: width={self.width}, expected 1 or more")

    def _init(self, n_classes: int, X: Any) -> None:
        d = X.shape[1]
        check_memory(8 * d * self.width, f"RanPAC projects {d:,} features")
        rng = np.random.default_rng(self.random_state)
        self.projection_ = rng.standard_normal((d, self.width))
        super()._init(n_classes, X)

    def _features(self, X: Any) -> np.ndarray:
        return np.maximum(X @ self.projection_, 0.0)
