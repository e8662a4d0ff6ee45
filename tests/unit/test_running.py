"""A run from objects to numbers: seeds kept and resumed, whoever asks for them."""

import dataclasses
import os

import numpy as np
import pytest

from rsbench import running
from rsbench.aggregators import ClassSoft, ClassThreshold, CrossClasses, Ones, Sample
from rsbench.core.components import Absent, Learner
from rsbench.core.experiment import Setup, load, run_seed
from rsbench.core.told import Told
from rsbench.corruptions import Budget, Full, Random, Shuffled
from rsbench.datasets import Synthetic
from rsbench.errors import UserError
from rsbench.learners import Ellipsotron, Lean
from rsbench.preprocessors import L2, Identity
from rsbench.protocols import PerClass, Stream
from rsbench.running import (
    check,
    check_judgement,
    compute,
    describe,
    finish,
    identify,
    one_thread,
    plan_task,
)
from rsbench.store.run_info import CounterpartKind, DataInfo
from tests.helpers import same


@pytest.fixture(scope="module")
def data():
    return load(
        Synthetic(
            classes=4, samples=12, groups=4, group_size=4, marks=4.0, families=2,
            background_classes=3, background_samples=8,
        ),
        None,
        "synthetic",
    )  # fmt: skip


def setup(**changes):
    parts = {
        "learner": Ellipsotron(),
        "aggregator": Sample(),
        "preprocessor": Identity(),
        "protocol": PerClass(4),
        "annotation": Full(),
    }
    return Setup(**{**parts, **changes})


def task(data, seeds, made=None):
    """The task of a method on one draw, or on several data sets as draws of one."""
    draws = data if isinstance(data, list) else [data]
    return plan_task(made or setup(), draws.__getitem__, range(len(draws)), seeds)


def run(data, seeds, made=None, **settings):
    return compute(task(data, seeds, made), **settings)


@pytest.fixture
def computed(monkeypatch):
    """The draws and seeds that were computed, by the learner's class."""
    found = []
    real = running.run_seed

    def counted(made, data, seed, *others):
        found.append((type(made.learner).__name__, data.identity[:8], seed))
        return real(made, data, seed, *others)

    monkeypatch.setattr(running, "run_seed", counted)
    return found


def test_seeds_are_computed_once(data):
    first = run(data, [0, 1])
    assert first.reused == () and list(first.seeds) == [(0, 0), (0, 1)]
    again = run(data, [1, 2])
    assert again.reused == (1,) and list(again.seeds) == [(0, 1), (0, 2)]
    assert same(again.seeds[0, 1], first.seeds[0, 1])


def test_a_kept_seed_is_what_the_core_computes(data):
    for _ in range(2):
        assert same(run(data, [3]).seeds[0, 3], run_seed(setup(), data, 3))


def test_no_seed_depends_on_those_computed_beside_it(data):
    together = run(data, range(3), cache=False).seeds
    for seed in range(3):
        alone = run(data, [seed], cache=False).seeds
        assert same(alone[0, seed], together[0, seed])


def test_force_computes_anew(data):
    run(data, [0])
    assert run(data, [0], force=True).reused == ()
    assert run(data, [0]).reused == (0,)


def test_without_a_cache_nothing_is_kept_and_nothing_is_taken(data, tmp_path):
    run(data, [0])
    kept = sorted(tmp_path.rglob("*"))
    assert run(data, [0, 1], cache=False).reused == ()
    assert sorted(tmp_path.rglob("*")) == kept


def test_what_was_done_before_an_error_is_kept(data):
    class Stumbles(Lean):
        """Fails under one seed, by its random state."""

        def __init__(self, random_state=None):
            super().__init__()
            self.random_state = random_state

        def prequential(self, X, y, classes=None):
            if self.random_state == bad:
                raise UserError("not this one")
            return super().prequential(X, y, classes)

    bad = setup(learner=Stumbles()).new_learner(1).random_state
    made = setup(learner=Stumbles(), aggregator=Ones())
    with pytest.raises(UserError, match="not this one"):
        run(data, [0, 1, 2], made)
    assert run(data, [0, 2], made).reused == (0,)


