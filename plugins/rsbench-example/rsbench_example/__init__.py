"""A learner and an aggregator that rsbench finds once this package is installed."""

import numpy as np

from rsbench import hookimpl
from rsbench.learners import Learner


class Prototypes(Learner):
    """The nearest of the classes' means, to which a feature counts as much as it is relevant.

    Parameters
    ----------
    prior : weight of a first mean of zeros, which later samples outweigh.
    """

    def __init__(self, prior: float = 1.0):
        self.prior = prior

    def fit(self, X, y, *, relevance=None):
        """Learn from scratch."""
        X, y = self._start(X, y)
        self._add(X, y, relevance)
        return self

    def partial_fit(self, X, y, classes=None, *, relevance=None):
        """Add the samples to their classes' means."""
        X, y = self._continue(X, y, classes)
        self._add(X, y, relevance)
        return self

    def _init(self, n_classes, X):
        self.sums_ = np.zeros((n_classes, X.shape[1]))
        self.weights_ = np.full((n_classes, X.shape[1]), float(self.prior))

    def _add(self, X, y, relevance):
        R = (
            np.ones(X.shape)
            if relevance is None
            else self._check_rows(relevance, X, "relevance")
        )
        np.add.at(self.sums_, y, R * X)
        np.add.at(self.weights_, y, R)

    def _scores(self, X):
        means = self.sums_ / self.weights_
        return X @ means.T - 0.5 * np.square(means).sum(axis=1)


class Rare:
    """Marks that are rare in the training pool count more: 1 + z * log(samples / (1 + marks)).

    Parameters
    ----------
    strength : of the logarithm.
    """

    def __init__(self, strength: float = 1.0):
        self.strength = strength

    def fit(self, Z, y):
        """Count the marks of each feature in the training pool."""
        counts = np.asarray(Z, float).sum(axis=0)
        self.worth_ = np.log(np.maximum(len(Z) / (1 + counts), 1.0))
        return self

    def relevance(self, Z, y):
        """One row per sample."""
        return 1.0 + self.strength * np.asarray(Z, float) * self.worth_


@hookimpl
def rsbench_learners():
    return {"prototypes": Prototypes}


@hookimpl
def rsbench_aggregators():
    return {"rare": Rare}
