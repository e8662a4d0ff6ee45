"""Built-in protocols: which samples are learned from, in which order, and which are for testing.

`plan` returns the steps of a stream (an array of sample numbers each, a test after each) and the
test samples. Samples of the planned classes that are not for testing are the training pool.
"""

import itertools

import numpy as np

from rsbench import hookimpl
from rsbench.errors import UserError, is_number

Plan = tuple[list[np.ndarray], np.ndarray]


class _Protocol:
    """Class selection and the test split, the same for all protocols."""

    #: What `step` counts in curves, tables and figures.
    unit: str
    test: str | float
    min_samples: int | None
    max_samples: int | None
    classes: int | None

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
        for name, least in (("min_samples", 1), ("max_samples", 1), ("classes", 2)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"protocol.{name}={value}, expected {least} or more")

    def _check_test(self, words: tuple[str, ...]) -> None:
        if self.test not in words and not (
            is_number(self.test) and 0 < float(self.test) < 1
        ):
            raise UserError(
                f"protocol.test={self.test!r}, expected {', '.join(words)} or a fraction between 0 and 1"
            )

    def _select(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The classes within bounds, or as many of them as wanted, drawn at random."""
        counts = np.bincount(y)
        low, high = self.min_samples or 1, self.max_samples or len(y)
        selected = np.flatnonzero((counts >= low) & (counts <= high))
        wanted = self.classes or max(2, len(selected))
        if len(selected) < wanted:
            raise UserError(
                f"class selection: {len(selected)} of {len(counts)} classes have between {low} and {high} samples, "
                f"{wanted} are needed (classes have {counts.min()} to {counts.max()} samples). "
                "Move protocol.min_samples and protocol.max_samples, or change protocol.classes"
            )
        return (
            selected
            if self.classes is None
            else np.sort(rng.choice(selected, self.classes, replace=False))
        )

    def _split(
        self,
        y: np.ndarray,
        mask: np.ndarray | None,
        rng: np.random.Generator,
        learned: int,
    ) -> tuple[dict[int, np.ndarray], np.ndarray]:
        """Training samples of each class in random order, and the test samples.

        With test=rest, `learned` samples of each class are kept to train. With test=mask, which
        samples are drawn and their order do not depend on the test samples.
        """
        if self.test == "mask" and mask is None:
            raise UserError(
                "protocol.test=mask needs a data set with a fixed test set ('test', one bool per sample)"
            )
        train, held = {}, []
        members = np.split(np.argsort(y, kind="stable"), np.cumsum(np.bincount(y))[:-1])
        for c in self._select(y, rng):
            samples = members[c]
            if self.test == "mask":
                assert mask is not None
                train[int(c)], out = (
                    rng.permutation(samples[~mask[samples]]),
                    samples[mask[samples]],
                )
                if not len(out):
                    raise UserError(
                        f"class {c} has no sample in the data set's fixed test set; protocol.test=mask needs one"
                    )
            else:
                n = len(samples)
                kept = (
                    learned
                    if self.test == "rest"
                    else n - max(1, round(n * float(self.test)))
                )
                train[int(c)], out = np.split(rng.permutation(samples), [kept])
            held.append(out)
        return train, np.sort(np.concatenate(held))


class PerClass(_Protocol):
    """Steps of one more sample of every class, in random order within a step.

    Parameters
    ----------
    samples_per_class : number of steps.
    test : `rest` (all samples not learned from), a fraction of each class, or `mask` (the data set's own).
    min_samples, max_samples : bounds, inclusive, on the samples of a class; others are left out.
    classes : number of classes, drawn at random by each seed among those within bounds; all by default.
    """

    unit = "samples per class"

    def __init__(
        self,
        samples_per_class: int = 25,
        test: str | float = "rest",
        min_samples: int | None = None,
        max_samples: int | None = None,
        classes: int | None = None,
    ):
        super().__init__(test, min_samples, max_samples, classes)
        self.samples_per_class = samples_per_class
        self._check_test(("rest", "mask"))
        if samples_per_class < 1:
            raise UserError(
                f"protocol.samples_per_class={samples_per_class}, expected 1 or more"
            )

    def plan(
        self, y: np.ndarray, test: np.ndarray | None, rng: np.random.Generator
    ) -> Plan:
        """Steps of indices, and test indices."""
        steps = self.samples_per_class
        train, held = self._split(y, test, rng, learned=steps)
        counts = np.bincount(y)
        for c, samples in train.items():
            total = counts[c]
            if len(samples) < steps or (self.test == "rest" and total == steps):
                raise UserError(
                    f"class {c} has {total} samples, {len(samples)} of them to learn from: too few for "
                    f"protocol.samples_per_class={steps} with protocol.test={self.test}. "
                    "Lower protocol.samples_per_class, or leave small classes out with protocol.min_samples"
                )
        block = np.array([samples[:steps] for samples in train.values()])
        return [rng.permutation(block[:, k]) for k in range(steps)], held


class Stream(_Protocol):
    """Uniform draws from the training pool, tested at chosen numbers of samples.

    Parameters
    ----------
    test_at : numbers of samples after which to test; the last one ends the stream.
    replace : whether a sample can be drawn more than once.
    test : a fraction of each class, or `mask` (the data set's own).
    min_samples, max_samples : bounds, inclusive, on the samples of a class; others are left out.
    classes : number of classes, drawn at random by each seed among those within bounds; all by default.
    """

    unit = "samples"

    def __init__(
        self,
        test_at: tuple[int, ...] = tuple(range(50, 1001, 50)),
        replace: bool = False,
        test: str | float = 0.5,
        min_samples: int | None = None,
        max_samples: int | None = None,
        classes: int | None = None,
    ):
        super().__init__(test, min_samples, max_samples, classes)
        self.test_at = test_at
        self.replace = replace
        self._check_test(("mask",))
        if (
            not len(test_at)
            or test_at[0] < 1
            or any(b <= a for a, b in itertools.pairwise(test_at))
        ):
            raise UserError(
                f"protocol.test_at={list(test_at)}, expected growing numbers of samples from 1 on"
            )

    def plan(
        self, y: np.ndarray, test: np.ndarray | None, rng: np.random.Generator
    ) -> Plan:
        """Steps of indices, and test indices."""
        train, held = self._split(y, test, rng, learned=0)
        pool = np.concatenate(list(train.values()))
        if len(pool) < (1 if self.replace else self.test_at[-1]):
            raise UserError(
                f"the training pool has {len(pool)} samples, fewer than the last of protocol.test_at, "
                f"{self.test_at[-1]}. End it earlier, or draw with protocol.replace=true"
            )
        order = rng.choice(pool, self.test_at[-1], replace=self.replace)
        return np.split(order, self.test_at[:-1]), held


@hookimpl
def rsbench_protocols() -> dict[str, type]:
    return {"per_class": PerClass, "stream": Stream}
