"""What learners of other libraries share: found by name, made from plain values.

A config names one of a library's own classifiers, and nothing else: no path to code,
and no parameter that is more than a number, a word, or a list of them.
"""

import inspect
from collections.abc import Mapping
from typing import Any

from rsbench.errors import UserError, did_you_mean, first_line

#: What a parameter may be.
_PLAIN = (bool, int, float, str, type(None))


def find(name: str, known: Mapping[str, type], what: str) -> type:
    """Return the class of a name.

    Parameters
    ----------
    name : str
        What the config says.
    known : mapping of type
        All classes that may be named.
    what : str
        What they are, for the error.
    """
    if name not in known:
        raise UserError(f"there is no {what} '{name}'. {did_you_mean(name, known)}")
    return known[name]


def make(cls: type, params: Mapping[str, Any] | None, what: str, **own: Any) -> Any:
    """Return an object of a library's class.

    Parameters
    ----------
    cls : type
        The class.
    params : mapping or None
        Parameters of its constructor, by name.
    what : str
        What it is called, for errors.
    **own
        Further parameters, which those in `params` go before.

    Raises
    ------
    UserError
        For a parameter that is unknown or no plain value, and for one that is missing.
    """
    if not isinstance(params, Mapping | None):
        raise UserError(
            f"{what}: params={params!r}, expected values by name, {{alpha: 3}}"
        )
    given = dict(params or {})
    known = inspect.signature(cls).parameters
    for name, value in given.items():
        if name not in known:
            near = did_you_mean(name, known)
            raise UserError(f"{what} has no parameter '{name}'. {near}")
        if not is_plain(value):
            raise UserError(
                f"{what}: {name} is a {type(value).__name__}, expected a number, a "
                "word, or a list of them"
            )
    for name, parameter in known.items():
        is_open = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not is_open and name not in given:
            raise UserError(
                f"{what} needs '{name}', which is not a plain value that a config can "
                "hold"
            )
    try:
        return cls(**{**own, **given})
    except Exception as error:  # constructors have all kinds of them
        raise refused(what, error) from None


def is_plain(value: Any) -> bool:
    """Tell whether a value is one that a config can hold."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if isinstance(value, Mapping):
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return isinstance(value, _PLAIN)


def refused(what: str, error: Exception) -> UserError:
    """Return an error that says what a library said."""
    return UserError(f"{what} refuses: {first_line(error)}")
