"""What a learner is told before the stream, and that it is told that and nothing else."""

import dataclasses

import numpy as np
import pytest

import rsbench
from rsbench.aggregators import ClassSoft, ClassThreshold, Ones
from rsbench.core.components import Absent, Learner, adopt
from rsbench.core.data import Background, Data, Names, keep_samples
from rsbench.core.data_checks import check_data
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.core.preparation import asked_before, class_votes
from rsbench.core.sparse import SparseVotes, as_csr
from rsbench.core.told import OfBackground, Told, Track
from rsbench.core.tuning import held_out, tune, with_own_grid
from rsbench.corruptions import Budget, Full, Shuffled
from rsbench.datasets import Synthetic
from rsbench.errors import UserError
from rsbench.learners import SLDA, BatchLearner, Gaussian, Lean, Logistic, Ridge
from rsbench.preprocessors import Center, Identity
from rsbench.protocols import PerClass


class Asks(Lean):
    """Keeps what it is given before the stream, for the test to see."""

    def prepare(
        self, *, background=None, class_votes, feature_names, concept_names, class_names
    ):
        given = (background, class_votes, feature_names, concept_names, class_names)
        Asks.given = given


@pytest.fixture(scope="module")
def data():
    made = Synthetic(classes=4, samples=20, background_classes=9).load()
    return load(made, None, "synthetic")


def setup(learner, **changes):
    parts = {
        "learner": learner,
        "aggregator": Ones(),
        "preprocessor": Identity(),
        "protocol": PerClass(5),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


def test_a_learner_is_given_what_it_names(data):
    run_seed(setup(Asks(), preprocessor=Center()), data, 0)
    background, votes, features, concepts, classes = Asks.given
    # Preprocessed as the stream is, by statistics of the background itself.
    np.testing.assert_allclose(background.X.mean(axis=0), 0, atol=1e-6)
    assert sorted(set(background.y)) == list(range(9))
    assert background.Z.shape == background.X.shape
    assert features == concepts == data.names.features
    assert classes == data.names.classes
    assert (
        votes.shape == (4, data.X.shape[1]) and (votes >= 0).all() and votes.max() <= 1
    )


def test_class_votes_are_those_of_the_training_pool(data):
    def given(**changes):
        run_seed(setup(Asks(), **changes), data, 0)
        return Asks.given[1]

    steps, test = PerClass(5).plan(data.y, None, rsbench.stream(0, "plan"))
    pool = np.setdiff1d(np.arange(len(data.y)), test)
    expected = [data.Z[pool][data.y[pool] == c].mean(axis=0) for c in range(4)]
    np.testing.assert_allclose(given(), expected)
    # As the corruption leaves them; and none where nobody annotates anything.
    assert not np.allclose(given(annotation=Shuffled()), expected)
    assert given(annotation=Absent()) is None


def test_annotators_of_class_votes_are_counted(data):
    result = run_seed(setup(Asks(), annotation=Budget(samples=0.3)), data, 0)
    assert 0 < result.given["annotated"] < 0.7
    assert run_seed(setup(Asks()), data, 0).given["annotated"] == 1


def test_shares_leave_out_who_was_not_asked():
    Z = np.array([[1, 0], [np.nan, 1], [np.nan, np.nan], [0, 0]], np.float32)
    y = np.array([0, 0, 1, 2])
    expected = [[1, 0.5], [np.nan, np.nan], [0, 0]]
    np.testing.assert_array_equal(class_votes(Z, y, 3), expected)
    sparse = SparseVotes(as_csr(np.nan_to_num(Z)), np.array([True, True, False, True]))
    expected = [[0.5, 0.5], [np.nan, np.nan], [0, 0]]
    np.testing.assert_array_equal(class_votes(sparse, y, 3), expected)


@pytest.mark.parametrize(
    ("of_background", "labels", "votes"),
    [("features", False, False), ("labels", True, False), ("annotations", True, True)],
)
def test_a_learner_is_told_no_more_of_the_background_than_it_says(
    data, of_background, labels, votes
):
    class Modest(Lean):
        def prepare(self, background):
            Modest.given = background

    Modest.of_background = OfBackground(of_background)
    made = setup(Modest())
    run_seed(made, data, 0)
    assert (Modest.given.y is not None) == labels
    assert (Modest.given.Z is not None) == votes
    assert made.track(data) == Track(background=OfBackground(of_background))
    # Of what the data set does not have, it is told nothing either.
    without = dataclasses.replace(data, background_Z=None)
    assert made.track(without).background is not OfBackground.ANNOTATIONS


def test_what_is_told_is_the_track():
    learner = setup(Asks())
    data = Synthetic(classes=4).load()
    track = learner.track(data)
    assert track.samples is Told.CLASS_VOTES
    assert track.background is OfBackground.ANNOTATIONS
    assert track.names == ("class names", "concept names", "feature names")
    assert track.text == (
        "class votes, annotations of the background, class names, concept names, "
        "feature names"
    )
    # Of names that the data set does not have, nothing is told.
    nameless = dataclasses.replace(data, names=Names())
    assert learner.track(nameless).names == ()
    assert setup(Lean()).track(data).is_nothing
    assert setup(Gaussian()).track(data).text == "labels of the background"
    assert setup(SLDA()).track(data).is_nothing
    started = setup(SLDA(start="background")).track(data)
    assert started == Track(background=OfBackground.LABELS)
    soft = setup(rsbench.learners.Ellipsotron(), aggregator=ClassSoft()).track(data)
    assert soft == Track(Told.CLASS_VOTES)


def test_a_learner_that_asks_for_class_votes_has_a_counterpart(data):
    made = setup(Asks())
    assert made.told() is Told.CLASS_VOTES and "annotation" not in made.idle()
    assert made.without_annotations().told() is Told.NOTHING


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (
            lambda self, backgrund: None,
            "asks for 'backgrund'. Did you mean 'background'",
        ),
        (lambda self, **told: None, r"Wrong.prepare takes \*told: name what it wants"),
    ],
)
def test_what_nobody_can_give_is_named(prepare, message):
    wrong = type("Wrong", (Lean,), {"prepare": prepare})
    with pytest.raises(UserError, match=message):
        asked_before(wrong())
    with pytest.raises(UserError, match=message):
        setup(wrong()).check()


