"""Class means with a Gaussian prior that other classes have taught."""

from typing import Any, NamedTuple, Self

import numpy as np

from rsbench.core.data import Background
from rsbench.core.sparse import by_class, check_memory
from rsbench.core.told import OfBackground
from rsbench.errors import UserError
from rsbench.learners.base import OnlineLearner, margins_of
from rsbench.learners.covariance import shrinkage_of, shrunk, within_classes


class ClassPrior(NamedTuple):
    """Where the means of classes are, as far as other classes tell.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        The mean of class means.
    basis : ndarray of shape (d, d)
        Features times this are whitened: samples of a class vary by one in every
        direction, and class means vary independently along each.
    variances : ndarray of shape (d,)
        By how much class means vary along each direction.
    """

    mean: np.ndarray
    basis: np.ndarray
    variances: np.ndarray


class Gaussian(OnlineLearner):
    """Learn class means from samples and a prior, both Gaussian; predict by evidence.

    In the space whitened by the covariance of the background's samples around the means
    of their classes, and turned to the directions in which those means vary, with
    variances t_j:

        prior        m_cj ~ N(0, t_j)
        sample       x_j | c ~ N(m_cj, 1)
        posterior    of n_c samples with sum s_c: variance v_cj = 1 / (n_c + 1 / t_j),
                     mean v_cj s_cj
        score        log N(x; mean, 1 + v), summed over directions

    So a direction in which classes hardly differ counts little while there are few
    samples. Both covariances are shrunk towards a sphere by the oracle approximating
    shrinkage: that within classes with as many degrees of freedom as samples less
    classes, that of class means with as many as classes less one. From the latter the
    means' own sampling error is subtracted first, nothing below zero. A class without
    samples has the prior alone.

    References
    ----------
    Murphy, "Conjugate Bayesian Analysis of the Gaussian Distribution", 2007; Ioffe,
    "Probabilistic Linear Discriminant Analysis", ECCV 2006; Chen et al., "Shrinkage
    Algorithms for MMSE Covariance Estimation", IEEE Transactions on Signal Processing
    2010.

    Attributes
    ----------
    prepared_ : ClassPrior
        What `prepare` has learned from other classes.
    counts_ : ndarray of shape (K,)
        Samples of each class.
    sums_ : ndarray of shape (K, d)
        Their sums, whitened.
    """

    of_background: OfBackground | str = OfBackground.LABELS

    prepared_: ClassPrior
    counts_: np.ndarray
    sums_: np.ndarray

    def prepare(self, *, background: Background) -> Self:
        """Learn the prior from labelled samples of other classes.

        Parameters
        ----------
        background : Background
            Samples of at least three classes, with labels.

        Returns
        -------
        Gaussian
            The learner itself.
        """
        X, y = background.labelled("Gaussian")
        self.prepared_ = learn_prior(X.astype(np.float64), y)
        return self

    def _learn(self, X: Any, y: np.ndarray) -> None:
        n_classes = len(self.classes_)
        self.sums_ = self.sums_ + by_class(self._whitened(X), y, n_classes)
        self.counts_ = self.counts_ + np.bincount(y, minlength=n_classes)

    def _predict_and_learn(
        self, X: Any, y: np.ndarray, votes: np.ndarray | None = None
    ) -> np.ndarray:
        rows = self._whitened(X)
        terms = self._terms(slice(None))
        scores = np.zeros((len(y), len(self.counts_)))
        for i, pos in enumerate(y.tolist()):
            # Before the first sample of all, all classes tie, as for any learner.
            if self.counts_.any():
                scores[i] = _evidence(rows[i], terms)
            self.sums_[pos] += rows[i]
            self.counts_[pos] += 1
            if votes is not None:
                self._see_votes(votes[i], pos)
            # Only one class has moved.
            own = self._terms(slice(pos, pos + 1))
            for all_classes, of_class in zip(terms, own, strict=True):
                all_classes[pos] = of_class[0]
        return margins_of(scores, y)

    def _see_votes(self, votes: np.ndarray, pos: int) -> None:
        """Take in a sample's votes, for a learner that is told them."""

    def _prior(self, of: slice) -> tuple[Any, np.ndarray]:
        """Return where the means of classes are before samples, and how surely.

        Parameters
        ----------
        of : slice
            Which classes.

        Returns
        -------
        means : ndarray of shape (k, d), or 0.0
            Whitened, less the mean of all classes.
        variances : ndarray of shape (k, d), or (d,)
            How much a class's mean may differ from that.
        """
        return 0.0, self.prepared_.variances

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        if "prepared_" not in vars(self):
            raise UserError(
                "Gaussian learns its prior from labelled samples of other classes: "
                "call prepare(background=Background(X, y)) first"
            )
        self.counts_ = np.zeros(n_classes, int)
        self.sums_ = np.zeros((n_classes, len(self.prepared_.variances)))

    def _whitened(self, X: Any) -> np.ndarray:
        return (X - self.prepared_.mean) @ self.prepared_.basis

    def _terms(self, of: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what classes' scores are made of: by x^2, by x, and constant."""
        prior_means, variances = self._prior(of)
        precision = self.counts_[of, None] + 1 / variances
        means = (self.sums_[of] + prior_means / variances) / precision
        # Of a sample around the mean, which is not quite known itself.
        weights = 1 / (1 + 1 / precision)
        constant = 0.5 * (np.log(weights) - weights * means**2).sum(axis=1)
        return -0.5 * weights, weights * means, constant

    def _scores(self, X: Any) -> np.ndarray:
        return _evidence(self._whitened(X), self._terms(slice(None)))


def _evidence(
    x: np.ndarray, terms: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the log density of whitened samples under each class, but for 2 pi."""
    by_square, by_value, constant = terms
    return x**2 @ by_square.T + x @ by_value.T + constant


def learn_prior(X: np.ndarray, y: np.ndarray) -> ClassPrior:
    """Return where class means are, from samples of many classes.

    Parameters
    ----------
    X : ndarray of shape (m, d)
        Features, in double precision.
    y : ndarray of shape (m,)
        Classes, 0 to K-1, none without samples.
    """
    from scipy.linalg import cholesky, solve_triangular, svd

    d = X.shape[1]
    check_memory(5 * 8 * d**2, f"Gaussian needs the covariance of {d:,} features")
    scatter, means, counts = within_classes(X, y)
    freedom = len(y) - len(counts)
    if len(counts) < 3 or freedom < 1:
        raise UserError(
            f"Gaussian: the background has {len(y)} samples of {len(counts)} classes, "
            "expected three classes or more, and two samples of some of them"
        )
    if np.trace(scatter) == 0:
        raise UserError("Gaussian: the background's samples of a class are all alike")
    within = scatter / freedom
    within = shrunk(within, shrinkage_of(within, freedom))
    lower = cholesky(within, lower=True, check_finite=False)
    mean = means.mean(axis=0)
    whitened = solve_triangular(lower, (means - mean).T, lower=True).T
    # The directions in which class means vary; those beyond them are at right angles.
    turn, lengths, _ = svd(whitened.T, full_matrices=True, check_finite=False)
    between = np.zeros(d)
    between[: len(lengths)] = lengths**2 / (len(counts) - 1)
    shrinkage = shrinkage_of(np.diag(between), len(counts) - 1)
    # A mean of n samples is off by 1 / n, which is no difference between classes.
    variances = np.maximum(between - np.mean(1 / counts), 0.0)
    variances = (1 - shrinkage) * variances + shrinkage * variances.mean()
    # Never zero, so that it can be divided by: classes that do not differ at all.
    variances = np.maximum(variances, 1e-12)
    basis = solve_triangular(lower, turn, trans=1, lower=True)
    return ClassPrior(mean, basis, variances)
