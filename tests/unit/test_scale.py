"""Data larger than memory: taken in parts, with the result of taking them whole."""

import tracemalloc

import numpy as np
import pytest

import rsbench.core.data
import rsbench.core.evaluation
from rsbench.aggregators import ClassSoft, ClassThreshold, CrossClasses, Ones, Sample
from rsbench.core.experiment import Features, run_seed
from rsbench.core.supervision import Supervision
from rsbench.datasets.arrays import Arrays
from rsbench.errors import UserError
from rsbench.learners import Ellipsotron

AGGREGATORS = {
    "none": {},
    "sample": {},
    "class_soft": {"scope": "teacher"},
    "class_threshold": {"scope": "teacher", "theta": 2},
    "cross_classes": {"scope": "seen"},
}


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


def long_stream(spec, folder, aggregator, learner="ellipsotron"):
    return spec(
        dataset={"name": "arrays", "path": str(folder)},
        protocol={"name": "stream", "test_at": (20_000, 38_000), "test": "mask"},
        learner={"name": learner},
        aggregator={"name": aggregator, **AGGREGATORS[aggregator]},
    )


@pytest.mark.parametrize("aggregator", ["sample", "class_soft", "cross_classes"])
def test_memory_does_not_grow_with_the_stream(aggregator, spec, folder, monkeypatch):
    monkeypatch.setattr(rsbench.core.data, "_CHUNK_BYTES", 1 << 20)
    run = long_stream(spec, folder, aggregator)
    tracemalloc.start()
    try:
        result = run_seed(run, run.load(), 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.rows[-1]["samples"] == 38_000
    assert peak < 16 << 20  # relevance of the whole stream alone takes 78 MB


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("learner", ["feature_scaling", "ellipsotron", "svm_ff"])
def test_parts_give_what_the_whole_gives(aggregator, learner, spec, monkeypatch):
    run = spec(
        aggregator={"name": aggregator, **AGGREGATORS[aggregator]},
        learner={"name": learner},
    )
    data = run.load()
    whole = run_seed(run, data, 0)
    monkeypatch.setattr(
        rsbench.core.data, "_CHUNK_BYTES", 8 * 7 * data.Z.shape[1]
    )  # seven samples
    parts = run_seed(run, data, 0)
    assert parts.bound == pytest.approx(whole.bound, rel=1e-5)
    for one, other in zip(whole.rows, parts.rows, strict=True):
        assert other == pytest.approx(one, rel=1e-5)


@pytest.mark.parametrize("scope", ["teacher", "seen"])
@pytest.mark.parametrize(
    "make",
    [
        ClassSoft,
        CrossClasses,
        lambda scope: ClassThreshold(1, scope=scope),
        Sample,
        Ones,
    ],
)
@pytest.mark.parametrize("graded", [False, True])
def test_relevance_block_by_block_is_that_of_the_whole_stream(
    make, scope, graded, rng, monkeypatch
):
    def fresh():
        return make() if make in (Sample, Ones) else make(scope=scope)

    y, Z = rng.integers(5, size=90), rng.random((90, 4)) < 0.3
    Z = (
        np.where(rng.random(Z.shape) < 0.2, np.nan, Z * rng.random(Z.shape))
        if graded
        else Z
    )
    pool, order = rng.permutation(90)[:80], rng.permutation(90)[:50]
    expected = fresh().fit(Z[pool], y[pool]).relevance(Z[order], y[order])
    monkeypatch.setattr(rsbench.core.data, "_CHUNK_BYTES", 8 * 4 * 9)
    rich = Supervision({"relevance"}, fresh(), Z, y, pool, order)
    for _ in range(2):
        found = [rich.next(n)["relevance"] for n in (1, 13, 30, 6)]
        np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-12)
        rich.restart()


def test_an_aggregator_that_knows_nothing_of_parts_is_asked_once(rng):
    class Whole:
        asked = 0

        def fit(self, Z, y):
            assert len(Z) == 40

        def relevance(self, Z, y):
            self.asked += 1
            return np.arange(len(Z))[:, None] * np.ones(Z.shape)

    aggregator = Whole()
    rich = Supervision(
        {"relevance"},
        aggregator,
        np.zeros((50, 3)),
        np.zeros(50, int),
        np.arange(40),
        np.arange(30),
    )
    assert (
        rich.next(10)["relevance"][0, 0] == 0 and rich.next(10)["relevance"][0, 0] == 10
    )
    assert aggregator.asked == 1


