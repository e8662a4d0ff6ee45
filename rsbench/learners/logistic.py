"""Logistic regression, fitted anew at each step: what a patient learner would reach."""

import warnings
from typing import ClassVar

import numpy as np

from rsbench.errors import check_positive
from rsbench.learners.batch import BatchLearner, few_samples_per_class


class Logistic(BatchLearner):
    """Multinomial logistic regression on all samples so far (scikit-learn's L-BFGS).

        min over W, b of  sum_i -log p(y_i | x_i) + alpha s |W|^2 / 2,   p = softmax

    with s the features' total variance, as in `Ridge`, so that units do not matter.
    Each fit starts from zero: it depends on nothing but the samples so far. Classes
    without samples come last; with samples of one class alone, that class comes first.

    Parameters
    ----------
    alpha : float
        The penalty, in units of the features' total variance.
    tol : float
        The largest gradient at which the solver stops, of features scaled to a mean
        variance of one.

    Attributes
    ----------
    coef_ : ndarray of shape (k, d)
        The weights of the classes that have samples.
    intercept_ : ndarray of shape (k,)
        Their constants.
    known_ : ndarray of shape (k,)
        These classes, as positions in `classes_`.

    References
    ----------
    Cox, "The Regression Analysis of Binary Sequences", JRSS B 1958.
    """

    grid: ClassVar = {"alpha": (0.001, 0.01, 0.1, 1.0)}

    coef_: np.ndarray
    intercept_: np.ndarray
    known_: np.ndarray

    def __init__(self, alpha: float = 0.01, tol: float = 1e-3):
        self.alpha = alpha
        self.tol = tol

    def check_params(self) -> None:
        check_positive(self, "alpha")
        check_positive(self, "tol")

    def refit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit to all samples so far."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        X = X.astype(np.float64, copy=False)
        known = np.unique(y)
        d = X.shape[1]
        if len(known) == 1:
            self.known_ = known
            self.coef_ = np.zeros((1, d))
            self.intercept_ = np.zeros(1)
            return
        # Scaled to a mean variance of one, so that `tol` means the same for any units.
        mean = X.mean(axis=0)
        scale = np.sqrt(np.square(X - mean).sum() / X.size)
        if scale == 0:  # samples are all the same, and weights do not matter
            scale = 1.0
        penalty = self.alpha * d
        if len(known) == 2:
            # Of two classes scikit-learn penalises the difference of their weights,
            # whose square is twice what both have together.
            penalty = penalty / 2
        model = LogisticRegression(C=1 / penalty, tol=self.tol, max_iter=1000)
        with few_samples_per_class(), warnings.catch_warnings():
            # It stops where rounding lets it go no further.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit((X - mean) / scale, y)
        self.known_ = known
        self.coef_ = model.coef_ / scale
        self.intercept_ = model.intercept_ - self.coef_ @ mean

    def _scores(self, X: np.ndarray) -> np.ndarray:
        scores = X @ self.coef_.T + self.intercept_
        if len(self.known_) == 2:
            scores = scores[:, 0]
        return self._of_all_classes(scores, self.known_)
