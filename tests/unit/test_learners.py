"""Learners against naive references, a numerical optimiser, and scikit-learn's own checks."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from rsbench.core.measures import margins
from rsbench.learners import (
    SVMFF,
    Ellipsotron,
    FeatureScaling,
    Lean,
    Learner,
    LinearLearner,
    PassiveAggressive,
    RelevanceLearner,
    SVMFFBatch,
)

LEARNERS = [Lean, FeatureScaling, Ellipsotron, SVMFF, SVMFFBatch]
WITH_RELEVANCE = [FeatureScaling, Ellipsotron]


def problem(rng, n=60, d=7, k=4, hard=True):
    X = rng.random((n, d))
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    R = (
        np.where(rng.random((n, d)) < 0.4, 1.0, 1e-10)
        if hard
        else rng.random((n, d)) + 0.05
    )
    return X, y, R


def naive(kind, X, y, R, k, C=1.0, variant="pa2"):
    """The paper's algorithms, one sample and one scalar at a time."""
    d = X.shape[1]
    W = [[0.0] * d for _ in range(k)]
    for x, label, r in zip(X.tolist(), y.tolist(), R.tolist(), strict=True):
        if kind == "lean":
            r = [1.0] * d
        scaled = [r[j] * x[j] for j in range(d)]
        scored = scaled if kind == "feature_scaling" else x
        scores = [sum(W[c][j] * scored[j] for j in range(d)) for c in range(k)]
        neg = max((c for c in range(k) if c != label), key=lambda c: (scores[c], -c))
        loss = max(0.0, 1 - scores[label] + scores[neg])
        norm = sum(value**2 for value in scaled)
        if loss == 0 or norm == 0:
            continue
        tau = {
            "pa": loss / (2 * norm),
            "pa1": min(C, loss / (2 * norm)),
            "pa2": loss / (2 * norm + 1 / (2 * C)),
        }[variant]
        for j in range(d):
            step = tau * (r[j] * scaled[j] if kind == "ellipsotron" else scaled[j])
            W[label][j] += step
            W[neg][j] -= step
    return np.array(W)


KINDS = {"lean": Lean, "feature_scaling": FeatureScaling, "ellipsotron": Ellipsotron}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_learner_equals_the_naive_reference_sample_by_sample(
    kind, variant, hard, C, rng
):
    X, y, R = problem(rng, hard=hard)
    learner = KINDS[kind](C=C, variant=variant)
    for n in range(1, len(y) + 1):
        rich = {} if kind == "lean" else {"relevance": R[n - 1 : n]}
        learner.partial_fit(X[n - 1 : n], y[n - 1 : n], np.arange(4), **rich)
        expected = naive(kind, X[:n], y[:n], R[:n], 4, C, variant)
        np.testing.assert_allclose(learner.coef_, expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    C=st.floats(0.05, 20),
    variant=st.sampled_from(["pa1", "pa2"]),
)
def test_ellipsotron_step_is_the_optimum_of_its_objective(seed, C, variant):
    rng = np.random.default_rng(seed)
    X, y, R = problem(rng, n=6, d=4, k=3, hard=False)
    learner = Ellipsotron(C=C, variant=variant).fit(X, y, relevance=R)
    before, x, r, pos = learner.coef_.copy(), rng.random(4), rng.random(4) + 0.1, 0
    scores = before @ x
    neg = 1 + int(np.argmax(scores[1:]))
    slack = {"pa1": lambda xi: C * xi, "pa2": lambda xi: C * xi**2}[variant]

    def objective(v):
        # ½|W - W'|²_S + slack, in the variables v = S (W - W') of the two classes that move.
        delta = v.reshape(2, 4) * r
        xi = max(0.0, 1 - (scores[pos] - scores[neg]) - (delta[0] - delta[1]) @ x)
        return 0.5 * v @ v + slack(xi)

    learner.partial_fit(x[None], np.array([pos]), relevance=r[None])
    ours = ((learner.coef_ - before)[[pos, neg]] / r).ravel()
    best = minimize(
        objective,
        ours + 0.01 * rng.normal(size=8),
        method="Nelder-Mead" if variant == "pa1" else "BFGS",
    )
    assert objective(ours) <= best.fun + 1e-9
    if variant == "pa2" and objective(np.zeros(8)) > 0:
        np.testing.assert_allclose(best.x, ours, atol=1e-4)


