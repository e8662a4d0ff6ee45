"""Every way of the engine against what it promises, one sample at a time."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsbench.learners import SVMFF, Ellipsotron, FeatureScaling, Lean, engine
from rsbench.learners.blocked import CorrectedScores, SummedScores, learn_in_blocks
from rsbench.learners.bounded import learn_with_bounds
from rsbench.learners.engine import block_size, learn, learn_one_by_one

#: The engine's ways to learn in blocks, each of which it takes for some shapes only.
WAYS = {
    "summed": functools.partial(learn_in_blocks, keep=SummedScores),
    "corrected": functools.partial(learn_in_blocks, keep=CorrectedScores),
    "bounds": learn_with_bounds,
}
ways = st.sampled_from(list(WAYS))


def learn_in(way, W, y, score, step, predict, tau, block):
    """Learn in one of the engine's ways, whatever the shape; `block` may leave the size to the engine."""
    size = block or block_size(W, len(y))
    return WAYS[way](W, y, score, step, predict, tau, size)


def plain(W, y, score, step, predict, tau):
    """What every way promises, as plainly as it can be said."""
    margins = []
    for i, pos in enumerate(y):
        others = np.arange(len(W)) != pos
        scores, predicted = W @ score[i], W @ predict[i]
        neg = int(np.where(others, scores, -np.inf).argmax())
        margins.append(float(predicted[pos] - predicted[others].max()))
        loss = 1.0 - float(scores[pos] - scores[neg])
        if loss > 0:
            t = tau(loss, float(score[i] @ step[i]))
            W[pos] += t * step[i]
            W[neg] -= t * step[i]
    return np.array(margins)


#: Up to more classes that move in a block than one product would write.
shapes = st.tuples(st.integers(2, 150), st.integers(1, 30), st.integers(1, 150))
blocks = st.sampled_from([None, 1, 2, 3, 16, 1000])
seeds = st.integers(0, 2**32 - 1)


def rows(kind, X, R):
    """What each family of learners scores, along which it steps, and on what it predicts."""
    return {
        "lean": (X, X, X),
        "scaling": (R * X, R * X, X),
        "ellipsotron": (X, R * R * X, X),
    }[kind]


def labels(rng, n, classes, repeated):
    """Random ones, or long repeats of the same: blocks in which classes move more than once."""
    drawn = rng.integers(classes, size=n)
    return np.sort(drawn) if repeated else drawn


def whole_numbers(rng, shape, started):
    """Samples, relevance and first weights with no rounding, but ties in abundance."""
    classes, d, n = shape
    X = rng.integers(-2, 3, (n, d)).astype(float)
    R = rng.integers(0, 3, (n, d)).astype(float)
    return X, R, rng.integers(-1, 2, (classes, d)) * 0.25 * started


def power_of_two(loss, squared_norm):
    """A step that leaves whole numbers of eighths."""
    if squared_norm == 0:
        return 0.0
    if loss < 1.5:
        return 0.25
    return 0.125 if loss < 4 else -0.125


