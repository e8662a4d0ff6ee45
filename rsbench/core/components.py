"""What each kind of component does: base classes, with defaults for what is optional.

A component's constructor only stores its parameters, which are its configuration.
An optional method is None where a component does not have it. A class that merely
has the right methods works as well: `adopt` lends it the defaults of its kind.
"""

import copy
import enum
import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rsbench.core.data import Data
from rsbench.errors import UserError


class Told(enum.StrEnum):
    """What a method is told of its samples beyond their labels."""

    NOTHING = "nothing"
    VOTES = "votes"
    CLASS_VOTES = "class votes"


class NotStored(UserError, AttributeError):
    """A parameter that the constructor was to store and did not."""


class Component:
    """Carry what all kinds share: parameters that can be read, changed and shown."""

    #: Methods that no component of the kind can do without.
    required: ClassVar[tuple[str, ...]] = ()

    #: Optional methods and flags, each with the methods that it stands for. A subclass
    #: that changes one of those no longer has the inherited shortcut, unless it brings
    #: its own: a fast way to do what the class above did is a wrong way to do this.
    shortcuts: ClassVar[dict[str, tuple[str, ...]]] = {}

    _stood_for: ClassVar[dict[str, tuple[Any, ...]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        stood_for = dict(cls._stood_for)
        for shortcut, methods in cls.shortcuts.items():
            behaviour = tuple(getattr(cls, method, None) for method in methods)
            inherited_past_a_change = (
                shortcut not in vars(cls)
                and shortcut in stood_for
                and stood_for[shortcut] != behaviour
            )
            if inherited_past_a_change:
                setattr(cls, shortcut, None)
            stood_for[shortcut] = behaviour
        cls._stood_for = stood_for

    def __getattr__(self, name: str) -> Any:
        # Reached only where there is no such attribute.
        if name in _constructors_parameters(type(self)):
            raise NotStored(
                f"{type(self).__name__} has no '{name}', which its constructor is to "
                f"store: set self.{name} there, or call super().__init__()"
            )
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'"
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters and their values."""
        return {name: getattr(self, name) for name in parameter_names(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; an unknown name is an error."""
        known = parameter_names(type(self))
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for {self!r}. Valid: {known}."
                )
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense; called before a run."""

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.get_params().items()]
        return f"{type(self).__name__}({', '.join(shown)})"


class Dataset(Component):
    """Give samples with labels and annotations."""

    required = ("load",)

    def load(self) -> Data:
        """Return the samples, with features or with images to extract them from."""
        raise NotImplementedError


class Extractor(Component):
    """Make features of images."""

    required = ("extract",)

    def extract(self, data: Data) -> Data:
        """Return the data with features; called only where they have none."""
        raise NotImplementedError


class Preprocessor(Component):
    """Change features; one that has `fit` learns how to from other samples."""

    required = ("transform",)
    shortcuts: ClassVar = {"partial_fit": ("fit",)}

    #: Where statistics come from: other classes, or the stream so far.
    fit_on: Literal["background", "seen"] = "background"
    #: Learn from samples, forgetting earlier ones.
    fit: Callable[[np.ndarray], Any] | None = None
    #: Learn from more samples, remembering earlier ones.
    partial_fit: Callable[[np.ndarray], Any] | None = None

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the features changed, row by row."""
        raise NotImplementedError


class Protocol(Component):
    """Decide which samples are learned from, in which order, and which are tested on."""

    required = ("plan",)

    #: What a step counts. `samples` makes `step` the number of samples learned from.
    unit: str = "steps"

    def plan(
        self, y: np.ndarray, test: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the sample numbers of each step, and those of the test set."""
        raise NotImplementedError


class Corruption(Component):
    """Change votes before anyone sees them, to ask what worse annotations would do."""

    required = ("__call__",)

    #: Whether votes can change at all; if not, they may stay where they are, on disk.
    changes_votes: bool = True

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the training pool's votes as annotators would have given them."""
        raise NotImplementedError


class Aggregator(Component):
    """Make relevance, the diagonal of S^-1, of annotations."""

    required = ("fit", "relevance")
    shortcuts: ClassVar = {"partial_fit": ("fit",), "see": ("relevance",)}

    #: Whether NaN, "nobody was asked", reaches it; else such a vote is one not given.
    takes_missing: bool = False
    #: What a learner is told that learns from its relevance.
    told: Told = Told.VOTES
    #: Fit more of the training pool; for pools that do not fit into memory.
    partial_fit: Callable[[np.ndarray, np.ndarray], Any] | None = None
    #: Take note of samples that have passed; `relevance` is then asked for in parts.
    see: Callable[[np.ndarray, np.ndarray], None] | None = None
    #: Choose parameters by `validate(candidate, n)`, and return what was chosen.
    tune: Callable[[Callable[[Any, int], float]], dict[str, float]] | None = None

    def fit(self, Z: np.ndarray, y: np.ndarray) -> Self:
        """Learn from the votes of the training pool, forgetting earlier ones."""
        return self

    def relevance(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return one row above zero per sample, in stream order."""
        raise NotImplementedError


class Learner(Component):
    """Learn online; predict from features alone."""

    required = ("partial_fit", "decision_function")
    shortcuts: ClassVar = {
        "prequential": ("partial_fit", "decision_function", "_scores"),
        "weights": ("decision_function", "_scores"),
    }

    #: Whether it is refitted on all samples at each call, so that it is asked once for
    #: a step: predictions within the step come from the model before it.
    batch: bool = False
    #: Learn as `partial_fit` does, and return each sample's margin before its update.
    prequential: Callable[..., np.ndarray] | None = None
    #: Return the weights, (K, d), if scores are their products with the features alone.
    weights: Callable[[], np.ndarray] | None = None

    def partial_fit(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> Self:
        """Learn from the samples, one at a time and in order."""
        raise NotImplementedError

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return scores, (n, K), or (n,) for two classes, positive for the second."""
        raise NotImplementedError


class _Adopted:
    """A component of no base class: what it lacks is as its kind's base class has it."""

    def __init__(self, component: Any, base: type[Component]):
        self._component = component
        self._base = base

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._component, name)
        except AttributeError:
            return getattr(self._base, name)

    def __call__(self, *args: Any) -> Any:
        return self._component(*args)


def adopt(component: Any, base: type[Component]) -> Any:
    """Return the component as one of its kind, whatever class it is of."""
    if isinstance(component, base):
        return component
    for method in base.required:
        if not callable(getattr(component, method, None)):
            kind = base.__name__.lower()
            raise UserError(
                f"{type(component).__name__} has no {method}, which a {kind} needs"
            )
    return _Adopted(component, base)


def parameter_names(cls: type) -> list[str]:
    """Return the names of a constructor's parameters."""
    if cls.__init__ is object.__init__:  # whose signature says *args
        return []
    parameters = inspect.signature(cls.__init__).parameters.values()
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p.name for p in parameters if p.kind not in open_ended]
    return named[1:]  # without self


def parameters_of(component: Any) -> dict[str, Any]:
    """Return a component's parameters and their values, whatever class it is of."""
    if callable(getattr(component, "get_params", None)):
        return component.get_params(deep=False)
    stored = vars(component)
    return {
        name: stored[name]
        for name in parameter_names(type(component))
        if name in stored
    }


def fresh(component: Any, **changes: Any) -> Any:
    """Return an untrained copy of a component, with other parameters where named."""
    params = parameters_of(component)
    if not params and not changes:  # it may keep its settings in some other way
        return copy.deepcopy(component)
    return type(component)(**{**params, **changes})


@functools.cache
def _constructors_parameters(cls: type) -> set[str]:
    """Return what constructors are to store: a class's own, and those above it."""
    names: set[str] = set()
    for each in cls.__mro__:
        constructor = vars(each).get("__init__")
        if inspect.isfunction(constructor):
            names.update(list(inspect.signature(constructor).parameters)[1:])
    return names
