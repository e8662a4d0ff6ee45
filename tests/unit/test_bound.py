"""The paper's bound against a naive reading of it, and the ratio that scaling does not change."""

import dataclasses
import math

import numpy as np
import pytest

from rsbench.aggregators import Ones, Sample
from rsbench.core.bound import Bound
from rsbench.core.data import Data
from rsbench.core.experiment import Setup, run_seed
from rsbench.core.seeds import stream
from rsbench.corruptions import Full
from rsbench.learners import SVMFF, Ellipsotron, Lean
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass


def naive(W, X, y, R):
    """The weights' bound, with losses suffered along the stream by a learner of scalars."""
    n, norm = len(X), math.sqrt(sum(w * w for row in W for w in row))
    losses = online_losses(X, y, R)
    longest = max(math.sqrt(sum(v * v for v in x)) for x in X)
    longest_scaled = max(
        math.sqrt(sum((a * v) ** 2 for a, v in zip(r, x, strict=True)))
        for x, r in zip(X, R, strict=True)
    )
    complexity = 2 * norm * math.sqrt(longest_scaled) * math.sqrt(2 / n)
    confidence = max(losses) * math.sqrt(math.log(1 / 0.05) / (2 * n))
    ratio = longest_scaled / max(map(max, R)) / longest
    return sum(losses) + complexity + confidence, ratio


def online_losses(X, y, R):
    """Each sample's loss just before Ellipsotron's step on it."""
    W = np.zeros((max(y) + 1, len(X[0])))
    losses = []
    for x, label, r in zip(X, y, R, strict=True):
        scores = W @ x
        others = np.where(np.arange(len(W)) == label, -np.inf, scores)
        loss = max(0.0, 1 - scores[label] + others.max())
        losses.append(loss)
        tau = loss / (2 * np.sum((r * x) ** 2) + 0.5)
        W[label] += tau * r**2 * x
        W[others.argmax()] -= tau * r**2 * x
    return losses


def gathered(X, y, R, blocks=1, relevance=None):
    """The bound of Ellipsotron, told block by block."""
    learner, bound = Ellipsotron(), Bound()
    given = R if relevance is None else relevance
    for rows in np.array_split(np.arange(len(X)), blocks):
        margin = learner.prequential(
            X[rows], y[rows], np.arange(max(y) + 1), relevance=R[rows]
        )
        bound.see(X[rows], given[rows], np.maximum(0, 1 - margin))
    return bound.value(learner.weights())


def problem(rng, classes=3):
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, 30 - classes)])
    return rng.normal(size=(30, 5)), y, rng.random((30, 5))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("blocks", [1, 7])
def test_bound_is_the_printed_one(rng, classes, blocks):
    X, y, R = problem(rng, classes)
    learner = Ellipsotron().fit(X, y, relevance=R)
    found = gathered(X, y, R, blocks)
    assert (found["as_printed"], found["scale_free_ratio"]) == pytest.approx(
        naive(learner.coef_, X, y, R)
    )


def test_scaling_relevance_changes_the_printed_bound_but_not_the_ratio(rng):
    X, y, R = problem(rng)
    one = gathered(X, y, R)
    less = gathered(X, y, R, relevance=R / 100)
    assert less["as_printed"] < one["as_printed"]
    assert less["scale_free_ratio"] == pytest.approx(one["scale_free_ratio"])


def test_without_relevance_the_ratio_is_one(rng):
    X, y, _ = problem(rng)
    bound = Bound()
    bound.see(X, None, np.ones(30))
    assert bound.value(np.ones((3, 5)))["scale_free_ratio"] == 1.0


def test_samples_of_zeros_have_a_ratio_too():
    bound = Bound()
    bound.see(np.zeros((4, 2)), np.ones((4, 2)), np.ones(4))
    assert bound.value(np.zeros((3, 2)))["scale_free_ratio"] == 0.0


# In a whole run.


@pytest.fixture
def data(rng):
    y = np.arange(60) % 3
    X = rng.random((60, 6)) + 0.8 * np.eye(3, 6)[y]
    return Data(X=X, y=y, Z=rng.random((60, 6)) < 0.5)


def run(data, learner, aggregator):
    setup = Setup(
        learner=learner,
        aggregator=aggregator,
        preprocessor=Identity(),
        protocol=PerClass(4),
        annotation=Full(),
    )
    return run_seed(setup, data, 0)


def test_a_run_has_the_bound_of_its_stream(data):
    aggregator = Sample(relevant=1.0, irrelevant=0.5)
    steps, _ = PerClass(4).plan(data.y, None, stream(0, "plan"))
    order = np.concatenate(steps)
    X, y = data.X[order], data.y[order]
    R = aggregator.relevance(data.Z[order], y)
    learner = Ellipsotron().fit(X, y, relevance=R)
    found = run(data, Ellipsotron(), aggregator).bound
    assert (found["as_printed"], found["scale_free_ratio"]) == pytest.approx(
        naive(learner.coef_, X, y, R)
    )


def test_learners_that_are_told_nothing_have_a_ratio_of_one(data):
    assert run(data, Lean(), Ones()).bound["scale_free_ratio"] == 1.0


def test_a_learner_without_plain_weights_has_no_bound(data):
    class Biased(Lean):
        def decision_function(self, X):
            return super().decision_function(X) + 1

    class Stranger:
        def partial_fit(self, X, y, classes=None):
            return self

        def decision_function(self, X):
            return np.zeros((len(X), 3))

    for learner in (Biased(), Stranger()):
        assert run(data, learner, Ones()).bound == {}


def test_a_learner_that_takes_the_votes_themselves_has_no_bound(data):
    class Votes(Lean):
        def partial_fit(self, X, y, classes=None, *, annotation=None):
            return super().partial_fit(X, y, classes)

    assert Votes().weights is not None
    assert run(data, Votes(), Ones()).bound == {}
    assert run(data, SVMFF(), Ones()).bound == {}


def test_the_bound_changes_nothing_that_is_measured(data):
    class Unweighted(Lean):
        weights = None

    plain = dataclasses.asdict(run(data, Lean(), Ones()))
    other = dataclasses.asdict(run(data, Unweighted(), Ones()))
    assert plain.pop("bound") and not other.pop("bound")
    for one, two in zip(plain["rows"], other["rows"], strict=True):
        assert one == pytest.approx(two, rel=1e-12)
