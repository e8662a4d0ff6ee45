"""The one loop behind every linear learner whose step is W[c] += tau * v.

Learning one sample at a time reads all of W for each sample. Here a block of samples is scored with one matrix
product. A step of sample i changes the scores of a later sample j by tau * (step_i . score_j), and only those of two
classes: a small Gram matrix keeps the block's scores right, and W is written once, at its end. The result is that of
one sample at a time, but for rounding.
"""

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Tau = Callable[[float, float], float]
_FEW, _LARGE = 150, 1_000_000  # classes, weights: by measurement, as block_size


def learn(W: Array, y: Array, score: Array, step: Array, predict: Array, tau: Tau, block: int | None = None) -> Array:
    """Update `W` (classes x features) in place, one sample after the other.

    `score[i]` is what the learner scores to find its loss, `step[i]` the direction in which it moves, `predict[i]` the
    sample as it would be at test time. `score[i] @ step[i]` is the squared norm of the scaled sample for every learner
    of the family, and all that `tau` needs beside the loss. The hardest negative is taken over all classes; ties go to
    the lowest. Samples are taken `block` at a time, which changes nothing but the speed.

    Returns the true class's margin over the best other before each update, on features without annotations.
    """
    size = min(block or block_size(*W.shape), len(y))
    size = -(-len(y) // -(-len(y) // size))  # no small rest
    if size == 1:
        return _one_by_one(W, y, score, step, predict, tau)
    norms = _norms(W) if W.dtype == np.float64 and W.size >= _LARGE else np.empty(0)
    margins: list[float] = []
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        along, length = _in_precision_of(W, step[rows])
        scores = _scores(W, score[rows], along, norms)
        shown = scores if predict is score else _scores(W, predict[rows], along, norms)
        margins += _steps(scores, shown, y[rows], length, tau)
        scores.write()
    return np.array(margins)


def block_size(classes: int, features: int) -> int:
    """How many samples to take at a time, by measurement (docs/speed.md): more read W less often, but have a larger
    Gram matrix. W of few classes and many features stays in the cache, and blocks gain nothing."""
    if classes < 100 and features > 40 * classes:
        return 1
    return 64 if classes * features < 500_000 else min(256, max(96, classes // 4))


def _one_by_one(W: Array, y: Array, score: Array, step: Array, predict: Array, tau: Tau) -> Array:
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


def _steps(scores: "_Scores", shown: "_Scores", y: Array, length: list[float], tau: Tau) -> list[float]:
    """A block's steps, W left as it is, and the margins of what is shown before each."""
    squared_norms = (scores.gram.diagonal() * length).tolist()
    margins, both = [], {scores, shown}
    for i, pos in enumerate(y.tolist()):
        neg, margin = scores.hardest(i, pos)
        margins.append(margin if shown is scores else shown.hardest(i, pos)[1])
        if margin < 1:
            t = tau(1.0 - margin, squared_norms[i]) * length[i]
            for kept in both:
                kept.step(i, pos, neg, t)
    return margins


class _Scores:
    """Scores of a block's samples by W and the steps since: a step corrects those of all later samples."""

    def __init__(self, W: Array, X: Array, along: Array, norms: Array):
        self.W, self.X, self.along, self.norms = W, X, along, norms
        self.gram = X @ along.T  # [j, i]: what a step of one by sample i adds to the scores of sample j
        self.row: dict[int, int] = {}  # in `taken`, of each class that moved
        self.taken = np.zeros((min(len(W), max(_FEW, 2 * len(X))), len(X)), W.dtype)
        self.scores, self.rise, self.fall = self._at_first()

    def _at_first(self) -> tuple[Array, Array, Array]:
        """Scores by W, and what a step of one by sample i (rows) adds to those of pos and takes from those of neg."""
        return self.X @ self.W.T, self.gram.T, self.gram.T

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        """The hardest negative class of a sample at its turn, and the true class's margin over it."""
        return _hardest(self.scores[i], pos)

    def step(self, i: int, pos: int, neg: int, t: float) -> None:
        """Move the two classes by t times the sample's step."""
        self.taken[self.row.setdefault(pos, len(self.row)), i] = t
        self.taken[self.row.setdefault(neg, len(self.row)), i] = -t
        rise, fall = (self.rise, self.fall) if t > 0 else (self.fall, self.rise)
        later = self.scores[i + 1 :, pos]
        later += rise[i, i + 1 :] * t
        later = self.scores[i + 1 :, neg]
        later -= fall[i, i + 1 :] * t

    def write(self) -> None:
        """Add the steps to W: short ones in one product, long ones class by class, since each has few of them."""
        if self.along.size < 32_768:
            self.W[list(self.row)] += self.taken[: len(self.row)] @ self.along
            return
        for c, row in self.row.items():
            steps = self.taken[row].nonzero()[0]
            self.W[c] += self.taken[row, steps] @ self.along[steps]


class _FewScores(_Scores):
    """Of few classes, each with a row in `taken`: summing up at a sample's turn takes fewer calls."""

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        return _hardest(self.scores[i] + self.taken.dot(self.gram[i]), pos)

    def step(self, i: int, pos: int, neg: int, t: float) -> None:
        self.taken[pos, i] = t
        self.taken[neg, i] = -t

    def write(self) -> None:
        self.W += self.taken @ self.along


class _Bounds(_Scores):
    """Upper bounds of the scores from a product in single precision; in double, only the scores they leave open.

    Rounding puts a sum in single precision off by at most `slack` times the norms of sample and weights. With that
    added, classes are scored from the highest bound down, until no bound reaches the best score.
    """

    def _at_first(self) -> tuple[Array, Array, Array]:
        n, d = self.X.shape
        slack = 1.1 * (d + 2 * n + 16) * 2.0**-24  # the sum has d terms, and one for each step
        X, self.length = np.full((n, d + 1), slack, np.float32), np.maximum(_norms(self.X), 1e-300)
        X[:, :-1] = self.X / self.length[:, None]
        bounds = np.empty((n, len(self.W)), np.float32)
        for part in (slice(at, at + 512) for at in range(0, len(self.W), 512)):  # to stay in the cache
            W = np.empty((len(self.W[part]), d + 1), np.float32)
            W[:, :-1], W[:, -1] = self.W[part], self.norms[part]
            np.matmul(X, W.T, out=bounds[:, part])
        change, spare = (self.gram / self.length[:, None]).T, slack * _norms(self.along)[:, None]
        return bounds, (change + spare).astype(np.float32), (change - spare).astype(np.float32)

    def hardest(self, i: int, pos: int) -> tuple[int, float]:
        bounds, length, best, neg = self.scores[i], self.length.item(i), -np.inf, -1
        bounds[pos] = -np.inf
        for _ in range(8):
            c = int(bounds.argmax())
            bound, score, bounds[c] = bounds.item(c) * length, self._score(i, c), -np.inf
            if score > best or (score == best and c < neg):
                best, neg = score, c
            # Where the bound is the score itself, as with weights of zero, its equals come after it.
            if score == bound or float(bounds.max()) * length < best:
                return neg, self._score(i, pos) - best
        scores = self.W @ self.X[i]
        scores[list(self.row)] += self.taken[: len(self.row)] @ self.gram[i]
        return _hardest(scores, pos)

    def _score(self, i: int, c: int) -> float:
        score = float(self.W[c] @ self.X[i])
        return score + float(self.taken[self.row[c]] @ self.gram[i]) if c in self.row else score

    def write(self) -> None:
        super().write()
        self.norms[list(self.row)] = _norms(self.W[list(self.row)])


def _scores(W: Array, X: Array, along: Array, norms: Array) -> _Scores:
    # Single precision has no room for bounds of other sizes.
    bounded = len(norms) and all(((n == 0) | (n > 1e-25) & (n < 1e15)).all() for n in (norms, _norms(along)))
    kind = _FewScores if len(W) <= _FEW else _Bounds if bounded else _Scores
    return kind(W, X.astype(W.dtype, copy=False), along, norms)


def _norms(rows: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _in_precision_of(W: Array, step: Array) -> tuple[Array, list[float]]:
    """Steps in W's precision, and what to multiply them by: squared relevance can be too small for single precision."""
    if step.dtype == W.dtype:
        return step, [1.0] * len(step)
    length = np.abs(step).max(axis=1)
    length[length == 0] = 1.0
    return (step / length[:, None]).astype(W.dtype), length.tolist()