def test_progress_counts_seeds(data):
    shares = []
    run(data, [5, 6], progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0, 1, 1.25, 1.5, 1.75, 2.0, 2]
    shares.clear()
    run(data, [5, 6], progress=shares.append)
    assert shares == [1, 2]


def test_tuning_is_done_once_and_only_if_something_is_computed(data, monkeypatch):
    made = setup(tune={"learner.C": [0.01, 1.0]})
    tuned = run(data, [0, 1], made)
    values = [result.tuned for result in tuned.seeds.values()]
    assert values[0] == values[1] and set(values[0]) == {"learner.C"}
    monkeypatch.setattr("rsbench.running.tune", lambda *_: pytest.fail("tuned again"))
    assert run(data, [0, 1], made).reused == (0, 1)


def test_what_a_seed_chose_and_what_was_tuned_are_both_told():
    large = Synthetic(
        classes=2, samples=45, groups=4, group_size=4, marks=4.0, families=2,
        background_classes=2, background_samples=40,
    )  # fmt: skip
    made = setup(
        aggregator=ClassThreshold("auto"),
        tune={"learner.C": [1.0]},
        protocol=PerClass(20),
    )
    result = run(load(large, None, "x"), [0], made).seeds[0, 0]
    assert set(result.tuned) == {"learner.C", "theta"}


def test_a_judged_step_that_is_not_tested_is_refused_before_hours_of_tuning(
    data, monkeypatch
):
    made = setup(tune={"learner.C": [0.01, 1.0]}, judged_step=5)
    monkeypatch.setattr(running, "tune", lambda *_: pytest.fail("tuned"))
    with pytest.raises(UserError, match="judged_step=5 is not tested"):
        run(data, [0], made)


def test_what_is_judged_later_than_held_out_classes_reach_can_be_tuned(data):
    """They have eight samples of each class: trials end after four."""
    made = setup(
        tune={"learner.C": [0.01, 1.0]},
        protocol=Stream((2, 20), test=0.5),
        judged_step=20,
        table_steps=[2, 20],
    )
    plain = dataclasses.replace(made, judged_step=None, table_steps=None)
    assert (
        run(data, [0], made).seeds[0, 0].tuned
        == run(data, [0], plain).seeds[0, 0].tuned
    )


# The description.


def describe_run(given, outcome):
    return describe(
        outcome,
        given,
        method="ellipsotron",
        preprocessor="none",
        label="ellipsotron",
        config={},
        data=DataInfo("synthetic", "of all draws", True),
    )


def test_a_record_says_what_the_numbers_were_made_from(data):
    run(data, [1])
    given = task(data, [0, 1])
    outcome = compute(given)
    info = describe_run(given, outcome)
    assert info.seeds == (0, 1) and info.reused == (1,) and info.draws == (0,)
    sizes = info.samples
    assert info.classes == 4 and (sizes.pool, sizes.test, sizes.learned) == (16, 32, 16)
    assert info.fingerprint == identify(setup(), data).fingerprint
    assert info.told is Told.VOTES and info.unit == "samples per class"
    assert info.built_in and info.versions["numpy"] == np.__version__
    mean = np.mean([r.bound["as_printed"] for r in outcome.seeds.values()])
    assert info.bound["as_printed"] == pytest.approx(mean)
    assert info.tuned == {} and info.seconds == outcome.seconds
    assert info.id != describe_run(given, outcome).id


def test_a_record_says_where_it_is_judged(data):
    for changes, judged, steps in (
        ({}, 4, (1, 2, 4)),
        ({"judged_step": 3, "table_steps": [1, 9]}, 3, (1, 3)),
    ):
        given = task(data, [0], setup(**changes))
        info = describe_run(given, compute(given))
        assert (info.judged_step, info.table_steps) == (judged, steps)


def test_rows_come_seed_after_seed(data):
    outcome = run(data, [2, 0])
    assert [row["seed"] for row in outcome.rows] == [2] * 4 + [0] * 4
    assert [row["seed"] for row in outcome.per_class] == [2] * 4 + [0] * 4


