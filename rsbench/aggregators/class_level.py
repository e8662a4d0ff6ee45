"""Relevance of a class, or of all classes together, from many samples' annotations.

`scope: teacher` counts the votes of the whole training pool and gives every sample of a class the
same row, also the first: knowledge that a teacher has and an honest learner could not have yet.
`scope: seen` counts only the votes of the samples up to and including the current one.
Zeros become `irrelevant`; a class without any vote gets all ones, with a warning. A vote of NaN could not
be given (the feature was not visible) and is counted neither for nor against.
"""

import functools
import logging
from collections.abc import Callable
from typing import Literal, Self

import numpy as np

from rsbench.core.data import positions
from rsbench.errors import UserError, check_positive, is_number

log = logging.getLogger(__name__)

Scope = Literal["teacher", "seen"]


_ONES = "their relevance is set to all ones"


@functools.cache
def _warn_of_silence() -> None:
    """Once, however many parts the stream has."""
    log.warning(
        "some samples come when their class has no vote for any feature yet: %s", _ONES
    )


class _ClassLevel:
    """Counts votes per class; a subclass turns counts into relevance."""

    #: Told of votes that could not be given, by NaN.
    takes_missing = True

    irrelevant: float
    scope: Scope
    pool_: "_Votes"
    seen_: "_Votes"
    rows_: np.ndarray

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Rows of relevance before the floor, from summed votes and the samples that could give one, (n, d)."""
        raise NotImplementedError

    def fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Count the votes of the training pool."""
        for name in ("pool_", "rows_", "seen_"):
            vars(self).pop(name, None)
        self.partial_fit(Z, y)
        if self.scope == "teacher":
            self._class_rows()
        return self

    def partial_fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Count the votes of more of the training pool."""
        if self.scope == "teacher":
            self.pool_ = _Votes(
                getattr(self, "pool_", None), np.asarray(Z), self._groups(y)
            )
            vars(self).pop("rows_", None)
        return self

    def see(self, Z: np.ndarray, y: np.ndarray) -> None:
        """Count samples of the stream as seen: `relevance` goes on from them."""
        if self.scope == "seen":
            self.seen_ = _Votes(
                getattr(self, "seen_", None), np.asarray(Z), self._groups(y)
            )

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One row per sample, in stream order."""
        Z, y = np.asarray(Z), self._groups(y)
        if self.scope == "teacher":
            codes, unknown = positions(y, self.pool_.classes)
            if unknown.any():
                raise UserError(
                    f"y holds {y[unknown][0]}, a class that was not among the votes given to fit"
                )
            return self._class_rows()[codes]
        given, possible = _split(Z)
        votes, samples = np.empty(Z.shape), np.empty(Z.shape)
        for c in np.unique(y):
            before = (
                self.seen_.of(c)
                if hasattr(self, "seen_")
                else np.zeros((2, Z.shape[1]))
            )
            votes[y == c] = np.cumsum(np.vstack([before[0], given[y == c]]), axis=0)[1:]
            samples[y == c] = np.cumsum(
                np.vstack([before[1], possible[y == c]]), axis=0
            )[1:]
        return self._rows(votes, samples)

    def _class_rows(self) -> np.ndarray:
        if not hasattr(self, "rows_"):
            self.rows_ = self._rows(self.pool_.votes, self.pool_.samples)
        return self.rows_

    def _groups(self, y: np.ndarray) -> np.ndarray:
        """Labels of what is counted together."""
        return np.asarray(y)

    def _rows(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        rows = np.maximum(self._strength(votes, samples), self.irrelevant)
        silent = ~votes.any(axis=1)
        if silent.any():
            if self.scope == "teacher":
                log.warning(
                    "%d of %d classes have no vote for any feature: %s",
                    silent.sum(),
                    len(rows),
                    _ONES,
                )
            else:
                _warn_of_silence()
            rows[silent] = 1.0
        return rows


class _Votes:
    """Votes given, and samples that could give one, counted per class."""

    classes: np.ndarray
    votes: np.ndarray
    samples: np.ndarray

    def __init__(self, before: "_Votes | None", Z: np.ndarray, y: np.ndarray):
        present = np.unique(y)
        self.classes = (
            present if before is None else np.union1d(before.classes, present)
        )
        self.votes, self.samples = np.zeros((2, len(self.classes), Z.shape[1]))
        if before is not None:
            old = positions(before.classes, self.classes)[0]
            self.votes[old], self.samples[old] = before.votes, before.samples
        order = np.argsort(y, kind="stable")
        starts, at = (
            np.searchsorted(y[order], present),
            positions(present, self.classes)[0],
        )
        for total, part in zip((self.votes, self.samples), _split(Z), strict=True):
            total[at] += np.add.reduceat(part[order], starts, axis=0, dtype=np.float64)

    def of(self, c: int) -> np.ndarray:
        """Votes and samples of a class, (2, d); zero if it was not met."""
        at, unknown = positions(np.array([c]), self.classes)
        return np.vstack([self.votes[at], self.samples[at]]) * (not unknown[0])


def _split(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Votes that were given, and where one could be."""
    if Z.dtype.kind != "f":
        return Z, np.ones(Z.shape, bool)
    missing = np.isnan(Z)
    return np.where(missing, 0, Z), ~missing


class ClassSoft(_ClassLevel):
    """The square root of a feature's share of votes in the class, scaled to L2 norm 1.

    The normalisation also makes steps smaller; `normalize=none` tells the two apart.

    Parameters
    ----------
    normalize : `l2` (as the paper) or `none`.
    scope : `teacher` (the whole training pool) or `seen` (samples so far).
    irrelevant : the floor, in place of zero.
    """

    def __init__(
        self,
        normalize: Literal["l2", "none"] = "l2",
        scope: Scope = "teacher",
        irrelevant: float = 1e-10,
    ):
        self.normalize = normalize
        self.scope = scope
        self.irrelevant = irrelevant
        check_positive(self, "irrelevant")

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        strength = np.sqrt(votes / np.maximum(samples, 1))
        if self.normalize == "l2":
            norm = np.linalg.norm(strength, axis=1, keepdims=True)
            strength = strength / np.where(norm > 0, norm, 1.0)
        return strength


class ClassThreshold(_ClassLevel):
    """1 for features with more than `theta` votes in the class, `irrelevant` for the others.

    Parameters
    ----------
    theta : the threshold, strictly exceeded; `auto` chooses 0..9 in each seed's training pool.
    scale_theta : whether an automatically chosen theta grows with the votes' number of samples.
    scope : `teacher` (the whole training pool) or `seen` (samples so far).
    irrelevant : the floor, in place of zero.
    """

    #: `theta: auto` tries these, learning and validating on that many samples per class each.
    CANDIDATES = range(10)
    TUNING_SAMPLES = 10

    def __init__(
        self,
        theta: int | float | Literal["auto"] = "auto",
        scale_theta: bool = True,
        scope: Scope = "teacher",
        irrelevant: float = 1e-10,
    ):
        self.theta = theta
        self.scale_theta = scale_theta
        self.scope = scope
        self.irrelevant = irrelevant
        check_positive(self, "irrelevant")
        if theta != "auto" and not (is_number(theta) and theta >= 0):
            raise UserError(
                f"ClassThreshold: theta={theta!r}, expected a number from 0 on, or auto"
            )

    def tune(
        self, validate: Callable[["ClassThreshold", int], float]
    ) -> dict[str, float]:
        """Choose theta by validation error, the smaller among equals; nothing to do if it is given.

        `validate(candidate, n)` learns from `n` samples per class of the training pool with the
        candidate's relevance and returns the error on the next `n`.
        """
        if self.theta != "auto":
            return {}
        candidates = [
            ClassThreshold(theta, False, self.scope, self.irrelevant)
            for theta in self.CANDIDATES
        ]
        errors = [validate(candidate, self.TUNING_SAMPLES) for candidate in candidates]
        self.theta_ = self.CANDIDATES[int(np.argmin(errors))]
        return {"theta": self.theta_}

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        if self.theta != "auto":
            return (votes > self.theta).astype(np.float64)
        if not hasattr(self, "theta_"):
            raise UserError(
                "ClassThreshold: theta=auto needs tune() first; outside a run give theta a number"
            )
        scale = samples / self.TUNING_SAMPLES if self.scale_theta else 1.0
        return (votes > self.theta_ * scale).astype(np.float64)


class CrossClasses(_ClassLevel):
    """1 for features marked at least once in any class, `irrelevant` for the others.

    Parameters
    ----------
    scope : `teacher` (the whole training pool) or `seen` (samples so far).
    irrelevant : the floor, in place of zero.
    """

    def __init__(self, scope: Scope = "teacher", irrelevant: float = 1e-10):
        self.scope = scope
        self.irrelevant = irrelevant
        check_positive(self, "irrelevant")

    def _groups(self, y: np.ndarray) -> np.ndarray:
        return np.zeros(len(y), int)

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        return (votes > 0).astype(np.float64)