@given(seed=st.integers(0, 10_000))
def test_minimum_over_the_ellipsoid_is_the_margin_less_one(seed):
    rng = np.random.default_rng(seed)
    x, w, s = rng.normal(size=5), rng.normal(size=5), rng.random(5) + 0.05
    # Points x̂ with |x̂ - x|_{S⁻¹} ≤ 1/|w|_S: x̂ = x + S u, |u| ≤ 1/|S w|.
    radius = 1 / np.linalg.norm(s * w)
    lowest = w @ (x - s * radius * (s * w) / np.linalg.norm(s * w))
    assert lowest == pytest.approx(w @ x - 1, abs=1e-10)
    inside = rng.normal(size=(200, 5))
    inside *= (
        radius * rng.random((200, 1)) / np.linalg.norm(inside, axis=1, keepdims=True)
    )
    assert ((x + s * inside) @ w >= lowest - 1e-10).all()


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
def test_relevance_of_all_ones_makes_the_three_learners_one(variant, rng):
    X, y, _ = problem(rng)
    lean = Lean(variant=variant).fit(X, y).coef_
    for learner in WITH_RELEVANCE:
        ones = learner(variant=variant).fit(X, y, relevance=np.ones_like(X)).coef_
        np.testing.assert_allclose(ones, lean, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(learner(variant=variant).fit(X, y).coef_, ones)


def test_binary_lean_is_scikit_learns_passive_aggressive():
    from sklearn.linear_model import SGDClassifier

    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 5)), rng.integers(2, size=50)
    sgd = SGDClassifier(
        penalty=None,
        learning_rate="pa1",
        eta0=0.7,
        fit_intercept=False,
        shuffle=False,
        max_iter=1,
        tol=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sgd.fit(X, y)
    # Two weight vectors w and -w share the binary step: tau halves, and so does the bound C.
    ours = Lean(C=0.35, variant="pa1").fit(X, y)
    np.testing.assert_allclose(ours.coef_[1] - ours.coef_[0], sgd.coef_[0], rtol=1e-10)


@pytest.mark.parametrize("learner", WITH_RELEVANCE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("level", [1e-10, 1e-30, 1e-200])
def test_all_irrelevant_samples_keep_weights_finite(
    learner, dtype, variant, level, rng
):
    X, y, _ = problem(rng)
    fitted = learner(variant=variant).fit(
        X.astype(dtype), y, relevance=np.full(X.shape, level)
    )
    assert np.isfinite(fitted.coef_).all()
    if variant == "pa2":
        assert np.abs(fitted.coef_).max() < 1e-6


def test_uniform_relevance_cancels_under_exact_steps(rng):
    X, y, _ = problem(rng)
    lean = Lean(variant="pa").fit(X, y).coef_
    np.testing.assert_allclose(
        Ellipsotron(variant="pa").fit(X, y, relevance=np.full(X.shape, 1e-10)).coef_,
        lean,
    )


def test_zero_sample_moves_nothing():
    for variant in ("pa", "pa1", "pa2"):
        assert (
            not Lean(variant=variant)
            .fit(np.zeros((2, 3)), np.array([0, 1]))
            .coef_.any()
        )


def test_hardest_negative_is_over_all_classes_and_ties_go_to_the_lowest():
    learner = Lean().partial_fit(np.ones((1, 2)), np.array([2]), np.arange(5))
    assert learner.coef_[2].all() and learner.coef_[0].all()
    assert not learner.coef_[[1, 3, 4]].any()


def rich(learner, R, Z):
    """What this kind of learner is told beside labels."""
    if learner in WITH_RELEVANCE:
        return {"relevance": R}
    if learner in (SVMFF, SVMFFBatch):
        return {"annotation": Z}
    return {}


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_block_is_one_at_a_time_in_order(learner, rng):
    X, y, R = problem(rng, n=30)
    Z = R > 0.5
    block = learner().partial_fit(X, y, np.arange(4), **rich(learner, R, Z))
    single = learner()
    for i in range(len(y)):
        one = slice(i, i + 1)
        single.partial_fit(
            X[one], y[one], np.arange(4), **rich(learner, R[one], Z[one])
        )
    np.testing.assert_allclose(
        single.decision_function(X), block.decision_function(X), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("learner", [Lean, FeatureScaling, Ellipsotron, SVMFF])
def test_prequential_is_predict_then_learn_without_annotations(learner, rng):
    X, y, R = problem(rng)
    Z = R > 0.5
    fast = learner().prequential(X, y, np.arange(4), **rich(learner, R, Z))
    slow = [0.0]  # nothing is known yet: a tie
    plain = learner().partial_fit(
        X[:1], y[:1], np.arange(4), **rich(learner, R[:1], Z[:1])
    )
    for i in range(1, len(y)):
        one = slice(i, i + 1)
        slow.extend(margins(plain.decision_function(X[one]), y[one], 4))
        plain.partial_fit(X[one], y[one], **rich(learner, R[one], Z[one]))
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_prequential_margins_do_not_see_the_samples_own_annotation(rng):
    X, y, R = problem(rng)
    for learner in (FeatureScaling, Ellipsotron, SVMFF):
        changed = R.copy()
        changed[-1] = 1.0 - changed[-1] + 1e-10
        first = learner().prequential(X, y, np.arange(4), **rich(learner, R, R > 0.5))
        second = learner().prequential(
            X, y, np.arange(4), **rich(learner, changed, changed > 0.5)
        )
        np.testing.assert_array_equal(first, second)


def test_a_prequential_may_call_the_partial_fit_above_it(rng):
    class Boastful(Ellipsotron):
        def prequential(self, X, y, classes=None, *, relevance=None):
            super().partial_fit(X, y, classes, relevance=relevance)
            return np.full(len(y), 9.0)

    X, y, R = problem(rng)
    boastful = Boastful()
    assert (boastful.prequential(X, y, np.arange(4), relevance=R) == 9).all()
    np.testing.assert_array_equal(
        boastful.coef_, Ellipsotron().fit(X, y, relevance=R).coef_
    )


def test_a_changed_partial_fit_changes_fit_and_ends_the_inherited_shortcut(rng):
    class Twice(Lean):
        def partial_fit(self, X, y, classes=None):
            super().partial_fit(X, y, classes)
            return super().partial_fit(X, y)

    X, y, _ = problem(rng)
    twice = Lean().fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(Twice().fit(X, y).coef_, twice.coef_)
    assert Twice.prequential is None
    assert Twice().fit(X, y).weights() is not None  # scores are as they were


@pytest.mark.parametrize("learner", [Lean, FeatureScaling, Ellipsotron, SVMFF])
def test_weights_are_what_scores_are_made_of(learner, rng):
    X, y, R = problem(rng)
    fitted = learner().fit(X, y, **rich(learner, R, R > 0.5))
    np.testing.assert_array_equal(fitted.decision_function(X), X @ fitted.weights().T)


def test_learners_with_scores_of_their_own_have_no_plain_weights():
    class Biased(Lean):
        def decision_function(self, X):
            return super().decision_function(X) + 1

    for learner in (SVMFFBatch, Biased):
        assert learner.weights is None
    assert SVMFF.prequential is not None  # it brings its own


def test_a_batch_learner_says_so_and_has_no_prequential():
    assert SVMFFBatch.batch and SVMFFBatch.prequential is None
    for learner in LEARNERS:
        assert learner.batch == (learner is SVMFFBatch)


def test_svm_ff_scales_by_the_features_marked_so_far():
    X = np.ones((2, 3))
    Z = np.array([[1, 0, 0], [0, 1, 0]])
    learner = SVMFF(irrelevant=0.5).partial_fit(
        X[:1], np.array([0]), np.arange(2), annotation=Z[:1]
    )
    np.testing.assert_allclose(
        learner.coef_[0], np.array([1, 0.5, 0.5]) / (2 * 1.5 + 0.5)
    )
    learner.partial_fit(X[1:], np.array([1]), annotation=Z[1:])
    assert learner.marked_.tolist() == [True, True, False]
    expected = (X * [1, 1, 0.5]) @ (learner.coef_[1] - learner.coef_[0])
    np.testing.assert_allclose(learner.decision_function(X), expected)


#: Classes, features and samples, for every way that the engine has: the plain loop,
#: blocks of small and large weights, and bounds.
SHAPES = [
    (2, 3, 40),
    (3, 1, 5),
    (20, 96, 200),
    (50, 312, 120),
    (150, 700, 64),
    (5, 4000, 60),
    (300, 1000, 100),
    (1000, 1200, 80),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("learner", [FeatureScaling, Ellipsotron, SVMFF])
def test_without_annotations_a_learner_is_lean_to_the_bit(learner, shape, dtype, rng):
    classes, d, n = shape
    X = (rng.random((n, d)) - 0.3).astype(dtype)
    y = rng.integers(classes, size=n)
    lean = Lean(C=0.5)
    rich_learner = learner(C=0.5)
    nothing = {"relevance": np.ones((n, d))}
    if learner is SVMFF:
        nothing = {"annotation": np.full((n, d), np.nan, np.float32)}
    for part in (slice(0, n // 2), slice(n // 2, n)):
        told = {name: rows[part] for name, rows in nothing.items()}
        np.testing.assert_array_equal(
            rich_learner.prequential(X[part], y[part], np.arange(classes), **told),
            lean.prequential(X[part], y[part], np.arange(classes)),
        )
    np.testing.assert_array_equal(rich_learner.weights(), lean.weights())
    assert rich_learner.weights().dtype == dtype
    np.testing.assert_array_equal(
        rich_learner.decision_function(X), lean.decision_function(X)
    )


def test_what_a_learner_is_without_annotations_is_not_inherited():
    class Bolder(Ellipsotron):
        def tau(self, loss, squared_norm):
            return 2 * super().tau(loss, squared_norm)

    assert Ellipsotron.without is FeatureScaling.without is SVMFF.without is Lean
    assert Bolder.without is Lean.without is SVMFFBatch.without is None


def test_margins_of_the_passive_aggressive_family_are_of_one_scale():
    family = [Lean, FeatureScaling, Ellipsotron, SVMFF]
    assert {learner.score_scale for learner in family} == {"hinge"}
    assert SVMFFBatch.score_scale == ""


@pytest.mark.parametrize("learner", [SVMFF, SVMFFBatch])
def test_not_asked_is_told_from_nothing_marked(learner, rng):
    X, y, _ = problem(rng)
    never_asked = np.full(X.shape, np.nan)
    nothing_marked = np.zeros(X.shape)
    plain = learner().fit(X, y)
    np.testing.assert_array_equal(
        learner().fit(X, y, annotation=never_asked).decision_function(X),
        plain.decision_function(X),
    )
    scaled = learner().fit(X, y, annotation=nothing_marked)
    assert not np.allclose(scaled.decision_function(X), plain.decision_function(X))


def test_svm_ff_scales_nothing_before_the_first_annotation(rng):
    X, y, R = problem(rng)
    Z = (R > 0.5).astype(float)
    Z[:30] = np.nan
    learner = SVMFF().partial_fit(X[:30], y[:30], np.arange(4), annotation=Z[:30])
    lean = Lean().partial_fit(X[:30], y[:30], np.arange(4))
    np.testing.assert_array_equal(learner.coef_, lean.coef_)
    learner.partial_fit(X[30:31], y[30:31], annotation=Z[30:31])
    assert learner.marked_.tolist() == (Z[30] == 1).tolist()
    scale = np.where(Z[30] == 1, 1.0, 0.1)
    np.testing.assert_allclose(learner.weights(), scale * learner.coef_)


def test_a_sample_without_annotation_changes_no_scale(rng):
    X, y, R = problem(rng)
    Z = (R > 0.5).astype(float)
    Z[20:] = np.nan
    learner = SVMFF().fit(X, y, annotation=Z)
    np.testing.assert_array_equal(learner.marked_, (Z[:20] > 0).any(axis=0))
    without_any = SVMFF().partial_fit(X[:20], y[:20], np.arange(4), annotation=Z[:20])
    without_any.partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(without_any.coef_, learner.coef_)


def test_a_feature_that_nobody_was_asked_about_keeps_its_scale():
    X = np.ones((2, 3))
    Z = np.array([[1, 0, np.nan], [0, 0, np.nan]])
    learner = SVMFF(irrelevant=0.5).fit(X, np.array([0, 1]), annotation=Z)
    assert learner.asked_.tolist() == [True, True, False]
    np.testing.assert_allclose(learner.weights(), learner.coef_ * [1, 0.5, 1])


def test_svm_ff_batch_is_a_linear_svm_on_scaled_features(rng):
    X, y, R = problem(rng)
    Z = (R > 0.5) & (np.arange(7) < 4)
    ours = SVMFFBatch(irrelevant=0.3, random_state=0).fit(X, y, annotation=Z)
    scale = np.where(Z.any(axis=0), 1, 0.3)
    theirs = LinearSVC(fit_intercept=False, max_iter=10_000, random_state=0).fit(
        X * scale, y
    )
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X * scale)
    )


def test_svm_ff_batch_scores_unseen_classes_low(rng):
    X, y, _ = problem(rng)
    learner = SVMFFBatch().partial_fit(X[:1], np.array([2]), np.arange(4))
    np.testing.assert_array_equal(learner.decision_function(X[:1]), [[-1, -1, 1, -1]])
    learner.partial_fit(X[:2], np.array([1, 2]))
    scores = learner.decision_function(X)
    assert (scores[:, [0, 3]] == -1).all()
    np.testing.assert_allclose(scores[:, 1], -scores[:, 2])


def test_two_classes_have_one_score(rng):
    X, y, R = problem(rng, k=2)
    for learner in LEARNERS:
        fitted = learner().fit(X, y, **rich(learner, R, R > 0.5))
        scores = fitted.decision_function(X)
        assert scores.shape == (len(X),)
        np.testing.assert_array_equal(fitted.predict(X), (scores > 0).astype(int))
        assert (margins(scores, y, 2) > 0).mean() == fitted.score(X, y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_predictions_are_pure_and_inputs_untouched(learner, rng):
    X, y, R = problem(rng)
    copies = X.copy(), y.copy(), R.copy()
    fitted = learner().fit(X, y, **rich(learner, R, R > 0.5))
    state = pickle.dumps(fitted)
    first = fitted.decision_function(X)
    np.testing.assert_array_equal(first, fitted.decision_function(X))
    assert pickle.dumps(fitted) == state
    for before, after in zip(copies, (X, y, R), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("learner", LEARNERS)
def test_clone_keeps_parameters_and_forgets_the_rest(learner, rng):
    X, y, _ = problem(rng)
    copy = clone(learner(C=3.0).fit(X, y))
    assert copy.get_params()["C"] == 3.0 and not hasattr(copy, "classes_")
    assert "C=3.0" in repr(copy)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_pass(learner):
    """No exception is expected: every check that scikit-learn has for a classifier passes."""
    outcome = check_estimator(learner(), on_fail=None, on_skip=None)
    failed = [
        (each["check_name"], each["exception"])
        for each in outcome
        if each["status"] == "failed"
    ]
    assert not failed
    # scikit-learn skips this one by itself unless SCIPY_ARRAY_API is set before its import.
    assert {each["check_name"] for each in outcome if each["status"] == "skipped"} <= {
        "check_array_api_input"
    }
    assert len(outcome) > 40


@pytest.mark.parametrize("learner", LEARNERS)
def test_scikit_learn_knows_a_classifier_and_whether_it_is_fitted(learner, rng):
    X, y, _ = problem(rng)
    made = learner()
    assert is_classifier(made)
    with pytest.raises(NotFittedError):
        check_is_fitted(made)
    with pytest.raises(NotFittedError, match="has not learned anything yet"):
        made.predict(X)
    check_is_fitted(made.fit(X, y))


#: Who is told what, and what scikit-learn is to route to it.
ROUTED = [
    (FeatureScaling, "relevance"),
    (Ellipsotron, "relevance"),
    (SVMFF, "annotation"),
    (SVMFFBatch, "annotation"),
]


def routed_problem(name, rng):
    """A problem, and what learners are told of it; nobody ever marks the last features."""
    X, y, R = problem(rng, n=90)
    if name == "relevance":
        return X, y, R
    return X, y, (R > 0.5) & (np.arange(7) < 3)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize(("learner", "name"), ROUTED)
def test_pipelines_hand_over_what_is_requested(learner, name, rng, routing):
    X, y, told = routed_problem(name, rng)
    made = learner().set_fit_request(**{name: True})
    pipeline = make_pipeline(StandardScaler(), made).fit(X, y, **{name: told})
    scaled = StandardScaler().fit_transform(X)
    alone = learner().fit(scaled, y, **{name: told})
    np.testing.assert_array_equal(
        pipeline.decision_function(X), alone.decision_function(scaled)
    )
    without = learner().fit(scaled, y).decision_function(scaled)
    assert not np.array_equal(pipeline.decision_function(X), without)


@pytest.mark.parametrize(("learner", "name"), ROUTED)
def test_cross_validation_splits_what_is_requested(learner, name, rng, routing):
    X, y, told = routed_problem(name, rng)
    found = cross_val_score(
        learner().set_fit_request(**{name: True}),
        X,
        y,
        cv=KFold(3),
        params={name: told},
        error_score="raise",
    )
    by_hand = [
        learner().fit(X[a], y[a], **{name: told[a]}).score(X[b], y[b])
        for a, b in KFold(3).split(X)
    ]
    assert found.tolist() == by_hand
    without = cross_val_score(learner(), X, y, cv=KFold(3), params={})
    assert found.tolist() != without.tolist()


def test_searches_keep_requests_while_they_change_parameters(rng, routing):
    X, y, R = problem(rng, n=90)
    learner = Ellipsotron().set_fit_request(relevance=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), learner),
        {"ellipsotron__C": [0.01, 1.0]},
        cv=KFold(3),
        error_score="raise",
    )
    search.fit(X, y, relevance=R)
    best = search.best_params_["ellipsotron__C"]
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(
        search.best_estimator_[-1].coef_,
        Ellipsotron(C=best).fit(scaled, y, relevance=R).coef_,
    )


def test_relevance_may_go_by_another_name(rng, routing):
    X, y, R = problem(rng)
    pipeline = make_pipeline(Ellipsotron().set_fit_request(relevance="experts"))
    np.testing.assert_array_equal(
        pipeline.fit(X, y, experts=R)[-1].coef_,
        Ellipsotron().fit(X, y, relevance=R).coef_,
    )


def test_relevance_that_nobody_decided_on_is_an_error(rng, routing):
    X, y, R = problem(rng)
    with pytest.raises(UnsetMetadataPassedError, match="Ellipsotron"):
        make_pipeline(Ellipsotron()).fit(X, y, relevance=R)
    ignoring = make_pipeline(Ellipsotron().set_fit_request(relevance=False))
    with pytest.raises(TypeError, match="not routed to any object"):
        ignoring.fit(X, y, relevance=R)


def test_partial_fit_and_score_have_requests_of_their_own(rng, routing):
    made = SVMFF().set_partial_fit_request(annotation=True, classes=True)
    made.set_score_request(sample_weight=True)
    routed = clone(made).get_metadata_routing()
    assert routed.partial_fit.requests == {"annotation": True, "classes": True}
    assert routed.score.requests == {"sample_weight": True}
    assert routed.fit.requests == {"annotation": None}
    assert Lean().get_metadata_routing().fit.requests == {}
    X, y, _ = problem(rng)
    weights = rng.random(len(y))
    found = cross_val_score(
        Lean().set_score_request(sample_weight=True),
        X,
        y,
        cv=KFold(2),
        params={"sample_weight": weights},
    )
    a, b = next(KFold(2).split(X))
    right = Lean().fit(X[a], y[a]).predict(X[b]) == y[b]
    assert found[0] == pytest.approx(weights[b] @ right / weights[b].sum())


def test_a_request_says_what_can_be_requested(routing):
    with pytest.raises(TypeError, match="fit takes no 'relevence'.* request: relevan"):
        Ellipsotron().set_fit_request(relevence=True)
    with pytest.raises(TypeError, match="Lean.fit takes no .* request: nothing"):
        Lean().set_fit_request(relevance=True)


def test_requests_need_routing_to_be_enabled():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        Ellipsotron().set_fit_request(relevance=True)


def test_a_plugins_own_words_can_be_requested(rng, routing):
    class Mine(RelevanceLearner):
        def fit(self, X, y, *, colours=None):
            return super().fit(X, y, relevance=colours)

        def tau(self, loss, squared_norm):
            return 0.1

    X, y, R = problem(rng)
    pipeline = make_pipeline(Mine().set_fit_request(colours=True))
    pipeline.fit(X, y, colours=R)


@pytest.mark.parametrize("learner", LEARNERS)
def test_text_labels_and_data_frames_work(learner, rng):
    pandas = pytest.importorskip("pandas")
    X, y, _ = problem(rng)
    names = np.array(["a", "b", "c", "d"])[y]
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(7)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = learner().fit(frame, names)
        np.testing.assert_array_equal(
            fitted.predict(frame), learner().fit(X, names).predict(X)
        )


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"C": 0}, "C=0"),
        ({"C": True}, "C=True"),
        ({"C": -1.0}, "C=-1"),
        ({"C": float("nan")}, "C=nan"),
        ({"variant": "pa3"}, "pa3"),
    ],
)
def test_senseless_parameters_are_refused(params, word):
    with pytest.raises(ValueError, match=word):
        Ellipsotron(**params).fit(np.eye(2), np.array([0, 1]))


