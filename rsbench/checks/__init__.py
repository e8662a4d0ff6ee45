"""The contract, promise by promise: what a component must keep for a benchmark to be fair.

In a plugin's own tests, one pytest id per promise:

    @pytest.mark.parametrize("promise", rsbench.checks.promises("learner"), ids=str)
    def test_keeps_its_promises(promise):
        promise.check(MyLearner)

`check` takes anything that makes a fresh component when called: the class, or a `functools.partial` of it.
"""

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.data import Data, Names, check_data, identity
from rsbench.core.experiment import rich_supervision
from rsbench.core.measures import margins, prequential
from rsbench.core.seeds import stream
from rsbench.core.supervision import brings
from rsbench.errors import UserError, first_line
from rsbench.learners import LinearLearner

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
            yield Verdict(
                promise, " ".join(str(error).split())[:300] or "an assertion failed"
            )
        except Exception as error:  # a stranger's code may raise anything
            yield Verdict(promise, first_line(error))


def _promise(kind: str) -> Callable[[Callable[[Make], None]], Callable[[Make], None]]:
    def register(test: Callable[[Make], None]) -> Callable[[Make], None]:
        name = test.__name__.removeprefix(f"_{kind}_")
        _PROMISES.append(
            Promise(kind, name, " ".join((test.__doc__ or "").split()), test)
        )
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
        learner.partial_fit(
            self.X[rows],
            self.y[rows],
            classes=self.classes,
            **self.given(learner, rows),
        )
        return learner

    def margins(self, learner: Any, rows: slice) -> np.ndarray:
        return margins(
            learner.decision_function(self.X[rows]), self.y[rows], len(self.classes)
        )


def _problem(
    n: int = 60,
    d: int = 6,
    classes: int = 4,
    dtype: type = np.float64,
    scale: float = 1.0,
) -> _Problem:
    rng = stream(0, "checks")
    y = np.concatenate(
        [np.arange(classes), rng.integers(classes, size=max(0, n - classes))]
    )
    prototypes = rng.random((classes, d))
    X = (scale * (0.5 * rng.random((len(y), d)) + prototypes[y])).astype(dtype)
    Z = (
        rng.random((len(y), d))
        < np.where(prototypes >= np.median(prototypes, axis=0), 0.7, 0.1)[y]
    )
    return _Problem(X, y, Z, np.where(Z, 1.0, 1e-10), np.arange(classes))


def _fresh(make: Make) -> Any:
    """A new learner, its randomness (if any) settled."""
    learner = make()
    params = learner.get_params() if hasattr(learner, "get_params") else {}
    return (
        type(learner)(**{**params, "random_state": 0})
        if "random_state" in params
        else learner
    )


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
    _same(
        whole.decision_function(problem.X),
        single.decision_function(problem.X),
        "block and one by one differ",
    )


@_promise("learner")
def _learner_prediction_is_pure(make: Make) -> None:
    """Predicting changes nothing, and a sample's scores do not depend on what else is asked at the same time."""
    problem, asked, left = _problem(), _fresh(make), _fresh(make)
    for rows in (slice(0, 30), slice(30, 60)):
        problem.teach(asked, rows)
        problem.teach(left, rows)
        first = asked.decision_function(problem.X)
        alone = [
            asked.decision_function(problem.X[i : i + 1]) for i in range(len(problem.X))
        ]
        _same(
            np.concatenate(alone),
            first,
            "scores depend on what else is asked, or asking changes them",
        )
    _same(
        left.decision_function(problem.X),
        first,
        "asking for predictions changed what was learned",
    )


@_promise("learner")
def _learner_prediction_sees_no_annotation(make: Make) -> None:
    """`decision_function` takes features alone."""
    import inspect

    learner = make()
    for method in ("decision_function", "predict"):
        if callable(getattr(learner, method, None)):
            names = set(inspect.signature(getattr(learner, method)).parameters)
            assert not names & {"relevance", "annotation", "R", "Z"}, (
                f"{method} takes {sorted(names)}"
            )


