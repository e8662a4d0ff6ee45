"""The paper's generalisation bound, as printed, beside a number that has no scale.

    L <= L^ + 2 |w*| max_i sqrt(|x_i|_{S_i^-1}) sqrt(2/n) + M sqrt(log(1/delta) / (2n))

As printed it has slips: sqrt(|x|) is not homogeneous, theorem and proof differ by a factor of 2, L^ is a sum where L
is a mean, and scaling relevance down improves it for free, which class-soft's normalisation does. So no conclusion
is rested on it. The ratio max|r*x| / max|x|, with relevance scaled to a largest value of 1, says without these how
much of the samples' length annotations leave.
"""

import math
from typing import Any

import numpy as np

from rsbench.measures import hinge, margins

#: The bound is to hold with probability 1 - DELTA.
DELTA = 0.05


def bound(learner: Any, X: np.ndarray, y: np.ndarray, R: np.ndarray | None) -> dict[str, float]:
    """The bound as printed and the ratio, for the samples learned from; nothing for a learner that is not linear.

    For w* stand the learned weights, for M the largest loss among the samples.
    """
    W = getattr(learner, "coef_", None)
    if not isinstance(W, np.ndarray) or W.shape != (len(learner.classes_), X.shape[1]):
        return {}
    R = np.ones((1, X.shape[1])) if R is None else R
    loss = hinge(margins(learner.decision_function(X), y, len(W)))
    length = np.linalg.norm(X, axis=1).max()
    scaled = np.linalg.norm(R * X, axis=1).max()
    n = len(X)
    complexity = 2 * np.linalg.norm(W) * math.sqrt(scaled) * math.sqrt(2 / n)
    return {
        "as_printed": float(loss.sum() + complexity + loss.max() * math.sqrt(math.log(1 / DELTA) / (2 * n))),
        "scale_free_ratio": float(scaled / R.max() / length) if length > 0 else 0.0,
    }
