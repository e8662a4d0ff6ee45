"""Blocks for large weights: cheap upper bounds first, exact scores only where needed.

The hardest negative is one class of thousands, and a product in single precision, at
half the price, nearly always tells which. "Nearly" is not enough, so it is made to
tell surely: rounding puts such a sum off by at most `slack` times the norms of sample
and weights, and with that added every score becomes an upper bound. Classes are then
scored in double precision from the highest bound down, until no bound reaches the best
score found: mostly that is one class. So class and margin are double precision's own.
"""

import functools
from collections.abc import Callable

import numpy as np

from rsbench.learners.blocked import (
    BlockScores,
    CorrectedScores,
    blocks_of,
    learn_block,
)
from rsbench.learners.negatives import hardest_negative

#: The relative error of one rounding in single precision.
_UNIT_ROUNDOFF = 2.0**-24
#: After so many classes scored one by one, a product with all of them is cheaper.
_MOST_CANDIDATES = 8
#: Classes per product, so that their single-precision copy stays in the cache.
_CLASSES_AT_A_TIME = 512
#: Norms that leave single precision room for products, sums and slack; it ends at
#: 1e38, and loses digits below 1e-38.
_SMALLEST_NORM = 1e-25
_LARGEST_NORM = 1e15
#: Steps longer than this could leave single precision within a block.
_LONGEST_STEP = 1e20


class BoundedScores(BlockScores):
    """Keep upper bounds of the scores, and find the hardest negative by them.

    Bounds are of samples scaled to a norm of one, which single precision has room for.

    Parameters
    ----------
    W, X, along : ndarray
        As for `BlockScores`, in double precision.
    norms : ndarray of shape (K,)
        The norms of the weights, which `finish` brings up to date.
    """

    def __init__(
        self, W: np.ndarray, X: np.ndarray, along: np.ndarray, norms: np.ndarray
    ):
        super().__init__(W, X, along)
        self.norms = norms
        self.moved: set[int] = set()
        n, d = self.X.shape
        # A bound is a sum of d products, then corrected up to n times, with two
        # roundings each. The 16 and the tenth are for conversions and higher orders.
        slack = 1.1 * (d + 2 * n + 16) * _UNIT_ROUNDOFF
        sample_norms = row_norms(self.X)
        # Samples that are next to nothing cannot be scaled to one, and need not be.
        self.length = np.where(sample_norms > 1e-150, sample_norms, 1.0)
        self.bounds = self._bounds_by_weights(slack * (sample_norms > 0))
        # What a step of one by sample i (rows) adds to scores: at most, and at least.
        change = (self.gram / self.length[:, None]).T
        spare = slack * row_norms(along)[:, None]
        self.most = (change + spare).astype(np.float32)
        self.least = (change - spare).astype(np.float32)

    def _bounds_by_weights(self, slack: np.ndarray) -> np.ndarray:
        """Return upper bounds of the scores by the weights before the block, (n, K)."""
        n, d = self.X.shape
        # One column more makes the product add slack times the norm of the weights.
        X = np.empty((n, d + 1), np.float32)
        X[:, :-1] = self.X / self.length[:, None]
        X[:, -1] = slack
        bounds = np.empty((n, len(self.W)), np.float32)
        for start in range(0, len(self.W), _CLASSES_AT_A_TIME):
            part = slice(start, start + _CLASSES_AT_A_TIME)
            W = np.empty((len(self.W[part]), d + 1), np.float32)
            W[:, :-1] = self.W[part]
            W[:, -1] = self.norms[part]
            np.matmul(X, W.T, out=bounds[:, part])
        return bounds

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        """Score classes from the highest bound down, until no other can be higher."""
        x = self.X[i]
        length = self.length.item(i)
        bounds = self.bounds[i]
        bounds[pos] = -np.inf
        best = -np.inf
        neg = -1
        for _ in range(_MOST_CANDIDATES):
            c = int(bounds.argmax())
            bound = bounds.item(c) * length
            bounds[c] = -np.inf
            score = float(self.W[c] @ x)
            if score > best or (score == best and c < neg):
                best = score
                neg = c
            # A bound that is the score itself, as with weights of zero, was the highest
            # and of the lowest class: classes level with it come after it.
            if score == bound or float(bounds.max()) * length < best:
                return neg, float(self.W[pos] @ x) - best
        return hardest_negative(self.W @ x, pos)

    def correct(self, i: int, pos: int, neg: int, t: float) -> None:
        """Raise the bounds of `pos` by no less, and lower those of `neg` by no more."""
        if t > 0:
            rise = self.most[i, i + 1 :]
            fall = self.least[i, i + 1 :]
        else:
            rise = self.least[i, i + 1 :]
            fall = self.most[i, i + 1 :]
        later = self.bounds[i + 1 :, pos]
        later += rise * t
        later = self.bounds[i + 1 :, neg]
        later -= fall * t
        if not abs(t) < _LONGEST_STEP:
            # Nothing is known of these any more, so they are always looked at.
            self.bounds[i + 1 :, [pos, neg]] = np.inf
        self.moved |= {pos, neg}

    def finish(self) -> None:
        moved = list(self.moved)
        self.norms[moved] = row_norms(self.W[moved])


def learn_with_bounds(
    W: np.ndarray,
    y: np.ndarray,
    score: np.ndarray,
    step: np.ndarray,
    predict: np.ndarray,
    tau: Callable[[float, float], float],
    size: int,
) -> np.ndarray:
    """Update double-precision weights in place, `size` samples at a time, by bounds.

    The other parameters and the result are those of `rsbench.learners.engine.learn`.
    """
    norms = row_norms(W)
    margins: list[float] = []
    for block in blocks_of(W, y, score, step, predict, size):
        if _has_room(norms) and _has_room(row_norms(block.along)):
            by_bounds = functools.partial(BoundedScores, norms=norms)
            margins += learn_block(W, block, tau, by_bounds)
        else:
            margins += learn_block(W, block, tau, CorrectedScores)
            norms = row_norms(W)
    return np.array(margins)


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm of each row."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _has_room(norms: np.ndarray) -> bool:
    """Tell whether single precision can hold vectors of these norms."""
    fits = (norms > _SMALLEST_NORM) & (norms < _LARGEST_NORM)
    return bool((fits | (norms == 0)).all())
