"""Annotations of other samples: is it the marks, or only that there are some?"""

from typing import Any

import numpy as np

from rsbench.core.components import Corruption


class Shuffled(Corruption):
    """Deal whole annotations out anew: each sample gets that of another.

    The other may be of any class. How often each feature is marked, and which ones are
    marked together, stays the same; what is lost is whom the marks were about.
    """

    takes_sparse = True

    def __call__(self, Z: Any, rng: np.random.Generator) -> Any:
        """Return the rows of votes in random order."""
        return Z[rng.permutation(len(Z))]


class ShuffledWithinClass(Corruption):
    """Deal whole annotations out anew within each class.

    How often a class's samples have each feature marked stays the same. What is lost
    is a sample's own why, and what is left is a description of its class.
    """

    takes_sparse = True

    def __call__(  # type: ignore[override]  # it names `y`, and so is given it
        self, Z: Any, rng: np.random.Generator, y: np.ndarray
    ) -> Any:
        """Return the rows of votes in random order, each still in its class."""
        # Both orders are by class: rows of one class stand in the same places.
        in_order = np.argsort(y, kind="stable")
        at_random = np.lexsort((rng.random(len(y)), y))
        source = np.empty(len(y), int)
        source[in_order] = at_random
        return Z[source]
