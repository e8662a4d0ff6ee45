"""SVM with feature feedback: one diagonal, shared by all samples, rescales features.

Our reading of Poulis & Dasgupta, "Learning with Feature Feedback", AISTATS 2017, whose exact
parameterisation was not at hand: a feature that any training annotation marked keeps its scale,
the others are scaled by `irrelevant`. The diagonal belongs to the model, so it scales test
samples too; it never depends on a test sample's annotation.
"""

import warnings
from typing import Any, Self

import numpy as np

from rsbench.core.measures import margins
from rsbench.errors import check_positive
from rsbench.learners.base import Learner
from rsbench.learners.engine import learn
from rsbench.learners.passive_aggressive import LinearLearner, Variant


class _SharedScale(Learner):
    """The diagonal that the annotations seen so far define."""

    marked_: np.ndarray
    irrelevant: float

    def _scale(self, marked: np.ndarray) -> np.ndarray:
        return np.where(marked, 1.0, self.irrelevant)

    def _see(self, X: np.ndarray, annotation: Any) -> np.ndarray:
        """Features marked by the end of each row, (n, d); the state moves to the last row's."""
        if annotation is None:
            marked = np.ones(X.shape, bool)
        else:
            votes = self._check_rows(annotation, X, "annotation")
            marked = np.logical_or.accumulate(np.vstack([self.marked_, votes > 0]))[1:]
        self.marked_ = marked[-1]
        return marked


class SVMFF(_SharedScale, LinearLearner):
    """Passive-aggressive learning on features scaled by the shared diagonal: SVM-FF, online.

    Parameters
    ----------
    C : aggressiveness; larger steps for larger C.
    variant : `pa`, `pa1` or `pa2`.
    irrelevant : scale of features that no annotation has marked yet.
    """

    def __init__(
        self, C: float = 1.0, variant: Variant = "pa2", irrelevant: float = 0.1
    ):
        super().__init__(C, variant)
        self.irrelevant = irrelevant

    def check_params(self) -> None:
        super().check_params()
        check_positive(self, "irrelevant")

    def fit(self, X: np.ndarray, y: np.ndarray, *, annotation: Any = None) -> Self:
        """Learn from scratch in one pass over the samples and their annotations."""
        self._learn(*self._start(X, y), annotation)
        return self

    def partial_fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        annotation: Any = None,
    ) -> Self:
        """Learn from the samples and their annotations, one at a time and in order."""
        self.prequential(X, y, classes, annotation=annotation)
        return self

    def prequential(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        annotation: Any = None,
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample just before its update."""
        return self._learn(*self._continue(X, y, classes), annotation)

    def _learn(
        self, X: np.ndarray, y: np.ndarray, annotation: Any = None
    ) -> np.ndarray:
        before = self.marked_
        marked = self._see(X, annotation)
        scaled = self._scale(marked) * X
        # A prediction knows only the annotations of earlier samples.
        unseen = self._scale(np.vstack([before, marked[:-1]])) * X
        return learn(self.coef_, y, scaled, scaled, unseen, self.tau)

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        super()._init(n_classes, X)
        self.marked_ = np.zeros(X.shape[1], bool)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        scale = self._scale(self.marked_)  # of whichever is smaller
        return (
            (scale * X) @ self.coef_.T
            if len(X) < len(self.coef_)
            else X @ (scale * self.coef_).T
        )


class SVMFFBatch(_SharedScale):
    """A linear SVM on features scaled by the shared diagonal, refitted on all samples so far.

    One-vs-rest without a bias (scikit-learn's LinearSVC). Classes without samples score -1, as a
    machine that has met only negatives would. Slow: each `partial_fit` is a whole refit, so
    predictions within a block come from the model of the block before.

    Parameters
    ----------
    C : inverse regularisation of the SVM.
    irrelevant : scale of features that no annotation has marked yet.
    random_state : seed of the solver; a run sets it.
    """

    X_seen_: np.ndarray
    y_seen_: np.ndarray

    def __init__(
        self, C: float = 1.0, irrelevant: float = 0.1, random_state: int | None = None
    ):
        self.C = C
        self.irrelevant = irrelevant
        self.random_state = random_state

    def check_params(self) -> None:
        check_positive(self, "C")
        check_positive(self, "irrelevant")

    def fit(self, X: np.ndarray, y: np.ndarray, *, annotation: Any = None) -> Self:
        """Fit the SVM from scratch."""
        self._learn(*self._start(X, y), annotation)
        return self

    def partial_fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        annotation: Any = None,
    ) -> Self:
        """Add the samples to those seen and refit."""
        self._learn(*self._continue(X, y, classes), annotation)
        return self

    def prequential(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        annotation: Any = None,
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return margins under the model before the whole block."""
        new = not hasattr(self, "classes_")
        X, codes = self._continue(X, y, classes)
        before = (
            np.zeros(len(y))
            if new
            else margins(self.decision_function(X), codes, len(self.classes_))
        )
        self._learn(X, codes, annotation)
        return before

    def _learn(self, X: np.ndarray, y: np.ndarray, annotation: Any = None) -> None:
        self._see(X, annotation)
        self.X_seen_ = np.vstack([self.X_seen_, X])
        self.y_seen_ = np.concatenate([self.y_seen_, y])
        self._refit()

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        self.marked_ = np.zeros(X.shape[1], bool)
        self.X_seen_ = np.empty((0, X.shape[1]), X.dtype)
        self.y_seen_ = np.empty(0, int)

    def _refit(self) -> None:
        from sklearn.svm import LinearSVC

        n_classes, seen = len(self.classes_), np.unique(self.y_seen_)
        # A constant score of +1 or -1 per class, replaced by weights once there are two to separate.
        self.intercept_ = np.where(np.isin(np.arange(n_classes), seen), 1.0, -1.0)
        self.coef_ = np.zeros((n_classes, self.X_seen_.shape[1]))
        if len(seen) < 2:
            return
        svm = LinearSVC(
            C=self.C,
            fit_intercept=False,
            max_iter=10_000,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # Few samples per class are what this is about.
            warnings.filterwarnings(
                "ignore", message="The number of unique classes is greater than 50%"
            )
            svm.fit(self._scale(self.marked_) * self.X_seen_, self.y_seen_)
        self.intercept_[seen] = 0.0
        self.coef_[seen] = (
            svm.coef_ if len(seen) > 2 else np.vstack([-svm.coef_, svm.coef_]) / 2
        )

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return (self._scale(self.marked_) * X) @ self.coef_.T + self.intercept_
