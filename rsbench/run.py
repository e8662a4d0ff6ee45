"""One run, top to bottom: a method on a data set under a protocol, over paired seeds.

For each seed: plan the stream, make relevance from the training pool's annotations, learn step by
step, and test after each step on features alone.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.bound import bound
from rsbench.data import Data, check_data, identity
from rsbench.errors import UserError, did_you_mean
from rsbench.measures import error, hinge, margins, prequential, running_mean
from rsbench.registry import Registry
from rsbench.seeds import stream

#: What a learner can ask for by naming it as an argument of `partial_fit`.
RICH_SUPERVISION = ("relevance", "annotation")
NOT_GIVEN_YET = ("view", "brief")

_USUAL_ARGUMENTS = ("X", "y", "classes", "sample_weight")


@dataclass(frozen=True)
class SeedResult:
    """What one seed yields, as plain values that JSON can hold.

    Rows of curves, the number of classes, the split's sizes, what was tuned, rows with each class's error at the
    end, and the paper's bound where it applies.
    """

    rows: list[dict[str, float]]
    classes: int
    samples: dict[str, int]
    tuned: dict[str, float]
    per_class: list[dict[str, Any]]
    bound: dict[str, float]


@dataclass(frozen=True)
class Spec:
    """A run's components, built afresh for each seed from their names and parameters."""

    registry: Registry
    config: dict[str, Any]

    def build(self, kind: str) -> Any:
        return self.registry.build(kind, self.config[kind])

    def learner(self, seed: int) -> Any:
        """An untrained learner; its randomness, if any, comes from the seed."""
        params = dict(self.config["learner"])
        accepted = self.registry.get("learner", params["name"]).parameters
        if "random_state" in accepted and params.get("random_state") is None:
            params["random_state"] = int(stream(seed, "initialisation").integers(2**31))
        return self.registry.build("learner", params)

    def check(self) -> None:
        """Build everything once, so that a mistake shows before any data are read."""
        for kind in ("dataset", "extractor", "preprocessor", "protocol", "annotation", "aggregator"):
            self.build(kind)
        rich_supervision(self.learner(0))

    def load(self) -> Data:
        """The data, with features, checked and identified by content."""
        data = self.build("dataset").load()
        if data.X is None:
            data = self.build("extractor").extract(data)
        config = self.config["dataset"]
        check_data(data, config.get("path") or f"dataset={config['name']}")
        for array in (data.X, data.y, data.Z, data.visible, data.test, data.background):
            if array is not None:  # shared by all runs of a process: nobody may change them
                array.flags.writeable = False
        return dataclasses.replace(data, identity=identity(data))


def run_seed(spec: Spec, data: Data, seed: int, progress: Callable[[float], Any] = float) -> SeedResult:
    """Learn and test under one seed; `progress` is told the share of it that is done, step by step."""
    protocol = spec.build("protocol")
    steps, test = protocol.plan(data.y, data.test, stream(seed, "plan"))
    order = np.concatenate(steps)
    y, classes = _relabel(data.y, np.concatenate([order, test]))
    pool = np.setdiff1d(np.flatnonzero(y >= 0), test)
    Z = _annotate(spec.build("annotation"), data.votes, pool, stream(seed, "annotation"))

    learner, aggregator = spec.learner(seed), spec.build("aggregator")
    wanted = rich_supervision(learner)
    tuned = {}
    if "relevance" in wanted and hasattr(aggregator, "tune"):
        tuned = aggregator.tune(_validation(spec, data, y, Z, pool, classes, seed))
    rich = _supervise(wanted, aggregator, Z, y, pool, order)
    features = Features(data, spec.build("preprocessor"))

    online = np.empty(0)
    rows: list[dict[str, float]] = []
    for before, tested in learn(learner, features, y, classes, steps, test, rich):
        online = np.concatenate([online, before])
        if not (np.isfinite(tested).all() and np.isfinite(before).all()):
            raise UserError(f"the learner's scores are not finite after {len(online)} samples (seed {seed})")
        rows.append(
            {
                "seed": seed,
                "step": len(online) if unit(protocol) == "samples" else len(rows) + 1,
                "samples": len(online),
                "test_error": float(error(tested).mean()),
                "test_loss": float(hinge(tested).sum()),
                "online_error": float(error(online).mean()),
                "online_loss": float(hinge(online).mean()),
            }
        )
        progress(len(rows) / len(steps))
    for measure in ("error", "loss"):
        means = running_mean(np.array([row[f"test_{measure}"] for row in rows]))
        for row, mean in zip(rows, means, strict=True):
            row[f"cumulative_{measure}"] = float(mean)
    return SeedResult(
        rows=rows,
        classes=len(classes),
        samples={"pool": len(pool), "test": len(test)},
        tuned=tuned,
        per_class=_per_class(seed, data, test, tested),
        # A learner that takes the votes themselves has no relevance to put into it.
        bound={} if "annotation" in rich else bound(learner, features.now(order), y[order], rich.get("relevance")),
    )