def test_a_parameter_that_the_constructor_forgot_is_named():
    class Mine(PassiveAggressive):
        def __init__(self, rate: float = 0.1):
            self.rate = rate

    with pytest.raises(ValueError, match=r"Mine has no 'C'.*call super\(\).__init__"):
        Mine().fit(np.eye(2), np.array([0, 1]))


@pytest.mark.parametrize("base", [LinearLearner, RelevanceLearner])
@pytest.mark.parametrize("polite", [True, False])
def test_linear_learners_bring_no_parameters_along(base, polite, rng):
    class Mine(base):
        def __init__(self, rate: float = 0.1):
            if polite:
                super().__init__()
            self.rate = rate

        def tau(self, loss, squared_norm):
            return self.rate

    X, y, _ = problem(rng)
    assert Mine().get_params() == {"rate": 0.1}
    assert repr(clone(Mine(rate=2.0)).fit(X, y)) == "Mine(rate=2.0)"


def test_a_linear_learner_without_tau_is_told_what_it_lacks():
    class Mine(RelevanceLearner):
        pass

    with pytest.raises(NotImplementedError, match=r"Mine needs a method tau\(loss"):
        Mine().fit(np.eye(2), np.array([0, 1]))


def test_a_learner_of_ones_own_needs_partial_fit_and_scores(rng):
    class Means(Learner):
        def partial_fit(self, X, y, classes=None):
            X, y = self._continue(X, y, classes)
            np.add.at(self.sums_, y, X)
            return self

        def _init(self, n_classes, X):
            self.sums_ = np.zeros((n_classes, X.shape[1]))

        def _scores(self, X):
            return X @ self.sums_.T

    fitted = Means().fit(np.eye(3), ["a", "b", "c"])
    assert fitted.predict(np.eye(3)).tolist() == ["a", "b", "c"]
    assert fitted.prequential is None and fitted.weights is None


