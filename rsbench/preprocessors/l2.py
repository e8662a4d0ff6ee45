"""Samples of length one."""

from typing import Any, Literal

import numpy as np

from rsbench.core.components import Preprocessor
from rsbench.core.sparse import is_sparse, row_numbers, row_sums, with_values


class L2(Preprocessor):
    """Scale each sample to L2 norm 1; a sample of zeros stays as it is.

    Parameters
    ----------
    fit_on : {"background", "seen"}, default "background"
        Without effect: nothing is fitted.

    Examples
    --------
    >>> import numpy as np
    >>> L2().transform(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    takes_sparse = True

    def __init__(self, fit_on: Literal["background", "seen"] = "background"):
        self.fit_on = fit_on

    def transform(self, X: Any) -> Any:
        """Return the samples divided by their norms."""
        if is_sparse(X):
            squares = row_sums(X, np.square(X.data))
            norms = np.sqrt(np.where(squares > 0, squares, 1.0)).astype(X.dtype)
            return with_values(X, X.data / norms[row_numbers(X)])
        norm = np.linalg.norm(X, axis=1, keepdims=True)
        # A sample of zeros has no direction, and would become NaN.
        return X / np.where(norm > 0, norm, 1)