@pytest.mark.parametrize(
    ("test", "seeds", "fixed"),
    [("mask", 2, True), ("mask", 1, False), ("rest", 2, False)],
)
def test_a_test_set_is_fixed_if_all_seeds_share_it(test, seeds, fixed, data):
    """One seed alone cannot tell."""
    masked = dataclasses.replace(data, test=np.arange(len(data.y)) % 3 == 0)
    given = task(masked, range(seeds), setup(protocol=PerClass(4, test=test)))
    assert describe_run(given, compute(given)).samples.fixed_test is fixed


def test_each_draw_may_have_a_fixed_test_set_of_its_own(worlds):
    masked = []
    for number, each in enumerate(worlds):
        mask = (np.arange(len(each.y)) + number) % 3 == 0
        masked.append(dataclasses.replace(each, test=mask))
    made = setup(protocol=PerClass(4, test="mask"))
    for seeds, fixed in (([0, 1], True), ([0], False)):
        given = task(masked, seeds, made)
        assert describe_run(given, compute(given)).samples.fixed_test is fixed


# Draws of classes.


@pytest.fixture(scope="module")
def worlds():
    """Three draws of a data set, each of other classes."""
    found = []
    for draw in range(3):
        small = Synthetic(
            classes=4, samples=12, groups=4, group_size=4, marks=4.0, families=2,
            background_classes=3, background_samples=8, draw=draw,
        )  # fmt: skip
        found.append(load(small, None, "synthetic"))
    return found


def test_each_draw_has_all_seeds(worlds):
    outcome = run(worlds, [5, 6])
    assert list(outcome.seeds) == [(0, 5), (0, 6), (1, 5), (1, 6), (2, 5), (2, 6)]
    for (draw, seed), result in outcome.seeds.items():
        assert same(result, run_seed(setup(), worlds[draw], seed))
    assert [row["draw"] for row in outcome.rows] == [0] * 8 + [1] * 8 + [2] * 8
    assert set(outcome.tested) == set(outcome.seeds)


def test_draws_differ_in_their_samples(worlds):
    outcome = run(worlds, [0])
    first, *others = [result.rows for result in outcome.seeds.values()]
    assert first not in others


def test_methods_are_paired_within_a_draw(worlds):
    """The same samples to learn from and to test on, whatever the method."""
    one = run(worlds, [0, 1])
    two = run(worlds, [0, 1], setup(learner=Lean()))
    for unit, result in one.seeds.items():
        np.testing.assert_array_equal(result.tested.items, two.seeds[unit].tested.items)
        np.testing.assert_array_equal(
            result.tested.labels, two.seeds[unit].tested.labels
        )


def test_more_draws_use_those_that_are_there(worlds, computed):
    alone = run(worlds[:1], [0, 1])
    computed.clear()
    outcome = run(worlds, [0, 1])
    assert [seed for _, _, seed in computed] == [0, 1, 0, 1]
    assert {identity for _, identity, _ in computed} == {
        each.identity[:8] for each in worlds[1:]
    }
    for seed in (0, 1):
        assert same(outcome.seeds[0, seed], alone.seeds[0, seed])
    computed.clear()
    assert run(worlds, [0, 1]).reused == (0, 1) and computed == []
    assert run(worlds, [0, 1, 2]).reused == (0, 1)
    assert [seed for _, _, seed in computed] == [2, 2, 2]


def test_a_seed_counts_as_reused_only_if_all_of_its_draws_were_there(worlds):
    run(worlds[:2], [0])
    assert run(worlds, [0]).reused == ()
    assert run(worlds, [0]).reused == (0,)


def test_draws_that_were_done_before_a_crash_are_not_computed_again(worlds, computed):
    """Killed in the middle of the second draw."""
    real = running.run_seed

    def dying(made, data, seed, *others):
        if len(computed) == 3:
            raise KeyboardInterrupt
        return real(made, data, seed, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "run_seed", dying)
        with pytest.raises(KeyboardInterrupt):
            run(worlds, [0, 1])
    assert len(computed) == 3
    computed.clear()
    resumed = run(worlds, [0, 1])
    assert [(identity, seed) for _, identity, seed in computed] == [
        (worlds[1].identity[:8], 1),
        (worlds[2].identity[:8], 0),
        (worlds[2].identity[:8], 1),
    ]
    whole = run(worlds, [0, 1], cache=False)
    for unit, result in whole.seeds.items():
        assert same(resumed.seeds[unit], result)


