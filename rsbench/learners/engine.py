"""The one loop behind every linear learner whose step is W[c] += tau * v.

Learning one sample at a time reads all of W for each sample. Here a block of samples is scored with one matrix
product. A step of sample i changes the scores of a later sample j by tau * (step_i . score_j), and only those of two
classes: a small Gram matrix keeps the block's scores right. But for rounding, the result is that of one at a time.
"""

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Tau = Callable[[float, float], float]
_SMALL, _LARGE = 125_000, 1_000_000  # weights, by measurement


def learn(
    W: Array,
    y: Array,
    score: Array,
    step: Array,
    predict: Array,
    tau: Tau,
    block: int | None = None,
) -> Array:
    """Update `W` (classes x features) in place, one sample after the other.

    `score[i]` is what the learner scores to find its loss, `step[i]` the direction in which it moves, `predict[i]` the
    sample as it would be at test time. `score[i] @ step[i]` is the squared norm of the scaled sample for every learner
    of the family, and all that `tau` needs beside the loss. The hardest negative is taken over all classes; ties go to
    the lowest. Samples are taken `block` at a time, which changes nothing but the speed.
    Returns the true class's margin over the best other before each update, on features without annotations.
    """
    size = min(block or block_size(W, len(y)), len(y))
    size = -(-len(y) // -(-len(y) // size))  # no small rest
    step = step.astype(np.float64, copy=False) if W.dtype == np.float64 else step
    if size == 1:
        return _one_by_one(W, y, score, step, predict, tau)
    norms = (
        _norms(W)
        if W.dtype == np.float64 and W.size >= _LARGE and (block or len(y) >= 32)
        else np.empty(0)
    )
    margins: list[float] = []
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        along, length = _in_precision_of(W, step[rows])
        kind = _kind(W, along, norms)
        scores = kind(W, score[rows], along, norms)
        shown = scores if predict is score else kind(W, predict[rows], along, norms)
        margins += _steps(scores, shown, y[rows], length, tau)
        scores.finish()
    return np.array(margins)


def block_size(W: Array, n: int) -> int:
    """How many of n samples to take at a time, by measurement (docs/speed.md); one, where W stays in the cache."""
    classes, features = W.shape
    if (
        n < 16
        or (classes < 100 and features > 40 * classes)
        or (not _has_few(W) and W.nbytes < 600_000)
    ):
        return 1
    return (
        min(64, max(16, classes))
        if W.size < 500_000
        else min(256, max(96, classes // 4))
    )


def _has_few(W: Array) -> bool:
    return W.size < _SMALL and len(W) <= 200


def _one_by_one(
    W: Array, y: Array, score: Array, step: Array, predict: Array, tau: Tau
) -> Array:
    """The plain loop, which blocks are to equal."""
    margins = []
    for pos, x, v, shown in zip(y.tolist(), score, step, predict, strict=True):
        neg, margin = _hardest(W @ x, pos)
        margins.append(margin if predict is score else _hardest(W @ shown, pos)[1])
        if margin < 1:
            change = tau(1.0 - margin, float(x @ v)) * v
            W[pos] += change
            W[neg] -= change
    return np.array(margins)


def _hardest(scores: Array, pos: int) -> tuple[int, float]:
    """The hardest negative class and the true class's margin over it; the true class's score is lost."""
    true, scores[pos] = scores.item(pos), -np.inf
    neg = int(scores.argmax())
    return neg, true - scores.item(neg)


def _steps(
    scores: "_Scores", shown: "_Scores", y: Array, length: list[float], tau: Tau
) -> list[float]:
    """A block's steps, and the margins of what is shown before each."""
    squared_norms = (scores.gram.diagonal() * length).tolist()
    margins, both = [], {scores, shown}
    for i, pos in enumerate(y.tolist()):
        neg, margin = scores.hardest(i, pos)
        margins.append(margin if shown is scores else shown.hardest(i, pos)[1])
        if margin < 1:
            t = tau(1.0 - margin, squared_norms[i]) * length[i]
            for kept in both:
                kept.step(i, pos, neg, t, kept is scores)
    return margins


class _Scores:
    """Scores of a block's samples by W, corrected for all later samples at each step."""

    def __init__(self, W: Array, X: Array, along: Array, norms: Array):
        self.W, self.X, self.along, self.norms = W, np.asarray(X, W.dtype), along, norms
        self.gram = (
            self.X @ along.T
        )  # [j, i]: what a step of one by sample i adds to the scores of sample j
        self.scores, self.rise, self.fall = self._at_first()

    def _at_first(self) -> tuple[Array, Array, Array]:
        """Scores by W, and what a step of one by sample i (rows) adds to those of pos and takes from those of neg."""
        return self.X @ self.W.T, self.gram.T, self.gram.T

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        """The hardest negative class of a sample at its turn, and the true class's margin over it."""
        return _hardest(self.scores[i], pos)

    def step(self, i: int, pos: int, neg: int, t: float, write: bool) -> None:
        """Correct for a step, by t times the sample's, and write it: to W at once, or when the block is finished."""
        if write:
            change = self.along[i] * t
            self.W[pos] += change
            self.W[neg] -= change
        rise, fall = (self.rise, self.fall) if t > 0 else (self.fall, self.rise)
        later = self.scores[i + 1 :, pos]
        later += rise[i, i + 1 :] * t
        later = self.scores[i + 1 :, neg]
        later -= fall[i, i + 1 :] * t

    def finish(self) -> None:
        self.norms[:] = (
            _norms(self.W) if len(self.norms) else ()
        )  # for a later block that has bounds


class _FewScores(_Scores):
    """Of few classes: summing up all steps at a sample's turn, and at the end, takes fewer calls."""

    def _at_first(self) -> tuple[Array, Array, Array]:
        self.steps = np.zeros((len(self.W), len(self.X)), self.W.dtype)
        return super()._at_first()

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        return _hardest(self.scores[i] + self.steps.dot(self.gram[i]), pos)

    def step(self, i: int, pos: int, neg: int, t: float, write: bool) -> None:
        self.steps[pos, i], self.steps[neg, i] = t, -t

    def finish(self) -> None:
        self.W += self.steps @ self.along


class _Bounds(_Scores):
    """Upper bounds of the scores from a product in single precision; in double, only the scores they leave open.

    Rounding puts a sum in single precision off by at most `slack` times the norms of sample and weights. With that
    added, classes are scored from the highest bound down, until no bound reaches the best score.
    """

    def _at_first(self) -> tuple[Array, Array, Array]:
        n, d = self.X.shape
        slack = (
            1.1 * (d + 2 * n + 16) * 2.0**-24
        )  # the sum has d terms, and one for each step
        norms = _norms(self.X)
        self.moved, self.length = set[int](), np.where(norms > 1e-150, norms, 1.0)
        X = np.empty((n, d + 1), np.float32)
        X[:, :-1], X[:, -1] = self.X / self.length[:, None], slack * (norms > 0)
        bounds = np.empty((n, len(self.W)), np.float32)
        for part in (
            slice(at, at + 512) for at in range(0, len(self.W), 512)
        ):  # to stay in the cache
            W = np.empty((len(self.W[part]), d + 1), np.float32)
            W[:, :-1], W[:, -1] = self.W[part], self.norms[part]
            np.matmul(X, W.T, out=bounds[:, part])
        change, spare = (
            (self.gram / self.length[:, None]).T,
            slack * _norms(self.along)[:, None],
        )
        return (
            bounds,
            (change + spare).astype(np.float32),
            (change - spare).astype(np.float32),
        )

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        bounds, length, x, best, neg = (
            self.scores[i],
            self.length.item(i),
            self.X[i],
            -np.inf,
            -1,
        )
        bounds[pos] = -np.inf
        for _ in range(8):
            c = int(bounds.argmax())
            bound, score, bounds[c] = (
                bounds.item(c) * length,
                float(self.W[c] @ x),
                -np.inf,
            )
            if score > best or (score == best and c < neg):
                best, neg = score, c
            # Where the bound is the score itself, as with weights of zero, its equals come after it.
            if score == bound or float(bounds.max()) * length < best:
                return neg, float(self.W[pos] @ x) - best
        return _hardest(self.W @ x, pos)

    def step(self, i: int, pos: int, neg: int, t: float, write: bool) -> None:
        super().step(i, pos, neg, t, write)
        if (
            not abs(t) < 1e20
        ):  # more than single precision has room for: nothing is known of these
            self.scores[i + 1 :, [pos, neg]] = np.inf
        self.moved |= {pos, neg}

    def finish(self) -> None:
        self.norms[list(self.moved)] = _norms(self.W[list(self.moved)])


def _kind(W: Array, along: Array, norms: Array) -> type[_Scores]:
    bounded = len(norms) and all(
        ((n == 0) | (n > 1e-25) & (n < 1e15)).all() for n in (norms, _norms(along))
    )
    return _FewScores if _has_few(W) else _Bounds if bounded else _Scores


def _norms(rows: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _in_precision_of(W: Array, step: Array) -> tuple[Array, list[float]]:
    """Steps in W's precision, and what to multiply them by: squared relevance can be too small for single precision."""
    if step.dtype == W.dtype:
        return step, [1.0] * len(step)
    length = np.abs(step).max(axis=1)
    length[length == 0] = 1.0
    return (step / length[:, None]).astype(W.dtype), length.tolist()
