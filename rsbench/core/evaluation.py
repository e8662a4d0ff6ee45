"""Predictions and what they are made from: features alone, never annotations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rsbench.core.components import name_of
from rsbench.core.data import Data, bytes_of_row, in_blocks, release
from rsbench.core.measures import margins
from rsbench.core.sparse import (
    SparseVotes,
    dense,
    is_sparse,
    row_numbers,
    values_at,
    with_values,
)
from rsbench.errors import UserError

#: The test set's features and scores are kept from one test to the next if each takes
#: no more than this, 256 MiB.
KEPT_BYTES = 1 << 28


def is_fitted_on_stream(preprocessor: Any) -> bool:
    """Tell whether a preprocessor's statistics come from the stream so far."""
    return preprocessor.fit is not None and preprocessor.fit_on == "seen"


class Features:
    """Features after preprocessing, whose statistics never come from test samples.

    Parameters
    ----------
    data : Data
        Samples with features, and the background that statistics may come from.
    preprocessor : Preprocessor
        Changes features. One that learns says in `fit_on` from which samples.
    precision : str
        `data`, as the features come, or `float32` or `float64`.
    learner : Learner, optional
        Who they are for. Sparse features stay sparse only for one that takes them so.
    """

    def __init__(
        self,
        data: Data,
        preprocessor: Any,
        precision: str = "data",
        learner: Any = None,
    ):
        self._X = data.features
        self._preprocessor = preprocessor
        self._learner = learner
        if is_sparse(self._X) and not preprocessor.takes_sparse:
            raise UserError(
                f"{name_of(preprocessor)} takes no sparse features, whose zeros it "
                "would fill in: preprocessor=none, l2 or scale"
            )
        self._dtype = self._X.dtype
        if precision != "data":
            self._dtype = np.dtype(precision)
        self._seen: list[int] = []
        self.width = self._X.shape[1]
        learns = preprocessor.fit is not None
        if learns and preprocessor.fit_on not in ("background", "seen"):
            raise UserError(
                f"preprocessor.fit_on={preprocessor.fit_on!r}, "
                "expected background or seen"
            )
        #: Whether a sample's features stay the same along the stream.
        self.constant = not is_fitted_on_stream(preprocessor)
        if learns and self.constant:
            self._fit_on_background(data)

    @property
    def stay_sparse(self) -> bool:
        """Whether rows are given as they are stored, sparse."""
        takes_sparse = self._learner is not None and self._learner.takes_sparse
        return is_sparse(self._X) and takes_sparse

    @property
    def row_bytes(self) -> int:
        """What a row takes in double precision, on average."""
        if self.stay_sparse:
            return bytes_of_row(self._X)
        return 8 * self.width

    def _fit_on_background(self, data: Data) -> None:
        if data.background is None:
            raise UserError(
                "the preprocessor's statistics come from background data, and the "
                "data set has none: preprocessor.fit_on=seen takes them from the "
                "stream so far"
            )
        self._preprocessor.fit(data.background)

    def learned(self, block: np.ndarray) -> np.ndarray:
        """Return samples of the stream, in order.

        With statistics from the stream, each sample is transformed by those up to and
        including itself.
        """
        return self.learned_and_viewed(block, None)[0]

    def learned_and_viewed(self, block: np.ndarray, votes: Any) -> tuple[Any, Any]:
        """Return samples of the stream as `learned` does, and views of them.

        A view is the sample with its unmarked features blanked, zero before the
        preprocessor; NaN where nobody was asked.

        Parameters
        ----------
        block : array of int
            The samples.
        votes : array or SparseVotes, or None
            Their votes; None for no views.
        """
        if self.constant:
            return self.now(block), self._view(block, votes)
        rows = []
        views = []
        for number, i in enumerate(block):
            self._seen.append(i)
            if self._preprocessor.partial_fit is not None:
                self._preprocessor.partial_fit(self._read([i]))
            else:
                # All of them anew at each sample: slow, but right for any `fit`.
                self._preprocessor.fit(self._read(self._seen))
            rows.append(self.now([i]))
            if votes is not None:
                views.append(self._view([i], votes[number : number + 1]))
        if votes is None:
            return stack(rows), None
        return stack(rows), stack(views)

    def now(self, rows: np.ndarray | list[int]) -> Any:
        """Return any samples, by the statistics of the current step."""
        return self._given(self._preprocessor.transform(self._read(rows)))

    def _view(self, rows: np.ndarray | list[int], votes: Any) -> Any:
        """Return what people marked of samples, by the statistics of now."""
        if votes is None:
            return None
        blanked = only_marked(self._read(rows), votes)
        view = self._given(self._preprocessor.transform(blanked))
        return with_missing(view, nobody_asked(votes))

    def other(self, X: Any) -> Any:
        """Return samples of other classes, as they would be if they were learned."""
        if not self.constant:
            raise UserError(
                f"{name_of(self._learner)} asks for samples of other classes before "
                "the stream, when the preprocessor has seen nothing of it yet: "
                "preprocessor.fit_on=background"
            )
        X = X.astype(self._dtype, copy=False)
        return self._given(self._preprocessor.transform(X))

    def _read(self, rows: np.ndarray | list[int]) -> Any:
        read = self._X[rows].astype(self._dtype, copy=False)
        release(self._X)
        return read

    def _given(self, X: Any) -> Any:
        """Return rows as the learner takes them."""
        if self._learner is None:
            return X
        name = name_of(self._learner)
        if is_sparse(X) and not self._learner.takes_sparse:
            X = dense(X, name)
        if not self._learner.takes_negative and X.min() < 0:
            raise UserError(
                f"{name} is for counts, and after preprocessing a feature is "
                f"{X.min():.3g}: preprocessor=none, l2 or scale, or another learner"
            )
        return X


