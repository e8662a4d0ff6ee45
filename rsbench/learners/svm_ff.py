"""SVM with feature feedback: one diagonal, shared by all samples, rescales features.

Our reading of Poulis & Dasgupta, "Learning with Feature Feedback", AISTATS 2017, whose
exact parameterisation was not at hand: a feature that any training annotation marked
keeps its scale, the others are scaled by `irrelevant`. The diagonal belongs to the
model, so it scales test samples too; it never depends on a test sample's annotation.

A vote of NaN is one that nobody was asked for, and says nothing: a feature is scaled
once somebody was asked about it and nobody has marked it. So before the first
annotation of a stream nothing is scaled, and samples without annotation change nothing.
"""

from typing import Any, ClassVar

import numpy as np

from rsbench.errors import check_positive
from rsbench.learners.batch import BatchLearner, few_samples_per_class
from rsbench.learners.engine import learn
from rsbench.learners.passive_aggressive import Lean, PassiveAggressive, Variant
from rsbench.learners.told import OnlineVotesLearner, VotesLearner


class _SharedScale(VotesLearner):
    """Learn with the diagonal that the annotations seen so far define."""

    needs_feature_votes = True

    marked_: np.ndarray
    asked_: np.ndarray
    irrelevant: float

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        super()._init(n_classes, X)
        self.marked_ = np.zeros(X.shape[1], bool)
        self.asked_ = np.zeros(X.shape[1], bool)

    def _is_annotated(self) -> bool:
        """Tell whether anybody was asked for anything so far."""
        return bool(self.asked_.any())

    def _scale(self, marked: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Return the diagonal: less for features asked about that nobody marked."""
        return np.where(marked | ~asked, 1.0, self.irrelevant)

    def _see(self, X: np.ndarray, votes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Take note of annotations.

        Returns
        -------
        marked, asked : ndarray of shape (n + 1, d), bool
            What was marked, and asked about, before the first row and by each one's
            end.
        """
        if votes is None:
            votes = np.full(X.shape, np.nan)
        marked = np.logical_or.accumulate(np.vstack([self.marked_, votes > 0]))
        asked = np.logical_or.accumulate(np.vstack([self.asked_, ~np.isnan(votes)]))
        self.marked_ = marked[-1]
        self.asked_ = asked[-1]
        return marked, asked


class SVMFF(_SharedScale, OnlineVotesLearner, PassiveAggressive):
    """Passive-aggressive learning on features scaled by the shared diagonal, online.

    Parameters
    ----------
    C : float
        Aggressiveness; larger steps for larger C.
    variant : {"pa", "pa1", "pa2"}
        PA, PA-I or PA-II.
    irrelevant : float
        Scale of features that annotators were asked about and have not marked yet.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        The weights of scaled features.
    marked_ : ndarray of shape (d,), bool
        The features that annotations have marked so far.
    asked_ : ndarray of shape (d,), bool
        The features that anybody was asked about so far.

    References
    ----------
    Poulis & Dasgupta, "Learning with Feature Feedback", AISTATS 2017.

    Examples
    --------
    >>> X = np.ones((2, 2))
    >>> Z = np.array([[1, 0], [1, 0]])
    >>> SVMFF().fit(X, np.array([0, 1]), annotation=Z).marked_
    array([ True, False])
    """

    without: ClassVar = Lean

    def __init__(
        self, C: float = 1.0, variant: Variant = "pa2", irrelevant: float = 0.1
    ):
        super().__init__(C, variant)
        self.irrelevant = irrelevant

    def check_params(self) -> None:
        super().check_params()
        check_positive(self, "irrelevant")

    def _learn_told(self, X: np.ndarray, y: np.ndarray, votes: Any) -> np.ndarray:
        """Learn from checked samples; return the margin of each before its update."""
        marked, asked = self._see(X, votes)
        # As Lean does, to the bit: products with one would be in double precision.
        if not self._is_annotated():
            return learn(self.coef_, y, X, X, X, self.tau)
        scaled = self._scale(marked[1:], asked[1:]) * X
        # A prediction knows only the annotations of earlier samples.
        shown = self._scale(marked[:-1], asked[:-1]) * X
        return learn(self.coef_, y, scaled, scaled, shown, self.tau)

    def weights(self) -> np.ndarray:
        """Return the weights, (K, d); their products with features are the scores."""
        if not self._is_annotated():
            return self.coef_
        return self._scale(self.marked_, self.asked_) * self.coef_

    def _scores(self, X: np.ndarray) -> np.ndarray:
        # Scale whichever is smaller.
        if self._is_annotated() and len(X) < len(self.coef_):
            return (self._scale(self.marked_, self.asked_) * X) @ self.coef_.T
        return X @ self.weights().T


class SVMFFBatch(_SharedScale, BatchLearner):
    """A linear SVM on features scaled by the shared diagonal, refitted on all samples.

    One-vs-rest without a bias (scikit-learn's LinearSVC). Classes without samples
    score -1, as a machine that has met only negatives would. Slow: each `partial_fit`
    is a whole refit, so predictions within a step come from the model before it.

    Parameters
    ----------
    C : float
        Inverse regularisation of the SVM.
    irrelevant : float
        Scale of features that annotators were asked about and have not marked yet.
    random_state : int or None
        Seed of the solver; a run sets it.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        The weights of scaled features; zeros for classes without samples.
    intercept_ : ndarray of shape (K,)
        The constant score of classes that have no weights.
    marked_ : ndarray of shape (d,), bool
        The features that annotations have marked so far.
    asked_ : ndarray of shape (d,), bool
        The features that anybody was asked about so far.
    X_seen_, y_seen_ : ndarray
        All samples so far, and their labels as positions in `classes_`.

    References
    ----------
    Poulis & Dasgupta, "Learning with Feature Feedback", AISTATS 2017.
    """

    grid: ClassVar = {"C": (0.001, 0.01, 0.1, 1.0)}

    coef_: np.ndarray
    intercept_: np.ndarray

    def __init__(
        self, C: float = 1.0, irrelevant: float = 0.1, random_state: int | None = None
    ):
        self.C = C
        self.irrelevant = irrelevant
        self.random_state = random_state

    def check_params(self) -> None:
        check_positive(self, "C")
        check_positive(self, "irrelevant")

    def _learn_told(self, X: np.ndarray, y: np.ndarray, votes: Any) -> None:
        """Add checked samples to those seen so far, and refit to all of them."""
        self._see(X, votes)
        self._keep(X, y)
        self.refit(self.X_seen_, self.y_seen_)

    def refit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit the SVM to all samples so far."""
        from sklearn.svm import LinearSVC

        n_classes = len(self.classes_)
        seen = np.unique(y)
        # A constant score of +1 or -1 per class, which weights replace once there are
        # two classes to separate.
        is_seen = np.isin(np.arange(n_classes), seen)
        self.intercept_ = np.where(is_seen, 1.0, -1.0)
        self.coef_ = np.zeros((n_classes, X.shape[1]))
        if len(seen) < 2:
            return
        svm = LinearSVC(
            C=self.C,
            fit_intercept=False,
            max_iter=10_000,
            random_state=self.random_state,
        )
        with few_samples_per_class():
            svm.fit(self._scaled(X), y)
        self.intercept_[seen] = 0.0
        if len(seen) == 2:
            # One machine tells two classes apart: half of it for each.
            self.coef_[seen] = np.vstack([-svm.coef_, svm.coef_]) / 2
        else:
            self.coef_[seen] = svm.coef_

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return self._scaled(X) @ self.coef_.T + self.intercept_

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """Return samples as all annotations so far scale them."""
        return self._scale(self.marked_, self.asked_) * X
