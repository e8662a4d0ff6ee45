"""Learners that are told nothing but labels: each equals a naive reference, and a solver where it solves something."""

import functools
import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.covariance import oas
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as SklearnsRidge
from sklearn.naive_bayes import MultinomialNB

from rsbench.core.data import Background
from rsbench.core.measures import margins
from rsbench.errors import UserError
from rsbench.learners import (
    NCM,
    SLDA,
    BatchLearner,
    Gaussian,
    Logistic,
    NaiveBayes,
    RanPAC,
    Ridge,
    Softmax,
)
from rsbench.learners.base import before_each, below_the_others
from rsbench.learners.covariance import shrinkage_of
from rsbench.learners.gaussian import learn_prior
from rsbench.learners.least_squares import ByFeatures, BySamples

CLASSES = np.arange(5)


@pytest.fixture
def samples(rng):
    """Ninety samples of five classes, the first ones of three alone."""
    y = np.concatenate([rng.integers(3, size=15), rng.integers(5, size=75)])
    X = rng.normal(size=(5, 8))[y] + rng.normal(size=(90, 8)) + 2.0
    return X, y


def sparse(X, rng, share=0.4):
    return scipy.sparse.csr_array(np.where(rng.random(X.shape) < share, X, 0.0))


def parts(*cuts):
    return [slice(a, b) for a, b in itertools.pairwise(cuts)]


def along(learner, X, y, blocks):
    """The margins that a run would see, from blocks of whatever size."""
    found = [learner.prequential(X[rows], y[rows], CLASSES) for rows in blocks]
    return np.concatenate(found)


# What they share.


def test_classes_that_nothing_is_known_of_come_last():
    scores = np.array([[3.0, -5.0, 0.0], [1e20, 2e20, 0.0]])
    unknown = np.array([[False, False, True]] * 2)
    found = below_the_others(scores, unknown)
    assert (found[:, 2] < found[:, :2].min(axis=1)).all()
    assert np.isfinite(found).all()
    assert (below_the_others(scores, np.ones((2, 3), bool)) == 0).all()


def test_sums_before_each_row():
    rows = np.arange(6.0).reshape(3, 2)
    assert before_each(rows).tolist() == [[0, 0], [0, 1], [2, 4]]


@pytest.mark.parametrize("cls", [NCM, Ridge, Softmax, NaiveBayes, Gaussian])
def test_a_subclass_that_changes_scores_predicts_by_them_along_the_stream(cls):
    class Doubled(cls):
        def _scores(self, X):
            return 2 * super()._scores(X)

    class Told(cls):
        def partial_fit(self, X, y, classes=None):
            return super().partial_fit(X, y, classes)

    class AsItIs(cls):
        """Changes nothing."""

    assert cls.prequential is not None
    assert Doubled.prequential is None and Told.prequential is None
    assert AsItIs.prequential is cls.prequential


def test_a_subclass_that_learns_otherwise_has_margins_of_its_own(samples):
    class Forgets(NCM):
        """Only the last block counts."""

        def _predict_and_learn(self, X, y):
            found = super()._predict_and_learn(X, y)
            self._init(len(self.classes_), X)
            super()._learn(X, y)
            return found

    class Forgetful(Ridge):
        def _learn(self, X, y):
            self._init(len(self.classes_), X)
            super()._learn(X, y)

    assert Forgets.prequential is not None
    assert Forgetful.prequential is None


# The nearest class mean.


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_ncm_is_the_nearest_of_the_means_before_each_sample(
    samples, rng, metric, is_sparse
):
    X, y = samples
    given = sparse(X, rng) if is_sparse else X
    dense = given.toarray() if is_sparse else X
    found = along(NCM(metric), given, y, parts(0, 1, 40, 90))
    for i in range(1, 90):
        seen = np.unique(y[:i])
        means = np.stack([dense[:i][y[:i] == c].mean(axis=0) for c in seen])
        if metric == "euclidean":
            near = -np.square(dense[i] - means).sum(axis=1)
        else:
            length = np.linalg.norm(dense[i]) * np.linalg.norm(means, axis=1)
            near = means @ dense[i] / np.where(length > 0, length, 1)
        if y[i] in seen and len(seen) == 5:
            true = near[seen == y[i]][0]
            assert found[i] == pytest.approx(true - near[seen != y[i]].max(), abs=1e-9)
        elif y[i] not in seen:
            assert found[i] < 0


