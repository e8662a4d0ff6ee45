"""Rich supervision along the stream: what a learner asks for, block by block."""

import copy
from typing import Any

import numpy as np

from rsbench.core.data import in_blocks, release
from rsbench.errors import UserError


class Supervision:
    """Gives the stream's blocks, in order, what the learner asks for and nothing else.

    An aggregator that has `partial_fit` is fitted on the training pool in parts, and one that has `see` is asked for
    relevance block by block and told what was seen; any other gets all of it at once. A vote that could not be given
    (NaN) is one not given, but for aggregators that say `takes_missing`.
    """

    def __init__(
        self,
        wanted: set[str],
        aggregator: Any,
        Z: np.ndarray,
        y: np.ndarray,
        pool: np.ndarray,
        order: np.ndarray,
    ):
        self.wanted = wanted
        self._Z, self._y, self._order = Z, y, order
        self._given_missing = getattr(aggregator, "takes_missing", False)
        self._whole: np.ndarray | None = None
        if "relevance" in wanted:
            self._fit(aggregator, pool)
            if not brings(aggregator, "see", past="relevance"):
                self._whole = self._relevance(aggregator, order)
        self._fitted = aggregator
        self.restart()

    def restart(self) -> None:
        """Go back to the stream's start."""
        # What `see` keeps is its copy's alone.
        self._at, self._aggregator = 0, copy.copy(self._fitted)

    def next(self, n: int) -> dict[str, np.ndarray]:
        """Supervision of the next n samples of the stream."""
        rows = slice(self._at, self._at + n)
        block, self._at = self._order[rows], rows.stop
        given = {}
        if "annotation" in self.wanted:
            given["annotation"] = self._votes(block, missing=False)
        if self._whole is not None:
            given["relevance"] = self._whole[rows]
        elif "relevance" in self.wanted:
            given["relevance"] = self._relevance(self._aggregator, block)
            self._aggregator.see(
                self._votes(block, self._given_missing), self._y[block]
            )
        release(self._Z)
        return given

    def _fit(self, aggregator: Any, pool: np.ndarray) -> None:
        parts = list(in_blocks(pool, 8 * self._Z.shape[1]))
        if len(parts) == 1 or not brings(aggregator, "partial_fit", past="fit"):
            aggregator.fit(self._votes(pool, self._given_missing), self._y[pool])
            return
        for number, part in enumerate(parts):
            fit = aggregator.partial_fit if number else aggregator.fit
            fit(self._votes(part, self._given_missing), self._y[part])
            release(self._Z)

    def _votes(self, rows: np.ndarray, missing: bool) -> np.ndarray:
        votes = self._Z[rows]
        return votes if missing or votes.dtype.kind != "f" else np.nan_to_num(votes)

    def _relevance(self, aggregator: Any, rows: np.ndarray) -> np.ndarray:
        votes = self._votes(rows, self._given_missing)
        R = np.asarray(aggregator.relevance(votes, self._y[rows]))
        if R.shape != votes.shape:
            raise UserError(
                f"{type(aggregator).__name__}.relevance gave shape {R.shape}, expected {votes.shape}"
            )
        return R


def brings(aggregator: Any, method: str, past: str) -> bool:
    """Whether it has the method, and not only inherits it past a change of another that it has to go with."""
    for cls in type(aggregator).__mro__:
        if method in vars(cls):
            return True
        if past in vars(cls):
            return False
    return False
