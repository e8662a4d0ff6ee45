"""The contract, promise by promise: what a component must keep for a benchmark to be fair.

In a plugin's own tests, one pytest id per promise:

    @pytest.mark.parametrize("promise", rsbench.checks.promises("learner"), ids=str)
    def test_keeps_its_promises(promise):
        promise.check(MyLearner)

`check` takes anything that makes a fresh component when called: the class, or a `functools.partial` of it.
"""

import copy
import dataclasses
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.data import Data, Names, check_data, identity
from rsbench.errors import UserError, first_line
from rsbench.run import rich_supervision
from rsbench.seeds import stream

Make = Callable[[], Any]


@dataclass(frozen=True)
class Promise:
    """One promise: its name, what it says, and a test that raises an error if it is broken."""

    kind: str
    name: str
    says: str
    test: Callable[[Make], None]

    def check(self, make: Make) -> None:
        """Raise an error unless the component that `make` makes keeps the promise."""
        self.test(make)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Verdict:
    """Whether a promise is kept, and if not, what was seen."""

    promise: Promise
    cause: str | None

    @property
    def kept(self) -> bool:
        return self.cause is None


_PROMISES: list[Promise] = []


def promises(kind: str) -> list[Promise]:
    """What a component of that kind promises."""
    found = [promise for promise in _PROMISES if promise.kind == kind]
    if not found:
        known = ", ".join(dict.fromkeys(promise.kind for promise in _PROMISES))
        raise ValueError(f"no promises for kind '{kind}'; known: {known}")
    return found


def verdicts(kind: str, make: Make) -> Iterator[Verdict]:
    """Try every promise of a kind."""
    for promise in promises(kind):
        try:
            promise.check(make)
            yield Verdict(promise, None)
        except AssertionError as error:
            yield Verdict(promise, " ".join(str(error).split())[:300] or "an assertion failed")
        except Exception as error:  # a stranger's code may raise anything
            yield Verdict(promise, first_line(error))


def _promise(kind: str) -> Callable[[Callable[[Make], None]], Callable[[Make], None]]:
    def register(test: Callable[[Make], None]) -> Callable[[Make], None]:
        name = test.__name__.removeprefix(f"_{kind}_")
        _PROMISES.append(Promise(kind, name, " ".join((test.__doc__ or "").split()), test))
        return test

    return register


@dataclass(frozen=True)
class _Problem:
    """Samples with annotations, and what a learner may ask for."""

    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    R: np.ndarray
    classes: np.ndarray

    def given(self, learner: Any, rows: Any = slice(None)) -> dict[str, np.ndarray]:
        offered = {"relevance": self.R, "annotation": self.Z}
        return {name: offered[name][rows] for name in rich_supervision(learner)}

    def teach(self, learner: Any, rows: Any = slice(None)) -> Any:
        learner.partial_fit(self.X[rows], self.y[rows], classes=self.classes, **self.given(learner, rows))
        return learner


def _problem(n: int = 60, d: int = 6, classes: int = 4, dtype: type = np.float64, scale: float = 1.0) -> _Problem:
    rng = stream(0, "checks")
    y = np.concatenate([np.arange(classes), rng.integers(classes, size=max(0, n - classes))])
    X = (scale * (rng.random((len(y), d)) + 0.5 * rng.random((classes, d))[y])).astype(dtype)
    Z = rng.random((len(y), d)) < 0.4
    return _Problem(X, y, Z, np.where(Z, 1.0, 1e-10), np.arange(classes))


def _fresh(make: Make) -> Any:
    """A new learner, its randomness (if any) settled."""
    learner = make()
    if "random_state" in getattr(learner, "get_params", dict)():
        learner.set_params(random_state=0)
    return learner


def _same(a: np.ndarray, b: np.ndarray, what: str, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=what)


@_promise("learner")
def _learner_says_what_it_wants(make: Make) -> None:
    """It asks by name only for rich supervision that a run can give, and has the methods a run calls."""
    rich_supervision(make())


@_promise("learner")
def _learner_block_is_one_by_one(make: Make) -> None:
    """A block of samples teaches exactly what the same samples teach one at a time, in order."""
    problem, whole, single = _problem(), _fresh(make), _fresh(make)
    problem.teach(whole)
    for i in range(len(problem.y)):
        problem.teach(single, slice(i, i + 1))
    _same(whole.decision_function(problem.X), single.decision_function(problem.X), "block and one by one differ")


