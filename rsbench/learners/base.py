"""What learners share: scikit-learn's conventions, without paying for its import.

scikit-learn takes over a second to import. Clean float arrays, the only thing a run
ever sends, are checked here; anything else (data frames, lists, text labels, wrong
input) goes to scikit-learn's own validation, imported on the spot, so that notebooks
get its exact behaviour.
"""

from typing import Any, ClassVar, Self

import numpy as np

from rsbench.core import components
from rsbench.core.data import positions
from rsbench.core.sparse import as_csr, is_sparse, row_numbers
from rsbench.learners.classifier import Classifier

#: Types of features that need no conversion.
_CLEAN = (np.dtype(np.float32), np.dtype(np.float64))


class Learner(Classifier, components.Learner):
    """Follow scikit-learn: a classifier that learns online, with its input checked.

    A subclass stores its parameters in the constructor and says three things:

    - `_init(n_classes, X)` makes the state of an untrained learner, in attributes
      whose names end in `_`; what `prepare` learned, if it has one, is in `prepared_`;
    - `_learn(X, y)` learns from samples that were checked, labels as positions in
      `classes_`;
    - `_scores(X)` returns one score per sample and class, (n, K).

    `fit`, `partial_fit`, `predict`, `decision_function` and `score` follow from these.
    One that is told more than labels has a `partial_fit` of its own that names it, and
    a `fit` that hands it to `_fit_anew`; `_continue` checks and encodes its samples.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels, sorted.
    n_features_in_ : int
        The number of features.
    """

    classes_: np.ndarray
    n_features_in_: int

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from scratch, in one pass over the samples.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels, of at least two classes.

        Returns
        -------
        Learner
            The learner itself.
        """
        return self._fit_anew(X, y)

    def partial_fit(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> Self:
        """Learn from the samples, as if one at a time and in order.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels.
        classes : array of shape (K,), optional
            All labels there are; needed at the first call.

        Returns
        -------
        Learner
            The learner itself.
        """
        X, codes = self._continue(X, y, classes)
        self._learn(X, codes)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the score of each class, from features alone.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n, K), or (n,) for two classes
            Scores in the order of `classes_`; for two classes the second one's less
            the first one's.
        """
        self._check_fitted()
        scores = self._scores(self._check_X(X))
        if scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with the highest score; the lowest one among equals.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n,)
            One of `classes_` for each sample.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def score(
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        """Return the share of samples predicted correctly.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            True labels.
        sample_weight : array of shape (n,), optional
            How much each sample counts; all the same by default.

        Returns
        -------
        float
            From 0 to 1.
        """
        is_right = self.predict(X) == np.asarray(y)
        return float(np.average(is_right, weights=sample_weight))

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        """Make the state of an untrained learner, if it has any."""

    def _learn(self, X: Any, y: np.ndarray) -> Any:
        """Learn from checked samples, labels as positions in `classes_`."""
        raise NotImplementedError

    def _scores(self, X: Any) -> np.ndarray:
        """Return scores of checked features, (n, K)."""
        raise NotImplementedError

    def _fit_anew(self, X: Any, y: Any, **told: Any) -> Self:
        """Forget all that was learned, and learn from these samples alone.

        What `prepare` was told, before any of them, stays.
        """
        # A list, since the attributes change while it is gone through.
        learned = [name for name in vars(self) if name.endswith("_")]
        for name in learned:
            if name != "prepared_":
                delattr(self, name)
        # Here already: text and columns are to become labels before they are sorted.
        y = self._check_y(y)
        return self.partial_fit(X, y, classes=np.unique(y), **told)

    def _continue(self, X: Any, y: Any, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Check the input of `partial_fit`; return features, and labels as positions.

        At the first call this makes the untrained learner. A label's position is that
        in `classes_`.
        """
        is_new = not self.__sklearn_is_fitted__()
        if is_new and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if not is_new and classes is not None and not self._are_known(classes):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call, "
                f"{self.classes_!r}."
            )
        X = self._check_X(X, reset=is_new)
        y = self._check_y(y)
        if is_new:
            self._set_classes(np.unique(classes), X)
        return X, self._encode(X, y)

    def _are_known(self, classes: Any) -> bool:
        """Tell whether these are the classes of the first call, in whatever order."""
        if np.array_equal(classes, self.classes_):  # mostly, and it saves the sorting
            return True
        return np.array_equal(np.unique(classes), self.classes_)

    def _set_classes(self, classes: np.ndarray, X: np.ndarray) -> None:
        """Make the untrained learner, for these classes and features like these."""
        # Not in the constructor, which only stores parameters, as scikit-learn asks.
        self.check_params()
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes; "
                f"the data has only one class, {classes[0]!r}."
            )
        self.classes_ = classes
        self._init(len(classes), X)

    def _encode(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return labels as positions in `classes_`."""
        if X.shape[0] != len(y):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[X.shape[0], len(y)]}"
            )
        codes, unknown = positions(y, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y holds {y[unknown][0]!r}, which is not among the classes "
                f"{self.classes_!r}."
            )
        return codes

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        """Return features as finite floats; `reset` takes their number as new."""
        if self._is_clean(X, reset):
            self.n_features_in_ = X.shape[1]
        else:
            from sklearn.utils.validation import validate_data

            accepted: Any = False
            if self.takes_sparse:
                accepted = "csr"
            X = validate_data(
                self,
                X,
                reset=reset,
                dtype=(np.float64, np.float32),
                accept_sparse=accepted,
            )
        if is_sparse(X):
            X = as_csr(X)  # a csr_matrix multiplies otherwise
        if not self.takes_negative and X.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: "
                "it is for counts."
            )
        return X

    def _is_clean(self, X: Any, reset: bool) -> bool:
        """Tell whether there is nothing in X that scikit-learn would object to."""
        values = X
        if is_sparse(X) and self.takes_sparse and X.format == "csr":
            values = X.data
        # A subclass of ndarray, such as a masked array, may mean something of its own.
        if type(values) is not np.ndarray or X.ndim != 2:
            return False
        if 0 in X.shape or X.dtype not in _CLEAN:
            return False
        # Where the learner knows feature names, scikit-learn warns of their absence.
        if "feature_names_in_" in vars(self):
            return False
        if not reset and X.shape[1] != self.n_features_in_:
            return False
        return bool(np.isfinite(values).all())

    def _check_y(self, y: Any) -> np.ndarray:
        """Return labels as an array of one dimension."""
        if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iu":
            return y
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import check_array, column_or_1d

        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, "
                "but the target y is None"
            )
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":  # which could hold NaN
            check_array(y, ensure_2d=False)
        return y

    def _check_rows(self, rows: Any, X: np.ndarray, name: str) -> np.ndarray:
        """Return rich supervision as a finite array of the features' shape."""
        rows = np.asarray(rows)
        if rows.shape != X.shape:
            raise ValueError(
                f"{name} has shape {rows.shape}, expected that of X, {X.shape}."
            )
        if not np.isfinite(rows).all():
            raise ValueError(f"{name} contains NaN or infinity.")
        return rows

    def _check_values(self, rows: Any, X: Any, name: str) -> np.ndarray:
        """Return rich supervision of sparse features, for each value that X stores.

        Dense rows are taken too; sparse ones must have X's own places.
        """
        if not is_sparse(rows):
            return self._check_rows(rows, X, name)[row_numbers(X), X.indices]
        same_places = (
            rows.shape == X.shape
            and np.array_equal(rows.indptr, X.indptr)
            and np.array_equal(rows.indices, X.indices)
        )
        if not same_places:
            raise ValueError(
                f"{name} does not store its values where X does; one is needed for "
                "each value of X."
            )
        if not np.isfinite(rows.data).all():
            raise ValueError(f"{name} contains NaN or infinity.")
        return rows.data

    def _check_fitted(self) -> None:
        """Raise scikit-learn's own error if nothing was learned yet."""
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} has not learned anything yet: "
                "call fit or partial_fit."
            )


