"""A promise is a function: its docstring is the message, its body is the test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rsbench.errors import first_line

#: Makes a fresh component when called.
Make = Callable[[], Any]
Test = Callable[[Make], None]

#: A cause is one line of a table or a terminal.
_LONGEST_CAUSE = 300


@dataclass(frozen=True)
class Promise:
    """What components of a kind promise, and how to try whether one keeps it.

    Attributes
    ----------
    kind : str
        The kind of component, such as `learner`.
    name : str
        What the promise is called, in pytest ids and on the command line.
    says : str
        The promise itself, a sentence.
    test : callable
        Takes what makes a component; raises an AssertionError if it breaks the promise.
    """

    kind: str
    name: str
    says: str
    test: Test

    def check(self, make: Make) -> None:
        """Try the promise on components that `make` makes.

        Raises
        ------
        AssertionError
            If the promise is broken; the message says what was seen.
        """
        try:
            self.test(make)
        except AssertionError:
            raise
        except Exception as error:  # somebody else's code may raise anything
            raise AssertionError(
                f"{self.name} could not be tried to the end: {first_line(error)}"
            ) from error

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Verdict:
    """Whether a promise is kept, and if not, what was seen."""

    promise: Promise
    cause: str | None

    @property
    def kept(self) -> bool:
        """Whether nothing was seen that breaks it."""
        return self.cause is None


#: All of them, in the order of definition; each module adds those of its kind.
_PROMISES: list[Promise] = []


def promise(kind: str) -> Callable[[Test], Test]:
    """Make a function one of the promises of a kind, in the order of definition."""

    def register(test: Test) -> Test:
        # The docstring as one line, however it is broken in the source.
        says = " ".join((test.__doc__ or "").split())
        _PROMISES.append(Promise(kind, test.__name__, says, test))
        return test

    return register


def promises(kind: str) -> list[Promise]:
    """Return what a component of that kind promises.

    Raises
    ------
    ValueError
        If nothing is promised for the kind; the message lists those that there are.
    """
    found = [each for each in _PROMISES if each.kind == kind]
    if not found:
        known = sorted({each.kind for each in _PROMISES})
        raise ValueError(f"no promises for kind '{kind}'; known: {', '.join(known)}")
    return found


def verdicts(kind: str, make: Make) -> Iterator[Verdict]:
    """Try every promise of a kind on components that `make` makes."""
    for each in promises(kind):
        try:
            each.check(make)
        except AssertionError as broken:
            # A stranger's assertion may say nothing, or print a whole array.
            said = " ".join(str(broken).split())
            yield Verdict(each, said[:_LONGEST_CAUSE] or "an assertion failed")
        else:
            yield Verdict(each, None)
