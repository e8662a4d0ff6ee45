"""Ridge regression that takes samples as they come, exactly, in two ways.

With one-hot targets Y and features X, both so far, ridge regression is

    min over W, b of |Y - X W^T - 1 b^T|^2 + alpha |W|^2        (b is not penalised)

With few samples it is solved by their products with each other, an n x n matrix
(`BySamples`); with more samples than features by products of features, d x d
(`ByFeatures`). A sample of weight w counts as w samples: its row and its target are
taken times the root of w. What is known of its target already is subtracted first.
Both know what they would have predicted of each sample of a block just
before it, by the innovations of a Cholesky factor: with the factor L of the covariance
that the block's targets have under the prior, z = L^-1 (targets less what is predicted
of them before the block) are uncorrelated, and L[i, i] z[i] is what sample i's
prediction, made by all samples before it, was off.
"""

from typing import Any, Protocol

import numpy as np

from rsbench.core.sparse import check_memory, is_sparse, row_numbers, with_values
from rsbench.errors import UserError


class Solver(Protocol):
    """What both ways can do.

    Attributes
    ----------
    n : int
        The number of samples so far.
    """

    n: int

    def regularise(self, alpha: float) -> None:
        """Set the penalty."""

    def scale(self) -> float:
        """Return the total variance of the features so far."""

    def add(
        self,
        X: Any,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> np.ndarray:
        """Take samples in; return what would have been predicted just before each.

        Parameters
        ----------
        X : array of shape (m, d)
            Features.
        y : ndarray of shape (m,)
            Classes, 0 to K-1.
        weights : ndarray of shape (m,), optional
            How many samples each counts for, above zero; one by default.
        known : ndarray of shape (m, K), optional
            What is known of targets already; the rest is regressed.

        Returns
        -------
        ndarray of shape (m, K)
            Predicted targets, less what was known; of the first sample of all they say
            nothing.
        """

    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights, (K, d), and the intercepts, (K,)."""


def one_hot(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return targets: one for the class, zero for all others."""
    targets = np.zeros((len(y), n_classes))
    targets[np.arange(len(y)), y] = 1.0
    return targets


def targets_of(
    y: np.ndarray, n_classes: int, known: np.ndarray | None = None
) -> np.ndarray:
    """Return one-hot targets, less what is known of them already."""
    targets = one_hot(y, n_classes)
    if known is not None:
        targets -= known
    return targets


def weighted(
    X: Any, targets: np.ndarray, weights: np.ndarray | None
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return rows and targets times the roots of weights, and these roots."""
    if weights is None:
        return X, targets, np.ones(len(targets))
    roots = np.sqrt(weights)
    if is_sparse(X):
        rows = with_values(X, X.data * roots[row_numbers(X)])
    else:
        rows = X * roots[:, None]
    return rows, targets * roots[:, None], roots


def factor(matrix: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of a matrix, which is overwritten.

    Raises
    ------
    UserError
        If the matrix is singular but for rounding.
    """
    from scipy.linalg import LinAlgError, cholesky

    try:
        return cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise UserError(
            "the regularisation is too small for these features: larger alpha"
        ) from None


def solve(lower: np.ndarray, right: np.ndarray, transposed: bool = False) -> np.ndarray:
    """Return L^-1 right, or L^-T right."""
    from scipy.linalg import solve_triangular

    trans = 0
    if transposed:
        trans = 1
    return solve_triangular(lower, right, trans, lower=True, check_finite=False)


class BySamples:
    """Keep all samples, their products, and the factor of these plus alpha.

    The intercept is the generalised least-squares mean of the targets: with z = L^-1 Y
    and w = L^-1 1, b = sum_i w_i z_i / sum_i w_i^2, of the samples so far.

    Parameters
    ----------
    n_classes : int
        The number of classes, K.
    fit_intercept : bool
        Whether there is an intercept.
    """

    def __init__(self, n_classes: int, fit_intercept: bool):
        self.n_classes = n_classes
        self.fit_intercept = fit_intercept
        self.n = 0
        self.alpha = 1.0
        self.X: Any = None
        #: Targets, and ones, both times the roots of the samples' weights.
        self.Y = np.empty((0, n_classes))
        self.roots = np.empty(0)
        self.gram = np.empty((0, 0))
        #: The factor L of gram + alpha, and L^-1 Y and L^-1 1.
        self.lower = np.empty((0, 0))
        self.targets = np.empty((0, n_classes))
        self.ones = np.empty(0)
        #: The solution, once somebody has asked for it.
        self.found: tuple[np.ndarray, np.ndarray] | None = None

    def regularise(self, alpha: float) -> None:
        """Set the penalty, and factor anew."""
        self.alpha = alpha
        self.found = None
        self.lower = factor(self.gram + alpha * np.eye(self.n))
        self.targets = solve(self.lower, self.Y)
        self.ones = solve(self.lower, self.roots)

    def scale(self) -> float:
        """Return the mean squared distance of samples from their mean."""
        total = float(self.roots @ self.roots)
        squares = float(np.trace(self.gram)) / total
        if not self.fit_intercept:
            return squares
        of_sum = float((self.gram * np.outer(self.roots, self.roots)).sum())
        return _left(squares, of_sum / total**2)

    def add(
        self,
        X: Any,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> np.ndarray:
        """Take samples in; return what would have been predicted just before each."""
        before = self.n
        self.found = None
        wanted = targets_of(y, self.n_classes, known)
        rows, targets, roots = weighted(X, wanted, weights)
        self._extend(rows, targets, roots)
        new = slice(before, self.n)
        diagonal = self.lower.diagonal()[new, None]
        errors = self.targets[new]
        if self.fit_intercept:
            ones = self.ones[:, None]
            # The intercept as it was before each sample; before the first, none.
            above = np.cumsum(ones * self.targets, axis=0)
            below = np.cumsum(ones**2, axis=0)
            intercepts = np.vstack([np.zeros(self.n_classes), (above / below)[:-1]])
            errors = errors - ones[new] * intercepts[new]
        return wanted - diagonal * errors / roots[:, None]

    def _extend(self, X: Any, targets: np.ndarray, roots: np.ndarray) -> None:
        """Add rows to the samples, to their products and to the factor."""
        m = len(roots)
        total = self.n + m
        check_memory(
            3 * 8 * total**2, f"ridge on {total:,} samples needs their products"
        )
        own = _products(X, X)
        gram = np.empty((total, total))
        gram[: self.n, : self.n] = self.gram
        gram[self.n :, self.n :] = own
        lower = np.zeros((total, total))
        left = own + self.alpha * np.eye(m)
        left_targets = targets
        left_ones = roots
        if self.n:
            across = _products(X, self.X)
            gram[self.n :, : self.n] = across
            gram[: self.n, self.n :] = across.T
            known = solve(self.lower, across.T)
            lower[: self.n, : self.n] = self.lower
            lower[self.n :, : self.n] = known.T
            left -= known.T @ known
            left_targets = targets - known.T @ self.targets
            left_ones = roots - known.T @ self.ones
        corner = factor(left)
        lower[self.n :, self.n :] = corner
        self.gram = gram
        self.lower = lower
        self.targets = np.vstack([self.targets, solve(corner, left_targets)])
        self.ones = np.concatenate([self.ones, solve(corner, left_ones)])
        self.X = _stacked(self.X, X)
        self.Y = np.vstack([self.Y, targets])
        self.roots = np.concatenate([self.roots, roots])
        self.n = total

    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights, (K, d), and the intercepts, (K,)."""
        if self.found is None:
            self.found = self._solve()
        return self.found

    def _solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and intercepts, by the samples' own coefficients."""
        intercept = np.zeros(self.n_classes)
        targets = self.targets
        if self.fit_intercept:
            intercept = (self.ones @ self.targets) / (self.ones @ self.ones)
            targets = targets - self.ones[:, None] * intercept
        dual = solve(self.lower, targets, transposed=True)
        return (self.X.T @ dual).T, intercept


class ByFeatures:
    """Keep the products of features, and those of features with targets.

    The intercept is one feature more, always 1, that is not penalised.

    Parameters
    ----------
    samples : BySamples
        What was learned so far, of one sample or more.
    """

    def __init__(self, samples: BySamples):
        self.n_classes = samples.n_classes
        self.fit_intercept = samples.fit_intercept
        self.n = samples.n
        #: How many samples they count for, by their weights.
        self.total = float(samples.roots @ samples.roots)
        self.alpha = samples.alpha
        width = samples.X.shape[1] + int(self.fit_intercept)
        check_memory(
            3 * 8 * width**2, f"ridge on {width:,} features needs their products"
        )
        X = self._with_ones(samples.X, samples.roots)
        self.gram: np.ndarray = _as_dense(X.T @ X)
        self.sums: np.ndarray = (X.T @ samples.Y).T
        self.lower: np.ndarray | None = None
        self.weights: np.ndarray | None = None

    def regularise(self, alpha: float) -> None:
        """Set the penalty."""
        self.alpha = alpha
        self.lower = None
        self.weights = None

    def scale(self) -> float:
        """Return the mean squared distance of samples from their mean."""
        if not self.fit_intercept:
            return float(np.trace(self.gram)) / self.total
        mean = self.gram[-1, :-1] / self.total
        squares = (float(np.trace(self.gram)) - self.total) / self.total
        return _left(squares, float(mean @ mean))

    def add(
        self,
        X: Any,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> np.ndarray:
        """Take samples in; return what would have been predicted just before each."""
        wanted = targets_of(y, self.n_classes, known)
        rows, targets, roots = weighted(X, wanted, weights)
        X = self._with_ones(rows, roots)
        lower = self._factor()
        before = solve(lower, _as_dense(X).T)
        left = factor(np.eye(len(y)) + before.T @ before)
        errors = solve(left, targets - X @ self._weights().T)
        predicted = wanted - left.diagonal()[:, None] * errors / roots[:, None]
        self.gram += _as_dense(X.T @ X)
        self.sums += (X.T @ targets).T
        self.n += len(y)
        self.total += float(roots @ roots)
        self.lower = None
        self.weights = None
        return predicted

    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights, (K, d), and the intercepts, (K,)."""
        weights = self._weights()
        if not self.fit_intercept:
            return weights, np.zeros(self.n_classes)
        return weights[:, :-1], weights[:, -1]

    def _factor(self) -> np.ndarray:
        """Return the factor of the products plus the penalty, made when first asked."""
        if self.lower is None:
            penalised = self.gram.copy()
            width = len(penalised) - int(self.fit_intercept)
            places = np.arange(width)
            penalised[places, places] += self.alpha
            self.lower = factor(penalised)
        return self.lower

    def _weights(self) -> np.ndarray:
        """Return the weights, the intercept last, made when first asked for."""
        if self.weights is None:
            lower = self._factor()
            self.weights = solve(lower, solve(lower, self.sums.T), transposed=True).T
        return self.weights

    def _with_ones(self, X: Any, roots: np.ndarray) -> Any:
        """Return features with one more that is always 1, if there is an intercept.

        Rows are times the roots of their weights already, and so is what is added.
        """
        if not self.fit_intercept:
            return X
        ones = roots[:, None]
        if is_sparse(X):
            from scipy.sparse import hstack

            return hstack([X, ones], format="csr")
        return np.hstack([X, ones])


def _left(squares: float, of_mean: float) -> float:
    """Return a difference; zero where nothing but rounding is left of it."""
    left = squares - of_mean
    if left <= 1e-12 * squares:
        return 0.0
    return left


def _products(one: Any, two: Any) -> np.ndarray:
    """Return the products of samples with each other, dense."""
    return _as_dense(one @ two.T)


def _as_dense(matrix: Any) -> np.ndarray:
    if is_sparse(matrix):
        return matrix.toarray()
    return matrix


def _stacked(above: Any, below: Any) -> Any:
    """Return rows above others; the others alone where there are none above."""
    if above is None:
        return below
    if is_sparse(below):
        from scipy.sparse import vstack

        return vstack([above, below], format="csr")
    return np.vstack([above, below])
