"""Components: parameters that are stored, shortcuts that never outlive what they stand for, and strangers adopted."""

import copy
import functools
import pickle

import numpy as np
import pytest

from rsbench.core.components import (
    Aggregator,
    Component,
    Corruption,
    Dataset,
    Learner,
    NotStoredError,
    Preprocessor,
    Protocol,
    adopt,
    fresh,
    name_of,
    parameters_of,
)
from rsbench.errors import UserError

# Shortcuts: fast ways to do what other methods do.


class Quick(Learner):
    """Has both shortcuts of a learner."""

    def partial_fit(self, X, y, classes=None):
        return self

    def decision_function(self, X):
        return self._scores(X)

    def _scores(self, X):
        return X

    def prequential(self, X, y, classes=None):
        return np.zeros(len(y))

    def weights(self):
        return np.eye(3)


class Unchanged(Quick):
    """Changes nothing that a shortcut stands for."""

    def __init__(self, rate=1.0):
        self.rate = rate

    def predict(self, X):
        return np.zeros(len(X))


class LearnsOtherwise(Quick):
    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, classes)


class DecidesOtherwise(Quick):
    def decision_function(self, X):
        return super().decision_function(X) + 1


class ScoresOtherwise(Quick):
    def _scores(self, X):
        return 2 * X


class BringsItsOwn(Quick):
    """Changes both what is done and the shortcut to it."""

    def partial_fit(self, X, y, classes=None):
        return self

    def prequential(self, X, y, classes=None):
        return np.ones(len(y))


class Mixin:
    """Of no base class, and knows nothing of shortcuts."""

    def partial_fit(self, X, y, classes=None):
        return self


class Mixed(Mixin, Quick):
    pass


class Heir(LearnsOtherwise):
    """Its parent has lost a shortcut."""


class LateSibling(Unchanged, DecidesOtherwise):
    """What a shortcut stands for is changed by the parent that comes second."""


@pytest.mark.parametrize(
    ("cls", "has_prequential", "has_weights"),
    [
        (Quick, True, True),
        (Unchanged, True, True),
        (LearnsOtherwise, False, True),
        (DecidesOtherwise, False, False),
        (ScoresOtherwise, False, False),
        (BringsItsOwn, True, True),
        (Mixed, False, True),
        (Heir, False, True),
        (LateSibling, False, False),
    ],
)
def test_a_shortcut_is_dropped_with_what_it_stands_for(
    cls, has_prequential, has_weights
):
    assert (cls().prequential is not None) == has_prequential
    assert (cls().weights is not None) == has_weights


def test_a_shortcut_of_ones_own_is_the_one_that_is_used():
    assert BringsItsOwn().prequential(None, [0, 1]).tolist() == [1, 1]

    class Grandchild(BringsItsOwn):
        pass

    assert Grandchild().prequential(None, [0, 1]).tolist() == [1, 1]


def test_a_shortcut_can_be_brought_back():
    class Again(LearnsOtherwise):
        prequential = Quick.prequential

    assert Again().prequential(None, [0]).tolist() == [0]


def test_dropping_a_shortcut_leaves_the_parents_alone():
    assert LearnsOtherwise.prequential is None and Quick.prequential is not None


def test_aggregators_and_preprocessors_lose_theirs_too():
    class Counting(Aggregator):
        def partial_fit(self, Z, y):
            return self

        def see(self, Z, y):
            pass

        def relevance(self, Z, y):
            return np.ones(Z.shape)

    class FitsOtherwise(Counting):
        def fit(self, Z, y):
            return self

    class OtherRelevance(Counting):
        def relevance(self, Z, y):
            return 2 * np.ones(Z.shape)

    assert FitsOtherwise().partial_fit is None and FitsOtherwise().see is not None
    assert OtherRelevance().see is None and OtherRelevance().partial_fit is not None

    class Shift(Preprocessor):
        def fit(self, X):
            return self

        def partial_fit(self, X):
            return self

        def transform(self, X):
            return X

    class ShiftMore(Shift):
        def fit(self, X):
            return self

    assert Shift().partial_fit is not None and ShiftMore().partial_fit is None


