"""Splits and orders, and the classes they select."""

import numpy as np
import pytest

from rsbench.aggregators import Sample
from rsbench.core.experiment import Setup
from rsbench.core.seeds import stream
from rsbench.corruptions import Full
from rsbench.errors import UserError
from rsbench.learners import Lean
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass, Stream

Y = np.repeat(np.arange(4), [10, 12, 8, 20])


def plan(protocol, y=Y, test=None, seed=0):
    return protocol.plan(y, test, stream(seed, "plan"))


def test_each_step_has_one_more_sample_of_every_class():
    steps, test = plan(PerClass(samples_per_class=5))
    assert len(steps) == 5
    for step in steps:
        assert sorted(Y[step]) == [0, 1, 2, 3]
    learned = np.concatenate(steps)
    assert len(set(learned)) == 20
    assert sorted([*learned, *test]) == list(range(50))  # the rest is for testing


def test_order_within_a_step_is_random_and_seeded():
    orders = {tuple(Y[step]) for step in plan(PerClass(samples_per_class=7))[0]}
    assert len(orders) > 1
    for a, b in zip(plan(PerClass(5))[0], plan(PerClass(5))[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(plan(PerClass(5))[1], plan(PerClass(5), seed=1)[1])


def test_fraction_holds_out_that_part_of_each_class():
    _, test = plan(PerClass(samples_per_class=4, test=0.5))
    np.testing.assert_array_equal(np.bincount(Y[test]), [5, 6, 4, 10])


def test_mask_is_the_test_set_of_every_seed():
    mask = np.arange(50) % 3 == 0
    for seed in range(3):
        steps, test = plan(
            PerClass(samples_per_class=4, test="mask"), test=mask, seed=seed
        )
        np.testing.assert_array_equal(test, np.flatnonzero(mask))
        assert not mask[np.concatenate(steps)].any()


def test_bounds_and_number_select_classes():
    steps, test = plan(PerClass(3, min_samples=9, max_samples=12))
    assert set(Y[np.concatenate([*steps, test])]) == {0, 1}
    drawn = {
        frozenset(Y[plan(PerClass(3, classes=2), seed=seed)[1]]) for seed in range(12)
    }
    assert all(len(classes) == 2 for classes in drawn) and len(drawn) > 1


def test_stream_draws_from_the_pool_and_tests_where_told():
    steps, test = plan(Stream(test_at=(3, 10, 20)))
    assert [len(step) for step in steps] == [3, 7, 10]
    learned = np.concatenate(steps)
    assert len(set(learned)) == 20 and not set(learned) & set(test)
    np.testing.assert_array_equal(np.bincount(Y[test]), [5, 6, 4, 10])


def test_stream_is_uniform_over_samples_not_classes():
    counts = np.zeros(4)
    for seed in range(400):
        counts += np.bincount(
            Y[plan(Stream(test_at=(5,)), seed=seed)[0][0]], minlength=4
        )
    np.testing.assert_allclose(
        counts / counts.sum(), np.array([5, 6, 4, 10]) / 25, atol=0.03
    )


def test_stream_can_replace():
    steps, _ = plan(Stream(test_at=(100,), replace=True))
    assert len(steps[0]) == 100 and len(set(steps[0])) < 26


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        (PerClass(8), "class 2 has 8 samples"),
        (PerClass(5, test=0.5), "class 2 has 8 samples"),
        (PerClass(3, test="mask"), "needs a data set with a fixed test set"),
        (PerClass(3, min_samples=21), "0 of 4 classes"),
        (PerClass(3, min_samples=20), "1 of 4 classes"),
        (PerClass(3, classes=5), "5 are needed"),
        (Stream(test_at=(26,)), "training pool has 25 samples"),
    ],
)
def test_impossible_plans_say_what_is_wrong(protocol, words):
    with pytest.raises(UserError, match=words):
        plan(protocol)


def test_a_stream_without_training_samples_is_an_error():
    with pytest.raises(UserError, match="training pool has 0 samples"):
        plan(Stream(test_at=(5,), test="mask", replace=True), test=np.ones(50, bool))


@pytest.mark.parametrize(
    "protocol", [PerClass(3, test="mask"), Stream(test_at=(5,), test="mask")]
)
def test_a_class_without_test_samples_is_an_error(protocol):
    with pytest.raises(
        UserError, match="class 1 has no sample in the data set's fixed test set"
    ):
        plan(protocol, test=(Y != 1) & (np.arange(50) % 2 == 0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: PerClass(0),
        lambda: PerClass(test="half"),
        lambda: PerClass(test=1.5),
        lambda: PerClass(test=True),
        lambda: Stream(test="rest"),
        lambda: PerClass(max_samples=0),
        lambda: PerClass(min_samples=-3),
        lambda: PerClass(classes=1),
        lambda: Stream(test_at=()),
        lambda: Stream(test_at=(5, 5)),
        lambda: Stream(test_at=(0, 5)),
    ],
)
def test_senseless_parameters_are_refused(make):
    with pytest.raises(UserError, match="expected"):
        make().check_params()


def test_a_run_refuses_them_before_it_reads_data():
    setup = Setup(Lean(), Sample(), Identity(), PerClass(0), Full())
    with pytest.raises(UserError, match="samples_per_class=0, expected 1 or more"):
        setup.check()


@pytest.mark.parametrize(
    "protocol", [PerClass(1, test="mask"), Stream((1,), test=0.5), Stream([3, 4])]
)
def test_sensible_parameters_are_not(protocol):
    protocol.check_params()


def test_parameters_show():
    shown = "PerClass(samples_per_class=3, test='rest', min_samples=None, max_samples=None, classes=2)"
    assert repr(PerClass(3, classes=2)) == shown
