"""The contract checks: right components keep every promise, and each wrong one is told what it broke."""

import dataclasses
import functools
import importlib
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rsbench import checks
from rsbench.aggregators import ClassSoft, Ones, Sample
from rsbench.cli import scaffold
from rsbench.core.components import Absent, Learner, fresh
from rsbench.core.data import Data, Drawn, keep_samples
from rsbench.core.told import Told
from rsbench.corruptions import Full, Noisy, Shuffled
from rsbench.datasets import Synthetic
from rsbench.errors import UserError
from rsbench.learners import (
    NCM,
    SLDA,
    SVMFF,
    Ellipsotron,
    Lean,
    PassiveAggressive,
    RelevanceLearner,
    Ridge,
)
from rsbench.plugins import kinds, registry
from rsbench.preprocessors import Center
from rsbench.protocols import PerClass

KINDS = tuple(kinds.BY_NAME)


def broken_promises(kind, make):
    """What a component breaks, with the causes."""
    return {
        str(verdict.promise): verdict.cause
        for verdict in checks.verdicts(kind, make)
        if not verdict.kept
    }


def promise_named(kind, name):
    (promise,) = (promise for promise in checks.promises(kind) if promise.name == name)
    return promise


# Right components.

BUILT_IN = [
    (group, name)
    for group, components in registry.load().components.items()
    for name, component in components.items()
    if component.plugin.is_built_in
]


@pytest.mark.parametrize(
    ("group", "name"), BUILT_IN, ids=[f"{group}-{name}" for group, name in BUILT_IN]
)
def test_built_in_components_keep_every_promise(group, name, tmp_path):
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
    if name == "opinions":  # no test asks an index
        config["source"] = "simulated"
    if name == "rationales":
        lines = []
        for label, word in (("a", "good"), ("b", "bad")):
            text = f"it is {word} indeed"
            lines += [json.dumps({"text": text, "label": label, "marks": [word]})] * 4
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        config["path"] = str(tmp_path / "a.jsonl")
    make = functools.partial(registry.load().build, group, config)
    assert broken_promises(kinds.BY_GROUP[group].name, make) == {}


class Step(Learner):
    """A right learner, for wrong ones to differ from in one thing: a perceptron with a margin."""

    weights_: np.ndarray | None = None

    def __init__(self, rate: float = 0.1):
        self.rate = rate

    def partial_fit(self, X, y, classes=None, *, relevance=None):
        if self.weights_ is None:
            self.weights_ = np.zeros((self.number_of(classes), X.shape[1]))
        for x, c, r in zip(X, y, relevance, strict=True):
            self.step(x, c, r)
        return self

    def number_of(self, classes):
        return len(classes)

    def step(self, x, c, r):
        scores = self.weights_ @ x
        true = scores[c]
        scores[c] = -np.inf
        if true - scores.max() < 1:
            move = self.size_of_step(x) * self.direction(x, r)
            self.weights_[c] += move
            self.weights_[scores.argmax()] -= move

    def size_of_step(self, x):
        return self.rate

    def direction(self, x, r):
        return r * x

    def decision_function(self, X):
        scores = X @ self.weights_.T
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class Dropped(RelevanceLearner):
    """Right, of the built-in learners' base class."""

    def __init__(self, rate: float = 0.1):
        self.rate = rate

    def step_vector(self, X, R):
        return R * X

    def tau(self, loss, squared_norm):
        return self.rate


class OwnGenerator(Step):
    """Right, though it makes its generator in the constructor."""

    def __init__(self, rate: float = 0.1, random_state: int | None = None):
        super().__init__(rate)
        self.random_state = random_state
        self.generator = np.random.default_rng(random_state)

    def size_of_step(self, x):
        return self.rate * self.generator.random() / (1 + x @ x)


class MarksAlone(Learner):
    """Right, though it learns from annotations alone: prototypes of what people marked."""

    needs_feature_votes = True

    def __init__(self):
        self.marks = None

    def partial_fit(self, X, y, classes=None, *, annotation=None):
        if self.marks is None:
            self.marks = np.zeros((len(classes), X.shape[1]))
            self.counts = np.ones(len(classes))
        np.add.at(self.marks, y, np.nan_to_num(np.asarray(annotation, float)))
        np.add.at(self.counts, y, 1)
        return self

    def decision_function(self, X):
        shares = self.marks / self.counts[:, None]
        scores = X @ shares.T - 0.5 * np.square(shares).sum(axis=1)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class OneByOne(Step):
    """Right, with margins from before each sample."""

    def prequential(self, X, y, classes=None, *, relevance=None):
        found = []
        for i in range(len(y)):
            one = slice(i, i + 1)
            found.append(self.margins(X[one], y[one])[0])
            self.partial_fit(X[one], y[one], classes, relevance=relevance[one])
        return np.array(found)

    def margins(self, X, y):
        if self.weights_ is None:
            return np.zeros(len(y))
        scores = X @ self.weights_.T
        rows = np.arange(len(y))
        true = scores[rows, y].copy()
        scores[rows, y] = -np.inf
        return true - scores.max(axis=1)


