"""Rich supervision along the stream: what a learner asks for, block by block."""

import copy
import inspect
from typing import Any

import numpy as np

from rsbench.core.components import Told, name_of, told_by
from rsbench.core.data import in_blocks, release
from rsbench.errors import UserError, did_you_mean

#: What a learner can ask for by naming it as an argument of `partial_fit`.
RICH_SUPERVISION = ("relevance", "annotation")

#: What later releases are to give; asking for it now is told apart from a typo.
_NOT_GIVEN_YET = ("view", "brief")

#: Arguments that say nothing of what a learner is told.
_SCIKIT_LEARNS_ARGUMENTS = ("X", "y", "classes", "sample_weight")


def rich_supervision(learner: Any) -> set[str]:
    """Return what a learner asks for, as a pytest test asks for its fixtures.

    It does so by naming arguments of `partial_fit` beyond scikit-learn's.

    Raises
    ------
    UserError
        If it asks for something that a run does not give, or does not say by name.
    """
    name = name_of(learner)
    asked = set()
    for parameter in inspect.signature(learner.partial_fit).parameters.values():
        # What it was told is to be in the record, and this does not say what it is.
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UserError(
                f"{name}.partial_fit takes *{parameter.name}: "
                "name what it wants instead"
            )
        word = parameter.name
        if word in _SCIKIT_LEARNS_ARGUMENTS:
            continue
        if word in _NOT_GIVEN_YET:
            raise UserError(
                f"{name} asks for '{word}', which this version of rsbench "
                "does not give yet"
            )
        if word not in RICH_SUPERVISION:
            raise UserError(
                f"{name}.partial_fit asks for '{word}'. "
                f"{did_you_mean(word, RICH_SUPERVISION)}"
            )
        asked.add(word)
    return asked


def what_is_told(learner: Any, aggregator: Any, is_absent: bool = False) -> Told:
    """Return what a method is told of its samples beyond their labels.

    Parameters
    ----------
    learner, aggregator : objects
        The method.
    is_absent : bool
        Whether nobody annotates anything.
    """
    asked = rich_supervision(learner)
    if is_absent:
        return Told.NOTHING
    by_relevance = Told.NOTHING
    if "relevance" in asked:
        by_relevance = told_by(aggregator)
    # Relevance may say more than the votes that a learner asks for beside it.
    if "annotation" in asked and by_relevance is not Told.CLASS_VOTES:
        return Told.VOTES
    return by_relevance


class Supervision:
    """Give the stream's blocks, in order, what the learner asks for and nothing else.

    Parameters
    ----------
    wanted : set of str
        What the learner asks for.
    aggregator : Aggregator
        Makes relevance of votes. One that has `partial_fit` is fitted on the training
        pool in parts; one that has `see` is asked for relevance block by block and told
        what has passed; any other gets all of it at once.
    Z : array of shape (n, d)
        Votes of all samples; NaN is a vote that nobody was asked for. Aggregators get
        zero for it, unless they say `takes_missing`.
    y : array of shape (n,)
        Classes of all samples.
    pool : array of int
        The training pool's samples.
    order : array of int
        The stream's samples, in order.
    is_absent : bool
        Whether nobody annotates anything. Relevance is then one, without asking the
        aggregator.
    """

    def __init__(
        self,
        wanted: set[str],
        aggregator: Any,
        Z: np.ndarray,
        y: np.ndarray,
        pool: np.ndarray,
        order: np.ndarray,
        is_absent: bool = False,
    ):
        self.wanted = wanted
        self._Z = Z
        self._y = y
        self._order = order
        self._passed = 0
        #: Relevance of the whole stream, of an aggregator that cannot go by blocks.
        self._whole: np.ndarray | None = None
        # What `see` keeps is this copy's alone: the caller may use its own again.
        self._aggregator = copy.copy(aggregator)
        self._is_absent = is_absent
        if "relevance" in wanted and not is_absent:
            self._fit(pool)
            if self._aggregator.see is None:
                self._whole = self._relevance(order)

    def next(self, n: int) -> dict[str, np.ndarray]:
        """Return the supervision of the next n samples, by the name it is asked for."""
        rows = slice(self._passed, self._passed + n)
        block = self._order[rows]
        self._passed += n
        given = {}
        if "annotation" in self.wanted:
            # With NaN, which tells "nobody was asked" from "nothing was marked".
            given["annotation"] = self._votes(block, with_missing=True)
        if "relevance" in self.wanted and self._is_absent:
            given["relevance"] = np.ones((len(block), self._Z.shape[1]))
        elif self._whole is not None:
            given["relevance"] = self._whole[rows]
        elif "relevance" in self.wanted:
            given["relevance"] = self._relevance(block)
            # Only then, since `relevance` counts the block's own samples itself.
            votes = self._votes(block, self._aggregator.takes_missing)
            self._aggregator.see(votes, self._y[block])
        release(self._Z)
        return given

    def _fit(self, pool: np.ndarray) -> None:
        """Fit the aggregator on the training pool, in parts where it must be."""
        aggregator = self._aggregator
        parts = list(in_blocks(pool, 8 * self._Z.shape[1]))
        if aggregator.partial_fit is None:
            parts = [pool]
        # `fit` first: an aggregator may set up there what `partial_fit` goes on with.
        for number, part in enumerate(parts):
            votes = self._votes(part, aggregator.takes_missing)
            if number == 0:
                aggregator.fit(votes, self._y[part])
            else:
                aggregator.partial_fit(votes, self._y[part])
            release(self._Z)

    def _votes(self, rows: np.ndarray, with_missing: bool) -> np.ndarray:
        votes = self._Z[rows]
        if with_missing or votes.dtype.kind != "f":  # only floats can be NaN
            return votes
        return np.nan_to_num(votes)

    def _relevance(self, rows: np.ndarray) -> np.ndarray:
        votes = self._votes(rows, self._aggregator.takes_missing)
        R = np.asarray(self._aggregator.relevance(votes, self._y[rows]))
        if R.shape != votes.shape:
            raise UserError(
                f"{name_of(self._aggregator)}.relevance gave shape {R.shape}, "
                f"expected {votes.shape}"
            )
        return R