@settings(deadline=None, max_examples=200)
@given(
    ways,
    shapes,
    blocks,
    st.sampled_from(["lean", "scaling", "ellipsotron"]),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_with_exact_arithmetic_blocks_are_the_plain_loop_to_the_bit(
    way, shape, block, kind, repeated, started, seed
):
    """Small whole numbers and steps by powers of two have no rounding, but ties in abundance."""
    rng = np.random.default_rng(seed)
    X, R, start = whole_numbers(rng, shape, started)
    y = labels(rng, len(X), len(start), repeated)
    one, two = start.copy(), start.copy()
    score, step, predict = rows(kind, X, R)
    expected = plain(one, y, score, step, predict, power_of_two)
    found = learn_in(way, two, y, score, step, predict, power_of_two, block)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(two, one)


@settings(deadline=None, max_examples=50)
@given(
    shapes,
    st.sampled_from(["lean", "scaling", "ellipsotron"]),
    st.sampled_from([learn, learn_one_by_one]),
    seeds,
)
def test_what_the_engine_picks_is_what_it_promises_to_the_bit(
    shape, kind, learn_it, seed
):
    rng = np.random.default_rng(seed)
    X, R, start = whole_numbers(rng, shape, started=True)
    y = labels(rng, len(X), len(start), repeated=False)
    one, two = start.copy(), start.copy()
    score, step, predict = rows(kind, X, R)
    expected = plain(one, y, score, step, predict, power_of_two)
    found = learn_it(two, y, score, step, predict, power_of_two)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(two, one)


@pytest.mark.parametrize(
    ("shape", "n", "dtype", "way"),
    [
        ((10, 900), 96, np.float64, "learn_one_by_one"),
        ((60, 40), 96, np.float64, SummedScores),
        ((60, 40), 15, np.float64, "learn_one_by_one"),
        ((400, 300), 96, np.float64, CorrectedScores),
        ((1000, 1000), 96, np.float64, "learn_with_bounds"),
        ((1000, 1000), 31, np.float64, CorrectedScores),
        ((1000, 1000), 96, np.float32, CorrectedScores),
    ],
)
def test_each_shape_is_learned_in_its_way(shape, n, dtype, way, monkeypatch):
    """By what docs/speed.md has measured to be the fastest."""
    taken = []

    def noting(name):
        def note(W, y, score, step, predict, tau, size=None, keep=name):
            taken.append(keep)

        return note

    for name in ("learn_one_by_one", "learn_in_blocks", "learn_with_bounds"):
        monkeypatch.setattr(engine, name, noting(name))
    X = np.zeros((n, shape[1]), dtype)
    learn(np.zeros(shape, dtype), np.zeros(n, int), X, X, X, Lean().tau)
    assert taken == [way]


@settings(deadline=None, max_examples=200)
@given(
    ways,
    shapes,
    blocks,
    st.sampled_from(["lean", "scaling", "ellipsotron"]),
    st.sampled_from(["pa", "pa1", "pa2"]),
    st.sampled_from(["hard", "soft", "ones", "nothing"]),
    st.booleans(),
    seeds,
)
def test_blocks_are_the_plain_loop_but_for_rounding(
    way, shape, block, kind, variant, pattern, repeated, seed
):
    classes, d, n = shape
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), labels(rng, n, classes, repeated)
    R = {
        "hard": np.where(rng.random((n, d)) < 0.3, 1.0, 1e-10),
        "soft": rng.random((n, d)) + 0.05,
        "ones": np.ones((n, d)),
        "nothing": np.full((n, d), 1e-10),
    }[pattern]
    # Untouched classes would tie at zero; two that moved may tie but for rounding.
    start = rng.normal(size=(classes, d))
    one, two, longest, lean = start.copy(), start.copy(), 1.0, Lean(variant=variant)
    score, step, predict = rows(kind, X, R)

    def tau(loss, squared_norm):
        """Remembers how far weights went: what a later step takes back leaves its rounding behind."""
        nonlocal longest
        found = lean.tau(loss, squared_norm)
        longest = max(longest, found * squared_norm**0.5)
        return found

    expected = plain(one, y, score, step, predict, tau)
    found = learn_in(way, two, y, score, step, predict, lean.tau, block)
    scale = max(longest, float(np.abs(one).max()))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * scale)
    np.testing.assert_allclose(two, one, rtol=1e-10, atol=1e-10 * scale)


@pytest.mark.parametrize("close", [1e-6, 1e-8, 1e-12])
@pytest.mark.parametrize("alike", [3, 300])
def test_classes_that_single_precision_cannot_tell_apart_are_told_apart(
    close, alike, rng
):
    """Every sample has a few, or too many to look at one by one, that score nearly the same."""
    X, y = rng.random((100, 20)), rng.integers(400, size=100)
    start = rng.normal(size=(400, 20))
    start[:alike] = 3.0 + close * rng.normal(size=(alike, 20))
    one, two = start.copy(), start.copy()
    expected = plain(one, y, X, X, X, Lean().tau)
    np.testing.assert_allclose(
        learn_in("bounds", two, y, X, X, X, Lean().tau, 32), expected, atol=1e-10
    )
    np.testing.assert_allclose(two, one, atol=1e-10)