def test_ncm_does_not_mind_where_the_origin_is(samples):
    X, y = samples
    one = NCM().fit(X, y).predict(X)
    two = NCM().fit(X + 1000, y).predict(X + 1000)
    assert (one == two).all()


# Ridge regression.


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("relative", [False, True])
def test_ridge_is_scikit_learns_at_every_step(
    samples, rng, is_sparse, fit_intercept, relative
):
    X, y = samples
    given = sparse(X, rng) if is_sparse else X
    dense = given.toarray() if is_sparse else X
    learner = Ridge(0.7, fit_intercept, relative)
    for n in range(1, 91):
        learner.partial_fit(given[n - 1 : n], y[n - 1 : n], CLASSES)
        targets = np.eye(5)[y[:n]]
        theirs = SklearnsRidge(alpha=learner.alpha_, fit_intercept=fit_intercept)
        expected = theirs.fit(dense[:n], targets).predict(dense)
        np.testing.assert_allclose(
            learner.decision_function(given), expected, atol=1e-8
        )
    assert isinstance(learner.solver_, ByFeatures)


@pytest.mark.parametrize(
    "blocks", [parts(0, 1, 90), parts(0, 7, 8, 33, 90), parts(0, 90)]
)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ridge_knows_what_it_would_have_predicted(
    samples, rng, blocks, is_sparse, fit_intercept
):
    X, y = samples
    given = sparse(X, rng) if is_sparse else X
    found = along(Ridge(fit_intercept=fit_intercept), given, y, blocks)
    one_by_one = Ridge(fit_intercept=fit_intercept)
    assert found[0] == 0
    for i in range(90):
        if i > 0:
            scores = one_by_one.decision_function(given[i : i + 1])
            assert found[i] == pytest.approx(
                margins(scores, y[i : i + 1], 5)[0], abs=1e-9
            )
        one_by_one.partial_fit(given[i : i + 1], y[i : i + 1], CLASSES)


def test_ridge_measures_its_penalty_when_samples_have_doubled(samples):
    X, y = samples
    learner = Ridge(0.5)
    penalties = []
    for i in range(20):
        learner.partial_fit(X[i : i + 1], y[i : i + 1], CLASSES)
        penalties.append(learner.alpha_)
    changes = [i + 1 for i in range(1, 20) if penalties[i] != penalties[i - 1]]
    assert changes == [2, 4, 8, 16]
    around_the_mean = np.square(X[:16] - X[:16].mean(axis=0)).sum(axis=1).mean()
    assert penalties[15] == pytest.approx(0.5 * around_the_mean)


def test_ridge_does_not_mind_units_nor_where_the_origin_is(samples):
    X, y = samples
    expected = Ridge().fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        Ridge().fit(1e6 * X, y).decision_function(1e6 * X), expected, atol=1e-8
    )
    moved = X + 1e4
    np.testing.assert_allclose(
        Ridge().fit(moved, y).decision_function(moved), expected, atol=1e-7
    )


def test_ridge_of_many_features_never_makes_their_products(rng):
    X = scipy.sparse.random_array((60, 500_000), density=1e-4, format="csr", rng=rng)
    y = np.arange(60) % 3
    learner = Ridge().fit(X, y)
    assert isinstance(learner.solver_, BySamples)
    expected = SklearnsRidge(alpha=learner.alpha_, solver="sparse_cg", tol=1e-12)
    expected.fit(X, np.eye(3)[y])
    np.testing.assert_allclose(
        learner.decision_function(X), expected.predict(X), atol=1e-6
    )


def test_ridge_of_samples_that_are_all_the_same_predicts_the_most_frequent():
    X = np.ones((7, 3))
    assert (Ridge().fit(X, [0, 1, 1, 1, 0, 1, 2]).predict(X) == 1).all()


