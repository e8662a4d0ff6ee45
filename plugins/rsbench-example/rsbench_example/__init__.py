"""A learner and an aggregator that rsbench finds once this package is installed."""

import numpy as np

from rsbench import hookimpl
from rsbench.learners import Learner


class Prototypes(Learner):
    """The nearest of the classes' means, to which relevant features count more.

    Parameters
    ----------
    prior : float
        Weight of a first mean of zeros, which later samples outweigh.
    """

    def __init__(self, prior: float = 1.0):
        self.prior = prior

    def fit(self, X, y, *, relevance=None):
        """Learn from scratch."""
        return self._fit_anew(X, y, relevance=relevance)

    def partial_fit(self, X, y, classes=None, *, relevance=None):
        """Add the samples to their classes' means."""
        X, y = self._continue(X, y, classes)
        if relevance is None:
            R = np.ones(X.shape)
        else:
            R = self._check_rows(relevance, X, "relevance")
        np.add.at(self.sums_, y, R * X)
        np.add.at(self.totals_, y, R)
        return self

    def _init(self, n_classes, X):
        self.sums_ = np.zeros((n_classes, X.shape[1]))
        self.totals_ = np.full((n_classes, X.shape[1]), float(self.prior))

    def _scores(self, X):
        # The nearest mean m has the highest x.m - |m|^2 / 2.
        means = self.sums_ / self.totals_
        return X @ means.T - 0.5 * np.square(means).sum(axis=1)


class Rare:
    """Let marks that are rare in the training pool count more.

    Relevance is 1 + z * strength * log(samples / (1 + marks)).

    Parameters
    ----------
    strength : float
        Factor of the logarithm.
    """

    def __init__(self, strength: float = 1.0):
        self.strength = strength

    def fit(self, Z, y):
        """Count the marks of each feature in the training pool."""
        marks = np.asarray(Z, float).sum(axis=0)
        self.worth_ = np.log(np.maximum(len(Z) / (1 + marks), 1.0))
        return self

    def relevance(self, Z, y):
        """Return one row per sample."""
        return 1.0 + self.strength * np.asarray(Z, float) * self.worth_


@hookimpl
def rsbench_learners():
    return {"prototypes": Prototypes}


@hookimpl
def rsbench_aggregators():
    return {"rare": Rare}
