"""Generalised distillation: imitate a teacher who knows the votes."""

from typing import ClassVar

import numpy as np

from rsbench import UserError
from rsbench.errors import check_positive
from rsbench.learners import Logistic
from rsbench_whys.concepts import KeptVotes, ridge


class Distillation(KeptVotes):
    """Regress on features the labels, and what a teacher makes of votes, in a mixture.

    1. A teacher, multinomial logistic regression, learns classes from votes.
    2. It softens the labels of annotated samples: s_i = softmax(f(z_i) / temperature).
    3. A student learns from features by ridge regression:

        min over W, b of sum_i (1 - imitation) |y_i - W x_i - b|^2
                              + imitation |s_i - W x_i - b|^2 + alpha_ |W|^2

    Where nobody was asked s_i is y_i, and this is a ridge regression. The original has
    any loss in place of squares; with these the student is that of `Ridge` (which
    measures its penalty less often), and what a gain comes from is not confounded with
    the learner.

    Parameters
    ----------
    alpha : float
        The student's penalty, in units of the features' total variance.
    imitation : float
        How much the teacher counts, from 0 to 1.
    temperature : float
        How much the teacher's probabilities are softened.
    alpha_teacher : float
        The teacher's penalty, in units of the votes' total variance.

    References
    ----------
    Lopez-Paz, Bottou, Schölkopf, Vapnik, "Unifying Distillation and Privileged
    Information", ICLR 2016, Section 4.
    """

    grid: ClassVar = {"alpha": (0.04, 0.2, 1.0), "imitation": (0.2, 0.5, 0.8)}

    def __init__(
        self,
        alpha: float = 0.2,
        imitation: float = 0.5,
        temperature: float = 2.0,
        alpha_teacher: float = 0.01,
    ):
        self.alpha = alpha
        self.imitation = imitation
        self.temperature = temperature
        self.alpha_teacher = alpha_teacher

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_positive(self, "alpha")
        check_positive(self, "temperature")
        check_positive(self, "alpha_teacher")
        if not 0 <= self.imitation <= 1:
            raise UserError(
                f"Distillation: imitation={self.imitation}, expected 0 to 1"
            )

    def refit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit teacher and student to all samples so far."""
        targets = np.zeros((len(y), len(self.classes_)))
        targets[np.arange(len(y)), y] = 1.0
        Z, asked = self._annotated()
        if self.imitation > 0 and len(np.unique(y[asked])) > 1:
            soft = self._softened(Z, y[asked])
            targets[asked] += self.imitation * (soft - targets[asked])
        self.weights_, self.mean_, self.shares_ = ridge(
            X.astype(np.float64, copy=False), targets, self.alpha
        )

    def _softened(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return what a teacher makes of annotated samples, (n, K)."""
        from scipy.special import softmax

        known = np.unique(y)
        teacher = Logistic(self.alpha_teacher).fit(Z, y)
        scores = teacher.decision_function(Z)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        soft = np.zeros((len(y), len(self.classes_)))
        soft[:, known] = softmax(scores / self.temperature, axis=1)
        return soft

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.weights_ + self.shares_