def only_marked(X: Any, votes: Any) -> Any:
    """Return features as they are where somebody marked them, and zero elsewhere.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
        Features. Sparse ones keep their places.
    votes : array or SparseVotes of shape (n, d)
        Votes; any above zero is a mark.
    """
    if is_sparse(X):
        marked = values_at(votes.matrix, X) > 0
        return with_values(X, np.where(marked, X.data, 0).astype(X.dtype))
    return np.where(votes > 0, X, 0).astype(X.dtype)


def nobody_asked(votes: Any) -> np.ndarray:
    """Return of which samples all votes are missing."""
    if isinstance(votes, SparseVotes):
        return ~votes.asked
    if votes.dtype.kind != "f":  # only floats can be NaN
        return np.zeros(len(votes), bool)
    return np.isnan(votes).all(axis=1)


def with_missing(X: Any, missing: np.ndarray) -> Any:
    """Return rows of which some are NaN, wherever they have a value."""
    if not missing.any():
        return X
    if is_sparse(X):
        gone = missing[row_numbers(X)]
        return with_values(X, np.where(gone, np.nan, X.data).astype(X.dtype))
    return np.where(missing[:, None], np.nan, X).astype(X.dtype)


def stack(parts: list[Any]) -> Any:
    """Return rows one after the other, of arrays, sparse ones or sparse votes."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0], SparseVotes):
        asked = np.concatenate([part.asked for part in parts])
        return SparseVotes(stack([part.matrix for part in parts]), asked)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def prequential(
    learner: Any,
    X: Any,
    y: np.ndarray,
    classes: np.ndarray,
    rich: dict[str, np.ndarray],
    new: bool,
) -> np.ndarray:
    """Learn from a block; return the margin of each prediction made just before.

    Parameters
    ----------
    learner : Learner
        What learns. Its own `prequential`, if it has one, does the same faster.
    X, y : arrays of shape (n, d) and (n,)
        The block's samples and classes.
    classes : array of shape (K,)
        All classes.
    rich : dict of arrays
        What the learner asked for, a row for each sample. Predictions get none of it.
    new : bool
        Whether the learner has learned nothing yet, and so has no preference: a tie.
        It is not even asked: many of scikit-learn's raise an error then.

    Returns
    -------
    array of shape (n,)
        Margins; zero, a tie, for the first sample of all.
    """
    if learner.prequential is not None:
        before = np.asarray(learner.prequential(X, y, classes=classes, **rich))
        if before.shape != (len(y),):
            raise UserError(
                f"{name_of(learner)}.prequential gave shape {before.shape}, "
                f"expected {(len(y),)}"
            )
        return before
    before = np.zeros(len(y))
    for i in range(len(y)):
        one = slice(i, i + 1)
        if i > 0 or not new:
            scores = learner.decision_function(X[one])
            before[i] = margins(scores, y[one], len(classes))[0]
        given = {name: rows[one] for name, rows in rich.items()}
        learner.partial_fit(X[one], y[one], classes=classes, **given)
    return before


class Lessons:
    """What a batch learner is still to be taught: samples, and what comes with them.

    Parameters
    ----------
    learner : Learner
        One that is taught a step at a time.
    classes : array of shape (K,)
        All classes.
    """

    def __init__(self, learner: Any, classes: np.ndarray):
        self._learner = learner
        self._classes = classes
        self._X: list[Any] = []
        self._y: list[np.ndarray] = []
        self._rich: dict[str, list[Any]] = {}
        #: Whether the learner was taught anything at all.
        self.begun = False

    def add(self, X: Any, y: np.ndarray, rich: dict[str, Any]) -> np.ndarray:
        """Keep samples for later; return their margins by what is known by now."""
        self._X.append(X)
        self._y.append(y)
        for name, rows in rich.items():
            self._rich.setdefault(name, []).append(rows)
        if not self.begun:  # no preference: a tie
            return np.zeros(len(y))
        scores = self._learner.decision_function(X)
        return margins(scores, y, len(self._classes))

    def teach(self) -> None:
        """Teach the learner all that was kept, in one call."""
        rich = {name: stack(parts) for name, parts in self._rich.items()}
        X = stack(self._X)
        y = np.concatenate(self._y)
        self._X = []
        self._y = []
        self._rich = {}
        self._learner.partial_fit(X, y, classes=self._classes, **rich)
        self.begun = True


class Tests:
    """Margins of the test set, of which the learner is shown features alone.

    A linear learner's score of a class depends on the weights of that class alone. So
    where only some classes moved since the last test, only those are scored again.

    Parameters
    ----------
    learner : Learner
        What is tested.
    features : Features
        Gives the test samples' features.
    y : array of shape (n,)
        Classes of all samples.
    test : array of int
        The test set's samples.
    n_classes : int
        The number of classes.
    """

    __test__ = False  # pytest takes classes of this name for its own

    def __init__(
        self,
        learner: Any,
        features: Features,
        y: np.ndarray,
        test: np.ndarray,
        n_classes: int,
    ):
        self._learner = learner
        self._features = features
        self._y = y
        self._n_classes = n_classes
        # Of the larger of the two: a row of features, or one of scores.
        row_bytes = max(8 * n_classes, features.row_bytes)
        self._blocks = list(in_blocks(test, row_bytes))
        self._keeps = features.constant and row_bytes * len(test) <= KEPT_BYTES
        self._kept_features: list[np.ndarray] = []
        self._kept_scores: np.ndarray | None = None
        #: The weights that the kept scores are of.
        self._kept_weights: np.ndarray | None = None

    def margins(self) -> np.ndarray:
        """Return the margin of each test sample, by what the learner knows now."""
        found = []
        for rows, scores in zip(self._blocks, self._scores(), strict=True):
            found.append(margins(scores, self._y[rows], self._n_classes))
        return np.concatenate(found)

    def _scores(self) -> Iterator[np.ndarray]:
        """Yield the scores of each block."""
        # With two classes `decision_function` gives a difference, not a class's score.
        is_linear = self._learner.weights is not None and self._n_classes > 2
        if self._keeps and is_linear:
            ends = np.cumsum([len(rows) for rows in self._blocks])
            yield from np.split(self._linear_scores(), ends[:-1])
            return
        for X in self._shown():
            yield self._learner.decision_function(X)

    def _shown(self) -> Iterator[np.ndarray]:
        """Yield the features of each block, by the preprocessor's statistics of now."""
        if not self._keeps:
            for rows in self._blocks:
                yield self._features.now(rows)
            return
        if not self._kept_features:
            self._kept_features = [self._features.now(rows) for rows in self._blocks]
        yield from self._kept_features

    def _linear_scores(self) -> np.ndarray:
        """Return all scores, computing anew those of classes whose weights moved."""
        W: np.ndarray = self._learner.weights()
        if self._kept_scores is None or self._kept_weights is None:
            moved = np.arange(len(W))
        else:
            moved = np.flatnonzero((self._kept_weights != W).any(axis=1))
        # One product with all of W is faster than one with more than half of it.
        if self._kept_scores is None or 2 * len(moved) > len(W):
            self._kept_scores = np.concatenate([X @ W.T for X in self._shown()])
        elif len(moved):
            parts = [X @ W[moved].T for X in self._shown()]
            self._kept_scores[:, moved] = np.concatenate(parts)
        # A copy: the learner goes on changing its own.
        self._kept_weights = W.copy()
        return self._kept_scores
