"""One exception for everything a user can put right.

The command line shows its message alone.
"""

import difflib
import numbers
from collections.abc import Iterable
from typing import Any


class UserError(ValueError):
    """A mistake in the input: the message says what is wrong, where, and the fix."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a sentence that offers the nearest known word, and lists them all."""
    known = sorted(known)
    listed = ", ".join(known) or "none"
    near = nearest(word, known)
    if near is not None:
        return f"Did you mean '{near}'? Known: {listed}."
    return f"Known: {listed}."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that one is most like; None if it is like none of them."""
    by_lower = {each.lower(): each for each in sorted(known)}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    if not near:
        return None
    return by_lower[near[0]]


def first_line(error: BaseException) -> str:
    """Return what an error of some library says, in one line."""
    try:
        said = " ".join(str(error).split())
    except Exception:  # a stranger's error may not even be able to speak
        said = ""
    return f"{type(error).__name__}: {said}"[:300]


def check_positive(component: object, name: str) -> None:
    """Raise an error unless a component's parameter is a finite number above zero."""
    value = getattr(component, name)
    if not is_number(value) or not 0 < value < float("inf"):
        where = type(component).__name__
        raise UserError(f"{where}: {name}={value!r}, expected a number above 0")


def is_number(value: Any) -> bool:
    """Tell whether a value is a plain number, of Python or NumPy, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
