"""What each kind of component does: base classes, with defaults for what is optional.

A component's constructor only stores its parameters, which are its configuration.
An optional method is None where a component does not have it. A class that merely
has the right methods works as well: `adopt` lends it the defaults of its kind.
"""

import copy
import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rsbench.core.data import Data
from rsbench.core.sparse import SparseVotes, empty_csr
from rsbench.core.told import OfBackground, Told
from rsbench.errors import UserError, did_you_mean


class NotStoredError(UserError, AttributeError):
    """A parameter that the constructor was to store and did not."""


class Component:
    """Carry what all kinds share: parameters that can be read, changed and shown."""

    #: Distributions whose versions can change its numbers, beside those that rsbench
    #: itself computes with.
    libraries: ClassVar[tuple[str, ...]] = ()

    #: Methods that no component of the kind can do without.
    required: ClassVar[tuple[str, ...]] = ()

    #: Optional methods and flags, each with the methods that it stands for. A subclass
    #: that changes one of those no longer has the inherited shortcut, unless it brings
    #: its own: a fast way to do what the class above did is a wrong way to do this.
    shortcuts: ClassVar[dict[str, tuple[str, ...]]] = {}

    #: Shortcuts that call one method for all they do: a class that writes this method
    #: has a shortcut of its own.
    made_of: ClassVar[dict[str, str]] = {}

    #: By shortcut, the methods that it stood for when this class was made.
    _stood_for: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        stood_for = {}
        for shortcut, methods in cls.shortcuts.items():
            behaviour = {method: getattr(cls, method, None) for method in methods}
            # A plugin that derives from Lean and overrides `partial_fit` would else be
            # run by Lean's `prequential`, and its own method never be called.
            if _is_inherited_past_a_change(cls, shortcut, behaviour):
                setattr(cls, shortcut, None)
            stood_for[shortcut] = behaviour
        cls._stood_for = stood_for

    def __getattr__(self, name: str) -> Any:
        # Reached only where there is no such attribute. A forgotten `self.C = C` shows
        # far from the constructor, so it is named here.
        cls: Any = type(self)
        if name in _constructors_parameters(cls):
            raise _not_stored(cls, name)
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters and their values.

        `deep` is scikit-learn's, for estimators inside of estimators. There are none
        here, so it changes nothing.
        """
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


def _is_inherited_past_a_change(
    cls: type[Component], shortcut: str, behaviour: dict[str, Any]
) -> bool:
    """Tell whether a class has a shortcut from one that does what it stands for else.

    Parameters
    ----------
    cls : type
        A new class.
    shortcut : str
        The name of the shortcut.
    behaviour : dict
        By name, the class's own methods that the shortcut stands for.
    """
    if shortcut in vars(cls) or cls.made_of.get(shortcut) in vars(cls):
        return False
    inherited = getattr(cls, shortcut, None)
    for base in cls.__mro__[1:]:
        stood_for = vars(base).get("_stood_for", {})
        # The nearest class that has it: this is what it stood for until now.
        if shortcut in stood_for and getattr(base, shortcut, None) is inherited:
            before = stood_for[shortcut]
            return any(was is not behaviour.get(name) for name, was in before.items())
    return False


class Dataset(Component):
    """Give samples with labels and annotations."""

    required = ("load",)

    #: Return the data set of another draw of classes, by its number; draw 0 is the data
    #: set itself. None where there is nothing to draw.
    drawn: Callable[[int], "Dataset"] | None = None

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

    #: Whether `fit` and `transform` take sparse rows, and leave zeros as they are.
    takes_sparse: bool = False
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
    """Decide which samples are learned from, in which order, and which test it."""

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
    #: Whether nobody annotates anything: every vote is NaN, and relevance is one.
    is_absent: bool = False
    #: Whether it takes and gives sparse votes, `SparseVotes`; else it gets dense ones.
    takes_sparse: bool = False

    def __call__(self, Z: Any, rng: np.random.Generator) -> Any:
        """Return the training pool's votes as annotators would have given them.

        A corruption that names a third argument, `y`, is given the labels too.
        """
        raise NotImplementedError


class Absent(Corruption):
    """Nobody annotates anything: every vote is NaN, for nobody was asked for it."""

    is_absent = True
    takes_sparse = True

    def __call__(self, Z: Any, rng: np.random.Generator) -> Any:
        """Return no votes, in the shape of those there were."""
        if isinstance(Z, SparseVotes):
            return SparseVotes(empty_csr(Z.shape), np.zeros(len(Z), bool))
        return np.full(Z.shape, np.nan, np.float32)


class Aggregator(Component):
    """Make relevance, the diagonal of S^-1, of annotations."""

    required = ("fit", "relevance")
    shortcuts: ClassVar = {
        "partial_fit": ("fit",),
        "see": ("relevance",),
        "relevance_on": ("relevance",),
    }

    #: Whether NaN, "nobody was asked", reaches it; else such a vote is one not given.
    takes_missing: bool = False
    #: What a learner is told that learns from its relevance. None: what a run gives it,
    #: which is the whole pool's votes for one that has a `fit` of its own.
    told: Told | None = None
    #: Fit more of the training pool; for pools that do not fit into memory.
    partial_fit: Callable[[np.ndarray, np.ndarray], Any] | None = None
    #: Take note of samples that have passed; `relevance` is then asked for in parts.
    see: Callable[[np.ndarray, np.ndarray], None] | None = None
    #: Return relevance in the places that sparse rows of features have, one for each
    #: stored value, by those rows, their votes and their classes. An aggregator that
    #: has it is given votes as `SparseVotes`, here and in `fit`; others get dense ones.
    relevance_on: Callable[[Any, Any, np.ndarray], np.ndarray] | None = None
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

    #: Whether it is taught a step at a time: `partial_fit` then gets all of a step's
    #: samples at once, and predictions within the step come from the state before it.
    batch: bool = False
    #: Of a batch learner: whether it is taught at every `step`, or only at those that
    #: the `table` reports, with all samples since the last one. In between it predicts
    #: by what it knew then.
    taught_at: ClassVar[Literal["step", "table"]] = "step"
    #: Whether it takes sparse rows of features; else it gets dense ones.
    takes_sparse: bool = False
    #: Whether the votes that it asks for (`annotation`) must be for the features, since
    #: it learns which of these matter; else they are for any concepts.
    needs_feature_votes: bool = False
    #: Whether features may be negative; not those of counts.
    takes_negative: bool = True
    #: Called once before the stream, with what it names: `background`, `class_votes`,
    #: `feature_names`, `concept_names`, `class_names`. That is what it is told.
    prepare: Callable[..., Any] | None = None
    #: How much of the background `prepare` is given, as far as the data set has it:
    #: nothing, features, labels, annotations. One that needs less says so, and is told
    #: less.
    of_background: OfBackground | str = OfBackground.ANNOTATIONS
    #: By parameter, the values that fair tuning chooses from.
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    #: Learn as `partial_fit` does, and return each sample's margin before its update.
    prequential: Callable[..., np.ndarray] | None = None
    #: Return the weights, (K, d), if scores are their products with the features alone.
    weights: Callable[[], np.ndarray] | None = None
    #: What it equals, exactly, when nobody annotates anything; it gets the parameters
    #: that both have. None: run without annotations, the learner speaks for itself.
    #: Each class says it for itself; subclasses do not inherit it.
    without: ClassVar[type | None] = None
    #: What it is compared with where it can do nothing without annotations.
    substitute: ClassVar[type | None] = None
    #: On what scale its scores are: losses are compared only between learners that name
    #: the same one. Empty: a scale of its own.
    score_scale: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Never inherited: a learner that changes anything of Ellipsotron's is rarely
        # Lean without annotations, and nobody would notice a wrong counterpart.
        if "without" not in vars(cls):
            cls.without = None

    def partial_fit(
        self, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None = None
    ) -> Self:
        """Learn from the samples, one at a time and in order."""
        raise NotImplementedError

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return scores, (n, K), or (n,) for two classes, positive for the second."""
        raise NotImplementedError


