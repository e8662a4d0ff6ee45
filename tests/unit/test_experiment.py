"""One run: curves recomputed from scratch, paired seeds, and annotations kept away from predictions."""

import dataclasses

import numpy as np
import pytest

from rsbench.aggregators import (
    ClassSoft,
    ClassThreshold,
    CrossClasses,
    Ones,
    Sample,
)
from rsbench.core.components import Absent, Aggregator, Dataset
from rsbench.core.data import Data
from rsbench.core.experiment import Setup, draw_of, load, read_only, run_seed
from rsbench.core.seeds import stream
from rsbench.core.supervision import rich_supervision
from rsbench.core.told import Told
from rsbench.corruptions import Budget, Full
from rsbench.errors import UserError
from rsbench.learners import SVMFF, Ellipsotron, FeatureScaling, Lean, SVMFFBatch
from rsbench.preprocessors import L2, Center, Identity, Standardize
from rsbench.protocols import PerClass, Stream

METHODS = {
    "lean": (Lean(), Ones()),
    "feature_scaling": (FeatureScaling(), Sample()),
    "ellipsotron": (Ellipsotron(), Sample()),
    "class_soft": (Ellipsotron(), ClassSoft()),
    "cross_classes": (Ellipsotron(), CrossClasses()),
    "svm_ff": (SVMFF(), Ones()),
    "svm_ff_batch": (SVMFFBatch(), Ones()),
}