@_promise("learner")
def _learner_prediction_is_pure(make: Make) -> None:
    """Predicting changes nothing: the same scores again, in any order, and learning goes on as if nobody had asked."""
    problem, asked, left = _problem(), _fresh(make), _fresh(make)
    for rows in (slice(0, 30), slice(30, 60)):
        problem.teach(asked, rows)
        problem.teach(left, rows)
        first = asked.decision_function(problem.X)
        _same(
            asked.decision_function(problem.X[::-1])[::-1], first, "scores depend on the order or number of questions"
        )
    _same(left.decision_function(problem.X), first, "asking for predictions changed what was learned")


@_promise("learner")
def _learner_prediction_sees_no_annotation(make: Make) -> None:
    """`decision_function` takes features alone."""
    import inspect

    learner = make()
    for method in ("decision_function", "predict"):
        if callable(getattr(learner, method, None)):
            names = set(inspect.signature(getattr(learner, method)).parameters)
            assert not names & {"relevance", "annotation", "R", "Z"}, f"{method} takes {sorted(names)}"


@_promise("learner")
def _learner_is_deterministic(make: Make) -> None:
    """The same samples in the same order under the same seed give the same scores."""
    problem = _problem()
    one, two = problem.teach(_fresh(make)), problem.teach(_fresh(make))
    np.testing.assert_array_equal(one.decision_function(problem.X), two.decision_function(problem.X))


@_promise("learner")
def _learner_two_classes(make: Make) -> None:
    """With two classes there is one score per sample, positive for the second class."""
    problem = _problem(classes=2, n=200)
    learner = problem.teach(_fresh(make))
    scores = learner.decision_function(problem.X)
    assert scores.shape == (200,), f"decision_function gave shape {scores.shape}, expected (200,)"
    right = np.mean((scores > 0) == (problem.y == 1))
    assert right > 0.5, f"the sign is right for {right:.0%} of the samples learned from"


def _check_scores(make: Make, problem: _Problem) -> None:
    scores = problem.teach(_fresh(make)).decision_function(problem.X)
    expected = (len(problem.X), len(problem.classes))
    assert scores.shape == expected, f"decision_function gave shape {scores.shape}, expected {expected}"
    assert np.isfinite(scores).all(), "scores are not finite"


@_promise("learner")
def _learner_many_classes(make: Make) -> None:
    """It works for 200 classes."""
    _check_scores(make, _problem(n=260, classes=200))


@_promise("learner")
def _learner_one_feature(make: Make) -> None:
    """It works for a single feature."""
    _check_scores(make, _problem(d=1))


@_promise("learner")
def _learner_float32(make: Make) -> None:
    """It works for features in single precision, and learns nearly the same from them."""
    single, double = _problem(n=12, dtype=np.float32), _problem(n=12)
    _check_scores(make, single)
    a = single.teach(_fresh(make)).decision_function(single.X)
    b = double.teach(_fresh(make)).decision_function(double.X)
    _same(a, b, "single and double precision disagree", tolerance=0.05 * max(1.0, float(np.abs(b).max())))


@_promise("learner")
def _learner_unseen_classes(make: Make) -> None:
    """Classes that it knows of but has not seen have scores too."""
    problem = _problem(classes=6)
    rows = np.flatnonzero(problem.y < 3)
    scores = problem.teach(_fresh(make), rows).decision_function(problem.X)
    assert scores.shape[1] == 6 and np.isfinite(scores).all(), f"scores have shape {scores.shape}, or are not finite"


@_promise("learner")
def _learner_clone(make: Make) -> None:
    """`get_params` and `set_params` carry all of its parameters to a fresh copy that learns the same."""
    learner, problem = _fresh(make), _problem()
    problem.teach(learner)
    copied = type(learner)(**learner.get_params())
    assert copied.get_params() == learner.get_params(), f"{copied.get_params()} differ from {learner.get_params()}"
    _same(problem.teach(copied).decision_function(problem.X), learner.decision_function(problem.X), "the copy differs")


@_promise("learner")
def _learner_pickle(make: Make) -> None:
    """It can be pickled in the middle of a stream, and goes on the same."""
    problem = _problem()
    learner = problem.teach(_fresh(make), slice(0, 30))
    loaded = pickle.loads(pickle.dumps(learner))  # noqa: S301 - written the line before
    one, two = problem.teach(learner, slice(30, 60)), problem.teach(loaded, slice(30, 60))
    np.testing.assert_array_equal(one.decision_function(problem.X), two.decision_function(problem.X))


@_promise("learner")
def _learner_stays_finite(make: Make) -> None:
    """Samples a million times larger or smaller, samples of zeros, and all-irrelevant ones leave it finite."""
    for scale in (1e6, 1e-6):
        _check_scores(make, _problem(scale=scale))
    problem = _problem()
    problem.X[::3], problem.R[1::3], problem.Z[1::3] = 0, 1e-10, False
    _check_scores(make, problem)


