"""Class means with a Gaussian prior that votes for concepts shift."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from rsbench.core.data import Background
from rsbench.errors import check_positive
from rsbench.learners import Gaussian, OnlineVotesLearner
from rsbench_whys.concepts import check_described, check_width, shares

#: Regressions that are kept, each for one number of votes by concept.
_KEPT = 64


class VotesOfClasses(NamedTuple):
    """How votes for concepts and class means go together, as other classes tell.

    Attributes
    ----------
    means : ndarray of shape (K, d)
        Means of the background's classes, whitened, less the mean of all.
    noise : float
        The variance of such a mean in each direction, of its own few samples.
    shares : ndarray of shape (K, m)
        Shares of votes of these classes, less the mean of all.
    mean_share : ndarray of shape (m,)
        That mean.
    covariance : ndarray of shape (m, m)
        Of shares between classes, with the penalty.
    within : ndarray of shape (m,)
        The variance of a vote around its class's share.
    """

    means: np.ndarray
    noise: float
    shares: np.ndarray
    mean_share: np.ndarray
    covariance: np.ndarray
    within: np.ndarray


class Shift(NamedTuple):
    """What shares of votes say of a class's mean: s B, with a share of the variance."""

    B: np.ndarray
    left: float


class _VotesPrior(Gaussian):
    """Shift the prior of `Gaussian` by votes for concepts.

    With M the class means of the background in the whitened space, S its shares of
    votes (both less their means over K classes), and votes for a class that had n_j
    votes for concept j:

        A      = cov(S) + penalty v I + diag(within_j / n_j)
        prior  m_c ~ N((s_c - s) A^-1 S^T M / (K - 1), left t)

    with v the mean variance of a concept's share: the regression of class means on
    shares that are known but for the noise of n votes. `left` is what it leaves of the
    variance t of class means, measured on background classes that were left out one at
    a time, and is one at most: then votes tell nothing, and the prior stays where it
    was.
    """

    of_background = "annotations"
    grid: ClassVar = {"penalty": (0.3, 1.0, 3.0, 10.0)}

    def __init__(self, penalty: float = 1.0):
        self.penalty = penalty

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "penalty")

    def _regress(self, background: Background) -> VotesOfClasses | None:
        """Return how votes and means go together; None without annotated classes."""
        if background.Z is None or background.y is None:
            return None
        X, y = background.labelled(type(self).__name__)
        Z = np.asarray(background.Z, np.float64)
        counts = np.bincount(y)
        means = shares(np.asarray(self._whitened(X), np.float64), y)
        of_class = shares(Z, y)
        mean_share = of_class.mean(axis=0)
        centred = of_class - mean_share
        covariance = centred.T @ centred / (len(counts) - 1)
        places = np.diag_indices_from(covariance)
        covariance[places] += self.penalty * float(covariance[places].mean())
        asked = ~np.isnan(Z)
        squares = np.where(asked, Z - of_class[y], 0.0) ** 2
        freedom = np.maximum(asked.sum(axis=0) - len(counts), 1)
        within = squares.sum(axis=0) / freedom
        return VotesOfClasses(
            means - means.mean(axis=0),
            float(np.mean(1 / counts)),
            centred,
            mean_share,
            covariance,
            within,
        )

    def _shift(self, known: VotesOfClasses, votes: np.ndarray) -> Shift:
        """Return what shares of so many votes tell, by concept.

        Parameters
        ----------
        known : VotesOfClasses
            What other classes tell.
        votes : ndarray of shape (m,)
            The number of votes for each concept; infinity for a share that is known.
        """
        from scipy.linalg import cho_factor, cho_solve

        asked = votes > 0
        B = np.zeros((len(votes), known.means.shape[1]))
        S = known.shares[:, asked]
        # A class that is left out is as far from the mean of the others.
        others = len(S) / (len(S) - 1)
        total = float(((others * known.means) ** 2).mean(axis=0).sum())
        sampling = known.noise * known.means.shape[1]
        if not S.any() or total <= sampling:
            return Shift(B, 1.0)
        error = known.within[asked] / votes[asked]
        A = known.covariance[np.ix_(asked, asked)] + np.diag(error)
        # Concepts that nobody ever marks tell nothing, and are no reason to fail.
        A[np.diag_indices_from(A)] += 1e-12 * float(np.trace(A))
        half = cho_solve(cho_factor(A), S.T) / (len(S) - 1)
        B[asked] = half @ known.means
        leverage = np.einsum("km,mk->k", S, half) + 1 / len(S)
        residuals = (known.means - S @ B[asked]) / (1 - leverage)[:, None]
        missed = float((residuals**2).mean(axis=0).sum())
        missed += float((error[:, None] * B[asked] ** 2).sum())
        left = (missed - sampling) / (total - sampling)
        if left >= 1:
            return Shift(np.zeros_like(B), 1.0)
        # Never zero, so that it can be divided by: votes that tell all there is.
        return Shift(B, max(left, 1e-3))