def setup(name="ellipsotron", **changes):
    """The components of a method; four samples per class, everything else as it comes."""
    learner, aggregator = METHODS[name]
    parts = {
        "learner": learner,
        "aggregator": aggregator,
        "preprocessor": Identity(),
        "protocol": PerClass(4),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


MASK = PerClass(4, test="mask")


def data(seed=0, n=60, d=6, k=3, mask=False):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.random((n, d)) + 0.8 * np.eye(k, d)[y]
    Z = rng.random((n, d)) < 0.3 + 0.5 * np.eye(k, d)[y]
    return Data(
        X=X,
        y=y,
        Z=Z,
        test=np.arange(n) >= n // 2 if mask else None,
        background=rng.random((20, d)),
    )


def columns(result, *names):
    return np.array([[row[name] for name in names] for row in result.rows])


def test_curves_are_those_of_a_naive_loop():
    """Every column of curves.csv, recomputed with scalars from the definitions."""
    sample = data()
    rows = run_seed(setup("ellipsotron"), sample, seed=3).rows
    steps, test = PerClass(4).plan(sample.y, None, stream(3, "plan"))
    W = np.zeros((3, 6))
    errors, losses, online_errors, online_losses = [], [], [], []
    for number, (step, row) in enumerate(zip(steps, rows, strict=True), start=1):
        for i in step:
            x, pos = sample.X[i], sample.y[i]
            scores = [float(W[c] @ x) for c in range(3)]
            others = [scores[c] for c in range(3) if c != pos]
            online_errors.append(0 if scores[pos] > max(others) else 1)
            loss = max(0, 1 - scores[pos] + max(others))
            online_losses.append(loss)
            neg = next(c for c in range(3) if c != pos and scores[c] == max(others))
            r = np.where(sample.Z[i], 1.0, 1e-10)
            tau = loss / (2 * np.sum((r * x) ** 2) + 0.5)
            W[pos] += tau * r**2 * x
            W[neg] -= tau * r**2 * x
        margin = []
        for i in test:
            scores = W @ sample.X[i]
            margin.append(scores[sample.y[i]] - max(np.delete(scores, sample.y[i])))
        errors.append(np.mean([m <= 0 for m in margin]))
        losses.append(sum(max(0, 1 - m) for m in margin))
        expected = {
            "seed": 3,
            "step": number,
            "samples": 3 * number,
            "test_error": errors[-1],
            "test_loss": losses[-1],
            "cumulative_error": np.mean(errors),
            "cumulative_loss": np.mean(losses),
            "online_error": np.mean(online_errors),
            "online_loss": np.mean(online_losses),
        }
        assert row == pytest.approx(expected, rel=1e-12)


def test_before_learning_everything_is_a_tie_and_ties_are_errors():
    rows = run_seed(setup(protocol=PerClass(1)), data(k=3), seed=0).rows
    first = run_seed(setup(protocol=Stream((1,))), data(k=3), seed=0).rows[0]
    assert first["online_error"] == 1 and first["online_loss"] == 1
    assert rows[0]["online_error"] >= 1 / 3


class Recorder(Lean):
    """Lean, and a diary of what it was taught and tested on."""

    diary: list = []

    def partial_fit(self, X, y, classes=None, *, relevance=None, annotation=None):
        raise AssertionError("its own prequential is used")

    def prequential(self, X, y, classes=None, *, relevance=None, annotation=None):
        self.diary.append(("learn", X.copy(), y.copy()))
        return super().prequential(X, y, classes)

    def decision_function(self, X):
        self.diary.append(("test", X.copy()))
        return super().decision_function(X)


class OtherRecorder(Recorder):
    diary: list = []


def test_methods_see_the_same_split_and_order_within_a_seed():
    for learner, aggregator in ((Recorder(), ClassSoft()), (OtherRecorder(), Ones())):
        learner.diary.clear()
        made = setup(learner=learner, aggregator=aggregator)
        run_seed(made, data(), seed=1)
    assert len(Recorder.diary) == len(OtherRecorder.diary) == 8
    for one, two in zip(Recorder.diary, OtherRecorder.diary, strict=True):
        assert one[0] == two[0]
        for a, b in zip(one[1:], two[1:], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", METHODS)
def test_permuting_the_test_set_changes_nothing(name, rng):
    sample = data(mask=True)
    order = np.concatenate([np.arange(30), 30 + rng.permutation(30)])
    shuffled = Data(
        X=sample.X[order], y=sample.y[order], Z=sample.Z[order], test=sample.test
    )
    made = setup(name, protocol=MASK)
    one = run_seed(made, sample, 0).rows
    two = run_seed(made, shuffled, 0).rows
    for a, b in zip(one, two, strict=True):
        assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize(
    "aggregator",
    [
        Sample(),
        ClassSoft(),
        ClassSoft(scope="seen"),
        ClassThreshold(2),
        ClassThreshold(2, scope="seen"),
        CrossClasses(),
        CrossClasses(scope="seen"),
    ],
    ids=repr,
)
def test_annotations_of_test_samples_change_nothing(aggregator):
    sample = data(mask=True)
    made = setup(aggregator=aggregator, protocol=MASK)
    flipped = np.where(sample.test[:, None], ~sample.Z, sample.Z)
    other = dataclasses.replace(sample, Z=flipped)
    assert run_seed(made, sample, 0).rows == run_seed(made, other, 0).rows


def test_annotations_reach_only_learners_that_ask():
    sample = data()
    other = dataclasses.replace(sample, Z=~sample.Z)
    for name in METHODS:
        made = setup(name)
        same = run_seed(made, sample, 0).rows == run_seed(made, other, 0).rows
        # Where every feature is marked by someone, cross-classes is lean whatever the votes.
        assert same == (name in ("lean", "cross_classes")), name


# Nobody annotates anything.

AGGREGATORS = [
    Ones(),
    Sample(),
    ClassSoft(),
    ClassSoft(scope="seen"),
    ClassThreshold(2),
    ClassThreshold("auto"),
    ClassThreshold(2, scope="seen"),
    CrossClasses(),
    CrossClasses(scope="seen"),
]


class Diarist(Lean):
    """Lean, and a diary of what it was told."""

    diary: list = []

    def partial_fit(self, X, y, classes=None, *, relevance=None, annotation=None):
        self.diary.append((relevance.copy(), annotation.copy()))
        return super().partial_fit(X, y, classes)


def told_of(aggregator, annotation):
    """Relevance and votes of all samples, as they reached a learner."""
    Diarist.diary.clear()
    made = setup(learner=Diarist(), aggregator=aggregator, annotation=annotation)
    run_seed(made, data(n=180), 0)
    relevance, votes = zip(*Diarist.diary, strict=True)
    return np.concatenate(relevance), np.concatenate(votes)


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=repr)
def test_without_annotations_relevance_is_one_and_votes_are_nan(aggregator):
    relevance, votes = told_of(aggregator, Absent())
    assert relevance.shape == votes.shape == (12, 6)
    assert (relevance == 1).all() and np.isnan(votes).all()


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=repr)
def test_without_annotations_ellipsotron_is_lean(aggregator):
    """Whatever would have made relevance of them."""
    made = setup(aggregator=aggregator, annotation=Absent())
    assert run_seed(made, data(), 0).rows == run_seed(setup("lean"), data(), 0).rows


