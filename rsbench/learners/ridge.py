"""Ridge regression on one-hot targets, exact after every sample, in one pass."""

from typing import Any, ClassVar

import numpy as np

from rsbench.core.sparse import is_sparse
from rsbench.errors import check_positive
from rsbench.learners.base import OnlineLearner, margins_of
from rsbench.learners.least_squares import ByFeatures, BySamples, Solver

#: Samples that are taken in at once; their products with each other are small then.
_AT_ONCE = 256


class Ridge(OnlineLearner):
    """Regress one-hot targets on features, with a penalty; the largest value wins.

        min over W, b of |Y - X W^T - 1 b^T|^2 + alpha_ |W|^2

    over all samples so far: after each of them the solution is that of a regression
    fitted anew to all. The penalty is relative, `alpha_ = alpha s` with s the features'
    total variance, the mean squared distance of samples from their mean; so features
    in other units give the same predictions. It is measured whenever the number of
    samples has doubled, and stays in between. Classes without samples score zero.

    Parameters
    ----------
    alpha : float
        The penalty, in units of the features' total variance; of their mean squared
        norm without intercept.
    fit_intercept : bool
        Whether each class has an intercept, which is not penalised.
    relative : bool
        Whether `alpha` is in those units; else it is the penalty itself.

    Attributes
    ----------
    alpha_ : float
        The penalty now.
    solver_ : Solver
        Sums and products of what was learned.
    shift_ : ndarray of shape (d,)
        The first sample, which is subtracted from all: with an intercept that changes
        nothing but rounding. Zeros without intercept, and where the first sample has
        zeros, as counts do: the origin is then among the samples already, and classes
        that tie at it do so exactly.

    References
    ----------
    Hoerl, Kennard, "Ridge Regression", Technometrics 1970; Kailath, "An Innovations
    Approach to Least-Squares Estimation", IEEE Transactions on Automatic Control 1968.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Ridge(1.0, relative=False).fit(X, np.array([0, 0, 1])).predict(X)
    array([0, 0, 1])
    """

    takes_sparse = True
    grid: ClassVar = {"alpha": (0.04, 0.2, 1.0, 5.0)}

    alpha_: float
    solver_: Solver
    shift_: np.ndarray

    def __init__(
        self, alpha: float = 0.2, fit_intercept: bool = True, relative: bool = True
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.relative = relative

    def check_params(self) -> None:
        check_positive(self, "alpha")

    def _predict_and_learn(
        self, X: Any, y: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        known = self._known(X)
        X = self._centred(self._features(X))
        is_new = self.solver_.n == 0
        found = []
        start = 0
        while start < len(y):
            end = min(len(y), start + _AT_ONCE, start + self._until_measured())
            rows = slice(start, end)
            predicted = self.solver_.add(
                X[rows], y[rows], _part(weights, rows), _part(known, rows)
            )
            if known is not None:
                predicted = predicted + known[rows]
            if is_new:  # before the first sample of all, all classes tie
                predicted[0] = 0.0
                is_new = False
            found.append(margins_of(predicted, y[rows]))
            self._after_samples()
            start = end
        return np.concatenate(found)

    def _init(self, n_classes: int, X: Any) -> None:
        features = self._features(X[:1])
        self.shift_ = np.zeros(features.shape[1])
        if self.fit_intercept and not is_sparse(features) and features.all():
            self.shift_ = features[0].astype(np.float64)
        self.alpha_ = self.alpha
        self.solver_ = BySamples(n_classes, self.fit_intercept)

    def _features(self, X: Any) -> Any:
        """Return what is regressed on; a subclass may make features of features."""
        return X

    def _known(self, X: Any) -> np.ndarray | None:
        """Return what is known of targets before anything is learned, (n, K).

        Nothing (None); a subclass may know something. The penalty is then on what the
        weights differ from that.
        """
        return None

    def _centred(self, X: Any) -> Any:
        """Return features in double precision, less the first sample."""
        if is_sparse(X):
            return X.astype(np.float64)
        return X - self.shift_

    def _until_measured(self) -> int:
        """Return how many samples are left until their number has doubled."""
        n = self.solver_.n
        # 1, 2, 4, 8, …: so that results do not depend on how a stream is cut.
        return (1 << n.bit_length()) - n

    def _after_samples(self) -> None:
        """Measure the penalty if it is time to, and go over to features if they pay."""
        solver = self.solver_
        if solver.n & (solver.n - 1) == 0:
            if self.relative:
                scale = solver.scale()
                # Samples that are all the same leave nothing to penalise.
                self.alpha_ = self.alpha
                if scale > 0:
                    self.alpha_ = self.alpha * scale
            solver.regularise(self.alpha_)
        # With more samples than features, products of features are fewer.
        if isinstance(solver, BySamples) and solver.n >= len(self.shift_):
            self.solver_ = ByFeatures(solver)

    def _scores(self, X: Any) -> np.ndarray:
        weights, intercept = self.solver_.solution()
        # Of features as they are, not less the first sample.
        scores = self._features(X) @ weights.T + (intercept - weights @ self.shift_)
        known = self._known(X)
        if known is not None:
            scores = scores + known
        return scores


def _part(of_samples: np.ndarray | None, rows: slice) -> np.ndarray | None:
    """Return what is there of some samples; None where there is nothing of any."""
    if of_samples is None:
        return None
    return of_samples[rows]