class BlockByBlock(OneByOne):
    """Right, since it says that it is asked once for a block."""

    batch = True

    def prequential(self, X, y, classes=None, *, relevance=None):
        found = self.margins(X, y)
        self.partial_fit(X, y, classes, relevance=relevance)
        return found


class WithWeights(Step):
    def weights(self):
        return self.weights_


class Bystander:
    """Right, of no base class, without anything that is optional."""

    def fit(self, Z, y):
        return self

    def relevance(self, Z, y):
        return 1.0 + np.asarray(Z, float)


class Halving:
    """Right, of no base class."""

    def transform(self, X):
        return X / 2


def drop_the_first_feature(Z, rng):
    """Right: a corruption may be a plain function."""
    dropped = Z.copy()
    dropped[:, 0] = np.where(np.isnan(Z[:, 0]), Z[:, 0], 0)
    return dropped


def mark_whole_classes(Z, rng, y):
    """Right: a corruption that names `y` is given the labels."""
    of_chosen = rng.random(y.max() + 1)[y] < 0.5
    return np.where(of_chosen[:, None] & ~np.isnan(Z), np.ones((), Z.dtype), Z)


class SomeOfTheClasses:
    """Right, of no base class: eight of twenty classes, by the number of the draw."""

    def __init__(self, draw: int = 0):
        self.draw = draw

    def load(self):
        data = Synthetic().load()
        chosen = np.random.default_rng(self.draw).permutation(20)[:8]
        left = keep_samples(data, np.isin(data.y, chosen))
        return dataclasses.replace(left, drawn=Drawn(8, 20))

    def drawn(self, number):
        return type(self)(self.draw + number)


class LeanInDisguise(RelevanceLearner, PassiveAggressive):
    """Right: relevance changes nothing, and so it is Lean."""

    without = Lean


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("corruption", lambda: mark_whole_classes),
        ("dataset", SomeOfTheClasses),
        ("learner", LeanInDisguise),
        ("learner", Step),
        ("learner", Dropped),
        ("learner", OwnGenerator),
        ("learner", MarksAlone),
        ("learner", OneByOne),
        ("learner", BlockByBlock),
        ("learner", WithWeights),
        ("learner", functools.partial(Ellipsotron, C=10)),
        ("learner", functools.partial(NCM, metric="cosine")),
        ("learner", functools.partial(Ridge, relative=False, fit_intercept=False)),
        ("learner", functools.partial(SLDA, start="background")),
        ("aggregator", Bystander),
        ("aggregator", functools.partial(ClassSoft, scope="seen")),
        ("preprocessor", Halving),
        ("preprocessor", functools.partial(Center, fit_on="seen")),
        ("protocol", functools.partial(PerClass, test="mask")),
        ("corruption", lambda: drop_the_first_feature),
    ],
)
def test_unusual_but_right_components_are_not_caught(kind, make):
    assert broken_promises(kind, make) == {}


