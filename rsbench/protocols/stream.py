"""Online learning: samples as they come, classes as frequent as they are."""

import itertools
from typing import ClassVar

import numpy as np

from rsbench.errors import UserError
from rsbench.protocols.base import Plan, SplitByClass


class Stream(SplitByClass):
    """Draw samples uniformly from the training pool; test after chosen numbers of them.

    Parameters
    ----------
    test_at : tuple of int, default (50, 100, ..., 1000)
        Numbers of samples after which to test; the last one ends the stream.
    replace : bool, default False
        Whether a sample can be drawn more than once.
    test : str or float, default 0.5
        A fraction of each class, or `mask` (the data set's own test set).
    min_samples, max_samples : int or None, default None
        Bounds, inclusive, on the samples of a class; other classes are left out.
    classes : int or None, default None
        Number of classes, drawn by each seed among those within bounds; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.arange(40) % 2
    >>> steps, test = Stream((4, 10)).plan(y, None, np.random.default_rng(0))
    >>> [len(step) for step in steps], len(test)
    ([4, 6], 20)
    """

    unit = "samples"
    test_words: ClassVar = ("mask",)

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

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        super().check_params()
        # From 0, so that the first number has to be 1 at least.
        from_zero = itertools.pairwise((0, *self.test_at))
        grows = all(before < after for before, after in from_zero)
        if not len(self.test_at) or not grows:
            raise UserError(
                f"protocol.test_at={list(self.test_at)}, "
                "expected growing numbers of samples from 1 on"
            )

    def plan(
        self, y: np.ndarray, test: np.ndarray | None, rng: np.random.Generator
    ) -> Plan:
        """Return the sample numbers of each step, and those of the test set."""
        train, held = self._split(y, test, rng, learned=0)
        # Of all classes together, so that frequent classes come as often as they do.
        pool = np.concatenate(list(train.values()))
        length = self.test_at[-1]
        needed = length
        if self.replace:  # one sample can be drawn again and again
            needed = 1
        if len(pool) < needed:
            raise UserError(
                f"the training pool has {len(pool)} samples, fewer than the last of "
                f"protocol.test_at, {length}. End it earlier, or draw with "
                "protocol.replace=true"
            )
        order = rng.choice(pool, length, replace=self.replace)
        return np.split(order, self.test_at[:-1]), held
