"""Each learner against a naive reference, and a numerical optimiser where it solves something."""

import functools

import numpy as np
import pytest
from rsbench_classics import AROW, SCW, Ballseptron, CoinBetting, Perceptron
from scipy.optimize import brentq, minimize
from scipy.sparse import csr_matrix
from scipy.special import ndtri

import rsbench
import rsbench.checks

LEARNERS = {
    "perceptron": Perceptron,
    "ballseptron": Ballseptron,
    "arow": AROW,
    "arow, full": functools.partial(AROW, covariance="full"),
    "scw I": SCW,
    "scw II": functools.partial(SCW, variant=2),
    "scw I, full": functools.partial(SCW, covariance="full"),
    "scw II, full": functools.partial(SCW, variant=2, covariance="full"),
    "coin_betting": CoinBetting,
}


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("promise", rsbench.checks.promises("learner"), ids=str)
def test_learners_keep_their_promises(promise, make):
    promise.check(make)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(4), rng.integers(4, size=76)])
    X = rng.random((4, 5))[y] + 0.4 * rng.normal(size=(80, 5))
    return X, y


def hardest(scores, pos):
    """The highest of all other scores; the first among equals."""
    return max(
        (c for c in range(len(scores)) if c != pos), key=lambda c: (scores[c], -c)
    )


def taught(learner, X, y):
    return learner.partial_fit(X, y, classes=np.arange(4))


def test_the_perceptron_steps_by_the_sample_after_a_mistake(problem):
    X, y = problem
    W = np.zeros((4, 5))
    for x, pos in zip(X, y, strict=True):
        neg = hardest(W @ x, pos)
        if W[pos] @ x <= W[neg] @ x:
            W[pos] += x
            W[neg] -= x
    np.testing.assert_allclose(taught(Perceptron(), X, y).coef_, W, rtol=1e-12)


def test_the_ballseptron_steps_by_the_worst_point_of_the_ball(problem):
    X, y = problem
    W = np.zeros((4, 5))
    lengths = []
    inside = 0
    for x, pos in zip(X, y, strict=True):
        lengths.append(np.linalg.norm(x))
        radius = 0.3 * np.mean(lengths)
        neg = hardest(W @ x, pos)
        dw = W[pos] - W[neg]
        if dw @ x <= 0:
            point = x
        elif dw @ x / np.linalg.norm(dw) <= radius:
            # The point of the ball with the least margin, by a numerical optimiser.
            ball = {
                "type": "ineq",
                "fun": lambda p, x=x, r=radius: r**2 - (p - x) @ (p - x),
            }
            point = minimize(lambda p, dw=dw: dw @ p, x, constraints=ball, tol=1e-14).x
            inside += 1
            np.testing.assert_allclose(
                point, x - radius * dw / np.linalg.norm(dw), atol=1e-5
            )
            point = x - radius * dw / np.linalg.norm(dw)
        else:
            continue
        W[pos] += point
        W[neg] -= point
    assert inside > 3
    np.testing.assert_allclose(taught(Ballseptron(0.3), X, y).coef_, W, rtol=1e-9)


def divergence(mean, covariance, mean_before, covariance_before):
    """Kullback-Leibler, of two Gaussians."""
    inverse = np.linalg.inv(covariance_before)
    moved = mean - mean_before
    return 0.5 * (
        np.log(np.linalg.det(covariance_before) / np.linalg.det(covariance))
        + np.trace(inverse @ covariance)
        + moved @ inverse @ moved
        - len(mean)
    )


def best_gaussian(cost, mean, covariance):
    """Minimise divergence plus cost over means and covariances, numerically."""
    d = len(mean)
    lower = np.tril_indices(d)

    def unpack(z):
        factor = np.zeros((d, d))
        factor[lower] = z[d:]
        return z[:d], factor @ factor.T

    def objective(z):
        m, S = unpack(z)
        return divergence(m, S, mean, covariance) + cost(m, S)

    start = np.concatenate([mean + 1e-3, np.linalg.cholesky(covariance)[lower]])
    found = minimize(
        objective, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000}
    )
    return unpack(found.x)


def binary_step(learner, mean, covariance, x):
    """The mean and covariance after a step of the binary original, by the learner's own factors."""
    a, b = learner.factors(float(mean @ x), float(x @ covariance @ x))
    along = covariance @ x
    return mean + a * along, covariance - b * np.outer(along, along)


@pytest.fixture
def gaussian():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    return 0.2 * rng.normal(size=3), root @ root.T + 0.5 * np.eye(3), rng.normal(size=3)