@pytest.mark.parametrize("kind", scaffold.TEMPLATES)
def test_what_new_writes_keeps_every_promise(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = f"my_{kind}"
    (file,) = scaffold.write_file(kind, name)
    monkeypatch.syspath_prepend(file.parent)
    plugin = importlib.import_module(name)
    offered = getattr(plugin, f"rsbench_{kind}s")()
    assert list(offered) == [name]
    assert broken_promises(kind, offered[name]) == {}


# Wrong components: each is marked with the promise that it breaks and words of the cause.


@dataclass(frozen=True)
class Wrong:
    kind: str
    promise: str
    cause: str
    make: Any


WRONG = []


def wrong(kind, promise, cause):
    def note(make):
        WRONG.append(Wrong(kind, promise, cause, make))
        return make

    return note


@wrong("learner", "says_what_it_wants", "AsksForMagic.partial_fit asks for 'magic'")
class AsksForMagic(Step):
    def partial_fit(self, X, y, classes=None, *, magic=None):
        return super().partial_fit(X, y, classes, relevance=np.ones(X.shape))


@wrong("learner", "says_what_it_wants", "CannotPredict has no decision_function")
class CannotPredict:
    def partial_fit(self, X, y, classes=None):
        return self


@wrong("learner", "block_is_one_by_one", "a block teaches something else")
class LastOfTheBlock(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        return super().partial_fit(X[-1:], y[-1:], classes, relevance=relevance[-1:])


@wrong("learner", "prediction_is_pure", "or asking changes them")
class LearnsWhileAsked(Step):
    def decision_function(self, X):
        scores = super().decision_function(X)
        self.weights_ = self.weights_ * 0.9
        return scores


@wrong("learner", "prediction_is_pure", "scores depend on what else is asked")
class CentresItsQuestions(Step):
    def decision_function(self, X):
        return super().decision_function(X - X[:1])


@wrong("learner", "prediction_is_pure", "scores depend on what else is asked")
class Transductive(Step):
    def decision_function(self, X):
        return super().decision_function(X - X.mean(axis=0) if len(X) > 1 else X)


@wrong("learner", "prediction_is_pure", "predictions changed what was learned")
class SlowsDownWhenAsked(Step):
    def decision_function(self, X):
        self.rate = 0.9 * self.rate
        return super().decision_function(X)


@wrong("learner", "prediction_sees_no_annotation", r"takes \['X', 'relevance'\]")
class Peeks(Step):
    def decision_function(self, X, relevance=None):
        return super().decision_function(X if relevance is None else X * relevance)


@wrong("learner", "is_deterministic", "two learners learned different things")
class Dices(Step):
    def size_of_step(self, x):
        return np.random.default_rng().random()


@wrong("learner", "two_classes", r"gave shape \(200, 2\), expected \(200,\)")
class TwoColumns(Step):
    def decision_function(self, X):
        return X @ self.weights_.T


@wrong("learner", "two_classes", "the sign is right for 0% of the samples")
class WrongWay(Step):
    def decision_function(self, X):
        return -super().decision_function(X)


@wrong("learner", "many_classes", "partial_fit raised IndexError: .* size 10")
class TenClasses(Step):
    def number_of(self, classes):
        return min(len(classes), 10)


@wrong("learner", "one_feature", "scores are not finite")
class NeedsTwoFeatures(Step):
    def direction(self, x, r):
        return r * x / x.std()


@wrong("learner", "float32", r"partial_fit raised ValueError: .*\(6,\) \(3,\)")
class DoubleOnly(Step):
    def direction(self, x, r):
        return r * x.view(np.float64)


@wrong("learner", "float32", "single and double precision disagree")
class WhollyRounded(Step):
    def direction(self, x, r):
        return r * x * (5 if x.dtype == np.float32 else 1)


@wrong("learner", "unseen_classes", r"gave shape \(60, 3\), expected \(60, 6\)")
class OnlySeen(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        self.seen_ = np.unique(y)
        return super().partial_fit(X, y, classes, relevance=relevance)

    def decision_function(self, X):
        return super().decision_function(X)[:, self.seen_]


@wrong("learner", "clone", r"made with {'rate': 0.2}, get_params says {'rate': 0.4}")
class Exaggerates(Step):
    def get_params(self, deep=True):
        return {"rate": 2 * self.rate}


@wrong("learner", "clone", r"after set_params with {'rate': 0.1}, .* {'rate': 0.2}")
class SetsOtherParams(Step):
    def set_params(self, rate):
        return super().set_params(rate=2 * rate)


@wrong("learner", "clone", r"a copy made with {'rate': 0.1} learns something else")
class HasAHiddenParameter(Step):
    made = 0

    def __init__(self, rate: float = 0.1):
        super().__init__(rate)
        HasAHiddenParameter.made += 1
        self.hidden = HasAHiddenParameter.made

    def size_of_step(self, x):
        return self.rate * self.hidden


@wrong("learner", "survives_pickling", "it cannot be pickled: .*lambda")
class HoldsALambda(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        self.hook_ = lambda: None
        return super().partial_fit(X, y, classes, relevance=relevance)


@wrong("learner", "survives_pickling", "once pickled it goes on otherwise")
class LeavesItsWeightsBehind(Step):
    def __getstate__(self):
        return {"rate": self.rate}


@wrong("learner", "stays_finite", "scores are not finite")
class Explodes(Step):
    def size_of_step(self, x):
        return np.float64(1.0) / (x @ x) ** 20


@wrong("learner", "leaves_its_inputs", "the features were changed")
class NormalisesInPlace(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        X /= 2
        return super().partial_fit(X, y, classes, relevance=relevance)


@wrong("learner", "leaves_its_inputs", "the rows of relevance were changed")
class RescalesRelevance(Step):
    def partial_fit(self, X, y, classes=None, *, relevance=None):
        relevance *= 2
        return super().partial_fit(X, y, classes, relevance=relevance)


@wrong("learner", "leaves_its_inputs", "the background's X were changed")
class CentresTheBackground(Lean):
    def prepare(self, background):
        rows = background.X
        rows -= rows.mean(axis=0)


@wrong("learner", "classes_are_equal", "scores depend on the classes' numbers")
class FavoursTheFirst(Lean):
    def decision_function(self, X):
        scores = super().decision_function(X)
        scores[:, 0] += 1
        return scores


@wrong("learner", "classes_are_equal", "a class gets .* with classes renamed")
class Favourite(MarksAlone):
    """The second class is liked best."""

    def decision_function(self, X):
        scores = super().decision_function(X)
        scores[:, 1] += 5.0
        return scores


@wrong("learner", "prequential_is_the_same", "but prequential says 9")
class Boasts(Step):
    def prequential(self, X, y, classes=None, *, relevance=None):
        self.partial_fit(X, y, classes, relevance=relevance)
        return np.full(len(y), 9.0)


@wrong("learner", "prequential_is_the_same", "teaches something else than partial_fit")
class LearnsTwiceInTheEnd(OneByOne):
    def prequential(self, X, y, classes=None, *, relevance=None):
        is_last = self.weights_ is not None
        found = super().prequential(X, y, classes, relevance=relevance)
        if is_last:
            self.weights_ = 2 * self.weights_
        return found


@wrong("learner", "prequential_is_the_same", "before sample 1 the margin is")
class IsStale(BlockByBlock):
    """Margins from before the block, of a learner that does not say it is asked once for it."""

    batch = False
    prequential = BlockByBlock.prequential


@wrong("learner", "prequential_is_the_same", r"gave shape \(\), expected \(30,\)")
class GivesTheMean(OneByOne):
    def prequential(self, X, y, classes=None, *, relevance=None):
        return super().prequential(X, y, classes, relevance=relevance).mean()


@wrong("learner", "weights_give_the_scores", "products with the features are not the")
class KeepsABias(Step):
    def decision_function(self, X):
        return super().decision_function(X) + 1.0

    def weights(self):
        return self.weights_


@wrong("learner", "sparse_rows", "sparse rows have other margins along the stream")
class NormalisesAsItSteps(Dropped):
    """Of sparse rows it sees the stored values alone, and takes them for one sample."""

    takes_sparse = True

    def step_vector(self, X, R):
        return R * X / (1 + np.linalg.norm(X, axis=-1, keepdims=True))


@wrong("learner", "says_what_it_wants", "AsksForTheMoon.prepare asks for 'moon'")
class AsksForTheMoon(Step):
    def prepare(self, *, moon):
        pass


@wrong(
    "learner",
    "equals_without_annotations",
    "without annotations it is not Lean: margins along the stream: .* values differ",
)
class StepsTwice(Ellipsotron):
    """Relevance of one still doubles its steps."""

    without = Lean

    def step_vector(self, X, R):
        return 2 * super().step_vector(X, R)


@wrong("learner", "equals_without_annotations", "it is not Lean: margins")
class TakesSilenceForANo(SVMFF):
    """Nobody was asked, and it hears that nothing matters."""

    without = Lean

    def partial_fit(self, X, y, classes=None, *, annotation=None):
        return super().partial_fit(X, y, classes, annotation=np.nan_to_num(annotation))


@wrong("learner", "equals_without_annotations", "it is not Lean: scores")
class AddsTheMeanInTheEnd(LeanInDisguise):
    """Margins along the stream are Lean's; what is tested is not."""

    without = Lean
    prequential = LeanInDisguise.prequential

    def decision_function(self, X):
        return super().decision_function(X) + 1e-9 * X[:, :1].mean()


@wrong("learner", "survives_missing_votes", "of 240 scores are not finite")
class CountsWhatNobodySaid(MarksAlone):
    """NaN, once added, never goes away."""

    def partial_fit(self, X, y, classes=None, *, annotation=None):
        super().partial_fit(X, y, classes, annotation=annotation)
        np.add.at(self.marks, y, 0.0 * np.asarray(annotation, float))
        return self


@wrong("learner", "survives_missing_votes", "'NoneType' object has no attribute 'mean'")
class NeedsClassVotes(Lean):
    """The counterpart, without annotations, has no class votes at all."""

    def prepare(self, class_votes):
        self.prepared_ = class_votes.mean(axis=0)


@wrong("learner", "survives_missing_votes", "of 240 scores are not finite")
class BelievesClassVotes(Lean):
    """Of a class that nobody was asked about, shares are NaN."""

    def prepare(self, class_votes):
        self.prepared_ = class_votes

    def decision_function(self, X):
        scores = super().decision_function(X)
        if self.prepared_ is None:
            return scores
        return scores + X @ self.prepared_.T


@wrong("learner", "survives_missing_votes", "of 240 scores are not finite")
class StepsOnNothing(Lean):
    """Of a sample that nobody was asked about there is no view to step on."""

    def partial_fit(self, X, y, classes=None, *, view=None):
        super().partial_fit(X, y, classes)
        self.coef_[y[0]] += 1e-3 * view[0]
        return self


@wrong("learner", "takes_any_concepts", "partial_fit raised ValueError")
class TakesConceptsForFeatures(MarksAlone):
    """It does not say that votes must be for features."""

    needs_feature_votes = False


class Marked:
    """An aggregator of no base class."""

    unmarked = 0.5

    def fit(self, Z, y):
        return self

    def relevance(self, Z, y):
        return np.where(Z, 1.0, self.unmarked)


@wrong("aggregator", "values", "relevance goes from 0.0 to 1.0, expected > 0")
class ForgetsTheFloor(Marked):
    unmarked = 0.0


@wrong("aggregator", "values", "relevance goes from 1.0 to inf, expected > 0")
class HasNoCeiling(Marked):
    unmarked = np.inf


@wrong("aggregator", "values", "relevance goes from nan to nan")
class Chokes(Sample):
    def relevance(self, Z, y):
        return 1.0 + np.asarray(Z, float)


@wrong("aggregator", "values", r"relevance gave shape \(59, 6\), expected \(60, 6\)")
class LosesARow(Sample):
    def relevance(self, Z, y):
        return super().relevance(Z, y)[1:]


@wrong("aggregator", "is_causal", "later samples change earlier ones' relevance")
class Foresees(Sample):
    def relevance(self, Z, y):
        return super().relevance(Z, y) + np.asarray(Z, float).mean(axis=0)


@wrong("aggregator", "is_causal", "later samples change earlier ones' relevance")
class LooksFarAhead(Sample):
    def relevance(self, Z, y):
        ahead = np.asarray(Z, float).mean() if len(Z) > 200 else 0.0
        return super().relevance(Z, y) + ahead


@wrong("aggregator", "sees_the_pool_only", "asking for relevance changes later")
class LearnsFromQuestions(Sample):
    seen = 0.0

    def relevance(self, Z, y):
        self.seen += float(np.sum(Z))
        return super().relevance(Z, y) + self.seen


@wrong("aggregator", "parts_are_the_whole", "asked block by block it says something")
class StartsAnew(ClassSoft):
    """Counts what was seen, but only of the last block."""

    def __init__(self):
        super().__init__(scope="seen")

    def see(self, Z, y):
        self.seen_ = None
        super().see(Z, y)


@wrong("aggregator", "parts_are_the_whole", "a copy knows what another copy has seen")
class KeepsInPlace(ClassSoft):
    """Keeps what was seen in a list that its copies share."""

    def __init__(self):
        super().__init__(scope="seen")
        self.parts = []

    def see(self, Z, y):
        self.parts.append((Z, y))
        self.seen_ = None
        for part in self.parts:
            super().see(*part)


@wrong("aggregator", "parts_are_the_whole", "fitted in parts it says something else")
class FitsTheLastPart(ClassSoft):
    def partial_fit(self, Z, y):
        self.pool_ = None
        # Classes that are not in the last part have to be known still.
        super().partial_fit(np.zeros((4, Z.shape[1])), np.arange(4))
        return super().partial_fit(Z, y)


@wrong("aggregator", "is_deterministic", "the same votes give other relevance")
class RollsDice(Sample):
    def relevance(self, Z, y):
        return super().relevance(Z, y) + np.random.default_rng().random()


@wrong("aggregator", "is_deterministic", "the votes were changed: .* of 360 values")
class Clears(Sample):
    def relevance(self, Z, y):
        R = super().relevance(Z, y)
        Z[:] = False
        return R


@wrong("aggregator", "says_what_it_tells", "it tells nothing, but other votes make")
class Whispers(Sample):
    told = Told.NOTHING


@wrong("aggregator", "says_what_it_tells", "but those of the pool that it was fitted")
class CountsThePoolInSecret(ClassSoft):
    told = Told.VOTES


@wrong("aggregator", "says_what_it_tells", "told='all', expected one of nothing, votes")
class TellsAll(Ones):
    told = "all"


@wrong("corruption", "values", "votes go from 0.0 to 2.0, expected 0 to 1")
class CountsTwice(Full):
    def __call__(self, Z, rng):
        return 2.0 * Z


@wrong("corruption", "values", r"it gave shape \(30, 6\), expected \(60, 6\)")
class KeepsHalf(Full):
    def __call__(self, Z, rng):
        return Z[::2]


@wrong("corruption", "makes_no_votes_up", "votes were given, 360 came back")
class Completes(Full):
    def __call__(self, Z, rng):
        return np.nan_to_num(Z)


@wrong("corruption", "is_drawn_by_its_stream", "the same random stream gives other")
class DealsBehindItsBack(Shuffled):
    def __call__(self, Z, rng):
        return super().__call__(Z, np.random.default_rng())


@wrong("corruption", "leaves_its_inputs", "the votes given were changed")
class CrossesOut(Full):
    def __call__(self, Z, rng):
        Z[0] = 0
        return Z


@wrong(
    "corruption", "says_whether_it_changes_votes", "changes no votes, but: .* differ"
)
class Denies(Noisy):
    changes_votes = False

    def __init__(self):
        super().__init__(miss=0.5)


@wrong("corruption", "leaves_its_inputs", "the labels given were changed")
class Relabelled(Full):
    def __call__(self, Z, rng, y):
        y[0] = 3
        return Z


@wrong("corruption", "says_whether_nobody_annotates", "annotates, but 6 votes are left")
class SparesTheFirst(Absent):
    def __call__(self, Z, rng):
        votes = super().__call__(Z, rng)
        votes[0] = np.nan_to_num(Z[0])
        return votes


@wrong("preprocessor", "keeps_the_shape", r"gave shape \(59, 6\), expected \(60, 6\)")
class DropsRows(Center):
    def transform(self, X):
        return super().transform(X)[:-1]


@wrong("preprocessor", "keeps_the_shape", "values that are not finite")
class DividesByDeviation(Center):
    def transform(self, X):
        with np.errstate(all="ignore"):
            return (X - self.mean_) / X.std(axis=0)


@wrong("preprocessor", "keeps_the_shape", "transform gave float16 of float64")
class SavesSpace(Center):
    def transform(self, X):
        return super().transform(X).astype(np.float16)


@wrong("preprocessor", "rows_are_independent", "other rows change a row")
class CentresTheBatch(Center):
    def transform(self, X):
        return X - X.mean(axis=0)


@wrong("preprocessor", "leaves_its_inputs", "transforming changed the preprocessor")
class KeepsLearning(Center):
    def transform(self, X):
        made = super().transform(X)
        self.partial_fit(X)
        return made


@wrong("preprocessor", "leaves_its_inputs", "transforming changed the preprocessor")
class Lazy(Center):
    def fit(self, X):
        self.is_fitted = False
        return self

    def transform(self, X):
        if not self.is_fitted:
            super().fit(X)
            self.is_fitted = True
        return super().transform(X)


@wrong("preprocessor", "leaves_its_inputs", "the samples were changed")
class InPlace(Center):
    def transform(self, X):
        X -= self.mean_
        return X


@wrong("preprocessor", "learns_only_from_fit", "fit remembers an earlier fit")
class Remembers(Center):
    def fit(self, X):
        return super().partial_fit(X)


@wrong("preprocessor", "learns_only_from_fit", "partial_fit row by row differs from")
class LastRowOnly(Center):
    def partial_fit(self, X):
        return self.fit(X)


@wrong(
    "preprocessor", "says_what_it_is_fitted_on", "fit_on='test', expected background"
)
class FitsOnTest(Center):
    def __init__(self):
        super().__init__(fit_on="test")


@wrong("protocol", "tests_on_other_samples", "6 samples are both learned from and")
class TriesOnTraining(PerClass):
    def plan(self, y, test, rng):
        steps, test = super().plan(y, test, rng)
        return steps, np.concatenate([test, steps[0]])


@wrong("protocol", "tests_on_other_samples", "150 samples to learn from and 0 to test")
class TestsOnNothing(PerClass):
    __test__ = False  # no test of pytest's

    def plan(self, y, test, rng):
        return super().plan(y, test, rng)[0], np.array([], int)


@wrong("protocol", "tests_on_other_samples", "a step has no samples")
class Pauses(PerClass):
    def plan(self, y, test, rng):
        steps, test = super().plan(y, test, rng)
        return [*steps, np.array([], int)], test


@wrong("protocol", "tests_on_other_samples", "the labels were changed")
class Relabels(PerClass):
    def plan(self, y, test, rng):
        plan = super().plan(y, test, rng)
        y[:] = y[::-1].copy()
        return plan


@wrong("protocol", "tests_on_other_samples", "go from 0 to 2400, expected 0 to 2399")
class CountsFromOne(PerClass):
    def plan(self, y, test, rng):
        return [np.array([0, 1])], np.array([2, 2400])


@wrong("protocol", "tests_on_other_samples", "a sample is tested twice")
class RepeatsTests(PerClass):
    def plan(self, y, test, rng):
        steps, test = super().plan(y, test, rng)
        return steps, np.repeat(test, 2)


@wrong("protocol", "tests_on_other_samples", "class 0 is tested and never learned")
class SkipsAClass(PerClass):
    def plan(self, y, test, rng):
        steps, test = super().plan(y, test, rng)
        return [step[y[step] > 0] for step in steps], test


@wrong("protocol", "tests_on_other_samples", "plan gave list, expected steps and test")
class ForgetsTheTest(PerClass):
    def plan(self, y, test, rng):
        return super().plan(y, test, rng)[0]


@wrong("protocol", "is_drawn_by_its_seed", "all seeds have the same stream")
class SameForAllSeeds(PerClass):
    def plan(self, y, test, rng):
        return super().plan(y, test, np.random.default_rng(0))


@wrong("protocol", "is_drawn_by_its_seed", "the same seed gives another stream")
class Unseeded(PerClass):
    def plan(self, y, test, rng):
        return super().plan(y, test, np.random.default_rng())


@wrong("dataset", "is_whole", r"Z has shape \(1200, 95\) but X has \(1200, 96\)")
class ShortVotes:
    def load(self):
        data = Synthetic().load()
        return dataclasses.replace(data, Z=data.Z[:, 1:])


@wrong("dataset", "is_whole", "neither features nor images")
class Featureless:
    def load(self):
        return dataclasses.replace(Synthetic().load(), X=None)


@wrong("dataset", "is_whole", "load gave dict, expected Data")
class JustArrays:
    def load(self):
        return {"X": np.eye(2), "y": np.arange(2)}


@wrong("dataset", "is_deterministic", "two loads differ")
class Drifts:
    def load(self):
        return Synthetic(draw=int(np.random.default_rng().integers(10**6))).load()


@wrong("dataset", "says_whether_it_is_simulated", "simulated=None, expected a bool")
class Unsure:
    def load(self):
        return dataclasses.replace(Synthetic().load(), simulated=None)


@wrong("dataset", "draws_by_number", "two of the draws 0, 1 and 2 are the same")
class DrawsOnceAndForAll(Synthetic):
    def drawn(self, number):
        return self


@wrong("dataset", "draws_by_number", "draw 0 is not the data set itself")
class CountsDrawsFromOne(Synthetic):
    def drawn(self, number):
        return fresh(self, draw=self.draw + number + 1)


@wrong("dataset", "draws_by_number", "draw 1 is not always the same")
class DrawsBlindly(Synthetic):
    def drawn(self, number):
        luck = int(np.random.default_rng().integers(10**6))
        return fresh(self, draw=luck if number else 0)


@wrong("dataset", "draws_by_number", "a draw has 104 features, another one 96")
class GrowsFeatures(Synthetic):
    def drawn(self, number):
        return fresh(self, draw=number, groups=self.groups + number)


@wrong("dataset", "draws_by_number", r"Drawn\(classes=8, of=20\), but .* 7 classes")
class LosesAClass(SomeOfTheClasses):
    def load(self):
        data = super().load()
        return keep_samples(data, data.y < 7)


@wrong("dataset", "draws_by_number", "a draw says .*, another one Drawn")
class ForgetsHowManyThereWere(SomeOfTheClasses):
    def load(self):
        data = super().load()
        if self.draw == 0:
            return data
        return dataclasses.replace(data, drawn=None)


@wrong("extractor", "gives_features_or_says_why_not", "extract returned no features")
class NoFeatures:
    def extract(self, data):
        return data


@wrong("extractor", "gives_features_or_says_why_not", "1 samples came back of 4")
class OneRow:
    def extract(self, data):
        return Data(X=np.ones((1, 1)), y=data.y[:1], Z=data.Z[:1])


@wrong(
    "extractor", "gives_features_or_says_why_not", r"X\[0, 0\] is nan; features must"
)
class Blank:
    def extract(self, data):
        X = np.full((len(data.y), 1), np.nan)
        return dataclasses.replace(data, X=X, images=None)


@wrong("extractor", "gives_features_or_says_why_not", "raised OSError: no weights")
class WithoutWeights:
    """What a user can put right is a UserError; this one leaves them in the dark."""

    def extract(self, data):
        raise OSError("no weights")


@wrong("extractor", "looks_at_images_alone", "features depend on labels, votes or")
class ReadsLabels:
    def extract(self, data):
        return dataclasses.replace(data, X=data.y[:, None].astype(float), images=None)


@wrong("extractor", "looks_at_images_alone", "labels were changed")
class MixesUp:
    def extract(self, data):
        return dataclasses.replace(
            data, X=np.ones((len(data.y), 1)), y=data.y[::-1].copy(), images=None
        )


@pytest.mark.parametrize(
    "case", WRONG, ids=[f"{w.kind}-{w.promise}-{w.make.__name__}" for w in WRONG]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_wrong_plugin_is_told_what_it_broke(case):
    promise = promise_named(case.kind, case.promise)
    with pytest.raises(AssertionError, match=case.cause):
        promise.check(case.make)
    assert case.promise in broken_promises(case.kind, case.make)


def test_every_promise_has_a_wrong_plugin_and_a_sentence():
    everything = [promise for kind in KINDS for promise in checks.promises(kind)]
    promised = {(promise.kind, promise.name) for promise in everything}
    assert promised == {(case.kind, case.promise) for case in WRONG}
    assert all(promise.says.endswith(".") for promise in everything)


# Components that fail altogether.


class Fails:
    """Has the methods of every kind, and raises an error in each."""

    def fail(self, *args, **kwargs):
        raise KeyError("on the way")

    load = extract = transform = plan = fit = __call__ = fail

    def relevance(self, Z, y):
        self.fail()

    def partial_fit(self, X, y, classes=None):
        self.fail()

    def decision_function(self, X):
        self.fail()


class DoesNothing:
    """Has the methods of every kind, which give nothing."""

    def nothing(self, *args, **kwargs):
        return None

    load = extract = transform = plan = fit = relevance = __call__ = nothing
    get_params = set_params = nothing

    def partial_fit(self, X, y, classes=None):
        return None

    def decision_function(self, X):
        return None


class SaysNothing(Step):
    def decision_function(self, X):
        return None


def cannot_be_made():
    raise RuntimeError("out of stock")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [Fails, DoesNothing, object, cannot_be_made])
def test_whatever_a_component_does_a_broken_promise_is_an_assertion(kind, make):
    broken = 0
    for promise in checks.promises(kind):
        try:
            promise.check(make)
        except AssertionError as error:
            broken += 1
            assert str(error)
    assert broken


@pytest.mark.parametrize(
    ("kind", "name", "make", "cause"),
    [
        ("learner", "two_classes", Fails, "partial_fit raised KeyError: 'on the way'"),
        ("aggregator", "values", Fails, "fit raised KeyError: 'on the way'"),
        ("dataset", "is_whole", Fails, "load raised KeyError: 'on the way'"),
        ("learner", "one_feature", SaysNothing, "decision_function gave NoneType"),
        ("protocol", "is_drawn_by_its_seed", DoesNothing, "plan gave NoneType"),
        ("preprocessor", "keeps_the_shape", DoesNothing, "transform gave NoneType"),
        ("aggregator", "values", object, "object has no fit"),
        ("learner", "two_classes", object, "object has no partial_fit"),
        (
            "corruption",
            "values",
            cannot_be_made,
            "making it raised RuntimeError: out of",
        ),
        ("learner", "clone", DoesNothing, "get_params gave NoneType, expected a dict"),
    ],
)
def test_errors_are_quoted(kind, name, make, cause):
    with pytest.raises(AssertionError, match=cause):
        promise_named(kind, name).check(make)


def test_the_cause_of_a_quoted_error_is_kept():
    with pytest.raises(AssertionError) as caught:
        promise_named("dataset", "is_whole").check(Fails)
    assert isinstance(caught.value.__cause__, KeyError)


class Refuses:
    """Right: it says what is missing, as a user can put it right."""

    def extract(self, data):
        raise UserError("the weights are not there: pip install them")


def test_an_extractor_may_say_what_is_missing():
    assert broken_promises("extractor", Refuses) == {}


def test_data_that_differ_between_processes_are_caught(tmp_path, monkeypatch):
    (tmp_path / "hashed_birds.py").write_text(
        "from rsbench.datasets import Synthetic\n"
        "class Hashed:\n"
        "    def load(self):\n"
        "        return Synthetic(draw=hash('birds') % 10**6).load()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    make = importlib.import_module("hashed_birds").Hashed
    with pytest.raises(AssertionError, match="another process loads other arrays"):
        promise_named("dataset", "is_deterministic").check(make)


def test_unknown_kinds_are_named():
    with pytest.raises(ValueError, match="known: aggregator, corruption, .*learner"):
        checks.promises("teacher")