def test_a_subclass_that_changes_relevance_is_asked_once():
    class Ranks(Sample):
        def relevance(self, Z, y):
            return 1.0 + np.arange(len(Z))[:, None] * np.ones(Z.shape)

    class Counts(Ones):
        def fit(self, Z, y):
            self.n = len(Z)

    rich = Supervision(
        {"relevance"},
        Ranks(),
        np.zeros((9, 2)),
        np.zeros(9, int),
        np.arange(9),
        np.arange(9),
    )
    rich.next(4)
    assert rich.next(5)["relevance"][0, 0] == 5
    counts = Counts()
    pool = np.zeros(3_000_000, int)  # more than one part
    Supervision(
        {"relevance"}, counts, np.zeros((9, 2)), np.zeros(9, int), pool, np.arange(9)
    )
    assert counts.n == len(pool)


@pytest.mark.parametrize("kept", [0, 1 << 28])
def test_scores_kept_along_the_stream_are_those_of_a_full_test(kept, rng, monkeypatch):
    """Fewer classes move from one test to the next than there are."""
    classes, d, test = 60, 8, np.arange(300, 400)
    X, y = rng.normal(size=(400, d)), rng.integers(classes, size=400)
    data = rsbench.core.data.Data(X=X, y=y, Z=np.zeros(X.shape, bool))

    class Counting(Ellipsotron):
        asked = 0

    def counted(self, X):
        Counting.asked += 1
        return decide(self, X)

    decide = Ellipsotron._scores
    monkeypatch.setattr(rsbench.learners.LinearLearner, "_scores", counted)
    monkeypatch.setattr(rsbench.core.evaluation, "_KEPT_BYTES", kept)
    learner, tests = Counting(), None
    for start in range(0, 300, 10):
        rows = slice(start, start + 10)
        learner.partial_fit(X[rows], y[rows], np.arange(classes))
        tests = tests or rsbench.core.evaluation.Tests(
            learner, Features(data, Same()), y, test, classes
        )
        scores = X[test] @ learner.coef_.T
        true = scores[np.arange(100), y[test]].copy()
        scores[np.arange(100), y[test]] = -np.inf
        np.testing.assert_allclose(
            tests.margins(), true - scores.max(axis=1), atol=1e-12
        )
    assert Counting.asked == (1 if kept else 30)


class Same:
    def transform(self, X):
        return X


def test_a_test_after_no_change_is_the_same(rng):
    X, y = rng.normal(size=(20, 3)), rng.integers(4, size=20)
    learner = Ellipsotron().partial_fit(X, y, np.arange(4))
    data = rsbench.core.data.Data(X=X, y=y, Z=np.zeros(X.shape, bool))
    tests = rsbench.core.evaluation.Tests(
        learner, Features(data, Same()), y, np.arange(20), 4
    )
    first = tests.margins()
    np.testing.assert_array_equal(tests.margins(), first)
    learner.coef_ = -learner.coef_
    assert not np.array_equal(tests.margins(), first)


def test_precision_is_the_datas_or_the_one_asked_for(spec, monkeypatch):
    seen = set()
    learn = Ellipsotron.prequential

    def noting(self, X, *args, **kwargs):
        seen.add(X.dtype)
        margins = learn(self, X, *args, **kwargs)
        seen.add(self.coef_.dtype)
        return margins

    monkeypatch.setattr(Ellipsotron, "prequential", noting)
    for precision, dtype in (
        ("data", np.float32),
        ("float32", np.float32),
        ("float64", np.float64),
    ):
        seen.clear()
        run = spec(precision=precision)
        run_seed(run, run.load(), 0)
        assert seen == {np.dtype(dtype)}
    with pytest.raises(
        UserError, match="precision='half', expected data, float32, float64"
    ):
        spec(precision="half").check()


def test_a_folder_of_npy_stays_on_disk(folder):
    data = Arrays(str(folder)).load()
    assert isinstance(data.X, np.memmap) and isinstance(data.Z, np.memmap)
