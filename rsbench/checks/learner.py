"""What a learner promises."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np

from rsbench.checks.assertions import (
    assert_same,
    assert_shape,
    assert_unchanged,
    call,
    new,
    numbers,
)
from rsbench.checks.problem import Problem, make_problem
from rsbench.checks.promise import Make, promise
from rsbench.core.components import (
    Learner,
    adopt,
    fresh,
    made_like,
    parameters_of,
)
from rsbench.core.data import Background
from rsbench.core.evaluation import nobody_asked, only_marked, with_missing
from rsbench.core.measures import margins
from rsbench.core.preparation import (
    asked_before,
    asks_for_background,
    class_votes,
)
from rsbench.core.seeds import stream
from rsbench.core.sparse import SparseVotes, as_csr, row_numbers, with_values
from rsbench.core.supervision import rich_supervision
from rsbench.errors import UserError
from rsbench.learners import LinearLearner

#: Rows of a problem: all of them.
EVERYTHING = slice(None)


@promise("learner")
def says_what_it_wants(make: Make) -> None:
    """It asks by name only for what a run can give, of its samples and before the
    stream, and has the methods a run calls."""
    wanted(new(make))
    asked_for(new(make))


@promise("learner")
def block_is_one_by_one(make: Make) -> None:
    """A block of samples teaches exactly what the same samples teach one at a time,
    in order."""
    # 60 samples: enough for ways that are faster on blocks to set in.
    problem = make_problem()
    whole = teach(new_learner(make, problem), problem)
    # How a run cuts its stream into blocks must not show in its results.
    single = new_learner(make, problem)
    for i in range(len(problem.y)):
        teach(single, problem, slice(i, i + 1))
    assert_same(
        scores(whole, problem),
        scores(single, problem),
        "a block teaches something else than its samples one by one",
    )


@promise("learner")
def prediction_is_pure(make: Make) -> None:
    """Predicting changes nothing, and a sample's scores do not depend on what else is
    asked at the same time."""
    problem = make_problem()
    asked = new_learner(make, problem)
    left_alone = new_learner(make, problem)
    # Twice: what asking did to a learner may show only in what it learns next.
    for rows in (slice(0, 30), slice(30, 60)):
        teach(asked, problem, rows)
        teach(left_alone, problem, rows)
        together = scores(asked, problem)
        singles = [slice(i, i + 1) for i in range(len(problem.y))]
        assert_same(
            np.concatenate([scores(asked, problem, single) for single in singles]),
            together,
            "scores depend on what else is asked, or asking changes them",
        )
    assert_same(
        scores(left_alone, problem),
        together,
        "asking for predictions changed what was learned",
    )


@promise("learner")
def prediction_sees_no_annotation(make: Make) -> None:
    """`decision_function` takes features alone."""
    learner = new(make)
    # Names of arguments that could only bring annotations in.
    forbidden = {"relevance", "annotation", "view", "R", "Z"}
    for method in ("decision_function", "predict"):
        function = getattr(learner, method, None)
        if function is None:  # nobody needs `predict`
            continue
        names = set(inspect.signature(function).parameters)
        assert not names & forbidden, (
            f"{method} takes {sorted(names)}, expected features alone"
        )


@promise("learner")
def is_deterministic(make: Make) -> None:
    """The same samples in the same order under the same seed give the same scores."""
    problem = make_problem()
    one = teach(new_learner(make, problem), problem)
    two = teach(new_learner(make, problem), problem)
    # To the bit: a record can be had again from its seed.
    assert_same(
        scores(one, problem),
        scores(two, problem),
        "two learners learned different things from the same samples",
        tolerance=0,
    )


@promise("learner")
def two_classes(make: Make) -> None:
    """With two classes there is one score per sample, positive for the second class."""
    problem = make_problem(classes=2, n=200)
    learner = teach(new_learner(make, problem), problem)
    says_second = scores(learner, problem) > 0
    # Better than chance is enough: this is about the sign.
    right = np.mean(says_second == (problem.y == 1))
    assert right > 0.5, f"the sign is right for {right:.0%} of the samples learned from"


@promise("learner")
def many_classes(make: Make) -> None:
    """It works for 200 classes."""
    # Most of them have a single sample, as in the first step of a run.
    _check_scores(make, make_problem(n=260, classes=200))


@promise("learner")
def one_feature(make: Make) -> None:
    """It works for a single feature."""
    _check_scores(make, make_problem(d=1))


@promise("learner")
def float32(make: Make) -> None:
    """It works for features in single precision, and learns nearly the same from
    them."""
    # Few samples: rounding decides a tie in the end, and then nothing is the same.
    single = make_problem(n=12, dtype=np.float32)
    double = make_problem(n=12)
    found = _check_scores(make, single)
    expected = _check_scores(make, double)
    assert_same(
        found,
        expected,
        "single and double precision disagree",
        tolerance=0.05 * max(1.0, float(np.abs(expected).max())),
    )


@promise("learner")
def unseen_classes(make: Make) -> None:
    """Classes that it knows of but has not seen have scores too."""
    # So are most classes when a stream starts, and each of them may be the hardest.
    problem = make_problem(classes=6)
    of_three_classes = np.flatnonzero(problem.y < 3)
    learner = teach(new_learner(make, problem), problem, of_three_classes)
    _assert_finite(scores(learner, problem))


@promise("learner")
def clone(make: Make) -> None:
    """`get_params` and `set_params` carry all of its parameters to a fresh copy that
    learns the same."""
    # Each seed gets such a copy.
    problem = make_problem()
    learner = teach(new_learner(make, problem), problem)
    params = call(learner, "get_params")
    copied = new(lambda: type(learner)(**params))
    _assert_params(copied, params, "a copy made with")
    prepared(copied, problem)
    assert_same(
        scores(teach(copied, problem), problem),
        scores(learner, problem),
        f"a copy made with {params} learns something else",
    )
    changed = new(type(learner))
    call(changed, "set_params", **params)
    _assert_params(changed, params, "after set_params with")


@promise("learner")
def survives_pickling(make: Make) -> None:
    """It can be pickled in the middle of a stream, and goes on the same."""
    problem = make_problem()
    learner = teach(new_learner(make, problem), problem, slice(0, 30))
    try:
        content = pickle.dumps(learner)
        loaded = pickle.loads(content)  # noqa: S301 - written the line before
    except Exception as error:
        raise AssertionError(f"it cannot be pickled: {error}") from error
    teach(learner, problem, slice(30, 60))
    teach(loaded, problem, slice(30, 60))
    assert_same(
        scores(loaded, problem),
        scores(learner, problem),
        "once pickled it goes on otherwise",
        tolerance=0,
    )


@promise("learner")
def stays_finite(make: Make) -> None:
    """Samples a million times larger or smaller, samples of zeros, and all-irrelevant
    ones leave it finite."""
    # Features come in any unit, and nothing rescales them unless it is asked to.
    for scale in (1e6, 1e-6):
        _check_scores(make, make_problem(scale=scale))
    # A step divided by the norm of a sample, or of its relevant part, shows here.
    problem = make_problem()
    problem.X[::3] = 0
    problem.R[1::3] = 1e-10
    problem.Z[1::3] = False
    _check_scores(make, problem)


@promise("learner")
def leaves_its_inputs(make: Make) -> None:
    """It does not change the arrays it is given."""
    problem = make_problem()
    before = copy.deepcopy(problem)
    scores(teach(new_learner(make, problem), problem), problem)
    assert_unchanged(problem.X, before.X, "the features")
    assert_unchanged(problem.y, before.y, "the labels")
    assert_unchanged(problem.Z, before.Z, "the votes")
    assert_unchanged(problem.R, before.R, "the rows of relevance")
    for name in ("X", "y", "Z"):
        assert_unchanged(
            getattr(problem.background, name),
            getattr(before.background, name),
            f"the background's {name}",
        )


@promise("learner")
def classes_are_equal(make: Make) -> None:
    """Renaming classes renames its scores, nothing else (where no tie has to be broken,
    and nothing is drawn)."""
    learner = new(make)
    if _has_randomness(learner):
        return  # a random start treats classes differently, and rightly so
    problem = make_problem(classes=5, n=80)
    # No class keeps its number; the new class i is the old class order[i].
    order = np.array([2, 0, 4, 1, 3])
    renamed = dataclasses.replace(problem, y=np.argsort(order)[problem.y])
    # Of these it is known where the weights are, and so how to start without ties.
    if isinstance(learner, LinearLearner):
        _check_renamed_scores(make, problem, renamed, order)
    else:
        _check_renamed_predictions(make, problem, renamed, order)


@promise("learner")
def prequential_is_the_same(make: Make) -> None:
    """A `prequential` of its own gives margins from before each sample (a batch
    learner's: from before the block), and teaches as `partial_fit`."""
    problem = make_problem()
    quick = new_learner(make, problem)
    plain = new_learner(make, problem)
    if adopt(quick, Learner).prequential is None:
        return
    # Two blocks: before its first, a batch learner's margins are all zero.
    for block in (range(30), range(30, 60)):
        found = _prequential(quick, problem, slice(block.start, block.stop))
        expected = _margins_before(plain, problem, block)
        for i, said, margin in zip(block, found, expected, strict=True):
            # Fast ways add up in another order, which moves large margins a little.
            assert abs(said - margin) <= 1e-7 * max(1.0, abs(margin)), (
                f"before sample {i} the margin is {margin:.4g}, "
                f"but prequential says {said:.4g}"
            )
    assert_same(
        scores(quick, problem),
        scores(plain, problem),
        "prequential teaches something else than partial_fit",
        tolerance=1e-7,
    )


@promise("learner")
def weights_give_the_scores(make: Make) -> None:
    """If it has `weights`, their products with the features are its scores."""
    problem = make_problem()
    learner = teach(new_learner(make, problem), problem)
    if adopt(learner, Learner).weights is None:
        return
    # Tests trust them: they score anew only classes whose weights have moved.
    weights = numbers(call(learner, "weights"), "weights")
    assert_shape(weights, (len(problem.classes), problem.X.shape[1]), "weights")
    assert_same(
        problem.X @ weights.T,
        scores(learner, problem),
        "the weights' products with the features are not the scores",
        tolerance=1e-7,
    )


@promise("learner")
def sparse_rows(make: Make) -> None:
    """If it takes sparse rows (`takes_sparse`), it learns from them what it learns from
    dense ones."""
    learner = adopt(new(make), Learner)
    if not learner.takes_sparse:
        return
    # A solver may go another way about sparse rows, and stop when it is near enough.
    tolerance = 1e-7
    if learner.batch:
        tolerance = 1e-3
    few = make_problem(d=20)
    # Most are zero, and so are all of one sample.
    kept = stream(3, "checks").random(few.X.shape) < 0.3
    kept[5] = False
    problem = dataclasses.replace(few, X=np.where(kept, few.X, 0.0))
    sparse = _sparse(problem)
    one = new_learner(make, problem)
    two = new_learner(make, problem)
    for block in (range(30), range(30, 60)):
        assert_same(
            _margins_along(two, sparse, block),
            _margins_along(one, problem, block),
            "sparse rows have other margins along the stream than dense ones",
            tolerance=tolerance,
        )
    assert_same(
        scores(two, sparse),
        scores(one, problem),
        "it learned something else from sparse rows than from dense ones",
        tolerance=tolerance,
    )


@promise("learner")
def equals_without_annotations(make: Make) -> None:
    """If it says what it equals when nobody annotates (`without`), it has the same
    margins and scores then, to the bit."""
    # Results of the other learner are taken for its own.
    for size in (
        {"dtype": np.float64},
        {"dtype": np.float32},
        {"classes": 2},
        {"classes": 200, "n": 260},
    ):
        problem = _without_annotations(make_problem(**size))
        learner = new_learner(make, problem)
        without = adopt(learner, Learner).without
        if without is None:
            return
        other = prepared(made_like(without, learner), problem)
        what = f"without annotations it is not {type(other).__name__}"
        # Two blocks, since one learner may remember of the first what another does not.
        for block in (range(30), range(30, len(problem.y))):
            assert_same(
                _margins_along(learner, problem, block),
                _margins_along(other, problem, block),
                f"{what}: margins along the stream",
                tolerance=0,
            )
        assert_same(
            scores(learner, problem),
            scores(other, problem),
            f"{what}: scores",
            tolerance=0,
        )


@promise("learner")
def survives_missing_votes(make: Make) -> None:
    """If it asks for votes (`annotation`, `view`, `class_votes`), those that nobody was
    asked for (NaN, and no class votes at all) leave its scores finite."""
    learner = new(make)
    told = {*wanted(learner), *asked_for(learner)}
    if not {"annotation", "view", "class_votes"} & told:
        return
    problem = make_problem()
    votes = problem.Z.astype(np.float64)
    nobody_asked = np.full_like(votes, np.nan)
    no_one_of_a_class = problem.y[:, None] == 0
    # As a budget has it, and where some of a sample's features were not visible.
    every_third = np.arange(len(votes))[:, None] % 3 > 0
    some_features = stream(4, "checks").random(votes.shape) < 0.3
    for Z in (
        nobody_asked,
        np.where(every_third, np.nan, votes),
        np.where(some_features, np.nan, votes),
        np.where(no_one_of_a_class, np.nan, votes),
    ):
        _check_scores(make, dataclasses.replace(problem, Z=Z))


@promise("learner")
def takes_any_concepts(make: Make) -> None:
    """If it asks for votes (`annotation`, `class_votes`) and does not say that they are
    to be for features (`needs_feature_votes`), any number of concepts will do."""
    learner = adopt(new(make), Learner)
    asked = {*wanted(learner), *asked_for(learner)}
    if not {"annotation", "class_votes"} & asked:
        return
    if {"relevance", "view"} & asked or learner.needs_feature_votes:
        return
    for concepts in (1, 11):
        _check_scores(make, _with_concepts(make_problem(), concepts))


def wanted(learner: Any) -> set[str]:
    """Return what a learner asks for; what no run can give breaks the promise."""
    try:
        return rich_supervision(adopt(learner, Learner))
    except UserError as error:
        raise AssertionError(str(error)) from error


def asked_for(learner: Any) -> Iterable[str]:
    """Return what a learner asks for before the stream; else the promise is broken."""
    try:
        return asked_before(adopt(learner, Learner))
    except UserError as error:
        raise AssertionError(str(error)) from error


def new_learner(make: Make, problem: Problem) -> Any:
    """Return a new learner that a run can use: prepared, its randomness settled."""
    learner = new(make)
    wanted(learner)
    # As a run does, which gives each seed its own.
    if _has_randomness(learner):
        learner = fresh(learner, random_state=0)
    return prepared(learner, problem)


def prepared(learner: Any, problem: Problem) -> Any:
    """Give a learner what it asks for before the stream, and return it."""
    background: Background | None = problem.background
    if not asks_for_background(adopt(learner, Learner)):
        background = None
    d = problem.X.shape[1]
    offered = {
        "background": background,
        "class_votes": _class_votes(problem),
        "feature_names": tuple(f"feature {j}" for j in range(d)),
        "concept_names": tuple(f"concept {j}" for j in range(problem.Z.shape[1])),
        "class_names": tuple(f"class {c}" for c in problem.classes),
    }
    given = {name: offered[name] for name in asked_for(learner)}
    if given:
        call(learner, "prepare", **given)
    return learner


def _class_votes(problem: Problem) -> np.ndarray | None:
    """Return class votes as a run gives them: none where nobody annotates anything."""
    if not isinstance(problem.Z, SparseVotes) and np.isnan(problem.Z).all():
        return None
    return class_votes(problem.Z, problem.y, len(problem.classes))


def teach(learner: Any, problem: Problem, rows: Any = EVERYTHING) -> Any:
    """Teach a learner some of the samples, and return it."""
    call(
        learner,
        "partial_fit",
        problem.X[rows],
        problem.y[rows],
        classes=problem.classes,
        **_given(learner, problem, rows),
    )
    return learner


def scores(learner: Any, problem: Problem, rows: Any = EVERYTHING) -> np.ndarray:
    """Return a learner's scores of some of the samples."""
    X = problem.X[rows]
    found = numbers(call(learner, "decision_function", X), "decision_function")
    expected: tuple[int, ...] = (X.shape[0], len(problem.classes))
    # scikit-learn's way with two classes.
    if len(problem.classes) == 2:
        expected = (X.shape[0],)
    assert_shape(found, expected, "decision_function")
    return found


def _has_randomness(learner: Any) -> bool:
    """Return whether a run would set the learner's random state."""
    params = parameters_of(learner)
    assert isinstance(params, dict), (
        f"get_params gave {type(params).__name__}, expected a dict"
    )
    return "random_state" in params


def _given(learner: Any, problem: Problem, rows: Any) -> dict[str, np.ndarray]:
    """Return what the learner asks for of these samples."""
    offered = {"relevance": problem.R, "annotation": problem.Z}
    given = {}
    for name in wanted(learner):
        if name == "view":
            votes = problem.Z[rows]
            view = only_marked(problem.X[rows], votes)
            given[name] = with_missing(view, nobody_asked(votes))
        else:
            given[name] = offered[name][rows]
    return given


def _check_scores(make: Make, problem: Problem) -> np.ndarray:
    """Return the scores of a learner taught with everything, which must be finite."""
    found = scores(teach(new_learner(make, problem), problem), problem)
    _assert_finite(found)
    return found


def _assert_finite(found: np.ndarray) -> None:
    assert np.isfinite(found).all(), (
        f"{np.sum(~np.isfinite(found))} of {found.size} scores are not finite"
    )


def _assert_params(learner: Any, expected: dict[str, Any], how: str) -> None:
    found = call(learner, "get_params")
    assert found == expected, f"{how} {expected}, get_params says {found}"


def _check_renamed_scores(
    make: Make, problem: Problem, renamed: Problem, order: np.ndarray
) -> None:
    """Compare scores, from a start in which there are no ties.

    Among weights of zero ties go to the lowest class, so that names matter; among
    random ones there are none.
    """
    start = stream(2, "checks").normal(size=(5, problem.X.shape[1]))
    # A first sample makes a learner set its weights up, so that they can be replaced.
    one = teach(new_learner(make, problem), problem, slice(0, 1))
    one.coef_ = start.copy()
    two = teach(new_learner(make, renamed), renamed, slice(0, 1))
    two.coef_ = start[order].copy()
    teach(one, problem, slice(1, None))
    teach(two, renamed, slice(1, None))
    assert_same(
        scores(two, renamed),
        scores(one, problem)[:, order],
        "scores depend on the classes' numbers",
        tolerance=1e-7,
    )


def _check_renamed_predictions(
    make: Make, problem: Problem, renamed: Problem, order: np.ndarray
) -> None:
    """Compare how many samples are right, and how many each class gets.

    Ties while it knew nothing may have been broken either way; in the end they must not
    matter much.
    """
    one = teach(new_learner(make, problem), problem, slice(1, None))
    two = teach(new_learner(make, renamed), renamed, slice(1, None))
    predicted = order.argsort()[scores(one, problem).argmax(axis=1)]
    predicted_renamed = scores(two, renamed).argmax(axis=1)
    # Both in the new names: one's predictions were renamed after the fact.
    right = np.mean(predicted == renamed.y)
    renamed_right = np.mean(predicted_renamed == renamed.y)
    shares = np.bincount(predicted, minlength=5) / len(predicted)
    renamed_shares = np.bincount(predicted_renamed, minlength=5) / len(predicted)
    assert abs(right - renamed_right) <= 0.2, (
        f"{right:.0%} of the samples are right, "
        f"and {renamed_right:.0%} with classes renamed"
    )
    worst = np.abs(shares - renamed_shares).argmax()
    assert abs(shares[worst] - renamed_shares[worst]) <= 0.2, (
        f"a class gets {shares[worst]:.0%} of the predictions, "
        f"and {renamed_shares[worst]:.0%} with classes renamed"
    )


def _sparse(problem: Problem) -> Problem:
    """Return the problem as a learner gets it that takes sparse rows."""
    X = as_csr(problem.X)
    votes = SparseVotes(as_csr(problem.Z), np.ones(len(problem.y), bool))
    relevance = with_values(X, problem.R[row_numbers(X), X.indices])
    return dataclasses.replace(problem, X=X, Z=votes, R=relevance)


def _with_concepts(problem: Problem, concepts: int) -> Problem:
    """Return the problem with votes for so many concepts beside its features."""
    rng = stream(5, "checks")
    other = problem.background
    return dataclasses.replace(
        problem,
        Z=rng.random((len(problem.y), concepts)) < 0.4,
        background=dataclasses.replace(
            other, Z=rng.random((len(other.X), concepts)) < 0.4
        ),
    )


def _without_annotations(problem: Problem) -> Problem:
    """Return the problem as a learner gets it when nobody annotates anything."""
    shape = problem.X.shape
    return dataclasses.replace(
        problem, R=np.ones(shape), Z=np.full(shape, np.nan, np.float32)
    )


def _margins_along(learner: Any, problem: Problem, block: range) -> np.ndarray:
    """Return the margins that a run would see, each from before its sample."""
    if adopt(learner, Learner).prequential is None:
        return _margins_before(learner, problem, block)
    return _prequential(learner, problem, slice(block.start, block.stop))


def _prequential(learner: Any, problem: Problem, rows: slice) -> np.ndarray:
    """Return the margins that the learner's own prequential gives."""
    y = problem.y[rows]
    found = call(
        learner,
        "prequential",
        problem.X[rows],
        y,
        classes=problem.classes,
        **_given(learner, problem, rows),
    )
    found = numbers(found, "prequential")
    assert_shape(found, y.shape, "prequential")
    return found


def _margins_before(learner: Any, problem: Problem, block: range) -> np.ndarray:
    """Return the margins that `decision_function` and `partial_fit` give, in order.

    This is the reference: predict, then learn, one sample at a time. A batch learner
    predicts the whole block, then learns it.
    """
    parts = [slice(i, i + 1) for i in block]
    if adopt(learner, Learner).batch:
        parts = [slice(block.start, block.stop)]
    found = []
    for rows in parts:
        found.append(_margins(learner, problem, rows))
        teach(learner, problem, rows)
    return np.concatenate(found)


def _margins(learner: Any, problem: Problem, rows: slice) -> np.ndarray:
    """Return the margins of some of the samples."""
    y = problem.y[rows]
    if rows.start == 0:  # nothing is known yet, so that all classes tie
        return np.zeros(len(y))
    return margins(scores(learner, problem, rows), y, len(problem.classes))
