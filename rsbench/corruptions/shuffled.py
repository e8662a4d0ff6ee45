"""Annotations of other samples: is it the marks, or only that there are some?"""

import numpy as np

from rsbench.core.components import Corruption


class Shuffled(Corruption):
    """Deal whole annotations out anew: each sample gets that of another.

    The other may be of any class. How often each feature is marked, and which ones are
    marked together, stays the same; what is lost is whom the marks were about.
    """

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the rows of votes in random order."""
        return Z[rng.permutation(len(Z))]
