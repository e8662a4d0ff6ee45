"""Random streams, named by purpose and derived from one seed.

Each purpose has a stream of its own, so that drawing more for one of them never shifts
another: within a seed all methods see the same split and order, and adding a learner
changes nobody's result.
"""

import hashlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the generator for a purpose under a seed; the same on every machine."""
    # Not Python's own hash, which differs from process to process; and little-endian
    # on every machine.
    digest = hashlib.sha256(purpose.encode()).digest()
    words = np.frombuffer(digest[:16], "<u4").tolist()
    return np.random.default_rng([seed, *words])
