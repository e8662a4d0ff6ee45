"""What reaches the learner of the annotations: functions from votes to votes.

Each takes the votes and a random stream of its own; further parameters are its configuration, in
the config group `annotation`.
"""

import numpy as np


def full(Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every vote, as given."""
    return Z


ANNOTATIONS = {"full": full}
