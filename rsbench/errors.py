"""One exception for everything a user can put right; the command line shows its message alone."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake in the input: the message says what is wrong, where, and what fixes it."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known word, or lists them all."""
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f"Did you mean '{near[0]}'? Known: {', '.join(known)}."
    return f"Known: {', '.join(known) or 'none'}."
