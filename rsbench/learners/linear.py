"""Linear learners: one weight vector per class, moved two at a time.

A subclass says which vector it scores, along which it steps, and how far. The engine
does the rest, in the fastest way for the shape at hand.
"""

from typing import Any, ClassVar, Self

import numpy as np

from rsbench.core.sparse import is_sparse
from rsbench.learners.base import OnlineLearner
from rsbench.learners.engine import learn
from rsbench.learners.sparse_rows import by_feature, learn_sparse


class LinearLearner(OnlineLearner):
    """One weight vector per class, no bias, learned online in a single pass.

    With x the sample and r its relevance, a loss moves the weights of the true class
    by `tau * step_vector(x, r)`, and those of the hardest negative class back by it.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        The weights, in the precision of the features.
    """

    # Of sparse features, `score_vector` and `step_vector` are given the stored values
    # alone, in one row: a subclass whose own look at one value at a time says so.
    shortcuts: ClassVar = {
        **OnlineLearner.shortcuts,
        "takes_sparse": (
            "score_vector",
            "step_vector",
            "_predict_and_learn",
            "_scores",
        ),
    }
    takes_sparse = True

    coef_: np.ndarray

    def score_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return rows whose scores decide the loss and the hardest negative.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features. Of sparse ones, the values that are stored, in one row.
        R : ndarray of shape (n, d), or (d,) for all samples the same
            Relevance, the diagonal of S^-1; ones where there is none. Of sparse
            features, one for each value that is stored.

        Returns
        -------
        ndarray of X's shape
            The samples themselves, unless a subclass says otherwise.
        """
        return X

    def step_vector(self, X: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return rows along which the weights of the two classes move.

        Parameters and shapes are those of `score_vector`.
        """
        return X

    def tau(self, loss: float, squared_norm: float) -> float:
        """Return how far to step, in units of the step vector.

        Parameters
        ----------
        loss : float
            The hinge loss, above zero.
        squared_norm : float
            The product of score vector and step vector.

        Returns
        -------
        float
            The factor of the step vector.
        """
        raise NotImplementedError(
            f"{type(self).__name__} needs a method tau(loss, squared_norm) that "
            "returns how far to step"
        )

    def weights(self) -> np.ndarray:
        """Return the weights, (K, d); their products with features are the scores."""
        return self.coef_

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        if is_sparse(X):
            self.coef_ = by_feature(n_classes, X.shape[1], dtype=X.dtype)
        else:
            self.coef_ = np.zeros((n_classes, X.shape[1]), X.dtype)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return X @ self.coef_.T

    def _predict_and_learn(
        self, X: Any, y: np.ndarray, relevance: Any = None
    ) -> np.ndarray:
        if is_sparse(X):
            return self._learn_sparse(X, y, relevance)
        if relevance is None:
            R = np.ones(X.shape[1])
        else:
            R = self._check_rows(relevance, X, "relevance")
        scored = self.score_vector(X, R)
        along = self.step_vector(X, R)
        # Where `scored` is X itself, the engine scores once for loss and prediction.
        return learn(self.coef_, y, scored, along, X, self.tau)

    def _learn_sparse(self, X: Any, y: np.ndarray, relevance: Any) -> np.ndarray:
        """Learn from sparse samples, as from dense ones."""
        if relevance is None:
            R = np.ones(X.nnz)
        else:
            R = self._check_values(relevance, X, "relevance")
        scored = self.score_vector(X.data, R)
        along = self.step_vector(X.data, R)
        return learn_sparse(self.coef_, y, X, scored, along, self.tau)


class RelevanceLearner(LinearLearner):
    """A linear learner that is taught with relevance; no relevance means all ones.

    Examples
    --------
    A perceptron that moves by a tenth of the relevant features:

    >>> class Perceptron(RelevanceLearner):
    ...     def step_vector(self, X, R):
    ...         return R * X
    ...
    ...     def tau(self, loss, squared_norm):
    ...         return 0.1
    >>> X = np.ones((2, 2))
    >>> R = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> Perceptron().fit(X, [0, 1], relevance=R).coef_
    array([[ 0.1, -0.1],
           [-0.1,  0.1]])
    """

    def fit(self, X: np.ndarray, y: np.ndarray, *, relevance: Any = None) -> Self:
        """Learn from scratch, in one pass over the samples and their relevance.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels, of at least two classes.
        relevance : array of shape (n, d), optional
            How much each feature matters for each sample, above zero.

        Returns
        -------
        RelevanceLearner
            The learner itself.
        """
        return self._fit_anew(X, y, relevance=relevance)

    def partial_fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        relevance: Any = None,
    ) -> Self:
        """Learn from the samples and their relevance, one at a time and in order.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,)
            Labels.
        classes : array of shape (K,), optional
            All labels there are; needed at the first call.
        relevance : array of shape (n, d), optional
            How much each feature matters for each sample, above zero.

        Returns
        -------
        RelevanceLearner
            The learner itself.
        """
        X, codes = self._continue(X, y, classes)
        self._predict_and_learn(X, codes, relevance)
        return self

    def prequential(
        self,
        X: np.ndarray,
        y: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        relevance: Any = None,
    ) -> np.ndarray:
        """Learn as `partial_fit` does; return the margin of each sample before it.

        Parameters are those of `partial_fit`. Margins are of the features alone: they
        never depend on the sample's own relevance.

        Returns
        -------
        ndarray of shape (n,)
            The true class's score less the best other one's, just before the update.
        """
        X, codes = self._continue(X, y, classes)
        return self._predict_and_learn(X, codes, relevance)
