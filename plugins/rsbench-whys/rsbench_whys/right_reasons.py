"""Right for the right reasons: what is not marked is to change no prediction."""

from typing import Any, ClassVar

import numpy as np

from rsbench import UserError
from rsbench.learners import OnlineVotesLearner, Softmax, votes_on


class RightReasons(OnlineVotesLearner, Softmax):
    """Descend the cross-entropy, and how far unmarked features sway the prediction.

    With p the softmax of the scores W x, each sample's loss is

        -log p_y + strength q sum_j A_j (d/dx_j sum_c log p_c)^2

    in which A_j is one for features that people looked at and did not mark, and zero
    for the others; graded votes z give 1 - z. For a linear softmax the derivative is
    sum_c w_cj - K sum_c p_c w_cj. The step is that of `Softmax`. People have
    looked at features that the sample has: those that are zero, such as words that are
    not in a text, are left alone. q is the mean squared norm of samples so far, so that
    units do not matter. Where nobody was asked
    there is no penalty, and this is `Softmax`.

    Parameters
    ----------
    rate : float
        By how much a step may change a score.
    strength : float
        How much unmarked features are held back.

    References
    ----------
    Ross, Hughes, Doshi-Velez, "Right for the Right Reasons: Training Differentiable
    Models by Constraining their Explanations", IJCAI 2017, Eq. 1, whose third term,
    a penalty on all weights, is left out as in `Softmax`.
    """

    without: ClassVar = Softmax
    needs_feature_votes = True
    takes_sparse = True
    grid: ClassVar = {"rate": (1.0, 3.0, 10.0), "strength": (0.003, 0.01)}

    def __init__(self, rate: float = 3.0, strength: float = 0.01):
        super().__init__(rate)
        self.strength = strength

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        if not 0 <= self.strength < np.inf:
            raise UserError(
                f"RightReasons: strength={self.strength}, expected 0 or more"
            )

    def _init(self, n_classes: int, X: Any) -> None:
        super()._init(n_classes, X)
        self.squared_ = 0.0

    def _learn_told(self, X: Any, y: np.ndarray, votes: Any) -> np.ndarray:
        return self._predict_and_learn(X, y, votes_on(votes, X))

    def _gradient(
        self, x: np.ndarray, w: np.ndarray, p: np.ndarray, pos: int, votes: Any
    ) -> np.ndarray:
        self.squared_ += float(x @ x)
        gradient = super()._gradient(x, w, p, pos, votes)
        unmarked = np.where(x != 0, np.nan_to_num(1.0 - votes), 0.0)
        if not unmarked.any():
            return gradient
        scale = self.strength * self.squared_ / self.n_
        return gradient + scale * penalty_gradient(x, w, p, unmarked)


def penalty_gradient(
    x: np.ndarray, w: np.ndarray, p: np.ndarray, unmarked: np.ndarray
) -> np.ndarray:
    """Return the gradient of sum_j A_j g_j^2 by the weights.

    With a_c = 1 - K p_c, g = w a. The weights change g themselves, and through p.

    Parameters
    ----------
    x : ndarray of shape (d,)
        The sample.
    w : ndarray of shape (d, K)
        The weights.
    p : ndarray of shape (K,)
        The softmax of its scores.
    unmarked : ndarray of shape (d,)
        A_j.
    """
    n_classes = len(p)
    a = 1 - n_classes * p
    held = unmarked * (w @ a)
    through_p = held @ w
    through_p = -n_classes * p * (through_p - p @ through_p)
    return 2 * (np.multiply.outer(held, a) + np.multiply.outer(x, through_p))