class OnlineLearner(Learner):
    """Know what it would have predicted of each sample, just before it was learned.

    A subclass writes `_predict_and_learn(X, y)`, which learns as `_learn` would and
    returns the margins from before; `_learn` too, where it can do without them faster.
    """

    shortcuts: ClassVar = {
        **Learner.shortcuts,
        "prequential": (
            "partial_fit",
            "decision_function",
            "_scores",
            "_learn",
            "_predict_and_learn",
        ),
    }
    made_of: ClassVar = {"prequential": "_predict_and_learn"}

    def prequential(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample before it.

        Parameters are those of `partial_fit`.

        Returns
        -------
        ndarray of shape (n,)
            The true class's score less the best other one's, just before the update.
        """
        X, codes = self._continue(X, y, classes)
        return self._predict_and_learn(X, codes)

    def _learn(self, X: Any, y: np.ndarray) -> None:
        self._predict_and_learn(X, y)

    def _predict_and_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn from checked samples; return the margin of each before its update."""
        raise NotImplementedError


def margins_of(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the true class's score less the best other one's.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Scores, also of two classes.
    y : ndarray of shape (n,)
        The true classes, 0 to K-1.
    """
    rows = np.arange(len(y))
    others = scores.astype(np.float64)
    true = others[rows, y]
    others[rows, y] = -np.inf
    return true - others.max(axis=1)


def before_each(rows: np.ndarray) -> np.ndarray:
    """Return the sum of the rows before each, zeros for the first."""
    sums = np.zeros(rows.shape)
    np.cumsum(rows[:-1], axis=0, out=sums[1:])
    return sums


def below_the_others(scores: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Return scores in which classes that nothing is known of come last.

    They are all below the lowest of the others, by a finite distance; where nothing is
    known of any class, all are zero.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Scores, of whatever value for those classes.
    unknown : ndarray of shape (n, K), bool
        Which these are.

    Examples
    --------
    >>> below_the_others(np.array([[3.0, 5.0, 9.0]]), np.array([[False, False, True]]))
    array([[ 3.,  5., -1.]])
    """
    if not unknown.any():
        return scores
    lowest = np.where(unknown, np.inf, scores).min(axis=1, keepdims=True)
    last = np.zeros_like(lowest)
    known = np.isfinite(lowest)
    # Not one below: that would be lost among digits where scores are large.
    last[known] = lowest[known] - np.abs(lowest[known]) - 1.0
    return np.where(unknown, last, scores)