def test_a_run_of_one_draw_is_known_by_that_draw_alone(worlds):
    one, two = task(worlds[:1], [0]), task(worlds[:2], [0])
    assert one.identity.fingerprint == identify(setup(), worlds[0]).fingerprint
    fingerprints = {each.identity.fingerprint for each in (one, two, task(worlds, [0]))}
    assert len(fingerprints) == 3


def test_progress_counts_seeds_of_all_draws(worlds):
    shares = []
    run(worlds, [0, 1], progress=shares.append)
    assert [share for share in shares if isinstance(share, int)] == [1, 2, 3, 4, 5, 6]
    assert shares == sorted(shares)


def test_each_draw_is_tuned_on_its_own_held_out_classes(worlds, monkeypatch):
    tuned = []
    real = running.tune

    def noted(made, data, per_class):
        tuned.append(data.identity)
        return real(made, data, per_class)

    monkeypatch.setattr(running, "tune", noted)
    run(worlds, [0, 1], setup(tune={"learner.C": [0.01, 1.0]}))
    assert tuned == [each.identity for each in worlds]


# What a run is known by.


def known_by(data, **changes):
    return identify(setup(**changes), data).fingerprint


@pytest.mark.parametrize(
    "idle",
    [
        {"annotation": Shuffled()},
        {"annotation": Random()},
        {"annotation": Budget(marks=1)},
        {"annotation": Absent()},
        {"aggregator": Ones()},
        {"aggregator": ClassSoft()},
        {"aggregator": ClassThreshold("auto"), "annotation": Absent()},
    ],
    ids=str,
)
def test_lean_is_found_again_whatever_is_annotated(idle, data, computed):
    lean = {"learner": Lean()}
    assert known_by(data, **lean) == known_by(data, **lean, **idle)
    first = run(data, [0], setup(**lean))
    computed.clear()
    again = run(data, [0], setup(**lean, **idle))
    assert computed == [] and same(first.seeds[0, 0], again.seeds[0, 0])


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": PerClass(3)},
        {"protocol": PerClass(4, test=0.5)},
        {"protocol": Stream((4, 16))},
        {"preprocessor": L2()},
        {"learner": Lean(C=2.0)},
        {"precision": "float32"},
        {"tune": {"learner.C": [1.0]}},
    ],
    ids=str,
)
def test_lean_is_another_run_under_what_changes_its_numbers(change, data):
    assert known_by(data, learner=Lean()) != known_by(
        data, **{"learner": Lean()} | change
    )


@pytest.mark.parametrize(
    "change",
    [{"annotation": Shuffled()}, {"annotation": Absent()}, {"aggregator": ClassSoft()}],
    ids=str,
)
def test_a_method_that_is_told_something_is_known_by_that(change, data):
    assert known_by(data) != known_by(data, **change)


def test_without_annotations_no_aggregator_makes_a_difference(data):
    absent = {"annotation": Absent()}
    one = known_by(data, **absent)
    for aggregator in (Ones(), ClassSoft(), CrossClasses(scope="seen")):
        assert known_by(data, aggregator=aggregator, **absent) == one


def test_what_is_said_of_results_is_no_part_of_what_a_run_is_known_by(data):
    assert known_by(data) == known_by(data, judged_step=2, table_steps=[1, 3])


# Margins at the steps that tables report.


def test_only_seeds_that_lack_a_tables_margins_are_computed_again(data, computed):
    run(data, [0, 1], setup(table_steps=[1, 3]))
    computed.clear()
    assert run(data, [0, 1], setup(table_steps=[3])).reused == (0, 1)
    assert run(data, [0, 1], setup(table_steps=[1], judged_step=3)).reused == (0, 1)
    assert computed == []
    # One that is there with the new steps, and one that is not.
    run(data, [1], setup(table_steps=[2]))
    assert [seed for _, _, seed in computed] == [1]
    computed.clear()
    outcome = run(data, [0, 1], setup(table_steps=[2]))
    assert [seed for _, _, seed in computed] == [0]
    for result in outcome.seeds.values():
        assert result.tested.margin_steps.tolist() == [2, 4]