@_promise("learner")
def _learner_is_deterministic(make: Make) -> None:
    """The same samples in the same order under the same seed give the same scores."""
    problem = _problem()
    one, two = problem.teach(_fresh(make)), problem.teach(_fresh(make))
    np.testing.assert_array_equal(
        one.decision_function(problem.X), two.decision_function(problem.X)
    )


@_promise("learner")
def _learner_two_classes(make: Make) -> None:
    """With two classes there is one score per sample, positive for the second class."""
    problem = _problem(classes=2, n=200)
    learner = problem.teach(_fresh(make))
    scores = learner.decision_function(problem.X)
    assert scores.shape == (200,), (
        f"decision_function gave shape {scores.shape}, expected (200,)"
    )
    right = np.mean((scores > 0) == (problem.y == 1))
    assert right > 0.5, f"the sign is right for {right:.0%} of the samples learned from"


def _check_scores(make: Make, problem: _Problem) -> None:
    scores = problem.teach(_fresh(make)).decision_function(problem.X)
    expected = (len(problem.X), len(problem.classes))
    assert scores.shape == expected, (
        f"decision_function gave shape {scores.shape}, expected {expected}"
    )
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
    _same(
        a,
        b,
        "single and double precision disagree",
        tolerance=0.05 * max(1.0, float(np.abs(b).max())),
    )


@_promise("learner")
def _learner_unseen_classes(make: Make) -> None:
    """Classes that it knows of but has not seen have scores too."""
    problem = _problem(classes=6)
    rows = np.flatnonzero(problem.y < 3)
    scores = problem.teach(_fresh(make), rows).decision_function(problem.X)
    assert scores.shape[1] == 6 and np.isfinite(scores).all(), (
        f"scores have shape {scores.shape}, or are not finite"
    )


@_promise("learner")
def _learner_clone(make: Make) -> None:
    """`get_params` and `set_params` carry all of its parameters to a fresh copy that learns the same."""
    learner, problem = _fresh(make), _problem()
    problem.teach(learner)
    copied = type(learner)(**learner.get_params())
    assert copied.get_params() == learner.get_params(), (
        f"{copied.get_params()} differ from {learner.get_params()}"
    )
    _same(
        problem.teach(copied).decision_function(problem.X),
        learner.decision_function(problem.X),
        "the copy differs",
    )


@_promise("learner")
def _learner_pickle(make: Make) -> None:
    """It can be pickled in the middle of a stream, and goes on the same."""
    problem = _problem()
    learner = problem.teach(_fresh(make), slice(0, 30))
    loaded = pickle.loads(pickle.dumps(learner))  # noqa: S301 - written the line before
    one, two = (
        problem.teach(learner, slice(30, 60)),
        problem.teach(loaded, slice(30, 60)),
    )
    np.testing.assert_array_equal(
        one.decision_function(problem.X), two.decision_function(problem.X)
    )


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
            getattr(problem, field.name),
            getattr(before, field.name),
            f"{field.name} was changed",
        )


@_promise("learner")
def _learner_classes_are_equal(make: Make) -> None:
    """Renaming classes renames its scores, nothing else (where no tie has to be broken, and nothing is drawn)."""
    if "random_state" in getattr(make(), "get_params", dict)():
        return  # a random start treats classes differently, and rightly so
    problem, order = _problem(classes=5, n=80), np.array([2, 0, 4, 1, 3])
    renamed = dataclasses.replace(problem, y=np.argsort(order)[problem.y])
    one, two = _fresh(make), _fresh(make)
    if isinstance(
        one, LinearLearner
    ):  # ties among zero weights go to the lowest class; random ones have none
        start = stream(2, "checks").normal(size=(5, problem.X.shape[1]))
        for learner, weights, part in (
            (one, start, problem),
            (two, start[order], renamed),
        ):
            part.teach(learner, slice(0, 1))
            learner.coef_ = weights.copy()
    a = problem.teach(one, slice(1, None)).decision_function(problem.X)
    b = renamed.teach(two, slice(1, None)).decision_function(problem.X)
    if isinstance(one, LinearLearner):
        _same(b, a[:, order], "scores depend on the classes' numbers", 1e-7)
        return
    # Ties while it knew nothing may have been broken either way; in the end they must not matter.
    right, renamed_right = (
        np.mean(a.argmax(1) == problem.y),
        np.mean(b.argmax(1) == renamed.y),
    )
    told = [
        np.mean(scores.argmax(1)[:, None] == np.arange(5), axis=0)
        for scores in (a[:, order], b)
    ]
    assert (
        abs(right - renamed_right) <= 0.2 and np.abs(told[0] - told[1]).max() <= 0.2
    ), (
        f"{right:.0%} of the samples are right, and {renamed_right:.0%} with classes renamed"
    )


