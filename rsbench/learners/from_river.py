"""Any classifier of river's, by its name."""

import functools
import inspect
from typing import Any

import numpy as np

from rsbench.errors import UserError
from rsbench.learners.base import Learner
from rsbench.learners.other_libraries import find, make, refused


@functools.cache
def classifiers() -> dict[str, type]:
    """Return all classifiers of the modules in `river.api`, by name.

    Each is there as `linear_model.PAClassifier`; and as `PAClassifier`, if there is but
    one of that name.
    """
    try:
        import river.api
        from river.base import Classifier
    except ImportError:
        raise UserError(
            'learner=river needs the package river: pip install "rsbench[river]"'
        ) from None
    by_module: dict[str, type] = {}
    for module_name, module in vars(river.api).items():
        if not inspect.ismodule(module):
            continue
        for name in getattr(module, "__all__", ()):
            cls: Any = getattr(module, name, None)
            is_classifier = inspect.isclass(cls) and issubclass(cls, Classifier)
            if is_classifier and not inspect.isabstract(cls):
                by_module[f"{module_name}.{name}"] = cls
    found: dict[str, type] = dict(by_module)
    short_names = [name.rpartition(".")[2] for name in by_module]
    for name, cls in by_module.items():
        short = name.rpartition(".")[2]
        if short_names.count(short) == 1:
            found[short] = cls
    return found


class River(Learner):
    """Learn with a classifier of river's, one sample at a time.

    A binary one becomes one machine for each class that was met, one-vs-rest, if there
    are more than two classes. Scores are its probabilities, zero for classes that it
    does not know of.

    Parameters
    ----------
    model : str
        The class's name: PAClassifier, or linear_model.PAClassifier.
    params : dict or None
        Parameters of its constructor: plain values by name.
    random_state : int or None
        Seed of a model that has one; a run sets it.

    Attributes
    ----------
    model_ : object
        The model.

    References
    ----------
    Montiel et al., "River: Machine Learning for Streaming Data in Python", JMLR 2021.
    """

    libraries = ("river",)

    model_: Any

    def __init__(
        self,
        model: str = "LogisticRegression",
        params: dict[str, Any] | None = None,
        random_state: int | None = None,
    ):
        self.model = model
        self.params = params
        self.random_state = random_state

    def check_params(self) -> None:
        model = self._new()
        try:
            # On samples that any classifier can learn from: what it refuses now it
            # would refuse after data were read, too.
            for i in range(4):
                model.learn_one({0: 0.5 * i, 1: 1.0}, bool(i % 2))
            model.predict_proba_one({0: 0.0, 1: 1.0})
        except NotImplementedError:
            raise UserError(
                f"river's {self.model} gives no probabilities, which scores are made of"
            ) from None
        except Exception as error:  # models have all kinds of them
            raise self._refused(error) from None

    def _learn(self, X: np.ndarray, y: np.ndarray) -> None:
        try:
            for x, code in zip(X.tolist(), y.tolist(), strict=True):
                self.model_.learn_one(dict(enumerate(x)), self._label(code))
        except Exception as error:
            raise self._refused(error) from None

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        self.model_ = self._new()
        if not self.model_._multiclass and n_classes > 2:
            from river.multiclass import OneVsRestClassifier

            self.model_ = OneVsRestClassifier(self.model_)

    def _label(self, code: int) -> bool | int:
        """Return a class as river takes it: true or false, if there are two."""
        if len(self.classes_) == 2:
            return bool(code)
        return code

    def _scores(self, X: np.ndarray) -> np.ndarray:
        n_classes = len(self.classes_)
        scores = np.zeros((len(X), n_classes))
        for i, x in enumerate(X.tolist()):
            try:
                found = self.model_.predict_proba_one(dict(enumerate(x)))
            except Exception as error:
                raise self._refused(error) from None
            for code in range(n_classes):
                scores[i, code] = found.get(self._label(code), 0.0)
        return scores

    def _refused(self, error: Exception) -> UserError:
        return refused(f"river's {self.model}", error)

    def _new(self) -> Any:
        """Return an untrained model."""
        cls = find(self.model, classifiers(), "classifier of river's")
        own = {}
        if "seed" in inspect.signature(cls).parameters:
            own["seed"] = self.random_state
        return make(cls, self.params, f"river's {self.model}", **own)