class _Adopted:
    """Stand for a component of no base class, and lend it its kind's defaults."""

    def __init__(self, component: Any, base: type[Component]):
        self._component = component
        self._base = base

    def __copy__(self) -> "_Adopted":
        # A copy's component is its own too: an aggregator's copy keeps what it sees.
        return _Adopted(copy.copy(self._component), self._base)

    def __getattr__(self, name: str) -> Any:
        # Unpickling asks before either is set: looking it up in itself would not end.
        if name in ("_component", "_base"):
            raise AttributeError(name)
        try:
            return getattr(self._component, name)
        except AttributeError:
            default = getattr(self._base, name)
        if inspect.isfunction(default):  # a method of the base, for this component
            return types.MethodType(default, self)
        return default

    def __call__(self, *args: Any) -> Any:
        return self._component(*args)


def adopt(component: Any, base: type[Component]) -> Any:
    """Return the component as one of its kind, whatever class it is of.

    Parameters
    ----------
    component : object
        An instance of the base class, which is returned as it is; or of any class
        that has the kind's required methods.
    base : type
        The base class of the kind, such as `Learner`.

    Raises
    ------
    UserError
        If a required method is missing.
    """
    if isinstance(component, base):
        return component
    for method in base.required:
        if not callable(getattr(component, method, None)):
            kind = base.__name__.lower()
            article = "an" if kind[0] in "aeiou" else "a"
            raise UserError(
                f"{type(component).__name__} has no {method}, "
                f"which {article} {kind} needs"
            )
    return _Adopted(component, base)


