"""Learners that are told more than labels: votes of their samples, or views of them.

Votes (`annotation`) are what people said of each sample, concept by concept. A view
(`view`) is the sample with its unmarked features blanked. A learner of either kind
derives from one of these classes first, and from what learns second:

    class TwoViews(OnlineViewLearner, Lean): ...
"""

from typing import Any, ClassVar, Self

import numpy as np

from rsbench.core.evaluation import stack
from rsbench.core.sparse import SparseVotes, is_sparse, row_numbers, values_at
from rsbench.learners.base import Learner, OnlineLearner


class VotesLearner(Learner):
    """A learner that is taught with votes.

    A subclass writes `_learn_told(X, y, votes)`, in which votes are dense, NaN where
    nobody was asked; `SparseVotes` where it takes sparse rows and features are sparse;
    None where there are none at all.
    """

    def fit(self, X: np.ndarray, y: np.ndarray, *, annotation: Any = None) -> Self:
        """Learn from scratch, in one pass over the samples and their votes.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels, of at least two classes.
        annotation : array of shape (n, m), optional
            Votes for concepts; NaN where nobody was asked.

        Returns
        -------
        VotesLearner
            The learner itself.
        """
        return self._fit_anew(X, y, annotation=annotation)

    def partial_fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        annotation: Any = None,
    ) -> Self:
        """Learn from the samples and their votes, in order.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels.
        classes : array of shape (K,), optional
            All labels there are; needed at the first call.
        annotation : array of shape (n, m), optional
            Votes for concepts; NaN where nobody was asked.

        Returns
        -------
        VotesLearner
            The learner itself.
        """
        X, codes = self._continue(X, y, classes)
        self._learn_told(X, codes, self._check_votes(annotation, X))
        return self

    def _learn_told(self, X: Any, y: np.ndarray, votes: Any) -> Any:
        """Learn from checked samples and votes."""
        raise NotImplementedError

    def _check_votes(self, votes: Any, X: Any) -> Any:
        """Return votes that there is a row of for each sample; None if all are missing.

        Votes for features must have the shape of these.
        """
        if votes is None:
            return None
        if isinstance(votes, SparseVotes) and not is_sparse(X):
            votes = votes.toarray()
        if not isinstance(votes, SparseVotes):
            votes = np.asarray(votes, np.float64)
        wanted = (X.shape[0], votes.shape[-1])
        if self.needs_feature_votes:
            wanted = X.shape
        if votes.shape != wanted:
            raise ValueError(
                f"annotation has shape {votes.shape}, expected {tuple(wanted)}."
            )
        if isinstance(votes, SparseVotes):
            return votes if votes.asked.any() else None
        if np.isinf(votes).any():
            raise ValueError("annotation contains infinity.")
        return None if np.isnan(votes).all() else votes


