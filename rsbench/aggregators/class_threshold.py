"""Features that enough of a class's annotators agree on, as a hard mask."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from rsbench.aggregators.class_votes import ClassVotes, Scope
from rsbench.core.components import fresh
from rsbench.errors import UserError, is_number


class ClassThreshold(ClassVotes):
    """Give 1 to features with more than `theta` votes in the class, 0 to the others.

    Parameters
    ----------
    theta : int, float or "auto", default "auto"
        The threshold, strictly exceeded; `auto` chooses 0..9 in each seed's training
        pool.
    scale_theta : bool, default True
        Whether a theta chosen automatically grows with the number of samples that
        could vote.
    scope : {"teacher", "seen"}, default "teacher"
        Whose votes count: the whole training pool's, or those of samples so far.
    irrelevant : float, default 1e-10
        The least relevance, in place of zero.

    Attributes
    ----------
    theta_ : int or None
        What `tune` chose.

    Examples
    --------
    >>> import numpy as np
    >>> votes, y = np.array([[1, 1], [1, 0], [1, 0], [1, 0]]), np.zeros(4, int)
    >>> aggregator = ClassThreshold(theta=1, irrelevant=0.1).fit(votes, y)
    >>> aggregator.relevance(votes[:1], y[:1])
    array([[1. , 0.1]])
    """

    #: What `theta: auto` tries.
    CANDIDATES = range(10)
    #: Samples per class that it learns from, and as many that it validates on.
    TUNING_SAMPLES = 10

    theta_: int | None = None

    def __init__(
        self,
        theta: int | float | Literal["auto"] = "auto",
        scale_theta: bool = True,
        scope: Scope = "teacher",
        irrelevant: float = 1e-10,
    ):
        super().__init__(scope, irrelevant)
        self.theta = theta
        self.scale_theta = scale_theta

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        if self.theta == "auto":
            return
        # Not `theta < 0`, which NaN would pass.
        if not is_number(self.theta) or not self.theta >= 0:
            raise UserError(
                f"ClassThreshold: theta={self.theta!r}, "
                "expected a number from 0 on, or auto"
            )

    def tune(
        self, validate: Callable[["ClassThreshold", int], float]
    ) -> dict[str, float]:
        """Choose theta by validation error, the smaller among equals.

        Parameters
        ----------
        validate : callable
            `validate(candidate, n)` learns from `n` samples per class of the training
            pool with the candidate's relevance, and returns the error on the next `n`.

        Returns
        -------
        dict of str to float
            What was chosen; empty if theta is given.
        """
        if self.theta != "auto":
            return {}
        errors = []
        for theta in self.CANDIDATES:
            # Unscaled: among TUNING_SAMPLES of each class the factor is 1 anyway.
            candidate = fresh(self, theta=theta, scale_theta=False)
            errors.append(validate(candidate, self.TUNING_SAMPLES))
        # `argmin` takes the first of equals, the smaller theta.
        self.theta_ = self.CANDIDATES[int(np.argmin(errors))]
        return {"theta": self.theta_}

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        if self.theta != "auto":
            return (votes > self.theta).astype(np.float64)
        if self.theta_ is None:
            raise UserError(
                "ClassThreshold: theta=auto needs tune() first; "
                "outside a run give theta a number"
            )
        threshold: float | np.ndarray = self.theta_
        if self.scale_theta:
            # Chosen on TUNING_SAMPLES votes per class, where here there may be more.
            threshold = self.theta_ * (samples / self.TUNING_SAMPLES)
        return (votes > threshold).astype(np.float64)
