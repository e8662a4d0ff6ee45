"""One seed of one run, top to bottom: the science, from objects to numbers.

Plan the stream, make relevance from the training pool's annotations, learn step by
step, and test after each step on features alone.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rsbench.core.bound import Bound
from rsbench.core.components import (
    Absent,
    Aggregator,
    Component,
    Corruption,
    Dataset,
    Extractor,
    Learner,
    Preprocessor,
    Protocol,
    adopt,
    corrupted,
    fresh,
    made_like,
    name_of,
    parameters_of,
)
from rsbench.core.data import (
    Data,
    harmonised,
    identity,
    in_blocks,
    locked,
    release,
)
from rsbench.core.data_checks import check_data
from rsbench.core.evaluation import (
    Features,
    Lessons,
    Tests,
    is_fitted_on_stream,
    prequential,
)
from rsbench.core.items import TestItems, judged_step, table_steps
from rsbench.core.measures import error, hinge, running_mean
from rsbench.core.preparation import (
    asked_before,
    asks_for_background,
    prepare,
    told_names,
    told_of_background,
)
from rsbench.core.seeds import stream
from rsbench.core.sparse import (
    SparseVotes,
    as_csr,
    check_memory,
    dense,
    is_sparse,
    replace_rows,
)
from rsbench.core.supervision import (
    Supervision,
    check_concepts,
    rich_supervision,
    what_is_told,
)
from rsbench.core.told import Told, Track
from rsbench.errors import UserError

#: In what features can be learned from; `data` is as they come.
PRECISIONS = ("data", "float32", "float64")

#: The base class of each kind of component that decides a seed's numbers.
KINDS: dict[str, type[Component]] = {
    "learner": Learner,
    "aggregator": Aggregator,
    "preprocessor": Preprocessor,
    "protocol": Protocol,
    "annotation": Corruption,
}


@dataclass(frozen=True)
class Setup:
    """Everything that decides a seed's numbers, but for the data.

    The components themselves are never trained: each seed gets fresh copies of them.

    Parameters
    ----------
    learner, aggregator, preprocessor, protocol, annotation : objects
        One component of each kind; `annotation` is a corruption of votes.
    precision : str
        In what features are learned from and tested: `data`, as they come, or
        `float32` or `float64`.
    tune : mapping of str to list
        By dotted key (`learner.C`), values to choose from on held-out classes; by
        `preprocessor`, preprocessors.
    judged_step : int or None
        Where on the curve methods are judged; by default at its end.
    table_steps : sequence of int or None
        The steps that tables report; by default a quarter, half and all of the curve.
    """

    learner: Any
    aggregator: Any
    preprocessor: Any
    protocol: Any
    annotation: Any
    precision: str = "data"
    tune: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    judged_step: int | None = None
    table_steps: Sequence[int] | None = None

    def new(self, kind: str) -> Any:
        """Return a fresh component of a kind."""
        return adopt(fresh(getattr(self, kind)), KINDS[kind])

    def new_learner(self, seed: int) -> Any:
        """Return an untrained learner; its randomness, if any, comes from the seed."""
        changes = {}
        params = parameters_of(self.learner)
        # A state that a user has set stays, the same for all seeds.
        if "random_state" in params and params["random_state"] is None:
            state = stream(seed, "initialisation").integers(2**31)
            changes["random_state"] = int(state)
        return adopt(fresh(self.learner, **changes), Learner)

    def check(self) -> None:
        """Raise an error for mistakes that show before any data are read."""
        for kind, base in KINDS.items():
            adopt(getattr(self, kind), base)  # which names a missing method
            self.new(kind).check_params()
        self.told()
        self.asks_for_background()  # which names what it cannot be given
        taught_at = adopt(self.learner, Learner).taught_at
        if taught_at not in ("step", "table"):
            learner = name_of(self.learner)
            raise UserError(
                f"{learner}.taught_at={taught_at!r}, expected step or table"
            )
        if self.precision not in PRECISIONS:
            expected = ", ".join(PRECISIONS)
            raise UserError(f"precision={self.precision!r}, expected {expected}")

    def told(self) -> Told:
        """Return what the method is told of its samples beyond their labels."""
        learner = adopt(self.learner, Learner)
        return what_is_told(learner, self.new("aggregator"), self.is_absent)

    def track(self, data: Data) -> Track:
        """Return all that the method is told, on a data set that has its own."""
        learner = adopt(self.learner, Learner)
        background = told_of_background(learner, data)
        return Track(self.told(), background, told_names(learner, data))

    def asks_for_background(self) -> bool:
        """Tell whether the learner asks for samples of other classes."""
        return asks_for_background(adopt(self.learner, Learner))

    def idle(self) -> set[str]:
        """Return the kinds of components that can change nothing here.

        Annotations change nothing for a method that is told nothing, nor does an
        aggregator for one that takes no relevance.
        """
        wanted = rich_supervision(self.learner)
        counts_votes = "class_votes" in asked_before(adopt(self.learner, Learner))
        found = set()
        # One is chosen in its place.
        if "preprocessor" in self.tune:
            found.add("preprocessor")
        if "relevance" not in wanted or self.is_absent:
            found.add("aggregator")
        # That they are absent is something that a learner may see, by NaN.
        learns_without = not wanted and not counts_votes
        if learns_without or (self.told() is Told.NOTHING and not self.is_absent):
            found.add("annotation")
        return found

    @property
    def is_absent(self) -> bool:
        """Whether nobody annotates anything."""
        return self.new("annotation").is_absent

    def without_annotations(self) -> "Setup":
        """Return the same method when nobody annotates anything.

        A learner that says what it then equals, or what stands in for it, is replaced
        by that, with the parameters that both have.
        """
        bare = dataclasses.replace(self, annotation=Absent())
        learner = adopt(self.learner, Learner)
        other = learner.substitute or learner.without
        made = self.learner
        if other is not None:
            made = made_like(other, self.learner)
        # What it does not have, or what changes nothing, cannot be tuned; the rest is
        # tuned anew.
        tune = {}
        for key, values in self.tune.items():
            kind, _, name = key.partition(".")
            is_its_own = kind == "learner" and name in parameters_of(made)
            if is_its_own or not name:
                tune[key] = values
        return dataclasses.replace(bare, learner=made, tune=tune)

    def fitted_on_stream(self) -> bool:
        """Tell whether the preprocessor's statistics come from the stream so far."""
        if "preprocessor" in self.tune:
            return False
        return is_fitted_on_stream(self.new("preprocessor"))

    def reported_steps(self, steps: Sequence[int]) -> tuple[int, list[int]]:
        """Return the step of a curve that is judged, and those that tables report."""
        judged = judged_step(steps, self.judged_step)
        return judged, table_steps(steps, self.table_steps, judged)

    def with_values(self, values: Mapping[str, Any]) -> "Setup":
        """Return the setup with other parameters, by dotted keys: `learner.C`.

        A key without a dot is for a whole component: `preprocessor`.
        """
        changes: dict[str, dict[str, Any]] = {}
        made = {}
        for key, value in values.items():
            kind, _, name = key.partition(".")
            if name:
                changes.setdefault(kind, {})[name] = value
            else:
                made[kind] = value
        for kind, params in changes.items():
            made[kind] = fresh(getattr(self, kind), **params)
        return dataclasses.replace(self, **made)