# Parameters.


class Rated(Component):
    def __init__(self, rate: float = 0.1, name: str = "a"):
        self.rate = rate
        self.name = name


def test_parameters_can_be_read_changed_and_shown():
    made = Rated(rate=2)
    assert made.get_params() == {"rate": 2, "name": "a"}
    assert made.set_params(name="b") is made
    assert repr(made) == "Rated(rate=2, name='b')"
    with pytest.raises(
        ValueError, match=r"Invalid parameter 'rat'.*\['rate', 'name'\]"
    ):
        made.set_params(rat=3)


def test_a_component_without_a_constructor_has_no_parameters():
    class Plain(Corruption):
        def __call__(self, Z, rng):
            return Z

    assert Plain().get_params() == {} and repr(Plain()) == "Plain()"


class Forgetful(Rated):
    """Does not call super().__init__()."""

    def __init__(self, size: int = 3):
        self.size = size


class NeverStored(Component):
    def __init__(self, size: int = 3):
        pass


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda: Forgetful().rate, "rate"),
        (lambda: NeverStored().size, "size"),
        (lambda: NeverStored().get_params(), "size"),
        (lambda: fresh(NeverStored()), "size"),
    ],
)
def test_a_parameter_that_was_not_stored_is_named_with_the_fix(ask, name):
    with pytest.raises(
        UserError, match=rf"has no '{name}'.*super\(\).__init__\(\)"
    ) as it:
        ask()
    assert isinstance(it.value, NotStoredError)
    assert isinstance(it.value, AttributeError)  # so that hasattr and copying work
    assert "\n" not in str(it.value)


def test_what_is_no_parameter_is_an_ordinary_attribute_error():
    assert not hasattr(Forgetful(), "rate")
    with pytest.raises(
        AttributeError, match="'Forgetful' object has no attribute 'x'"
    ) as it:
        _ = Forgetful().x
    assert not isinstance(it.value, UserError)


def test_components_can_be_copied_and_pickled():
    made = Rated(rate=2)
    for twin in (
        copy.copy(made),
        copy.deepcopy(made),
        pickle.loads(pickle.dumps(made)),  # noqa: S301
    ):
        assert twin.get_params() == made.get_params()


# Fresh ones.


class Trainable(Learner):
    def __init__(self, rate: float = 0.1):
        self.rate = rate

    def partial_fit(self, X, y, classes=None):
        self.learned_ = len(X)
        return self

    def decision_function(self, X):
        return X


class StrangeTrainable:
    """Has the methods, and no base class."""

    def __init__(self, rate=0.1):
        self.rate = rate

    partial_fit = Trainable.partial_fit
    decision_function = Trainable.decision_function


class NoParameters:
    """Has not even a constructor."""

    partial_fit = Trainable.partial_fit


@pytest.mark.parametrize("cls", [Trainable, StrangeTrainable])
def test_a_fresh_component_is_untrained_and_has_the_same_parameters(cls):
    trained = cls(rate=3).partial_fit([1, 2], [0, 1])
    made = fresh(trained)
    assert type(made) is cls and made.rate == 3 and "learned_" not in vars(made)
    assert trained.learned_ == 2
    assert fresh(trained, rate=4).rate == 4 and trained.rate == 3


def test_one_without_parameters_is_untrained_as_well():
    assert vars(fresh(NoParameters().partial_fit([1], [0]))) == {}


def test_a_parameter_that_is_not_there_gets_a_suggestion():
    with pytest.raises(
        UserError, match="Trainable has no parameter 'rat'. Did you mean 'rate'"
    ):
        fresh(Trainable(), rat=1)


def test_a_stranger_must_store_its_parameters_under_their_names():
    """Else a copy would lose them, and results of different ones could not be told apart."""

    class Private:
        def __init__(self, rate=1, size=2):
            self.rate = rate
            self._size = size

    for ask in (parameters_of, fresh):
        with pytest.raises(UserError, match="Private has no 'size'"):
            ask(Private())


