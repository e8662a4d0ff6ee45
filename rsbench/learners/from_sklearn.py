"""Any classifier of scikit-learn's, by its name."""

import functools
import inspect
import logging
import warnings
from typing import Any

import numpy as np

from rsbench.core.seeds import stream
from rsbench.errors import first_line
from rsbench.learners.batch import BatchLearner, few_samples_per_class
from rsbench.learners.other_libraries import find, make, refused

#: Its `partial_fit` adds a share of the largest variance *of the call's samples* to all
#: variances, so that results depend on how a stream is cut: it is fitted anew.
_CUT_MATTERS = ("GaussianNB",)

#: With so many samples of each class, what refuses them would refuse any number.
_MANY = 10

#: Estimators that were tried before, with their parameters.
_TRIED: set[str] = set()

log = logging.getLogger(__name__)


@functools.cache
def classifiers() -> dict[str, type]:
    """Return all classifiers that scikit-learn lists, by name."""
    from sklearn.utils import all_estimators

    return dict(all_estimators("classifier"))


class Sklearn(BatchLearner):
    """Learn with a classifier of scikit-learn's.

    One that has `partial_fit` learns online; one that would shuffle or batch the
    samples of a call gets one sample a call. Any other is fitted anew, to all samples
    so far, at each step. Scores are its `decision_function`, or else `predict_proba`;
    classes that it has not met come last, and one that learns online is told all of
    them at first. Some cannot be fitted to one sample of each class: until they can be,
    they have learned nothing, and all classes tie.

    Parameters
    ----------
    estimator : str
        The class's name, of those that `sklearn.utils.all_estimators` lists as
        classifiers: RidgeClassifier, SVC, RandomForestClassifier, …
    params : dict or None
        Parameters of its constructor: plain values by name.
    random_state : int or None
        Seed of an estimator that has one; a run sets it.

    Attributes
    ----------
    model_ : object
        The fitted estimator; None while there is none: with samples of one class alone,
        which most cannot be fitted to, and while it refuses the few that there are.

    References
    ----------
    Pedregosa et al., "Scikit-learn: Machine Learning in Python", JMLR 2011.
    """

    model_: Any

    def __init__(
        self,
        estimator: str = "RidgeClassifier",
        params: dict[str, Any] | None = None,
        random_state: int | None = None,
    ):
        self.estimator = estimator
        self.params = params
        self.random_state = random_state

    def check_params(self) -> None:
        model = self._new()
        # Once for the same parameters: it may take a while, and each seed asks.
        if repr(model) in _TRIED:
            return
        # On samples that any classifier can learn from: what it refuses now it would
        # refuse after data were read, too.
        X = stream(0, "checks").random((40, 3))
        y = np.arange(40) % 4
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of samples that nobody will see
                model.fit(X, y)
                _scores(model, X, self.estimator)
        except Exception as error:  # estimators have all kinds of them
            raise refused(f"scikit-learn's {model}", error) from None
        _TRIED.add(repr(model))

    @property
    def batch(self) -> bool:  # type: ignore[override]
        """Whether it is fitted anew at each step."""
        cls = self._class()
        return not hasattr(cls, "partial_fit") or self.estimator in _CUT_MATTERS

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes sparse rows."""
        return self._new().__sklearn_tags__().input_tags.sparse

    @property
    def takes_negative(self) -> bool:  # type: ignore[override]
        """Whether features may be negative."""
        return not self._new().__sklearn_tags__().input_tags.positive_only

    def _learn(self, X: Any, y: np.ndarray) -> None:
        if self.batch:
            super()._learn(X, y)
            return
        everything = np.arange(len(self.classes_))
        size = len(y)
        if _looks_at_whole_calls(self.model_):
            size = 1
        with few_samples_per_class():
            for start in range(0, len(y), size):
                rows = slice(start, start + size)
                self._try("partial_fit", X[rows], y[rows], classes=everything)

    def refit(self, X: Any, y: np.ndarray) -> None:
        """Fit to all samples so far."""
        counts = np.bincount(y)
        counts = counts[counts > 0]
        if len(counts) < 2:
            return
        model = self._new()
        try:
            with few_samples_per_class(), np.errstate(invalid="ignore"):
                model.fit(X, y)
                # Some take what they can be fitted to, and then cannot predict.
                _scores(model, X[:1], self.estimator)
        except Exception as error:
            # One that was fitted before, or has many samples, will not do so later.
            if self.model_ is not None or counts.min() >= _MANY:
                raise refused(f"scikit-learn's {model}", error) from None
            _say_it_waits(str(model), len(y), first_line(error))
            return
        self.model_ = model

    def _init(self, n_classes: int, X: Any) -> None:
        self.model_ = None
        if self.batch:
            super()._init(n_classes, X)
        else:
            self.model_ = self._new()

    def _scores(self, X: Any) -> np.ndarray:
        if self.model_ is None:
            if len(np.unique(self.y_seen_)) > 1:
                return np.zeros((X.shape[0], len(self.classes_)))
            only = self.y_seen_[:1]
            return self._of_all_classes(np.ones((X.shape[0], 1)), only)
        try:
            scores = _scores(self.model_, X, self.estimator)
        except Exception as error:
            raise refused(f"scikit-learn's {self.model_}", error) from None
        return self._of_all_classes(scores, self.model_.classes_)

    def _try(self, method: str, *args: Any, **kwargs: Any) -> None:
        """Call a method of the model; what it refuses is told in one line."""
        try:
            getattr(self.model_, method)(*args, **kwargs)
        except Exception as error:
            raise refused(f"scikit-learn's {self.model_}", error) from None

    def _class(self) -> Any:
        return find(self.estimator, classifiers(), "classifier of scikit-learn's")

    def _new(self) -> Any:
        """Return an untrained estimator."""
        cls = self._class()
        own = {}
        if "random_state" in inspect.signature(cls).parameters:
            own["random_state"] = self.random_state
        return make(cls, self.params, f"scikit-learn's {self.estimator}", **own)


@functools.cache  # once, however many steps and seeds there are
def _say_it_waits(model: str, n: int, cause: str) -> None:
    log.warning(
        "scikit-learn's %s cannot learn from %d samples yet (%s): until it can, all "
        "classes tie",
        model,
        n,
        cause,
    )


def _scores(model: Any, X: Any, name: str) -> np.ndarray:
    """Return an estimator's scores, of the classes that it knows."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    raise TypeError(
        f"{name} has neither decision_function nor predict_proba with these parameters"
    )


def _looks_at_whole_calls(model: Any) -> bool:
    """Tell whether `partial_fit` shuffles the samples of a call, or batches them."""
    params = model.get_params(deep=False)
    return "shuffle" in params or "batch_size" in params
