"""The updates and tests of `+experiment=cub` as a bare numpy script: no configuration, no records, no figures.

    python benchmarks/bare_cub.py PLAN.npz

Prints the seconds it took once numpy and the arrays were there, and each method's mean test error at the end.
"""

import json
import os
import sys
import time

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402

THETA, SMALL = 5, 1e-10


def hardest(scores, pos):
    true, scores[pos] = scores[pos], -np.inf
    neg = scores.argmax()
    return neg, true - scores[neg]


def relevance(method, Z, y, pool):
    """One row per sample."""
    if method in ("feature_scaling", "ellipsotron"):
        return np.where(Z, 1.0, SMALL)
    votes = np.array([Z[pool][y[pool] == c].sum(0) for c in range(y.max() + 1)])
    if method == "class_threshold":
        rows = np.where(votes > THETA, 1.0, SMALL)
    elif method == "cross_classes":
        rows = np.tile(np.where(votes.any(0), 1.0, SMALL), (len(votes), 1))
    else:
        share = np.sqrt(votes / np.bincount(y[pool])[:, None])
        rows = np.maximum(share / np.linalg.norm(share, axis=1, keepdims=True), SMALL)
    return rows[y]


def run(method, X, y, Z, steps, test, pool):
    """Errors of the test set after each step, and the share of wrong predictions on the way."""
    order = steps.ravel()
    samples, shown = X[order], X[order]
    score = step = samples
    tested, wrong, errors = X[test], 0, []
    if method == "svm_ff":
        marked = np.logical_or.accumulate(
            np.vstack([np.zeros(X.shape[1], bool), Z[order] > 0])
        )
        scale = np.where(marked, 1.0, 0.1)
        score = step = scale[1:] * samples
        shown = scale[:-1] * samples
    elif method != "lean":
        R = relevance(method, Z, y, pool)[order]
        step = R * samples if method == "feature_scaling" else R * R * samples
        score = step if method == "feature_scaling" else samples
    W = np.zeros((y.max() + 1, X.shape[1]), X.dtype)
    for i, pos in enumerate(y[order].tolist()):
        neg, margin = hardest(W @ score[i], pos)
        wrong += (margin if score is samples else hardest(W @ shown[i], pos)[1]) <= 0
        if margin < 1:
            change = (1 - margin) / (2 * (score[i] @ step[i]) + 0.5) * step[i]
            W[pos] += change
            W[neg] -= change
        if (i + 1) % steps.shape[1] == 0:
            now = (
                np.where(marked[i + 1], 1.0, 0.1) * tested
                if method == "svm_ff"
                else tested
            )
            scores = now @ W.T
            rows = np.arange(len(test))
            true = scores[rows, y[test]].copy()
            scores[rows, y[test]] = -np.inf
            margins = true - scores.max(1)
            errors.append(((margins <= 0).mean(), np.maximum(0, 1 - margins).sum()))
    return errors[-1][0]


def main():
    with np.load(sys.argv[1]) as file:
        arrays = dict(file)
    start = time.perf_counter()
    X, y, Z, seeds = arrays["X"], arrays["y"], arrays["Z"], int(arrays["seeds"])
    found = {
        method: np.mean(
            [
                run(
                    method,
                    X,
                    y,
                    Z,
                    *(arrays[f"{k}{s}"] for k in ("steps", "test", "pool")),
                )
                for s in range(seeds)
            ]
        )
        for method in (
            "lean",
            "feature_scaling",
            "ellipsotron",
            "class_threshold",
            "class_soft",
            "cross_classes",
            "svm_ff",
        )
    }
    print(json.dumps({"seconds": time.perf_counter() - start, "test_error": found}))


if __name__ == "__main__":
    main()
