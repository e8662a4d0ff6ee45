"""Samples of length one."""

from typing import Literal

import numpy as np

from rsbench.core.components import Preprocessor


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

    def __init__(self, fit_on: Literal["background", "seen"] = "background"):
        self.fit_on = fit_on

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the samples divided by their norms."""
        norm = np.linalg.norm(X, axis=1, keepdims=True)
        # A sample of zeros has no direction, and would become NaN.
        return X / np.where(norm > 0, norm, 1)