@pytest.mark.parametrize("way", WAYS)
def test_of_classes_level_at_zero_the_lowest_moves(way):
    """One has weights that the sample does not touch, the others have none."""
    W = np.zeros((8, 4))
    W[5, 3] = 1.0
    X = np.tile([1.0, 1.0, 0.0, 0.0], (2, 1))
    learn_in(way, W, np.array([7, 7]), X, X, X, Lean(variant="pa").tau, 2)
    assert W[0, 0] == -0.25 and W[5, 0] == 0


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("relevance", [1.0, 1e-30])
@pytest.mark.filterwarnings("error")
def test_sizes_without_room_in_single_precision(size, relevance, rng):
    X, y = size * rng.normal(size=(60, 8)), rng.integers(200, size=60)
    step = np.where(rng.random(X.shape) < 0.5, 1.0, relevance) * X
    step[::7] *= relevance
    start = rng.normal(size=(200, 8)) / size
    one, two = start.copy(), start.copy()
    expected = plain(one, y, X, step, X, Lean(variant="pa").tau)
    np.testing.assert_allclose(
        learn_in("bounds", two, y, X, step, X, Lean(variant="pa").tau, 16),
        expected,
        rtol=1e-9,
    )
    np.testing.assert_allclose(two, one, rtol=1e-9)


def test_bounds_hold_again_after_a_block_without_them(rng):
    """The third sample's step has no room in single precision: its block does without bounds, the next has them."""
    u = rng.random(3)
    first = [[*u, 1.0], [*(u + 1e-9 * rng.random(3)), 1.0], [*u, 1.0]]
    X = np.array([*first, *([*rng.random(3), 0.0] for _ in range(3))])
    step, y = X.copy(), np.array([0, 1, 2, 3, 3, 3])
    step[2] = 1e-30
    one, two = np.zeros((5, 4)), np.zeros((5, 4))
    one[4, 3] = two[4, 3] = 100.0
    plain(one, y, X, step, X, lambda loss, squared_norm: 0.5)
    learn_in("bounds", two, y, X, step, X, lambda loss, squared_norm: 0.5, 3)
    np.testing.assert_allclose(two, one, atol=1e-10)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_steps_beyond_single_precision_within_a_block():
    """Two classes go as far as single precision reaches, and come back: the lower one is the last sample's hardest."""
    X, y, start = (
        np.tile([1.0, 0.0], (5, 1)),
        np.array([0, 0, 0, 0, 5]),
        -np.ones((6, 2)),
    )
    start[:2] = 0.0
    one, two = start.copy(), start.copy()
    for learn_it, W in (
        (plain, one),
        (lambda *args: learn_in("bounds", *args, 5), two),
    ):
        taus = iter([-2e38, -2e38, 2e38, 2e38, 0.5])
        learn_it(W, y, X, X, X, lambda loss, squared_norm, taus=taus: next(taus))
    np.testing.assert_array_equal(two, one)
    assert one[0, 0] == -0.5 and one[1, 0] == 0


@pytest.mark.filterwarnings("error")
def test_samples_that_are_next_to_nothing(rng):
    X, y = rng.normal(size=(40, 5)), rng.integers(20, size=40)
    X[::3], X[1::3] = 0.0, 1e-180 * X[1::3]
    one, two = (np.ones((20, 5)) * np.arange(20)[:, None] for _ in range(2))
    expected = plain(one, y, X, X, X, Lean().tau)
    np.testing.assert_allclose(
        learn_in("bounds", two, y, X, X, X, Lean().tau, 16), expected, atol=1e-10
    )
    np.testing.assert_allclose(two, one, atol=1e-10)


@pytest.mark.parametrize("block", [1, 16])
@pytest.mark.parametrize("way", ["one by one", *WAYS])
def test_single_precision_samples_leave_double_precision_weights_precise(
    way, block, rng
):
    X, y = rng.normal(size=(60, 6)).astype(np.float32), rng.integers(8, size=60)
    one, two = np.zeros((8, 6)), np.zeros((8, 6))
    exact = X.astype(np.float64)
    plain(one, y, exact, exact, exact, Lean().tau)
    if way == "one by one":
        learn_one_by_one(two, y, X, X, X, Lean().tau)
    else:
        learn_in(way, two, y, X, X, X, Lean().tau, block)
    np.testing.assert_allclose(two, one, atol=1e-12)