class OnlineVotesLearner(VotesLearner, OnlineLearner):
    """A learner that is taught with votes, and knows its margins before each sample.

    A subclass writes `_learn_told(X, y, votes)`, which returns them.
    """

    shortcuts: ClassVar = {
        **OnlineLearner.shortcuts,
        "prequential": ("partial_fit", "decision_function", "_scores", "_learn_told"),
        # What learns may take sparse rows, and what is told it may not.
        "takes_sparse": ("_learn_told",),
    }
    made_of: ClassVar = {"prequential": "_learn_told"}

    def prequential(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        annotation: Any = None,
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample before it.

        Parameters are those of `partial_fit`. A margin depends on the votes of earlier
        samples, and never on the sample's own.

        Returns
        -------
        ndarray of shape (n,)
            The true class's score less the best other one's, just before the update.
        """
        X, codes = self._continue(X, y, classes)
        return self._learn_told(X, codes, self._check_votes(annotation, X))


class ViewLearner(Learner):
    """A learner that is taught with views.

    A subclass writes `_learn_told(X, y, view, viewed)`: views of those samples that
    were annotated, and which these are, (n,) of bool.
    """

    def fit(self, X: np.ndarray, y: np.ndarray, *, view: Any = None) -> Self:
        """Learn from scratch, in one pass over the samples and their views.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels, of at least two classes.
        view : array of shape (n, d), optional
            The samples with their unmarked features blanked; NaN where nobody was
            asked.

        Returns
        -------
        ViewLearner
            The learner itself.
        """
        return self._fit_anew(X, y, view=view)

    def partial_fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        view: Any = None,
    ) -> Self:
        """Learn from the samples and their views, in order.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels.
        classes : array of shape (K,), optional
            All labels there are; needed at the first call.
        view : array of shape (n, d), optional
            The samples with their unmarked features blanked; NaN where nobody was
            asked.

        Returns
        -------
        ViewLearner
            The learner itself.
        """
        X, codes = self._continue(X, y, classes)
        self._learn_told(X, codes, *self._check_view(view, X))
        return self

    def _learn_told(self, X: Any, y: np.ndarray, view: Any, viewed: np.ndarray) -> Any:
        """Learn from checked samples and views."""
        raise NotImplementedError

    def _check_view(self, view: Any, X: Any) -> tuple[Any, np.ndarray]:
        """Return views of annotated samples, and which these are.

        Where nothing is marked there is nothing to see.
        """
        if view is None:
            return X[:0], np.zeros(X.shape[0], bool)
        if is_sparse(view) and not is_sparse(X):
            view = view.toarray()
        if is_sparse(view):
            values = view.data
            rows = row_numbers(view)
            viewed = np.zeros(X.shape[0], bool)
            viewed[rows[values != 0]] = True
            viewed[rows[np.isnan(values)]] = False
        else:
            view = np.asarray(view)
            values = view
            viewed = (view != 0).any(axis=1) & ~np.isnan(view).any(axis=1)
        if view.shape != X.shape:
            raise ValueError(
                f"view has shape {view.shape}, expected that of X, {X.shape}."
            )
        if np.isinf(values).any():
            raise ValueError("view contains infinity.")
        return view[viewed].astype(X.dtype, copy=False), viewed


class OnlineViewLearner(ViewLearner, OnlineLearner):
    """A learner that is taught with views, and knows its margins before each sample.

    A subclass writes `_learn_told(X, y, view, viewed)`, which returns them.
    """

    shortcuts: ClassVar = {
        **OnlineLearner.shortcuts,
        "prequential": ("partial_fit", "decision_function", "_scores", "_learn_told"),
        # What learns may take sparse rows, and what is told it may not.
        "takes_sparse": ("_learn_told",),
    }
    made_of: ClassVar = {"prequential": "_learn_told"}

    def prequential(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        view: Any = None,
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample before it.

        Parameters are those of `partial_fit`. A margin depends on the views of earlier
        samples, and never on the sample's own.

        Returns
        -------
        ndarray of shape (n,)
            The true class's score less the best other one's, just before the update.
        """
        X, codes = self._continue(X, y, classes)
        return self._learn_told(X, codes, *self._check_view(view, X))


def with_views(X: Any, view: Any, viewed: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return samples, each followed by its view if it has one, and where samples are.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    view : array of shape (v, d)
        Views of the samples that have one.
    viewed : ndarray of shape (n,), bool
        Which these are.

    Returns
    -------
    rows : array of shape (n + v, d)
        Samples and views.
    own : ndarray of shape (n,)
        The row of each sample; its view, if there is one, is in the next.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0]])
    >>> with_views(X, np.array([[0.5]]), np.array([True, False]))[0].tolist()
    [[1.0], [0.5], [2.0]]
    """
    n = len(viewed)
    own = np.arange(n) + np.cumsum(viewed) - viewed
    if not viewed.any():
        return X, own
    source = np.empty(n + view.shape[0], int)
    source[own] = np.arange(n)
    source[own[viewed] + 1] = n + np.arange(view.shape[0])
    return stack([X, view])[source], own


def votes_on(votes: Any, X: Any) -> Any:
    """Return votes for features in the places that features have, NaN where missing.

    Parameters
    ----------
    votes : ndarray, SparseVotes or None
        Votes of the features' shape.
    X : array or csr_array of shape (n, d)
        Features.

    Returns
    -------
    ndarray
        Of X's shape; where X is sparse, one for each value that it stores.
    """
    if votes is None and is_sparse(X):
        return np.full(X.nnz, np.nan)
    if votes is None:
        return np.full(X.shape, np.nan)
    if not is_sparse(X):
        if isinstance(votes, SparseVotes):
            return votes.toarray()
        return votes
    rows = row_numbers(X)
    if not isinstance(votes, SparseVotes):
        return votes[rows, X.indices]
    found = values_at(votes.matrix, X).astype(np.float64)
    found[~votes.asked[rows]] = np.nan
    return found