@pytest.mark.parametrize("r", [0.3, 1.0, 5.0])
def test_arow_minimises_its_objective(gaussian, r):
    mean, covariance, x = gaussian

    def cost(m, S):
        return max(0.0, 1 - m @ x) ** 2 / (2 * r) + x @ S @ x / (2 * r)

    expected_mean, expected_covariance = best_gaussian(cost, mean, covariance)
    found_mean, found_covariance = binary_step(AROW(r), mean, covariance, x)
    np.testing.assert_allclose(found_mean, expected_mean, atol=1e-5)
    np.testing.assert_allclose(found_covariance, expected_covariance, atol=1e-5)


@pytest.mark.parametrize("eta", [0.75, 0.9, 0.99])
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_scw_two_minimises_its_objective(gaussian, C, eta):
    mean, covariance, x = gaussian
    phi = ndtri(eta)

    def cost(m, S):
        return C * max(0.0, phi * np.sqrt(x @ S @ x) - m @ x) ** 2

    expected_mean, expected_covariance = best_gaussian(cost, mean, covariance)
    found_mean, found_covariance = binary_step(SCW(C, eta, 2), mean, covariance, x)
    np.testing.assert_allclose(found_mean, expected_mean, atol=1e-4)
    np.testing.assert_allclose(found_covariance, expected_covariance, atol=1e-4)


@pytest.mark.parametrize("eta", [0.75, 0.9, 0.99])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 100.0])
def test_scw_one_minimises_its_objective(gaussian, C, eta):
    mean, covariance, x = gaussian
    phi = ndtri(eta)

    def objective(m, S):
        loss = max(0.0, phi * np.sqrt(x @ S @ x) - m @ x)
        return divergence(m, S, mean, covariance) + C * loss

    m, S = binary_step(SCW(C, eta, 1), mean, covariance, x)
    best = objective(m, S)
    # The loss has a kink, where optimisers stumble: nothing nearby is lower instead.
    rng = np.random.default_rng(2)
    for scale in (1e-1, 1e-2, 1e-3, 1e-4):
        for _ in range(300):
            factor = np.linalg.cholesky(S) + scale * np.tril(rng.normal(size=(3, 3)))
            near = objective(m + scale * rng.normal(size=3), factor @ factor.T)
            assert near >= best - 1e-12
    # With a loss left the multiplier is at its bound; without, the constraint is met.
    left = phi * np.sqrt(x @ S @ x) - m @ x
    a, _ = SCW(C, eta, 1).factors(float(mean @ x), float(x @ covariance @ x))
    assert a == C if left > 1e-9 else abs(left) < 1e-9


def reference_factors(learner, margin, variance):
    """What the mean moves by and the variance shrinks by, from the conditions of a minimum."""
    if isinstance(learner, AROW):
        # The slope of KL + hinge^2 / 2r, and the inverse of S^-1 + x x^T / r.
        if margin >= 1:
            return 0.0, 0.0
        along = brentq(
            lambda a: a * learner.r - (1 - margin - a * variance),
            0,
            1e9,
            xtol=1e-300,
            rtol=1e-15,
        )
        after = 1 / (1 / variance + 1 / learner.r)
        return along, (variance - after) / variance**2
    phi = ndtri(learner.eta)
    if margin >= phi * np.sqrt(variance):
        return 0.0, 0.0

    def root(t):
        """sqrt(u) of 1 / u = 1 / v + t phi / sqrt(u): where the covariance is best."""
        return brentq(
            lambda s: s * s + t * phi * variance * s - variance,
            0,
            2 * np.sqrt(variance),
            xtol=1e-300,
            rtol=1e-15,
        )

    def left(t):
        """The loss at this multiplier, less what the squared loss leaves of it."""
        slack = t / (2 * learner.C) if learner.variant == 2 else 0.0
        return phi * root(t) - margin - t * variance - slack

    t = brentq(left, 0, 1e9, xtol=1e-300, rtol=1e-15)
    if learner.variant == 1:
        t = min(learner.C, t)
    after = root(t) ** 2
    return t, (variance - after) / variance**2


@pytest.mark.parametrize(
    "learner",
    [AROW(), AROW(0.1), AROW(30.0)]
    + [SCW(C, eta, v) for C in (0.1, 1.0, 50.0) for eta in (0.6, 0.9) for v in (1, 2)],
    ids=str,
)
def test_steps_are_those_that_solve_the_conditions_of_a_minimum(learner):
    rng = np.random.default_rng(3)
    wrong, right = 0, 0
    for _ in range(300):
        variance = 10 ** rng.uniform(-2, 2)
        # Far on the wrong side, near the boundary, and right but not surely enough.
        margin = np.sqrt(variance) * rng.uniform(-4, 1.5)
        a, b = learner.factors(margin, variance)
        expected = reference_factors(learner, margin, variance)
        np.testing.assert_allclose((a, b), expected, rtol=1e-9, atol=1e-14)
        wrong += margin < 0 < a
        right += margin > 0 and a > 0
    assert wrong > 50 and right > 10