def test_a_penalty_that_is_too_small_is_named():
    X = np.ones((6, 3))
    with pytest.raises(UserError, match="the regularisation is too small"):
        Ridge(1e-300, fit_intercept=False, relative=False).fit(X, [0, 1, 0, 1, 0, 1])


def test_ranpac_is_ridge_on_random_features(samples):
    X, y = samples
    learner = RanPAC(width=30, alpha=0.3, random_state=3).fit(X, y)
    hidden = np.maximum(X @ learner.projection_, 0)
    expected = Ridge(alpha=0.3).fit(hidden, y).decision_function(hidden)
    np.testing.assert_allclose(learner.decision_function(X), expected, atol=1e-9)
    again = RanPAC(width=30, alpha=0.3, random_state=3).fit(X, y)
    assert (again.projection_ == learner.projection_).all()


# Discriminant analysis.


@pytest.mark.parametrize("shrinkage", [0.05, 0.5, 1.0])
def test_slda_is_scikit_learns_discriminant_analysis(rng, shrinkage):
    y = np.tile(
        CLASSES, 12
    )  # as many of each, so that theirs pools classes as ours does
    X = rng.normal(size=(5, 8))[y] + rng.normal(size=(60, 8)) @ rng.normal(size=(8, 8))
    learner = SLDA(shrinkage).fit(X, y)
    within = X - np.stack([X[y == c].mean(axis=0) for c in CLASSES])[y]
    covariance = within.T @ within / (60 - 5)

    class Ours:
        """Theirs asks an estimator for the covariance of each class."""

        def fit(self, Z):
            mean = np.trace(covariance) / 8
            self.covariance_ = (1 - shrinkage) * covariance + shrinkage * mean * np.eye(
                8
            )
            return self

        def get_params(self, deep=True):
            return {}

    theirs = LinearDiscriminantAnalysis(
        solver="lsqr", covariance_estimator=Ours(), priors=np.full(5, 0.2)
    ).fit(X, y)
    found = learner.decision_function(X)
    expected = theirs.decision_function(X)
    np.testing.assert_allclose(
        found - found[:, :1], expected - expected[:, :1], rtol=1e-7, atol=1e-7
    )


def test_slda_is_the_naive_one_by_default_after_every_block(samples):
    """Shrunk as the oracle says, with as many degrees of freedom as n less K."""
    X, y = samples
    learner = SLDA()
    for rows in parts(0, 30, 33, 90):
        learner.partial_fit(X[rows], y[rows], CLASSES)
        seen, own = X[: rows.stop], y[: rows.stop]
        means = np.stack([seen[own == c].mean(axis=0) for c in CLASSES])
        deviations = seen - means[own]
        freedom = len(own) - 5
        S = deviations.T @ deviations / freedom
        # Eq. 23 of Chen et al., 2010.
        square, trace = np.trace(S @ S), np.trace(S)
        above = (1 - 2 / 8) * square + trace**2
        rho = min(1, above / ((freedom + 1 - 2 / 8) * (square - trace**2 / 8)))
        inverse = np.linalg.inv((1 - rho) * S + rho * trace / 8 * np.eye(8))
        expected = X @ inverse @ means.T
        expected -= 0.5 * np.diag(means @ inverse @ means.T)
        found = learner.decision_function(X)
        assert learner.shrinkage_ == pytest.approx(rho, rel=1e-9)
        np.testing.assert_allclose(
            found - found[:, :1], expected - expected[:, :1], rtol=1e-9, atol=1e-9
        )


def test_the_oracles_shrinkage_is_nearly_scikit_learns(rng):
    """Theirs leaves out 2 / d, which is nothing among many features."""
    X = rng.normal(size=(30, 400)) * np.linspace(0.1, 3, 400)
    _, expected = oas(X, assume_centered=True)
    assert shrinkage_of(X.T @ X / 30, 30) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("n", [5, 15, 60])
