"""Marks anywhere: is it which features, or only how many?"""

import numpy as np

from rsbench.core.components import Corruption


class Random(Corruption):
    """Put as many marks on each sample as before, on features drawn at random."""

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return each row of votes in a random order of its own."""
        return rng.permuted(Z, axis=1)