class NeverAsked(Aggregator):
    """Fails if anybody asks it for anything."""

    def fit(self, Z, y):
        raise AssertionError("it was fitted")

    def relevance(self, Z, y):
        raise AssertionError("it was asked")

    def see(self, Z, y):
        raise AssertionError("it was shown something")

    def tune(self, validate):
        raise AssertionError("it was tuned")


def test_without_annotations_no_aggregator_is_fitted_tuned_or_asked():
    made = setup(aggregator=NeverAsked(), annotation=Absent())
    run_seed(made, data(), 0)
    with pytest.raises(AssertionError, match="it was"):
        run_seed(setup(aggregator=NeverAsked()), data(), 0)


@pytest.mark.parametrize("name", METHODS)
def test_without_annotations_a_method_is_told_nothing(name):
    assert setup(name, annotation=Absent()).told() is Told.NOTHING


def test_a_budget_shows_as_nan_where_nobody_was_asked():
    """Nothing marked is zero, and something else."""
    _, all_votes = told_of(Sample(), Full())
    assert not np.isnan(all_votes.astype(float)).any()
    _, votes = told_of(Sample(), Budget(samples=0.5))
    asked = ~np.isnan(votes).any(axis=1)
    assert 0 < asked.sum() < len(votes)
    np.testing.assert_array_equal(votes[asked], all_votes[asked])
    assert np.isnan(votes[~asked]).all()