def test_the_oracles_shrinkage_comes_near_the_best_one(rng, n):
    """The best of all shrinkages, had one known the true covariance."""
    truth = np.diag(np.linspace(0.2, 4, 12))
    tried = np.linspace(0, 1, 101)

    def loss(S, rho):
        return np.square(
            (1 - rho) * S + rho * np.trace(S) / 12 * np.eye(12) - truth
        ).sum()

    found, best = 0.0, np.zeros(101)
    for _ in range(200):
        X = rng.normal(size=(n, 12)) @ np.sqrt(truth)
        S = X.T @ X / n
        found += loss(S, shrinkage_of(S, n))
        best += [loss(S, rho) for rho in tried]
    assert found < 1.2 * best.min() and found < best[0]


def test_a_sphere_is_shrunk_to_itself():
    assert shrinkage_of(3 * np.eye(4), 10) == 1
    assert shrinkage_of(np.zeros((4, 4)), 10) == 1


def test_one_sample_of_each_class_makes_slda_the_nearest_mean(samples):
    X, _ = samples
    first = SLDA().fit(X[:5], CLASSES)
    assert first.shrinkage_ == 1
    assert (first.predict(X) == NCM().fit(X[:5], CLASSES).predict(X)).all()


def test_slda_started_from_the_background_adds_its_scatter(samples, rng):
    X, y = samples
    others = rng.normal(size=(40, 8))
    other_y = np.arange(40) % 4
    learner = SLDA(0.1, start="background")
    learner.prepare(background=Background(others, other_y)).fit(X, y)
    deviations = [X - np.stack([X[y == c].mean(axis=0) for c in CLASSES])[y]]
    means = np.stack([others[other_y == c].mean(axis=0) for c in range(4)])
    deviations.append(others - means[other_y])
    together = np.vstack(deviations)
    covariance = together.T @ together / (90 - 5 + 40 - 4)
    covariance = 0.9 * covariance + 0.1 * np.trace(covariance) / 8 * np.eye(8)
    means = np.stack([X[y == c].mean(axis=0) for c in CLASSES])
    expected = np.linalg.solve(covariance, means.T).T
    found = learner.coef_
    np.testing.assert_allclose(found - found[:1], expected - expected[:1], atol=1e-9)


def test_slda_says_what_it_is_told_of_the_background():
    assert SLDA().of_background == "nothing"
    assert SLDA(start="background").of_background == "labels"
    with pytest.raises(UserError, match="the data set has no background"):
        SLDA(start="background").prepare()
    with pytest.raises(UserError, match="SLDA needs labels of the background"):
        SLDA(start="background").prepare(background=Background(np.ones((3, 2))))


def test_a_covariance_without_inverse_is_named(samples):
    X, y = samples
    with pytest.raises(UserError, match="no inverse with shrinkage=0"):
        SLDA(0.0).fit(X[:7], y[:7])


def test_a_covariance_that_does_not_fit_into_memory_is_refused():
    one = np.zeros((2, 3_000_000), np.float32)
    with pytest.raises(
        UserError, match=r"covariance of 3,000,000 features, which would take .* GiB"
    ):
        SLDA().partial_fit(one, np.array([0, 1]), np.array([0, 1]))


# Gaussians with a prior.


@pytest.fixture
def background(rng):
    y = np.repeat(np.arange(12), rng.integers(3, 9, size=12))
    means = rng.normal(size=(12, 8)) * np.linspace(0.2, 3, 8)
    return means[y] + rng.normal(size=(len(y), 8)) @ rng.normal(size=(8, 8)) * 0.5, y


def test_gaussian_scores_by_the_evidence_of_its_model(samples, background):
    X, y = samples
    learner = Gaussian().prepare(background=Background(*background))
    learner.partial_fit(X[:30], y[:30], CLASSES)
    prior = learner.prepared_
    back = np.linalg.inv(prior.basis)
    within = back.T @ back
    between = back.T @ np.diag(prior.variances) @ back
    expected = np.empty((90, 5))
    for c in CLASSES:
        own = X[:30][y[:30] == c]
        # The textbook's posterior of a Gaussian mean, in the features' own space.
        precision = np.linalg.inv(between) + len(own) * np.linalg.inv(within)
        covariance = np.linalg.inv(precision)
        pull = np.linalg.inv(within) @ (own - prior.mean).sum(axis=0)
        mean = prior.mean + covariance @ pull
        expected[:, c] = multivariate_normal(mean, within + covariance).logpdf(X)
    found = learner.decision_function(X)
    np.testing.assert_allclose(
        found - found[:, :1], expected - expected[:, :1], rtol=1e-9, atol=1e-9
    )


