"""A linear SVM, and two that are told why: by contrast examples, and by margins."""

from typing import Any, ClassVar

import numpy as np

from rsbench.errors import check_positive
from rsbench.learners import BatchLearner, ViewLearner, stack
from rsbench_whys.concepts import KeptVotes


class SVM(BatchLearner):
    """A linear SVM on all samples so far, one machine for each class against the rest.

        min over w of  |w|^2 / 2 + C sum_i max(0, 1 - t_i w.x_i)

    with t_i one for samples of the class and minus one for others (scikit-learn's
    LinearSVC, liblinear). Features are divided by the root of their mean squared norm,
    so that units do not matter, and have one more that is always 1. Two classes share
    one machine; classes without samples come last.

    Parameters
    ----------
    C : float
        What a sample on the wrong side of its margin costs.

    Attributes
    ----------
    coef_ : ndarray of shape (k, d)
        The machines' weights; one for two classes.
    intercept_ : ndarray of shape (k,)
        Their constants.
    known_ : ndarray of shape (k,)
        The classes that have samples, as positions in `classes_`.

    References
    ----------
    Cortes, Vapnik, "Support-Vector Networks", Machine Learning 1995; Fan et al.,
    "LIBLINEAR: A Library for Large Linear Classification", JMLR 2008.
    """

    takes_sparse = True
    score_scale = "hinge"
    grid: ClassVar = {"C": (0.1, 1.0, 10.0, 100.0)}

    def __init__(self, C: float = 10.0):
        self.C = C

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_positive(self, "C")

    def refit(self, X: Any, y: np.ndarray) -> None:
        """Fit the machines to all samples so far."""
        self._fit_machines(X, y, X[:0], y[:0], None)

    def _fit_machines(
        self,
        X: Any,
        y: np.ndarray,
        more: Any,
        of_more: np.ndarray,
        margins: np.ndarray | None,
        cost_of_more: float = 1.0,
    ) -> None:
        """Fit a machine to each class, or one to two.

        Parameters
        ----------
        X, y : arrays of shape (n, d) and (n,)
            Samples and classes.
        more, of_more : arrays of shape (m, d) and (m,)
            Pseudo-samples, and their classes.
        margins : ndarray of shape (n, K) or None
            The margin that each sample is to have, by class; one by default.
        cost_of_more : float
            What a pseudo-sample costs, in place of C.
        """
        self.known_ = np.unique(y)
        self.coef_ = np.zeros((1, X.shape[1]))
        self.intercept_ = np.zeros(1)
        if len(self.known_) == 1:
            return
        scale = np.sqrt(X.multiply(X).sum() if hasattr(X, "multiply") else (X**2).sum())
        scale = float(scale) / np.sqrt(X.shape[0])
        if scale == 0:  # samples of zeros
            scale = 1.0
        rows = _with_ones(stack([X, more]) / scale, X.shape[0])
        labels = np.concatenate([y, of_more])
        costs = np.full(len(labels), float(self.C))
        costs[len(y) :] = cost_of_more
        machines = self.known_
        if len(machines) == 2:
            machines = machines[1:]
        found = []
        for c in machines:
            wanted = np.ones(len(labels))
            if margins is not None:
                wanted[: len(y)] = margins[:, c]
            found.append(_machine(rows, labels == c, costs, wanted))
        weights = np.array(found)
        self.coef_ = weights[:, :-1] / scale
        self.intercept_ = weights[:, -1]

    def _scores(self, X: Any) -> np.ndarray:
        scores = X @ self.coef_.T + self.intercept_
        if len(self.known_) == 2:
            scores = scores[:, 0]
        return self._of_all_classes(scores, self.known_)


def _with_ones(rows: Any, n: int) -> Any:
    """Return rows with one feature more: 1 for the first n, 0 for what follows.

    What follows are differences of samples, in which the constant is gone.
    """
    ones = np.zeros((rows.shape[0], 1))
    ones[:n] = 1.0
    if isinstance(rows, np.ndarray):
        return np.hstack([rows.astype(np.float64), ones])
    from scipy.sparse import hstack

    return hstack([rows.astype(np.float64), ones], format="csr")