def test_how_much_of_the_background_is_one_of_four_words(data):
    class Vague(Lean):
        of_background = "some"

        def prepare(self, background):
            pass

    with pytest.raises(
        UserError, match="of_background is 'some', expected nothing, feat"
    ):
        setup(Vague()).check()
    Vague.of_background = "labels"
    setup(Vague()).check()
    assert setup(Vague()).track(data).background is OfBackground.LABELS


def test_a_class_of_no_base_class_may_ask_too(data):
    class Plain:
        def prepare(self, background):
            Plain.given = background

        def partial_fit(self, X, y, classes=None):
            self.n_classes = len(classes)

        def decision_function(self, X):
            return np.zeros((len(X), self.n_classes))

    run_seed(setup(Plain()), data, 0)
    assert isinstance(Plain.given, Background)
    assert list(asked_before(adopt(Plain(), Learner))) == ["background"]


def test_a_background_that_is_not_there_is_named(data):
    bare = dataclasses.replace(
        data,
        background=None,
        background_y=None,
        background_Z=None,
        background_held=None,
    )
    with pytest.raises(UserError, match="Gaussian asks for samples of other classes"):
        run_seed(setup(Gaussian()), bare, 0)
    # One that can do without says so by a default.
    run_seed(setup(Asks()), bare, 0)
    assert Asks.given[0] is None
    unlabelled = dataclasses.replace(data, background_y=None, background_Z=None)
    with pytest.raises(UserError, match="Gaussian needs labels of the background"):
        run_seed(setup(Gaussian()), unlabelled, 0)


