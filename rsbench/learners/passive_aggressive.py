"""Passive-aggressive learners that differ only in what relevance does to their step.

With x the sample, r its relevance (the diagonal of S^-1) and dw = w_pos - w_neg the margin's
weights against the hardest negative class:

    learner          loss                      step direction   squared norm in tau
    lean             max(0, 1 - dw.x)          x                |x|^2
    feature scaling  max(0, 1 - dw.(r*x))      r*x              |r*x|^2
    ellipsotron      max(0, 1 - dw.x)          r*r*x            |r*x|^2

Visotsky, Atzmon, Chechik, "Few-Shot Learning with Per-Sample Rich Supervision", 2019
(Eq. 5 and Eqs. 7-8); Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 2006.
"""

from typing import Any, Literal, Self

import numpy as np

from rsbench.errors import UserError, check_positive
from rsbench.learners.base import Learner
from rsbench.learners.engine import learn

Variant = Literal["pa", "pa1", "pa2"]


class LinearLearner(Learner):
    """One weight vector per class, no bias, learned online in a single pass.

    A subclass says which vector it scores, along which it steps, and how far.
    """

    coef_: np.ndarray

    def __init__(self, C: float = 1.0, variant: Variant = "pa2"):
        self.C = C
        self.variant = variant

    def score_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Rows whose scores decide the loss and the hardest negative."""
        return X

    def step_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Rows along which the weights of the two classes move."""
        return X

    def tau(self, loss: float, squared_norm: float) -> float:
        """How far: PA (exact), PA-I (linear slack) or PA-II (squared slack)."""
        if squared_norm == 0:
            return 0.0
        if self.variant == "pa":
            return loss / (2 * squared_norm)
        if self.variant == "pa1":
            return min(float(self.C), loss / (2 * squared_norm))
        return loss / (2 * squared_norm + 1 / (2 * float(self.C)))

    def check_params(self) -> None:
        check_positive(self, "C")
        if self.variant not in ("pa", "pa1", "pa2"):
            raise UserError(
                f"{type(self).__name__}: variant={self.variant!r}, expected pa, pa1 or pa2"
            )

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        self.coef_ = np.zeros((n_classes, X.shape[1]), X.dtype)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return X @ self.coef_.T

    def _learn(self, X: np.ndarray, y: np.ndarray, relevance: Any = None) -> np.ndarray:
        R = (
            np.ones(X.shape[1])
            if relevance is None
            else self._check_rows(relevance, X, "relevance")
        )
        return learn(
            self.coef_, y, self.score_vector(X, R), self.step_vector(X, R), X, self.tau
        )


class Lean(LinearLearner):
    """Multiclass passive-aggressive learning without rich supervision.

    Parameters
    ----------
    C : aggressiveness; larger steps for larger C.
    variant : `pa`, `pa1` or `pa2`.

    >>> import numpy as np
    >>> Lean().fit(np.eye(3), np.array([0, 1, 2])).predict(np.eye(3))
    array([0, 1, 2])
    """

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from scratch in one pass over the samples."""
        self._learn(*self._start(X, y))
        return self

    def partial_fit(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> Self:
        """Learn from the samples, one at a time and in order."""
        self.prequential(X, y, classes)
        return self

    def prequential(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample just before its update."""
        return self._learn(*self._continue(X, y, classes))


class RelevanceLearner(LinearLearner):
    """A linear learner that is taught with relevance; no relevance means all ones."""

    def fit(self, X: np.ndarray, y: np.ndarray, *, relevance: Any = None) -> Self:
        """Learn from scratch in one pass over the samples and their relevance."""
        self._learn(*self._start(X, y), relevance)
        return self

    def partial_fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        relevance: Any = None,
    ) -> Self:
        """Learn from the samples and their relevance, one at a time and in order."""
        self.prequential(X, y, classes, relevance=relevance)
        return self

    def prequential(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        relevance: Any = None,
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample just before its update."""
        return self._learn(*self._continue(X, y, classes), relevance)


class FeatureScaling(RelevanceLearner):
    """Passive-aggressive learning on samples scaled by their relevance (Eqs. 7-8).

    Predictions, online ones included, are made on unscaled samples.

    Parameters
    ----------
    C : aggressiveness; larger steps for larger C.
    variant : `pa`, `pa1` or `pa2`.

    >>> import numpy as np
    >>> X, R = np.ones((2, 2)), np.array([[1.0, 1e-10], [1e-10, 1.0]])
    >>> FeatureScaling().fit(X, np.array([0, 1]), relevance=R).coef_.round(2)
    array([[ 0.4, -0.4],
           [-0.4,  0.4]])
    """

    def score_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        return R * X

    def step_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        return R * X


class Ellipsotron(RelevanceLearner):
    """Passive-aggressive learning with an ellipsoid margin around each sample (Eq. 5).

    The loss is the ordinary hinge on the raw sample; relevance is the metric of the step. Each step
    minimises |W - W'|^2_S / 2 + C xi^2 (PA-II) under the margin of the true and hardest class.

    Parameters
    ----------
    C : aggressiveness; larger steps for larger C.
    variant : `pa`, `pa1` or `pa2` (the paper's).

    >>> import numpy as np
    >>> X, R = np.ones((2, 2)), np.array([[1.0, 1e-10], [1e-10, 1.0]])
    >>> Ellipsotron().fit(X, np.array([0, 1]), relevance=R).coef_.round(2)
    array([[ 0.4 , -0.72],
           [-0.4 ,  0.72]])
    """

    def step_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        return np.square(R, dtype=np.float64) * X