def test_online_error_comes_from_features_without_annotations():
    """If an annotation reached the prediction, perfect marks would make a blind learner see."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    noise = rng.random((200, 2))
    oracle = Data(X=noise, y=y, Z=np.eye(2)[y])
    for name in ("feature_scaling", "ellipsotron"):
        made = setup(name, protocol=PerClass(60))
        assert run_seed(made, oracle, 0).rows[-1]["online_error"] > 0.3


def test_stream_steps_count_samples():
    result = run_seed(setup(protocol=Stream((3, 9, 20))), data(), 0)
    np.testing.assert_array_equal(
        columns(result, "step", "samples"), [[3, 3], [9, 9], [20, 20]]
    )


@pytest.mark.parametrize("name", ["lean", "class_soft", "cross_classes"])
def test_selected_classes_are_all_there_is(name, rng):
    """Features and annotations of the classes left out change nothing."""
    sample = data(k=3)
    protocol = PerClass(4, classes=2)
    made = setup(name, protocol=protocol)
    tested = protocol.plan(sample.y, None, stream(0, "plan"))[1]
    left_out = ~np.isin(sample.y, np.unique(sample.y[tested]))[:, None]
    # Feature 0 is marked in the classes left out only, or nowhere.
    silent = Data(X=sample.X, y=sample.y, Z=sample.Z & (np.arange(6) > 0))
    loud = Data(
        X=np.where(left_out, rng.random(sample.X.shape), sample.X),
        y=sample.y,
        Z=np.where(left_out, True, silent.Z),
    )
    result = run_seed(made, silent, 0)
    assert result.classes == 2 and result.rows == run_seed(made, loud, 0).rows


def test_class_level_votes_come_from_the_whole_training_pool():
    """Also from samples that the stream never draws."""
    sample = data(n=60, mask=True)
    protocol = PerClass(2, test="mask")
    made = setup("class_soft", protocol=protocol)
    steps, _ = protocol.plan(sample.y, sample.test, stream(0, "plan"))
    never = np.setdiff1d(np.flatnonzero(~sample.test), np.concatenate(steps))
    Z = sample.Z.copy()
    Z[never] = ~Z[never]
    other = dataclasses.replace(sample, Z=Z)
    assert run_seed(made, sample, 0).rows != run_seed(made, other, 0).rows


def test_theta_is_chosen_inside_the_training_pool(rng):
    sample = data(n=180, mask=True)
    made = setup(aggregator=ClassThreshold("auto"), protocol=MASK)
    chosen = run_seed(made, sample, 0)
    assert 0 <= chosen.tuned["theta"] <= 9
    noise = np.where(sample.test[:, None], rng.random(sample.X.shape), sample.X)
    other = dataclasses.replace(sample, X=noise)
    assert run_seed(made, other, 0).tuned == chosen.tuned
    with pytest.raises(UserError, match="20 samples per class"):
        run_seed(made, data(n=60, mask=True), 0)


@pytest.mark.parametrize(
    "preprocessor",
    [L2(), Center(), Center(fit_on="seen"), Standardize(), Standardize(fit_on="seen")],
    ids=repr,
)
@pytest.mark.parametrize("name", ["lean", "svm_ff"])
def test_every_preprocessor_runs(preprocessor, name):
    rows = run_seed(setup(name, preprocessor=preprocessor), data(), 0).rows
    assert rows != run_seed(setup(name), data(), 0).rows


def test_statistics_never_come_from_test_samples():
    sample = data(mask=True)
    made = setup(preprocessor=Standardize(fit_on="seen"), protocol=MASK)
    last = sample.X.copy()
    last[-1] *= 1000
    one = run_seed(made, sample, 0).rows
    two = run_seed(made, dataclasses.replace(sample, X=last), 0).rows
    for a, b in zip(one, two, strict=True):
        assert a["online_loss"] == b["online_loss"]
        assert abs(a["test_error"] - b["test_error"]) <= 1 / 30 + 1e-12


def test_statistics_of_a_background_that_is_not_there_are_named():
    sample = dataclasses.replace(data(), background=None)
    with pytest.raises(UserError, match="preprocessor.fit_on=seen takes them from the"):
        run_seed(setup(preprocessor=Center()), sample, 0)


def test_random_learners_take_their_seed_from_the_run():
    made = setup("svm_ff_batch")
    one = made.new_learner(0).random_state
    assert made.new_learner(0).random_state == one != made.new_learner(1).random_state
    fixed = setup(learner=SVMFFBatch(random_state=5))
    assert fixed.new_learner(1).random_state == 5


def test_theta_is_validated_on_samples_it_was_not_learned_from():
    """Ten candidates, each taught ten samples per class and tested on the next ten."""
    OtherRecorder.diary.clear()
    sample = data(n=180, mask=True)
    made = setup(
        learner=OtherRecorder(),
        aggregator=ClassThreshold(),
        protocol=PerClass(1, test="mask"),
    )
    run_seed(made, sample, 0)
    tried = OtherRecorder.diary[:20]
    pool = {row.tobytes() for row in sample.X[~sample.test]}
    for learned, tested in zip(tried[::2], tried[1::2], strict=True):
        assert (learned[0], tested[0]) == ("learn", "test")
        one, two = ({row.tobytes() for row in entry[1]} for entry in (learned, tested))
        assert len(one) == len(two) == 30 and not one & two and one | two <= pool


class NotFinite(Lean):
    def _scores(self, X):
        return np.full((len(X), 3), np.nan)


def test_scores_that_are_not_finite_end_the_run():
    with pytest.raises(UserError, match="not finite after 3 samples"):
        run_seed(setup(learner=NotFinite()), data(), 0)


def asking(signature):
    """A learner whose partial_fit has these further arguments."""
    space: dict = {}
    exec(f"def partial_fit(self, X, y, classes=None, {signature}): return self", space)
    return type("Asking", (Lean,), {"partial_fit": space["partial_fit"]})()


@pytest.mark.parametrize(
    "signature",
    [
        "*, relevance=None",
        "relevance=None",
        "*, relevance",
        "sample_weight=None, *, relevance=None",
    ],
)
def test_a_learner_asks_by_naming_an_argument(signature):
    assert rich_supervision(asking(signature)) == {"relevance"}


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        ("*, gossip", "asks for 'gossip'"),
        ("*, relevence=None", "Did you mean 'relevance'"),
        ("*, veiw=None", "asks for 'veiw'. Did you mean 'view'"),
        ("*args", r"takes \*args: name what it wants"),
        ("**kwargs", r"takes \*kwargs: name what it wants"),
    ],
)
def test_what_a_run_cannot_give_is_refused_before_it_starts(signature, words):
    with pytest.raises(UserError, match=words):
        setup(learner=asking(signature)).check()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("lean", Told.NOTHING),
        ("ellipsotron", Told.VOTES),
        ("class_soft", Told.CLASS_VOTES),
        ("svm_ff", Told.VOTES),
    ],
)
def test_what_a_method_is_told_follows_from_what_it_asks_for(name, told):
    assert setup(name).told() == told


def test_what_a_method_is_told_depends_on_its_aggregator():
    assert setup(aggregator=Ones()).told() == Told.NOTHING
    assert setup(aggregator=ClassSoft(scope="seen")).told() == Told.VOTES
    assert setup("lean", aggregator=ClassSoft()).told() == Told.NOTHING
    assert setup("svm_ff", aggregator=ClassSoft()).told() == Told.VOTES


def test_votes_beside_relevance_do_not_hide_class_votes():
    """The whole pool's votes are more than those of the samples as they come."""
    both = asking("*, relevance=None, annotation=None")
    assert setup(learner=both, aggregator=ClassSoft()).told() == Told.CLASS_VOTES
    assert setup(learner=both, aggregator=Sample()).told() == Told.VOTES
    assert setup(learner=both, aggregator=Ones()).told() == Told.VOTES


