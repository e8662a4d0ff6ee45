"""What an aggregator promises."""

import copy
from typing import Any

import numpy as np

from rsbench.checks.assertions import (
    adopted,
    assert_same,
    assert_shape,
    assert_unchanged,
    call,
    numbers,
)
from rsbench.checks.problem import Problem, make_problem
from rsbench.checks.promise import Make, promise
from rsbench.core.components import Aggregator, told_by
from rsbench.core.seeds import stream
from rsbench.core.told import Told


@promise("aggregator")
def values(make: Make) -> None:
    """Relevance is finite and above zero, one row per sample, for votes of 0 and 1 and
    for graded ones."""
    problem = make_problem()
    shape = problem.Z.shape
    graded = stream(3, "checks").random(shape) * problem.Z
    # Where there are no votes at all, a share of them divides by zero.
    silence = np.zeros_like(problem.Z)
    kinds_of_votes = [problem.Z, graded.astype(np.float32), silence]
    if adopted(make, Aggregator).takes_missing:
        is_missing = stream(4, "checks").random(shape) < 0.3
        kinds_of_votes.append(np.where(is_missing, np.nan, problem.Z))
    for Z in kinds_of_votes:
        R = relevance(fitted(make, Z, problem.y), Z, problem.y)
        assert np.isfinite(R).all() and (R > 0).all(), (
            f"relevance goes from {R.min()} to {R.max()}, expected > 0 and finite"
        )


@promise("aggregator")
def is_causal(make: Make) -> None:
    """A sample's relevance does not depend on samples that come after it in the
    stream."""
    # Long enough to find out one that looks ahead in long streams only.
    problem = make_problem(n=400)
    aggregator = fitted(make, problem.Z, problem.y)
    whole = relevance(aggregator, problem.Z, problem.y)
    # The first sample, which knows only of itself; and two places further on.
    for n in (1, 25, 150):
        assert_same(
            whole[:n],
            relevance(aggregator, problem.Z[:n], problem.y[:n]),
            "later samples change earlier ones' relevance",
        )


@promise("aggregator")
def sees_the_pool_only(make: Make) -> None:
    """Votes of samples that are neither in the training pool nor in the stream have no
    way in."""
    problem = make_problem(n=30)
    one = fitted(make, problem.Z, problem.y)
    two = fitted(make, problem.Z.copy(), problem.y.copy())
    relevance(two, ~problem.Z, problem.y)  # asking must not teach it anything
    assert_same(
        relevance(two, problem.Z, problem.y),
        relevance(one, problem.Z, problem.y),
        "asking for relevance changes later answers",
    )


@promise("aggregator")
def is_deterministic(make: Make) -> None:
    """The same votes give the same relevance, and are left as they were."""
    problem = make_problem()
    before = problem.Z.copy()
    first = relevance(fitted(make, problem.Z, problem.y), problem.Z, problem.y)
    assert_unchanged(problem.Z, before, "the votes")
    again = relevance(fitted(make, problem.Z, problem.y), problem.Z, problem.y)
    # To the bit: a record can be had again from its seed.
    assert_same(again, first, "the same votes give other relevance", tolerance=0)


@promise("aggregator")
def parts_are_the_whole(make: Make) -> None:
    """If it can be fitted or asked in parts (`partial_fit`, `see`), the parts come to
    what the whole comes to."""
    problem = make_problem()
    aggregator = fitted(make, problem.Z, problem.y)
    whole = relevance(aggregator, problem.Z, problem.y)
    if aggregator.partial_fit is not None:
        in_parts = _fitted_in_parts(make, problem)
        assert_same(
            relevance(in_parts, problem.Z, problem.y),
            whole,
            "fitted in parts it says something else",
        )
    if aggregator.see is not None:
        # A run copies the fitted aggregator each time it needs the stream again.
        assert_same(
            _asked_in_parts(copy.copy(aggregator), problem),
            whole,
            "asked block by block it says something else",
        )
        assert_same(
            _asked_in_parts(copy.copy(aggregator), problem),
            whole,
            "a copy knows what another copy has seen",
        )


@promise("aggregator")
def says_what_it_tells(make: Make) -> None:
    """`told` names what a learner is told by its relevance: where that is votes, those
    of samples yet to come have no say, and where it is nothing, none have."""
    problem = make_problem()
    aggregator = fitted(make, problem.Z, problem.y)
    assert aggregator.told in [None, *Told], (
        f"told={aggregator.told!r}, expected one of {', '.join(Told)}, or None"
    )
    # A method that is told nothing stands among those without annotations in a table.
    if aggregator.told == Told.NOTHING:
        other = fitted(make, ~problem.Z, problem.y)
        assert_same(
            relevance(other, ~problem.Z, problem.y),
            relevance(aggregator, problem.Z, problem.y),
            "it says that it tells nothing, but other votes make other relevance",
        )
    if told_by(aggregator) == Told.VOTES:
        other = fitted(make, ~problem.Z, problem.y)
        assert_same(
            relevance(other, problem.Z, problem.y),
            relevance(aggregator, problem.Z, problem.y),
            "it says that it tells samples' own votes, but those of the pool that it "
            "was fitted on make other relevance: told = Told.CLASS_VOTES",
        )


def fitted(make: Make, Z: np.ndarray, y: np.ndarray) -> Any:
    """Return a new aggregator fitted on these votes, tuned where it asks for that."""
    aggregator = adopted(make, Aggregator)
    if aggregator.tune is not None:
        # Any candidate will do: promises hold for all of them.
        call(aggregator, "tune", lambda candidate, n: 0.0)
    call(aggregator, "fit", Z, y)
    return aggregator


def relevance(aggregator: Any, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the relevance of these samples."""
    R = numbers(call(aggregator, "relevance", Z, y), "relevance")
    assert_shape(R, Z.shape, "relevance")
    return R


def _fitted_in_parts(make: Make, problem: Problem) -> Any:
    """Return an aggregator that got the training pool in three parts."""
    aggregator = fitted(make, problem.Z[:20], problem.y[:20])
    for rows in (slice(20, 35), slice(35, None)):
        call(aggregator, "partial_fit", problem.Z[rows], problem.y[rows])
    return aggregator


def _asked_in_parts(aggregator: Any, problem: Problem) -> np.ndarray:
    """Return the relevance of the whole stream, asked for block by block."""
    found = []
    for rows in (slice(0, 1), slice(1, 30), slice(30, None)):
        Z = problem.Z[rows]
        y = problem.y[rows]
        found.append(relevance(aggregator, Z, y))
        call(aggregator, "see", Z, y)
    return np.concatenate(found)