def test_two_tables_in_turn_compute_a_seed_once_each(data, computed):
    for steps in ([1], [2]):
        run(data, [0], setup(table_steps=steps))
    assert len(computed) == 2
    for steps in ([1], [2], [1, 2]):
        assert run(data, [0], setup(table_steps=steps)).reused == (0,)
    assert len(computed) == 2


def test_what_others_have_asked_for_before_is_not_in_a_result(data):
    fresh = run(data, [0], setup(table_steps=[2]), cache=False)
    for steps in ([1, 2, 3], [3]):
        run(data, [0], setup(table_steps=steps))
    kept = run(data, [0], setup(table_steps=[2]))
    assert kept.reused == (0,)
    assert same(kept.seeds[0, 0], fresh.seeds[0, 0])


def test_another_table_changes_no_number(data):
    one = run(data, [0], setup(table_steps=[1])).seeds[0, 0]
    two = run(data, [0], setup(table_steps=[2])).seeds[0, 0]
    assert one.rows == two.rows
    np.testing.assert_array_equal(one.tested.wrong, two.tested.wrong)


# Counterparts: the same method when nobody annotates anything.


class Alone(Ellipsotron):
    """Says nothing of itself without annotations."""

    without = None
    substitute = None


class Equals(Alone):
    """Says what it equals; it has a parameter that the other does not have."""

    without = Lean

    def __init__(self, C=1.0, variant="pa2", zeal=3.0):
        super().__init__(C=C, variant=variant)
        self.zeal = zeal


class NearestMean(Learner):
    """Of the samples so far."""

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "sums"):
            self.sums = np.zeros((len(classes), X.shape[1]))
        np.add.at(self.sums, y, X)
        return self

    def decision_function(self, X):
        return X @ self.sums.T


class Helpless(Alone):
    """Can do nothing without annotations."""

    substitute = NearestMean


def finished(data, made, seeds=(0, 1), **how):
    given = task(data, list(seeds), made)
    outcome = compute(given, **how)
    info = describe_run(given, outcome)
    return finish(given, outcome, info, given.judged_by(), **how)


@pytest.mark.parametrize(
    ("learner", "kind", "name", "directly"),
    [
        (
            Alone(C=2.0),
            CounterpartKind.ITSELF,
            "ellipsotron",
            {"learner": Alone(C=2.0), "annotation": Absent()},
        ),
        (Equals(C=2.0), CounterpartKind.EQUAL, "lean", {"learner": Lean(C=2.0)}),
        (
            Helpless(C=2.0),
            CounterpartKind.SUBSTITUTE,
            "NearestMean",
            {"learner": NearestMean()},
        ),
    ],
    ids=["itself", "equal", "substitute"],
)
def test_a_counterpart_is_a_run_of_its_own_without_annotations(
    learner, kind, name, directly, data
):
    found = finished(data, setup(learner=learner))
    about = found.info.counterpart
    assert (about.kind, about.name) == (kind, name)
    other = found.counterpart
    assert other.info.told is Told.NOTHING and other.info.method == name
    assert (other.info.control, other.info.control_of) == ("absent", "ellipsotron")
    alone = setup(**directly)
    assert about.fingerprint == identify(alone, data).fingerprint
    assert other.info.fingerprint == about.fingerprint
    expected = run(data, [0, 1], alone, cache=False)
    for measure in ("test_error", "cumulative_error", "online_loss"):
        values = [row[measure] for row in expected.rows]
        np.testing.assert_allclose(other.curves[measure], values, rtol=1e-9)
    for unit, tested in other.items().items():
        wrong = expected.tested[unit].wrong
        np.testing.assert_array_equal(tested.wrong, wrong)
    assert other.info.judged_step == found.info.judged_step
    assert other.info.table_steps == found.info.table_steps


