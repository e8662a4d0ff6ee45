"""Time learning and testing along a stream, beside other libraries and a plain loop.

Every contestant learns the same stream step by step and is tested after each step on
the same samples. What a library needs its samples turned into is done before the clock
starts. Slow ones get fewer samples, from the stream's start (river, which makes a
class's machine when it meets it, then has few of them); all figures are per sample. The
floor is the bare product of all samples with the weights, learning nothing.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from common import Part, Seconds, ratio_cells, ratio_table, ratios

from rsbench.learners import Ellipsotron, FeatureScaling, Lean

LEAN = "rsbench, lean"
FLOOR = "bare matrix product"
PLAIN_LEAN = "plain numpy loop, lean"


@dataclass(frozen=True)
class Shape:
    """How large a problem is; a test comes after each `step` samples."""

    classes: int
    features: int
    samples: int
    step: int
    tests: int


SHAPES = {
    "50 x 312 (CUB)": Shape(50, 312, samples=1250, step=50, tests=1500),
    "1,000 x 2,048": Shape(1000, 2048, samples=1000, step=500, tests=500),
    "10,000 x 2,048": Shape(10_000, 2048, samples=512, step=256, tests=256),
}


@dataclass(frozen=True)
class Problem:
    """A stream in steps and a test set."""

    X: np.ndarray
    y: np.ndarray
    R: np.ndarray
    test: np.ndarray
    classes: int
    step: int


def make_problem(shape: Shape, dtype: str = "float64") -> Problem:
    """Return noisy samples around a prototype for each class, a fifth marked."""
    rng = np.random.default_rng(0)
    prototypes = rng.random((shape.classes, shape.features))
    wanted = shape.samples + shape.tests
    # All classes once, then all once more: no class is met late.
    rounds = math.ceil(wanted / shape.classes)
    labels = [rng.permutation(shape.classes) for _ in range(rounds)]
    y = np.concatenate(labels)[:wanted]
    noise = 0.3 * rng.normal(size=(wanted, shape.features))
    X = (prototypes[y] + noise).astype(dtype)
    marked = rng.random((shape.samples, shape.features)) < 0.2
    R = np.where(marked, 1.0, 1e-10)
    return Problem(
        X=X[: shape.samples],
        y=y[: shape.samples],
        R=R,
        test=X[shape.samples :],
        classes=shape.classes,
        step=shape.step,
    )


def weights(p: Problem) -> np.ndarray:
    """Return weights as in the middle of a stream.

    Not zeros: pages of them that were never written are all read from one in the cache.
    """
    values = np.random.default_rng(1).standard_normal((p.classes, p.X.shape[1]))
    return (1e-3 * values).astype(p.X.dtype)


class Contestant:
    """Learn rows of a problem's stream, and score rows of its test set.

    Parameters
    ----------
    p : Problem
        The problem.
    """

    #: The fewest samples that it is judged by.
    at_least = 1
    #: Whether it is given the whole stream and all tests, however long that takes.
    in_full = False

    def __init__(self, p: Problem):
        self.p = p

    def prepare(self, learned: int, tested: int) -> None:
        """Turn the first samples into what the library takes; not timed."""

    def learn(self, rows: slice) -> None:
        """Learn from these samples, in order."""
        raise NotImplementedError

    def test(self, rows: slice) -> None:
        """Predict these test samples."""
        raise NotImplementedError


class Ours(Contestant):
    """A learner of rsbench, a step at a time."""

    in_full = True

    def __init__(self, p: Problem, learner: Any):
        super().__init__(p)
        self.learner = learner
        self.classes = np.arange(p.classes)
        self.rich = {"relevance": p.R}
        if isinstance(learner, Lean):
            self.rich = {}
        # A first sample makes the weights that are replaced.
        self.learn(slice(0, 1))
        learner.coef_ = weights(p)

    def learn(self, rows: slice) -> None:
        """Learn from these samples, in order."""
        rich = {name: values[rows] for name, values in self.rich.items()}
        self.learner.partial_fit(self.p.X[rows], self.p.y[rows], self.classes, **rich)

    def test(self, rows: slice) -> None:
        """Predict these test samples."""
        self.learner.decision_function(self.p.test[rows]).argmax(axis=1)


class Plain(Contestant):
    """The same updates as anyone would write them in numpy, one sample at a time."""

    def __init__(self, p: Problem, kind: str):
        super().__init__(p)
        self.kind = kind
        self.W = weights(p)
        self.R = p.R.astype(p.X.dtype)

    def learn(self, rows: slice) -> None:
        """Learn from these samples, in order."""
        for x, r, pos in zip(self.p.X[rows], self.R[rows], self.p.y[rows], strict=True):
            if self.kind == "feature scaling":
                x = r * x
            v = x
            if self.kind == "ellipsotron":
                v = r * r * x
            scores = self.W @ x
            true = scores[pos]
            scores[pos] = -np.inf
            neg = scores.argmax()
            loss = 1 - true + scores[neg]
            if loss > 0:
                change = loss / (2 * (x @ v) + 0.5) * v
                self.W[pos] += change
                self.W[neg] -= change

    def test(self, rows: slice) -> None:
        """Predict these test samples."""
        (self.p.test[rows] @ self.W.T).argmax(axis=1)


class Floor(Contestant):
    """Scores of all samples by fixed weights, in one product a step."""

    in_full = True

    def __init__(self, p: Problem):
        super().__init__(p)
        self.W = weights(p)

    def learn(self, rows: slice) -> None:
        """Score these samples: the least that learning from them can cost."""
        self.p.X[rows] @ self.W.T

    def test(self, rows: slice) -> None:
        """Predict these test samples."""
        (self.p.test[rows] @ self.W.T).argmax(axis=1)


class ScikitLearn(Contestant):
    """SGDClassifier(learning_rate="pa1"), one machine for each class.

    Parameters
    ----------
    p : Problem
        The problem.
    block : int or None
        Samples in a call; None for a whole step.
    """

    def __init__(self, p: Problem, block: int | None = None):
        from sklearn.linear_model import SGDClassifier

        super().__init__(p)
        self.block = block
        if block is None:
            # A call's overhead is large, and to be shared by a whole step.
            self.at_least = p.step
        self.model = SGDClassifier(
            loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, shuffle=False
        )

    def learn(self, rows: slice) -> None:
        """Learn from these samples, in order."""
        start, stop, _ = rows.indices(len(self.p.y))
        size = self.block or stop - start
        for at in range(start, stop, size):
            part = slice(at, min(stop, at + size))
            self.model.partial_fit(
                self.p.X[part], self.p.y[part], classes=np.arange(self.p.classes)
            )

    def test(self, rows: slice) -> None:
        """Predict these test samples."""
        self.model.predict(self.p.test[rows])


class River(Contestant):
    """PAClassifier, one for each class that it has met so far; samples are dicts."""

    def __init__(self, p: Problem):
        from river.linear_model import PAClassifier
        from river.multiclass import OneVsRestClassifier

        super().__init__(p)
        self.model = OneVsRestClassifier(PAClassifier(C=1.0, mode=1))
        self.learned: list[dict[int, float]] = []
        self.tested: list[dict[int, float]] = []

    def prepare(self, learned: int, tested: int) -> None:
        """Make dicts of the first samples."""
        self.learned = [_as_dict(x) for x in self.p.X[:learned]]
        self.tested = [_as_dict(x) for x in self.p.test[:tested]]

    def learn(self, rows: slice) -> None:
        """Learn from these samples, in order."""
        for sample, label in zip(self.learned[rows], self.p.y[rows], strict=True):
            self.model.learn_one(sample, int(label))

    def test(self, rows: slice) -> None:
        """Predict these test samples."""
        for sample in self.tested[rows]:
            self.model.predict_one(sample)


def _as_dict(x: np.ndarray) -> dict[int, float]:
    return dict(enumerate(x.tolist()))


class VowpalWabbit(Contestant):
    """One-against-all with the hinge loss; examples are parsed beforehand."""

    def __init__(self, p: Problem):
        from vowpalwabbit import Workspace

        super().__init__(p)
        # Weights are found by hash: twice as many places as weights keep most apart.
        bits = math.ceil(math.log2(p.classes * (p.X.shape[1] + 1))) + 1
        self.model = Workspace(
            f"--oaa {p.classes} --loss_function hinge -b {bits} --noconstant --quiet"
        )
        self.learned: list[Any] = []
        self.tested: list[Any] = []

    def prepare(self, learned: int, tested: int) -> None:
        """Parse the first samples."""
        for x, label in zip(self.p.X[:learned], self.p.y[:learned], strict=True):
            example = self.model.example(f"{label + 1} | {_as_text(x)}")
            self.learned.append(example)
        for x in self.p.test[:tested]:
            self.tested.append(self.model.example(f"| {_as_text(x)}"))

    def learn(self, rows: slice) -> None:
        """Learn from these samples, in order."""
        for example in self.learned[rows]:
            self.model.learn(example)

    def test(self, rows: slice) -> None:
        """Predict these test samples."""
        for example in self.tested[rows]:
            self.model.predict(example)


def _as_text(x: np.ndarray) -> str:
    return " ".join(f"{j}:{value:.6g}" for j, value in enumerate(x.tolist()))


#: By name, makes a contestant that has learned nothing yet.
Makers = Mapping[str, Callable[[Problem], Contestant]]

CONTESTANTS: Makers = {
    LEAN: lambda p: Ours(p, Lean()),
    FLOOR: Floor,
    PLAIN_LEAN: lambda p: Plain(p, "lean"),
    "rsbench, ellipsotron": lambda p: Ours(p, Ellipsotron()),
    "plain numpy loop, ellipsotron": lambda p: Plain(p, "ellipsotron"),
    "rsbench, feature scaling": lambda p: Ours(p, FeatureScaling()),
    "plain numpy loop, feature scaling (no online error)": lambda p: Plain(
        p, "feature scaling"
    ),
}

#: Other libraries.
PEERS: Makers = {
    "scikit-learn SGDClassifier pa1, a step at a time": ScikitLearn,
    "scikit-learn SGDClassifier pa1, a sample at a time": lambda p: ScikitLearn(p, 1),
    "river PAClassifier, one-vs-rest": River,
    "Vowpal Wabbit, one-against-all": VowpalWabbit,
}


@dataclass(frozen=True)
class Trial:
    """A contestant, and how much of a problem it is given.

    Parameters
    ----------
    make : callable
        Makes the contestant.
    p : Problem
        The problem.
    samples, tests : int
        How many samples of the stream, and of the test set.
    """

    make: Callable[[Problem], Contestant]
    p: Problem
    samples: int
    tests: int

    def run(self) -> tuple[float, float]:
        """Return seconds per sample of learning, and of the tests that come with it.

        Those of tests are scaled up to the whole test set.
        """
        p = self.p
        contestant = self.make(p)
        contestant.prepare(self.samples, self.tests)
        learning = 0.0
        testing = 0.0
        for begin in range(0, self.samples, p.step):
            end = min(begin + p.step, self.samples)
            start = time.perf_counter()
            contestant.learn(slice(begin, end))
            middle = time.perf_counter()
            # A last, incomplete step has no test, unless there is no other.
            if end - begin == p.step or self.samples <= p.step:
                contestant.test(slice(0, self.tests))
            learning += middle - start
            testing += time.perf_counter() - middle
        tested_steps = max(1, self.samples // p.step)
        share = len(p.test) / max(1, self.tests)
        return learning / self.samples, testing / tested_steps / p.step * share

    def run_steadily(self) -> tuple[float, float]:
        """Return the least that a run takes within a quarter of a second.

        A single short one would measure the machine.
        """
        learning, testing = self.run()
        end = time.perf_counter() + 0.25
        while time.perf_counter() < end:
            learning_again, testing_again = self.run()
            learning = min(learning, learning_again)
            testing = min(testing, testing_again)
        return learning, testing


def affordable(
    make: Callable[[Problem], Contestant], p: Problem, budget: float
) -> Trial:
    """Return what a contestant can do within a budget of seconds.

    By trying more and more: a contestant may slow down along the stream, as it meets
    more classes.
    """
    contestant = make(p)
    if contestant.in_full:
        return Trial(make, p, len(p.y), len(p.test))
    samples = contestant.at_least
    if budget < 1:  # quick
        samples = min(samples, 50)
    while True:
        learning, testing = Trial(make, p, samples, 1).run()
        if learning * samples > budget / 3 or samples == len(p.y):
            break
        samples = min(2 * samples, len(p.y))
    whole_steps = samples // p.step
    if whole_steps:
        samples = whole_steps * p.step
    seconds_per_test = max(testing * p.step / len(p.test), 1e-9)
    tests = int(budget / seconds_per_test / max(1, whole_steps))
    return Trial(make, p, samples, min(max(tests, 1), len(p.test)))


def trials(
    p: Problem, budget: float, peers: bool
) -> tuple[dict[str, Trial], list[str]]:
    """Return what each contestant is given, and notes on libraries that are missing."""
    makers = dict(CONTESTANTS)
    if peers:
        makers |= PEERS
    found: dict[str, Trial] = {}
    notes: list[str] = []
    for name, make in makers.items():
        try:
            found[name] = affordable(make, p, budget)
        except ImportError as error:
            notes.append(f"{name}: not measured, {error}")
    return found, notes


def measure(p: Problem, repeats: int, budget: float, peers: bool) -> dict[str, Any]:
    """Let contestants take turns, and return their ratios to lean learning."""
    contestants, notes = trials(p, budget, peers)
    learning: Seconds = {name: [] for name in contestants}
    both: Seconds = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, trial in contestants.items():
            learned, tested = trial.run_steadily()
            learning[name].append(learned)
            both[name].append(learned + tested)
    for name, trial in contestants.items():
        if trial.samples < len(p.y):
            notes.append(
                f"{name}: {trial.samples} of {len(p.y)} samples, "
                f"{trial.tests} of {len(p.test)} test samples"
            )
    return {
        "updates": ratios(learning, LEAN),
        "updates and tests": ratios(both, LEAN),
        "against the floor": ratios(learning, FLOOR)[LEAN],
        "notes": notes,
    }


def floor_table(values: dict[str, Any]) -> list[str]:
    """Return each shape's lean learner against the bare product and the plain loop."""
    titles = ["shape", "lean / bare product", "spread", "best / best"]
    titles += ["plain loop / lean", "spread", "best / best"]
    rows = []
    for name, found in values.items():
        floor = ratio_cells(found["against the floor"])
        plain = ratio_cells(found["updates"][PLAIN_LEAN])
        rows.append([name, *floor, *plain])
    return common.table(titles, rows)


def main(quick: bool) -> Part:
    """Measure all shapes in both precisions."""
    repeats = 5
    budget = 2.0
    if quick:
        repeats = 3
        budget = 0.3
    lines = common.introduction("Updates and tests along a stream", __doc__)
    values: dict[str, Any] = {}
    for name, shape in SHAPES.items():
        for dtype in ("float64", "float32"):
            p = make_problem(shape, dtype)
            found = measure(p, repeats, budget, peers=dtype == "float64")
            values[f"{name}, {dtype}"] = found
            about = f"{shape.samples} samples, a test after each {shape.step}"
            lines += [f"### {name}, {dtype}, {about}", ""]
            updates = found["updates"]
            lines += ratio_table(updates, "updates alone", 1e6, "µs per sample")
            lines.append("")
            both = found["updates and tests"]
            lines += ratio_table(both, "updates and tests", 1e6, "µs per sample")
            lines += ["", ""]
            for note in found["notes"]:
                lines.append(f"- {note}")
            lines.append("")
    lines += ["### Against the floor and the plain loop", ""]
    lines += floor_table(values)
    return [*lines, ""], values


if __name__ == "__main__":
    common.run_alone(main)
