"""Passive-aggressive learners that differ only in what relevance does to their step.

With x the sample, r its relevance (the diagonal of S^-1) and dw = w_pos - w_neg the
margin's weights against the hardest negative class:

    learner          loss                      step direction   squared norm in tau
    lean             max(0, 1 - dw.x)          x                |x|^2
    feature scaling  max(0, 1 - dw.(r*x))      r*x              |r*x|^2
    ellipsotron      max(0, 1 - dw.x)          r*r*x            |r*x|^2

Visotsky, Atzmon, Chechik, "Few-Shot Learning with Per-Sample Rich Supervision", 2019
(Eq. 5 and Eqs. 7-8); Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 2006.
"""

from typing import ClassVar, Literal

import numpy as np

from rsbench.errors import UserError, check_positive
from rsbench.learners.linear import LinearLearner, RelevanceLearner

Variant = Literal["pa", "pa1", "pa2"]


class PassiveAggressive(LinearLearner):
    """Step as far as the loss asks for, and no further than C allows.

    With q the squared norm of the scaled sample, and two weight vectors that move:

        pa    tau = loss / (2 q)                 the margin becomes one
        pa1   tau = min(C, loss / (2 q))         linear slack, C xi
        pa2   tau = loss / (2 q + 1 / (2 C))     squared slack, C xi^2

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    variant : {"pa", "pa1", "pa2"}
        PA, PA-I or PA-II. The first has no use for C.

    References
    ----------
    Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 2006.
    """

    # A margin of one is what every step asks for, so that losses can be compared.
    score_scale = "hinge"
    grid: ClassVar = {"C": (0.001, 0.01, 0.1, 1.0)}

    def __init__(self, C: float = 1.0, variant: Variant = "pa2"):
        self.C = C
        self.variant = variant

    def tau(self, loss: float, squared_norm: float) -> float:
        """Return how far to step: PA (exact), PA-I or PA-II.

        Parameters
        ----------
        loss : float
            The hinge loss, above zero.
        squared_norm : float
            The squared norm of the scaled sample.

        Returns
        -------
        float
            The factor of the step vector; zero for a sample of zeros.
        """
        if squared_norm == 0:  # there is a loss, but nothing to step along
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
                f"{type(self).__name__}: variant={self.variant!r}, "
                "expected pa, pa1 or pa2"
            )


class Lean(PassiveAggressive):
    """Multiclass passive-aggressive learning without rich supervision.

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    variant : {"pa", "pa1", "pa2"}
        PA, PA-I or PA-II.

    References
    ----------
    Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 2006.

    Examples
    --------
    >>> Lean().fit(np.eye(3), np.array([0, 1, 2])).predict(np.eye(3))
    array([0, 1, 2])
    """


# RelevanceLearner comes first: its `partial_fit` and `prequential` belong together.
class FeatureScaling(RelevanceLearner, PassiveAggressive):
    """Passive-aggressive learning on samples scaled by their relevance (Eqs. 7-8).

    Predictions, online ones included, are made on unscaled samples.

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    variant : {"pa", "pa1", "pa2"}
        PA, PA-I or PA-II.

    References
    ----------
    Visotsky, Atzmon, Chechik, "Few-Shot Learning with Per-Sample Rich Supervision",
    2019, Eqs. 7-8.

    Examples
    --------
    >>> X = np.ones((2, 2))
    >>> R = np.array([[1.0, 1e-10], [1e-10, 1.0]])
    >>> FeatureScaling().fit(X, np.array([0, 1]), relevance=R).coef_.round(2)
    array([[ 0.4, -0.4],
           [-0.4,  0.4]])
    """

    without: ClassVar = Lean
    takes_sparse = True

    def score_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        if _is_one(R):
            return X
        return R * X

    def step_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        if _is_one(R):
            return X
        return R * X


class Ellipsotron(RelevanceLearner, PassiveAggressive):
    """Passive-aggressive learning with an ellipsoid margin around each sample (Eq. 5).

    The loss is the ordinary hinge on the raw sample; relevance is the metric of the
    step. Each step minimises |W - W'|^2_S / 2 + C xi^2 (PA-II) under the margin of the
    true and hardest class.

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    variant : {"pa", "pa1", "pa2"}
        PA, PA-I or PA-II (the paper's).

    References
    ----------
    Visotsky, Atzmon, Chechik, "Few-Shot Learning with Per-Sample Rich Supervision",
    2019, Eq. 5.

    Examples
    --------
    >>> X = np.ones((2, 2))
    >>> R = np.array([[1.0, 1e-10], [1e-10, 1.0]])
    >>> Ellipsotron().fit(X, np.array([0, 1]), relevance=R).coef_.round(2)
    array([[ 0.4 , -0.72],
           [-0.4 ,  0.72]])
    """

    without: ClassVar = Lean
    takes_sparse = True

    def step_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        if _is_one(R):
            return X
        # In double precision: the square of 1e-30 would be zero in single.
        return np.square(R, dtype=np.float64) * X


def _is_one(R: np.ndarray) -> bool:
    """Tell whether every feature of every sample counts in full.

    Samples are then taken as they are, and not multiplied by one: their products would
    be in double precision, and no longer Lean's to the bit.
    """
    return bool((R == 1).all())
