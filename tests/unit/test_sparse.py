"""Sparse features, votes and relevance: the same numbers as dense ones, and clear words for what is wrong."""

import dataclasses
import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import rsbench
from rsbench.aggregators import (
    ClassSoft,
    ClassThreshold,
    CrossClasses,
    Ones,
    Sample,
)
from rsbench.core.components import Absent, Aggregator, Corruption
from rsbench.core.data import Data, identity, keep_samples
from rsbench.core.data_checks import check_data
from rsbench.core.experiment import Setup, load, read_only, run_seed
from rsbench.core.sparse import (
    SparseVotes,
    as_csr,
    by_class,
    check_memory,
    dense,
    replace_rows,
    values_at,
    with_values,
)
from rsbench.core.supervision import Supervision
from rsbench.core.tuning import tune
from rsbench.corruptions import (
    Budget,
    Full,
    Noisy,
    Shuffled,
    ShuffledWithinClass,
    Uniform,
)
from rsbench.datasets import Arrays
from rsbench.errors import UserError
from rsbench.learners import (
    NCM,
    SLDA,
    SVMFF,
    Ellipsotron,
    FeatureScaling,
    Lean,
    Logistic,
    NaiveBayes,
    RanPAC,
    Ridge,
    Softmax,
    SVMFFBatch,
)
from rsbench.preprocessors import L2, Center, Identity, Scale, Standardize
from rsbench.protocols import PerClass, Stream


def counts(rng, n=120, d=40, k=4):
    """Words of documents: most counts are zero, and some words are marked."""
    y = np.arange(n) % k
    likely = rng.random((k, d)) < 0.15
    X = (rng.random((n, d)) < 0.05 + 0.3 * likely[y]) * rng.integers(1, 5, (n, d))
    Z = (X > 0) & likely[y] & (rng.random((n, d)) < 0.7)
    return X.astype(np.float64), y, Z


@pytest.fixture
def words(rng):
    return counts(rng)


@pytest.fixture
def pair(words, rng):
    """The same data, dense and sparse; a few samples were never annotated."""
    X, y, Z = words
    asked = rng.random(len(y)) < 0.8
    both = []
    for wrap in (np.asarray, scipy.sparse.csr_array):
        made = Data(X=wrap(X), y=y, Z=wrap(Z), asked=asked, background=wrap(X[:30]))
        both.append(load(made, None, "words"))
    return both


