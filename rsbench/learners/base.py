"""What learners share: scikit-learn's conventions, without paying for its import.

scikit-learn takes over a second to import. Clean float arrays, the only thing a run ever sends,
are checked here; anything else (data frames, lists, text labels, wrong input) goes to
scikit-learn's own validation, imported on the spot, so that notebooks get its exact behaviour.
"""

import inspect
from typing import Any, Self

import numpy as np

from rsbench.core.data import positions

_CLEAN = (np.dtype(np.float32), np.dtype(np.float64))


class Learner:
    """Base of the built-in learners. The constructor only stores its parameters."""

    classes_: np.ndarray
    n_features_in_: int

    @classmethod
    def _parameters(cls) -> list[str]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return [
            p.name
            for p in parameters
            if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters and their values."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; an unknown name is an error."""
        for name, value in params.items():
            if name not in self._parameters():
                raise ValueError(
                    f"Invalid parameter {name!r} for {self!r}. Valid: {self._parameters()}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        params = ", ".join(
            f"{name}={value!r}" for name, value in self.get_params().items()
        )
        return f"{type(self).__name__}({params})"

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
        )

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense; called before learning starts."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The class with the highest score; the lowest one among equals."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Scores per class, (n, K); for two classes (n,), positive for the second."""
        self._check_fitted()
        scores = self._scores(self._check_X(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """The share of samples predicted correctly."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _start(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Input of `fit`, checked, with everything learned so far forgotten."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        X, y = self._check_X(X, reset=True), self._check_y(y)
        self._set_classes(np.unique(y), X)
        return X, self._encode(X, y)

    def _continue(self, X: Any, y: Any, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Input of `partial_fit`, checked: features, and labels as positions in `classes_`."""
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if not first and classes is not None and not self._are_known(classes):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call, {self.classes_!r}."
            )
        X, y = self._check_X(X, reset=first), self._check_y(y)
        if first:
            self._set_classes(np.unique(classes), X)
        return X, self._encode(X, y)

    def _are_known(self, classes: Any) -> bool:
        """Whether these are the classes of the first call; mostly they come as they were, and need no sorting."""
        return np.array_equal(classes, self.classes_) or np.array_equal(
            np.unique(classes), self.classes_
        )

    def _set_classes(self, classes: np.ndarray, X: np.ndarray) -> None:
        self.check_params()
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes; "
                f"the data has only one class, {classes[0]!r}."
            )
        self.classes_ = classes
        self._init(len(classes), X)

    def _encode(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        if len(X) != len(y):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[len(X), len(y)]}"
            )
        codes, unknown = positions(y, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y holds {y[unknown][0]!r}, which is not among the classes {self.classes_!r}."
            )
        return codes

    def _init(self, n_classes: int, X: np.ndarray) -> None:
        """Make the state of an untrained learner."""
        raise NotImplementedError

    def _check_X(self, X: Any, reset: bool = False) -> np.ndarray:
        clean = (
            type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype in _CLEAN
        )
        known = not hasattr(self, "feature_names_in_")
        if (
            clean
            and known
            and (reset or X.shape[1] == self.n_features_in_)
            and np.isfinite(X).all()
        ):
            self.n_features_in_ = X.shape[1]
            return X
        from sklearn.utils.validation import validate_data

        return validate_data(self, X, reset=reset, dtype=(np.float64, np.float32))

    def _check_y(self, y: Any) -> np.ndarray:
        if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iu":
            return y
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import check_array, column_or_1d

        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            check_array(y, ensure_2d=False)
        return y

    def _check_rows(self, rows: Any, X: np.ndarray, name: str) -> np.ndarray:
        """Rich supervision as a finite array of the features' shape."""
        rows = np.asarray(rows)
        if rows.shape != X.shape:
            raise ValueError(
                f"{name} has shape {rows.shape}, expected that of X, {X.shape}."
            )
        if not np.isfinite(rows).all():
            raise ValueError(f"{name} contains NaN or infinity.")
        return rows

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} has not learned anything yet: call fit or partial_fit."
            )
