"""Features that anybody ever marked, whatever the class."""

import numpy as np

from rsbench.aggregators.class_votes import ClassVotes


class CrossClasses(ClassVotes):
    """Give 1 to features marked at least once in any class, 0 to the others.

    Parameters
    ----------
    scope : {"teacher", "seen"}, default "teacher"
        Whose votes count: the whole training pool's, or those of samples so far.
    irrelevant : float, default 1e-10
        The least relevance, in place of zero.

    Examples
    --------
    >>> import numpy as np
    >>> votes, y = np.array([[1, 0, 0], [0, 1, 0]]), np.array([0, 1])
    >>> CrossClasses(irrelevant=0.1).fit(votes, y).relevance(votes[:1], y[:1])
    array([[1. , 1. , 0.1]])
    """

    def _groups(self, y: np.ndarray) -> np.ndarray:
        # All samples as if they were of one class.
        return np.zeros(len(y), int)

    def _strength(self, votes: np.ndarray, samples: np.ndarray) -> np.ndarray:
        return (votes > 0).astype(np.float64)
