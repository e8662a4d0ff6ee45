"""The one loop behind every linear learner whose step is W[c] += tau * v."""

from collections.abc import Callable

import numpy as np


def learn(
    W: np.ndarray,
    y: np.ndarray,
    score: np.ndarray,
    step: np.ndarray,
    predict: np.ndarray,
    tau: Callable[[float, float], float],
) -> np.ndarray:
    """Update `W` (classes x features) in place, one sample after the other.

    `score[i]` is what the learner scores to find its loss, `step[i]` the direction in which it
    moves, `predict[i]` the sample as it would be at test time. Their product `score[i] @ step[i]`
    is the squared norm of the scaled sample for every learner of the family, and all that `tau`
    needs beside the loss. The hardest negative is taken over all classes; ties go to the lowest.

    Returns the margins of the predictions made before each update: the true class's score less
    the best other one's, on features without annotations.
    """
    margins = np.empty(len(y))
    shared = predict is score
    for i, pos in enumerate(y):
        scores = W @ score[i]
        neg, margin = hardest(scores, pos)
        margins[i] = margin if shared else hardest(W @ predict[i], pos)[1]
        loss = 1.0 - margin
        if loss > 0:
            t = tau(loss, float(score[i] @ step[i]))
            W[pos] += t * step[i]
            W[neg] -= t * step[i]
    return margins


def hardest(scores: np.ndarray, pos: int) -> tuple[int, float]:
    """The hardest negative class and the true class's margin over it."""
    true, scores[pos] = float(scores[pos]), -np.inf
    neg = int(scores.argmax())
    return neg, true - float(scores[neg])
