"""One exception for everything a user can put right; the command line shows its message alone."""

import difflib
import numbers
from collections.abc import Iterable
from typing import Any


class UserError(ValueError):
    """A mistake in the input: the message says what is wrong, where, and what fixes it."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known word, or lists them all."""
    known = sorted(known)
    by_lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1)
    if near:
        return f"Did you mean '{by_lower[near[0]]}'? Known: {', '.join(known)}."
    return f"Known: {', '.join(known) or 'none'}."


def first_line(error: BaseException) -> str:
    """What an error of some library says, in one line."""
    try:
        said = " ".join(str(error).split())
    except Exception:  # a stranger's error may not even be able to speak
        said = ""
    return f"{type(error).__name__}: {said}"[:300]


def check_positive(component: object, name: str) -> None:
    """Raise an error unless the parameter is a finite number above zero."""
    value = getattr(component, name)
    if not is_number(value) or not 0 < value < float("inf"):
        raise UserError(
            f"{type(component).__name__}: {name}={value!r}, expected a number above 0"
        )


def is_number(value: Any) -> bool:
    """Whether a parameter is a plain number, of Python or NumPy, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
