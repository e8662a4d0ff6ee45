"""Small problems to try components on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.core.data import Background
from rsbench.core.seeds import stream


@dataclass(frozen=True)
class Problem:
    """Samples of a few classes around a point each, with annotations.

    `make_problem` gives dense arrays; those of sparse rows are what a run would give.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Labels; the first samples are one of each class.
    Z : ndarray of shape (n, d), bool
        Votes, mostly for features in which a class is large.
    R : ndarray of shape (n, d)
        Relevance: 1 where a feature is marked, nearly 0 elsewhere.
    classes : ndarray of shape (K,)
        All classes.
    background : Background
        Samples of other classes, with labels and votes.
    """

    X: Any
    y: np.ndarray
    Z: Any
    R: Any
    classes: np.ndarray
    background: Background


def make_problem(
    n: int = 60,
    d: int = 6,
    classes: int = 4,
    dtype: type = np.float64,
    scale: float = 1.0,
) -> Problem:
    """Return `n` samples of `d` features, always the same ones."""
    rng = stream(0, "checks")
    others = stream(1, "checks")
    # One of each class first, so that a stream of any length has met all of them.
    drawn = rng.integers(classes, size=max(0, n - classes))
    y = np.concatenate([np.arange(classes), drawn])
    prototypes = rng.random((classes, d))
    noise = 0.5 * rng.random((len(y), d))
    X = scale * (noise + prototypes[y])
    # Marks tell something about the class, but not all: people miss some and err.
    is_large = prototypes >= np.median(prototypes, axis=0)
    chance = np.where(is_large, 0.7, 0.1)
    Z = rng.random((len(y), d)) < chance[y]
    R = np.where(Z, 1.0, 1e-10)
    # Five classes more, from a stream of their own.
    other_y = np.arange(60) % 5
    other_X = scale * (others.random((5, d))[other_y] + 0.5 * others.random((60, d)))
    other_Z = others.random((60, d)) < 0.4
    background = Background(other_X.astype(dtype), other_y, other_Z)
    return Problem(X.astype(dtype), y, Z, R, np.arange(classes), background)
