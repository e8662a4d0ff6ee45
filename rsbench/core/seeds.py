"""Random streams, named by purpose and derived from one seed.

Each purpose has a stream of its own, so that drawing more for one of them never shifts another:
within a seed all methods see the same split and order, and adding a learner changes nobody's result.
"""

import hashlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator for `purpose` under `seed`; the same on every machine."""
    digest = hashlib.sha256(purpose.encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest[:16], "<u4").tolist()])