def setup(learner, **changes):
    parts = {
        "learner": learner,
        "aggregator": Sample(),
        "preprocessor": Identity(),
        "protocol": PerClass(10),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


# A whole seed.

METHODS = {
    "lean": (Lean(), Ones()),
    "feature_scaling": (FeatureScaling(), Sample()),
    "ellipsotron": (Ellipsotron(), Sample()),
    "soft mask": (Ellipsotron(), Sample(relevant=2, irrelevant=1)),
    "class_soft": (Ellipsotron(), ClassSoft()),
    "class_soft, seen": (Ellipsotron(), ClassSoft(scope="seen")),
    "class_threshold": (Ellipsotron(), ClassThreshold(2)),
    "cross_classes": (Ellipsotron(), CrossClasses()),
    "svm_ff": (SVMFF(), Ones()),
    "svm_ff_batch": (SVMFFBatch(random_state=0), Ones()),
    "ncm": (NCM(), Ones()),
    "ncm, cosine": (NCM("cosine"), Ones()),
    "ridge": (Ridge(), Ones()),
    "naive_bayes": (NaiveBayes(), Ones()),
    "softmax": (Softmax(), Ones()),
    "ranpac": (RanPAC(30), Ones()),
    "slda": (SLDA(), Ones()),
    "logistic": (Logistic(), Ones()),
}


@pytest.mark.parametrize("name", METHODS)
def test_sparse_and_dense_give_the_same_curves(pair, name):
    learner, aggregator = METHODS[name]
    made = setup(learner, aggregator=aggregator)
    found = [run_seed(made, data, 0) for data in pair]
    assert_same_rows(*found)


def assert_same_rows(one, two):
    for first, second in zip(one.rows, two.rows, strict=True):
        assert first == pytest.approx(second, rel=1e-8, abs=1e-8)
    assert one.given == pytest.approx(two.given)
    assert one.bound == pytest.approx(two.bound, rel=1e-8)


def test_graded_votes_keep_their_precision(words):
    """Two votes of 0.1 are no more than 0.2, which in single precision they are."""
    X, y, Z = words
    votes = SparseVotes(as_csr(0.1 * Z), np.ones(len(y), bool))
    aggregator = ClassThreshold(0.2, scope="seen")
    expected = aggregator.relevance(0.1 * Z, y)[X > 0]
    found = aggregator.relevance_on(as_csr(X), votes, y)
    np.testing.assert_array_equal(found, expected)
    assert SparseVotes(as_csr(Z), votes.asked).toarray().dtype == np.float32


def test_classes_that_tie_do_so_in_dense_rows_too(rng):
    """Documents that share no word with any learned from are of no class."""
    y = np.arange(60) % 3
    X = np.zeros((60, 400))
    for row in X:
        row[rng.choice(400, 6, replace=False)] = 1.0
    made = setup(Ridge(), preprocessor=L2(), protocol=PerClass(3))
    found = []
    for wrap in (np.asarray, scipy.sparse.csr_array):
        data = load(Data(X=wrap(X), y=y, Z=wrap(X > 0)), None, "words")
        found.append(run_seed(made, data, 0))
    assert_same_rows(*found)
    alike = np.ones((12, 2))
    both = [
        Ridge().fit(wrap(alike), np.arange(12) % 3) for wrap in (np.asarray, as_csr)
    ]
    assert both[0].alpha_ == both[1].alpha_ == 0.2


def test_sparse_data_are_tuned_fairly_with_what_takes_them(pair):
    """Centring would fill in every zero."""
    data = dataclasses.replace(pair[1], validation=pair[1])
    tried = {"preprocessor": [Center(), L2(), Identity()]}
    _, chosen = tune(setup(Lean(), tune=tried), data, PerClass)
    assert not isinstance(chosen["preprocessor"], Center)
    with pytest.raises(UserError, match="none of these takes sparse features"):
        tune(setup(Lean(), tune={"preprocessor": [Center()]}), data, PerClass)


def test_features_beyond_the_machines_memory_are_named(rng):
    X = scipy.sparse.csr_array((np.ones(6), (range(6), range(6))), shape=(6, 2**50))
    data = Data(X=X, y=np.arange(6) % 2, Z=X)
    for learner, aggregator in ((Ridge(), Ones()), (Ellipsotron(), ClassSoft())):
        made = setup(learner, aggregator=aggregator, protocol=PerClass(2))
        with pytest.raises(UserError, match="2 classes have weights of 1,125,899,"):
            run_seed(made, load(data, None, "wide"), 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"preprocessor": L2()},
        {"preprocessor": Scale()},
        {"preprocessor": Scale(fit_on="seen")},
        {"protocol": Stream((20, 60), test=0.3)},
        {"annotation": Absent()},
        {"annotation": Shuffled()},
        {"annotation": ShuffledWithinClass()},
        {"annotation": Budget(marks=1)},
        {"annotation": Budget(marks=2, samples=0.5)},
        {"annotation": Budget(samples=0.3)},
        {"annotation": Uniform()},
        {"annotation": Noisy(miss=0.3, err=0.1)},
        {"precision": "float32"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["ellipsotron", "class_soft, seen", "svm_ff", "ncm"])
def test_whatever_else_is_set_sparse_is_dense(pair, name, changes):
    learner, aggregator = METHODS[name]
    made = setup(learner, aggregator=aggregator, **changes)
    one, two = [run_seed(made, data, 1) for data in pair]
    if "precision" not in changes:
        assert_same_rows(one, two)
    errors = [[row["test_error"] for row in found.rows] for found in (one, two)]
    assert errors[0] == pytest.approx(errors[1], abs=0.03)


def test_blocks_do_not_show(pair, monkeypatch):
    whole = run_seed(setup(Ellipsotron()), pair[1], 0)
    monkeypatch.setattr("rsbench.core.data._CHUNK_BYTES", 200)
    assert_same_rows(run_seed(setup(Ellipsotron()), pair[1], 0), whole)


def test_a_strangers_aggregator_gets_dense_votes(pair):
    class Whole:
        """Without parts and without a word of sparse rows."""

        def fit(self, Z, y):
            assert isinstance(Z, np.ndarray) and not np.isnan(Z).any()
            self.share = Z.mean(axis=0)
            return self

        def relevance(self, Z, y):
            return 0.5 + Z + self.share

    one, two = [
        run_seed(setup(Ellipsotron(), aggregator=Whole()), data, 0) for data in pair
    ]
    assert_same_rows(one, two)


def test_an_aggregator_that_gives_other_places_is_named(pair):
    class Wrong(Ones):
        def relevance_on(self, X, Z, y):
            return np.ones(3)

    with pytest.raises(UserError, match=r"Wrong.relevance_on gave shape \(3,\)"):
        run_seed(setup(Ellipsotron(), aggregator=Wrong()), pair[1], 0)


def test_a_subclass_that_changes_relevance_is_asked_for_it(pair):
    class Doubled(Sample):
        def relevance(self, Z, y):
            return 2 * super().relevance(Z, y)

    assert Doubled.relevance_on is None
    one, two = [
        run_seed(setup(Ellipsotron(), aggregator=Doubled()), data, 0) for data in pair
    ]
    assert_same_rows(one, two)


def test_single_votes_cannot_be_taken_back(pair):
    class Forgets(Corruption):
        def __call__(self, Z, rng):
            votes = Z.astype(np.float32)
            votes[:, 0] = np.nan
            return votes

    with pytest.raises(UserError, match="Forgets takes back single votes"):
        run_seed(setup(Ellipsotron(), annotation=Forgets()), pair[1], 0)


@pytest.mark.parametrize(
    "preprocessor", [Center(), Standardize()], ids=["center", "standardize"]
)
def test_centring_refuses_with_the_reason(pair, preprocessor):
    with pytest.raises(
        UserError, match="takes no sparse features, whose zeros it would"
    ):
        run_seed(setup(Lean(), preprocessor=preprocessor), pair[1], 0)


def test_a_learner_that_takes_sparse_rows_gets_sparse_votes(pair):
    class Looks(Lean):
        def partial_fit(self, X, y, classes=None, *, annotation=None):
            Looks.seen.append((X, annotation))
            return super().partial_fit(X, y, classes)

    Looks.seen = []
    Looks.takes_sparse = True
    run_seed(setup(Looks()), pair[1], 0)
    X, votes = Looks.seen[0]
    assert scipy.sparse.issparse(X) and isinstance(votes, SparseVotes)
    Looks.seen = []
    Looks.takes_sparse = False
    run_seed(setup(Looks()), pair[1], 0)
    X, votes = Looks.seen[0]
    assert isinstance(X, np.ndarray) and isinstance(votes, np.ndarray)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"learner": Logistic()},
            "Logistic takes no sparse rows",
        ),
        ({"annotation": Uniform()}, "Uniform takes no sparse rows"),
        ({"learner": Ridge()}, "ridge on .* samples needs their products"),
        ({"learner": SLDA()}, "SLDA needs the covariance of 40 features"),
    ],
    ids=["batch learner", "corruption", "ridge", "slda"],
)
def test_what_has_no_room_is_refused_with_its_size(pair, monkeypatch, changes, message):
    monkeypatch.setattr("rsbench.core.sparse._machine_memory", lambda: 12_000)
    made = (
        setup(Ellipsotron(), **changes)
        if "learner" not in changes
        else setup(**changes)
    )
    with pytest.raises(
        UserError, match=f"{message}, which would take .* GiB; this machine"
    ):
        run_seed(made, pair[1], 0)
    assert len(run_seed(setup(Ellipsotron()), pair[1], 0).rows) == 10


