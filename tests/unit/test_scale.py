"""Data larger than memory: taken in parts, with the result of taking them whole."""

import dataclasses
import tracemalloc

import numpy as np
import pytest

import rsbench.core.data
from rsbench.aggregators import ClassSoft, ClassThreshold, CrossClasses, Ones, Sample
from rsbench.core import evaluation
from rsbench.core.components import Preprocessor, adopt
from rsbench.core.data import Data
from rsbench.core.evaluation import Features, Tests
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.core.supervision import Supervision
from rsbench.corruptions import Full
from rsbench.datasets import Synthetic
from rsbench.datasets.arrays import Arrays
from rsbench.learners import SVMFF, Ellipsotron, FeatureScaling
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass, Stream

AGGREGATORS = [
    Ones(),
    Sample(),
    ClassSoft(),
    ClassThreshold(2),
    CrossClasses(scope="seen"),
]


def setup(**changes):
    parts = {
        "learner": Ellipsotron(),
        "aggregator": Sample(),
        "preprocessor": Identity(),
        "protocol": PerClass(4),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


@pytest.fixture
def folder(tmp_path):
    """Features, labels and votes on disk: 40,000 samples, 40 MB of features, 1,000 of them for testing."""
    rng = np.random.default_rng(0)
    n, d, classes = 40_000, 256, 20
    y = rng.integers(classes, size=n)
    X = (
        rng.normal(size=(n, d)).astype(np.float32)
        + rng.normal(size=(classes, d)).astype(np.float32)[y]
    )
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "Z.npy", rng.random((n, d)) < 0.1)
    np.save(tmp_path / "test.npy", np.arange(n) % 40 == 0)
    return tmp_path


@pytest.mark.parametrize(
    "aggregator", [Sample(), ClassSoft(), CrossClasses(scope="seen")], ids=repr
)
def test_memory_does_not_grow_with_the_stream(aggregator, folder, monkeypatch):
    monkeypatch.setattr(rsbench.core.data, "_CHUNK_BYTES", 1 << 20)
    protocol = Stream((20_000, 38_000), test="mask")
    long_stream = setup(protocol=protocol, aggregator=aggregator)
    tracemalloc.start()
    try:
        result = run_seed(long_stream, load(Arrays(str(folder)), None, "mine"), 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.rows[-1]["samples"] == 38_000
    assert peak < 16 << 20  # relevance of the whole stream alone takes 78 MB


@pytest.fixture(scope="module")
def synthetic():
    return Synthetic().load()


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=repr)
@pytest.mark.parametrize(
    "learner", [FeatureScaling(), Ellipsotron(), SVMFF()], ids=repr
)
def test_parts_give_what_the_whole_gives(aggregator, learner, synthetic, monkeypatch):
    run = setup(aggregator=aggregator, learner=learner)
    whole = run_seed(run, synthetic, 0)
    seven_samples = 8 * 7 * synthetic.Z.shape[1]
    monkeypatch.setattr(rsbench.core.data, "_CHUNK_BYTES", seven_samples)
    parts = run_seed(run, synthetic, 0)
    assert parts.bound == pytest.approx(whole.bound, rel=1e-5)
    for one, other in zip(whole.rows, parts.rows, strict=True):
        assert other == pytest.approx(one, rel=1e-5)


def graded_votes(rng, Z):
    """Some of them missing."""
    return np.where(rng.random(Z.shape) < 0.2, np.nan, Z * rng.random(Z.shape))


@pytest.mark.parametrize(
    "make",
    [
        Ones,
        Sample,
        ClassSoft,
        CrossClasses,
        lambda: ClassThreshold(1),
        lambda: ClassSoft(scope="seen"),
        lambda: CrossClasses(scope="seen"),
        lambda: ClassThreshold(1, scope="seen"),
    ],
)
@pytest.mark.parametrize("graded", [False, True])
def test_relevance_block_by_block_is_that_of_the_whole_stream(
    make, graded, rng, monkeypatch
):
    y, Z = rng.integers(5, size=90), rng.random((90, 4)) < 0.3
    if graded:
        Z = graded_votes(rng, Z)
    pool, order = rng.permutation(90)[:80], rng.permutation(90)[:50]
    expected = make().fit(Z[pool], y[pool]).relevance(Z[order], y[order])
    monkeypatch.setattr(rsbench.core.data, "_CHUNK_BYTES", 8 * 4 * 9)
    aggregator = make()
    for _ in range(2):  # what one stream saw is not seen by the next
        rich = Supervision({"relevance"}, aggregator, Z, y, pool, order)
        found = [rich.next(np.ones((n, 4)))["relevance"] for n in (1, 13, 30, 6)]
        np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-12)


def supervision(aggregator, n=9, pool=None):
    """Two features that nobody marks."""
    rows = np.arange(n)
    pool = rows if pool is None else pool
    return Supervision(
        {"relevance"}, aggregator, np.zeros((n, 2)), np.zeros(n, int), pool, rows
    )


def test_an_aggregator_that_knows_nothing_of_parts_is_asked_once():
    class Whole:
        asked: list = []

        def fit(self, Z, y):
            assert len(Z) == 40

        def relevance(self, Z, y):
            self.asked.append(len(Z))
            return np.arange(len(Z))[:, None] * np.ones(Z.shape)

    rich = supervision(adopt(Whole(), rsbench.Aggregator), n=40)
    assert rich.next(np.ones((10, 2)))["relevance"][0, 0] == 0
    assert rich.next(np.ones((10, 2)))["relevance"][0, 0] == 10
    assert Whole.asked == [40]


