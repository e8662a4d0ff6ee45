"""The contract checks: all built-in components keep every promise, and for each promise some wrong plugin is caught."""

import dataclasses
import functools

import numpy as np
import pytest
from conftest import rsbench

from rsbench import checks
from rsbench.aggregators import ClassSoft, Ones, Sample
from rsbench.core.data import Data
from rsbench.datasets import Synthetic
from rsbench.learners import Ellipsotron, Learner, RelevanceLearner
from rsbench.plugins import registry
from rsbench.preprocessors import Center
from rsbench.protocols import PerClass

BUILT_IN = [
    (kind, name)
    for kind, components in registry.load().components.items()
    for name, component in components.items()
    if kind != "annotation" and component.built_in
]


@pytest.mark.parametrize(("kind", "name"), BUILT_IN, ids="-".join)
def test_built_in_components_keep_every_promise(kind, name, tmp_path):
    config = {"name": name}
    if name == "arrays":
        rng = np.random.default_rng(0)
        np.savez(
            tmp_path / "a.npz",
            X=rng.random((8, 3)),
            y=np.arange(8) % 2,
            Z=rng.random((8, 3)) < 0.5,
        )
        config["path"] = str(tmp_path / "a.npz")
    make = functools.partial(registry.load().build, kind, config)
    broken = {
        str(v.promise): v.cause for v in checks.verdicts(kind, make) if not v.kept
    }
    assert not broken


def test_ones_are_neutral(rng):
    Z = rng.random((5, 3)) < 0.5
    assert (Ones().fit(Z, np.zeros(5, int)).relevance(Z, np.zeros(5, int)) == 1).all()


class Step(RelevanceLearner):
    """A right learner, for wrong ones to differ from in one thing."""

    def __init__(self, rate: float = 0.1):
        super().__init__()
        self.rate = rate

    def step_vector(self, X, R):
        return R * X

    def tau(self, loss, squared_norm):
        return self.rate


class AsksForMagic(Step):
    def partial_fit(self, X, y, classes=None, *, magic=None):
        return super().partial_fit(X, y, classes)


