"""No preprocessing."""

from typing import Literal

import numpy as np

from rsbench.core.components import Preprocessor


class Identity(Preprocessor):
    """Leave features as they are, as the paper does.

    Parameters
    ----------
    fit_on : {"background", "seen"}, default "background"
        Without effect: nothing is fitted.
    """

    takes_sparse = True

    def __init__(self, fit_on: Literal["background", "seen"] = "background"):
        self.fit_on = fit_on

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the same features."""
        return X
