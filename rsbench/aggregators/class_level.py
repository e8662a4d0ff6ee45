"""Relevance of a class, or of all classes together, from many samples' annotations.

`scope: teacher` counts the votes of the whole training pool and gives every sample of a class the
same row, also the first: knowledge that a teacher has and an honest learner could not have yet.
`scope: seen` counts only the votes of the samples up to and including the current one.
Zeros become `irrelevant`; a class without any vote gets all ones, with a warning. A vote of NaN could not
be given (the feature was not visible) and is counted neither for nor against.
"""

import logging
from collections.abc import Callable
from typing import Literal, Self

import numpy as np

from rsbench.data import positions
from rsbench.errors import UserError, check_positive, is_number

log = logging.getLogger(__name__)

Scope = Literal["teacher", "seen"]


class _ClassLevel:
    """Counts votes per class; a subclass turns counts into relevance."""

    #: Told of votes that could not be given, by NaN.
    takes_missing = True

    irrelevant: float
    scope: Scope

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """Rows of relevance before the floor, from summed votes and the samples that could give one, (n, d)."""
        raise NotImplementedError

    def fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Count the votes of the training pool."""
        if self.scope == "teacher":
            self.classes_, codes = np.unique(y, return_inverse=True)
            member = (np.arange(len(self.classes_))[:, None] == codes).astype(np.float64)
            given, possible = _split(np.asarray(Z))
            self.rows_ = self._rows(member @ given, member @ possible)
        return self

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One row per sample, in stream order."""
        Z, y = np.asarray(Z), np.asarray(y)
        if self.scope == "teacher":
            codes, unknown = positions(y, self.classes_)
            if unknown.any():
                raise UserError(f"y holds {y[unknown][0]}, a class that was not among the votes given to fit")
            return self.rows_[codes]
        given, possible = _split(Z)
        votes, samples = np.empty(Z.shape), np.empty(Z.shape)
        for c in np.unique(y):
            votes[y == c] = np.cumsum(given[y == c], axis=0, dtype=np.float64)
            samples[y == c] = np.cumsum(possible[y == c], axis=0, dtype=np.float64)
        return self._rows(votes, samples)

    def _rows(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        rows = np.maximum(self._strength(votes, samples), self.irrelevant)
        silent = ~votes.any(axis=1)
        if silent.any():
            log.warning(
                "%d of %d %s no vote for any feature: their relevance is set to all ones",
                silent.sum(),
                len(rows),
                "classes have" if self.scope == "teacher" else "samples come when their class has",
            )
            rows[silent] = 1.0
        return rows


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

    def __init__(self, normalize: Literal["l2", "none"] = "l2", scope: Scope = "teacher", irrelevant: float = 1e-10):
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
            raise UserError(f"ClassThreshold: theta={theta!r}, expected a number from 0 on, or auto")

    def tune(self, validate: Callable[["ClassThreshold", int], float]) -> dict[str, float]:
        """Choose theta by validation error, the smaller among equals; nothing to do if it is given.

        `validate(candidate, n)` learns from `n` samples per class of the training pool with the
        candidate's relevance and returns the error on the next `n`.
        """
        if self.theta != "auto":
            return {}
        candidates = [ClassThreshold(theta, False, self.scope, self.irrelevant) for theta in self.CANDIDATES]
        errors = [validate(candidate, self.TUNING_SAMPLES) for candidate in candidates]
        self.theta_ = self.CANDIDATES[int(np.argmin(errors))]
        return {"theta": self.theta_}

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        if self.theta != "auto":
            return (votes > self.theta).astype(np.float64)
        if not hasattr(self, "theta_"):
            raise UserError("ClassThreshold: theta=auto needs tune() first; outside a run give theta a number")
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

    def fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Count the votes of the training pool, all classes together."""
        return super().fit(Z, np.zeros(len(y), int))

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One row per sample, in stream order."""
        return super().relevance(Z, np.zeros(len(y), int))

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        return (votes > 0).astype(np.float64)