@_promise("learner")
def _learner_leaves_its_inputs(make: Make) -> None:
    """It does not change the arrays it is given."""
    problem = _problem()
    before = copy.deepcopy(problem)
    problem.teach(_fresh(make)).decision_function(problem.X)
    for field in dataclasses.fields(problem):
        np.testing.assert_array_equal(
            getattr(problem, field.name), getattr(before, field.name), f"{field.name} was changed"
        )


@_promise("learner")
def _learner_classes_are_equal(make: Make) -> None:
    """Renaming classes renames its scores, nothing else (where no tie has to be broken)."""
    linear = hasattr(_problem().teach(_fresh(make), slice(0, 4)), "coef_")
    problem = _problem(classes=5 if linear else 2, n=80)
    order = stream(1, "checks").permutation(len(problem.classes))
    renamed = dataclasses.replace(problem, y=np.argsort(order)[problem.y])
    one, two = _fresh(make), _fresh(make)
    if linear:  # ties among zero weights go to the lowest class; random ones have none
        start = stream(2, "checks").normal(size=(5, problem.X.shape[1]))
        for learner, weights, part in ((one, start, problem), (two, start[order], renamed)):
            part.teach(learner, slice(0, 1))
            learner.coef_ = weights.copy()
    a = problem.teach(one, slice(1, None)).decision_function(problem.X)
    b = renamed.teach(two, slice(1, None)).decision_function(problem.X)
    _same(
        b, a[:, order] if a.ndim == 2 else (a if order[1] == 1 else -a), "scores depend on the classes' numbers", 1e-7
    )


@_promise("aggregator")
def _aggregator_values(make: Make) -> None:
    """Relevance is finite and above zero, one row per sample, for votes of 0 and 1 and for graded ones."""
    problem = _problem()
    graded = stream(3, "checks").random(problem.Z.shape) * problem.Z
    for Z in (problem.Z, graded.astype(np.float32), np.zeros_like(problem.Z)):
        R = np.asarray(_fitted(make, Z, problem.y).relevance(Z, problem.y))
        assert R.shape == Z.shape, f"relevance has shape {R.shape}, expected {Z.shape}"
        assert np.isfinite(R).all() and (R > 0).all(), (
            f"relevance goes from {R.min()} to {R.max()}, expected > 0 and finite"
        )


@_promise("aggregator")
def _aggregator_is_causal(make: Make) -> None:
    """A sample's relevance does not depend on samples that come after it in the stream."""
    problem = _problem()
    aggregator = _fitted(make, problem.Z, problem.y)
    whole = np.asarray(aggregator.relevance(problem.Z, problem.y))
    part = np.asarray(aggregator.relevance(problem.Z[:25], problem.y[:25]))
    _same(whole[:25], part, "later samples change earlier ones' relevance")


@_promise("aggregator")
def _aggregator_sees_the_pool_only(make: Make) -> None:
    """Votes of samples that are neither in the training pool nor in the stream have no way in."""
    problem = _problem()
    one = _fitted(make, problem.Z[:30], problem.y[:30])
    two = _fitted(make, problem.Z[:30].copy(), problem.y[:30].copy())
    two.relevance(~problem.Z[:30], problem.y[:30])  # asking must not teach it anything
    _same(
        np.asarray(one.relevance(problem.Z[:30], problem.y[:30])),
        np.asarray(two.relevance(problem.Z[:30], problem.y[:30])),
        "asking for relevance changes later answers",
    )


