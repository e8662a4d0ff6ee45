"""Learners that take a second step: on what people marked of a sample."""

from typing import Any, ClassVar

import numpy as np

from rsbench.errors import check_positive
from rsbench.learners import Lean, OnlineViewLearner, Ridge, Variant, with_views


class TwoViews(OnlineViewLearner, Lean):
    """Learn from each sample, and then from what people marked of it.

    The view v of a sample x, all that nobody marked blanked, is a sample of the same
    class: a passive-aggressive step on x is followed by one on v. Where nobody was
    asked there is no second step, and the learner is `Lean`.

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    variant : {"pa", "pa1", "pa2"}
        PA, PA-I or PA-II.

    References
    ----------
    Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 2006; the view as a
    sample of its own is the simplest use of a rationale that there is.
    """

    without: ClassVar = Lean
    takes_sparse = True

    def _learn_told(
        self, X: Any, y: np.ndarray, view: Any, viewed: np.ndarray
    ) -> np.ndarray:
        rows, own = with_views(X, view, viewed)
        labels = np.repeat(y, 1 + viewed)
        return self._predict_and_learn(rows, labels)[own]


class Contrast(TwoViews):
    """Learn from contrast examples, online: without its rationale, a sample is less so.

    A contrast example x' is the sample with what people marked taken away. The weights
    are to prefer the true class on x by more than on x':

        dw.(x - x') >= mu        that is, a margin of one on (x - x') / mu

    with dw = w_pos - w_neg against the hardest other class. A passive-aggressive step
    on x is followed by one on that pseudo-sample. The difference x - x' is the view of
    the sample where the preprocessor is linear (none, scale); l2 brings a view to norm
    one, so that mu is in other units. With mu = 1 this is `TwoViews`; where nobody was
    asked, `Lean`.

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    variant : {"pa", "pa1", "pa2"}
        PA, PA-I or PA-II.
    mu : float
        The margin that the marked part is to have by itself.

    References
    ----------
    Zaidan, Eisner, Piatko, "Using 'Annotator Rationales' to Improve Machine Learning
    for Text Categorization", NAACL 2007, Eq. 3, whose SVM is `ContrastSVM`.
    """

    without: ClassVar = Lean
    takes_sparse = True
    grid: ClassVar = {"C": (0.01, 0.1, 1.0), "mu": (0.5, 2.0)}

    def __init__(self, C: float = 1.0, variant: Variant = "pa2", mu: float = 2.0):
        super().__init__(C, variant)
        self.mu = mu

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "mu")

    def _learn_told(
        self, X: Any, y: np.ndarray, view: Any, viewed: np.ndarray
    ) -> np.ndarray:
        return super()._learn_told(X, y, view / X.dtype.type(self.mu), viewed)


class RidgeView(OnlineViewLearner, Ridge):
    """Ridge regression on samples and, with a weight, on what people marked of them.

        min over W, b of  sum_i |y_i - W x_i - b|^2 + weight |y_i - W v_i - b|^2
                          + alpha_ |W|^2

    with v_i the view of sample i, exactly, after every sample. Where nobody was asked
    this is `Ridge`.

    Parameters
    ----------
    alpha : float
        The penalty, in units of the total variance of samples and views.
    fit_intercept : bool
        Whether each class has an intercept, which is not penalised.
    relative : bool
        Whether `alpha` is in those units; else it is the penalty itself.
    weight : float
        How many samples a view counts for.

    References
    ----------
    Hoerl, Kennard, "Ridge Regression", Technometrics 1970. A strong learner with the
    second step of `TwoViews`, so that learner and supervision are not confounded.
    """

    without: ClassVar = Ridge
    takes_sparse = True
    grid: ClassVar = {"alpha": (0.04, 0.2, 1.0), "weight": (0.3, 1.0)}

    def __init__(
        self,
        alpha: float = 0.2,
        fit_intercept: bool = True,
        relative: bool = True,
        weight: float = 0.3,
    ):
        super().__init__(alpha, fit_intercept, relative)
        self.weight = weight

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "weight")

    def _learn_told(
        self, X: Any, y: np.ndarray, view: Any, viewed: np.ndarray
    ) -> np.ndarray:
        if not viewed.any():
            return self._predict_and_learn(X, y)
        rows, own = with_views(X, view, viewed)
        weights = np.full(rows.shape[0], float(self.weight))
        weights[own] = 1.0
        labels = np.repeat(y, 1 + viewed)
        return self._predict_and_learn(rows, labels, weights)[own]