def test_the_machines_memory_is_the_bound():
    check_memory(1 << 20, "a little")
    with pytest.raises(
        UserError, match="a lot, which would take 1048576.0 GiB; this machine has"
    ):
        check_memory(1 << 50, "a lot")


# Votes and values.


def test_votes_know_who_was_asked():
    votes = SparseVotes(as_csr(np.eye(3)), np.array([True, False, True]))
    assert votes.shape == (3, 3) and len(votes) == 3
    expected = [[1, 0, 0], [np.nan] * 3, [0, 0, 1]]
    np.testing.assert_array_equal(votes.toarray(), expected)
    np.testing.assert_array_equal(votes[[2, 1]].toarray(), expected[:0:-1])
    np.testing.assert_array_equal(dense(votes, "x"), expected)


@given(st.integers(0, 10**6))
def test_values_are_found_where_another_matrix_has_its_own(seed):
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 6)), int(rng.integers(1, 7)))
    one = np.where(rng.random(shape) < 0.4, rng.random(shape), 0.0)
    two = np.where(rng.random(shape) < 0.4, rng.random(shape), 0.0)
    support = as_csr(two)
    found = with_values(support, values_at(as_csr(one), support)).toarray()
    np.testing.assert_array_equal(found, np.where(two != 0, one, 0.0))