def test_gaussian_knows_what_it_would_have_predicted(samples, background):
    X, y = samples
    prepared = Gaussian().prepare(background=Background(*background))
    found = along(prepared, X, y, parts(0, 1, 50, 90))
    one_by_one = Gaussian().prepare(background=Background(*background))
    for i in range(90):
        if i > 0:
            scores = one_by_one.decision_function(X[i : i + 1])
            assert found[i] == pytest.approx(
                margins(scores, y[i : i + 1], 5)[0], rel=1e-9, abs=1e-9
            )
        one_by_one.partial_fit(X[i : i + 1], y[i : i + 1], CLASSES)


def test_the_prior_is_that_of_the_backgrounds_classes(background):
    X, y = background
    prior = learn_prior(X, y)
    counts = np.bincount(y)
    means = np.stack([X[y == c].mean(axis=0) for c in range(12)])
    within = (X - means[y]).T @ (X - means[y]) / (len(y) - 12)
    rho = shrinkage_of(within, len(y) - 12)
    within = (1 - rho) * within + rho * np.trace(within) / 8 * np.eye(8)
    # In the whitened space samples of a class vary by one in every direction.
    np.testing.assert_allclose(
        prior.basis.T @ within @ prior.basis, np.eye(8), atol=1e-9
    )
    whitened = (means - means.mean(axis=0)) @ prior.basis
    between = whitened.T @ whitened / 11
    off_the_diagonal = between - np.diag(np.diag(between))
    assert np.abs(off_the_diagonal).max() < 1e-9
    rho = shrinkage_of(between, 11)
    expected = np.maximum(np.diag(between) - np.mean(1 / counts), 0)
    expected = (1 - rho) * expected + rho * expected.mean()
    np.testing.assert_allclose(np.sort(prior.variances), np.sort(expected), atol=1e-9)


def test_fit_forgets_samples_and_keeps_the_prior(samples, background):
    X, y = samples
    learner = Gaussian().prepare(background=Background(*background))
    first = learner.fit(X, y).decision_function(X)
    learner.fit(X[:20], np.arange(20) % 5)
    np.testing.assert_array_equal(learner.fit(X, y).decision_function(X), first)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(4), [0, 0, 1, 1], "4 samples of 2 classes, expected three classes"),
        (np.eye(3), [0, 1, 2], "two samples of some of them"),
        (np.repeat(np.eye(3), 2, axis=0), [0, 0, 1, 1, 2, 2], "are all alike"),
    ],
)
def test_a_background_that_teaches_no_prior_is_named(X, y, message):
    with pytest.raises(UserError, match=message):
        Gaussian().prepare(background=Background(X, np.array(y)))


def test_gaussian_asks_to_be_prepared(samples):
    X, y = samples
    with pytest.raises(UserError, match="call prepare"):
        Gaussian().fit(X, y)
    with pytest.raises(UserError, match="Gaussian needs labels of the background"):
        Gaussian().prepare(background=Background(X))


# Softmax regression.


@pytest.mark.parametrize("is_sparse", [False, True])
def test_softmax_is_the_naive_loop(samples, rng, is_sparse):
    X, y = samples
    given = sparse(X, rng) if is_sparse else X
    dense = given.toarray() if is_sparse else X
    found = along(Softmax(rate=2.0), given, y, parts(0, 10, 90))
    W = np.zeros((5, 8))
    W2 = np.zeros((5, 8))
    lengths = []
    for i in range(90):
        x = dense[i]
        lengths.append(np.abs(x).sum())
        scores = W @ x
        assert found[i] == pytest.approx(
            scores[y[i]] - np.delete(scores, y[i]).max(), abs=1e-9
        )
        p = np.exp(scores) / np.exp(scores).sum()
        p[y[i]] -= 1
        gradient = np.outer(p, x)
        W2 += gradient**2
        step = 2.0 / np.mean(lengths)
        W -= step * gradient / np.where(W2 > 0, np.sqrt(W2), 1)