class Doubled(Lean):
    """Overrides `partial_fit` alone: its inherited fast path must not be taken."""

    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(np.vstack([X, X]), np.concatenate([y, y]), classes)


class Biased(Lean):
    """Overrides `decision_function` alone."""

    def decision_function(self, X):
        return super().decision_function(X) + np.array([10.0, 0, 0])


class Scored(Lean):
    """Overrides `_scores` alone."""

    def _scores(self, X):
        return super()._scores(X) + np.array([10.0, 0, 0])


class Short(Lean):
    """A fast path of the wrong length."""

    def prequential(self, X, y, classes=None):
        return super().prequential(X, y, classes)[:-1]


class Both(Lean):
    """Asks for more than its parent's fast path knows."""

    def partial_fit(self, X, y, classes=None, *, relevance=None, annotation=None):
        assert relevance is not None and annotation is not None
        return super().partial_fit(X, y, classes)


class Minimal:
    """A stranger's learner with nothing but what is promised to be used; nearest mean."""

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "sums"):
            self.sums = np.zeros((len(classes), X.shape[1]))
            self.counts = np.zeros(len(classes))
        np.add.at(self.sums, y, X)
        np.add.at(self.counts, y, 1)
        return self

    def decision_function(self, X):
        return X @ (self.sums / np.maximum(self.counts, 1)[:, None]).T


class Narrow(Minimal):
    """Scores fewer classes than there are."""

    def decision_function(self, X):
        return super().decision_function(X)[:, :2]


class PlanOnly:
    """A protocol with nothing but `plan`."""

    def plan(self, y, test, rng):
        order = rng.permutation(len(y))
        return [order[:10], order[10:30]], np.sort(order[30:])


