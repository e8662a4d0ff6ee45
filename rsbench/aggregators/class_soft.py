"""How often a class's samples are marked, as a soft mask."""

from typing import Literal

import numpy as np

from rsbench.aggregators.class_votes import ClassVotes, Scope


class ClassSoft(ClassVotes):
    """Take the root of a feature's share of votes in the class, scaled to L2 norm 1.

    The normalisation also makes steps smaller; `normalize=none` tells the two apart.

    Parameters
    ----------
    normalize : {"l2", "none"}, default "l2"
        Whether rows are scaled to norm 1, as in the paper.
    scope : {"teacher", "seen"}, default "teacher"
        Whose votes count: the whole training pool's, or those of samples so far.
    irrelevant : float, default 1e-10
        The least relevance, in place of zero.

    Examples
    --------
    >>> import numpy as np
    >>> votes, y = np.array([[1, 1], [1, 0], [1, 0], [1, 0]]), np.zeros(4, int)
    >>> ClassSoft(normalize="none").fit(votes, y).relevance(votes[:1], y[:1])
    array([[1. , 0.5]])
    """

    def __init__(
        self,
        normalize: Literal["l2", "none"] = "l2",
        scope: Scope = "teacher",
        irrelevant: float = 1e-10,
    ):
        super().__init__(scope, irrelevant)
        self.normalize = normalize

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        # No more votes than samples: where nobody could vote, both are 0.
        strength = np.sqrt(votes / np.maximum(samples, 1))
        if self.normalize == "l2":
            norm = np.linalg.norm(strength, axis=1, keepdims=True)
            # A class without any vote: its row becomes all ones later.
            strength = strength / np.where(norm > 0, norm, 1.0)
        return strength
