"""Do what `+experiment=cub` computes as a bare numpy script: updates and tests.

    python benchmarks/bare_cub.py PLAN.npz

No configuration, no records, no figures. Prints the seconds it took once numpy and the
arrays were there, and each method's mean test error at the end.
"""

import json
import os
import sys
import time

# One thread, as the command has; to be set before numpy is imported.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402

METHODS = (
    "lean",
    "feature_scaling",
    "ellipsotron",
    "class_threshold",
    "class_soft",
    "cross_classes",
    "svm_ff",
    "ncm",
    "ridge",
)

#: The defaults of the experiment's methods.
THETA = 5
SMALL = 1e-10
UNMARKED = 0.1
PENALTY = 0.2


def hardest(scores, pos):
    """Return the hardest negative and the margin to it; `scores` is spoilt."""
    true = scores[pos]
    scores[pos] = -np.inf
    neg = scores.argmax()
    return neg, true - scores[neg]


def relevance(method, Z, y, pool):
    """Return the relevance of features, a row for each sample."""
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
    """Learn along the stream, and return the error of the test set at its end.

    Losses and online errors are computed as the command does, and dropped.
    """
    order = steps.ravel()
    samples = X[order]
    # What a sample is scored by when learned, what it adds to the weights, and what it
    # is predicted by before that.
    score = samples
    step = samples
    shown = samples
    if method == "svm_ff":
        # Features marked by any sample before the first, the second, … update.
        nothing = np.zeros(X.shape[1], bool)
        marked = np.logical_or.accumulate(np.vstack([nothing, Z[order] > 0]))
        scale = np.where(marked, 1.0, UNMARKED)
        score = scale[1:] * samples
        step = score
        shown = scale[:-1] * samples
    elif method == "feature_scaling":
        step = relevance(method, Z, y, pool)[order] * samples
        score = step
    elif method != "lean":
        R = relevance(method, Z, y, pool)[order]
        step = R * R * samples
    tested = X[test]
    wrong = 0
    errors = []
    W = np.zeros((y.max() + 1, X.shape[1]), X.dtype)
    for i, pos in enumerate(y[order].tolist()):
        neg, margin = hardest(W @ score[i], pos)
        predicted = margin
        if score is not samples:
            _, predicted = hardest(W @ shown[i], pos)
        wrong += predicted <= 0
        if margin < 1:
            change = (1 - margin) / (2 * (score[i] @ step[i]) + 0.5) * step[i]
            W[pos] += change
            W[neg] -= change
        if (i + 1) % steps.shape[1] == 0:
            now = tested
            if method == "svm_ff":
                now = scale[i + 1] * tested
            errors.append(test_measures(now @ W.T, y[test]))
    return errors[-1][0]


def ncm(X, y, steps, test):
    """Return the error of the nearest class mean at the stream's end."""
    order = steps.ravel()
    sums = np.zeros((y.max() + 1, X.shape[1]))
    counts = np.zeros(len(sums))
    wrong = 0
    for i, pos in enumerate(y[order].tolist()):
        x = X[order[i]]
        means = sums / np.maximum(counts, 1)[:, None]
        near = 2 * (means @ x) - (means * means).sum(1)
        near[counts == 0] = -np.inf
        wrong += near.argmax() != pos
        sums[pos] += x
        counts[pos] += 1
        if (i + 1) % steps.shape[1] == 0:
            means = sums / np.maximum(counts, 1)[:, None]
            scores = 2 * (X[test] @ means.T) - (means * means).sum(1)
            error, _ = test_measures(scores, y[test])
    return error


def ridge(X, y, steps, test):
    """Return the error of ridge regression at the stream's end.

    Fitted anew at each step; online errors are left out.
    """
    order = steps.ravel()
    targets = np.eye(y.max() + 1)[y[order]]
    samples = X[order].astype(np.float64)
    for n in range(steps.shape[1], len(order) + 1, steps.shape[1]):
        measured = samples[: 1 << (n.bit_length() - 1)]
        spread = np.square(measured - measured.mean(0)).sum(1).mean()
        mean = samples[:n].mean(0)
        centred = samples[:n] - mean
        wanted = targets[:n] - targets[:n].mean(0)
        gram = centred.T @ centred + PENALTY * spread * np.eye(X.shape[1])
        W = np.linalg.solve(gram, centred.T @ wanted)
        scores = (X[test] - mean) @ W + targets[:n].mean(0)
        error, _ = test_measures(scores, y[test])
    return error


def test_measures(scores, y):
    """Return the error and the summed hinge loss; `scores` are spoilt."""
    rows = np.arange(len(y))
    true = scores[rows, y].copy()
    scores[rows, y] = -np.inf
    margins = true - scores.max(1)
    return (margins <= 0).mean(), np.maximum(0, 1 - margins).sum()


def main():
    """Run all methods on all seeds of a plan, and print what was found as JSON."""
    with np.load(sys.argv[1]) as file:
        arrays = dict(file)
    start = time.perf_counter()
    data = (arrays["X"], arrays["y"], arrays["Z"])
    found = {}
    for method in METHODS:
        errors = []
        for seed in range(int(arrays["seeds"])):
            plan = [arrays[f"{name}{seed}"] for name in ("steps", "test", "pool")]
            steps, test, _ = plan
            if method == "ncm":
                errors.append(ncm(*data[:2], steps, test))
            elif method == "ridge":
                errors.append(ridge(*data[:2], steps, test))
            else:
                errors.append(run(method, *data, *plan))
        found[method] = np.mean(errors)
    print(json.dumps({"seconds": time.perf_counter() - start, "test_error": found}))


if __name__ == "__main__":
    main()