@_promise("aggregator")
def _aggregator_is_deterministic(make: Make) -> None:
    """The same votes give the same relevance, and are left as they were."""
    problem = _problem()
    before = problem.Z.copy()
    first, again = (np.asarray(_fitted(make, problem.Z, problem.y).relevance(problem.Z, problem.y)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(problem.Z, before, "the votes were changed")


def _fitted(make: Make, Z: np.ndarray, y: np.ndarray) -> Any:
    aggregator = make()
    if hasattr(aggregator, "tune"):
        aggregator.tune(lambda candidate, n: 0.0)
    aggregator.fit(Z, y)
    return aggregator


@_promise("preprocessor")
def _preprocessor_keeps_the_shape(make: Make) -> None:
    """As many rows as before, finite, in the samples' precision or better; one feature or a constant one is enough."""
    for d, dtype in ((6, np.float64), (1, np.float64), (6, np.float32)):
        X = _problem(d=d, dtype=dtype).X
        X[:, 0] = 1.0
        made = np.asarray(_prepared(make, X).transform(X))
        assert len(made) == len(X) and made.ndim == 2, f"transform gave shape {made.shape} for {X.shape}"
        assert np.isfinite(made).all() and made.dtype.itemsize >= X.dtype.itemsize, (
            f"not finite, or of type {made.dtype}"
        )


@_promise("preprocessor")
def _preprocessor_rows_are_independent(make: Make) -> None:
    """A sample is transformed the same whatever comes with it: test samples never inform each other."""
    X = _problem().X
    prepared = _prepared(make, X[:30])
    _same(prepared.transform(X)[40:50], prepared.transform(X[40:50]), "other rows change a row")


@_promise("preprocessor")
def _preprocessor_leaves_its_inputs(make: Make) -> None:
    """It does not change the samples it is given, and transforming teaches it nothing."""
    X = _problem().X
    before, prepared = X.copy(), _prepared(make, X)
    first = np.array(prepared.transform(X[:5]))
    prepared.transform(100 * X)
    _same(prepared.transform(X[:5]), first, "transforming changed the preprocessor")
    np.testing.assert_array_equal(X, before, "the samples were changed")


@_promise("preprocessor")
def _preprocessor_says_what_it_is_fitted_on(make: Make) -> None:
    """If it learns, `fit_on` is `background` or `seen`."""
    preprocessor = make()
    if hasattr(preprocessor, "fit"):
        fit_on = getattr(preprocessor, "fit_on", "background")
        assert fit_on in ("background", "seen"), f"fit_on={fit_on!r}"


def _prepared(make: Make, X: np.ndarray) -> Any:
    preprocessor = make()
    if hasattr(preprocessor, "fit"):
        preprocessor.fit(X)
    return preprocessor


def _planned(make: Make, seed: int = 0) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    y = np.repeat(np.arange(6), 400)
    steps, test = make().plan(y, np.arange(len(y)) % 2 == 0, stream(seed, "plan"))
    return y, [np.asarray(step) for step in steps], np.asarray(test)


@_promise("protocol")
def _protocol_tests_on_other_samples(make: Make) -> None:
    """No sample is both learned from and tested on, and there are some of each."""
    y, steps, test = _planned(make)
    order = np.concatenate(steps)
    assert len(order) and len(test), f"{len(order)} samples to learn from and {len(test)} to test on"
    both = np.intersect1d(order, test)
    assert not len(both), f"{len(both)} samples are both learned from and tested on"
    assert min(order.min(), test.min()) >= 0 and max(order.max(), test.max()) < len(y), (
        "a sample number is out of range"
    )
    assert len(np.unique(test)) == len(test), "a sample is tested twice"
    assert np.isin(y[test], y[order]).all(), "a class is tested that is never learned"


@_promise("protocol")
def _protocol_is_drawn_by_its_seed(make: Make) -> None:
    """The same seed gives the same plan, another seed another."""
    (_, one, test), (_, two, again), (_, other, _) = (_planned(make, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(np.concatenate(one), np.concatenate(two))
    np.testing.assert_array_equal(test, again)
    assert len(other) == len(one), "the number of steps depends on the seed"
    assert not np.array_equal(np.concatenate(one), np.concatenate(other)), "all seeds have the same stream"


@_promise("dataset")
def _dataset_is_whole(make: Make) -> None:
    """Shapes, types and names fit together, as a run will check them; or there are images for an extractor."""
    data = make().load()
    assert data.X is not None or data.images, "neither features nor images"
    check_data(data, "the data set")


@_promise("dataset")
def _dataset_is_deterministic(make: Make) -> None:
    """Loading again gives the same arrays."""
    assert identity(make().load()) == identity(make().load()), "two loads differ"


@_promise("dataset")
def _dataset_says_whether_it_is_simulated(make: Make) -> None:
    """`simulated` is true or false, so that no number can be mistaken for a result on real data."""
    assert isinstance(make().load().simulated, bool)


@_promise("extractor")
def _extractor_gives_features_or_says_why_not(make: Make) -> None:
    """Images become finite features, a row for each sample; what it cannot do is an error that says what is missing."""
    with tempfile.TemporaryDirectory() as folder:
        data = _images(Path(folder))
        try:
            made = make().extract(data)
        except UserError:
            return
        assert made.X is not None, "extract returned no features"
        assert len(made.y) == len(data.y), f"{len(made.y)} samples came back of {len(data.y)}"
        check_data(made, "the extractor")


def _images(folder: Path) -> Data:
    """Four tiny images of two classes, with one feature's votes."""
    from PIL import Image

    paths = tuple(folder / f"{i}.png" for i in range(4))
    for i, path in enumerate(paths):
        Image.new("RGB", (32, 32), (60 * i, 0, 0)).save(path)
    return Data(y=np.array([0, 0, 1, 1]), Z=np.zeros((4, 1), bool), images=paths, names=Names(("red",), ("a", "b")))