def test_softmax_descends_the_cross_entropy(samples):
    """The gradient that the loop takes is that of the loss, by finite differences."""
    X, y = samples
    learner = Softmax().fit(X[:60], y[:60])
    x, pos = X[70], y[70]

    def loss(W):
        scores = W @ x
        return np.log(np.exp(scores).sum()) - scores[pos]

    before = learner.coef_.copy()
    squares = learner.squares_.copy()
    learner.partial_fit(X[70:71], y[70:71])
    step = learner.rate * learner.n_ / learner.length_
    gradient = (before - learner.coef_) * np.sqrt(learner.squares_) / step
    np.testing.assert_allclose(gradient**2, learner.squares_ - squares, rtol=1e-6)
    for c, j in ((0, 0), (pos, 3), (4, 7)):
        moved = np.zeros((5, 8))
        moved[c, j] = 1e-6
        slope = (loss(before + moved) - loss(before - moved)) / 2e-6
        assert gradient[c, j] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_softmax_does_not_mind_units(samples):
    X, y = samples
    one = Softmax().fit(X, y)
    two = Softmax().fit(1000 * X, y)
    np.testing.assert_allclose(two.coef_, one.coef_ / 1000, rtol=1e-9)


# Logistic regression.


@pytest.mark.parametrize("n_classes", [2, 5])
def test_logistic_is_the_minimum_of_its_objective(samples, n_classes):
    X, y = samples
    y = y % n_classes
    learner = Logistic(alpha=0.02, tol=1e-10).fit(X, y)
    total_variance = np.square(X - X.mean(axis=0)).sum(axis=1).mean()

    def objective(z):
        W, b = z[: n_classes * 8].reshape(n_classes, 8), z[n_classes * 8 :]
        scores = X @ W.T + b
        log_sum = np.log(np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1))
        log_p = scores[np.arange(90), y] - scores.max(axis=1) - log_sum
        return -log_p.sum() + 0.5 * 0.02 * total_variance * np.square(W).sum()

    start = np.zeros(n_classes * 9)
    best = minimize(objective, start, method="BFGS", options={"gtol": 1e-8}).x
    scores = X @ best[: n_classes * 8].reshape(n_classes, 8).T + best[n_classes * 8 :]
    found = learner.decision_function(X)
    if n_classes == 2:
        expected = scores[:, 1] - scores[:, 0]
    else:
        found = found - found[:, :1]
        expected = scores - scores[:, :1]
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_logistic_is_scikit_learns_with_the_same_penalty(samples, n_classes):
    X, y = samples
    y = y % n_classes
    scale = np.sqrt(np.square(X - X.mean(axis=0)).mean())
    # In units of the scale the total variance is the number of features. Of two classes
    # scikit-learn penalises one vector, the difference: half of what both have.
    share = 2 if n_classes == 2 else 1
    scaled = (X - X.mean(axis=0)) / scale
    theirs = LogisticRegression(C=share / (0.02 * 8), tol=1e-10, max_iter=1000)
    expected = theirs.fit(scaled, y).decision_function(scaled)
    learner = Logistic(alpha=0.02, tol=1e-10)
    for rows in parts(0, 20, 90):
        learner.partial_fit(X[rows], y[rows], np.arange(n_classes))
    found = learner.decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_logistic_does_not_mind_units(samples):
    X, y = samples
    one = Logistic().fit(X, y).decision_function(X)
    two = Logistic().fit(1e4 * X, y).decision_function(1e4 * X)
    np.testing.assert_allclose(two, one, atol=1e-6)


def test_logistic_of_one_class_alone_predicts_it(samples):
    X, _ = samples
    learner = Logistic().partial_fit(X[:3], np.array([2, 2, 2]), CLASSES)
    assert (learner.predict(X) == 2).all()