@given(st.integers(0, 10**6))
def test_rows_are_replaced_and_summed(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 8)), int(rng.integers(1, 6))
    X = np.where(rng.random((n, d)) < 0.5, rng.random((n, d)), 0.0)
    rows = np.flatnonzero(rng.random(n) < 0.5)
    new = rng.random((len(rows), d))
    expected = X.copy()
    expected[rows] = new
    found = replace_rows(as_csr(X), rows, as_csr(new))
    np.testing.assert_array_equal(found.toarray(), expected)
    codes = rng.integers(3, size=n)
    sums = [X[codes == c].sum(axis=0) for c in range(3)]
    np.testing.assert_allclose(by_class(X, codes, 3), sums, atol=1e-12)
    np.testing.assert_allclose(by_class(as_csr(X), codes, 3), sums, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        Ones,
        Sample,
        ClassSoft,
        CrossClasses,
        lambda: ClassThreshold(1),
        lambda: ClassSoft(scope="seen"),
    ],
)
def test_relevance_is_stored_where_features_are(words, rng, make):
    X, y, Z = words
    X = np.where(rng.random(X.shape) < 0.5, X, 0.0)  # and some marks are elsewhere
    asked = rng.random(len(y)) < 0.7
    votes = np.where(asked[:, None], Z, np.float32(np.nan))
    order = rng.permutation(len(y))
    expected = Supervision({"relevance"}, make(), votes, y, order, order).next(X[order])
    sparse = SparseVotes(as_csr(Z), asked)
    rich = Supervision(
        {"relevance"}, make(), sparse, y, order, order, takes_sparse=True
    )
    given_X = as_csr(X[order])
    found = rich.next(given_X)["relevance"]
    # As many values as features have, however small they are.
    assert found.nnz == given_X.nnz and (found.indices == given_X.indices).all()
    at = np.where(X[order] != 0, expected["relevance"], 0.0)
    np.testing.assert_allclose(found.toarray(), at, rtol=1e-12)


def test_every_place_of_a_feature_has_relevance_also_a_tiny_one(words):
    X, y, Z = words
    order = np.arange(len(y))
    rich = Supervision(
        {"relevance"},
        Sample(),
        SparseVotes(as_csr(Z), np.ones(len(y), bool)),
        y,
        order,
        order,
    )
    found = rich.next(as_csr(X))["relevance"]
    assert found.data.min() == 1e-10 and found.data.max() == 1.0


def test_scaling_is_by_the_deviation(words):
    X, _, _ = words
    deviation = X.std(axis=0)
    expected = X / np.where(deviation > 0, deviation, 1)
    np.testing.assert_allclose(Scale().fit(X).transform(X), expected, rtol=1e-9)
    found = Scale().fit(as_csr(X)).transform(as_csr(X))
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-9)
    halves = Scale().fit(as_csr(X[:50])).partial_fit(as_csr(X[50:]))
    np.testing.assert_allclose(halves.transform(X), expected, rtol=1e-9)


def test_scikit_learns_metadata_may_be_dense(words):
    X, y, Z = words
    R = np.where(Z, 1.0, 1e-10)
    one = Ellipsotron().fit(X, y, relevance=R)
    two = Ellipsotron().fit(as_csr(X), y, relevance=R)
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-12)
    with pytest.raises(ValueError, match="does not store its values where X does"):
        Ellipsotron().fit(as_csr(X), y, relevance=as_csr(R[:, ::-1]))


