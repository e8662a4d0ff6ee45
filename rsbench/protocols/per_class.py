"""Few-shot learning: one more sample of every class at each step."""

from typing import ClassVar

import numpy as np

from rsbench.errors import UserError
from rsbench.protocols.base import Plan, SplitByClass


class PerClass(SplitByClass):
    """Show one more sample of every class at each step, in random order within it.

    Parameters
    ----------
    samples_per_class : int, default 25
        Number of steps.
    test : str or float, default "rest"
        `rest` (all samples not learned from), a fraction of each class, or `mask` (the
        data set's own test set).
    min_samples, max_samples : int or None, default None
        Bounds, inclusive, on the samples of a class; other classes are left out.
    classes : int or None, default None
        Number of classes, drawn by each seed among those within bounds; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> steps, test = PerClass(2).plan(y, None, np.random.default_rng(0))
    >>> [sorted(y[step].tolist()) for step in steps]
    [[0, 1], [0, 1]]
    >>> y[test]
    array([0, 1])
    """

    unit = "samples per class"
    test_words: ClassVar = ("rest", "mask")

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

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        if self.samples_per_class < 1:
            raise UserError(
                f"protocol.samples_per_class={self.samples_per_class}, "
                "expected 1 or more"
            )

    def plan(
        self, y: np.ndarray, test: np.ndarray | None, rng: np.random.Generator
    ) -> Plan:
        """Return the sample numbers of each step, and those of the test set."""
        train, held = self._split(y, test, rng, learned=self.samples_per_class)
        self._check_enough(train, np.bincount(y))
        rows = [samples[: self.samples_per_class] for samples in train.values()]
        # A row for each class, so that a column is a step: one sample of every class.
        block = np.array(rows)
        # Shuffled, since a fixed order of classes would favour the last ones of a step.
        steps = [rng.permutation(column) for column in block.T]
        return steps, held

    def _check_enough(self, train: dict[int, np.ndarray], counts: np.ndarray) -> None:
        """Raise an error if a class has too few samples to learn from and test on."""
        steps = self.samples_per_class
        for c, samples in train.items():
            total = counts[c]
            # With `rest`, a class that is learned whole has nothing to test on.
            none_left = self.test == "rest" and total == steps
            if len(samples) < steps or none_left:
                raise UserError(
                    f"class {c} has {total} samples, {len(samples)} of them to learn "
                    f"from: too few for protocol.samples_per_class={steps} with "
                    f"protocol.test={self.test}. Lower protocol.samples_per_class, or "
                    "leave small classes out with protocol.min_samples"
                )
