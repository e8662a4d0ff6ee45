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

from rsbench.core.bound import bound
from rsbench.core.data import Data, check_data, identity, in_blocks, release
from rsbench.core.evaluation import Tests
from rsbench.core.measures import error, hinge, prequential, running_mean
from rsbench.core.seeds import stream
from rsbench.core.supervision import Supervision
from rsbench.corruptions import Full
from rsbench.errors import UserError, did_you_mean
from rsbench.plugins.registry import Registry

#: What a learner can ask for by naming it as an argument of `partial_fit`.
RICH_SUPERVISION = ("relevance", "annotation")
PRECISIONS = ("data", "float32", "float64")
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
        for kind in (
            "dataset",
            "extractor",
            "preprocessor",
            "protocol",
            "annotation",
            "aggregator",
        ):
            self.build(kind)
        rich_supervision(self.learner(0))
        if self.precision not in PRECISIONS:
            raise UserError(
                f"precision={self.precision!r}, expected {', '.join(PRECISIONS)}"
            )

    @property
    def precision(self) -> str:
        """In what features are learned from and tested: as the data has them, or converted."""
        return self.config.get("precision", "data")

    def load(self) -> Data:
        """The data, with features, checked and identified by content."""
        data = self.build("dataset").load()
        if data.X is None:
            data = self.build("extractor").extract(data)
        config = self.config["dataset"]
        check_data(data, config.get("path") or f"dataset={config['name']}")
        for array in (data.X, data.y, data.Z, data.visible, data.test, data.background):
            if (
                array is not None
            ):  # shared by all runs of a process: nobody may change them
                array.flags.writeable = False
        return dataclasses.replace(data, identity=identity(data))


def run_seed(
    spec: Spec, data: Data, seed: int, progress: Callable[[float], Any] = float
) -> SeedResult:
    """Learn and test under one seed; `progress` is told the share of it that is done, step by step."""
    protocol = spec.build("protocol")
    steps, test = protocol.plan(data.y, data.test, stream(seed, "plan"))
    order = np.concatenate(steps)
    y, classes = _relabel(data.y, np.concatenate([order, test]))
    pool = np.setdiff1d(np.flatnonzero(y >= 0), test)
    Z = _annotate(
        spec.build("annotation"), data.votes, pool, stream(seed, "annotation")
    )

    learner, aggregator = spec.learner(seed), spec.build("aggregator")
    wanted = rich_supervision(learner)
    tuned = {}
    if "relevance" in wanted and hasattr(aggregator, "tune"):
        tuned = aggregator.tune(_validation(spec, data, y, Z, pool, classes, seed))
    rich = Supervision(wanted, aggregator, Z, y, pool, order)
    features = Features(data, spec.build("preprocessor"), spec.precision)

    online = np.empty(0)
    rows: list[dict[str, float]] = []
    for before, tested in learn(learner, features, y, classes, steps, test, rich):
        online = np.concatenate([online, before])
        if not (np.isfinite(tested).all() and np.isfinite(before).all()):
            raise UserError(
                f"the learner's scores are not finite after {len(online)} samples (seed {seed})"
            )
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
        bound={}
        if "annotation" in wanted
        else bound(learner, _again(features, y, order, rich)),
    )


def _per_class(
    seed: int, data: Data, test: np.ndarray, margin: np.ndarray
) -> list[dict[str, Any]]:
    """Each class's share of wrong predictions, by the class's name."""
    y, names = data.y[test], data.names.classes
    counts, wrong = np.bincount(y), np.bincount(y, error(margin))
    return [
        {
            "seed": seed,
            "class": names[c] if names else str(c),
            "samples": int(counts[c]),
            "test_error": float(wrong[c] / counts[c]),
        }
        for c in np.flatnonzero(counts)
    ]


def _again(
    features: "Features", y: np.ndarray, order: np.ndarray, rich: Supervision
) -> Iterator[Any]:
    """The stream once more, by the preprocessor's last statistics: features, labels, relevance."""
    rich.restart()
    for block in in_blocks(order, 8 * features.width):
        yield features.now(block), y[block], rich.next(len(block)).get("relevance")