def test_statistics_of_the_stream_are_none_for_the_background(data):
    with pytest.raises(UserError, match=r"preprocessor\.fit_on=background"):
        run_seed(setup(Gaussian(), preprocessor=Center(fit_on="seen")), data, 0)


def test_the_record_says_what_was_told():
    results = rsbench.run(
        Synthetic(classes=4),
        {"gaussian": Gaussian(), "ridge": Ridge(), "lean": Lean()},
        protocol=PerClass(4),
        seeds=2,
        cache=False,
    )
    told = {run.info.method: run.info.track for run in results.runs}
    assert told["gaussian"] == Track(background=OfBackground.LABELS)
    assert told["ridge"].is_nothing
    assert set(results.frame["told"]) == {"nothing", "labels of the background"}
    compared = results.compare()
    assert set(compared["family"]) == {"track", "nothing"}
    of_gaussian = compared[compared["family"] == "nothing"]
    assert set(of_gaussian["track"]) == {"labels of the background"}
    assert set(of_gaussian["first"]) == {"gaussian"}


def test_names_count_where_they_are_told(data):
    class Reads(Lean):
        def prepare(self, feature_names):
            pass

    other = dataclasses.replace(
        data,
        names=Names(tuple(f"f{j}" for j in range(data.X.shape[1])), data.names.classes),
    )
    known = rsbench.running.identify
    assert known(setup(Reads()), data) != known(setup(Reads()), other)
    assert known(setup(Lean()), data) == known(setup(Lean()), other)


# Batch learners in a run.


class Counted(BatchLearner):
    """Notes what it is taught, and always says that it is the last class it met."""

    def refit(self, X, y):
        Counted.taught.append(len(y))

    def _scores(self, X):
        return self._of_all_classes(np.ones((X.shape[0], 1)), self.y_seen_[-1:])


class AtTables(Counted):
    taught_at = "table"


@pytest.fixture
def taught():
    Counted.taught = []
    return Counted.taught


def test_a_batch_learner_is_taught_once_a_step_however_large(data, taught, monkeypatch):
    monkeypatch.setattr("rsbench.core.data._CHUNK_BYTES", 8 * data.X.shape[1] * 3)
    run_seed(setup(Counted()), data, 0)
    assert taught == [4, 8, 12, 16, 20]


def test_one_that_says_so_is_taught_at_the_tables_steps(data, taught):
    made = setup(AtTables(), table_steps=[2], judged_step=4)
    result = run_seed(made, data, 0)
    assert taught == [8, 16]
    errors = [row["test_error"] for row in result.rows]
    # Before it has learned anything all classes tie, and in between nothing changes.
    assert errors[0] == 1 and errors[1] == errors[2] and errors[3] == errors[4]
    assert result.rows[0]["online_error"] == 1


def test_the_record_says_when_it_is_taught():
    results = rsbench.run(
        Synthetic(classes=4),
        {"a": AtTables(), "b": Lean()},
        protocol=PerClass(4),
        seeds=2,
    )
    assert [run.info.taught_at for run in results.runs] == ["table", "step"]


class MeansAtTables(BatchLearner):
    """The nearest mean, taught at the table's steps alone."""

    taught_at = "table"

    def refit(self, X, y):
        self.means_ = np.stack([X[y == c].mean(axis=0) for c in range(4)])

    def _scores(self, X):
        return -np.square(X[:, None] - self.means_).sum(axis=2)


def test_a_kept_result_was_taught_at_the_steps_of_its_own_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def errors(steps):
        results = rsbench.run(
            Synthetic(classes=4),
            {"means": MeansAtTables()},
            protocol=PerClass(6),
            table_steps=steps,
            seeds=2,
        )
        return results.frame["test_error"].to_numpy()

    first = errors([6])
    assert first[:5].tolist() == [1.0] * 5 and first[5] < 1
    assert errors([2, 6])[1] < 1
    np.testing.assert_array_equal(errors([6]), first)


