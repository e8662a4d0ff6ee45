"""The paper's generalisation bound, as printed, beside a number that has no scale.

    L <= L^ + 2 |w*| max_i sqrt(|x_i|_{S_i^-1}) sqrt(2/n) + M sqrt(log(1/delta) / (2n))

As printed it has slips: sqrt(|x|) is not homogeneous, theorem and proof differ by a
factor of 2, L^ is a sum where L is a mean, and scaling relevance down improves it for
free, which class-soft's normalisation does. So no conclusion is rested on it. The ratio
max|r*x| / max|x|, with relevance scaled to a largest value of 1, says without these how
much of the samples' length annotations leave.
"""

import math
from typing import Any

import numpy as np

from rsbench.core.sparse import is_sparse, row_sums, with_values

#: The bound is to hold with probability 1 - DELTA.
DELTA = 0.05


class Bound:
    """Gather along the stream what the bound is made of.

    For w* stand the weights at the end. L^ is the sum of the losses suffered along the
    stream, each before its update, and M the largest of them: no second pass is made.
    """

    def __init__(self) -> None:
        self._n = 0
        self._total_loss = 0.0
        self._largest_loss = 0.0
        self._longest = 0.0
        self._longest_scaled = 0.0
        self._largest_relevance = 0.0

    def see(self, X: Any, R: Any, losses: np.ndarray) -> None:
        """Take note of samples, their relevance and the losses suffered on them.

        Features are dense or sparse, and relevance, if there is any, like them.
        """
        self._n += X.shape[0]
        self._total_loss += float(losses.sum())
        self._largest_loss = max(self._largest_loss, float(losses.max()))
        # Without relevance S is the identity: all features count in full.
        scaled = X
        largest_relevance = 1.0
        if R is not None:
            scaled = _scaled(X, R)
            largest_relevance = float(R.max())
        self._longest = max(self._longest, _longest_row(X))
        self._longest_scaled = max(self._longest_scaled, _longest_row(scaled))
        self._largest_relevance = max(self._largest_relevance, largest_relevance)

    def value(self, W: np.ndarray) -> dict[str, float]:
        """Return the bound as printed and the ratio, for the weights at the end."""
        n = self._n
        # The root of a norm, not of its square: one of the slips, kept as printed.
        length = math.sqrt(self._longest_scaled)
        complexity = 2 * float(np.linalg.norm(W)) * length * math.sqrt(2 / n)
        confidence = self._largest_loss * math.sqrt(math.log(1 / DELTA) / (2 * n))
        # Samples of zeros alone have no length to leave any of.
        ratio = 0.0
        if self._longest > 0:
            ratio = self._longest_scaled / self._largest_relevance / self._longest
        return {
            "as_printed": self._total_loss + complexity + confidence,
            "scale_free_ratio": ratio,
        }


def _scaled(X: Any, R: Any) -> Any:
    """Return samples scaled by their relevance, value by value."""
    if is_sparse(X):
        return with_values(X, R.data * X.data)
    return R * X


def _longest_row(X: Any) -> float:
    if is_sparse(X):
        return float(np.sqrt(row_sums(X, np.square(X.data)).max(initial=0.0)))
    return float(np.linalg.norm(X, axis=1).max())