def corrupted(
    corruption: Any, Z: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> Any:
    """Return what a corruption makes of the training pool's votes.

    Parameters
    ----------
    corruption : Corruption
        Of whatever class. One that names an argument `y` is given the labels too.
    Z : array of shape (n, d)
        The training pool's votes.
    y : array of shape (n,)
        Its labels.
    rng : Generator
        A random stream for the corruption alone.
    """
    if isinstance(corruption, _Adopted):
        corruption = corruption._component
    if "y" in inspect.signature(corruption).parameters:
        return corruption(Z, rng, y=y)
    return corruption(Z, rng)


def told_by(aggregator: Any) -> Told:
    """Return what a learner is told that learns from an aggregator's relevance."""
    if aggregator.told is not None:
        return aggregator.told
    # One of no base class has a `fit`, since it could not do without.
    is_given_the_pool = True
    if isinstance(aggregator, Aggregator):
        is_given_the_pool = type(aggregator).fit is not Aggregator.fit
    if is_given_the_pool:
        return Told.CLASS_VOTES
    return Told.VOTES


def name_of(component: Any) -> str:
    """Return the name of a component's class, adopted or not."""
    if isinstance(component, _Adopted):
        component = component._component
    return type(component).__name__


def parameter_names(cls: type) -> list[str]:
    """Return the names of a constructor's parameters.

    Raises
    ------
    UserError
        If it takes any number of them: a copy would lose them, and results would not
        be known by them.
    """
    try:
        signature = inspect.signature(cls)
    except ValueError:  # of a class that is not written in Python
        raise UserError(
            f"the parameters of {cls.__name__} cannot be made out: "
            "put it into a class of your own"
        ) from None
    names = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UserError(
                f"the constructor of {cls.__name__} takes *{parameter.name}: "
                "spell its parameters out"
            )
        names.append(parameter.name)
    return names


def parameters_of(component: Any) -> dict[str, Any]:
    """Return a component's parameters and their values, whatever class it is of.

    Raises
    ------
    NotStoredError
        If the constructor did not store one of them under its name.
    """
    if inspect.isfunction(component):
        return {}
    # A scikit-learn estimator knows best what its own parameters are.
    if callable(getattr(component, "get_params", None)):
        return component.get_params(deep=False)
    params = {}
    for name in parameter_names(type(component)):
        try:
            params[name] = getattr(component, name)
        except AttributeError:
            raise _not_stored(type(component), name) from None
    return params


def fresh(component: Any, **changes: Any) -> Any:
    """Return an untrained copy of a component, with other parameters where named.

    Parameters
    ----------
    component : object
        Trained or not; it stays as it is.
    **changes
        New values of parameters.

    Raises
    ------
    UserError
        If there is no such parameter; the nearest name is suggested.
    """
    if inspect.isfunction(component):  # as a corruption may be: it remembers nothing
        return component
    params = parameters_of(component)
    for name in changes:
        if name not in params:
            raise UserError(
                f"{type(component).__name__} has no parameter '{name}'. "
                f"{did_you_mean(name, params)}"
            )
    return type(component)(**{**params, **changes})


def made_like(cls: type, component: Any) -> Any:
    """Return a component of a class, with the parameters that another has too.

    Parameters
    ----------
    cls : type
        Of the new component.
    component : object
        Lends its values of the parameters that both have.
    """
    known = parameter_names(cls)
    shared = {}
    for name, value in parameters_of(component).items():
        if name in known:
            shared[name] = value
    return cls(**shared)


def _not_stored(cls: type, name: str) -> NotStoredError:
    return NotStoredError(
        f"{cls.__name__} has no '{name}', which its constructor is to store: "
        f"set self.{name} there, or call super().__init__()"
    )


@functools.cache
def _constructors_parameters(cls: type) -> set[str]:
    """Return what constructors are to store: a class's own, and those above it.

    Those above count since a subclass may forget to call `super().__init__()`.
    """
    names: set[str] = set()
    for each in cls.__mro__:
        constructor = vars(each).get("__init__")
        if inspect.isfunction(constructor):
            _, *parameters = inspect.signature(constructor).parameters  # but for self
            names.update(parameters)
    return names