@_promise("learner")
def _learner_prequential_is_the_same(make: Make) -> None:
    """A `prequential` of its own gives margins from before each sample (or its block), and teaches as `partial_fit`."""
    problem, quick, plain = _problem(), _fresh(make), _fresh(make)
    if not callable(getattr(quick, "prequential", None)):
        return
    for block in (range(30), range(30, 60)):
        rows, new = slice(block[0], block[-1] + 1), block[0] == 0
        found = prequential(
            quick,
            problem.X[rows],
            problem.y[rows],
            problem.classes,
            problem.given(quick, rows),
            new,
        )
        early = np.zeros(30) if new else problem.margins(plain, rows)
        for i in block:
            late = 0.0 if i == 0 else problem.margins(plain, slice(i, i + 1))[0]
            said = found[i - block[0]]
            close = min(
                abs(said - late), abs(said - early[i - block[0]])
            ) <= 1e-7 * max(1.0, abs(late))
            assert close, (
                f"before sample {i} the margin is {late:.4g}, but prequential says {said:.4g}"
            )
            problem.teach(plain, slice(i, i + 1))
    _same(
        quick.decision_function(problem.X),
        plain.decision_function(problem.X),
        "it teaches something else",
        1e-7,
    )


@_promise("aggregator")
def _aggregator_values(make: Make) -> None:
    """Relevance is finite and above zero, one row per sample, for votes of 0 and 1 and for graded ones."""
    problem = _problem()
    graded = stream(3, "checks").random(problem.Z.shape) * problem.Z
    missing = np.where(
        stream(4, "checks").random(problem.Z.shape) < 0.3, np.nan, problem.Z
    )
    told = [missing] if getattr(make(), "takes_missing", False) else []
    for Z in (problem.Z, graded.astype(np.float32), np.zeros_like(problem.Z), *told):
        R = np.asarray(_fitted(make, Z, problem.y).relevance(Z, problem.y))
        assert R.shape == Z.shape, f"relevance has shape {R.shape}, expected {Z.shape}"
        assert np.isfinite(R).all() and (R > 0).all(), (
            f"relevance goes from {R.min()} to {R.max()}, expected > 0 and finite"
        )


