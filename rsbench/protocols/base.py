"""What the built-in protocols share: which classes take part, and the test split."""

from typing import ClassVar

import numpy as np

from rsbench.core.components import Protocol
from rsbench.errors import UserError, is_number

#: Sample numbers of each step, and of the test set.
Plan = tuple[list[np.ndarray], np.ndarray]


class SplitByClass(Protocol):
    """Select classes, and split each one's samples into some to learn and some to test.

    Parameters
    ----------
    test : str or float
        A fraction of each class to hold out, or one of the words in `test_words`.
    min_samples, max_samples : int or None
        Bounds, inclusive, on the samples of a class; other classes are left out.
    classes : int or None
        Number of classes to draw among those within bounds; all of them if None.
    """

    #: What `test` can be instead of a fraction; a subclass says which.
    test_words: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        test: str | float,
        min_samples: int | None,
        max_samples: int | None,
        classes: int | None,
    ):
        self.test = test
        self.min_samples = min_samples
        self.max_samples = max_samples
        self.classes = classes

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        _check_least("min_samples", self.min_samples, 1)
        _check_least("max_samples", self.max_samples, 1)
        _check_least("classes", self.classes, 2)
        is_fraction = is_number(self.test) and 0 < float(self.test) < 1
        if self.test not in self.test_words and not is_fraction:
            raise UserError(
                f"protocol.test={self.test!r}, expected {', '.join(self.test_words)} "
                "or a fraction between 0 and 1"
            )

    def _split(
        self,
        y: np.ndarray,
        mask: np.ndarray | None,
        rng: np.random.Generator,
        learned: int,
    ) -> tuple[dict[int, np.ndarray], np.ndarray]:
        """Return each class's training samples in random order, and the test samples.

        With test=rest, `learned` samples of each class are kept to train. With
        test=mask, which samples are drawn and their order do not depend on the test
        samples.

        Raises
        ------
        UserError
            If too few classes are within bounds, or a fixed test set is missing or
            leaves a class out.
        """
        if self.test == "mask" and mask is None:
            raise UserError(
                "protocol.test=mask needs a data set with a fixed test set "
                "('test', one bool per sample)"
            )
        # The samples of each class, found in one pass: there may be many classes.
        by_class = np.argsort(y, kind="stable")
        members = np.split(by_class, np.cumsum(np.bincount(y))[:-1])
        train = {}
        test = []
        for c in self._select(y, rng):
            samples = members[c]
            if self.test == "mask":
                assert mask is not None
                fixed = mask[samples]
                train[int(c)] = rng.permutation(samples[~fixed])
                held = samples[fixed]
                _check_some_held(held, c)
            else:
                kept = self._number_kept(len(samples), learned)
                train[int(c)], held = np.split(rng.permutation(samples), [kept])
            test.append(held)
        # Sorted, since test samples are read in this order, from disk in large data.
        return train, np.sort(np.concatenate(test))

    def _select(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the classes within bounds, or as many of them as wanted, drawn."""
        counts = np.bincount(y)
        low = self.min_samples or 1
        high = self.max_samples or len(y)
        selected = np.flatnonzero((counts >= low) & (counts <= high))
        # One class alone cannot be told from any other.
        wanted = self.classes or max(2, len(selected))
        if len(selected) < wanted:
            raise UserError(
                f"class selection: {len(selected)} of {len(counts)} classes have "
                f"between {low} and {high} samples, {wanted} are needed (classes have "
                f"{counts.min()} to {counts.max()} samples). Move protocol.min_samples "
                "and protocol.max_samples, or change protocol.classes"
            )
        if self.classes is None:
            return selected
        # Sorted, so that what is drawn next depends on which classes, not their order.
        return np.sort(rng.choice(selected, self.classes, replace=False))

    def _number_kept(self, samples: int, learned: int) -> int:
        """Return how many samples of a class are not for testing."""
        if self.test == "rest":
            return learned
        # At least one: a class without any would drop out of the measures in silence.
        return samples - max(1, round(samples * float(self.test)))


def _check_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise UserError(f"protocol.{name}={value}, expected {least} or more")


def _check_some_held(held: np.ndarray, c: int) -> None:
    if not len(held):
        raise UserError(
            f"class {c} has no sample in the data set's fixed test set; "
            "protocol.test=mask needs one"
        )
