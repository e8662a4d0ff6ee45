"""Wrong annotations: how wrong may they be?"""

import numpy as np

from rsbench.core.components import Corruption
from rsbench.corruptions.shares import check_share


class Noisy(Corruption):
    """Lose marks, and set some where there should be none.

    Parameters
    ----------
    miss : float, default 0.0
        Chance that a mark is lost.
    err : float, default 0.0
        Chance that an unmarked feature gets a mark.

    Examples
    --------
    >>> import numpy as np
    >>> Noisy(miss=1.0)(np.array([[True, False]]), np.random.default_rng(0))
    array([[False, False]])
    """

    def __init__(self, miss: float = 0.0, err: float = 0.0):
        self.miss = miss
        self.err = err

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        check_share(self, "miss")
        check_share(self, "err")

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the votes with mistakes; what was not given stays so."""
        # One draw is enough for both kinds of mistakes: a feature is marked or not.
        luck = rng.random(Z.shape)
        is_marked = np.nan_to_num(Z) > 0
        lost = is_marked & (luck < self.miss)
        added = ~is_marked & (luck < self.err) & ~np.isnan(Z)
        # In the votes' own type: a plain 0 or 1 would turn booleans into integers.
        with_losses = np.where(lost, np.zeros((), Z.dtype), Z)
        return np.where(added, np.ones((), Z.dtype), with_losses)
