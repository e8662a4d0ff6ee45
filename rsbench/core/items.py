"""What became of each test sample, kept so that new measures need no new run."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rsbench.errors import UserError

#: With more steps than these, an error gives their range.
MOST_NAMED = 30


@dataclass(frozen=True)
class TestItems:
    """Each test sample of one seed: wrong or right at every step, and some margins.

    Parameters
    ----------
    steps : array of shape (t,), of int
        The steps of the curve.
    items : array of shape (n,), of int
        Which samples of the data set were tested, in ascending order.
    labels : array of shape (n,), of int
        Their classes, as the data set numbers them.
    wrong : array of shape (t, n), of bool
        Whether a sample was predicted wrongly, after each step.
    margin_steps : array of shape (r,), of int
        The steps that tables report.
    margins : array of shape (r, n), of float32
        The true class's score less the best other one's, after those.
    """

    __test__ = False  # pytest takes classes of this name for its own

    steps: np.ndarray
    items: np.ndarray
    labels: np.ndarray
    wrong: np.ndarray
    margin_steps: np.ndarray
    margins: np.ndarray

    def errors(self, step: int, cumulative: bool = False) -> np.ndarray:
        """Return each sample's error after a step, or its mean over steps so far.

        Parameters
        ----------
        step : int
            A step of the curve.
        cumulative : bool
            Whether to average over the steps up to this one.

        Returns
        -------
        array of shape (n,), of float
            From 0 to 1. Its mean is the curve's test or cumulative error.
        """
        last = int(np.flatnonzero(self.steps == step)[0])
        first = last
        if cumulative:
            first = 0
        return self.wrong[first : last + 1].mean(axis=0)

    def with_margins_at(self, steps: Sequence[int]) -> "TestItems":
        """Return the same with the margins of some steps alone.

        Parameters
        ----------
        steps : sequence of int
            Some of `margin_steps`, in ascending order.
        """
        rows = np.isin(self.margin_steps, steps)
        return dataclasses.replace(
            self, margin_steps=self.margin_steps[rows], margins=self.margins[rows]
        )


def judged_step(steps: Sequence[int], wanted: int | None) -> int:
    """Return the step at which methods are judged: the end of the curve, by default.

    It must not be chosen by what the curves show, nor depend on which other steps
    were tested.

    Parameters
    ----------
    steps : sequence of int
        The steps of the curve, in ascending order.
    wanted : int or None
        What was asked for.

    Raises
    ------
    UserError
        If it was not tested.
    """
    if wanted is None:
        return steps[-1]
    if wanted not in steps:
        tested = ", ".join(map(str, steps))
        if len(steps) > MOST_NAMED:
            tested = f"{len(steps)} steps from {steps[0]} to {steps[-1]}"
        raise UserError(f"judged_step={wanted} is not tested: choose of {tested}")
    return wanted


def table_steps(
    steps: Sequence[int], wanted: Sequence[int] | None, judged: int
) -> list[int]:
    """Return the steps that tables have columns for, the judged one among them.

    Parameters
    ----------
    steps : sequence of int
        The steps of the curve, in ascending order.
    wanted : sequence of int or None
        What was asked for, of which those are taken that were tested; by default a
        quarter, half and the whole of the curve, in samples.
    judged : int
        The step at which methods are judged.
    """
    chosen = {judged}
    if wanted:
        chosen.update(step for step in wanted if step in steps)
    else:
        for share in (0.25, 0.5, 1):
            chosen.add(_at_or_before(steps, share * steps[-1]))
    return sorted(chosen)


def _at_or_before(steps: Sequence[int], wanted: float) -> int:
    before = [step for step in steps if step <= wanted]
    if not before:
        return steps[0]
    return before[-1]