class FitReturnsNothing:
    """An aggregator with nothing but what is promised."""

    def fit(self, Z, y):
        pass

    def relevance(self, Z, y):
        return np.ones(Z.shape)


class OneRow(FitReturnsNothing):
    def relevance(self, Z, y):
        return np.ones(Z.shape[1])


class TransformOnly:
    def transform(self, X):
        return 2 * X


def rows_of(learner, **changes):
    return run_seed(
        setup(learner=learner, aggregator=Ones(), **changes), data(), 0
    ).rows


def test_a_learners_own_behaviour_is_what_is_measured():
    lean = rows_of(Lean())
    assert rows_of(Doubled())[0]["online_loss"] != lean[0]["online_loss"]
    biased = rows_of(Biased())[0]["online_error"]
    assert biased == rows_of(Scored())[0]["online_error"] != lean[0]["online_error"]
    with pytest.raises(UserError, match="Short.prequential gave shape"):
        rows_of(Short())
    for one, two in zip(rows_of(Both()), lean, strict=True):
        assert one == pytest.approx(two)


def test_tests_are_by_a_learners_own_scores_too():
    """Not by its weights alone, which it has inherited."""
    lean, biased, scored = (rows_of(cls()) for cls in (Lean, Biased, Scored))
    for a, b, c in zip(lean, biased, scored, strict=True):
        assert a["test_loss"] != b["test_loss"] == pytest.approx(c["test_loss"])


def test_components_that_keep_to_the_contract_need_nothing_else():
    rows = rows_of(Minimal(), protocol=PlanOnly())
    assert [row["step"] for row in rows] == [1, 2]
    assert [row["samples"] for row in rows] == [10, 30]
    # The first prediction is a tie.
    assert rows[-1]["online_error"] < 1 and rows[0]["online_loss"] >= 0.1
    strange = run_seed(setup(aggregator=FitReturnsNothing()), data(), 0)
    assert strange.rows == run_seed(setup("lean"), data(), 0).rows
    assert rows_of(Minimal(), preprocessor=TransformOnly()) != rows_of(Minimal())
    erased = run_seed(setup(annotation=lambda Z, rng: np.zeros(Z.shape)), data(), 0)
    assert erased.rows != run_seed(setup(), data(), 0).rows


def test_a_components_earlier_life_does_not_reach_a_run():
    """What was trained by hand is not what runs, and no run trains what it was given."""
    sample = data()
    for learner in (Lean(), Minimal()):
        untrained = rows_of(learner)
        assert rows_of(learner) == untrained
        learner.partial_fit(sample.X, sample.y, classes=np.arange(3))
        assert rows_of(learner) == untrained


class Hasty:
    """A batch learner of no base class: refitted on all samples it has seen."""

    batch = True
    blocks: list = []

    def partial_fit(self, X, y, classes=None):
        self.blocks.append(len(X))
        return self

    def decision_function(self, X):
        return np.zeros((len(X), 3))


def test_a_batch_learner_is_asked_once_for_a_step():
    Hasty.blocks.clear()
    rows_of(Hasty())
    assert Hasty.blocks == [3, 3, 3, 3]


def test_relevance_of_the_wrong_shape_is_named():
    with pytest.raises(
        UserError, match=r"OneRow.relevance gave shape \(6,\), expected \(12, 6\)"
    ):
        run_seed(setup(aggregator=OneRow()), data(), 0)


def test_scores_of_the_wrong_shape_are_named():
    with pytest.raises(UserError, match=r"scores of shape .*, expected \(1, 3\)"):
        rows_of(Narrow())


