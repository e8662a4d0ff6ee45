"""What a corruption of annotations promises."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rsbench.checks.assertions import (
    ComponentError,
    adopted,
    assert_same,
    assert_shape,
    assert_unchanged,
    numbers,
)
from rsbench.checks.problem import make_problem
from rsbench.checks.promise import Make, promise
from rsbench.core import components
from rsbench.core.components import Corruption
from rsbench.core.seeds import stream


@promise("corruption")
def values(make: Make) -> None:
    """Votes come back in the shape they had, between 0 and 1, or NaN where nobody is
    asked any more."""
    for Z in _kinds_of_votes():
        votes = corrupted(adopted(make, Corruption), Z)
        given = votes[~np.isnan(votes)]
        assert ((given >= 0) & (given <= 1)).all(), (
            f"votes go from {given.min()} to {given.max()}, expected 0 to 1"
        )


@promise("corruption")
def makes_no_votes_up(make: Make) -> None:
    """There are no more votes than before: where nobody was asked (NaN), nobody is."""
    for Z in _kinds_of_votes():
        votes = corrupted(adopted(make, Corruption), Z)
        # They may have moved, whole samples or features of a sample.
        before = np.sum(~np.isnan(Z))
        after = np.sum(~np.isnan(votes))
        assert after <= before, f"{before} votes were given, {after} came back"


@promise("corruption")
def is_drawn_by_its_stream(make: Make) -> None:
    """The same votes and the same random stream give the same result."""
    for Z in _kinds_of_votes():
        assert_same(
            corrupted(adopted(make, Corruption), Z),
            corrupted(adopted(make, Corruption), Z),
            "the same random stream gives other votes",
            tolerance=0,
        )


@promise("corruption")
def leaves_its_inputs(make: Make) -> None:
    """It does not change the votes it is given, nor the labels if it names `y`: other
    methods are to see them too."""
    for Z in _kinds_of_votes():
        before = Z.copy()
        y = make_problem().y
        corrupted(adopted(make, Corruption), Z, y)
        assert_unchanged(Z, before, "the votes given")
        assert_unchanged(y, make_problem().y, "the labels given")


@promise("corruption")
def says_whether_it_changes_votes(make: Make) -> None:
    """If it says that it changes no votes (`changes_votes = False`), it is never asked,
    and it changes none."""
    corruption = adopted(make, Corruption)
    if corruption.changes_votes:  # one that changes none by chance breaks nothing
        return
    for Z in _kinds_of_votes():
        votes = corrupted(corruption, Z)
        assert_same(votes, Z, "it says that it changes no votes, but", tolerance=0)


@promise("corruption")
def says_whether_nobody_annotates(make: Make) -> None:
    """If it says that nobody annotates anything (`is_absent = True`), no vote is
    left."""
    # What such a run shows is taken for the method without annotations.
    if not adopted(make, Corruption).is_absent:
        return
    for Z in _kinds_of_votes():
        left = np.sum(~np.isnan(corrupted(adopted(make, Corruption), Z)))
        assert left == 0, f"it says that nobody annotates, but {left} votes are left"


def corrupted(
    corruption: Any, Z: np.ndarray, y: np.ndarray | None = None
) -> np.ndarray:
    """Return the votes as the corruption leaves them."""
    if y is None:
        y = make_problem().y
    # Always the same stream, so that only the corruption can make a difference.
    rng = stream(5, "checks")
    try:
        made = components.corrupted(corruption, Z, y, rng)
    except Exception as error:
        raise ComponentError("__call__", error) from error
    votes = numbers(made, "it")
    assert_shape(votes, Z.shape, "it")
    # As floats, in which any votes can be compared, and NaN be found.
    return votes.astype(np.float64)


def _kinds_of_votes() -> Iterator[np.ndarray]:
    """Yield yes-or-no votes, graded ones, and some with votes that were not given."""
    Z = make_problem().Z
    yield Z.copy()
    graded = stream(3, "checks").random(Z.shape) * Z
    yield graded.astype(np.float32)
    is_missing = stream(4, "checks").random(Z.shape) < 0.3
    yield np.where(is_missing, np.nan, Z)
