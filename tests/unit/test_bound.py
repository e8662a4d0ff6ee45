"""The paper's bound against a naive reading of it, and the ratio that scaling does not change."""

import math

import numpy as np
import pytest

from rsbench.core.bound import bound
from rsbench.learners import Ellipsotron, Lean


def naive(W, X, y, R):
    loss, longest, longest_scaled, worst = 0.0, 0.0, 0.0, 0.0
    for x, label, r in zip(X, y, R, strict=True):
        scores = [sum(w * v for w, v in zip(row, x, strict=True)) for row in W]
        margin = scores[label] - max(s for c, s in enumerate(scores) if c != label)
        loss += max(0.0, 1 - margin)
        worst = max(worst, max(0.0, 1 - margin))
        longest = max(longest, math.sqrt(sum(v * v for v in x)))
        longest_scaled = max(
            longest_scaled,
            math.sqrt(sum((a * v) ** 2 for a, v in zip(r, x, strict=True))),
        )
    n, norm = len(X), math.sqrt(sum(w * w for row in W for w in row))
    complexity = 2 * norm * math.sqrt(longest_scaled) * math.sqrt(2 / n)
    confidence = worst * math.sqrt(math.log(1 / 0.05) / (2 * n))
    return loss + complexity + confidence, longest_scaled / max(map(max, R)) / longest


@pytest.mark.parametrize("classes", [2, 4])
def test_bound_is_the_printed_one(rng, classes):
    X, y, R = (
        rng.normal(size=(30, 5)),
        rng.integers(0, classes, 30),
        rng.random((30, 5)),
    )
    learner = Ellipsotron().partial_fit(X, y, np.arange(classes), relevance=R)
    found = bound(learner, [(X[:20], y[:20], R[:20]), (X[20:], y[20:], R[20:])])
    assert (found["as_printed"], found["scale_free_ratio"]) == pytest.approx(
        naive(learner.coef_, X, y, R.tolist())
    )


def test_scaling_relevance_changes_the_printed_bound_but_not_the_ratio(rng):
    X, y, R = rng.normal(size=(30, 5)), rng.integers(0, 3, 30), rng.random((30, 5))
    learner = Lean().partial_fit(X, y, np.arange(3))
    one, less = bound(learner, [(X, y, R)]), bound(learner, [(X, y, R / 100)])
    assert less["as_printed"] < one["as_printed"]
    assert less["scale_free_ratio"] == pytest.approx(one["scale_free_ratio"])
    assert bound(learner, [(X, y, None)])["scale_free_ratio"] == 1.0


def test_a_learner_without_weights_has_no_bound(rng):
    class Other:
        classes_ = np.arange(3)

    assert bound(Other(), [(rng.normal(size=(4, 2)), np.zeros(4, int), None)]) == {}
