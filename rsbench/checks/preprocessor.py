"""What a preprocessor promises."""

from typing import Any

import numpy as np

from rsbench.checks.assertions import (
    adopted,
    assert_same,
    assert_shape,
    assert_unchanged,
    call,
    numbers,
)
from rsbench.checks.problem import make_problem
from rsbench.checks.promise import Make, promise
from rsbench.core.components import Preprocessor


@promise("preprocessor")
def keeps_the_shape(make: Make) -> None:
    """The same shape as before, finite, in the samples' precision or better; for one
    feature and constant ones too."""
    # A single feature, since code for vectors easily drops an axis there.
    for d, dtype in ((6, np.float64), (1, np.float64), (6, np.float32)):
        X = make_problem(d=d, dtype=dtype).X
        X[:, 0] = 1.0  # constant: its deviation is zero
        made = transformed(prepared(make, X), X)
        # Relevance is by feature, so that features have to stay what they are.
        assert_shape(made, X.shape, "transform")
        assert np.isfinite(made).all(), "transform gave values that are not finite"
        assert made.dtype.itemsize >= X.dtype.itemsize, (
            f"transform gave {made.dtype} of {X.dtype}"
        )


@promise("preprocessor")
def rows_are_independent(make: Make) -> None:
    """A sample is transformed the same whatever comes with it: test samples never
    inform each other."""
    X = make_problem().X
    preprocessor = prepared(make, X[:30])
    # Of rows that it was not fitted on, as test samples are.
    assert_same(
        transformed(preprocessor, X)[40:50],
        transformed(preprocessor, X[40:50]),
        "other rows change a row",
    )


@promise("preprocessor")
def leaves_its_inputs(make: Make) -> None:
    """It does not change the samples it is given, and transforming teaches it
    nothing."""
    X = make_problem().X
    before = X.copy()
    preprocessor = prepared(make, X)
    first = transformed(preprocessor, X[:5]).copy()
    assert_unchanged(X, before, "the samples")
    # One that learns from the first samples it meets shows when these are others.
    other = prepared(make, X)
    transformed(other, 100 * X)
    for asked in (preprocessor, other):
        transformed(asked, 100 * X)
        assert_same(
            transformed(asked, X[:5]), first, "transforming changed the preprocessor"
        )
    assert_unchanged(X, before, "the samples")


@promise("preprocessor")
def learns_only_from_fit(make: Make) -> None:
    """`fit` forgets what was before; `partial_fit`, if there is one, comes row by row
    to what `fit` comes to."""
    X = make_problem().X
    once = adopted(make, Preprocessor)
    if once.fit is None:
        return
    call(once, "fit", X)
    expected = transformed(once, X)
    # Without `partial_fit`, a run fits the same object again at every sample.
    twice = adopted(make, Preprocessor)
    call(twice, "fit", 5 * X)
    call(twice, "fit", X)
    assert_same(
        transformed(twice, X), expected, "fit remembers an earlier fit", tolerance=1e-7
    )
    by_row = adopted(make, Preprocessor)
    if by_row.partial_fit is None:
        return
    # As a run does along the stream, with `fit_on=seen`.
    for i in range(len(X)):
        call(by_row, "partial_fit", X[i : i + 1])
    assert_same(
        transformed(by_row, X),
        expected,
        "partial_fit row by row differs from fit",
        tolerance=1e-7,
    )


@promise("preprocessor")
def says_what_it_is_fitted_on(make: Make) -> None:
    """If it learns, `fit_on` is `background` or `seen`."""
    preprocessor = adopted(make, Preprocessor)
    if preprocessor.fit is not None:
        assert preprocessor.fit_on in ("background", "seen"), (
            f"fit_on={preprocessor.fit_on!r}, expected background or seen"
        )


def prepared(make: Make, X: np.ndarray) -> Any:
    """Return a new preprocessor, fitted on these samples if it learns."""
    preprocessor = adopted(make, Preprocessor)
    if preprocessor.fit is not None:
        call(preprocessor, "fit", X)
    return preprocessor


def transformed(preprocessor: Any, X: np.ndarray) -> np.ndarray:
    """Return the samples as the preprocessor makes them."""
    return numbers(call(preprocessor, "transform", X), "transform")