@pytest.mark.parametrize("variant", [1, 2])
def test_scw_leaves_a_sample_alone_that_is_right_for_sure(variant):
    assert SCW(variant=variant).factors(margin=10.0, variance=1.0) == (0.0, 0.0)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize(
    "make",
    [AROW, SCW, functools.partial(SCW, variant=2)],
    ids=["arow", "scw I", "scw II"],
)
def test_confident_learners_are_the_naive_loop(problem, make, covariance):
    X, y = problem
    learner = taught(make(covariance=covariance), X, y)
    W = np.zeros((4, 5))
    S = np.tile(np.eye(5) / (X[0] @ X[0]), (4, 1, 1))
    for x, pos in zip(X, y, strict=True):
        neg = hardest(W @ x, pos)
        a, b = reference_factors(
            make(), (W[pos] - W[neg]) @ x, x @ S[pos] @ x + x @ S[neg] @ x
        )
        for c, sign in ((pos, 1), (neg, -1)):
            along = S[c] @ x
            W[c] += sign * a * along
            S[c] -= b * np.outer(along, along)
            if covariance == "diagonal":
                S[c] = np.diag(np.diag(S[c]))
    np.testing.assert_allclose(learner.coef_, W, rtol=1e-9, atol=1e-11)
    assert all((np.linalg.eigvalsh(each) > 0).all() for each in S)


def test_coin_betting_is_the_naive_loop(problem):
    X, y = problem
    learner = taught(CoinBetting(), X, y)
    outcomes, bets = [], []
    longest = 0.0
    for x, pos in zip(X, y, strict=True):
        longest = max(longest, np.sqrt(2) * np.linalg.norm(x))
        money = 1 + sum(np.sum(c * W) for c, W in zip(outcomes, bets, strict=True))
        W = money / (len(outcomes) + 1) * sum(outcomes, np.zeros((4, 5)))
        scores = W @ x / longest
        neg = hardest(scores, pos)
        outcome = np.zeros((4, 5))
        if scores[pos] - scores[neg] < 1:
            outcome[pos] = x / longest
            outcome[neg] = -x / longest
        outcomes.append(outcome)
        bets.append(W)
        assert money > 0 and np.linalg.norm(outcome) <= 1 + 1e-12
    money = 1 + sum(np.sum(c * W) for c, W in zip(outcomes, bets, strict=True))
    assert learner.money_ == pytest.approx(money, rel=1e-9)
    expected = X @ (money / 81 * sum(outcomes)).T / longest
    np.testing.assert_allclose(learner.decision_function(X), expected, rtol=1e-9)


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_units_do_not_matter(problem, make):
    X, y = problem
    one = taught(make(), X, y).decision_function(X).argmax(axis=1)
    two = taught(make(), 1000 * X, y).decision_function(1000 * X).argmax(axis=1)
    assert (one == two).all()


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_the_older_class_of_sparse_rows_is_taken_too(problem, make):
    """Of a csr_matrix, * is the product of matrices."""
    X, y = problem
    if not make().takes_sparse:
        pytest.skip("takes no sparse rows")
    dense = taught(make(), X, y).decision_function(X)
    found = taught(make(), csr_matrix(X), y).decision_function(csr_matrix(X))
    np.testing.assert_allclose(found, dense, rtol=1e-9, atol=1e-12)


def test_covariances_that_the_machine_has_no_room_for_are_refused():
    X = np.zeros((2, 100_000), np.float32)
    with pytest.raises(rsbench.UserError, match="covariances of 100,000 features each"):
        AROW(covariance="full").partial_fit(X, np.array([0, 1]), classes=np.arange(4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (functools.partial(AROW, r=0), "AROW: r=0, expected a number above 0"),
        (functools.partial(AROW, covariance="some"), "expected diagonal or full"),
        (functools.partial(SCW, C=-1), "SCW: C=-1"),
        (functools.partial(SCW, eta=0.5), "SCW: eta=0.5"),
        (functools.partial(SCW, variant=3), "SCW: variant=3"),
        (functools.partial(Ballseptron, radius=-1), "Ballseptron: radius=-1"),
    ],
)
def test_parameters_that_make_no_sense_are_named(make, message):
    with pytest.raises(rsbench.UserError, match=message):
        make().check_params()
