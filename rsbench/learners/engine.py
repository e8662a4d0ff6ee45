"""The one loop behind every linear learner whose step is W[c] += tau * v.

Learning one sample at a time reads all of W for each sample. Here a block of samples is scored with one matrix
product. A step of sample i changes the scores of a later sample j by tau * (step_i . score_j), and only those of two
classes, so that within the block a small Gram matrix keeps them right; W is written once, at the block's end. The
result is that of one sample at a time, but for rounding.
"""

from collections.abc import Callable

import numpy as np

Tau = Callable[[float, float], float]


def learn(
    W: np.ndarray,
    y: np.ndarray,
    score: np.ndarray,
    step: np.ndarray,
    predict: np.ndarray,
    tau: Tau,
    block: int | None = None,
) -> np.ndarray:
    """Update `W` (classes x features) in place, one sample after the other.

    `score[i]` is what the learner scores to find its loss, `step[i]` the direction in which it
    moves, `predict[i]` the sample as it would be at test time. Their product `score[i] @ step[i]`
    is the squared norm of the scaled sample for every learner of the family, and all that `tau`
    needs beside the loss. The hardest negative is taken over all classes; ties go to the lowest.
    Samples are taken `block` at a time, which changes nothing but the speed.

    Returns the margins of the predictions made before each update: the true class's score less
    the best other one's, on features without annotations.
    """
    size = min(block or block_size(*W.shape), len(y))
    size = -(-len(y) // -(-len(y) // size))  # no small rest
    if size == 1:
        return _one_by_one(W, y, score, step, predict, tau)
    margins = np.empty(len(y))
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        seen, (along, length) = score[rows].astype(W.dtype, copy=False), _in_precision_of(W, step[rows])
        margins[rows], moved, coefficients = _steps(W, y[rows], seen, along, length, tau)
        if predict is not score:
            margins[rows] = _predictions(W, y[rows], predict[rows], along, moved, coefficients)
        _write(W, moved, coefficients, along)
    return margins


def block_size(classes: int, features: int) -> int:
    """How many samples to take at a time, by measurement (docs/speed.md).

    The Gram matrix costs a share block / classes of the scores; reading W costs the less, the larger the block. With
    few classes of many features W is small enough to stay at hand, and blocks gain nothing.
    """
    if classes < 100 and features > 40 * classes:
        return 1
    return min(256, max(32, classes // 8))


def _one_by_one(
    W: np.ndarray, y: np.ndarray, score: np.ndarray, step: np.ndarray, predict: np.ndarray, tau: Tau
) -> np.ndarray:
    """The plain loop, which blocks are to equal."""
    margins = []
    for pos, x, v, shown in zip(y.tolist(), score, step, predict, strict=True):
        neg, margin = _hardest(W @ x, pos)
        margins.append(margin if predict is score else _hardest(W @ shown, pos)[1])
        loss = 1.0 - margin
        if loss > 0:
            change = tau(loss, float(x @ v)) * v
            W[pos] += change
            W[neg] -= change
    return np.array(margins)


def _hardest(scores: np.ndarray, pos: int) -> tuple[int, float]:
    """The hardest negative class and the true class's margin over it; the true class's score is lost."""
    true, scores[pos] = scores.item(pos), -np.inf
    neg = int(scores.argmax())
    return neg, true - scores.item(neg)


def _steps(
    W: np.ndarray, y: np.ndarray, seen: np.ndarray, along: np.ndarray, length: list[float], tau: Tau
) -> tuple[list[float], list[int], np.ndarray]:
    """A block's steps, W left as it is: margins, the classes that move, and each step's coefficients in them."""
    scores, gram = seen @ W.T, along @ seen.T
    squared_norms = (gram.diagonal() * length).tolist()
    margins: list[float] = []
    moved: dict[int, int] = {}
    coefficients = np.zeros((min(len(W), 2 * len(y)), len(y)), W.dtype)
    for i, (pos, others) in enumerate(zip(y.tolist(), scores, strict=True)):
        neg, margin = _hardest(others, pos)
        margins.append(margin)
        loss = 1.0 - margin
        if loss > 0:
            t = tau(loss, squared_norms[i]) * length[i]
            coefficients[moved.setdefault(pos, len(moved)), i] = t
            coefficients[moved.setdefault(neg, len(moved)), i] = -t
            change = gram[i, i + 1 :] * t
            later = scores[i + 1 :, pos]
            later += change
            later = scores[i + 1 :, neg]
            later -= change
    return margins, list(moved), coefficients[: len(moved)]


def _predictions(
    W: np.ndarray, y: np.ndarray, predict: np.ndarray, along: np.ndarray, moved: list[int], coefficients: np.ndarray
) -> np.ndarray:
    """Margins of a block's other rows, each after the steps of the samples before it; W as before the block."""
    predict = predict.astype(W.dtype, copy=False)
    scores, rows = predict @ W.T, np.arange(len(y))
    if moved:
        scores[:, moved] += np.triu(along @ predict.T, 1).T @ coefficients.T
    true = scores[rows, y].astype(np.float64)
    scores[rows, y] = -np.inf
    return true - scores.max(axis=1)


def _write(W: np.ndarray, moved: list[int], coefficients: np.ndarray, along: np.ndarray) -> None:
    """Add a block's steps to W: few classes in one product, many one by one, since each has few of the steps."""
    if len(moved) <= 64:
        W[moved] += coefficients @ along
        return
    for c, row in zip(moved, coefficients, strict=True):
        steps = row.nonzero()[0]
        W[c] += row[steps] @ along[steps]


def _in_precision_of(W: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Rows of `step` in W's precision, with what they are to be multiplied by.

    Squared relevance can be too small for single precision, and a step along it long enough to make up for that.
    """
    if step.dtype == W.dtype:
        return step, [1.0] * len(step)
    length = np.abs(step).max(axis=1)
    length[length == 0] = 1.0
    return (step / length[:, None]).astype(W.dtype), length.tolist()
