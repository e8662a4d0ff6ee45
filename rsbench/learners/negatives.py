"""The hardest negative class of a sample, and how ties are settled."""

import numpy as np


def hardest_negative(scores: np.ndarray, pos: int) -> tuple[int, float]:
    """Return the hardest negative class, and the true class's margin over it.

    The hardest negative has the highest score of all classes but the true one, whether
    or not they have been met; among equals it is the lowest.

    Parameters
    ----------
    scores : ndarray of shape (K,)
        One score per class. The true class's is overwritten.
    pos : int
        The true class.

    Returns
    -------
    neg : int
        The hardest negative class.
    margin : float
        The true class's score less that of the hardest negative.

    Examples
    --------
    >>> hardest_negative(np.array([0.5, 3.0, 0.5]), pos=1)
    (0, 2.5)
    """
    true_score = scores.item(pos)
    scores[pos] = -np.inf
    neg = int(scores.argmax())
    return neg, true_score - scores.item(neg)
