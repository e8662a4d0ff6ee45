"""Annotations as they are."""

import numpy as np

from rsbench.core.components import Corruption


class Full(Corruption):
    """Leave every vote as it was given."""

    # So that votes of a large data set can stay on disk.
    changes_votes = False

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the votes themselves."""
        return Z
