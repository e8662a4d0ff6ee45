"""What reaches the learner of the annotations: functions from votes to votes.

Each is called with the votes and a random stream of its own; its constructor's parameters are its
configuration, in the config group `annotation`.
"""

import numpy as np


class Full:
    """Every vote, as given."""

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return Z


ANNOTATIONS = {"full": Full}