@dataclass(frozen=True)
class SeedResult:
    """What one seed yields: plain values that JSON can hold, and its test samples.

    Parameters
    ----------
    rows : list of dict
        The rows of the curves, one for each step.
    classes : int
        The number of classes.
    samples : dict
        Sizes of the training pool and of the test set, and how many were learned from.
    tuned : dict
        Values chosen for hyperparameters.
    per_class : list of dict
        One row for each class: its error at the last step.
    bound : dict
        The paper's bound, where it applies.
    tested : TestItems
        What became of each test sample.
    given : dict
        Of the samples learned from: the share that somebody annotated, and how many
        features are marked in each of those, on average; empty if nobody asks.
    """

    rows: list[dict[str, float]]
    classes: int
    samples: dict[str, int]
    tuned: dict[str, Any]
    per_class: list[dict[str, Any]]
    bound: dict[str, float]
    tested: TestItems
    given: dict[str, float] = field(default_factory=dict)


def draw_of(dataset: Any, number: int) -> Any:
    """Return the data set of a draw of classes; the first one is the data set itself.

    Raises
    ------
    UserError
        If there is nothing to draw.
    """
    if number == 0:
        return dataset
    drawn = None
    if not isinstance(dataset, Data):
        drawn = adopt(dataset, Dataset).drawn
    if drawn is None:
        raise UserError(
            f"draws: {name_of(dataset)} has one draw of classes alone, draws=1"
        )
    return drawn(number)


