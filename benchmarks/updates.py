"""Learning and testing along a stream, beside other libraries, the plain loop and the bare matrix product.

Every contestant learns the same stream step by step and is tested after each step on the same samples. What a library
needs its samples turned into is done before the clock starts. Slow ones get fewer samples, from the stream's start
(river, which makes a class's machine when it meets it, then has few of them); all figures are per sample. The floor is
the bare product of all samples with the weights, learning nothing.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from common import Seconds, number, ratio_table, ratios

from rsbench.learners import Ellipsotron, FeatureScaling, Lean


@dataclass(frozen=True)
class Problem:
    """A stream in steps and a test set."""

    X: np.ndarray
    y: np.ndarray
    R: np.ndarray
    test: np.ndarray
    classes: int
    step: int


def problem(
    classes: int,
    features: int,
    samples: int,
    step: int,
    tests: int,
    dtype: str = "float64",
) -> Problem:
    rng = np.random.default_rng(0)
    prototypes = rng.random((classes, features))
    y = np.concatenate(
        [rng.permutation(classes) for _ in range(-(-(samples + tests) // classes))]
    )[: samples + tests]
    X = (prototypes[y] + 0.3 * rng.normal(size=(len(y), features))).astype(dtype)
    R = np.where(rng.random((samples, features)) < 0.2, 1.0, 1e-10)
    return Problem(X[:samples], y[:samples], R, X[samples:], classes, step)


def weights(p: Problem) -> np.ndarray:
    """As in the middle of a stream: pages of zeros that were never written are read from the cache."""
    return (
        1e-3 * np.random.default_rng(1).standard_normal((p.classes, p.X.shape[1]))
    ).astype(p.X.dtype)


class Ours:
    """A learner of rsbench, a step at a time."""

    def __init__(self, p: Problem, learner: Any):
        self.p, self.learner = p, learner
        self.rich = {} if isinstance(learner, Lean) else {"relevance": p.R}
        self.learn(slice(0, 1))
        learner.coef_ = weights(p)

    def learn(self, rows: slice) -> None:
        rich = {name: values[rows] for name, values in self.rich.items()}
        self.learner.partial_fit(
            self.p.X[rows], self.p.y[rows], np.arange(self.p.classes), **rich
        )

    def test(self, rows: slice) -> None:
        self.learner.decision_function(self.p.test[rows]).argmax(axis=1)


class Plain:
    """The same updates as anyone would write them in numpy, one sample at a time."""

    def __init__(self, p: Problem, kind: str):
        self.p, self.W, self.kind, self.R = p, weights(p), kind, p.R.astype(p.X.dtype)

    def learn(self, rows: slice) -> None:
        for x, r, pos in zip(self.p.X[rows], self.R[rows], self.p.y[rows], strict=True):
            if self.kind == "feature scaling":
                x = r * x
            v = r * r * x if self.kind == "ellipsotron" else x
            scores = self.W @ x
            true, scores[pos] = scores[pos], -np.inf
            neg = scores.argmax()
            loss = 1 - true + scores[neg]
            if loss > 0:
                change = loss / (2 * (x @ v) + 0.5) * v
                self.W[pos] += change
                self.W[neg] -= change

    def test(self, rows: slice) -> None:
        (self.p.test[rows] @ self.W.T).argmax(axis=1)


class Floor:
    """Scores of all samples by fixed weights, in one product a step."""

    def __init__(self, p: Problem):
        self.p, self.W = p, weights(p)

    def learn(self, rows: slice) -> None:
        self.p.X[rows] @ self.W.T

    def test(self, rows: slice) -> None:
        (self.p.test[rows] @ self.W.T).argmax(axis=1)


class ScikitLearn:
    """SGDClassifier(learning_rate="pa1"), one machine for each class."""

    def __init__(self, p: Problem, block: int | None):
        from sklearn.linear_model import SGDClassifier

        self.p, self.block = p, block
        self.at_least = (
            1 if block else p.step
        )  # a block's overhead is large, and to be shared
        self.model = SGDClassifier(
            loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, shuffle=False
        )

    def learn(self, rows: slice) -> None:
        start, stop, _ = rows.indices(len(self.p.y))
        for at in range(start, stop, self.block or stop - start):
            part = slice(at, min(stop, at + (self.block or stop)))
            self.model.partial_fit(
                self.p.X[part], self.p.y[part], classes=np.arange(self.p.classes)
            )

    def test(self, rows: slice) -> None:
        self.model.predict(self.p.test[rows])


class River:
    """PAClassifier, one for each class that it has met so far; samples are dicts beforehand."""

    def __init__(self, p: Problem):
        from river.linear_model import PAClassifier
        from river.multiclass import OneVsRestClassifier

        self.p, self.model = p, OneVsRestClassifier(PAClassifier(C=1.0, mode=1))
        self.known: dict[tuple[str, int], dict[int, float]] = {}

    def _sample(self, name: str, i: int) -> dict[int, float]:
        rows = self.p.X if name == "X" else self.p.test
        if (name, i) not in self.known:
            self.known[name, i] = dict(enumerate(rows[i].tolist()))
        return self.known[name, i]

    def prepare(self, learned: int, tested: int) -> None:
        for name, count in (("X", learned), ("test", tested)):
            for i in range(count):
                self._sample(name, i)

    def learn(self, rows: slice) -> None:
        for i in range(*rows.indices(len(self.p.y))):
            self.model.learn_one(self._sample("X", i), int(self.p.y[i]))

    def test(self, rows: slice) -> None:
        for i in range(*rows.indices(len(self.p.test))):
            self.model.predict_one(self._sample("test", i))


class VowpalWabbit:
    """One-against-all with the hinge loss; examples are parsed beforehand."""

    def __init__(self, p: Problem):
        from vowpalwabbit import Workspace

        bits = int(np.ceil(np.log2(p.classes * (p.X.shape[1] + 1)))) + 1
        self.p, self.model = (
            p,
            Workspace(
                f"--oaa {p.classes} --loss_function hinge -b {bits} --noconstant --quiet"
            ),
        )
        self.learned: list[Any] = []
        self.tested: list[Any] = []

    def prepare(self, learned: int, tested: int) -> None:
        def text(x: np.ndarray) -> str:
            return " ".join(f"{j}:{value:.6g}" for j, value in enumerate(x.tolist()))

        for i in range(learned):
            self.learned.append(
                self.model.example(f"{self.p.y[i] + 1} | {text(self.p.X[i])}")
            )
        self.tested = [self.model.example(f"| {text(x)}") for x in self.p.test[:tested]]

    def learn(self, rows: slice) -> None:
        for example in self.learned[rows]:
            self.model.learn(example)

    def test(self, rows: slice) -> None:
        for example in self.tested[rows]:
            self.model.predict(example)


def contestants(p: Problem, peers: bool) -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {
        "rsbench, lean": lambda: Ours(p, Lean()),
        "bare matrix product": lambda: Floor(p),
        "plain numpy loop, lean": lambda: Plain(p, "lean"),
        "rsbench, ellipsotron": lambda: Ours(p, Ellipsotron()),
        "plain numpy loop, ellipsotron": lambda: Plain(p, "ellipsotron"),
        "rsbench, feature scaling": lambda: Ours(p, FeatureScaling()),
        "plain numpy loop, feature scaling (no online error)": lambda: Plain(
            p, "feature scaling"
        ),
    }
    if peers:
        made["scikit-learn SGDClassifier pa1, a step at a time"] = lambda: ScikitLearn(
            p, None
        )
        made["scikit-learn SGDClassifier pa1, a sample at a time"] = lambda: (
            ScikitLearn(p, 1)
        )
        made["river PAClassifier, one-vs-rest"] = lambda: River(p)
        made["Vowpal Wabbit, one-against-all"] = lambda: VowpalWabbit(p)
    return made


def _steps(p: Problem, samples: int) -> list[slice]:
    return [slice(at, min(at + p.step, samples)) for at in range(0, samples, p.step)]


def _run(
    make: Callable[[], Any], p: Problem, samples: int, tests: int
) -> tuple[float, float]:
    """Seconds per sample of learning, and of the tests that come with it, scaled up to the whole test set."""
    contestant = make()
    if hasattr(contestant, "prepare"):
        contestant.prepare(samples, tests)
    learning = testing = 0.0
    steps = _steps(p, samples)
    for rows in steps:
        start = time.perf_counter()
        contestant.learn(rows)
        middle = time.perf_counter()
        if rows.stop - rows.start == p.step or len(steps) == 1:
            contestant.test(slice(0, tests))
        learning, testing = (
            learning + middle - start,
            testing + time.perf_counter() - middle,
        )
    done = max(1, samples // p.step)
    return learning / samples, testing / done / p.step * len(p.test) / max(1, tests)


def _steadily(
    make: Callable[[], Any], p: Problem, samples: int, tests: int
) -> tuple[float, float]:
    """The least that a run takes within a quarter of a second: a single short one would measure the machine."""
    learning, testing = _run(make, p, samples, tests)
    end = time.perf_counter() + 0.25
    while time.perf_counter() < end:
        again = _run(make, p, samples, tests)
        learning, testing = min(learning, again[0]), min(testing, again[1])
    return learning, testing


def _affordable(make: Callable[[], Any], p: Problem, budget: float) -> tuple[int, int]:
    """How many samples, and test samples, a contestant can do within the budget.

    Found by trying more and more: a contestant may slow down along the stream, as it meets more classes.
    """
    least = getattr(make(), "at_least", 1)
    if budget < 1:  # quick
        least = min(least, 50)
    samples = least
    while True:
        learning, testing = _run(make, p, samples, 1)
        if learning * samples > budget / 3 or samples == len(p.y):
            break
        samples = min(2 * samples, len(p.y))
    samples = samples // p.step * p.step or samples
    per_test = testing * p.step / len(p.test)
    tests = int(
        np.clip(
            budget / max(per_test, 1e-9) / max(1, samples // p.step), 1, len(p.test)
        )
    )
    return samples, tests


def measure(p: Problem, repeats: int, budget: float, peers: bool) -> dict[str, Any]:
    made, notes = contestants(p, peers), []
    sizes: dict[str, tuple[int, int]] = {}
    for name in list(made):
        try:
            whole = name.startswith("rsbench") or name == "bare matrix product"
            sizes[name] = (
                (len(p.y), len(p.test)) if whole else _affordable(made[name], p, budget)
            )
        except ImportError as error:
            notes.append(f"{name}: not measured, {error}")
            del made[name]
    learning: Seconds = {name: [] for name in made}
    both: Seconds = {name: [] for name in made}
    for _, (name, make) in itertools.product(range(repeats), made.items()):
        a, b = _steadily(make, p, *sizes[name])
        learning[name].append(a)
        both[name].append(a + b)
    for name, (samples, tests) in sizes.items():
        if samples < len(p.y):
            notes.append(
                f"{name}: {samples} of {len(p.y)} samples, {tests} of {len(p.test)} test samples"
            )
    return {
        "updates": ratios(learning, "rsbench, lean"),
        "updates and tests": ratios(both, "rsbench, lean"),
        "against the floor": ratios(learning, "bare matrix product")["rsbench, lean"],
        "notes": notes,
    }


SHAPES = {
    "50 x 312 (CUB)": {
        "classes": 50,
        "features": 312,
        "samples": 1250,
        "step": 50,
        "tests": 1500,
    },
    "1,000 x 2,048": {
        "classes": 1000,
        "features": 2048,
        "samples": 1000,
        "step": 500,
        "tests": 500,
    },
    "10,000 x 2,048": {
        "classes": 10_000,
        "features": 2048,
        "samples": 512,
        "step": 256,
        "tests": 256,
    },
}


def floor_table(values: dict[str, Any]) -> list[str]:
    """Each shape's lean learner against the bare product and the plain loop."""
    lines = [
        "| shape | lean / bare product | spread | best / best | plain loop / lean | spread | best / best |"
    ]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for name, found in values.items():
        cells = []
        for r in (
            found["against the floor"],
            found["updates"]["plain numpy loop, lean"],
        ):
            cells += [
                number(r["median"]),
                f"{number(r['low'])}–{number(r['high'])}",
                number(r["best"]),
            ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main(quick: bool) -> tuple[list[str], dict[str, Any]]:
    lines = [
        "## Updates and tests along a stream",
        "",
        __doc__.partition("\n\n")[2].strip().replace("\n", " "),
        "",
    ]
    values: dict[str, Any] = {}
    for name, shape in SHAPES.items():
        for dtype in ("float64", "float32"):
            p = problem(**shape, dtype=dtype)  # type: ignore[arg-type]
            found = measure(
                p, 3 if quick else 5, 0.3 if quick else 2.0, peers=dtype == "float64"
            )
            values[f"{name}, {dtype}"] = found
            lines += [
                f"### {name}, {dtype}, {shape['samples']} samples, a test after each {shape['step']}",
                "",
            ]
            lines += ratio_table(
                found["updates"], "updates alone", 1e6, "µs per sample"
            )
            lines += [
                "",
                *ratio_table(
                    found["updates and tests"],
                    "updates and tests",
                    1e6,
                    "µs per sample",
                ),
                "",
            ]
            lines += ["", *(f"- {note}" for note in found["notes"]), ""]
    return [
        *lines,
        "### Against the floor and the plain loop",
        "",
        *floor_table(values),
        "",
    ], values


if __name__ == "__main__":
    common.alone(main)
