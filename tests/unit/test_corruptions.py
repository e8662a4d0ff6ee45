"""Corruptions of annotations: exactly what they say is lost or added, and nothing else."""

import dataclasses

import numpy as np
import pytest

from rsbench.aggregators import ClassSoft, ClassThreshold, CrossClasses, Sample
from rsbench.core.components import Corruption, adopt, corrupted
from rsbench.core.experiment import Setup, run_seed
from rsbench.core.seeds import stream
from rsbench.corruptions import (
    Absent,
    Budget,
    Full,
    Noisy,
    Random,
    Shuffled,
    ShuffledWithinClass,
    Uniform,
    rsbench_corruptions,
)
from rsbench.datasets import Synthetic
from rsbench.errors import UserError
from rsbench.learners import Ellipsotron, FeatureScaling, Lean
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass


@pytest.fixture
def Z(rng):
    return rng.random((400, 20)) < 0.3


def test_full_changes_nothing_and_says_so(Z, rng):
    assert Full()(Z, rng) is Z
    offered = rsbench_corruptions()
    unchanging = [name for name in offered if not offered[name].changes_votes]
    assert unchanging == ["full"]


def test_shuffled_keeps_every_annotation_whole(Z, rng):
    dealt = Shuffled()(Z, rng)
    assert (
        sorted(map(bytes, dealt)) == sorted(map(bytes, Z))
        and (dealt != Z).any(axis=1).mean() > 0.9
    )


def test_shuffled_within_class_leaves_every_class_its_annotations(Z, rng):
    y = rng.integers(5, size=len(Z))
    dealt = ShuffledWithinClass()(Z, rng, y)
    assert dealt.dtype == bool and (dealt != Z).any(axis=1).mean() > 0.9
    for c in range(5):
        assert sorted(map(bytes, dealt[y == c])) == sorted(map(bytes, Z[y == c]))
    alone = np.arange(len(Z))  # every class has one sample, and keeps its annotation
    np.testing.assert_array_equal(ShuffledWithinClass()(Z, rng, alone), Z)


def test_absent_leaves_no_vote_and_says_so(Z, rng):
    assert np.isnan(Absent()(Z, rng)).all() and Absent()(Z, rng).shape == Z.shape
    offered = rsbench_corruptions()
    assert [name for name in offered if offered[name].is_absent] == ["absent"]


def test_uniform_marks_everything_that_could_be_marked(Z, rng):
    assert Uniform()(Z, rng).all() and Uniform()(Z, rng).dtype == bool
    graded = np.where(Z, 0.5, np.nan)
    np.testing.assert_array_equal(Uniform()(graded, rng), np.where(Z, 1.0, np.nan))


def test_a_corruption_gets_labels_if_it_names_them(Z, rng):
    y = rng.integers(5, size=len(Z))

    def of_the_first_class(Z, rng, y):
        return Z & (y == 0)[:, None]

    def as_they_are(Z, rng):
        return Z

    for corruption in (of_the_first_class, adopt(of_the_first_class, Corruption)):
        assert not corrupted(corruption, Z, y, rng)[y > 0].any()
    assert corrupted(adopt(as_they_are, Corruption), Z, y, rng) is Z
    dealt = corrupted(ShuffledWithinClass(), Z, y, rng)
    np.testing.assert_array_equal(dealt[y == 1].sum(axis=0), Z[y == 1].sum(axis=0))


def test_random_keeps_the_number_of_marks(Z, rng):
    drawn = Random()(Z, rng)
    np.testing.assert_array_equal(drawn.sum(axis=1), Z.sum(axis=1))
    assert drawn.dtype == bool and abs((drawn & Z).sum() / Z.sum() - 0.3) < 0.05
    graded = np.where(Z, 0.5, 0.0)
    np.testing.assert_array_equal(
        np.sort(Random()(graded, rng), axis=1), np.sort(graded, axis=1)
    )


def test_budget_keeps_some_of_the_marks(Z, rng):
    kept = Budget(marks=3)(Z, rng)
    assert not (kept & ~Z).any() and kept.dtype == bool
    np.testing.assert_array_equal(kept.sum(axis=1), np.minimum(Z.sum(axis=1), 3))
    assert kept.any(axis=0).all()  # not always the same ones
    np.testing.assert_array_equal(Budget()(Z, rng), Z)
    np.testing.assert_array_equal(Budget(marks=20)(Z, rng), Z)