def test_numpy_numbers_are_numbers():
    for C in (np.float32(2), np.int64(2)):
        np.testing.assert_array_equal(
            Lean(C=C).fit(np.eye(2), [0, 1]).coef_,
            Lean(C=2.0).fit(np.eye(2), [0, 1]).coef_,
        )


def test_wrong_rich_supervision_is_refused(rng):
    X, y, R = problem(rng)
    with pytest.raises(ValueError, match=r"relevance has shape \(60, 6\)"):
        Ellipsotron().fit(X, y, relevance=R[:, 1:])
    R[3, 2] = np.nan
    with pytest.raises(ValueError, match="relevance contains NaN"):
        Ellipsotron().fit(X, y, relevance=R)
    R[3, 2] = np.inf
    with pytest.raises(ValueError, match="annotation contains infinity"):
        SVMFF().fit(X, y, annotation=R)


def test_labels_outside_the_classes_are_refused():
    with pytest.raises(ValueError, match="7"):
        Lean().partial_fit(np.eye(2), np.array([0, 7]), classes=np.arange(2))
    with pytest.raises(ValueError, match="differ"):
        Lean().fit(np.eye(2), np.array([0, 1])).partial_fit(
            np.eye(2), np.array([0, 1]), classes=np.arange(3)
        )


def test_learning_imports_no_scikit_learn():
    """It takes over a second, which every run would pay."""
    code = (
        "import sys, numpy as np; from rsbench.learners import Ellipsotron;"
        "Ellipsotron().fit(np.eye(3), np.arange(3), relevance=np.eye(3)).predict(np.eye(3));"
        "assert not {'sklearn', 'torch', 'mlflow', 'hydra'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
