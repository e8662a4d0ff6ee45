"""The test set's margins along the stream, for no more work than the learner's change asks for."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rsbench.core.data import in_blocks
from rsbench.core.measures import margins
from rsbench.learners import LinearLearner

#: The test set's features and scores are kept from one test to the next if each takes no more than this.
_KEPT_BYTES = 1 << 28


class Tests:
    """Margins of the test set, of which the learner is shown features alone.

    A linear learner's score of a class depends on the weights of that class alone. So where only some classes moved
    since the last test, only those are scored again.
    """

    def __init__(
        self, learner: Any, features: Any, y: np.ndarray, test: np.ndarray, classes: int
    ):
        self._learner, self._features, self._test, self._y, self._classes = (
            learner,
            features,
            test,
            y,
            classes,
        )
        row_bytes = 8 * max(classes, features.width)
        self._blocks = list(in_blocks(test, row_bytes))
        self._keeps = features.constant and row_bytes * len(test) <= _KEPT_BYTES
        self._kept: list[np.ndarray] = []
        self._scores: np.ndarray | None = None
        self._weights: np.ndarray | None = None

    def margins(self) -> np.ndarray:
        """Of each test sample, by what the learner knows now."""
        found = [
            margins(scores, self._y[rows], self._classes)
            for rows, scores in zip(self._blocks, self._all_scores(), strict=True)
        ]
        return np.concatenate(found)

    def _all_scores(self) -> Iterator[np.ndarray]:
        """Scores of each block."""
        if (
            self._keeps
            and self._classes > 2
            and _is_plainly_linear(type(self._learner))
        ):
            yield from np.split(
                self._kept_scores(),
                np.cumsum([len(rows) for rows in self._blocks])[:-1],
            )
            return
        yield from map(self._learner.decision_function, self._shown())

    def _shown(self) -> Iterator[np.ndarray]:
        """Features of each block, by the preprocessor's statistics of now."""
        if self._keeps and not self._kept:
            self._kept = [self._features.now(rows) for rows in self._blocks]
        yield from self._kept or map(self._features.now, self._blocks)

    def _kept_scores(self) -> np.ndarray:
        W: np.ndarray = self._learner.coef_
        if self._scores is None or self._weights is None:
            moved = np.arange(len(W))
        else:
            moved = np.flatnonzero((self._weights != W).any(axis=1))
        if self._scores is None or 2 * len(moved) > len(W):
            self._scores = np.concatenate(
                [self._learner._scores(X) for X in self._shown()]
            )
        elif len(moved):
            self._scores[:, moved] = np.concatenate(
                [X @ W[moved].T for X in self._shown()]
            )
        self._weights = W.copy()
        return self._scores


def _is_plainly_linear(learner: type) -> bool:
    """Whether scores are the weights' products with the features, and nothing else."""
    return (
        issubclass(learner, LinearLearner)
        and learner._scores is LinearLearner._scores
        and learner.decision_function is LinearLearner.decision_function
    )