def test_online_predictions_come_from_before_the_step(data):
    """Recomputed from scratch: predict the step, then learn it."""
    result = run_seed(setup(Logistic()), data, 3)
    steps, _ = PerClass(5).plan(data.y, None, rsbench.stream(3, "plan"))
    wrong = []
    learner = Logistic()
    for number, step in enumerate(steps):
        if number == 0:
            wrong += [True] * len(step)
        else:
            wrong += (learner.predict(data.X[step]) != data.y[step]).tolist()
        learner.partial_fit(data.X[step], data.y[step], np.arange(4))
        assert result.rows[number]["online_error"] == pytest.approx(np.mean(wrong))


# Tuning.


def test_a_learners_own_values_are_spelled_out():
    grid = {"preprocessor": [Identity()], "learner": "own"}
    assert with_own_grid(grid, Ridge()) == {
        "preprocessor": grid["preprocessor"],
        "learner.alpha": [0.04, 0.2, 1.0, 5.0],
    }
    assert with_own_grid({"learner": "own"}, Gaussian()) == {}
    given = {"learner.alpha": [1.0]}
    assert with_own_grid(given, Ridge()) == given


def test_what_is_tuned_on_is_not_told_to_the_learner(data):
    held = held_out(data, apart=True)
    # The synthetic background is all to tune on: a third of its classes is taken.
    assert len(np.unique(held.y)) == 3
    assert len(np.unique(held.background_y)) == 6
    rows = {row.tobytes() for row in held.X}
    assert not rows & {row.tobytes() for row in held.background}
    assert len(held.X) + len(held.background) == len(data.background)


def test_held_out_classes_of_detectors_leave_the_background(data):
    mask = data.background_y < 4
    validation = Data(
        X=data.background[mask], y=data.background_y[mask], Z=data.background_Z[mask]
    )
    split = dataclasses.replace(data, validation=validation, background_held=mask)
    held = held_out(split, apart=True)
    assert held.X is validation.X
    assert sorted(set(held.background_y)) == [4, 5, 6, 7, 8]
    # A learner that asks for none of it has the whole background, for its preprocessor.
    assert held_out(split).background is data.background
    chosen, values = tune(
        setup(SLDA(start="background"), tune={"learner.shrinkage": [0.1, 0.9]}),
        split,
        PerClass,
    )
    assert values["learner.shrinkage"] in (0.1, 0.9)


def test_held_out_samples_in_another_order_are_refused(data):
    """Else the learner would be told of samples that it is tuned on."""
    validation = data.validation
    turned = np.roll(np.arange(len(validation.y)), 1)
    other = Data(X=validation.X[turned], y=validation.y[turned], Z=validation.Z[turned])
    for wrong in (other, keep_samples(validation, validation.y < 5)):
        with pytest.raises(UserError, match="background_held marks 180 samples that"):
            check_data(dataclasses.replace(data, validation=wrong), "here")
    assert check_data(data, "here") is not None


def test_data_that_do_not_say_which_classes_are_held_out_are_refused(data):
    unsaid = dataclasses.replace(data, background_held=None)
    with pytest.raises(UserError, match=r"Data\.background_held"):
        held_out(unsaid, apart=True)
    few = dataclasses.replace(data, background_y=data.background_y % 4)
    with pytest.raises(UserError, match="4 classes of the background are too few"):
        held_out(few, apart=True)


def test_the_aggregator_may_be_tuned_for_a_learner_that_prepares(data):
    class Threshold(Lean):
        def prepare(self, background):
            self.prepared_ = background

        def partial_fit(self, X, y, classes=None, *, relevance=None):
            assert vars(self).get("prepared_") is not None
            return super().partial_fit(X, y, classes)

    big = load(Synthetic(classes=3, samples=60).load(), None, "synthetic")
    tuned = setup(Threshold(), aggregator=ClassThreshold("auto"), protocol=PerClass(20))
    assert "theta" in run_seed(tuned, big, 0).tuned
