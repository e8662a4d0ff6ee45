"""Every feature marked: is it the marks, or what is done with any votes at all?"""

import numpy as np

from rsbench.core.components import Corruption


class Uniform(Corruption):
    """Mark every feature of every sample.

    Such votes say nothing, but go the way of any others: an aggregator that makes steps
    smaller still does, and a learner that takes an extra step on marked features takes
    it on the sample itself.

    Examples
    --------
    >>> import numpy as np
    >>> Uniform()(np.array([[True, False]]), np.random.default_rng(0))
    array([[ True,  True]])
    """

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return votes of one; what was not given stays so."""
        # In the votes' own type: a plain 1 would turn booleans into integers.
        return np.where(np.isnan(Z), Z, np.ones((), Z.dtype))
