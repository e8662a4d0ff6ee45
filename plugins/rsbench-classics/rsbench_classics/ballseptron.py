"""The Ballseptron: a mistake anywhere in a ball around the sample counts."""

from typing import Any, ClassVar

import numpy as np

from rsbench import UserError
from rsbench.learners import OneByOne, hardest_negative


class Ballseptron(OneByOne):
    """Learn from the point of a ball around each sample that is farthest on the wrong
    side.

    With dw = w_pos - w_neg against the hardest other class and a ball of radius r:

        dw.x <= 0              step by x, as the perceptron does
        dw.x / |dw| <= r       step by x - r dw / |dw|, where the margin is least
        else                   stay

    The original has two classes and one weight vector w in place of dw.

    Parameters
    ----------
    radius : float
        Of the ball, in units of the mean norm of samples so far.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        The weights.

    References
    ----------
    Shalev-Shwartz, Singer, "A New Perspective on an Old Perceptron Algorithm", COLT
    2005.
    """

    # The point that it learns from has a value for every feature.
    takes_sparse = False
    grid: ClassVar = {"radius": (0.01, 0.03, 0.1, 0.3)}

    coef_: np.ndarray

    def __init__(self, radius: float = 0.1):
        self.radius = radius

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        if not self.radius >= 0:
            raise UserError(f"Ballseptron: radius={self.radius}, expected 0 or more")

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        self.coef_ = np.zeros((n_classes, X.shape[1]))
        self.n_ = 0
        self.length_ = 0.0

    def _step(self, x: np.ndarray, features: Any, pos: int) -> np.ndarray:
        self.n_ += 1
        self.length_ += float(np.linalg.norm(x))
        radius = self.radius * self.length_ / self.n_
        scores = self.coef_ @ x
        neg, margin = hardest_negative(scores.copy(), pos)
        point = None
        if margin <= 0:
            point = x
        else:
            difference = self.coef_[pos] - self.coef_[neg]
            norm = float(np.linalg.norm(difference))
            if margin <= radius * norm:
                point = x - (radius / norm) * difference
        if point is not None:
            self.coef_[pos] += point
            self.coef_[neg] -= point
        return scores

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return X @ self.coef_.T