def learn(
    learner: Any,
    features: "Features",
    y: np.ndarray,
    classes: np.ndarray,
    steps: list[np.ndarray],
    test: np.ndarray,
    rich: Supervision,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Step by step: the margins just before each update, and those of the test set after the step.

    Test samples meet the learner without anything but their features.
    """
    tests, new = Tests(learner, features, y, test, len(classes)), True
    for step in steps:
        before = []
        for block in in_blocks(step, 8 * features.width):
            given = rich.next(len(block))
            before.append(
                prequential(
                    learner, features.learned(block), y[block], classes, given, new
                )
            )
            new = False
        yield np.concatenate(before), tests.margins()


class Features:
    """Features after preprocessing, whose statistics never come from test samples."""

    def __init__(self, data: Data, preprocessor: Any, precision: str = "data"):
        self._X, self._preprocessor = data.features, preprocessor
        self._dtype = self._X.dtype if precision == "data" else np.dtype(precision)
        self.width = self._X.shape[1]
        self._fit_on = (
            getattr(preprocessor, "fit_on", "background")
            if hasattr(preprocessor, "fit")
            else None
        )
        if self._fit_on not in (None, "background", "seen"):
            raise UserError(
                f"preprocessor.fit_on={self._fit_on!r}, expected background or seen"
            )
        #: Whether a sample's features stay the same along the stream.
        self.constant = self._fit_on != "seen"
        self._seen: list[int] = []
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
            return self.now(block)
        rows = []
        for i in block:
            self._seen.append(i)
            if hasattr(self._preprocessor, "partial_fit"):
                self._preprocessor.partial_fit(self._read([i]))
            else:
                self._preprocessor.fit(self._read(self._seen))
            rows.append(self.now([i]))
        return np.concatenate(rows)

    def now(self, rows: np.ndarray | list[int]) -> np.ndarray:
        """Any samples, by the statistics of the current step."""
        return self._preprocessor.transform(self._read(rows))

    def _read(self, rows: np.ndarray | list[int]) -> np.ndarray:
        read = self._X[rows].astype(self._dtype, copy=False)
        release(self._X)
        return read


def rich_supervision(learner: Any) -> set[str]:
    """What the learner asks for, by the arguments of its `partial_fit` beyond scikit-learn's."""
    for needed in ("partial_fit", "decision_function"):
        if not callable(getattr(learner, needed, None)):
            raise UserError(
                f"{type(learner).__name__} has no {needed}, which a learner needs"
            )
    parameters = inspect.signature(learner.partial_fit).parameters.values()
    open_ended = [
        p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if open_ended:
        raise UserError(
            f"{type(learner).__name__}.partial_fit takes *{open_ended[0]}: name what it wants instead"
        )
    named = [p.name for p in parameters]
    asked = [name for name in named if name not in _USUAL_ARGUMENTS]
    name = type(learner).__name__
    if hasattr(learner, "brief"):
        asked.append("brief")
    for word in asked:
        if word in NOT_GIVEN_YET:
            raise UserError(
                f"{name} asks for '{word}', which this version of rsbench does not give yet"
            )
        if word not in RICH_SUPERVISION:
            raise UserError(
                f"{name}.partial_fit asks for '{word}'. {did_you_mean(word, RICH_SUPERVISION)}"
            )
    return set(asked)


def unit(protocol: Any) -> str:
    """What the protocol's steps count; `samples` makes `step` the number of samples."""
    return getattr(protocol, "unit", "steps")


def _annotate(
    annotation: Any, Z: np.ndarray, pool: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The votes with those of the training pool as the annotation leaves them; test samples' play no part."""
    if isinstance(annotation, Full):  # which leaves them where they are, be it on disk
        return Z
    votes = np.asarray(annotation(Z[pool], rng))
    if votes.shape != Z[pool].shape:
        raise UserError(
            f"{type(annotation).__name__} gave votes of shape {votes.shape}, expected {Z[pool].shape}"
        )
    changed = Z.astype(np.result_type(Z, votes))
    changed[pool] = votes
    return changed


def _relabel(y: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels 0..K-1 for the classes in use and -1 for the others, and the K classes."""
    present = np.unique(y[used])
    numbers = np.full(int(y.max()) + 1, -1)
    numbers[present] = np.arange(len(present))
    return numbers[y], np.arange(len(present))


def _validation(
    spec: Spec,
    data: Data,
    y: np.ndarray,
    Z: np.ndarray,
    pool: np.ndarray,
    classes: np.ndarray,
    seed: int,
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
        steps = [
            rng.permutation([samples[k] for samples in members]) for k in range(2 * n)
        ]
        train, held = np.concatenate(steps[:n]), np.concatenate(steps[n:])
        learner = spec.learner(seed)
        rich = Supervision(rich_supervision(learner), candidate, Z, y, train, train)
        features = Features(data, spec.build("preprocessor"), spec.precision)
        *_, (_, tested) = learn(learner, features, y, classes, [train], held, rich)
        return float(error(tested).mean())

    return validate
