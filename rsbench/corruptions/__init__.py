"""What reaches the learner of the annotations: functions from votes to votes.

Each is called with the training pool's votes and a random stream of its own; its constructor's parameters
are its configuration, in the config group `annotation`. Votes of NaN were not given: a sample without any
vote given was never annotated, and counts as if all of its features were relevant.
"""

import numpy as np

from rsbench.errors import UserError, is_number


class Full:
    """Every vote, as given."""

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return Z


class Shuffled:
    """Whole annotations dealt out anew: each sample gets that of another, of whatever class."""

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return Z[rng.permutation(len(Z))]


class Random:
    """As many marks on each sample as before, on features drawn at random."""

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.permuted(Z, axis=1)


class Budget:
    """Only so many marks, on only so many samples.

    Parameters
    ----------
    marks : at most so many marked features of a sample are kept, drawn at random; all by default.
    samples : share of samples that are annotated, drawn at random; the others are left without annotation.
    """

    def __init__(self, marks: int | None = None, samples: float = 1.0):
        self.marks = marks
        self.samples = samples
        if marks is not None and marks < 1:
            raise UserError(f"annotation.marks={marks}, expected 1 or more")
        _check_share(self, "samples")

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        luck, drawn = rng.random(Z.shape), rng.random(len(Z))
        if self.marks is not None:
            # Ranks among a sample's marks, in random order; what is not marked comes last.
            ranks = np.argsort(
                np.argsort(np.where(np.nan_to_num(Z) > 0, luck, 2.0), axis=1), axis=1
            )
            Z = np.where((ranks < self.marks) | np.isnan(Z), Z, np.zeros((), Z.dtype))
        if self.samples == 1.0:
            return Z
        return np.where((drawn < self.samples)[:, None], Z, np.float32(np.nan))


class Noisy:
    """Marks lost, and marks where there should be none.

    Parameters
    ----------
    miss : chance that a mark is lost.
    err : chance that an unmarked feature gets a mark.
    """

    def __init__(self, miss: float = 0.0, err: float = 0.0):
        self.miss = miss
        self.err = err
        for name in ("miss", "err"):
            _check_share(self, name)

    def __call__(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        luck, marked = rng.random(Z.shape), np.nan_to_num(Z) > 0
        lost, added = (
            marked & (luck < self.miss),
            ~marked & (luck < self.err) & ~np.isnan(Z),
        )
        return np.where(
            added, np.ones((), Z.dtype), np.where(lost, np.zeros((), Z.dtype), Z)
        )


def _check_share(component: object, name: str) -> None:
    value = getattr(component, name)
    if not is_number(value) or not 0 <= value <= 1:
        raise UserError(
            f"annotation.{name}={value!r}, expected a share between 0 and 1"
        )


ANNOTATIONS = {
    "full": Full,
    "shuffled": Shuffled,
    "random": Random,
    "budget": Budget,
    "noisy": Noisy,
}