# Data.


def test_data_are_known_by_content(words):
    X, y, Z = words
    made = Data(X=as_csr(X), y=y, Z=as_csr(Z))
    same = Data(X=as_csr(X.copy()), y=y, Z=as_csr(Z))
    X[3, 0] += 1
    other = Data(X=as_csr(X), y=y, Z=as_csr(Z))
    assert identity(made) == identity(same) != identity(other)


def test_nobody_can_write_to_loaded_data(words):
    X, y, Z = words
    made = Data(X=as_csr(X), y=y, Z=as_csr(Z))
    locked = read_only(made)
    with pytest.raises(ValueError, match="read-only"):
        locked.X.data[0] = 7
    made.X.data[0] = 7  # whoever made them may


def test_dense_votes_follow_sparse_features_and_the_other_way_round(words):
    X, y, Z = words
    sparse = load(Data(X=as_csr(X), y=y, Z=Z), None, "words")
    assert scipy.sparse.issparse(sparse.Z)
    full = load(Data(X=X, y=y, Z=as_csr(Z)), None, "words")
    assert isinstance(full.Z, np.ndarray)
    matrix = load(Data(X=scipy.sparse.csr_matrix(X), y=y, Z=Z), None, "words")
    assert isinstance(matrix.X, scipy.sparse.csr_array)


def test_some_samples_can_be_kept(words):
    X, y, Z = words
    kept = keep_samples(Data(X=as_csr(X), y=y, Z=as_csr(Z)), y < 2)
    assert kept.X.shape == (60, 40) and set(kept.y) == {0, 1}


def broken(**changes):
    """The parts of a good matrix of three rows, some of them changed."""
    parts = {
        "data": np.array([1.0, 2.0, 3.0, 4.0]),
        "indices": np.array([0, 2, 1, 3], np.int32),
        "indptr": np.array([0, 2, 2, 4], np.int32),
        "shape": np.array([3, 4]),
    }
    return {f"X_{name}": value for name, value in {**parts, **changes}.items()}


BAD = {
    "X[0, 2] is nan; features must be finite": {"data": np.array([1.0, np.nan, 3, 4])},
    "X's indices of row 2 are not in ascending order: X.sort_indices()": {
        "indices": np.array([0, 2, 3, 1])
    },
    "X has column 1 of row 2 twice: X.sum_duplicates()": {
        "indices": np.array([0, 2, 1, 1])
    },
    "X's indices hold 4, expected 0 to 3": {"indices": np.array([0, 2, 1, 4])},
    "X's indices hold -1, expected 0 to 3": {"indices": np.array([-1, 2, 1, 3])},
    "X's indptr goes backwards at row 1, from 3 to 2": {
        "indptr": np.array([0, 3, 2, 4])
    },
    "X's indptr goes from 0 to 5, expected 0 to 4": {"indptr": np.array([0, 2, 2, 5])},
    "X's indptr goes from 1 to 4": {"indptr": np.array([1, 2, 2, 4])},
    "X's indptr goes from 0 to -4": {"indptr": np.array([0, 2, 2, -4])},
    "X's indptr goes backwards at row 1, from 2147483647 to -2147483648": {
        "indptr": np.array([0, 2**31 - 1, -(2**31), 4], np.int64).astype(np.int32)
    },
    "X's indptr has 3 entries, expected 4": {"indptr": np.array([0, 2, 4])},
    "X's indices have shape (4,) and type float64": {
        "indices": np.array([0.0, 2, 1, 3])
    },
    "X has values of shape (3,) and 4 indices": {"data": np.array([1.0, 2, 3])},
    "X has values of shape (2, 2) and 4 indices": {"data": np.ones((2, 2))},
    "X has shape (4, 4), expected (3, d)": {
        "indptr": np.array([0, 2, 2, 4, 4]),
        "shape": np.array([4, 4]),
    },
    "Z has shape (3, 4) but X has (3, 5)": {"shape": np.array([3, 5])},
    "X's shape is array([3, 4, 1])": {"shape": np.array([3, 4, 1])},
    "X has the shape (-3, 4)": {"shape": np.array([-3, 4])},
    "X has type int64, expected floats": {"data": np.arange(4)},
    "X has the shape (3, 18446744073709551615)": {
        "shape": np.array([3, 2**64 - 1], np.uint64)
    },
}


