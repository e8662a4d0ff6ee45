"""The one loop behind every linear learner, and the choice of how to run it fast.

A learner of this family scores a sample by all K weight vectors, finds the hardest
negative class and, if the margin over it is below one, moves two of them:

    W[pos] += tau * v        W[neg] -= tau * v

`learn_one_by_one` says so plainly. `blocked` and `bounded` come to the same weights,
but for rounding, with fewer passes over `W`; `learn` picks a way by the shape of `W`.
"""

from collections.abc import Callable

import numpy as np

from rsbench.learners.blocked import CorrectedScores, SummedScores, learn_in_blocks
from rsbench.learners.bounded import learn_with_bounds
from rsbench.learners.negatives import hardest_negative

# All sizes are by measurement over a grid of 2 to 10,000 classes and 16 to 20,000
# features; docs/speed.md has the figures.
#: Up to here, summing all steps up again takes less than correcting scores.
_SMALL_WEIGHTS = 125_000
_SMALL_CLASSES = 200
#: From here on a product in single precision, and what it leaves open, is cheaper.
_LARGE_WEIGHTS = 1_000_000
#: Fewer samples than this do not pay for their block's Gram matrix.
_FEWEST_FOR_BLOCKS = 16
#: Fewer samples than this do not pay for the norms of all weights.
_FEWEST_FOR_BOUNDS = 32
#: Weights of up to this size stay in the cache, where the plain loop reads them fast.
_CACHED_BYTES = 600_000


def learn(
    W: np.ndarray,
    y: np.ndarray,
    score: np.ndarray,
    step: np.ndarray,
    predict: np.ndarray,
    tau: Callable[[float, float], float],
) -> np.ndarray:
    """Update the weights in place, one sample after the other, in the fastest way.

    Parameters
    ----------
    W : ndarray of shape (K, d)
        The weights, one row per class.
    y : ndarray of shape (n,)
        The true class of each sample, from 0 to K - 1.
    score : ndarray of shape (n, d)
        What the learner scores to find its loss and the hardest negative.
    step : ndarray of shape (n, d)
        Directions in which the weights move. `score[i] @ step[i]` is the squared norm
        of the scaled sample for every learner of the family.
    predict : ndarray of shape (n, d)
        The samples as they would be at test time, without annotations.
    tau : callable
        How far to step, by the loss and the squared norm. It is called once for each
        sample that has a loss, in order.

    Returns
    -------
    ndarray of shape (n,)
        The true class's margin over the best other before each update, on `predict`.
    """
    size = block_size(W, len(y))
    if size == 1:
        return learn_one_by_one(W, y, score, step, predict, tau)
    if _is_small(W):
        return learn_in_blocks(W, y, score, step, predict, tau, size, SummedScores)
    # In single precision there is no cheaper product to take bounds from.
    is_large = W.size >= _LARGE_WEIGHTS and W.dtype == np.float64
    if is_large and len(y) >= _FEWEST_FOR_BOUNDS:
        return learn_with_bounds(W, y, score, step, predict, tau, size)
    return learn_in_blocks(W, y, score, step, predict, tau, size, CorrectedScores)


def learn_one_by_one(
    W: np.ndarray,
    y: np.ndarray,
    score: np.ndarray,
    step: np.ndarray,
    predict: np.ndarray,
    tau: Callable[[float, float], float],
) -> np.ndarray:
    """Update the weights in place by the plain loop, which the other ways are to equal.

    Parameters and result are those of `learn`.
    """
    if W.dtype == np.float64:
        # tau * v in single precision would round what the weights have room for.
        step = step.astype(np.float64, copy=False)
    margins = []
    for pos, x, v, shown in zip(y.tolist(), score, step, predict, strict=True):
        neg, margin = hardest_negative(W @ x, pos)
        if predict is score:
            margins.append(margin)
        else:
            margins.append(hardest_negative(W @ shown, pos)[1])
        loss = 1.0 - margin
        if loss > 0:
            change = tau(loss, float(x @ v)) * v
            W[pos] += change
            W[neg] -= change
    return np.array(margins)


def block_size(W: np.ndarray, n: int) -> int:
    """Return how many of n samples to take at a time; one where the plain loop is best.

    Blocks gain nothing where the weights stay in the cache anyway, and grow with the
    number of classes, whose scores they spare.
    """
    classes, features = W.shape
    few_long_rows = classes < 100 and features > 40 * classes
    stays_in_cache = not _is_small(W) and W.nbytes < _CACHED_BYTES
    if n < _FEWEST_FOR_BLOCKS or few_long_rows or stays_in_cache:
        return 1
    if W.size < 500_000:
        return min(64, max(16, classes))
    # Reading so many weights takes longer than anything done within a block.
    return min(256, max(96, classes // 4))


def _is_small(W: np.ndarray) -> bool:
    """Tell whether scores of all classes cost no more than a call or two."""
    return W.size < _SMALL_WEIGHTS and len(W) <= _SMALL_CLASSES