def _per_class(seed: int, data: Data, test: np.ndarray, margin: np.ndarray) -> list[dict[str, Any]]:
    """Each class's share of wrong predictions, by the class's name."""
    y, wrong, names = data.y[test], error(margin), data.names.classes
    return [
        {
            "seed": seed,
            "class": names[c] if names else str(c),
            "samples": int((y == c).sum()),
            "test_error": float(wrong[y == c].mean()),
        }
        for c in np.unique(y)
    ]


def learn(
    learner: Any,
    features: "Features",
    y: np.ndarray,
    classes: np.ndarray,
    steps: list[np.ndarray],
    test: np.ndarray,
    rich: dict[str, np.ndarray],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Step by step: the margins just before each update, and those of the test set after the step.

    Test samples meet the learner without anything but their features.
    """
    start = 0
    for block in steps:
        rows = slice(start, start + len(block))
        given = {name: values[rows] for name, values in rich.items()}
        before = prequential(learner, features.learned(block), y[block], classes, given, new=start == 0)
        start = rows.stop
        yield before, margins(learner.decision_function(features.tested(test)), y[test], len(classes))


class Features:
    """Features after preprocessing, whose statistics never come from test samples."""

    def __init__(self, data: Data, preprocessor: Any):
        self._X, self._preprocessor = data.features, preprocessor
        self._fit_on = getattr(preprocessor, "fit_on", "background") if hasattr(preprocessor, "fit") else None
        if self._fit_on not in (None, "background", "seen"):
            raise UserError(f"preprocessor.fit_on={self._fit_on!r}, expected background or seen")
        self._seen: list[int] = []
        self._tested: np.ndarray | None = None
        if self._fit_on == "background":
            if data.background is None:
                raise UserError(
                    "the preprocessor's statistics come from background data, and the data set has none: "
                    "preprocessor.fit_on=seen takes them from the stream so far"
                )
            preprocessor.fit(data.background)

    def learned(self, block: np.ndarray) -> np.ndarray:
        """Samples of the stream; with fit_on=seen, each by the statistics up to and including it."""
        if self._fit_on != "seen":
            return self._preprocessor.transform(self._X[block])
        rows = []
        for i in block:
            self._seen.append(i)
            if hasattr(self._preprocessor, "partial_fit"):
                self._preprocessor.partial_fit(self._X[i : i + 1])
            else:
                self._preprocessor.fit(self._X[self._seen])
            rows.append(self._preprocessor.transform(self._X[i : i + 1]))
        return np.concatenate(rows)

    def tested(self, test: np.ndarray) -> np.ndarray:
        """Test samples, by the statistics of the current step."""
        if self._fit_on == "seen":
            return self.now(test)
        if self._tested is None:
            self._tested = self.now(test)
        return self._tested

    def now(self, rows: np.ndarray) -> np.ndarray:
        """Any samples, by the statistics of the current step."""
        return self._preprocessor.transform(self._X[rows])


def rich_supervision(learner: Any) -> set[str]:
    """What the learner asks for, by the arguments of its `partial_fit` beyond scikit-learn's."""
    for needed in ("partial_fit", "decision_function"):
        if not callable(getattr(learner, needed, None)):
            raise UserError(f"{type(learner).__name__} has no {needed}, which a learner needs")
    parameters = inspect.signature(learner.partial_fit).parameters.values()
    open_ended = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if open_ended:
        raise UserError(f"{type(learner).__name__}.partial_fit takes *{open_ended[0]}: name what it wants instead")
    named = [p.name for p in parameters]
    asked = [name for name in named if name not in _USUAL_ARGUMENTS]
    name = type(learner).__name__
    if hasattr(learner, "brief"):
        asked.append("brief")
    for word in asked:
        if word in NOT_GIVEN_YET:
            raise UserError(f"{name} asks for '{word}', which this version of rsbench does not give yet")
        if word not in RICH_SUPERVISION:
            raise UserError(f"{name}.partial_fit asks for '{word}'. {did_you_mean(word, RICH_SUPERVISION)}")
    return set(asked)


def unit(protocol: Any) -> str:
    """What the protocol's steps count; `samples` makes `step` the number of samples."""
    return getattr(protocol, "unit", "steps")


def _annotate(annotation: Any, Z: np.ndarray, pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The votes with those of the training pool as the annotation leaves them; test samples' play no part."""
    votes = np.asarray(annotation(Z[pool], rng))
    if votes.shape != Z[pool].shape:
        raise UserError(f"{type(annotation).__name__} gave votes of shape {votes.shape}, expected {Z[pool].shape}")
    changed = Z.astype(np.result_type(Z, votes))
    changed[pool] = votes
    return changed


def _supervise(
    wanted: set[str], aggregator: Any, Z: np.ndarray, y: np.ndarray, pool: np.ndarray, order: np.ndarray
) -> dict[str, np.ndarray]:
    """Rich supervision for the stream: only what the learner asks for.

    A vote that could not be given (NaN) is one not given, but for aggregators that say `takes_missing`.
    """
    rich = {}
    given = np.nan_to_num(Z) if Z.dtype.kind == "f" else Z
    if "relevance" in wanted:
        votes = Z if getattr(aggregator, "takes_missing", False) else given
        aggregator.fit(votes[pool], y[pool])
        R = np.asarray(aggregator.relevance(votes[order], y[order]))
        if R.shape != Z[order].shape:
            raise UserError(f"{type(aggregator).__name__}.relevance gave shape {R.shape}, expected {Z[order].shape}")
        rich["relevance"] = R
    if "annotation" in wanted:
        rich["annotation"] = given[order]
    return rich


def _relabel(y: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels 0..K-1 for the classes in use and -1 for the others, and the K classes."""
    present = np.unique(y[used])
    numbers = np.full(int(y.max()) + 1, -1)
    numbers[present] = np.arange(len(present))
    return numbers[y], np.arange(len(present))


def _validation(
    spec: Spec, data: Data, y: np.ndarray, Z: np.ndarray, pool: np.ndarray, classes: np.ndarray, seed: int
) -> Callable[[Any, int], float]:
    """A way for an aggregator to try a candidate inside the training pool."""

    def validate(candidate: Any, n: int) -> float:
        rng = stream(seed, "tuning")
        members = [rng.permutation(pool[y[pool] == c]) for c in classes]
        if min(map(len, members)) < 2 * n:
            raise UserError(
                f"choosing theta needs {2 * n} samples per class in the training pool, the smallest class has "
                f"{min(map(len, members))}: give theta a number, theta=4"
            )
        steps = [rng.permutation([samples[k] for samples in members]) for k in range(2 * n)]
        train, held = np.concatenate(steps[:n]), np.concatenate(steps[n:])
        learner = spec.learner(seed)
        rich = _supervise(rich_supervision(learner), candidate, Z, y, train, train)
        features = Features(data, spec.build("preprocessor"))
        *_, (_, tested) = learn(learner, features, y, classes, [train], held, rich)
        return float(error(tested).mean())

    return validate
