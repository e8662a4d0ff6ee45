"""Compare tools for the engine's inner loop: numpy, numba and torch.

All learn the same blocks. Those of numba and torch know lean learning's PA-II step;
numpy's call the learner's own `tau`, as a plugin's must be called. Start-up is
importing the tool and learning a first block, in a process of its own.
"""

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from common import Part
from updates import SHAPES, Problem, make_problem, weights

from rsbench.learners import Lean
from rsbench.learners.blocked import CorrectedScores, SummedScores, learn_in_blocks
from rsbench.learners.engine import block_size

#: Up to here the engine sums steps up; of the shapes measured, that is CUB's alone.
FEW_CLASSES = 200


def by_numpy(p: Problem) -> None:
    """Learn the stream as the engine does, but without bounds.

    The other tools' blocks do not have them either.
    """
    W = weights(p)
    size = block_size(W, len(p.y))
    keep: type[SummedScores] | type[CorrectedScores] = CorrectedScores
    if len(W) <= FEW_CLASSES:
        keep = SummedScores
    learn_in_blocks(W, p.y, p.X, p.X, p.X, Lean().tau, size, keep)


@functools.cache
def numba_block() -> Callable[..., None]:
    """Return the loop over a block's samples, to be compiled at its first call."""
    import numba

    @numba.njit(cache=False)
    def block(W, y, X, scores, gram):  # pragma: no cover - compiled
        n, classes = scores.shape
        steps = np.zeros(n)
        negatives = np.zeros(n, np.int64)
        for i in range(n):
            pos = y[i]
            neg = -1
            best = -np.inf
            for c in range(classes):
                if c != pos and scores[i, c] > best:
                    best = scores[i, c]
                    neg = c
            loss = 1 - scores[i, pos] + best
            if loss <= 0:
                continue
            t = loss / (2 * gram[i, i] + 0.5)
            steps[i] = t
            negatives[i] = neg
            for j in range(i + 1, n):
                scores[j, pos] += t * gram[i, j]
                scores[j, neg] -= t * gram[i, j]
        for i in range(n):
            if steps[i] != 0:
                W[y[i]] += steps[i] * X[i]
                W[negatives[i]] -= steps[i] * X[i]

    return block


def by_numba(p: Problem) -> None:
    """Learn the stream by compiled loops, but for the products."""
    learn_block = numba_block()
    W = weights(p)
    size = block_size(W, len(p.y))
    for start in range(0, len(p.y), size):
        X = p.X[start : start + size]
        y = p.y[start : start + size]
        learn_block(W, y, X, X @ W.T, X @ X.T)


def by_torch(p: Problem) -> None:
    """Learn the stream by torch's operations, on the CPU."""
    import torch

    torch.set_num_threads(1)
    W = torch.from_numpy(weights(p))
    every = torch.from_numpy(p.X)
    size = block_size(W.numpy(), len(p.y))
    with torch.inference_mode():
        for start in range(0, len(p.y), size):
            X = every[start : start + size]
            y = p.y[start : start + size].tolist()
            scores = X @ W.T
            gram = X @ X.T
            for i, pos in enumerate(y):
                true = scores[i, pos].item()
                scores[i, pos] = -torch.inf
                best, neg = scores[i].max(0)
                loss = 1 - true + best.item()
                if loss > 0:
                    t = loss / (2 * gram[i, i].item() + 0.5)
                    change = t * gram[i, i + 1 :]
                    scores[i + 1 :, pos] += change
                    scores[i + 1 :, neg] -= change
                    W[pos] += t * X[i]
                    W[neg] -= t * X[i]


TOOLS = {"numpy": by_numpy, "numba": by_numba, "torch": by_torch}

#: Learns a first block in a fresh process.
_START = """
import tools, updates
shape = updates.Shape(50, 312, samples=32, step=32, tests=1)
tools.TOOLS[{name!r}](updates.make_problem(shape))
"""


def start_up(name: str) -> None:
    """Import a tool and learn a first block, in a process of its own."""
    script = _START.format(name=name)
    subprocess.run([sys.executable, "-c", script], check=True, cwd=sys.path[0])


def main(quick: bool) -> Part:
    """Measure the tools that are installed on all shapes, and their start-up."""
    repeats = 5
    if quick:
        repeats = 2
    lines = common.introduction("The inner loop's tool", __doc__)
    values: dict[str, Any] = {}
    tools = dict(TOOLS)
    for name in ("numba", "torch"):
        try:
            __import__(name)
        except ImportError as error:
            del tools[name]
            lines += [f"{name}: not measured, {error}", ""]
    turns: dict[str, Callable[[], None]] = {}
    for name, shape in SHAPES.items():
        p = make_problem(shape)
        for tool, learn in tools.items():
            turns[tool] = functools.partial(learn, p)
        values[name] = common.ratios(common.take_turns(turns, repeats), "numpy")
        table = common.ratio_table(
            values[name], "tool", 1e6 / len(p.y), "µs per sample"
        )
        lines += [f"### {name}, float64", "", *table, ""]
    for tool in tools:
        turns[tool] = functools.partial(start_up, tool)
    values["start-up"] = common.ratios(common.take_turns(turns, repeats), "numpy")
    table = common.ratio_table(values["start-up"], "tool")
    lines += ["### Start-up", "", *table, ""]
    return lines, values


if __name__ == "__main__":
    common.run_alone(main)
