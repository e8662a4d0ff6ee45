"""Each learner against a naive reference, and a numerical optimiser where it solves something."""

import numpy as np
import pytest
import rsbench_whys
from rsbench_whys import (
    ESZSL,
    SVM,
    Bottleneck,
    BottleneckBeside,
    Contrast,
    ContrastSVM,
    Distillation,
    GaussianClassVotes,
    GaussianVotes,
    MarginTransfer,
    MarkedNaiveBayes,
    RidgeView,
    RightReasons,
    TwoViews,
)
from rsbench_whys.bottleneck import concept_weights, sums_over
from rsbench_whys.eszsl import zero_shot
from rsbench_whys.right_reasons import penalty_gradient
from scipy.optimize import check_grad, minimize

import rsbench.checks
from rsbench.core.data import Background
from rsbench.learners import Gaussian, Lean, NaiveBayes, Ridge, Softmax

LEARNERS = rsbench_whys.rsbench_learners()


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("promise", rsbench.checks.promises("learner"), ids=str)
def test_learners_keep_their_promises(promise, make):
    promise.check(make)


@pytest.fixture
def problem():
    """Samples of four classes, votes for some of their features, and other classes."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(4), rng.integers(4, size=60)])
    X = rng.random((4, 5))[y] + 0.4 * rng.random((64, 5))
    Z = (rng.random(X.shape) < 0.4).astype(float)
    Z[5] = np.nan
    return X, y, Z


@pytest.fixture
def background():
    rng = np.random.default_rng(1)
    y = np.arange(600) % 60
    concepts = rng.random((60, 7))
    Z = (rng.random((600, 7)) < concepts[y]).astype(float)
    X = 3 * concepts[y] @ rng.normal(size=(7, 5)) + rng.normal(size=(600, 5))
    return Background(X, y, Z)


def views(X, Z):
    return np.where(np.isnan(Z), np.nan, np.where(Z > 0, X, 0.0))


def hardest(scores, pos):
    """The highest of all other scores; the first among equals."""
    return max(
        (c for c in range(len(scores)) if c != pos), key=lambda c: (scores[c], -c)
    )


@pytest.mark.parametrize("learner, mu", [(TwoViews(), 1.0), (Contrast(mu=0.25), 0.25)])
def test_a_second_step_is_on_what_is_marked(problem, learner, mu):
    X, y, Z = problem
    W = np.zeros((4, 5))
    for x, pos, z in zip(X, y, Z, strict=True):
        steps = [x]
        if not np.isnan(z).any():
            steps.append(z * x / mu)
        for row in steps:
            neg = hardest(W @ row, pos)
            loss = 1 - (W[pos] - W[neg]) @ row
            if loss > 0 and row.any():
                tau = loss / (2 * row @ row + 0.5)
                W[pos] += tau * row
                W[neg] -= tau * row
    learner.fit(X, y, view=views(X, Z))
    np.testing.assert_allclose(learner.coef_, W, atol=1e-9)


def test_contrast_with_a_margin_of_one_is_two_views(problem):
    X, y, Z = problem
    one = Contrast(mu=1.0).fit(X, y, view=views(X, Z))
    two = TwoViews().fit(X, y, view=views(X, Z))
    assert np.array_equal(one.coef_, two.coef_)
    assert not np.array_equal(one.coef_, Lean().fit(X, y).coef_)


@pytest.mark.parametrize("n", [6, 40])
def test_ridge_on_views_is_a_weighted_regression(problem, n):
    X, y, Z = (rows[:n] for rows in problem)
    learner = RidgeView(0.7, relative=False, weight=0.3).fit(X, y, view=views(X, Z))
    # Of what nobody marked anything in there is no view.
    asked = np.nan_to_num(Z).any(axis=1)
    rows = np.vstack([X, (Z * X)[asked]])
    targets = np.eye(4)[np.concatenate([y, y[asked]])]
    weights = np.concatenate([np.ones(n), np.full(asked.sum(), 0.3)])

    def objective(flat):
        W, b = flat[:20].reshape(4, 5), flat[20:]
        errors = targets - rows @ W.T - b
        return weights @ (errors**2).sum(axis=1) + 0.7 * (W**2).sum()

    best = minimize(objective, np.zeros(24), tol=1e-12).x
    found = X @ best[:20].reshape(4, 5).T + best[20:]
    np.testing.assert_allclose(learner.decision_function(X), found, atol=1e-4)


def test_marked_words_count_for_more():
    X = np.array([[2.0, 1.0], [0.0, 3.0]])
    Z = np.array([[1.0, 0.0], [0.5, np.nan]])
    learner = MarkedNaiveBayes(weight=3.0).fit(X, np.array([0, 1]), annotation=Z)
    assert learner.counts_.tolist() == [[8.0, 1.0], [0.0, 3.0]]
    same = NaiveBayes().fit(np.array([[8.0, 1.0], [0.0, 3.0]]), np.array([0, 1]))
    assert np.array_equal(learner.decision_function(X), same.decision_function(X))


def test_right_reasons_descend_their_own_penalty():
    rng = np.random.default_rng(3)
    x, unmarked = rng.normal(size=4), np.array([1.0, 0.0, 0.3, 1.0])

    def probabilities(w):
        scores = np.exp(x @ w)
        return scores / scores.sum()

    def penalty(flat):
        w = flat.reshape(4, 3)

        def total(shown):
            scores = shown @ w
            return (scores - np.log(np.exp(scores).sum())).sum()

        # The derivative by the sample itself, by central differences.
        steps = 1e-5 * np.eye(4)
        slopes = np.array([(total(x + s) - total(x - s)) / 2e-5 for s in steps])
        return unmarked @ slopes**2

    def gradient(flat):
        w = flat.reshape(4, 3)
        return penalty_gradient(x, w, probabilities(w), unmarked).ravel()

    point = rng.normal(size=12)
    error = check_grad(penalty, gradient, point, epsilon=1e-5)
    assert error < 1e-3 * np.linalg.norm(gradient(point))


def test_right_reasons_keep_unmarked_features_from_swaying(problem):
    X, y, Z = problem
    Z = np.zeros_like(Z)
    Z[:, :2] = 1.0
    told = RightReasons(strength=1.0).fit(X, y, annotation=Z)
    plain = Softmax().fit(X, y)
    # Differences between classes are what sways.
    spread = told.coef_[:, 2:].std(axis=0).sum()
    assert spread < 0.5 * plain.coef_[:, 2:].std(axis=0).sum()


def svm_objective(rows, t, costs, margins):
    def value(w):
        return w @ w / 2 + costs @ np.maximum(0, margins - t * (rows @ w))

    return value


def solved(rows, t, costs, margins):
    """The minimum, as a quadratic program in the dual."""
    signed = rows * t[:, None]
    kernel = signed @ signed.T

    def dual(a):
        return a @ kernel @ a / 2 - a @ margins, kernel @ a - margins

    bounds = [(0, cost) for cost in costs]
    a = minimize(
        dual, np.zeros(len(t)), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-9},
    ).x  # fmt: skip
    return signed.T @ a


def two_classes(problem):
    X, y, Z = problem
    return X, (y > 1).astype(int), Z


def scaled(X, more):
    scale = np.sqrt((X**2).sum() / len(X))
    rows = np.vstack([X, more]) / scale
    return np.hstack([rows, np.r_[np.ones(len(X)), np.zeros(len(more))][:, None]])


def test_contrast_svm_solves_its_problem(problem):
    X, y, Z = two_classes(problem)
    asked = ~np.isnan(Z).any(axis=1)
    learner = ContrastSVM(C=2.0, C_contrast=0.5, mu=0.4)
    learner.fit(X, y, view=views(X, Z))
    rows = scaled(X, (Z * X)[asked] / 0.4)
    t = 2.0 * np.concatenate([y, y[asked]]) - 1
    costs = np.concatenate([np.full(len(X), 2.0), np.full(asked.sum(), 0.5)])
    value = svm_objective(rows, t, costs, np.ones(len(t)))
    best = value(solved(rows, t, costs, np.ones(len(t))))
    scale = np.sqrt((X**2).sum() / len(X))
    found = value(np.append(scale * learner.coef_[0], learner.intercept_))
    assert found <= best * (1 + 1e-3)


def test_margins_come_from_votes(problem):
    X, y, Z = two_classes(problem)
    asked = ~np.isnan(Z).any(axis=1)
    teacher = SVM(2.0).fit(Z[asked], y[asked])
    t = 2.0 * y - 1
    margins = np.ones(len(y))
    margins[asked] = np.maximum(t[asked] * teacher.decision_function(Z[asked]), 0.1)
    assert len(np.unique(margins)) > 3
    learner = MarginTransfer(C=2.0).fit(X, y, annotation=Z)
    rows = scaled(X, X[:0])
    costs = np.full(len(y), 2.0)
    value = svm_objective(rows, t, costs, margins)
    best = value(solved(rows, t, costs, margins))
    scale = np.sqrt((X**2).sum() / len(X))
    found = value(np.append(scale * learner.coef_[0], learner.intercept_))
    assert found <= best * (1 + 1e-3)


def test_zero_shot_weights_are_the_papers(background):
    X, y, Z = background.X, background.y, background.Z
    S = np.array([Z[y == c].mean(axis=0) for c in range(60)])
    V = zero_shot(X, y, S, 0.5, 2.0)
    Xc, Sc = X - X.mean(axis=0), S - S.mean(axis=0)
    Y = np.eye(60)[y] - np.eye(60)[y].mean(axis=0)
    gamma = 0.5 * (Xc**2).sum() / len(Xc)
    lam = 2.0 * (Sc**2).sum() / len(Sc)

    # The paper's objective, whose minimum this is (Eqs. 2 and 4).
    def objective(flat):
        V = flat.reshape(5, 7)
        fit = ((Xc @ V @ Sc.T - Y) ** 2).sum()
        penalties = gamma * ((V @ Sc.T) ** 2).sum() + lam * ((Xc @ V) ** 2).sum()
        return fit + penalties + gamma * lam * (V**2).sum()

    best = minimize(objective, np.zeros(35), tol=1e-12).fun
    assert objective(V.ravel()) <= best * (1 + 1e-8)


@pytest.mark.parametrize("n", [6, 40])
def test_eszsl_regresses_towards_its_prior(problem, background, n):
    X, y, _ = (rows[:n] for rows in problem)
    votes = np.random.default_rng(4).random((4, 7))
    learner = ESZSL(0.7, relative=False)
    learner.prepare(background=background, class_votes=votes)
    learner.fit(X, y)
    prior = learner.prepared_weights
    targets = np.eye(4)[y]

    def objective(flat):
        W, b = flat[:20].reshape(4, 5), flat[20:]
        return ((targets - X @ W.T - b) ** 2).sum() + 0.7 * ((W - prior) ** 2).sum()

    best = minimize(objective, np.zeros(24), tol=1e-12).x
    found = X @ best[:20].reshape(4, 5).T + best[20:]
    np.testing.assert_allclose(learner.decision_function(X), found, atol=1e-4)


def test_concepts_are_regressed_on_background_and_stream(problem, background):
    X, y, _ = problem
    Z = (np.random.default_rng(5).random((len(X), 7)) < 0.5).astype(float)
    learner = Bottleneck(alpha_concepts=3.0).prepare(background=background)
    learner.fit(X, y, annotation=Z)
    rows = np.vstack([background.X, X])
    votes = np.vstack([background.Z, Z])
    rows = rows - rows.mean(axis=0)
    penalty = 3.0 * (rows**2).sum() / len(rows)
    W = np.linalg.solve(
        rows.T @ rows + penalty * np.eye(5), rows.T @ (votes - votes.mean(axis=0))
    )
    np.testing.assert_allclose(learner.concepts_, W, atol=1e-10)
    # Classes by a ridge regression on predicted concepts.
    predicted = X @ W
    scores = Ridge(0.2 * predicted.var(axis=0).sum(), relative=False)
    expected = scores.fit(predicted, y).decision_function(predicted)
    np.testing.assert_allclose(learner.decision_function(X), expected, atol=1e-8)


def test_concepts_beside_features_are_one_regression(problem, background):
    X, y, _ = problem
    learner = BottleneckBeside(weight=2.0).prepare(background=background)
    learner.fit(X, y)
    W = concept_weights(sums_over(background.X, background.Z), 1.0)
    concepts = X @ W
    rows = np.hstack(
        [
            X / np.sqrt(X.var(axis=0).sum()),
            2.0 * concepts / np.sqrt(concepts.var(axis=0).sum()),
        ]
    )
    ridge = Ridge(0.2 * 5.0, relative=False).fit(rows, y)
    np.testing.assert_allclose(
        learner.decision_function(X), ridge.decision_function(rows), atol=1e-8
    )


@pytest.mark.parametrize("make", [BottleneckBeside, Distillation])
def test_without_votes_it_is_ridge(problem, make):
    X, y, _ = problem
    # The number of samples is a power of two, at which Ridge measures its penalty.
    expected = Ridge().fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        make().fit(X, y).decision_function(X), expected, atol=1e-9
    )


def test_a_student_imitates_the_teacher(problem):
    from scipy.special import softmax

    from rsbench.learners import Logistic

    X, y, Z = problem
    asked = ~np.isnan(Z).any(axis=1)
    learner = Distillation(imitation=0.6, temperature=3.0).fit(X, y, annotation=Z)
    teacher = Logistic(0.01).fit(Z[asked], y[asked])
    soft = np.eye(4)[y]
    soft[asked] = softmax(teacher.decision_function(Z[asked]) / 3.0, axis=1)
    targets = 0.4 * np.eye(4)[y] + 0.6 * soft
    centred = X - X.mean(axis=0)
    penalty = 0.2 * (centred**2).sum() / len(X)
    W = np.linalg.solve(
        centred.T @ centred + penalty * np.eye(5),
        centred.T @ (targets - targets.mean(axis=0)),
    )
    expected = centred @ W + targets.mean(axis=0)
    np.testing.assert_allclose(learner.decision_function(X), expected, atol=1e-9)


def test_votes_shift_the_prior_as_conditioning_does(problem, background):
    X, y, _ = problem
    rng = np.random.default_rng(6)
    learner = GaussianVotes().prepare(background=background)
    Z = (rng.random((len(X), 7)) < 0.5).astype(float)
    learner.fit(X, y, annotation=Z)
    known = learner.prepared_votes
    of_class = np.array(
        [background.Z[background.y == c].mean(axis=0) for c in range(60)]
    )
    np.testing.assert_allclose(known.shares, of_class - of_class.mean(axis=0))
    # The mean of a Gaussian given a noisy measurement of another that goes with it.
    n = int((y == 2).sum())
    shares = known.shares.T @ known.shares / 59
    penalty = np.diag(shares).mean() * np.eye(7)
    noisy = shares + penalty + np.diag(known.within / n)
    across = known.shares.T @ known.means / 59
    share = Z[y == 2].mean(axis=0) - of_class.mean(axis=0)
    expected = share @ np.linalg.solve(noisy, across)
    left = learner.left_[2]
    assert 0 < left < 1
    np.testing.assert_allclose(learner.prior_means_[2], expected, atol=1e-8)


def test_what_is_left_is_measured_on_classes_left_out(background):
    learner = GaussianVotes().prepare(background=background)
    known = learner.prepared_votes
    votes = np.full(7, np.inf)
    shift = learner._shift(known, votes)
    missed = []
    A = known.covariance + 1e-12 * np.trace(known.covariance) * np.eye(7)
    for c in range(60):
        others = np.arange(60) != c
        S, M = known.shares[others], known.means[others]
        s, m = S.mean(axis=0), M.mean(axis=0)
        # The same penalty: what the covariance has beyond that of the shares.
        penalty = 59 * A - known.shares.T @ known.shares
        B = np.linalg.solve((S - s).T @ (S - s) + penalty, (S - s).T @ (M - m))
        missed.append(known.means[c] - m - (known.shares[c] - s) @ B)
    noise = 5 * known.noise
    left = ((np.array(missed) ** 2).mean(axis=0).sum() - noise) / (
        ((60 / 59 * known.means) ** 2).mean(axis=0).sum() - noise
    )
    np.testing.assert_allclose(shift.left, left, rtol=1e-6)


def test_votes_that_tell_nothing_shift_nothing(problem, background):
    X, y, _ = problem
    shuffled = np.random.default_rng(7).permutation(background.Z)
    told = GaussianVotes().prepare(
        background=Background(background.X, background.y, shuffled)
    )
    plain = Gaussian().prepare(background=background)
    Z = (np.random.default_rng(8).random((len(X), 7)) < 0.5).astype(float)
    told.fit(X, y, annotation=Z)
    assert (told.left_ == 1).all()
    assert np.array_equal(
        told.decision_function(X), plain.fit(X, y).decision_function(X)
    )


def test_descriptions_tell_classes_apart_before_any_sample(background):
    rng = np.random.default_rng(9)
    # Half of the classes are those described, the other half the background.
    own = background.y < 20
    others = Background(background.X[~own], background.y[~own] - 20, background.Z[~own])
    votes = np.array([background.Z[background.y == c].mean(axis=0) for c in range(20)])
    learner = GaussianClassVotes().prepare(background=others, class_votes=votes)
    one_each = [np.flatnonzero(background.y == c)[0] for c in range(20)]
    learner.partial_fit(background.X[one_each], np.arange(20), classes=np.arange(20))
    plain = Gaussian().prepare(background=others)
    plain.partial_fit(background.X[one_each], np.arange(20), classes=np.arange(20))
    rest = np.setdiff1d(np.flatnonzero(own), one_each)
    rng.shuffle(rest)
    told = learner.score(background.X[rest], background.y[rest])
    assert told > plain.score(background.X[rest], background.y[rest])


@pytest.mark.parametrize("make", [Bottleneck, BottleneckBeside, Distillation])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_samples_that_are_all_alike_or_far_away_do_no_harm(make, offset):
    same = np.tile([0.1, 0.7, 0.3], (7, 1)) + offset
    y = np.array([0, 0, 0, 1, 1, 2, 2])
    votes = None
    if make is not Distillation:  # whose teacher softens labels all the same
        votes = np.tile([1.0, 0.0], (7, 1))
    learner = make().fit(same, y, annotation=votes)
    scores = learner.decision_function(np.array([[5.0, -3.0, 1.0]]))[0]
    np.testing.assert_allclose(scores, [3 / 7, 2 / 7, 2 / 7], atol=1e-6)


@pytest.mark.parametrize("vote", [0.0, 0.3, 1.0])
def test_votes_that_are_all_the_same_tell_nothing(problem, vote):
    X, y, Z = problem
    learner = Bottleneck().fit(X, y, annotation=np.full_like(Z, vote))
    scores = learner.decision_function(X)
    assert np.ptp(scores, axis=0).max() < 1e-9


def test_far_away_samples_have_the_same_concepts(problem):
    X, y, Z = problem
    near = Bottleneck().fit(X, y, annotation=Z).decision_function(X)
    far = Bottleneck().fit(X + 1e6, y, annotation=Z).decision_function(X + 1e6)
    np.testing.assert_allclose(near, far, atol=1e-4)


@pytest.mark.parametrize("make", [Bottleneck, Distillation, MarginTransfer])
def test_another_number_of_concepts_is_refused_and_forgotten(problem, make):
    X, y, Z = problem
    learner = make().partial_fit(X, y, np.arange(4), annotation=Z)
    with pytest.raises(ValueError, match="votes are for 2 concepts, expected 5"):
        learner.partial_fit(X, y, annotation=Z[:, :2])
    learner.partial_fit(X, y, annotation=Z)


def test_another_number_than_the_backgrounds_is_refused(problem, background):
    X, y, Z = problem
    with pytest.raises(ValueError, match="for 5 concepts, expected 7"):
        GaussianVotes().prepare(background=background).fit(X, y, annotation=Z)
    with pytest.raises(ValueError, match="for 5 concepts, expected 7"):
        Bottleneck().prepare(background=background).fit(X, y, annotation=Z)
    for make in (ESZSL, GaussianClassVotes):
        with pytest.raises(ValueError, match="for 5 concepts, expected 7"):
            make().prepare(background=background, class_votes=np.ones((4, 5)))
        described = make().prepare(background=background, class_votes=np.ones((9, 7)))
        with pytest.raises(ValueError, match="9 classes were described"):
            described.fit(X, y)


def test_votes_that_nobody_was_asked_for_are_not_in_shares(background):
    Z = background.Z.copy()
    Z[300:] = np.nan
    some = Background(background.X, background.y, Z)
    known = GaussianVotes().prepare(background=some).prepared_votes
    of_class = Z[:300].reshape(5, 60, 7).mean(axis=0)
    np.testing.assert_allclose(known.shares, of_class - of_class.mean(axis=0))
    assert Bottleneck().prepare(background=some).prepared_sums.n == 300


def test_views_in_which_nothing_is_marked_teach_nothing(problem):
    from scipy.sparse import csr_array

    X, y, Z = problem
    X = np.where(X > 0.6, X, 0.0)
    X[3] = 0.0
    view = views(X, np.where(np.isnan(Z), 0.0, Z))
    view[5] = 0.0
    dense = RidgeView().fit(X, y, view=view).decision_function(X)
    sparse = RidgeView().fit(csr_array(X), y, view=csr_array(view))
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), dense, atol=1e-9)
    nothing = RidgeView().fit(X, y, view=np.zeros_like(X)).decision_function(X)
    assert np.array_equal(nothing, Ridge().fit(X, y).decision_function(X))
