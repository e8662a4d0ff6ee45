"""Relevance from hand-made votes."""

import copy
import logging

import numpy as np
import pytest

from rsbench.aggregators import ClassSoft, ClassThreshold, CrossClasses, Ones, Sample
from rsbench.core.components import Aggregator, adopt, told_by
from rsbench.core.told import Told
from rsbench.errors import UserError

EPS = 1e-10
# Two classes; feature 3 is never marked.
Z = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
Y = np.array([0, 0, 0, 1])
ALL = [Sample, ClassSoft, lambda **k: ClassThreshold(theta=1, **k), CrossClasses]


def test_sample_keeps_the_marks():
    np.testing.assert_array_equal(Sample().relevance(Z, Y), np.where(Z, 1.0, EPS))


def test_sample_soft_mask_is_one_plus_lambda_z():
    graded = np.array([[0, 0.25, 1]])
    np.testing.assert_allclose(
        Sample(relevant=4, irrelevant=1).relevance(graded, Y[:1]), 1 + 3 * graded
    )


def test_ones_are_neutral():
    np.testing.assert_array_equal(Ones().fit(Z, Y).relevance(Z, Y), np.ones((4, 4)))


def test_class_soft_is_the_root_of_vote_shares_with_norm_one():
    R = ClassSoft().fit(Z, Y).relevance(Z, Y)
    shares = np.sqrt(np.array([3, 1, 1, 0]) / 3)
    expected = np.maximum(shares / np.linalg.norm(shares), EPS)
    for row in R[:3]:
        np.testing.assert_allclose(row, expected)
    np.testing.assert_allclose(R[3], [EPS, EPS, 1, EPS])


def test_class_soft_without_normalisation():
    R = ClassSoft(normalize="none").fit(Z, Y).relevance(Z, Y)
    np.testing.assert_allclose(R[0], [1, np.sqrt(1 / 3), np.sqrt(1 / 3), EPS])


def test_class_threshold_is_strictly_above_theta():
    for theta, expected in (
        (0, [1, 1, 1, EPS]),
        (1, [1, EPS, EPS, EPS]),
        (3, [EPS] * 4),
    ):
        np.testing.assert_allclose(
            ClassThreshold(theta=theta).fit(Z, Y).relevance(Z, Y)[0], expected
        )


def test_cross_classes_is_any_vote_in_any_class():
    np.testing.assert_allclose(
        CrossClasses().fit(Z, Y).relevance(Z, Y), [[1, 1, 1, EPS]] * 4
    )


def test_teacher_knows_the_pool_from_the_first_sample_on():
    aggregator = CrossClasses().fit(Z, Y)
    np.testing.assert_allclose(aggregator.relevance(Z[2:3], Y[2:3]), [[1, 1, 1, EPS]])


def test_seen_counts_samples_up_to_and_including_the_current_one():
    soft = ClassSoft(scope="seen", normalize="none").fit(Z, Y).relevance(Z, Y)
    np.testing.assert_allclose(soft[0], [1, EPS, 1, EPS])
    np.testing.assert_allclose(soft[1], [1, np.sqrt(0.5), np.sqrt(0.5), EPS])
    np.testing.assert_allclose(
        soft[3], [EPS, EPS, 1, EPS]
    )  # another class: its own count
    cross = CrossClasses(scope="seen").fit(Z, Y).relevance(Z, Y)
    np.testing.assert_allclose(cross, [[1, EPS, 1, EPS], *[[1, 1, 1, EPS]] * 3])
    threshold = ClassThreshold(theta=1, scope="seen").fit(Z, Y).relevance(Z, Y)
    np.testing.assert_allclose(
        threshold, [[EPS] * 4, *[[1, EPS, EPS, EPS]] * 2, [EPS] * 4]
    )