class GaussianVotes(OnlineVotesLearner, _VotesPrior):
    """Learn class means from samples, and from the votes seen so far.

    The prior of a class in `Gaussian` is shifted by a regression from its share of
    votes, over the samples that have come, to its mean:

        prior  m_c ~ N((s_c - s) A^-1 S^T M / (K - 1), left t)
        A      = cov(S) + penalty v I + diag(within_j / n_j)

    with M and S the whitened means and the shares of votes of K background classes,
    both less their means, v the mean variance of a concept's share, and n_j the votes
    for concept j so far; `within_j / n_j` is the noise of so few. `left`, the part of
    the variance t that is left, is measured on background classes left out one at a
    time. Without votes, or without an annotated background, this is `Gaussian`.

    Parameters
    ----------
    penalty : float
        Of the regression, in units of v.

    Attributes
    ----------
    vote_sums_, vote_counts_ : ndarray of shape (K, m)
        Votes of each class, and how many were asked for.

    References
    ----------
    Murphy, "Conjugate Bayesian Analysis of the Gaussian Distribution", 2007. Votes as
    a second, noisy measurement of a class follow from it by conditioning.
    """

    without: ClassVar = Gaussian

    prepared_votes: VotesOfClasses | None

    def prepare(self, *, background: Background) -> Self:
        """Learn the prior, and how votes shift it, from samples of other classes.

        Parameters
        ----------
        background : Background
            Samples of at least three classes, with labels; votes shift the prior.

        Returns
        -------
        GaussianVotes
            The learner itself.
        """
        super().prepare(background=background)
        self.prepared_votes = self._regress(background)
        return self

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        super()._init(n_classes, X)
        d = self.sums_.shape[1]
        self.prior_means_ = np.zeros((n_classes, d))
        self.left_ = np.ones(n_classes)
        self.vote_sums_: Any = 0.0
        self.vote_counts_: Any = 0.0
        self.shifts_: dict[bytes, Shift] = {}
        known = self.prepared_votes
        if known is not None:
            self.vote_sums_ = np.zeros((n_classes, known.shares.shape[1]))
            self.vote_counts_ = np.zeros((n_classes, known.shares.shape[1]))

    def _learn_told(self, X: Any, y: np.ndarray, votes: Any) -> np.ndarray:
        if self.prepared_votes is None:
            votes = None
        if votes is not None:
            check_width(self, votes.shape[1], self.vote_sums_.shape[1])
        return self._predict_and_learn(X, y, votes)

    def _see_votes(self, votes: np.ndarray, pos: int) -> None:
        known = self.prepared_votes
        asked = ~np.isnan(votes)
        if known is None or not asked.any():
            return
        self.vote_sums_[pos][asked] += votes[asked]
        self.vote_counts_[pos] += asked
        counts = self.vote_counts_[pos]
        key = counts.tobytes()
        if key not in self.shifts_:
            if len(self.shifts_) >= _KEPT:
                self.shifts_.clear()
            self.shifts_[key] = self._shift(known, counts)
        shift = self.shifts_[key]
        share = self.vote_sums_[pos] / np.maximum(counts, 1)
        centred = np.where(counts > 0, share - known.mean_share, 0.0)
        self.prior_means_[pos] = centred @ shift.B
        self.left_[pos] = shift.left

    def _prior(self, of: slice) -> tuple[Any, np.ndarray]:
        variances = self.left_[of, None] * self.prepared_.variances
        return self.prior_means_[of], variances


class GaussianClassVotes(_VotesPrior):
    """Learn class means from samples, and from a description of each class.

    As `GaussianVotes`, but the share of votes of each class is given before the
    stream, by somebody who knows the class: there is no noise of few votes, and the
    prior of a class without any sample is shifted already. Without class votes this is
    `Gaussian`.

    Parameters
    ----------
    penalty : float
        Of the regression, in units of the mean variance of a concept's share.

    References
    ----------
    Murphy, "Conjugate Bayesian Analysis of the Gaussian Distribution", 2007.
    """

    without: ClassVar = Gaussian

    def prepare(
        self, *, background: Background, class_votes: np.ndarray | None = None
    ) -> Self:
        """Learn the prior, and shift it by what is said of each class.

        Parameters
        ----------
        background : Background
            Samples of at least three classes, with labels and votes.
        class_votes : array of shape (K, m), optional
            The share of votes for each concept in each class; NaN where nobody was
            asked.

        Returns
        -------
        GaussianClassVotes
            The learner itself.
        """
        super().prepare(background=background)
        self.prepared_means: np.ndarray | None = None
        self.prepared_left = np.ones(1)
        known = self._regress(background)
        if known is None or class_votes is None:
            return self
        check_width(self, class_votes.shape[1], known.shares.shape[1])
        means = np.zeros((len(class_votes), known.means.shape[1]))
        left = np.ones(len(class_votes))
        # Mostly people were asked about the same concepts in all classes.
        shifts: dict[bytes, Shift] = {}
        for c, share in enumerate(class_votes):
            asked = ~np.isnan(share)
            key = asked.tobytes()
            if key not in shifts:
                shifts[key] = self._shift(known, np.where(asked, np.inf, 0.0))
            shift = shifts[key]
            means[c] = np.where(asked, share - known.mean_share, 0.0) @ shift.B
            left[c] = shift.left
        self.prepared_means = means
        self.prepared_left = left
        return self

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        super()._init(n_classes, X)
        if self.prepared_means is not None:
            check_described(self, len(self.prepared_means), n_classes)

    def _prior(self, of: slice) -> tuple[Any, np.ndarray]:
        if self.prepared_means is None:
            return super()._prior(of)
        variances = self.prepared_left[of, None] * self.prepared_.variances
        return self.prepared_means[of], variances