def test_a_subclass_that_changes_relevance_is_asked_once():
    class Ranks(Sample):
        def relevance(self, Z, y):
            return 1.0 + np.arange(len(Z))[:, None] * np.ones(Z.shape)

    rich = supervision(Ranks())
    rich.next(np.ones((4, 2)))
    assert rich.next(np.ones((5, 2)))["relevance"][0, 0] == 5


def test_a_subclass_that_changes_fit_gets_the_pool_in_one_piece():
    class Counts(Ones):
        fitted: list = []

        def fit(self, Z, y):
            self.fitted.append(len(Z))

    pool = np.zeros(3_000_000, int)  # more than one part
    supervision(Counts(), pool=pool)
    assert Counts.fitted == [len(pool)]


def test_votes_that_nobody_was_asked_for_reach_those_who_can_take_them():
    class Noting(Ones):
        given: list = []

        def relevance(self, Z, y):
            self.given.append(Z)
            return np.ones(Z.shape)

    class Taking(Noting):
        takes_missing = True
        given: list = []

    Z = np.array([[np.nan, 1.0]])
    one = np.array([0])
    for aggregator in (Noting(), Taking()):
        Supervision({"relevance"}, aggregator, Z, one, one, one)
    assert Noting.given[0].tolist() == [[0, 1]]
    assert np.isnan(Taking.given[0]).tolist() == [[True, False]]


@pytest.mark.parametrize("kept", [0, 1 << 28])
def test_scores_kept_along_the_stream_are_those_of_a_full_test(kept, rng, monkeypatch):
    """Fewer classes move from one test to the next than there are."""
    classes, d, test = 60, 8, np.arange(300, 400)
    X, y = rng.normal(size=(400, d)), rng.integers(classes, size=400)
    data = Data(X=X, y=y, Z=np.zeros(X.shape, bool))
    asked = []
    decide = Ellipsotron.decision_function

    def noting(self, X):
        asked.append(len(X))
        return decide(self, X)

    monkeypatch.setattr(Ellipsotron, "decision_function", noting)
    monkeypatch.setattr(evaluation, "KEPT_BYTES", kept)
    learner = Ellipsotron()
    tests = Tests(learner, Features(data, Identity()), y, test, classes)
    for start in range(0, 300, 10):
        rows = slice(start, start + 10)
        learner.partial_fit(X[rows], y[rows], np.arange(classes))
        scores = X[test] @ learner.coef_.T
        true = scores[np.arange(100), y[test]].copy()
        scores[np.arange(100), y[test]] = -np.inf
        expected = true - scores.max(axis=1)
        np.testing.assert_allclose(tests.margins(), expected, atol=1e-12)
    assert len(asked) == (0 if kept else 30)


def test_a_test_after_no_change_is_the_same(rng):
    X, y = rng.normal(size=(20, 3)), rng.integers(4, size=20)
    learner = Ellipsotron().partial_fit(X, y, np.arange(4))
    data = Data(X=X, y=y, Z=np.zeros(X.shape, bool))
    tests = Tests(learner, Features(data, Identity()), y, np.arange(20), 4)
    first = tests.margins()
    np.testing.assert_array_equal(tests.margins(), first)
    learner.coef_ = -learner.coef_
    assert not np.array_equal(tests.margins(), first)


def test_features_that_move_along_the_stream_are_never_kept(rng):
    """Statistics of the stream so far change what a test sample looks like."""

    class Length(Preprocessor):
        fit_on = "seen"

        def fit(self, X):
            self.n_ = len(X)

        def transform(self, X):
            return X * self.n_

    X, y = rng.normal(size=(20, 3)), np.arange(20) % 4
    features = Features(Data(X=X, y=y, Z=np.zeros(X.shape, bool)), Length())
    learner = Ellipsotron().partial_fit(X, y, np.arange(4))
    tests = Tests(learner, features, y, np.arange(10, 20), 4)
    features.learned(np.array([0]))
    one = tests.margins()
    features.learned(np.array([1]))
    np.testing.assert_allclose(tests.margins(), 2 * one)


@pytest.mark.parametrize(
    ("precision", "expected"),
    [("data", np.float32), ("float32", np.float32), ("float64", np.float64)],
)
def test_precision_is_the_datas_or_the_one_asked_for(precision, expected, synthetic):
    class Noting(Ellipsotron):
        seen: set = set()

        def prequential(self, X, y, classes=None, *, relevance=None):
            margins = super().prequential(X, y, classes, relevance=relevance)
            self.seen.update((X.dtype, self.coef_.dtype))
            return margins

    run_seed(setup(learner=Noting(), precision=precision), synthetic, 0)
    assert Noting.seen == {np.dtype(expected)}


def test_a_folder_of_npy_stays_on_disk(folder):
    data = Arrays(str(folder)).load()
    assert isinstance(data.X, np.memmap) and isinstance(data.Z, np.memmap)
    locked = load(dataclasses.replace(data), None, "mine")
    assert isinstance(locked.X, np.memmap) and isinstance(locked.Z, np.memmap)