class LastOfTheBlock(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        return super().partial_fit(X[-1:], y[-1:], classes, relevance=relevance[-1:])


class LearnsWhileAsked(Step):
    def decision_function(self, X):
        scores = super().decision_function(X)
        self.coef_ = self.coef_ * 0.9
        return scores


class CentresItsQuestions(Step):
    def decision_function(self, X):
        return super().decision_function(X - X[:1])


class Peeks(Step):
    def decision_function(self, X, relevance=None):
        return super().decision_function(X if relevance is None else X * relevance)


class Dices(Step):
    def tau(self, loss, squared_norm):
        return np.random.default_rng().random()


class TwoColumns(Step):
    def decision_function(self, X):
        return self._scores(X)


class WrongWay(Step):
    def decision_function(self, X):
        return -super().decision_function(X)


class TenClasses(Step):
    def _init(self, n_classes, X):
        super()._init(min(n_classes, 10), X)


class NeedsTwoFeatures(Step):
    def step_vector(self, X, R):
        return R * X / X.std(axis=1, keepdims=True)


class DoubleOnly(Step):
    def step_vector(self, X, R):
        return np.frombuffer(
            np.ascontiguousarray(R * X.view(np.float64)).tobytes()
        ).reshape(X.shape)


class OnlySeen(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        self.seen_ = sorted({*getattr(self, "seen_", []), *y.tolist()})
        return super().partial_fit(X, y, classes, relevance=relevance)

    def decision_function(self, X):
        return super().decision_function(X)[:, self.seen_]


class Forgets(Step):
    def get_params(self, deep=True):
        return {}

    def __init__(self, rate: float = 0.1):
        super().__init__(rate)
        Forgets.made = getattr(Forgets, "made", 0) + 1
        self.rate = rate * Forgets.made


class HoldsALambda(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        self.hook_ = lambda: None
        return super().partial_fit(X, y, classes, relevance=relevance)


class Explodes(Step):
    def tau(self, loss, squared_norm):
        return 1 / squared_norm**20


class NormalisesInPlace(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        X /= 2
        return super().partial_fit(X, y, classes, relevance=relevance)


class FavoursTheFirst(Step):
    def tau(self, loss, squared_norm):
        return 0.1

    def _scores(self, X):
        scores = super()._scores(X)
        scores[:, 0] += 1
        return scores


class Halves:
    def __init__(self, value=0.0):
        self.value = value

    def fit(self, Z, y):
        return self

    def relevance(self, Z, y):
        return np.where(Z, 1.0, self.value)


class Foresees(Sample):
    def relevance(self, Z, y):
        return super().relevance(Z, y) + np.asarray(Z, float).mean(axis=0)


class LearnsFromQuestions(Sample):
    seen = 0.0

    def relevance(self, Z, y):
        self.seen += float(np.sum(Z))
        return super().relevance(Z, y) + self.seen


class StartsAnew(ClassSoft):
    """Counts what was seen, but only of the last block."""

    def __init__(self):
        super().__init__(scope="seen")

    def see(self, Z, y):
        vars(self).pop("seen_", None)
        super().see(Z, y)


class KeepsInPlace(ClassSoft):
    """Counts what was seen in an array that its copies share."""

    def __init__(self):
        super().__init__(scope="seen")
        self.rows = []

    def see(self, Z, y):
        self.rows.append((Z, y))
        vars(self).pop("seen_", None)
        for part in self.rows:
            super().see(*part)


class FitsTheLastPart(ClassSoft):
    def partial_fit(self, Z, y):
        vars(self).pop("pool_", None)
        return super().partial_fit(Z, y)


class RollsDice(Sample):
    def relevance(self, Z, y):
        return super().relevance(Z, y) + np.random.default_rng().random()


class Clears(Sample):
    def relevance(self, Z, y):
        R = super().relevance(Z, y)
        if Z.dtype == bool:
            Z[:] = False
        return R


class DropsRows(Center):
    def transform(self, X):
        return super().transform(X)[:-1]


class DividesByDeviation(Center):
    def transform(self, X):
        with np.errstate(all="ignore"):
            return (X - self.mean_) / X.std(axis=0)


class CentresTheBatch(Center):
    def transform(self, X):
        return X - X.mean(axis=0)


class KeepsLearning(Center):
    def transform(self, X):
        made = super().transform(X)
        self.partial_fit(X)
        return made


class InPlace(Center):
    def transform(self, X):
        X -= self.mean_
        return X


class FitsOnTest(Center):
    def __init__(self):
        super().__init__()
        self.fit_on = "test"


class TriesOnTraining(PerClass):
    def plan(self, y, test, rng):
        steps, test = super().plan(y, test, rng)
        return steps, np.concatenate([test, steps[0]])


class SameForAllSeeds(PerClass):
    def plan(self, y, test, rng):
        return super().plan(y, test, np.random.default_rng(0))


class Unseeded(PerClass):
    def plan(self, y, test, rng):
        return super().plan(y, test, np.random.default_rng())


class ShortVotes:
    def load(self):
        data = Synthetic().load()
        return dataclasses.replace(data, Z=data.Z[:, 1:])


class Drifts:
    def load(self):
        return Synthetic(draw=int(np.random.default_rng().integers(10**6))).load()


class Unsure:
    def load(self):
        return dataclasses.replace(Synthetic().load(), simulated=None)


class NoFeatures:
    def extract(self, data):
        return data


class OneRow:
    def extract(self, data):
        return Data(X=np.ones((1, 1)), y=data.y[:1], Z=data.Z[:1])


class Boasts(Step):
    def prequential(self, X, y, classes=None, *, relevance=None):
        super().partial_fit(X, y, classes, relevance=relevance)
        return np.full(len(y), 9.0)


class LearnsTwice(Step):
    def prequential(self, X, y, classes=None, *, relevance=None):
        before = super().prequential(X, y, classes, relevance=relevance)
        super().prequential(X, y, classes, relevance=relevance)
        return before


class Transductive(Step):
    def decision_function(self, X):
        return super().decision_function(X - X.mean(axis=0) if len(X) > 1 else X)


class Favourite(Learner):
    """Nearest mean, but the second class is liked best."""

    def partial_fit(self, X, y, classes=None):
        X, y = self._continue(X, y, classes)
        np.add.at(self.sums_, y, X)
        np.add.at(self.counts_, y, 1)
        return self

    def _init(self, n_classes, X):
        self.sums_, self.counts_ = np.zeros((n_classes, X.shape[1])), np.ones(n_classes)

    def _scores(self, X):
        means = self.sums_ / self.counts_[:, None]
        return (
            X @ means.T
            - 0.5 * np.square(means).sum(axis=1)
            + 5.0 * (np.arange(len(means)) == 1)
        )


class Chokes(Sample):
    def relevance(self, Z, y):
        return 1.0 + np.asarray(Z, float)


class LooksFarAhead(Sample):
    def relevance(self, Z, y):
        return super().relevance(Z, y) + (
            np.asarray(Z, float).mean() if len(Z) > 200 else 0.0
        )


class Lazy(Center):
    def fit(self, X):
        return self

    def transform(self, X):
        if not hasattr(self, "mean_"):
            self.mean_ = X.mean(axis=0)
        return X - self.mean_


class Remembers(Center):
    def fit(self, X):
        return self.partial_fit(X) if hasattr(self, "n_") else super().fit(X)


class LastRowOnly(Center):
    def partial_fit(self, X):
        self.n_, self.mean_ = 1, X.mean(axis=0)
        return self

    def fit(self, X):
        self.mean_ = X.mean(axis=0)
        return self


class NeedsAMask(PerClass):
    def plan(self, y, test, rng):
        return super().plan(y, None, rng)[0], np.flatnonzero(test)


class Pauses(PerClass):
    def plan(self, y, test, rng):
        steps, test = super().plan(y, test, rng)
        return [*steps, np.array([], int)], test


class Relabels(PerClass):
    def plan(self, y, test, rng):
        plan = super().plan(y, test, rng)
        y[:] = y[::-1].copy()
        return plan


class ReadsLabels:
    def extract(self, data):
        return dataclasses.replace(data, X=data.y[:, None].astype(float), images=None)


class MixesUp:
    def extract(self, data):
        return dataclasses.replace(
            data, X=np.ones((len(data.y), 1)), y=data.y[::-1].copy(), images=None
        )


WRONG = [
    ("learner", "prequential_is_the_same", Boasts),
    ("learner", "prequential_is_the_same", LearnsTwice),
    ("learner", "prediction_is_pure", Transductive),
    ("learner", "classes_are_equal", Favourite),
    ("aggregator", "values", Chokes),
    ("aggregator", "is_causal", LooksFarAhead),
    ("preprocessor", "leaves_its_inputs", Lazy),
    ("preprocessor", "learns_only_from_fit", Remembers),
    ("preprocessor", "learns_only_from_fit", LastRowOnly),
    ("protocol", "tests_on_other_samples", NeedsAMask),
    ("protocol", "tests_on_other_samples", Pauses),
    ("protocol", "tests_on_other_samples", Relabels),
    ("extractor", "looks_at_images_alone", ReadsLabels),
    ("extractor", "looks_at_images_alone", MixesUp),
    ("learner", "says_what_it_wants", AsksForMagic),
    ("learner", "block_is_one_by_one", LastOfTheBlock),
    ("learner", "prediction_is_pure", LearnsWhileAsked),
    ("learner", "prediction_is_pure", CentresItsQuestions),
    ("learner", "prediction_sees_no_annotation", Peeks),
    ("learner", "is_deterministic", Dices),
    ("learner", "two_classes", TwoColumns),
    ("learner", "two_classes", WrongWay),
    ("learner", "many_classes", TenClasses),
    ("learner", "one_feature", NeedsTwoFeatures),
    ("learner", "float32", DoubleOnly),
    ("learner", "unseen_classes", OnlySeen),
    ("learner", "clone", Forgets),
    ("learner", "pickle", HoldsALambda),
    ("learner", "stays_finite", Explodes),
    ("learner", "leaves_its_inputs", NormalisesInPlace),
    ("learner", "classes_are_equal", FavoursTheFirst),
    ("aggregator", "values", Halves),
    ("aggregator", "values", functools.partial(Halves, np.inf)),
    ("aggregator", "is_causal", Foresees),
    ("aggregator", "sees_the_pool_only", LearnsFromQuestions),
    ("aggregator", "parts_are_the_whole", StartsAnew),
    ("aggregator", "parts_are_the_whole", KeepsInPlace),
    ("aggregator", "parts_are_the_whole", FitsTheLastPart),
    ("aggregator", "is_deterministic", RollsDice),
    ("aggregator", "is_deterministic", Clears),
    ("preprocessor", "keeps_the_shape", DropsRows),
    ("preprocessor", "keeps_the_shape", DividesByDeviation),
    ("preprocessor", "rows_are_independent", CentresTheBatch),
    ("preprocessor", "leaves_its_inputs", KeepsLearning),
    ("preprocessor", "leaves_its_inputs", InPlace),
    ("preprocessor", "says_what_it_is_fitted_on", FitsOnTest),
    ("protocol", "tests_on_other_samples", TriesOnTraining),
    ("protocol", "is_drawn_by_its_seed", SameForAllSeeds),
    ("protocol", "is_drawn_by_its_seed", Unseeded),
    ("dataset", "is_whole", ShortVotes),
    ("dataset", "is_deterministic", Drifts),
    ("dataset", "says_whether_it_is_simulated", Unsure),
    ("extractor", "gives_features_or_says_why_not", NoFeatures),
    ("extractor", "gives_features_or_says_why_not", OneRow),
]


def name_of(make):
    return getattr(make, "__name__", "partial")


@pytest.mark.parametrize(
    ("kind", "name", "make"), WRONG, ids=[f"{k}-{n}-{name_of(m)}" for k, n, m in WRONG]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_wrong_plugin_is_caught(kind, name, make):
    (promise,) = (promise for promise in checks.promises(kind) if promise.name == name)
    with pytest.raises(Exception):  # noqa: B017 - whatever the stranger's code or the check raises
        promise.check(make)
    (verdict,) = (
        verdict for verdict in checks.verdicts(kind, make) if verdict.promise == promise
    )
    assert not verdict.kept and verdict.cause


def test_every_promise_has_a_wrong_plugin_and_a_sentence():
    everything = [p for kind in registry.KINDS for p in checks.promises(kind)]
    assert {(p.kind, p.name) for p in everything} == {
        (kind, name) for kind, name, _ in WRONG
    }
    assert all(p.says.endswith(".") for p in everything)


def test_the_right_learner_is_not_caught():
    assert all(verdict.kept for verdict in checks.verdicts("learner", Step))
    assert all(
        verdict.kept
        for verdict in checks.verdicts("learner", functools.partial(Ellipsotron, C=10))
    )
    assert issubclass(Step, Learner)


class OwnGenerator(Step):
    """Right, though it makes its generator in the constructor."""

    def __init__(self, rate: float = 0.1, random_state: int | None = None):
        super().__init__(rate)
        self.random_state = random_state
        self.generator = np.random.default_rng(random_state)

    def tau(self, loss, squared_norm):
        return self.rate * self.generator.random() / (1 + squared_norm)


class MarksAlone(Learner):
    """Right, though it learns from annotations alone: prototypes of what people marked."""

    def partial_fit(self, X, y, classes=None, *, annotation=None):
        X, y = self._continue(X, y, classes)
        np.add.at(self.marks_, y, np.asarray(annotation, float))
        np.add.at(self.counts_, y, 1)
        return self

    def _init(self, n_classes, X):
        self.marks_, self.counts_ = (
            np.zeros((n_classes, X.shape[1])),
            np.ones(n_classes),
        )

    def _scores(self, X):
        shares = self.marks_ / self.counts_[:, None]
        return X @ shares.T - 0.5 * np.square(shares).sum(axis=1)


@pytest.mark.parametrize("make", [OwnGenerator, MarksAlone])
def test_unusual_but_right_learners_are_not_caught(make):
    assert {
        str(v.promise): v.cause for v in checks.verdicts("learner", make) if not v.kept
    } == {}


def test_data_that_differ_between_processes_are_caught(tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "hashes.py").write_text(
        "from rsbench import hookimpl\nfrom rsbench.datasets import Synthetic\nclass Hashes:\n    def load(self):\n"
        "        return Synthetic(draw=hash('birds') % 10**6).load()\n"
        "@hookimpl\ndef rsbench_datasets(): return {'hashes': Hashes}\n"
    )
    done = rsbench("check", "hashes", cwd=tmp_path)
    assert (
        done.returncode == 1 and "another process loads other arrays" in done.stdout
    ), done.stdout


def test_unknown_kinds_are_named():
    with pytest.raises(ValueError, match="known: learner"):
        checks.promises("teacher")