# Naive Bayes.


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_naive_bayes_is_scikit_learns(rng, is_sparse, alpha):
    y = np.concatenate([CLASSES, rng.integers(5, size=55)])
    X = rng.poisson(0.7, size=(60, 12)).astype(float)
    given = scipy.sparse.csr_array(X) if is_sparse else X
    found = along(NaiveBayes(alpha), given, y, parts(0, 5, 6, 60))
    for i in range(5, 60):
        theirs = MultinomialNB(alpha=alpha, fit_prior=False).fit(X[:i], y[:i])
        scores = theirs.predict_joint_log_proba(X[i : i + 1])
        assert found[i] == pytest.approx(margins(scores, y[i : i + 1], 5)[0], abs=1e-9)
    learner = NaiveBayes(alpha).fit(given, y)
    theirs = MultinomialNB(alpha=alpha, fit_prior=False).fit(X, y)
    ours = learner.decision_function(given)
    expected = theirs.predict_joint_log_proba(X)
    np.testing.assert_allclose(
        ours - ours[:, :1], expected - expected[:, :1], atol=1e-9
    )


def test_naive_bayes_is_for_counts():
    with pytest.raises(
        ValueError, match="Negative values in data passed to NaiveBayes"
    ):
        NaiveBayes().fit(-np.ones((4, 2)), [0, 1, 0, 1])


# Batch learners.


class Mean(BatchLearner):
    """Remembers how often it was fitted, and to how many samples."""

    def refit(self, X, y):
        self.fits_ = [*vars(self).get("fits_", ()), len(y)]
        self.mean_ = X.mean()

    def _scores(self, X):
        return self._of_all_classes(np.ones((len(X), 1)), self.y_seen_[-1:])


def test_a_batch_learner_is_fitted_to_all_samples_so_far(samples):
    X, y = samples
    learner = Mean()
    for rows in parts(0, 10, 30, 90):
        learner.partial_fit(X[rows], y[rows], CLASSES)
    assert learner.fits_ == [10, 30, 90]
    assert learner.mean_ == pytest.approx(X.mean())


def test_a_batch_learner_that_would_keep_too_much_names_the_size(samples, monkeypatch):
    X, y = samples
    monkeypatch.setattr("rsbench.core.sparse._machine_memory", lambda: 5_000)
    learner = Mean().partial_fit(X[:10], y[:10], CLASSES)
    with pytest.raises(
        UserError, match="Mean keeps 90 samples of 8 features, which would"
    ):
        learner.partial_fit(X[10:], y[10:])


def test_a_batch_learner_without_refit_is_told_what_it_needs(samples):
    X, y = samples
    with pytest.raises(NotImplementedError, match=r"BatchLearner needs a method refit"):
        BatchLearner().fit(X, y)


@pytest.mark.parametrize(
    "make",
    [
        NCM,
        Ridge,
        functools.partial(RanPAC, width=20, random_state=0),
        SLDA,
        Softmax,
        Logistic,
    ],
    ids=["ncm", "ridge", "ranpac", "slda", "softmax", "logistic"],
)
def test_learners_go_on_after_pickling_in_single_precision(samples, make):
    X, y = samples
    X = X.astype(np.float32)
    whole = make().partial_fit(X[:60], y[:60], CLASSES)
    half = make().partial_fit(X[:30], y[:30], CLASSES)
    half = pickle.loads(pickle.dumps(half))  # noqa: S301 - written here
    half.partial_fit(X[30:60], y[30:60])
    found = half.decision_function(X)
    np.testing.assert_allclose(found, whole.decision_function(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (NCM("manhattan"), "expected euclidean or cosine"),
        (Ridge(0), "alpha=0, expected a number above 0"),
        (RanPAC(0), "width=0, expected 1 or more"),
        (SLDA("some"), "expected oas or a number from 0 to 1"),
        (SLDA(start="over"), "expected stream or background"),
        (Softmax(-1), "rate=-1"),
        (Logistic(tol=0), "tol=0"),
        (NaiveBayes(0), "alpha=0"),
    ],
)
def test_parameters_that_make_no_sense_are_named(learner, message):
    with pytest.raises(UserError, match=message):
        learner.check_params()