def test_votes_of_the_wrong_shape_are_named():
    def fewer(Z, rng):
        return Z[1:]

    with pytest.raises(UserError, match=r"gave votes of shape \(\d+, 6\), expected"):
        run_seed(setup(annotation=fewer), data(), 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protocol": PerClass(0)}, "protocol.samples_per_class=0, expected 1 or more"),
        (
            {"learner": Ellipsotron(C=-1)},
            "Ellipsotron: C=-1, expected a number above 0",
        ),
        ({"aggregator": Sample(irrelevant=0)}, "Sample: irrelevant=0"),
        ({"precision": "half"}, "precision='half', expected data, float32, float64"),
        ({"learner": object()}, "object has no partial_fit, which a learner needs"),
    ],
)
def test_mistakes_show_before_any_data_are_read(changes, words):
    with pytest.raises(UserError, match=words):
        setup(**changes).check()


def test_streams_are_named_by_purpose():
    assert stream(0, "plan").random() == stream(0, "plan").random()
    draws = {
        stream(seed, purpose).random()
        for seed in (0, 1)
        for purpose in ("plan", "annotation")
    }
    assert len(draws) == 4


def test_progress_is_told_step_by_step():
    shares = []
    run_seed(setup(), data(), 0, shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]


# Each test sample.


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("protocol", [PerClass(4), Stream((3, 9, 20))], ids=repr)
def test_curves_are_the_means_of_the_test_samples_errors(name, protocol):
    result = run_seed(setup(name, protocol=protocol), data(), 0)
    tested = result.tested
    assert tested.steps.tolist() == [row["step"] for row in result.rows]
    for row in result.rows:
        assert tested.errors(row["step"]).mean() == row["test_error"]
        cumulative = tested.errors(row["step"], cumulative=True).mean()
        assert cumulative == pytest.approx(row["cumulative_error"], rel=1e-14)


def test_test_samples_are_those_of_the_plan_with_the_data_sets_classes():
    sample = data(k=3)
    protocol = PerClass(4, classes=2)
    tested = run_seed(setup(protocol=protocol), sample, 5).tested
    _, expected = protocol.plan(sample.y, None, stream(5, "plan"))
    np.testing.assert_array_equal(tested.items, expected)
    np.testing.assert_array_equal(tested.labels, sample.y[expected])
    assert tested.wrong.shape == (4, len(expected))


class Permuted(PerClass):
    """Gives the test set in another order for each seed."""

    def plan(self, y, test, rng):
        steps, held = super().plan(y, test, rng)
        return steps, rng.permutation(held)


def test_test_samples_are_in_one_order_whatever_the_protocols():
    sample = data(mask=True)
    usual = run_seed(setup(protocol=MASK), sample, 0).tested
    permuted = run_seed(setup(protocol=Permuted(4, test="mask")), sample, 0).tested
    np.testing.assert_array_equal(usual.items, np.flatnonzero(sample.test))
    for name in ("items", "labels", "wrong"):
        np.testing.assert_array_equal(getattr(permuted, name), getattr(usual, name))
    np.testing.assert_allclose(permuted.margins, usual.margins, rtol=1e-6)


def test_a_sample_is_wrong_where_its_margin_is_not_above_zero():
    """At every step of the table, of which the tests made so far are a part."""
    result = run_seed(setup(table_steps=[1, 2, 3, 4]), data(), 0)
    tested = result.tested
    assert tested.margin_steps.tolist() == tested.steps.tolist()
    assert tested.wrong.any() and not tested.wrong.all()
    np.testing.assert_array_equal(tested.margins <= 0, tested.wrong)
    losses = np.maximum(0, 1 - tested.margins).sum(axis=1)
    np.testing.assert_allclose(losses, columns(result, "test_loss")[:, 0], rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({}, [1, 2, 4]),
        ({"table_steps": [3]}, [3, 4]),
        ({"table_steps": [3, 9]}, [3, 4]),
        ({"table_steps": [3], "judged_step": 2}, [2, 3]),
        ({"judged_step": 3}, [1, 2, 3, 4]),
    ],
)
def test_margins_are_kept_at_the_tables_steps(changes, steps):
    tested = run_seed(setup(**changes), data(), 0).tested
    assert tested.margin_steps.tolist() == steps
    assert tested.margins.shape == (len(steps), len(tested.items))


