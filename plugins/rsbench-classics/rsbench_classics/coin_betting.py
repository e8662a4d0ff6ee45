"""Coin betting: online learning with nothing to tune."""

from typing import Any

import numpy as np

from rsbench.learners import OneByOne, by_feature, hardest_negative


class CoinBetting(OneByOne):
    """Bet a share of what was won so far, on the sum of all gradients.

    The weights before sample t are

        W_t = (1 + sum_i <c_i, W_i>) / t  sum_i c_i       over samples i < t

    where c_i, minus the gradient of the hinge loss, is x for the true class and -x for
    the hardest other one if the margin was below one, else zero; both divided by the
    largest sqrt(2) |x| so far, so that no c is longer than one. The factor in brackets
    is the money of somebody who starts with one and bets W_i on each outcome c_i; the
    share is that of Krichevsky and Trofimov. The regret is, but for logarithms, that of
    gradient descent with the best rate in hindsight.

    References
    ----------
    Orabona, Pál, "Coin Betting and Parameter-Free Online Learning", NeurIPS 2016.

    Attributes
    ----------
    sums_ : ndarray of shape (K, d)
        The sum of all c.
    money_ : float
        What was won so far, with the first unit.
    n_ : int
        The number of samples so far.
    length_ : float
        The largest sqrt(2) |x|.
    """

    sums_: np.ndarray
    money_: float
    n_: int
    length_: float

    def _init(self, n_classes: int, X: Any) -> None:
        self.sums_ = by_feature(n_classes, X.shape[1])
        self.money_ = 1.0
        self.n_ = 0
        self.length_ = 0.0

    def _step(self, x: np.ndarray, features: Any, pos: int) -> np.ndarray:
        sums = self.sums_.T
        bet = (x @ sums[features]) * self._share()
        # Before its length is taken note of: so a test sample would be scored.
        scores = bet / self._unit()
        self.length_ = max(self.length_, float(np.sqrt(2 * (x @ x))))
        self.n_ += 1
        neg, margin = hardest_negative(bet / self._unit(), pos)
        if margin < 1:
            outcome = x / self._unit()
            # The product of bet and outcome.
            self.money_ += margin
            sums[features, pos] += outcome
            sums[features, neg] -= outcome
        return scores

    def _share(self) -> float:
        """Return what the weights are to the sum of outcomes."""
        return self.money_ / (self.n_ + 1)

    def _unit(self) -> float:
        """Return what samples are divided by; one while all of them were zero."""
        return self.length_ or 1.0

    def _scores(self, X: Any) -> np.ndarray:
        return (X @ self.sums_.T) * (self._share() / self._unit())
