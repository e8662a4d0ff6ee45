"""Which tool for the engine's inner loop: the same blocks by numpy, numba and torch, and what it costs to have them.

The blocks of numba and torch know lean learning's PA-II step; numpy's call the learner's own `tau`, as a plugin's
must be called. Start-up is importing the tool and learning a first block, in a process of its own.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import common  # before numpy: it settles the number of threads
import numpy as np
from updates import SHAPES, Problem, problem, weights

from rsbench.learners import Lean, engine
from rsbench.learners.engine import block_size, learn


def by_numpy(p: Problem) -> None:
    with mock.patch.object(
        engine, "_LARGE", np.inf
    ):  # no bounds, which the others do not have
        learn(weights(p), p.y, p.X, p.X, p.X, Lean().tau)


def numba_block() -> Callable[..., None]:
    import numba

    @numba.njit(cache=False)
    def block(W, y, X, scores, gram):  # pragma: no cover - compiled
        n, classes = scores.shape
        steps = np.zeros(n)
        negatives = np.zeros(n, np.int64)
        for i in range(n):
            pos, neg, best = y[i], -1, -np.inf
            for c in range(classes):
                if c != pos and scores[i, c] > best:
                    best, neg = scores[i, c], c
            loss = 1 - scores[i, pos] + best
            if loss <= 0:
                continue
            t = loss / (2 * gram[i, i] + 0.5)
            steps[i], negatives[i] = t, neg
            for j in range(i + 1, n):
                scores[j, pos] += t * gram[i, j]
                scores[j, neg] -= t * gram[i, j]
        for i in range(n):
            if steps[i] != 0:
                W[y[i]] += steps[i] * X[i]
                W[negatives[i]] -= steps[i] * X[i]

    return block


_compiled: list[Callable[..., None]] = []


def by_numba(p: Problem) -> None:
    if not _compiled:
        _compiled.append(numba_block())
    W = weights(p)
    size = block_size(W, len(p.y))
    for start in range(0, len(p.y), size):
        X, y = p.X[start : start + size], p.y[start : start + size]
        _compiled[0](W, y, X, X @ W.T, X @ X.T)


def by_torch(p: Problem) -> None:
    import torch

    torch.set_num_threads(1)
    W = torch.from_numpy(weights(p))
    every, size = torch.from_numpy(p.X), block_size(W.numpy(), len(p.y))
    with torch.inference_mode():
        for start in range(0, len(p.y), size):
            X, y = every[start : start + size], p.y[start : start + size].tolist()
            scores, gram = X @ W.T, X @ X.T
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

_START = "import tools; p = tools.problem(50, 312, 32, 32, 1); tools.TOOLS[{name!r}](p)"


def _fresh(name: str) -> Callable[[], Any]:
    return lambda: subprocess.run(
        [sys.executable, "-c", _START.format(name=name)], check=True, cwd=sys.path[0]
    )


def main(quick: bool) -> tuple[list[str], dict[str, Any]]:
    lines = [
        "## The inner loop's tool",
        "",
        __doc__.partition("\n\n")[2].strip().replace("\n", " "),
        "",
    ]
    values: dict[str, Any] = {}
    missing = []
    for name in ("numba", "torch"):
        try:
            __import__(name)
        except ImportError as error:
            missing.append(name)
            lines += [f"{name}: not measured, {error}", ""]
    tools = {name: tool for name, tool in TOOLS.items() if name not in missing}
    for name, shape in SHAPES.items():
        p = problem(**shape)  # type: ignore[arg-type]
        turns = {tool: (lambda run=run, p=p: run(p)) for tool, run in tools.items()}
        values[name] = common.ratios(
            common.take_turns(turns, 2 if quick else 5), "numpy"
        )
        lines += [
            f"### {name}, float64",
            "",
            *common.ratio_table(values[name], "tool", 1e6 / len(p.y), "µs per sample"),
        ]
        lines += [""]
    turns = {name: _fresh(name) for name in tools}
    values["start-up"] = common.ratios(
        common.take_turns(turns, 2 if quick else 5), "numpy"
    )
    return [
        *lines,
        "### Start-up",
        "",
        *common.ratio_table(values["start-up"], "tool"),
        "",
    ], values


if __name__ == "__main__":
    common.alone(main)