@pytest.mark.parametrize("kind", ["lean", "scaling", "ellipsotron"])
@pytest.mark.parametrize("way", ["summed", "corrected"])
@pytest.mark.parametrize("block", [None, 7, 64])
def test_single_precision_predicts_the_same(kind, way, block, rng):
    n, d, classes = 300, 40, 20
    prototypes = rng.normal(size=(classes, d))
    y = rng.integers(classes, size=n)
    X = (prototypes[y] + 0.5 * rng.normal(size=(n, d))).astype(np.float32)
    R = np.where(rng.random((n, d)) < 0.3, 1.0, 1e-10)
    one, two = np.zeros((classes, d), np.float32), np.zeros((classes, d), np.float32)
    score, step, predict = rows(kind, X, R)
    expected = plain(one, y, score, step, predict, Lean().tau)
    found = learn_in(way, two, y, score, step, predict, Lean().tau, block)
    assert two.dtype == np.float32
    certain = np.abs(expected) > 1e-4
    assert certain.mean() > 0.9 and ((found > 0) == (expected > 0))[certain].all()
    scores = X @ one.T
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    assert ((X @ two.T).argmax(1) == scores.argmax(1))[first - second > 1e-4].all()


@pytest.mark.parametrize("level", [1e-10, 1e-30, 1e-100])
def test_steps_too_small_for_single_precision_are_still_taken(level, rng):
    """An exact step along tiny relevance is as long as any: the learner's own precision must not round it away."""
    X, y = rng.normal(size=(40, 6)).astype(np.float32), rng.integers(4, size=40)
    step = level**2 * X.astype(np.float64)
    one, two = np.zeros((4, 6), np.float32), np.zeros((4, 6), np.float32)
    tau = Lean(variant="pa").tau
    plain(one, y, X, step, X, tau)
    learn_in("corrected", two, y, X, step, X, tau, 8)
    assert np.abs(one).max() > 0.1
    np.testing.assert_allclose(two, one, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_no_tau_is_asked_for_without_a_loss_and_each_sample_asks_once(way, rng):
    X, y = rng.normal(size=(50, 8)), rng.integers(5, size=50)
    asked = []

    def tau(loss, squared_norm):
        asked.append((loss, squared_norm))
        return 0.5

    one = learn_one_by_one(np.zeros((5, 8)), y, X, X, X, tau)
    sixteen = learn_in(way, np.zeros((5, 8)), y, X, X, X, tau, 16)
    assert len(asked) == 2 * (one < 1).sum() < 100
    first, second = np.split(np.array(asked), 2)
    np.testing.assert_allclose(first[:, 0], 1 - one[one < 1])
    np.testing.assert_allclose(second, first)
    np.testing.assert_allclose(sixteen, one)


@pytest.mark.parametrize("learner", [Lean, FeatureScaling, Ellipsotron, SVMFF])
def test_how_a_stream_is_cut_does_not_matter(learner, rng):
    n, d, classes = 200, 12, 300  # several blocks
    X, y = rng.normal(size=(n, d)), rng.integers(classes, size=n)
    R = np.where(rng.random((n, d)) < 0.4, 1.0, 0.1)
    name = {Lean: None, SVMFF: "annotation"}.get(learner, "relevance")
    found = []
    for cuts in ([], [1], [7, 8, 150], list(range(1, n))):
        made = learner()
        parts = np.split(np.arange(n), cuts)
        margins = [
            made.prequential(
                X[i], y[i], np.arange(classes), **({name: R[i]} if name else {})
            )
            for i in parts
        ]
        found.append((np.concatenate(margins), made.coef_))
    for margins, weights in found[1:]:
        np.testing.assert_allclose(margins, found[0][0], atol=1e-10)
        np.testing.assert_allclose(weights, found[0][1], atol=1e-10)


@pytest.mark.parametrize("classes", [400, 4000])
def test_threads_do_not_change_the_result(classes, tmp_path):
    script = f"""
import sys
import numpy as np
from rsbench.learners import Ellipsotron
rng = np.random.default_rng(0)
X, y = rng.normal(size=(600, 300)), rng.integers({classes}, size=600)
np.save(sys.argv[1], Ellipsotron().fit(X, y, relevance=rng.random(X.shape)).coef_)
"""
    for threads in ("1", "2"):
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        }
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / threads)],
            env=environment,
            check=True,
        )
    one, two = (np.load(tmp_path / f"{threads}.npy") for threads in ("1", "2"))
    np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-10)


def test_blocks_grow_with_weights_within_bounds():
    sizes = [
        block_size(np.empty((classes, 300)), 1000)
        for classes in (20, 50, 400, 2000, 10_000, 10**6)
    ]
    assert sizes == sorted(sizes) and sizes[0] > 1 and sizes[-1] <= 256
    for small in ((2, 2000), (1000, 50)):  # nothing to gain: W stays at hand
        assert block_size(np.empty(small), 1000) == 1
    assert block_size(np.empty((50, 300)), 2) == 1