@pytest.mark.parametrize("message", BAD)
def test_a_sparse_file_that_is_wrong_is_named(tmp_path, message):
    path = tmp_path / "mine.npz"
    rest = {"y": np.array([0, 1, 0]), "Z": np.zeros((3, 4))}
    np.savez(path, **broken(**BAD[message]), **rest)
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        load(Arrays(str(path)), None, str(path))
    assert "mine.npz" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.uint64])
def test_whole_numbers_of_any_type_will_do(tmp_path, dtype):
    parts = broken()
    for name in ("X_indices", "X_indptr"):
        parts[name] = parts[name].astype(dtype)
    rest = {"y": np.array([0, 1, 0]), "Z": np.zeros((3, 4), np.float16)}
    np.savez(tmp_path / "a.npz", **parts, **rest)
    data = load(Arrays(str(tmp_path / "a.npz")), None, "a")
    np.testing.assert_array_equal(data.X.toarray()[0], [1, 0, 2, 0])
    assert data.Z.dtype == np.float32


def test_parts_that_are_missing_or_there_twice_are_named(tmp_path):
    rest = {"y": np.array([0, 1, 0]), "Z": np.zeros((3, 4))}
    parts = broken()
    del parts["X_indptr"]
    np.savez(tmp_path / "half.npz", **parts, **rest)
    with pytest.raises(
        UserError, match=r"half.npz: X_indptr missing; a sparse X has X_data"
    ):
        Arrays(str(tmp_path / "half.npz")).load()
    np.savez(tmp_path / "both.npz", **broken(), X=np.zeros((3, 4)), **rest)
    with pytest.raises(UserError, match="X is there dense and sparse; keep one"):
        Arrays(str(tmp_path / "both.npz")).load()


def test_the_same_mistakes_in_python_are_named(words):
    X, y, Z = words
    made = scipy.sparse.csr_array(X)
    made.indices[:2] = made.indices[:2][::-1].copy()
    with pytest.raises(UserError, match="not in ascending order"):
        check_data(Data(X=made, y=y, Z=Z), "mine")
    with pytest.raises(
        UserError, match="sparse in the format csc, expected csr: X.tocsr()"
    ):
        check_data(Data(X=scipy.sparse.csc_array(X), y=y, Z=Z), "mine")
    with pytest.raises(UserError, match="visible goes with dense votes"):
        check_data(Data(X=as_csr(X), y=y, Z=Z, visible=Z), "mine")
    with pytest.raises(UserError, match="of X and background one is sparse"):
        check_data(Data(X=as_csr(X), y=y, Z=Z, background=X), "mine")
    with pytest.raises(UserError, match="asked has shape"):
        check_data(Data(X=as_csr(X), y=y, Z=Z, asked=np.ones(3, bool)), "mine")
    wrong = as_csr(Z.astype(float))
    wrong.data[0] = 2
    with pytest.raises(UserError, match=r"Z holds 2.0; votes must lie in \[0, 1\]"):
        check_data(Data(X=as_csr(X), y=y, Z=wrong), "mine")


@pytest.mark.parametrize("layout", ["npz", "npy", "scipy"])
def test_sparse_files_are_read(tmp_path, words, layout):
    X, y, Z = words
    matrices = {
        "X": scipy.sparse.csr_array(X),
        "Z": scipy.sparse.csr_array(Z),
        "background": scipy.sparse.csr_array(X[:20]),
        "background_Z": scipy.sparse.csr_array(Z[:20]),
    }
    plain = {"y": y, "background_y": y[:20], "asked": np.arange(120) % 3 > 0}
    for key, matrix in matrices.items():
        if layout != "scipy":
            plain[f"{key}_data"] = matrix.data
            plain[f"{key}_indices"] = matrix.indices
            plain[f"{key}_indptr"] = matrix.indptr
            plain[f"{key}_shape"] = np.array(matrix.shape)
    path = tmp_path / "mine"
    if layout == "npz":
        path = tmp_path / "mine.npz"
        np.savez(path, **plain)
    else:
        path.mkdir()
        for key, array in plain.items():
            np.save(path / f"{key}.npy", array)
    if layout == "scipy":
        for key, matrix in matrices.items():
            scipy.sparse.save_npz(path / f"{key}.npz", matrix)
    data = load(Arrays(str(path)), None, str(path))
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.votes.matrix.toarray(), Z)
    np.testing.assert_array_equal(data.votes.asked, plain["asked"])
    np.testing.assert_array_equal(data.background_Z.toarray(), Z[:20])
    assert data.validation is not None and data.background_held.all()
    assert len(run_seed(setup(Ellipsotron()), data, 0).rows) == 10


