"""Learners that are fitted anew to all samples so far, once a step."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from rsbench.core.evaluation import stack
from rsbench.core.sparse import check_memory
from rsbench.learners.base import Learner, below_the_others


class BatchLearner(Learner):
    """Keep all samples, and fit anew to all of them at each call.

    A run teaches it a step at a time; predictions within the step come from the fit
    before it. With `taught_at = "table"` it is taught only at the steps that tables
    report, for learners that take long.

    A subclass writes `refit(X, y)`, which fits to all samples so far, and `_scores(X)`.

    Attributes
    ----------
    X_seen_, y_seen_ : arrays
        All samples so far, and their labels as positions in `classes_`.

    Examples
    --------
    A batch learner in ten lines: the nearest of all samples so far.

    >>> class Nearest(BatchLearner):
    ...     def refit(self, X, y):
    ...         from sklearn.neighbors import KNeighborsClassifier
    ...
    ...         self.model_ = KNeighborsClassifier(n_neighbors=1).fit(X, y)
    ...
    ...     def _scores(self, X):
    ...         return self._of_all_classes(
    ...             self.model_.predict_proba(X), self.model_.classes_
    ...         )
    >>> learner = Nearest().fit(np.eye(3), ["a", "b", "c"])
    >>> learner.predict(np.eye(3)[[2, 0]]).tolist()
    ['c', 'a']
    """

    batch = True

    X_seen_: Any
    y_seen_: np.ndarray

    def refit(self, X: Any, y: np.ndarray) -> None:
        """Fit to all samples so far.

        Parameters
        ----------
        X : array of shape (n, d)
            Their features.
        y : ndarray of shape (n,)
            Their labels, as positions in `classes_`; some classes may have none yet.
        """
        raise NotImplementedError(
            f"{type(self).__name__} needs a method refit(X, y) that fits to all "
            "samples so far"
        )

    def _learn(self, X: Any, y: np.ndarray) -> None:
        self._keep(X, y)
        self.refit(self.X_seen_, self.y_seen_)

    def _init(self, n_classes: int, X: Any) -> None:
        super()._init(n_classes, X)
        self.X_seen_ = X[:0]
        self.y_seen_ = np.empty(0, int)

    def _keep(self, X: Any, y: np.ndarray) -> None:
        """Add checked samples to those seen so far."""
        if isinstance(X, np.ndarray):
            total = len(self.y_seen_) + len(y)
            why = f"{type(self).__name__} keeps {total:,} samples of {X.shape[1]:,}"
            # Twice: those so far, and with the new ones.
            check_memory(2 * total * X.shape[1] * X.itemsize, f"{why} features")
        self.X_seen_ = stack([self.X_seen_, X])
        self.y_seen_ = np.concatenate([self.y_seen_, y])

    def _of_all_classes(self, scores: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return scores of all classes, where a model scores those it has met.

        Parameters
        ----------
        scores : ndarray of shape (n, k), or (n,) for two classes
            The model's scores, as scikit-learn's `decision_function` gives them.
        known : ndarray of shape (k,)
            The classes that they are of, as positions in `classes_`. Others come last.
        """
        if scores.ndim == 1 and len(known) == 2:
            # One score tells two classes apart: half of it for each.
            scores = np.column_stack([-scores, scores]) / 2
        n_classes = len(self.classes_)
        if len(known) == n_classes:
            return scores
        found = np.zeros((len(scores), n_classes))
        found[:, known] = scores
        unknown = ~np.isin(np.arange(n_classes), known)
        return below_the_others(found, np.broadcast_to(unknown, found.shape))


@contextlib.contextmanager
def few_samples_per_class() -> Iterator[None]:
    """Keep scikit-learn from warning of what this is about: few samples per class."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="The number of unique classes is greater than 50%"
        )
        yield