def test_samples_without_annotation_are_told_from_those_without_marks(Z, rng):
    kept = Budget(samples=0.25)(Z, rng)
    unannotated = np.isnan(kept).all(axis=1)
    assert (
        abs(unannotated.mean() - 0.75) < 0.06 and not np.isnan(kept[~unannotated]).any()
    )
    np.testing.assert_array_equal(kept[~unannotated], Z[~unannotated])
    y = np.zeros(len(Z), int)
    R = Sample().fit(kept, y).relevance(kept, y)
    assert (R[unannotated] == 1).all()
    np.testing.assert_array_equal(
        R[~unannotated], np.where(Z[~unannotated], 1.0, 1e-10)
    )
    shares = ClassSoft(normalize="none").fit(kept, y).relevance(kept, y)[0]
    np.testing.assert_allclose(shares, np.sqrt(Z[~unannotated].mean(axis=0)))


def test_noise_loses_and_adds_marks_at_its_rates(Z, rng):
    noisy = Noisy(miss=0.4, err=0.1)(Z, rng)
    assert (
        noisy.dtype == bool
        and abs(noisy[Z].mean() - 0.6) < 0.03
        and abs(noisy[~Z].mean() - 0.1) < 0.02
    )
    np.testing.assert_array_equal(Noisy()(Z, rng), Z)
    assert Noisy(miss=1)(Z, rng).sum() == 0 and Noisy(err=1)(Z, rng).all()


@pytest.mark.parametrize("make", rsbench_corruptions().values())
def test_votes_that_could_not_be_given_stay_so_and_inputs_are_untouched(make, Z, rng):
    votes = np.where(rng.random(Z.shape) < 0.2, np.nan, Z)
    before = votes.copy()
    made = corrupted(make(), votes, np.arange(len(votes)) % 7, rng)
    np.testing.assert_array_equal(votes, before)
    given = np.sum(~np.isnan(votes))
    if make.is_absent:
        given = 0
    assert np.sum(~np.isnan(made)) == given


@pytest.mark.parametrize("bad", [{"marks": 0}, {"samples": 1.5}, {"samples": -0.1}])
def test_senseless_budgets_are_refused(bad):
    with pytest.raises(UserError, match=f"annotation.{next(iter(bad))}"):
        Budget(**bad).check_params()


def test_senseless_noise_is_refused():
    with pytest.raises(UserError, match=r"annotation.err=2"):
        Noisy(err=2).check_params()


def few_shot(learner, corruption):
    return Setup(
        learner=learner,
        aggregator=Sample(),
        preprocessor=Identity(),
        protocol=PerClass(4),
        annotation=corruption,
    )


def losses(learner, corruption):
    result = run_seed(few_shot(learner, corruption), Synthetic().load(), 0)
    return [row["test_loss"] for row in result.rows]


@pytest.mark.parametrize("corruption", [Shuffled(), Noisy(miss=0.5), Budget(marks=2)])
def test_corruptions_change_rich_learners_and_leave_lean_alone(corruption):
    assert losses(Lean(), corruption) == losses(Lean(), Full())
    assert losses(Ellipsotron(), corruption) != losses(Ellipsotron(), Full())
    assert losses(Ellipsotron(), corruption) == losses(Ellipsotron(), corruption)


def test_nobody_annotated_is_lean():
    lean = losses(Lean(), Full())
    for nobody in (Absent(), Budget(samples=0.0)):
        assert losses(Ellipsotron(), nobody) == lean
        assert losses(FeatureScaling(), nobody) == lean


@pytest.mark.parametrize(
    "aggregator",
    [ClassSoft(), ClassSoft(scope="seen"), ClassThreshold(theta=1), CrossClasses()],
)
def test_no_aggregator_tells_anything_when_nobody_annotates(aggregator):
    setup = few_shot(Ellipsotron(), Absent())
    setup = dataclasses.replace(setup, aggregator=aggregator)
    lean = run_seed(few_shot(Lean(), Full()), Synthetic().load(), 0)
    assert run_seed(setup, Synthetic().load(), 0).rows == lean.rows


def test_test_samples_annotations_are_never_dealt_out():
    setup = few_shot(Ellipsotron(), Shuffled())
    data = Synthetic().load()
    _, test = setup.protocol.plan(data.y, data.test, stream(0, "plan"))
    Z = data.Z.copy()
    Z[test] = ~Z[test]
    other = dataclasses.replace(data, Z=Z)
    assert run_seed(setup, data, 0).rows == run_seed(setup, other, 0).rows