def test_what_is_reported_changes_no_number():
    usual = run_seed(setup(), data(), 0)
    other = run_seed(setup(judged_step=2, table_steps=[1]), data(), 0)
    assert usual.rows == other.rows and usual.per_class == other.per_class
    np.testing.assert_array_equal(usual.tested.wrong, other.tested.wrong)


@pytest.mark.parametrize(
    ("protocol", "judged", "words"),
    [
        (PerClass(4), 5, "judged_step=5 is not tested: choose of 1, 2, 3, 4"),
        (Stream((3, 9, 20)), 10, "judged_step=10 is not tested: choose of 3, 9, 20"),
    ],
)
@pytest.mark.parametrize("aggregator", [Sample(), NeverAsked()], ids=["asked", "tuned"])
def test_a_judged_step_that_is_not_tested_is_refused_before_anything_is_learned(
    aggregator, protocol, judged, words
):
    Recorder.diary.clear()
    made = setup(
        learner=Recorder(),
        aggregator=aggregator,
        protocol=protocol,
        judged_step=judged,
    )
    with pytest.raises(UserError, match=words):
        run_seed(made, data(), 0)
    assert Recorder.diary == []


# Draws of classes.


class Wilful:
    """A data set of no base class, whose protocol changes what it is given."""

    def load(self):
        return data()

    def plan(self, y, test, rng):
        y[:] = y[::-1].copy()
        return PerClass(4).plan(y, test, rng)


class Worlds(Dataset):
    """Other samples in each draw."""

    def __init__(self, number: int = 0):
        self.number = number

    def load(self):
        return data(seed=self.number)

    def drawn(self, number):
        return Worlds(number)


def test_the_first_draw_is_the_data_set_itself():
    worlds = Worlds()
    assert draw_of(worlds, 0) is worlds
    assert draw_of(worlds, 2).number == 2
    one = Wilful()
    assert draw_of(one, 0) is one


@pytest.mark.parametrize("dataset", [data(), Wilful], ids=["arrays", "a class"])
def test_what_has_no_draws_refuses_more_than_one(dataset):
    given = dataset if isinstance(dataset, Data) else dataset()
    name = type(given).__name__
    with pytest.raises(UserError, match=f"^draws: {name} has one draw .*draws=1$"):
        draw_of(given, 1)


# Data, as a run gets them.


def test_nobody_can_change_a_runs_data():
    loaded = load(Wilful(), None, "mine")
    with pytest.raises(ValueError, match="read-only"):
        run_seed(setup(protocol=Wilful()), loaded, 0)


def test_ones_own_arrays_stay_writable():
    mine = dataclasses.replace(data(mask=True), validation=data(seed=1))
    locked = load(mine, None, "mine")
    for name in ("X", "y", "Z", "test", "background"):
        assert getattr(mine, name).flags.writeable
        assert not getattr(locked, name).flags.writeable
        assert np.shares_memory(getattr(mine, name), getattr(locked, name))


def test_held_out_classes_are_locked_as_well():
    mine = dataclasses.replace(data(), validation=data(seed=1))
    held = read_only(mine).validation
    assert not held.X.flags.writeable and mine.validation.X.flags.writeable


def test_data_are_known_by_content():
    one = load(data(), None, "mine").identity
    assert one == load(data(), None, "mine").identity
    assert one != load(data(seed=1), None, "mine").identity


def test_data_with_features_need_no_extractor_and_others_do():
    class Doubling:
        def extract(self, given):
            return dataclasses.replace(given, X=2.0 * given.Z)

    bare = dataclasses.replace(data(), X=None, background=None)
    np.testing.assert_array_equal(load(bare, Doubling(), "m").X, 2 * bare.Z)
    np.testing.assert_array_equal(load(data(), Doubling(), "m").X, data().X)


def test_wrong_data_are_named():
    wrong = dataclasses.replace(data(), X=np.full((60, 6), np.nan))
    with pytest.raises(UserError, match=r"mine: X\[0, 0\] is nan"):
        load(wrong, None, "mine")
