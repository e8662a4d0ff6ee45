"""The paper's generalisation bound, as printed, beside a number that has no scale.

    L <= L^ + 2 |w*| max_i sqrt(|x_i|_{S_i^-1}) sqrt(2/n) + M sqrt(log(1/delta) / (2n))

As printed it has slips: sqrt(|x|) is not homogeneous, theorem and proof differ by a factor of 2, L^ is a sum where L
is a mean, and scaling relevance down improves it for free, which class-soft's normalisation does. So no conclusion
is rested on it. The ratio max|r*x| / max|x|, with relevance scaled to a largest value of 1, says without these how
much of the samples' length annotations leave.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from rsbench.core.measures import hinge, margins

#: The bound is to hold with probability 1 - DELTA.
DELTA = 0.05


def bound(
    learner: Any, blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray | None]]
) -> dict[str, float]:
    """The bound as printed and the ratio; nothing for a learner that is not linear.

    `blocks` are the samples learned from, so many at a time: features, labels and relevance. For w* stand the learned
    weights, for M the largest loss among the samples.
    """
    W = getattr(learner, "coef_", None)
    if not isinstance(W, np.ndarray) or W.ndim != 2 or len(W) != len(learner.classes_):
        return {}
    n, total, worst, length, scaled, largest = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    for X, y, R in blocks:
        if W.shape[1] != X.shape[1]:
            return {}
        loss = hinge(margins(learner.decision_function(X), y, len(W)))
        n, total, worst = n + len(X), total + loss.sum(), max(worst, loss.max())
        length = max(length, np.linalg.norm(X, axis=1).max())
        scaled = max(scaled, np.linalg.norm(X if R is None else R * X, axis=1).max())
        largest = max(largest, 1.0 if R is None else R.max())
    complexity = 2 * np.linalg.norm(W) * math.sqrt(scaled) * math.sqrt(2 / n)
    return {
        "as_printed": float(
            total + complexity + worst * math.sqrt(math.log(1 / DELTA) / (2 * n))
        ),
        "scale_free_ratio": float(scaled / largest / length) if length > 0 else 0.0,
    }