def test_a_constructor_that_takes_anything_is_refused():
    class Open(Trainable):
        def __init__(self, *args, size=1, **kwargs):
            super().__init__(*args, **kwargs)
            self.size = size

    for ask in (parameters_of, fresh):
        with pytest.raises(UserError, match=r"Open takes \*args: spell its parameters"):
            ask(Open(3))


def test_parameters_that_nobody_can_make_out_are_refused():
    with pytest.raises(UserError, match="parameters of partial cannot be made out"):
        fresh(functools.partial(np.add, 1))


def test_parameters_of_scikit_learns_estimators_are_found():
    from sklearn.linear_model import SGDClassifier

    made = SGDClassifier(alpha=0.5)
    assert parameters_of(made)["alpha"] == 0.5
    assert fresh(made, alpha=0.1).alpha == 0.1


def test_components_with_slots_are_copied_too():
    class Slotted:
        __slots__ = ("rate",)

        def __init__(self, rate=1):
            self.rate = rate

    assert fresh(Slotted(5)).rate == 5


# Strangers: classes that merely have the methods.


class Stranger:
    def fit(self, Z, y):
        self.n = len(Z)

    def relevance(self, Z, y):
        return np.ones(Z.shape)


def test_a_class_that_merely_has_the_methods_is_adopted():
    made = adopt(Stranger(), Aggregator)
    made.fit(np.zeros((4, 2)), np.zeros(4))
    assert made.n == 4
    assert made.relevance(np.zeros((1, 2)), [0]).tolist() == [[1, 1]]
    assert made.see is None and made.tune is None and made.partial_fit is None
    assert made.takes_missing is False and made.told is None
    made.check_params()
    assert name_of(made) == "Stranger"


def test_what_a_stranger_has_of_its_own_is_used():
    class Thorough(Stranger):
        takes_missing = True

        def see(self, Z, y):
            self.seen = len(Z)

        def check_params(self):
            raise UserError("no")

    made = adopt(Thorough(), Aggregator)
    assert made.takes_missing
    made.see([1, 2], None)
    assert made.seen == 2
    with pytest.raises(UserError, match="no"):
        made.check_params()


def test_a_component_of_its_kind_is_left_as_it_is():
    made = Trainable()
    assert adopt(made, Learner) is made


def test_a_function_can_be_a_corruption():
    def nothing(Z, rng):
        return 0 * Z

    made = adopt(fresh(nothing), Corruption)
    assert made(np.ones(2), None).tolist() == [0, 0] and made.changes_votes
    made.check_params()


@pytest.mark.parametrize(
    ("base", "component", "words"),
    [
        (Learner, Stranger(), "Stranger has no partial_fit, which a learner needs"),
        (
            Learner,
            NoParameters(),
            "NoParameters has no decision_function, which a learner",
        ),
        (Aggregator, Trainable(), "Trainable has no fit, which an aggregator needs"),
        (Protocol, "stream", "str has no plan, which a protocol needs"),
        (Dataset, 3, "int has no load, which a dataset needs"),
        (Corruption, Stranger(), "Stranger has no __call__, which a corruption needs"),
    ],
)
def test_a_missing_method_is_named_in_one_line(base, component, words):
    with pytest.raises(UserError, match=words) as it:
        adopt(component, base)
    assert "\n" not in str(it.value)


def test_an_attribute_that_is_no_method_does_not_count():
    class Data:
        load = "later"

    with pytest.raises(UserError, match="Data has no load"):
        adopt(Data(), Dataset)


def test_an_adopted_ones_copy_has_a_state_of_its_own():
    made = adopt(Stranger(), Aggregator)
    twin = copy.copy(made)
    twin.fit(np.zeros((4, 2)), None)
    assert "n" not in vars(made._component) and twin.n == 4


def test_an_adopted_one_can_be_pickled_and_copied_deeply():
    made = adopt(Stranger(), Aggregator)
    unpickled = pickle.loads(pickle.dumps(made))  # noqa: S301
    for twin in (unpickled, copy.deepcopy(made)):
        assert twin.relevance(np.zeros((1, 2)), [0]).tolist() == [[1, 1]]
        assert twin.see is None