def test_what_equals_lean_without_annotations_does_so_exactly(data):
    """By what `without` says, and by being run without them."""
    one = finished(data, setup(learner=Equals(), precision="float64")).counterpart
    two = finished(data, setup(learner=Alone(), precision="float64")).counterpart
    for column in ("test_error", "test_loss", "online_loss"):
        np.testing.assert_array_equal(one.curves[column], two.curves[column])


@pytest.mark.parametrize(
    "changes",
    [
        {"learner": Lean()},
        {"aggregator": Ones()},
        {"annotation": Absent()},
        {"learner": Lean(), "aggregator": ClassSoft()},
    ],
    ids=str,
)
def test_a_method_that_is_told_nothing_has_no_counterpart(changes, data):
    assert task(data, [0], setup(**changes)).judged_by() == {}
    found = finished(data, setup(**changes))
    assert found.counterpart is None and found.info.counterpart is None


def test_a_counterpart_is_never_computed_twice(data, computed):
    """However many methods have the same one, and whether it was run for itself."""
    finished(data, setup(learner=Equals()))
    # Itself, its counterpart, a seed to see that it is, and with shuffled annotations.
    once = ["Equals"] * 2 + ["Lean"] * 2 + ["Equals"] * (1 + 2)
    assert [name for name, _, _ in computed] == once
    computed.clear()
    finished(data, setup(learner=Equals(), aggregator=ClassSoft()))
    finished(data, setup(learner=Equals(zeal=4.0), annotation=Shuffled()))
    assert [name for name, _, _ in computed] == ["Equals"] * (6 + 2)
    computed.clear()
    assert run(data, [0, 1], setup(learner=Lean())).reused == (0, 1)
    assert finished(data, setup(learner=Equals())).counterpart.info.reused == (0, 1)
    assert computed == []


def test_what_ran_for_itself_is_taken_for_a_counterpart(data, computed):
    run(data, [0, 1], setup(learner=Lean(), aggregator=Ones(), annotation=Random()))
    computed.clear()
    found = finished(data, setup(learner=Equals()))
    assert [name for name, _, _ in computed] == ["Equals"] * (4 + 1)
    assert found.counterpart.info.reused == (0, 1)


def test_a_counterpart_has_all_draws(worlds):
    found = finished(worlds, setup(learner=Equals()))
    assert found.counterpart.info.draws == found.info.draws == (0, 1, 2)
    lean = task(worlds, [0, 1], setup(learner=Lean()))
    assert found.info.counterpart.fingerprint == lean.identity.fingerprint


def test_a_counterpart_is_tuned_anew_on_what_it_has(data):
    grid = {
        "learner.C": [0.01, 1.0],
        "learner.zeal": [1.0, 2.0],
        "aggregator.irrelevant": [0.1, 0.5],
    }
    made = setup(learner=Equals(), tune=grid)
    bare = made.without_annotations()
    assert bare.tune == {"learner.C": [0.01, 1.0]}
    found = finished(data, made)
    assert set(found.info.tuned["0"]) == set(grid)
    assert set(found.counterpart.info.tuned["0"]) == {"learner.C"}


def test_without_annotations_no_aggregator_is_tuned(data):
    grid = {"learner.C": [0.01, 1.0], "aggregator.irrelevant": [0.1, 0.5]}
    bare = setup(learner=Alone(), tune=grid).without_annotations()
    assert bare.tune == {"learner.C": [0.01, 1.0]} and bare.is_absent


def test_a_counterpart_is_under_the_same_protocol_and_preprocessor():
    made = setup(
        learner=Equals(C=3.0, variant="pa1"),
        protocol=PerClass(3),
        preprocessor=L2(),
        precision="float32",
        judged_step=2,
    )
    bare = made.without_annotations()
    for name in ("protocol", "preprocessor", "precision", "judged_step"):
        assert getattr(bare, name) is getattr(made, name)
    assert bare.learner.get_params() == {"C": 3.0, "variant": "pa1"}


