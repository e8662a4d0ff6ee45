"""Rich supervision along the stream: what a learner asks for, block by block."""

import copy
import inspect
from typing import Any

import numpy as np

from rsbench.core.components import name_of, told_by
from rsbench.core.data import Data, bytes_of_row, in_blocks, release
from rsbench.core.preparation import asked_before
from rsbench.core.sparse import SparseVotes, dense, is_sparse, row_numbers, with_values
from rsbench.core.told import Told
from rsbench.errors import UserError, did_you_mean

#: What a learner can ask for by naming it as an argument of `partial_fit`.
RICH_SUPERVISION = ("relevance", "annotation", "view")

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
    before = asked_before(learner)
    if is_absent:
        return Told.NOTHING
    if "class_votes" in before:
        return Told.CLASS_VOTES
    by_relevance = Told.NOTHING
    if "relevance" in asked:
        by_relevance = told_by(aggregator)
    # Relevance may say more than the votes that a learner asks for beside it.
    if asked & {"annotation", "view"} and by_relevance is not Told.CLASS_VOTES:
        return Told.VOTES
    return by_relevance


def check_concepts(learner: Any, data: Data, is_absent: bool) -> None:
    """Raise an error if a learner cannot be told what people were asked about.

    It wants to know which features matter, and votes are for concepts beside them.

    Parameters
    ----------
    learner : Learner
        The learner.
    data : Data
        The data set.
    is_absent : bool
        Whether nobody annotates anything. Relevance is then one and a view missing,
        whatever votes are for.
    """
    if data.concepts_are_features:
        return
    asked = rich_supervision(learner)
    if "relevance" in asked and not is_absent:
        wants = "relevance"
    elif "view" in asked and not is_absent:
        wants = "view"
    elif "annotation" in asked and learner.needs_feature_votes:
        wants = "votes for features"
    else:
        return
    raise UserError(
        f"{name_of(learner)} asks for {wants}, and people were asked about "
        f"{data.Z.shape[1]:,} concepts that are none of the {data.X.shape[1]:,} "
        "features: choose a method that asks for annotation or class_votes"
    )


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
    Z : array or SparseVotes of shape (n, d)
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
    takes_sparse : bool
        Whether the learner takes sparse votes, where votes are sparse.
    """

    def __init__(
        self,
        wanted: set[str],
        aggregator: Any,
        Z: Any,
        y: np.ndarray,
        pool: np.ndarray,
        order: np.ndarray,
        is_absent: bool = False,
        takes_sparse: bool = False,
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
        self._takes_sparse = takes_sparse
        # One that knows where sparse features are is told sparse votes as they are.
        self._knows_sparse = (
            isinstance(Z, SparseVotes) and self._aggregator.relevance_on is not None
        )
        if "relevance" in wanted and not is_absent:
            self._fit(pool)
            if self._aggregator.see is None:
                self._whole = self._relevance(order)

    def votes(self, block: np.ndarray) -> Any:
        """Return the votes of samples for a view of them; None if nobody asks for it.

        Parameters
        ----------
        block : array of int
            The samples.
        """
        if "view" not in self.wanted:
            return None
        return self._Z[block]

    def next(self, X: Any) -> dict[str, Any]:
        """Return the supervision of the next samples, by the name it is asked for.

        Parameters
        ----------
        X : array or csr_array
            Their features, as the learner gets them. Where these are sparse, so is
            relevance: it has a value for each that they store.
        """
        rows = slice(self._passed, self._passed + X.shape[0])
        block = self._order[rows]
        self._passed += X.shape[0]
        given: dict[str, Any] = {}
        if "annotation" in self.wanted:
            # With NaN, which tells "nobody was asked" from "nothing was marked".
            votes = self._Z[block]
            if not self._takes_sparse:
                votes = dense(votes, "the learner")
            given["annotation"] = votes
        if "relevance" in self.wanted:
            given["relevance"] = self._relevance_of(X, rows, block)
        release(self._Z)
        return given

    def _relevance_of(self, X: Any, rows: slice, block: np.ndarray) -> Any:
        """Return relevance in the shape of the features, the aggregator up to date."""
        if self._is_absent and is_sparse(X):
            return with_values(X, np.ones(X.nnz))
        if self._is_absent:
            return np.ones(X.shape)
        if self._whole is not None:
            return _on(X, self._whole[rows])
        votes = self._votes(block, self._knows_sparse)
        if self._knows_sparse and is_sparse(X):
            R = self._relevance_on(X, votes, block)
        else:
            R = _on(X, self._relevance(block))
        # Only then, since `relevance` counts the block's own samples itself.
        self._aggregator.see(votes, self._y[block])
        return R

    def _relevance_on(self, X: Any, votes: SparseVotes, block: np.ndarray) -> Any:
        """Return relevance from an aggregator that knows where features are."""
        values = np.asarray(self._aggregator.relevance_on(X, votes, self._y[block]))
        if values.shape != X.data.shape:
            raise UserError(
                f"{name_of(self._aggregator)}.relevance_on gave shape {values.shape}, "
                f"expected {X.data.shape}, one value for each that X stores"
            )
        return with_values(X, values)

    def _fit(self, pool: np.ndarray) -> None:
        """Fit the aggregator on the training pool, in parts where it must be."""
        aggregator = self._aggregator
        row_bytes = 8 * self._Z.shape[1]
        if self._knows_sparse:
            row_bytes = bytes_of_row(self._Z.matrix)
        parts = list(in_blocks(pool, row_bytes))
        if aggregator.partial_fit is None:
            parts = [pool]
        # `fit` first: an aggregator may set up there what `partial_fit` goes on with.
        for number, part in enumerate(parts):
            votes = self._votes(part, self._knows_sparse)
            if number == 0:
                aggregator.fit(votes, self._y[part])
            else:
                aggregator.partial_fit(votes, self._y[part])
            release(self._Z)

    def _votes(self, rows: np.ndarray, stay_sparse: bool) -> Any:
        """Return votes as the aggregator takes them."""
        votes = self._Z[rows]
        if stay_sparse:
            return votes
        votes = dense(votes, name_of(self._aggregator))
        if self._aggregator.takes_missing or votes.dtype.kind != "f":
            return votes  # only floats can be NaN
        return np.nan_to_num(votes)

    def _relevance(self, rows: np.ndarray) -> np.ndarray:
        votes = self._votes(rows, stay_sparse=False)
        R = np.asarray(self._aggregator.relevance(votes, self._y[rows]))
        if R.shape != votes.shape:
            raise UserError(
                f"{name_of(self._aggregator)}.relevance gave shape {R.shape}, "
                f"expected {votes.shape}"
            )
        return R


def _on(X: Any, R: np.ndarray) -> Any:
    """Return relevance where features are, if they are sparse."""
    if not is_sparse(X):
        return R
    return with_values(X, R[row_numbers(X), X.indices])