@pytest.mark.parametrize(
    "make", [ClassSoft, CrossClasses, lambda **k: ClassThreshold(theta=1, **k)]
)
def test_seen_does_not_look_ahead(make):
    whole = make(scope="seen").fit(Z, Y).relevance(Z, Y)
    np.testing.assert_array_equal(
        make(scope="seen").fit(Z, Y).relevance(Z[:2], Y[:2]), whole[:2]
    )


@pytest.mark.parametrize("make", [ClassSoft, lambda: ClassThreshold(theta=0)])
def test_class_without_votes_gets_ones_and_a_warning(make, caplog):
    silent = Z.copy()
    silent[3] = 0
    with caplog.at_level(logging.WARNING):
        R = make().fit(silent, Y).relevance(silent, Y)
    np.testing.assert_array_equal(R[3], np.ones(4))
    assert R[0, 3] == EPS
    assert "1 of 2 classes have no vote" in caplog.text


def test_graded_votes_count_as_they_are():
    graded = np.array([[0.5, 0.0], [0.25, 0.0], [1.0, 0.125]])
    y = np.array([0, 0, 1])
    soft = ClassSoft(normalize="none").fit(graded, y).relevance(graded, y)
    np.testing.assert_allclose(soft[0, 0], np.sqrt(0.75 / 2))
    assert ClassThreshold(theta=0.7).fit(graded, y).relevance(graded, y)[0, 0] == 1
    assert ClassThreshold(theta=0.75).fit(graded, y).relevance(graded, y)[0, 0] == EPS
    np.testing.assert_allclose(
        CrossClasses().fit(graded, y).relevance(graded, y), np.ones((3, 2))
    )


@pytest.mark.parametrize("make", ALL)
def test_relevance_is_finite_and_positive(make, rng):
    votes, y = rng.random((50, 9)) < 0.2, rng.integers(4, size=50)
    R = make().fit(votes, y).relevance(votes, y)
    assert R.shape == votes.shape and np.isfinite(R).all() and (R > 0).all()


@pytest.mark.parametrize("labels", [[-1, 5], ["a", "b"], [0.5, 2.0]])
def test_any_labels_will_do(labels):
    y = [labels[code] for code in Y]
    for make in ALL[1:]:
        np.testing.assert_array_equal(
            make().fit(Z.tolist(), y).relevance(Z.tolist(), y),
            make().fit(Z, Y).relevance(Z, Y),
        )


def test_a_class_without_teacher_is_an_error():
    with pytest.raises(ValueError, match="2, a class that was not among the votes"):
        ClassSoft().fit(Z, Y).relevance(Z[:1], [2])


def test_theta_auto_takes_the_smallest_of_the_best_and_scales_it():
    aggregator = ClassThreshold()
    tried = []

    def validate(candidate, n):
        tried.append((candidate.theta, n))
        return abs(candidate.theta - 3) // 2  # 2, 3 and 4 are best

    assert aggregator.tune(validate) == {"theta": 2}
    assert tried == [(theta, 10) for theta in range(10)]
    votes = np.repeat(
        [[1, 1, 0], [1, 0, 0]], [6, 19], axis=0
    )  # 25 samples: theta becomes 5
    y = np.zeros(25, int)
    np.testing.assert_allclose(
        aggregator.fit(votes, y).relevance(votes, y)[0], [1, 1, EPS]
    )
    votes[0, 1] = 0  # five votes are not more than five
    np.testing.assert_allclose(
        aggregator.fit(votes, y).relevance(votes, y)[0], [1, EPS, EPS]
    )
    aggregator.scale_theta = False
    np.testing.assert_allclose(
        aggregator.fit(votes, y).relevance(votes, y)[0], [1, 1, EPS]
    )


def test_fixed_theta_is_neither_tuned_nor_scaled():
    aggregator = ClassThreshold(theta=4)
    assert aggregator.tune(lambda *_: pytest.fail("nothing to tune")) == {}
    votes = np.repeat([[1], [0]], [5, 20], axis=0)
    assert (
        aggregator.fit(votes, np.zeros(25, int)).relevance(votes, np.zeros(25, int))[
            0, 0
        ]
        == 1
    )


