"""Fewer annotations: how much supervision is enough?"""

from typing import Any

import numpy as np

from rsbench.core.components import Corruption
from rsbench.core.data import rows_at_once
from rsbench.core.evaluation import stack
from rsbench.core.sparse import SparseVotes, as_csr
from rsbench.corruptions.shares import check_share
from rsbench.errors import UserError


class Budget(Corruption):
    """Keep only so many marks, on only so many samples.

    Parameters
    ----------
    marks : int or None, default None
        At most so many marked features of a sample are kept, drawn at random; all of
        them if None.
    samples : float, default 1.0
        Share of samples that are annotated, drawn at random; the others are left
        without annotation, all of their votes NaN.

    Examples
    --------
    >>> import numpy as np
    >>> votes = np.array([[True, True, True, False]])
    >>> int(Budget(marks=1)(votes, np.random.default_rng(0)).sum())
    1
    """

    takes_sparse = True

    def __init__(self, marks: int | None = None, samples: float = 1.0):
        self.marks = marks
        self.samples = samples

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        if self.marks is not None and self.marks < 1:
            raise UserError(f"annotation.marks={self.marks}, expected 1 or more")
        check_share(self, "samples")

    def __call__(self, Z: Any, rng: np.random.Generator) -> Any:
        """Return the votes within the budget; what was not given stays so."""
        if isinstance(Z, SparseVotes):
            return self._sparse(Z, rng)
        # Both are always drawn, so that `samples` picks the same ones for all `marks`.
        luck = rng.random(Z.shape)
        drawn = rng.random(len(Z))
        if self.marks is not None:
            kept = (_ranks(Z, luck) < self.marks) | np.isnan(Z)
            # In the votes' own type: a plain 0 would turn booleans into integers.
            Z = np.where(kept, Z, np.zeros((), Z.dtype))
        if self.samples == 1.0:
            return Z
        annotated = (drawn < self.samples)[:, None]  # a column: whole samples
        return np.where(annotated, Z, np.float32(np.nan))

    def _sparse(self, Z: SparseVotes, rng: np.random.Generator) -> SparseVotes:
        """Return sparse votes within the budget: the same marks as of dense ones."""
        n, d = Z.shape
        parts = []
        # Some rows at a time: luck is drawn for every feature of every sample.
        size = rows_at_once(8 * d)
        for start in range(0, n, size):
            part = Z.matrix[start : start + size]
            luck = rng.random(part.shape)
            if self.marks is not None:
                votes = part.toarray()
                kept = _ranks(votes, luck) < self.marks
                part = as_csr(np.where(kept, votes, np.zeros((), votes.dtype)))
            parts.append(part)
        drawn = rng.random(n)
        return SparseVotes(stack(parts), Z.asked & (drawn < self.samples))


def _ranks(Z: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """Return each mark's place, from 0, in a random order of its sample's marks."""
    is_marked = np.nan_to_num(Z) > 0
    # Luck is below 1, so that features without a mark come last.
    order = np.argsort(np.where(is_marked, luck, 2.0), axis=1)
    # Sorting an order gives the place of each in it.
    return np.argsort(order, axis=1)