def load(dataset: Any, extractor: Any, where: str) -> Data:
    """Return a data set with features, checked and known by content.

    Parameters
    ----------
    dataset : Dataset or Data
        Where samples come from.
    extractor : Extractor
        Makes features of images; not asked where the data have features.
    where : str
        What errors call the data.

    Returns
    -------
    Data
        Its arrays cannot be written to: all methods are to see the same numbers.
    """
    data = dataset
    if not isinstance(data, Data):
        data = adopt(dataset, Dataset).load()
    if data.X is None:
        data = adopt(extractor, Extractor).extract(data)
    data = harmonised(check_data(data, where))
    return dataclasses.replace(read_only(data), identity=identity(data))


def read_only(data: Data) -> Data:
    """Return the same data, of which nobody can change a number."""
    changes: dict[str, Any] = {}
    for each in dataclasses.fields(data):
        value = getattr(data, each.name)
        if isinstance(value, np.ndarray) or is_sparse(value):
            changes[each.name] = locked(value)
    if data.validation is not None:
        changes["validation"] = read_only(harmonised(data.validation))
    return dataclasses.replace(data, **changes)


def run_seed(
    setup: Setup,
    data: Data,
    seed: int,
    progress: Callable[[float], Any] = float,
) -> SeedResult:
    """Learn and test under one seed.

    Parameters
    ----------
    setup : Setup
        The components.
    data : Data
        The samples, with features.
    seed : int
        Decides split, order and initialisation.
    progress : callable
        Told the share that is done, step by step.

    Raises
    ------
    UserError
        If the learner's scores are not finite, or a component breaks its contract.
    """
    # Split and order first, from a stream that no method draws from: within a seed
    # all methods learn from the same samples in the same order.
    protocol = setup.new("protocol")
    steps, test = protocol.plan(data.y, data.test, stream(seed, "plan"))
    numbers = _step_numbers(protocol, steps)
    # Before anything is learned: which steps are reported must not wait for results.
    _, reported = setup.reported_steps(numbers.tolist())
    order = np.concatenate(steps)
    y, classes = _relabel(data.y, np.concatenate([order, test]))
    if is_sparse(data.X):  # whose features may be far more than its values
        n_classes, d = len(classes), data.X.shape[1]
        size = 2 * 8 * n_classes * d
        check_memory(size, f"{n_classes} classes have weights of {d:,} features")
    # More than what is learned from: a teacher's votes may come from all of it.
    pool = np.setdiff1d(np.flatnonzero(y >= 0), test)
    corruption = setup.new("annotation")
    Z = _corrupt(corruption, data.votes, y, pool, stream(seed, "annotation"))

    learner = setup.new_learner(seed)
    aggregator = setup.new("aggregator")
    wanted = rich_supervision(learner)
    check_concepts(learner, data, corruption.is_absent)
    tuned: dict[str, Any] = {}
    asks_aggregator = "relevance" in wanted and not corruption.is_absent
    if asks_aggregator and aggregator.tune is not None:
        tuned = aggregator.tune(_validation(setup, data, y, Z, pool, classes, seed))
    rich = Supervision(
        wanted,
        aggregator,
        Z,
        y,
        pool,
        order,
        corruption.is_absent,
        learner.takes_sparse,
    )
    features = Features(data, setup.new("preprocessor"), setup.precision, learner)
    prepare(learner, data, features, Z, y, pool, classes, corruption.is_absent)
    # Without weights there is no |w*|; and a learner that takes the votes themselves
    # has no relevance to put into the bound.
    bound = None
    if learner.weights is not None and "annotation" not in wanted:
        bound = Bound()

    rows: list[dict[str, float]] = []
    online = np.empty(0)
    wrong = []
    kept_margins = []
    taught = None
    if learner.taught_at == "table":
        taught = np.flatnonzero(np.isin(numbers, reported))
    stages = learn(learner, features, y, classes, steps, test, rich, bound, taught)
    for before, tested in stages:
        # Of all samples so far, since the online measures are running means.
        online = np.concatenate([online, before])
        if not (np.isfinite(tested).all() and np.isfinite(before).all()):
            raise UserError(
                f"the learner's scores are not finite after {len(online)} samples "
                f"(seed {seed})"
            )
        step = int(numbers[len(rows)])
        wrong.append(error(tested).astype(bool))
        if step in reported:
            kept_margins.append(tested.astype(np.float32))
        rows.append(_row(seed, step, online, tested))
        progress(len(rows) / len(steps))
    _add_cumulative(rows)
    given = {}
    if wanted or "class_votes" in asked_before(learner):
        given = _given(Z, order)
    bound_values = {}
    if bound is not None:
        bound_values = bound.value(learner.weights())
    # A protocol may give the test set in any order, and in another for each seed.
    ascending = np.argsort(test)
    return SeedResult(
        rows=rows,
        classes=len(classes),
        samples={"pool": len(pool), "test": len(test), "learned": len(order)},
        given=given,
        tuned=tuned,
        per_class=_per_class(seed, data, test, tested),
        bound=bound_values,
        tested=TestItems(
            steps=numbers,
            items=test[ascending],
            labels=data.y[test[ascending]],
            wrong=np.array(wrong)[:, ascending],
            margin_steps=np.array(reported),
            margins=np.array(kept_margins)[:, ascending],
        ),
    )