def _machine(
    rows: Any, is_of_class: np.ndarray, costs: np.ndarray, margins: np.ndarray
) -> np.ndarray:
    """Return the weights of one machine.

    A margin other than one is that of a sample divided by it, at a cost that is
    multiplied by it: max(0, m - t w.x) = m max(0, 1 - t w.(x / m)).
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if (margins != 1).any():
        if isinstance(rows, np.ndarray):
            rows = rows / margins[:, None]
        else:
            rows = (rows / margins[:, None]).tocsr()
        costs = costs * margins
    model = LinearSVC(
        loss="hinge",
        C=1.0,
        fit_intercept=False,
        tol=1e-5,
        max_iter=20_000,
        random_state=0,
    )
    with warnings.catch_warnings():
        # It stops where it goes no further.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, is_of_class, sample_weight=costs)
    return model.coef_[0]


class ContrastSVM(ViewLearner, SVM):
    """An SVM with contrast examples, which have a cost of their own.

    A contrast example x' is the sample with what people marked taken away. To the
    machine of `SVM` are added

        C_contrast sum_i max(0, 1 - t_i w.(x_i - x'_i) / mu)

    The difference is the view of the sample, where the preprocessor is linear (none).
    Where nobody was asked this is `SVM`. The original tells two classes apart and has
    a contrast example for each rationale; here there is one for each sample, without
    all of its rationales, and a machine for each class.

    Parameters
    ----------
    C : float
        What a sample on the wrong side of its margin costs.
    C_contrast : float
        What a contrast example costs.
    mu : float
        The margin that the marked part is to have by itself.

    References
    ----------
    Zaidan, Eisner, Piatko, "Using 'Annotator Rationales' to Improve Machine Learning
    for Text Categorization", NAACL 2007, Eqs. 2-4.
    """

    without: ClassVar = SVM
    grid: ClassVar = {"C": (1.0, 10.0, 100.0), "C_contrast": (0.1, 1.0)}

    def __init__(self, C: float = 10.0, C_contrast: float = 1.0, mu: float = 1.0):
        super().__init__(C)
        self.C_contrast = C_contrast
        self.mu = mu

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "C_contrast")
        check_positive(self, "mu")

    def _init(self, n_classes: int, X: Any) -> None:
        super()._init(n_classes, X)
        self.view_seen_ = X[:0]
        self.of_view_ = np.empty(0, int)

    def _learn_told(self, X: Any, y: np.ndarray, view: Any, viewed: np.ndarray) -> None:
        self.view_seen_ = stack([self.view_seen_, view])
        self.of_view_ = np.concatenate([self.of_view_, y[viewed]])
        self._learn(X, y)

    def refit(self, X: Any, y: np.ndarray) -> None:
        """Fit the machines to all samples and contrast examples so far."""
        contrasts = self.view_seen_ / X.dtype.type(self.mu)
        self._fit_machines(X, y, contrasts, self.of_view_, None, self.C_contrast)


class MarginTransfer(KeptVotes, SVM):
    """An SVM that asks of each sample the margin that votes alone would give it.

    First a machine of `SVM` is fitted to votes, f*(z). Then the one on features has

        C sum_i max(0, m_i - t_i w.x_i)        with m_i = max(t_i f*(z_i), least)

    so that samples which are hard even for one who knows the votes are let go. Where
    nobody was asked margins are one, and this is `SVM`; a vote that is missing is
    taken to be the mean of the others.

    Parameters
    ----------
    C : float
        What a sample on the wrong side of its margin costs.
    least : float
        The smallest margin that is asked for.

    References
    ----------
    Sharmanska, Quadrianto, Lampert, "Learning to Rank Using Privileged Information",
    ICCV 2013; "Learning to Transfer Privileged Information", 2014.
    """

    without: ClassVar = SVM
    takes_sparse = False
    grid: ClassVar = {"C": (1.0, 10.0, 100.0), "least": (0.1, 0.5)}

    def __init__(self, C: float = 10.0, least: float = 0.1):
        super().__init__(C)
        self.least = least

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        check_positive(self, "least")

    def refit(self, X: Any, y: np.ndarray) -> None:
        """Fit machines to votes, and then to features with the margins of those."""
        Z, asked = self._annotated()
        margins = None
        if len(np.unique(y[asked])) > 1:
            margins = np.ones((len(y), len(self.classes_)))
            margins[asked] = self._margins(Z, y[asked])
        self._fit_machines(X, y, X[:0], y[:0], margins)

    def _margins(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return annotated samples' margins by machines on their votes, (n, K)."""
        teacher = SVM(self.C)
        teacher.classes_ = self.classes_
        teacher.refit(Z, y)
        scores = Z @ teacher.coef_.T + teacher.intercept_
        found = np.ones((len(y), len(self.classes_)))
        known = teacher.known_
        if len(known) == 2:
            # The machine of the second class; that of the first is its opposite.
            scores = np.hstack([-scores, scores])
        signs = np.where(y[:, None] == known, 1.0, -1.0)
        found[:, known] = np.maximum(signs * scores, self.least)
        return found