def test_theta_auto_outside_a_run_says_what_to_do():
    with pytest.raises(ValueError, match="give theta a number"):
        ClassThreshold().fit(Z, Y)


@pytest.mark.parametrize("make", ALL)
def test_irrelevant_must_be_above_zero(make):
    for value in (0, -1.0, float("nan")):
        with pytest.raises(UserError, match="irrelevant"):
            make(irrelevant=value).check_params()


@pytest.mark.parametrize("theta", [-1, "five", True])
def test_theta_must_be_a_number_from_zero_on(theta):
    with pytest.raises(UserError, match="theta=.* expected a number from 0 on"):
        ClassThreshold(theta=theta).check_params()


def test_a_learner_is_told_what_its_relevance_was_made_of():
    assert told_by(Ones()) == Told.NOTHING
    assert told_by(Sample()) == Told.VOTES
    for make in ALL[1:]:
        assert told_by(make(scope="teacher")) == Told.CLASS_VOTES
        assert told_by(make(scope="seen")) == Told.VOTES


def test_an_aggregator_that_is_fitted_on_the_pool_tells_class_votes_whoever_wrote_it():
    class Derived(Aggregator):
        def fit(self, Z, y):
            return self

    class Bare:
        def fit(self, Z, y):
            return self

        def relevance(self, Z, y):
            return np.ones(np.shape(Z))

    class Declared(Derived):
        told = Told.VOTES

    assert told_by(Derived()) == Told.CLASS_VOTES
    assert told_by(adopt(Bare(), Aggregator)) == Told.CLASS_VOTES
    assert told_by(Declared()) == Told.VOTES


def test_what_a_copy_sees_is_its_own():
    aggregator = ClassSoft(scope="seen").fit(Z, Y)
    before = aggregator.relevance(Z, Y)
    copied = copy.copy(aggregator)
    copied.see(Z, Y)
    np.testing.assert_array_equal(aggregator.relevance(Z, Y), before)
    assert (copied.relevance(Z, Y) != before).any()


def test_fit_forgets_what_was_fitted_and_seen():
    for scope in ("teacher", "seen"):
        aggregator = ClassSoft(scope=scope).fit(1 - Z, Y)
        aggregator.see(1 - Z, Y)
        np.testing.assert_array_equal(
            aggregator.fit(Z, Y).relevance(Z, Y),
            ClassSoft(scope=scope).fit(Z, Y).relevance(Z, Y),
        )


class FitsOnMarkedSamples(ClassSoft):
    """Changes `fit`, so that `partial_fit` would no longer do the same in parts."""

    def fit(self, Z, y):
        marked = Z.any(axis=1)
        return super().fit(Z[marked], y[marked])


class DoublesRelevance(ClassSoft):
    def relevance(self, Z, y):
        return 2 * super().relevance(Z, y)


def test_a_subclass_loses_the_shortcuts_of_what_it_changes():
    assert ClassSoft().partial_fit is not None and ClassSoft().see is not None
    assert FitsOnMarkedSamples().partial_fit is None
    assert DoublesRelevance().see is None
    np.testing.assert_array_equal(
        FitsOnMarkedSamples().fit(Z, Y).relevance(Z, Y),
        ClassSoft().fit(Z, Y).relevance(Z, Y),
    )


def test_a_tuned_subclass_tries_candidates_of_its_own_class():
    class Stricter(ClassThreshold):
        pass

    tried = []
    Stricter().tune(lambda candidate, n: tried.append(type(candidate)) or 0.0)
    assert set(tried) == {Stricter}


def test_teachers_have_to_be_fitted():
    with pytest.raises(UserError, match="ClassSoft: scope=teacher needs fit"):
        ClassSoft().relevance(Z, Y)


def test_parameters_show():
    shown = "ClassSoft(normalize='none', scope='seen', irrelevant=1e-10)"
    assert repr(ClassSoft("none", scope="seen")) == shown
