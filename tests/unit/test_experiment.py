"""One run: curves recomputed from scratch, paired seeds, and annotations kept away from predictions."""

import numpy as np
import pytest

from rsbench import hookimpl
from rsbench.core.data import Data
from rsbench.core.experiment import Spec, rich_supervision, run_seed
from rsbench.core.seeds import stream
from rsbench.errors import UserError
from rsbench.learners import Lean
from rsbench.plugins import registry
from rsbench.plugins.registry import Registry
from rsbench.protocols import PerClass

METHODS = {
    "lean": ("lean", "none"),
    "feature_scaling": ("feature_scaling", "sample"),
    "ellipsotron": ("ellipsotron", "sample"),
    "class_soft": ("ellipsotron", "class_soft"),
    "cross_classes": ("ellipsotron", "cross_classes"),
    "svm_ff": ("svm_ff", "none"),
    "svm_ff_batch": ("svm_ff_batch", "none"),
}


def method(name):
    learner, aggregator = METHODS[name]
    return {"learner": {"name": learner}, "aggregator": {"name": aggregator}}


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


def test_curves_are_those_of_a_naive_loop(spec):
    """Every column of curves.csv, recomputed with scalars from the definitions."""
    sample = data()
    rows = run_seed(spec(**method("ellipsotron")), sample, seed=3).rows
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


def test_before_learning_everything_is_a_tie_and_ties_are_errors(spec):
    rows = run_seed(
        spec(protocol={"name": "per_class", "samples_per_class": 1}), data(k=3), seed=0
    ).rows
    first = run_seed(
        spec(protocol={"name": "stream", "test_at": [1]}), data(k=3), seed=0
    ).rows[0]
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


def recorders():
    class Plugin:
        @hookimpl
        def rsbench_learners(self):
            return {"one": Recorder, "two": OtherRecorder}

    made = Registry()
    for kind in registry.KINDS:
        module = __import__(f"rsbench.{kind}s", fromlist=["x"])
        made.add(module.__name__, lambda module=module: module)
    made.add("recorders", Plugin)
    assert not made.broken
    return made


