"""The plain loop in blocks: one matrix product scores many samples at once.

Learning one sample at a time reads all of `W` for each sample. Here a block of samples
is scored by the weights from before the block. The step of sample i then changes the
score of a later sample j in two classes only, by

    +- t_i * (along_i . x_j)

which is an entry of the block's small Gram matrix. So the block's scores can be kept
right without going back to `W`. But for rounding, the result is the plain loop's.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from rsbench.learners.negatives import hardest_negative


class Block(NamedTuple):
    """Some consecutive samples, with their steps in the precision of the weights."""

    y: np.ndarray
    #: Rows that decide loss and hardest negative, and rows as they are at test time;
    #: one and the same array where the learner makes no difference.
    score: np.ndarray
    predict: np.ndarray
    #: Directions of the steps, and the factor that each was divided by.
    along: np.ndarray
    length: list[float]


class BlockScores:
    """Scores of a block's samples that steps taken within the block keep changing.

    Parameters
    ----------
    W : ndarray of shape (K, d)
        The weights.
    X : ndarray of shape (n, d)
        The samples that are scored.
    along : ndarray of shape (n, d)
        The direction in which each sample would move the weights.
    """

    def __init__(self, W: np.ndarray, X: np.ndarray, along: np.ndarray):
        self.W = W
        self.X = np.asarray(X, W.dtype)
        self.along = along
        # Entry [j, i]: what a step of one by sample i adds to the scores of sample j.
        self.gram = self.X @ along.T

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        """Return the hardest negative of sample i at its turn, and its margin."""
        raise NotImplementedError

    def correct(self, i: int, pos: int, neg: int, t: float) -> None:
        """Let later scores know that sample i moved two classes by t times its step."""
        raise NotImplementedError

    def write(self, i: int, pos: int, neg: int, t: float) -> None:
        """Write the step of sample i to the weights."""
        change = self.along[i] * t
        self.W[pos] += change
        self.W[neg] -= change

    def finish(self) -> None:
        """Do what is left to do when the whole block has been learned from."""


class CorrectedScores(BlockScores):
    """Correct two scores of every later sample at each step."""

    def __init__(self, W: np.ndarray, X: np.ndarray, along: np.ndarray):
        super().__init__(W, X, along)
        self.scores = self.X @ W.T

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        return hardest_negative(self.scores[i], pos)

    def correct(self, i: int, pos: int, neg: int, t: float) -> None:
        change = self.gram[i + 1 :, i] * t
        # In place on a view: `scores[...] += change` would copy the column once more.
        later = self.scores[i + 1 :, pos]
        later += change
        later = self.scores[i + 1 :, neg]
        later -= change


class SummedScores(BlockScores):
    """Sum up all steps so far when a sample's turn comes, and write them at the end.

    With few classes this takes fewer calls than anything done at each step.
    """

    def __init__(self, W: np.ndarray, X: np.ndarray, along: np.ndarray):
        super().__init__(W, X, along)
        self.scores = self.X @ W.T
        # Entry [c, i]: how far sample i has moved class c.
        self.steps = np.zeros((len(W), len(self.X)), W.dtype)

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        return hardest_negative(self.scores[i] + self.steps.dot(self.gram[i]), pos)

    def correct(self, i: int, pos: int, neg: int, t: float) -> None:
        self.steps[pos, i] = t
        self.steps[neg, i] = -t

    def write(self, i: int, pos: int, neg: int, t: float) -> None:
        """Write nothing yet: `finish` writes all steps in one product."""

    def finish(self) -> None:
        self.W += self.steps @ self.along


def learn_in_blocks(
    W: np.ndarray,
    y: np.ndarray,
    score: np.ndarray,
    step: np.ndarray,
    predict: np.ndarray,
    tau: Callable[[float, float], float],
    size: int,
    keep: type[CorrectedScores] | type[SummedScores],
) -> np.ndarray:
    """Update the weights in place, `size` samples at a time.

    `keep` says how scores are kept right within a block. The other parameters and the
    result are those of `rsbench.learners.engine.learn`.
    """
    margins: list[float] = []
    for block in blocks_of(W, y, score, step, predict, size):
        margins += learn_block(W, block, tau, keep)
    return np.array(margins)


def learn_block(
    W: np.ndarray,
    block: Block,
    tau: Callable[[float, float], float],
    keep: Callable[[np.ndarray, np.ndarray, np.ndarray], BlockScores],
) -> list[float]:
    """Update the weights by one block; return the margins from before each update."""
    scores = keep(W, block.score, block.along)
    if block.predict is block.score:
        shown = scores
    else:
        shown = keep(W, block.predict, block.along)
    squared_norms = (scores.gram.diagonal() * block.length).tolist()
    margins = []
    for i, pos in enumerate(block.y.tolist()):
        neg, margin = scores.hardest(i, pos)
        if shown is scores:
            margins.append(margin)
        else:
            margins.append(shown.hardest(i, pos)[1])
        loss = 1.0 - margin
        if loss > 0:
            t = tau(loss, squared_norms[i]) * block.length[i]
            scores.write(i, pos, neg, t)
            scores.correct(i, pos, neg, t)
            if shown is not scores:
                shown.correct(i, pos, neg, t)
    scores.finish()
    return margins


def blocks_of(
    W: np.ndarray,
    y: np.ndarray,
    score: np.ndarray,
    step: np.ndarray,
    predict: np.ndarray,
    size: int,
) -> Iterator[Block]:
    """Yield the samples in blocks of about the same size, none above the one named."""
    # Not 64, 64 and 2: the last block would pay for its products and gain nothing.
    count = math.ceil(len(y) / size)
    size = math.ceil(len(y) / count)
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        along, length = _in_precision_of(W, step[rows])
        scored = score[rows]
        shown = scored if predict is score else predict[rows]
        yield Block(y[rows], scored, shown, along, length)


def _in_precision_of(W: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Return steps in the weights' precision, and what to multiply each one by."""
    if W.dtype == np.float64:
        step = step.astype(np.float64, copy=False)
    if step.dtype == W.dtype:
        return step, [1.0] * len(step)
    # Relevance squared can be too small for single precision, 1e-20 and less: steps
    # are brought to a length of about one, and the length is kept in double.
    length = np.abs(step).max(axis=1)
    length[length == 0] = 1.0
    return (step / length[:, None]).astype(W.dtype), length.tolist()
