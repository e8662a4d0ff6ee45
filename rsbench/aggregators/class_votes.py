"""Relevance of a class, or of all classes together, from many samples' annotations."""

import functools
import logging
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from rsbench.core.components import Aggregator
from rsbench.core.data import positions
from rsbench.core.sparse import SparseVotes, by_class, dense, row_numbers
from rsbench.core.told import Told
from rsbench.errors import UserError, check_positive

log = logging.getLogger(__name__)

Scope = Literal["teacher", "seen"]


@dataclass(frozen=True)
class VoteCounts:
    """Votes that were given, and samples that could give one, counted by class.

    Counts never change: those of more samples are new ones. So a copy of an aggregator
    shares nothing with it that `see` would alter.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The classes met, sorted.
    votes : ndarray of shape (K, d)
        Sums of the votes.
    samples : ndarray of shape (K, d)
        Numbers of samples that could give a vote.
    """

    classes: np.ndarray
    votes: np.ndarray
    samples: np.ndarray

    def of(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Return votes and samples of one class; zeros if it was not met."""
        at, unknown = positions(np.array([c]), self.classes)
        if unknown[0]:
            nothing = np.zeros(self.votes.shape[1])
            return nothing, nothing
        return self.votes[at[0]], self.samples[at[0]]


class ClassVotes(Aggregator):
    """Count votes by class; a subclass turns the counts into relevance.

    `scope: teacher` counts the votes of the whole training pool and gives every sample
    of a class the same row, also the first: knowledge that a teacher has and an honest
    learner could not have yet. `scope: seen` counts only the votes of the samples up to
    and including the current one.

    Zeros become `irrelevant`; a class without any vote gets all ones, with a warning. A
    vote of NaN could not be given (the feature was not visible) and is counted neither
    for nor against.

    Parameters
    ----------
    scope : {"teacher", "seen"}, default "teacher"
        Whose votes count: the whole training pool's, or those of samples so far.
    irrelevant : float, default 1e-10
        The least relevance, in place of zero.

    Attributes
    ----------
    pool_ : VoteCounts or None
        Of the training pool, if the scope is `teacher`.
    rows_ : ndarray of shape (K, d) or None
        Each class's relevance, if the scope is `teacher` and somebody has asked.
    seen_ : VoteCounts or None
        Of the samples that have passed, if the scope is `seen`.
    """

    # Who could not vote must not count as having voted no.
    takes_missing = True

    pool_: VoteCounts | None = None
    rows_: np.ndarray | None = None
    seen_: VoteCounts | None = None

    def __init__(self, scope: Scope = "teacher", irrelevant: float = 1e-10):
        self.scope = scope
        self.irrelevant = irrelevant

    @property
    def told(self) -> Told:  # type: ignore[override]  # it depends on a parameter
        """Whose votes a learner is told of."""
        if self.scope == "teacher":
            return Told.CLASS_VOTES
        return Told.VOTES

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_positive(self, "irrelevant")

    def fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Count the votes of the training pool, forgetting earlier ones."""
        self.pool_ = None
        self.rows_ = None
        self.seen_ = None
        if self.scope == "teacher":
            self.pool_ = _count(Z, self._groups(y))
            # Now, so that warnings and errors about the votes come before the stream.
            self._class_rows(self.pool_)
        return self

    def partial_fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Count the votes of more of the training pool."""
        if self.scope == "teacher":
            self.pool_ = _count(Z, self._groups(y), self.pool_)
            self.rows_ = None  # of the earlier counts
        return self

    def see(self, Z: np.ndarray, y: np.ndarray) -> None:
        """Count samples that have passed: `relevance` goes on from them."""
        if self.scope == "seen":
            self.seen_ = _count(Z, self._groups(y), self.seen_)

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return one row per sample, in stream order."""
        if self.scope == "teacher":
            return self._by_the_teacher(self._groups(y))
        return self._by_those_seen(np.asarray(Z), self._groups(y))

    def relevance_on(self, X: Any, Z: SparseVotes, y: np.ndarray) -> np.ndarray:
        """Return relevance of the features that sparse rows have."""
        rows = row_numbers(X)
        if self.scope == "teacher":
            of_classes, codes = self._of_the_teacher(self._groups(y))
            return of_classes[codes[rows], X.indices]
        votes = dense(Z, type(self).__name__)
        return self._by_those_seen(votes, self._groups(y))[rows, X.indices]

    def _by_the_teacher(self, y: np.ndarray) -> np.ndarray:
        """Return each sample's class's row."""
        rows, codes = self._of_the_teacher(y)
        return rows[codes]

    def _of_the_teacher(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each class's row, and the class of each sample."""
        if self.pool_ is None:
            raise UserError(
                f"{type(self).__name__}: scope=teacher needs fit before relevance"
            )
        codes, unknown = positions(y, self.pool_.classes)
        if unknown.any():
            raise UserError(
                f"y holds {y[unknown][0]}, a class that was not among the votes "
                "given to fit"
            )
        return self._class_rows(self.pool_), codes

    def _by_those_seen(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return rows by what had been counted once each sample had passed."""
        given, possible = _given_and_possible(Z)
        votes = np.empty(Z.shape)
        samples = np.empty(Z.shape)
        nothing = np.zeros(Z.shape[1])
        # Class by class: a class's counts grow by its own samples alone.
        for c in np.unique(y):
            votes_before = nothing
            samples_before = nothing
            if self.seen_ is not None:
                votes_before, samples_before = self.seen_.of(c)
            of_class = y == c
            votes[of_class] = _running_sum(votes_before, given[of_class])
            samples[of_class] = _running_sum(samples_before, possible[of_class])
        return self._rows(votes, samples)

    def _class_rows(self, pool: VoteCounts) -> np.ndarray:
        """Return each class's row, made once for all parts of a stream."""
        if self.rows_ is None:
            self.rows_ = self._rows(pool.votes, pool.samples)
        return self.rows_

    def _rows(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Return relevance, its floor and silent classes seen to."""
        # Never zero: S^-1 has to have an inverse.
        rows = np.maximum(self._strength(votes, samples), self.irrelevant)
        # Of a class that nobody marked nothing is known, so all of it may matter.
        silent = ~votes.any(axis=1)
        if silent.any():
            if self.scope == "teacher":
                _warn_of_silent_classes(int(silent.sum()), len(rows))
            else:
                _warn_of_silent_samples()
            rows[silent] = 1.0
        return rows

    def _groups(self, y: np.ndarray) -> np.ndarray:
        """Return labels of what is counted together: classes, unless overridden."""
        return np.asarray(y)

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Return rows of relevance before the floor.

        Parameters
        ----------
        votes : ndarray of shape (n, d)
            Sums of votes.
        samples : ndarray of shape (n, d)
            Numbers of samples that could give one.
        """
        raise NotImplementedError


def _count(Z: Any, y: np.ndarray, before: VoteCounts | None = None) -> VoteCounts:
    """Return the counts of these samples, and of those counted before."""
    if not isinstance(Z, SparseVotes):
        Z = np.asarray(Z)
    present = np.unique(y)
    classes = present
    if before is not None:
        classes = np.union1d(before.classes, present)
    votes = np.zeros((len(classes), Z.shape[1]))
    samples = np.zeros((len(classes), Z.shape[1]))
    if before is not None:
        known, _ = positions(before.classes, classes)
        votes[known] = before.votes
        samples[known] = before.samples
    if isinstance(Z, SparseVotes):
        codes, _ = positions(y[Z.asked], classes)
        votes += by_class(Z[Z.asked].matrix, codes, len(classes))
        samples += np.bincount(codes, minlength=len(classes))[:, None]
        return VoteCounts(classes, votes, samples)
    given, possible = _given_and_possible(Z)
    # Sorted by class, so that each class's rows are summed in one go.
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], present)
    at, _ = positions(present, classes)
    votes[at] += np.add.reduceat(given[order], starts, axis=0, dtype=np.float64)
    samples[at] += np.add.reduceat(possible[order], starts, axis=0, dtype=np.float64)
    return VoteCounts(classes, votes, samples)


def _given_and_possible(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the votes that were given, and where one could be."""
    if Z.dtype.kind != "f":  # only floats can be NaN
        return Z, np.ones(Z.shape, bool)
    missing = np.isnan(Z)
    return np.where(missing, 0, Z), ~missing


def _running_sum(before: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return sums up to and including each row, that go on from those before."""
    # In one sum with what was before, so that rounding does not depend on the blocks.
    return np.cumsum(np.vstack([before, rows]), axis=0)[1:]


def _warn_of_silent_classes(silent: int, classes: int) -> None:
    log.warning(
        "%d of %d classes have no vote for any feature: "
        "their relevance is set to all ones",
        silent,
        classes,
    )


@functools.cache  # once, however many parts the stream has
def _warn_of_silent_samples() -> None:
    log.warning(
        "some samples come when their class has no vote for any feature yet: "
        "their relevance is set to all ones"
    )