def test_another_format_of_scipys_is_named(tmp_path, words):
    X, y, Z = words
    scipy.sparse.save_npz(tmp_path / "X.npz", scipy.sparse.csc_array(X))
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "Z.npy", Z)
    with pytest.raises(
        UserError, match=r"X.npz: a sparse array in the format csc, expected csr"
    ):
        Arrays(str(tmp_path)).load()
    scipy.sparse.save_npz(tmp_path / "X.npz", scipy.sparse.coo_array(X))
    with pytest.raises(UserError, match=r"in the format coo, .* X.tocsr\(\)"):
        Arrays(str(tmp_path)).load()
    for odd in (b"\xff\xfe", ["csr", "csr"]):
        np.savez(tmp_path / "X.npz", format=np.array(odd))
        with pytest.raises(UserError, match=r"X.npz: a sparse array in the format"):
            Arrays(str(tmp_path)).load()
    np.savez(tmp_path / "X.npz", a=np.ones(3))
    with pytest.raises(UserError, match=r"X.npz: format missing; it has a"):
        Arrays(str(tmp_path)).load()
    np.savez(tmp_path / "X.npz", format="csr")
    with pytest.raises(UserError, match=r"X.npz: data, indices, indptr, shape missing"):
        Arrays(str(tmp_path)).load()
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(UserError, match="X is there as npy and npz; keep one"):
        Arrays(str(tmp_path)).load()


def test_scipys_file_by_itself_is_told_where_to_go(tmp_path, words):
    scipy.sparse.save_npz(tmp_path / "mine.npz", scipy.sparse.csr_array(words[0]))
    with pytest.raises(
        UserError, match=r"mine.npz: a single sparse array.*call it X.npz"
    ):
        Arrays(str(tmp_path / "mine.npz")).load()


def test_a_run_from_python_takes_sparse_arrays(words):
    X, y, Z = words
    results = [
        rsbench.run(
            Data(X=wrap(X), y=y, Z=wrap(Z)),
            {"lean": Lean(), "ellipsotron": Ellipsotron(), "ncm": NCM()},
            protocol=PerClass(8),
            seeds=2,
        )
        for wrap in (np.asarray, scipy.sparse.csr_matrix)
    ]
    columns = ["test_error", "online_error"]
    one, two = [result.frame[columns].to_numpy() for result in results]
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_memory_stays_near_that_of_the_arrays(rng):
    """No step of a run makes the rows dense, nor copies all of them more than once."""
    import tracemalloc

    n, d, k = 4000, 5000, 5
    X = scipy.sparse.random_array((n, d), density=0.02, format="csr", rng=rng)
    y = np.arange(n) % k
    Z = X.copy()
    Z.data = (Z.data > 0.8).astype(np.float64)
    Z.eliminate_zeros()
    size = sum(part.nbytes for m in (X, Z) for part in (m.data, m.indices, m.indptr))
    made = Data(X=X, y=y, Z=Z, test=np.arange(n) % 4 == 0)
    for learner in (Lean(), Ellipsotron(), NCM(), NaiveBayes()):
        tracemalloc.start()
        try:
            data = load(made, None, "words")
            run_seed(
                setup(learner, protocol=Stream((1000, 2900), test="mask")), data, 0
            )
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # Beside the arrays themselves, which the test has made.
        assert peak < 2 * size, (type(learner).__name__, peak / size)


def test_aggregators_of_the_base_class_have_no_say_on_sparse_rows():
    assert Aggregator().relevance_on is None