@_promise("aggregator")
def _aggregator_is_causal(make: Make) -> None:
    """A sample's relevance does not depend on samples that come after it in the stream."""
    problem = _problem(n=400)
    aggregator = _fitted(make, problem.Z, problem.y)
    whole = np.asarray(aggregator.relevance(problem.Z, problem.y))
    for n in (1, 25, 150):
        part = np.asarray(aggregator.relevance(problem.Z[:n], problem.y[:n]))
        _same(whole[:n], part, "later samples change earlier ones' relevance")


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
    first, again = (
        np.asarray(_fitted(make, problem.Z, problem.y).relevance(problem.Z, problem.y))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(problem.Z, before, "the votes were changed")


@_promise("aggregator")
def _aggregator_parts_are_the_whole(make: Make) -> None:
    """If it can be fitted or asked in parts (`partial_fit`, `see`), the parts come to what the whole comes to."""
    problem = _problem()
    votes, order = problem.Z, np.arange(60)
    whole = np.asarray(_fitted(make, votes, problem.y).relevance(votes, problem.y))
    aggregator = _fitted(make, votes[:20], problem.y[:20])
    if brings(aggregator, "partial_fit", past="fit"):
        for rows in np.split(order[20:], [15]):
            aggregator.partial_fit(votes[rows], problem.y[rows])
    else:
        aggregator = _fitted(make, votes, problem.y)
    if not brings(aggregator, "see", past="relevance"):
        _same(
            np.asarray(aggregator.relevance(votes, problem.y)),
            whole,
            "fitted in parts it says something else",
        )
        return
    for _ in range(2):  # what is kept is a copy's alone: the stream can be had again
        asked, found = copy.copy(aggregator), []
        for rows in np.split(order, [1, 30]):
            found.append(np.asarray(asked.relevance(votes[rows], problem.y[rows])))
            asked.see(votes[rows], problem.y[rows])
        _same(
            np.concatenate(found), whole, "asked block by block it says something else"
        )


def _fitted(make: Make, Z: np.ndarray, y: np.ndarray) -> Any:
    aggregator = make()
    if hasattr(aggregator, "tune"):
        aggregator.tune(lambda candidate, n: 0.0)
    aggregator.fit(Z, y)
    return aggregator


@_promise("preprocessor")
def _preprocessor_keeps_the_shape(make: Make) -> None:
    """The same shape as before, finite, in the samples' precision or better; for one feature and constant ones too."""
    for d, dtype in ((6, np.float64), (1, np.float64), (6, np.float32)):
        X = _problem(d=d, dtype=dtype).X
        X[:, 0] = 1.0
        made = np.asarray(_prepared(make, X).transform(X))
        assert made.shape == X.shape, (
            f"transform gave shape {made.shape} for {X.shape}: relevance is by feature"
        )
        good = np.isfinite(made).all() and made.dtype.itemsize >= X.dtype.itemsize
        assert good, f"not finite, or of type {made.dtype}"


@_promise("preprocessor")
def _preprocessor_rows_are_independent(make: Make) -> None:
    """A sample is transformed the same whatever comes with it: test samples never inform each other."""
    X = _problem().X
    prepared = _prepared(make, X[:30])
    _same(
        prepared.transform(X)[40:50],
        prepared.transform(X[40:50]),
        "other rows change a row",
    )


@_promise("preprocessor")
def _preprocessor_leaves_its_inputs(make: Make) -> None:
    """It does not change the samples it is given, and transforming teaches it nothing."""
    X = _problem().X
    before, prepared, other = X.copy(), _prepared(make, X), _prepared(make, X)
    first = np.array(prepared.transform(X[:5]))
    other.transform(100 * X)
    for asked in (prepared, other):
        asked.transform(100 * X)
        _same(asked.transform(X[:5]), first, "transforming changed the preprocessor")
    np.testing.assert_array_equal(X, before, "the samples were changed")


@_promise("preprocessor")
def _preprocessor_learns_only_from_fit(make: Make) -> None:
    """`fit` forgets what was before; `partial_fit`, if there is one, comes row by row to what `fit` comes to."""
    X, once, twice, rows = _problem().X, make(), make(), make()
    if not hasattr(once, "fit"):
        return
    once.fit(X)
    twice.fit(5 * X)
    twice.fit(X)
    _same(twice.transform(X), once.transform(X), "fit remembers an earlier fit", 1e-7)
    if hasattr(rows, "partial_fit"):
        for i in range(len(X)):
            rows.partial_fit(X[i : i + 1])
        _same(
            rows.transform(X),
            once.transform(X),
            "partial_fit row by row differs from fit",
            1e-7,
        )


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


def _planned(
    make: Make, seed: int = 0, mask: bool = True
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    y = np.repeat(np.arange(6), 400)
    before = y.copy()
    steps, test = make().plan(
        y, np.arange(len(y)) % 2 == 0 if mask else None, stream(seed, "plan")
    )
    assert np.array_equal(y, before), "the labels were changed"
    return y, [np.asarray(step) for step in steps], np.asarray(test)


@_promise("protocol")
def _protocol_tests_on_other_samples(make: Make) -> None:
    """No sample is both learned from and tested on, and there are some of each; with or without a fixed test set."""
    try:
        y, steps, test = _planned(make, mask=False)  # most data sets have none
    except UserError:
        y, steps, test = _planned(make)
    assert all(map(len, steps)), "a step has no samples"
    order = np.concatenate(steps)
    assert len(order) and len(test), (
        f"{len(order)} samples to learn from and {len(test)} to test on"
    )
    both = np.intersect1d(order, test)
    assert not len(both), f"{len(both)} samples are both learned from and tested on"
    assert min(order.min(), test.min()) >= 0 and max(order.max(), test.max()) < len(
        y
    ), "a sample number is out of range"
    assert len(np.unique(test)) == len(test), "a sample is tested twice"
    assert np.isin(y[test], y[order]).all(), "a class is tested that is never learned"


@_promise("protocol")
def _protocol_is_drawn_by_its_seed(make: Make) -> None:
    """The same seed gives the same plan, another seed another."""
    (_, one, test), (_, two, again), (_, other, _) = (
        _planned(make, seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(np.concatenate(one), np.concatenate(two))
    np.testing.assert_array_equal(test, again)
    assert len(other) == len(one), "the number of steps depends on the seed"
    assert not np.array_equal(np.concatenate(one), np.concatenate(other)), (
        "all seeds have the same stream"
    )


@_promise("dataset")
def _dataset_is_whole(make: Make) -> None:
    """Shapes, types and names fit together, as a run will check them; or there are images for an extractor."""
    data = make().load()
    assert data.X is not None or data.images, "neither features nor images"
    check_data(data, "the data set")


def _identity_elsewhere(make: Make) -> str | None:
    """The data's identity in a process that hashes differently; None where the component cannot be sent there."""
    script = "import pickle, sys; from rsbench.plugins import registry; registry.load(); from rsbench.core.data import identity; "
    script += "print(identity(pickle.load(sys.stdin.buffer)().load()))"
    try:
        content = pickle.dumps(make)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=content,
        env=environment,
        capture_output=True,
    )
    return done.stdout.decode().split()[-1] if done.returncode == 0 else None


@_promise("dataset")
def _dataset_is_deterministic(make: Make) -> None:
    """Loading again gives the same arrays, in another process too."""
    first = identity(make().load())
    assert identity(make().load()) == first, "two loads differ"
    elsewhere = _identity_elsewhere(make)
    assert elsewhere in (None, first), "another process loads other arrays"


@_promise("dataset")
def _dataset_says_whether_it_is_simulated(make: Make) -> None:
    """`simulated` is true or false, so that no number can be mistaken for a result on real data."""
    assert isinstance(make().load().simulated, bool)


@_promise("extractor")
def _extractor_gives_features_or_says_why_not(make: Make) -> None:
    """Images become finite features, a row for each sample; what it cannot do is an error that says what is missing."""
    for data, made in _extracted(make):
        assert made.X is not None, "extract returned no features"
        assert len(made.y) == len(data.y), (
            f"{len(made.y)} samples came back of {len(data.y)}"
        )
        check_data(made, "the extractor")


@_promise("extractor")
def _extractor_looks_at_images_alone(make: Make) -> None:
    """The same images give the same features whatever their labels and votes, which come back as they were."""
    features = []
    for data, made in _extracted(make):
        assert np.array_equal(made.y, data.y) and np.array_equal(made.Z, data.Z), (
            "labels or votes were changed"
        )
        features.append(np.asarray(made.X))
    for other in features[1:]:
        _same(features[0], other, "features depend on labels, votes or chance")


def _extracted(make: Make) -> Iterator[tuple[Data, Data]]:
    """The same images twice, with other labels and votes the second time; nothing where it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        data = _images(Path(folder))
        for given in (data, dataclasses.replace(data, y=1 - data.y, Z=~data.Z)):
            try:
                made = make().extract(given)
            except UserError:
                return
            yield given, made


def _images(folder: Path) -> Data:
    """Four tiny images of two classes, with one feature's votes."""
    from PIL import Image

    paths = tuple(folder / f"{i}.png" for i in range(4))
    for i, path in enumerate(paths):
        Image.new("RGB", (32, 32), (60 * i, 0, 0)).save(path)
    return Data(
        y=np.array([0, 0, 1, 1]),
        Z=np.zeros((4, 1), bool),
        images=paths,
        names=Names(("red",), ("a", "b")),
    )
