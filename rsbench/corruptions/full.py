"""Annotations as they are."""

from typing import Any

import numpy as np

from rsbench.core.components import Corruption


class Full(Corruption):
    """Leave every vote as it was given."""

    # So that votes of a large data set can stay on disk.
    changes_votes = False
    takes_sparse = True

    def __call__(self, Z: Any, rng: np.random.Generator) -> Any:
        """Return the votes themselves."""
        return Z