def check_steps(setup: Setup, data: Data, seed: int) -> None:
    """Raise an error if the step at which methods are judged is not tested.

    Parameters
    ----------
    setup : Setup
        The components.
    data : Data
        Samples with features.
    seed : int
        Any of the run's: all of them have the same steps.
    """
    protocol = setup.new("protocol")
    steps, _ = protocol.plan(data.y, data.test, stream(seed, "plan"))
    judged_step(_step_numbers(protocol, steps).tolist(), setup.judged_step)


def _step_numbers(protocol: Protocol, steps: list[np.ndarray]) -> np.ndarray:
    """Return what curves call the steps: 1, 2, ..., or the samples so far."""
    if protocol.unit == "samples":
        return np.cumsum([len(step) for step in steps])
    return np.arange(1, len(steps) + 1)


def learn(
    learner: Any,
    features: Features,
    y: np.ndarray,
    classes: np.ndarray,
    steps: list[np.ndarray],
    test: np.ndarray,
    rich: Supervision,
    bound: Bound | None = None,
    taught: np.ndarray | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Learn step by step, and test after each.

    Parameters
    ----------
    learner, features : objects
        What learns, and from which features.
    y : array of shape (n,)
        Classes of all samples.
    classes : array of shape (K,)
        All classes.
    steps, test : arrays of int
        Samples of each step, and of the test set.
    rich : Supervision
        What the learner is told of its samples.
    bound : Bound, optional
        Gathers along the stream what the paper's bound is made of.
    taught : array of int, optional
        At which steps, counted from 0, a batch learner is taught; all by default.

    Yields
    ------
    before : array
        Margins of the step's samples, each just before its update.
    tested : array
        Margins of the test set after the step, by features alone.
    """
    tests = Tests(learner, features, y, test, len(classes))
    lessons = Lessons(learner, classes)
    knows_nothing = True
    for number, step in enumerate(steps):
        before = []
        # In blocks, so that a bounded part of a memory-mapped array is read at once.
        # Online learners learn the same, however the stream is cut.
        for block in in_blocks(step, features.row_bytes):
            X, view = features.learned_and_viewed(block, rich.votes(block))
            given = rich.next(X)
            if view is not None:
                given["view"] = view
            if learner.batch:
                margin = lessons.add(X, y[block], given)
            else:
                new = knows_nothing
                margin = prequential(learner, X, y[block], classes, given, new)
                knows_nothing = False
            if bound is not None:
                bound.see(X, given.get("relevance"), hinge(margin))
            before.append(margin)
        if learner.batch and (taught is None or number in taught):
            lessons.teach()
            knows_nothing = False
        tested = np.zeros(len(test))  # ties, by who has learned nothing yet
        if not knows_nothing:
            tested = tests.margins()
        yield np.concatenate(before), tested


def _given(Z: Any, order: np.ndarray) -> dict[str, float]:
    """Return how much of the stream is annotated: what annotators are paid for.

    Parameters
    ----------
    Z : array or SparseVotes of shape (n, d)
        Votes of all samples, as the corruption left them.
    order : array of int
        The samples that are learned from.
    """
    if isinstance(Z, SparseVotes):
        annotated_rows = order[Z.asked[order]]
        marks = int((Z.matrix[annotated_rows].data > 0).sum())
        return _shares(len(annotated_rows), marks, len(order))
    annotated = 0
    marks = 0
    for block in in_blocks(order, 8 * Z.shape[1]):
        votes = Z[block]
        asked = np.ones(len(block), bool)
        if votes.dtype.kind == "f":  # only floats can be NaN
            asked = ~np.isnan(votes).all(axis=1)
        annotated += int(asked.sum())
        marks += int(np.count_nonzero(np.nan_to_num(votes) > 0))
        release(Z)
    return _shares(annotated, marks, len(order))


def _shares(annotated: int, marks: int, samples: int) -> dict[str, float]:
    """Return the share of samples that are annotated, and marks in each of these."""
    return {"annotated": annotated / samples, "marks": marks / max(1, annotated)}


def _row(
    seed: int, step: int, online: np.ndarray, tested: np.ndarray
) -> dict[str, float]:
    """Return a row of the curves, but for the cumulative measures."""
    return {
        "seed": seed,
        "step": step,
        "samples": len(online),
        "test_error": float(error(tested).mean()),
        "test_loss": float(hinge(tested).sum()),
        "online_error": float(error(online).mean()),
        "online_loss": float(hinge(online).mean()),
    }


def _add_cumulative(rows: list[dict[str, float]]) -> None:
    """Add to each row the means over the steps so far."""
    for measure in ("error", "loss"):
        tested = np.array([row[f"test_{measure}"] for row in rows])
        for row, mean in zip(rows, running_mean(tested), strict=True):
            row[f"cumulative_{measure}"] = float(mean)


def _per_class(
    seed: int, data: Data, test: np.ndarray, margin: np.ndarray
) -> list[dict[str, Any]]:
    """Return each class's share of wrong predictions, by the class's name."""
    y = data.y[test]
    names = data.names.classes
    counts = np.bincount(y)
    wrong = np.bincount(y, error(margin))
    rows = []
    for c in np.flatnonzero(counts):
        name = str(c)
        if names:
            name = names[c]
        rows.append(
            {
                "seed": seed,
                "class": name,
                "samples": int(counts[c]),
                "test_error": float(wrong[c] / counts[c]),
            }
        )
    return rows


def _corrupt(
    corruption: Any,
    Z: Any,
    y: np.ndarray,
    pool: np.ndarray,
    rng: np.random.Generator,
) -> Any:
    """Return the votes, those of the training pool as the corruption leaves them."""
    if not corruption.changes_votes:
        return Z
    given = Z[pool]
    if not corruption.takes_sparse:
        given = dense(given, name_of(corruption))
    votes = corrupted(corruption, given, y[pool], rng)
    if not isinstance(votes, SparseVotes):
        votes = np.asarray(votes)
    if votes.shape != given.shape:
        raise UserError(
            f"{name_of(corruption)} gave votes of shape {votes.shape}, "
            f"expected {given.shape}"
        )
    if isinstance(Z, SparseVotes):
        return _replaced(Z, pool, votes, name_of(corruption))
    # A corruption may take votes back, and NaN has no place among booleans.
    changed = Z.astype(np.result_type(Z, votes))
    changed[pool] = votes
    return changed


def _replaced(Z: SparseVotes, pool: np.ndarray, votes: Any, whose: str) -> SparseVotes:
    """Return sparse votes, those of the training pool replaced."""
    if isinstance(votes, np.ndarray):
        missing = np.isnan(votes)
        asked = np.asarray(~missing.all(axis=1))
        if missing[asked].any():
            raise UserError(
                f"{whose} takes back single votes of a sample, and sparse votes can "
                "only be there for all features of it, or for none"
            )
        # At least in single precision: scipy has nothing below it.
        kept = np.nan_to_num(votes).astype(np.result_type(votes, Z.dtype, np.float32))
        votes = SparseVotes(as_csr(kept), asked)
    asked = Z.asked.copy()
    asked[pool] = votes.asked
    return SparseVotes(replace_rows(Z.matrix, pool, votes.matrix), asked)


def _relabel(y: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels 0..K-1 for the classes in use, -1 for others; and the K classes."""
    present = np.unique(y[used])
    numbers = np.full(int(y.max()) + 1, -1)
    numbers[present] = np.arange(len(present))
    return numbers[y], np.arange(len(present))


def _validation(
    setup: Setup,
    data: Data,
    y: np.ndarray,
    Z: np.ndarray,
    pool: np.ndarray,
    classes: np.ndarray,
    seed: int,
) -> Callable[[Any, int], float]:
    """Return a way for an aggregator to try a candidate inside the training pool."""

    def validate(candidate: Any, n: int) -> float:
        """Learn from n samples per class; return the error on the next n."""
        # The same draw for all candidates, so that they are compared like for like.
        rng = stream(seed, "tuning")
        members = [rng.permutation(pool[y[pool] == c]) for c in classes]
        fewest = min(map(len, members))
        if fewest < 2 * n:
            raise UserError(
                f"choosing theta needs {2 * n} samples per class in the training pool, "
                f"the smallest class has {fewest}: give theta a number, theta=4"
            )
        steps = []
        for k in range(2 * n):
            one_of_each = [samples[k] for samples in members]
            steps.append(rng.permutation(one_of_each))
        train = np.concatenate(steps[:n])
        held = np.concatenate(steps[n:])
        learner = setup.new_learner(seed)
        wanted = rich_supervision(learner)
        aggregator = adopt(candidate, Aggregator)
        takes_sparse = learner.takes_sparse
        rich = Supervision(
            wanted, aggregator, Z, y, train, train, takes_sparse=takes_sparse
        )
        features = Features(data, setup.new("preprocessor"), setup.precision, learner)
        prepare(learner, data, features, Z, y, train, classes)
        # A single step, so that there is a single test, after the last sample.
        [(_, tested)] = learn(learner, features, y, classes, [train], held, rich)
        return float(error(tested).mean())

    return validate