# Mistakes that show before any data are read.


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"aggregator": ClassSoft(scope="sen")},
            r"aggregator.scope='sen': expected teacher or seen \(ClassSoft\)",
        ),
        ({"learner": Lean(variant="pa3")}, "learner.variant='pa3'|variant='pa3'"),
        ({"protocol": PerClass(0)}, "protocol.samples_per_class=0"),
        ({"tune": {"learner.Q": [1]}}, "Ellipsotron has no parameter 'Q'"),
        ({"tune": {"learner.C": [1, -1]}}, "Ellipsotron: C=-1"),
        ({"tune": {"learner.variant": ["pa", "pb"]}}, "variant='pb'"),
        ({"tune": {"learner.C": 3}}, "tune.learner.C=3, expected a list"),
    ],
)
def test_mistakes_show_before_any_data_are_read(changes, words):
    with pytest.raises(UserError, match=words):
        check(setup(**changes))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"judged_step": 0}, "judged_step=0, expected a whole number from 1 on"),
        ({"judged_step": 2.5}, "judged_step=2.5, expected a whole number"),
        ({"judged_step": "end"}, "judged_step='end', expected a whole number"),
        ({"judged_step": True}, "judged_step=True, expected a whole number"),
        ({"table_steps": 5}, r"table_steps=5, expected a list of steps, \[5,10,20\]"),
        ({"table_steps": 5.0}, "table_steps=5.0, expected a list of steps"),
        ({"table_steps": "all"}, "table_steps='all', expected a list of steps"),
        ({"table_steps": []}, r"table_steps=\[\], expected a list of steps"),
        ({"table_steps": {"a": 1}}, "table_steps={'a': 1}, expected a list of steps"),
        ({"table_steps": [5, 0]}, "table_steps=0, expected a whole number from 1 on"),
        ({"table_steps": [5, "x"]}, "table_steps='x', expected a whole number"),
        ({"margin": -1}, "margin=-1, expected points of error, 0 or more"),
        ({"margin": "small"}, "margin='small', expected points of error"),
        ({"margin": None}, "margin=None, expected points of error"),
        ({"margin": True}, "margin=True, expected points of error"),
        ({"margin": float("nan")}, "margin=nan, expected points of error"),
        ({"margin": float("inf")}, "margin=inf, expected points of error"),
        ({"counterparts": "no"}, "counterparts='no', expected true or false"),
        ({"counterparts": None}, "counterparts=None, expected true or false"),
    ],
    ids=str,
)
def test_bad_settings_of_what_is_said_are_named_in_one_line(change, words):
    right = {
        "judged_step": None,
        "table_steps": None,
        "margin": 1,
        "counterparts": True,
    }
    check_judgement(**right)
    with pytest.raises(UserError, match=f"^{words}") as told:
        check_judgement(**{**right, **change})
    assert "\n" not in str(told.value)


def test_numbers_of_numpy_are_no_mistake():
    check(setup(aggregator=ClassThreshold(np.int64(4)), learner=Lean(C=np.float32(2))))


# Threads.


def blas_threads():
    from threadpoolctl import threadpool_info

    return {
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
    }


def test_linear_algebra_uses_one_thread_and_gets_the_others_back(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = blas_threads()
    with one_thread():
        assert blas_threads() <= {1}
    assert blas_threads() == before


def test_who_sets_the_number_of_threads_gets_it(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(os.cpu_count()))
    before = blas_threads()
    with one_thread():
        assert blas_threads() == before


def test_data_of_other_content_are_another_run(data):
    run(data, [0])
    other = dataclasses.replace(data, identity="other")
    assert run(other, [0]).reused == ()


class FalselyEqual(Equals):
    """Learns from annotations that are absent as well."""

    without = Lean

    def partial_fit(self, X, y, classes=None, *, relevance=None):
        return super().partial_fit(2 * X, y, classes, relevance=relevance)


def test_a_learner_that_is_not_what_it_says_without_annotations_is_refused(data):
    with pytest.raises(UserError, match="FalselyEqual says that it is lean without"):
        finished(data, setup(learner=FalselyEqual()))


def test_what_each_draw_has_chosen_is_recorded(worlds):
    made = setup(tune={"learner.C": [0.01, 1.0]})
    found = finished(worlds, made)
    assert set(found.info.tuned) == {
        f"{draw}/{seed}" for draw in range(3) for seed in (0, 1)
    }