def test_methods_see_the_same_split_and_order_within_a_seed(spec):
    made = recorders()
    for cls, name, aggregator in (
        (Recorder, "one", "class_soft"),
        (OtherRecorder, "two", "none"),
    ):
        cls.diary.clear()
        config = {
            **spec().config,
            "learner": {"name": name},
            "aggregator": {"name": aggregator},
        }
        run_seed(Spec(made, config), data(), seed=1)
    assert len(Recorder.diary) == len(OtherRecorder.diary) == 8
    for one, two in zip(Recorder.diary, OtherRecorder.diary, strict=True):
        assert one[0] == two[0]
        for a, b in zip(one[1:], two[1:], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", METHODS)
def test_permuting_the_test_set_changes_nothing(name, spec, rng):
    sample = data(mask=True)
    order = np.concatenate([np.arange(30), 30 + rng.permutation(30)])
    shuffled = Data(
        X=sample.X[order], y=sample.y[order], Z=sample.Z[order], test=sample.test
    )
    made = spec(
        **method(name),
        protocol={"name": "per_class", "samples_per_class": 4, "test": "mask"},
    )
    for one, two in zip(
        run_seed(made, sample, 0).rows, run_seed(made, shuffled, 0).rows, strict=True
    ):
        assert one == pytest.approx(two, rel=1e-12)


@pytest.mark.parametrize("scope", ["teacher", "seen"])
@pytest.mark.parametrize(
    "aggregator", ["sample", "class_soft", "class_threshold", "cross_classes"]
)
def test_annotations_of_test_samples_change_nothing(aggregator, scope, spec):
    sample = data(mask=True)
    config = (
        {"name": aggregator}
        if aggregator == "sample"
        else {"name": aggregator, "scope": scope}
    )
    if aggregator == "class_threshold":
        config["theta"] = 2
    made = spec(
        aggregator=config,
        protocol={"name": "per_class", "samples_per_class": 4, "test": "mask"},
    )
    other = Data(
        **{**vars(sample), "Z": np.where(sample.test[:, None], ~sample.Z, sample.Z)}
    )
    assert run_seed(made, sample, 0).rows == run_seed(made, other, 0).rows


def test_annotations_reach_only_learners_that_ask(spec):
    sample = data()
    other = Data(**{**vars(sample), "Z": ~sample.Z})
    for name in METHODS:
        made = spec(**method(name))
        same = run_seed(made, sample, 0).rows == run_seed(made, other, 0).rows
        # Where every feature is marked by someone, cross-classes is lean whatever the votes.
        assert same == (name in ("lean", "cross_classes")), name


def test_online_error_comes_from_features_without_annotations(spec):
    """If an annotation reached the prediction, perfect marks would make a blind learner see."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    noise = rng.random((200, 2))
    oracle = Data(X=noise, y=y, Z=np.eye(2)[y])
    for name in ("feature_scaling", "ellipsotron"):
        made = spec(
            **method(name), protocol={"name": "per_class", "samples_per_class": 60}
        )
        assert run_seed(made, oracle, 0).rows[-1]["online_error"] > 0.3


def test_stream_steps_count_samples(spec):
    made = spec(protocol={"name": "stream", "test_at": [3, 9, 20]})
    result = run_seed(made, data(), 0)
    np.testing.assert_array_equal(
        columns(result, "step", "samples"), [[3, 3], [9, 9], [20, 20]]
    )


@pytest.mark.parametrize("name", ["lean", "class_soft", "cross_classes"])
def test_selected_classes_are_all_there_is(name, spec, rng):
    """Features and annotations of the classes left out change nothing."""
    sample = data(k=3)
    made = spec(
        **method(name),
        protocol={"name": "per_class", "samples_per_class": 4, "classes": 2},
    )
    chosen = np.unique(
        sample.y[PerClass(4, classes=2).plan(sample.y, None, stream(0, "plan"))[1]]
    )
    left_out = ~np.isin(sample.y, chosen)[:, None]
    # Feature 0 is marked in the classes left out only, or nowhere.
    silent = Data(X=sample.X, y=sample.y, Z=sample.Z & (np.arange(6) > 0))
    loud = Data(
        X=np.where(left_out, rng.random(sample.X.shape), sample.X),
        y=sample.y,
        Z=np.where(left_out, True, silent.Z),
    )
    result = run_seed(made, silent, 0)
    assert result.classes == 2 and result.rows == run_seed(made, loud, 0).rows


def test_class_level_votes_come_from_the_whole_training_pool(spec):
    """Also from samples that the stream never draws."""
    sample = data(n=60, mask=True)
    made = spec(
        **method("class_soft"),
        protocol={"name": "per_class", "samples_per_class": 2, "test": "mask"},
    )
    steps, _ = PerClass(2, test="mask").plan(sample.y, sample.test, stream(0, "plan"))
    never = np.setdiff1d(np.flatnonzero(~sample.test), np.concatenate(steps))
    Z = sample.Z.copy()
    Z[never] = ~Z[never]
    assert (
        run_seed(made, sample, 0).rows
        != run_seed(made, Data(**{**vars(sample), "Z": Z}), 0).rows
    )


def test_theta_is_chosen_inside_the_training_pool(spec):
    sample = data(n=180, mask=True)
    made = spec(
        aggregator={"name": "class_threshold", "theta": "auto"},
        protocol={"name": "per_class", "samples_per_class": 4, "test": "mask"},
    )
    chosen = run_seed(made, sample, 0)
    assert 0 <= chosen.tuned["theta"] <= 9
    rng = np.random.default_rng(1)
    other = Data(
        **{
            **vars(sample),
            "X": np.where(sample.test[:, None], rng.random(sample.X.shape), sample.X),
        }
    )
    assert run_seed(made, other, 0).tuned == chosen.tuned
    with pytest.raises(UserError, match="20 samples per class"):
        run_seed(made, data(n=60, mask=True), 0)


@pytest.mark.parametrize("preprocessor", ["none", "l2", "center", "standardize"])
@pytest.mark.parametrize("fit_on", ["background", "seen"])
@pytest.mark.parametrize("name", ["lean", "svm_ff"])
def test_every_preprocessor_runs(preprocessor, fit_on, name, spec):
    fitted = preprocessor in ("center", "standardize")
    config = {"name": preprocessor, **({"fit_on": fit_on} if fitted else {})}
    rows = run_seed(spec(**method(name), preprocessor=config), data(), 0).rows
    assert (
        rows != run_seed(spec(**method(name)), data(), 0).rows or preprocessor == "none"
    )


def test_statistics_never_come_from_test_samples(spec):
    sample = data(mask=True)
    made = spec(
        preprocessor={"name": "standardize", "fit_on": "seen"},
        protocol={"name": "per_class", "samples_per_class": 4, "test": "mask"},
    )
    last = sample.X.copy()
    last[-1] *= 1000
    one = run_seed(made, sample, 0).rows
    two = run_seed(made, Data(**{**vars(sample), "X": last}), 0).rows
    for a, b in zip(one, two, strict=True):
        assert a["online_loss"] == b["online_loss"]
        assert abs(a["test_error"] - b["test_error"]) <= 1 / 30 + 1e-12


def test_random_learners_take_their_seed_from_the_run(spec):
    made = spec(learner={"name": "svm_ff_batch", "random_state": None})
    assert (
        made.learner(0).random_state
        == made.learner(0).random_state
        != made.learner(1).random_state
    )
    assert (
        spec(learner={"name": "svm_ff_batch", "random_state": 5})
        .learner(1)
        .random_state
        == 5
    )


def test_theta_is_validated_on_samples_it_was_not_learned_from(spec):
    """Ten candidates, each taught ten samples per class and tested on the next ten."""
    OtherRecorder.diary.clear()
    sample = data(n=180, mask=True)
    config = {
        **spec().config,
        "learner": {"name": "two"},
        "aggregator": {"name": "class_threshold"},
    }
    config["protocol"] = {"name": "per_class", "samples_per_class": 1, "test": "mask"}
    run_seed(Spec(recorders(), config), sample, 0)
    tried = OtherRecorder.diary[:20]
    pool = {row.tobytes() for row in sample.X[~sample.test]}
    for learned, tested in zip(tried[::2], tried[1::2], strict=True):
        assert (learned[0], tested[0]) == ("learn", "test")
        one, two = ({row.tobytes() for row in entry[1]} for entry in (learned, tested))
        assert len(one) == len(two) == 30 and not one & two and one | two <= pool


def test_scores_that_are_not_finite_end_the_run(spec, monkeypatch):
    monkeypatch.setattr(Lean, "_scores", lambda self, X: np.full((len(X), 3), np.nan))
    with pytest.raises(UserError, match="not finite after 3 samples"):
        run_seed(spec(**method("lean")), data(), 0)


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
        ("*, view=None", "asks for 'view', which this version"),
    ],
)
def test_what_a_run_cannot_give_is_refused(signature, words):
    with pytest.raises(UserError, match=words):
        rich_supervision(asking(signature))
    briefed = type("Briefed", (Lean,), {"brief": lambda self, votes: None})()
    with pytest.raises(UserError, match="asks for 'brief'"):
        rich_supervision(briefed)


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
            self.sums, self.counts = (
                np.zeros((len(classes), X.shape[1])),
                np.zeros(len(classes)),
            )
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


def strangers():
    class Plugin:
        @hookimpl
        def rsbench_learners(self):
            classes = (Doubled, Biased, Scored, Short, Both, Minimal, Narrow)
            return {cls.__name__.lower(): cls for cls in classes}

        @hookimpl
        def rsbench_protocols(self):
            return {"plan_only": PlanOnly}

        @hookimpl
        def rsbench_aggregators(self):
            return {"nothing": FitReturnsNothing}

    made = recorders()
    made.add("strangers", Plugin)
    assert not made.broken
    return made


def test_a_learners_own_behaviour_is_what_is_measured(spec):
    def rows(name):
        config = {
            **spec().config,
            "learner": {"name": name},
            "aggregator": {"name": "none"},
        }
        return run_seed(Spec(strangers(), config), data(), 0).rows

    lean = rows("lean")
    assert rows("doubled")[0]["online_loss"] != lean[0]["online_loss"]
    assert (
        rows("biased")[0]["online_error"]
        == rows("scored")[0]["online_error"]
        != lean[0]["online_error"]
    )
    with pytest.raises(UserError, match="Short.prequential gave shape"):
        rows("short")
    for one, two in zip(rows("both"), lean, strict=True):
        assert one == pytest.approx(two)


def test_components_that_keep_to_the_contract_need_nothing_else(spec):
    config = {
        **spec().config,
        "learner": {"name": "minimal"},
        "protocol": {"name": "plan_only"},
    }
    rows = run_seed(Spec(strangers(), config), data(), 0).rows
    assert [row["step"] for row in rows] == [1, 2] and [
        row["samples"] for row in rows
    ] == [10, 30]
    assert (
        rows[-1]["online_error"] < 1 and rows[0]["online_loss"] >= 0.1
    )  # the first prediction is a tie
    config = {**spec().config, "aggregator": {"name": "nothing"}}
    assert (
        run_seed(Spec(strangers(), config), data(), 0).rows
        == run_seed(spec(**method("lean")), data(), 0).rows
    )


class OneRow(FitReturnsNothing):
    def relevance(self, Z, y):
        return np.ones(Z.shape[1])


def test_relevance_of_the_wrong_shape_is_named(spec, monkeypatch):
    monkeypatch.setattr(FitReturnsNothing, "relevance", OneRow.relevance)
    with pytest.raises(
        UserError,
        match=r"FitReturnsNothing.relevance gave shape \(6,\), expected \(12, 6\)",
    ):
        run_seed(
            Spec(strangers(), {**spec().config, "aggregator": {"name": "nothing"}}),
            data(),
            0,
        )


def test_scores_of_the_wrong_shape_are_named(spec):
    config = {**spec().config, "learner": {"name": "narrow"}}
    with pytest.raises(UserError, match=r"scores of shape .*, expected \(1, 3\)"):
        run_seed(Spec(strangers(), config), data(), 0)


def test_streams_are_named_by_purpose():
    assert stream(0, "plan").random() == stream(0, "plan").random()
    draws = {
        stream(seed, purpose).random()
        for seed in (0, 1)
        for purpose in ("plan", "annotation")
    }
    assert len(draws) == 4
