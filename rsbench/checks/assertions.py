"""What a check sees of a component, turned into assertions that say why."""

from typing import Any

import numpy as np

from rsbench.checks.promise import Make
from rsbench.core.components import Component, adopt
from rsbench.errors import UserError, first_line


class ComponentError(AssertionError):
    """A component raised an error where it was to do something.

    Parameters
    ----------
    what : str
        What it was to do.
    error : Exception
        What it raised.
    """

    def __init__(self, what: str, error: Exception):
        super().__init__(f"{what} raised {first_line(error)}")
        self.error = error


def call(component: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """Call a component's method; an error that it raises breaks the promise."""
    try:
        return getattr(component, method)(*args, **kwargs)
    except Exception as error:
        raise ComponentError(method, error) from error


def new(make: Make) -> Any:
    """Return a new component, as it is."""
    try:
        return make()
    except Exception as error:
        raise ComponentError("making it", error) from error


def adopted(make: Make, base: type[Component]) -> Any:
    """Return a new component, with its kind's defaults for what it does not have."""
    try:
        return adopt(new(make), base)
    except UserError as error:
        raise AssertionError(str(error)) from error


def numbers(made: Any, method: str) -> np.ndarray:
    """Return what a method gave as an array, if it is one of numbers."""
    array = np.asarray(made)
    assert array.dtype.kind in "biuf", (
        f"{method} gave {type(made).__name__} of type {array.dtype}, expected numbers"
    )
    return array


def assert_shape(array: np.ndarray, expected: tuple[int, ...], method: str) -> None:
    """Raise an error unless what a method gave has the shape."""
    assert array.shape == expected, (
        f"{method} gave shape {array.shape}, expected {expected}"
    )


def assert_same(found: Any, expected: Any, what: str, tolerance: float = 1e-9) -> None:
    """Raise an error that says `what` happened unless two arrays have the same values.

    Parameters
    ----------
    found, expected : array-like
        What is compared; NaN equals NaN.
    what : str
        What it means if they differ.
    tolerance : float, default 1e-9
        How far values may be apart, relatively or absolutely; 0 for exactly the same.
    """
    found = np.asarray(found)
    expected = np.asarray(expected)
    assert found.shape == expected.shape, (
        f"{what}: shape {found.shape} and not {expected.shape}"
    )
    close = np.isclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not close.all():
        first = tuple(np.argwhere(~close)[0].tolist())
        raise AssertionError(
            f"{what}: {np.sum(~close)} of {close.size} values differ, "
            f"the first is {found[first]:.6g} and not {expected[first]:.6g}"
        )


def assert_unchanged(array: np.ndarray, before: np.ndarray, what: str) -> None:
    """Raise an error if a component has changed an array that it was given."""
    assert_same(array, before, f"{what} were changed", tolerance=0)
