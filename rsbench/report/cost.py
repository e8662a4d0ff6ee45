"""Error against cost: is money better spent on annotations, or on more labels?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rsbench.core.statistics import Estimate
from rsbench.core.told import Told
from rsbench.core.worth import at_place
from rsbench.report.claims import Claims, MethodClaim
from rsbench.report.labels import NONE, signed
from rsbench.report.units import estimator, units
from rsbench.store.record import Run


@dataclass(frozen=True)
class Prices:
    """What supervision costs, in any currency.

    Parameters
    ----------
    label : float
        Of a sample's label.
    annotation : float
        Of a sample's annotation, whatever is marked.
    mark : float
        Of each mark in it.
    """

    label: float
    annotation: float = 0.0
    mark: float = 0.0

    @property
    def words(self) -> str:
        """What they are, as a caption says it."""
        return (
            f"a label at {self.label:g}, an annotation at {self.annotation:g} and each "
            f"mark at {self.mark:g}"
        )


@dataclass(frozen=True)
class SameCost:
    """A method and its counterpart, each with what the same money buys.

    Parameters
    ----------
    step : int
        So many samples the counterpart learned from (per class).
    difference : Estimate, optional
        Of test errors, the method's less its counterpart's; None where the method was
        not tested at that cost.
    """

    step: int
    difference: Estimate | None


def prices_of(runs: Sequence[Run]) -> Prices | None:
    """Return the prices that all runs were given; None if there are none or several."""
    given = [run.info.config.get("prices") for run in runs]
    if not given or not given[0] or any(each != given[0] for each in given):
        return None
    return Prices(**given[0])


def costs(run: Run, prices: Prices) -> list[float]:
    """Return what a run's samples have cost after each step.

    Votes are paid for as samples come. Class votes are counted over the whole training
    pool before the stream begins, so that all of its annotations are paid for first.
    """
    samples = run.values("samples").mean(axis=1)
    given = run.info.given
    each = prices.annotation + prices.mark * given.get("marks", 0.0)
    each *= given.get("annotated", 0.0)
    annotations = np.zeros(len(samples))
    if run.info.told is Told.VOTES:
        annotations = samples * each
    elif run.info.told is Told.CLASS_VOTES and run.info.samples is not None:
        annotations = np.full(len(samples), run.info.samples.pool * each)
    return (samples * prices.label + annotations).tolist()


def same_cost(claim: MethodClaim, prices: Prices) -> list[SameCost]:
    """Compare a method's test errors with what its counterpart's labels alone buy.

    Between tested steps errors are taken as straight in the logarithm of the cost.
    """
    counterpart = claim.counterpart
    if counterpart is None:
        return []
    run = claim.run
    mine = np.array(costs(run, prices))
    curves = np.stack([units(run, "test_error", step) for step in run.steps])
    theirs = dict(zip(counterpart.steps, costs(counterpart, prices), strict=True))
    found = []
    for step in counterpart.table_steps():
        cost = theirs[step]
        difference = None
        other = units(counterpart, "test_error", step)
        # Of only one of them test samples may be kept.
        if mine[0] <= cost <= mine[-1] and other.shape == curves[0].shape:
            difference = estimator(run, "test_error", step)(
                at_place(cost, mine, curves) - other
            )
        found.append(SameCost(step, difference))
    return found


@dataclass(frozen=True)
class CostTable:
    """Methods against their counterparts at the same cost, as text.

    Parameters
    ----------
    header : list of str
        Titles of the columns.
    rows : list of lists of str
        One for each method.
    caption : str
        How to read it.
    """

    header: list[str]
    rows: list[list[str]]
    caption: str


def cost_table(shown: Claims | None) -> CostTable | None:
    """Return what methods gain over their counterparts for the same money.

    None where no prices were given, or no method has a counterpart.
    """
    if shown is None:
        return None
    claims = [claim for claim in shown.methods if claim.counterpart is not None]
    prices = prices_of([claim.run for claim in claims])
    if prices is None:
        return None
    first = claims[0].run
    steps = first.table_steps()
    unit = first.info.unit
    header = ["method", *[f"@{step}" for step in steps]]
    rows = []
    for claim in claims:
        by_step = {each.step: each.difference for each in same_cost(claim, prices)}
        cells = [_cell(by_step.get(step)) for step in steps]
        rows.append([claim.run.info.label, *cells])
    caption = (
        f"Test error for the same cost, with {prices.words}: what a method has at the "
        f"cost of so many labels ({unit}) less what its counterpart has, which spends "
        "it on labels alone; points, negative is less error, 95 % intervals each by "
        "itself. A dash: the method was not tested at that cost. Class votes are paid "
        "for in advance, for the whole training pool."
    )
    return CostTable(header, rows, caption)


def _cell(difference: Estimate | None) -> str:
    if difference is None:
        return NONE
    interval = difference.interval()
    if np.isinf(interval.low):
        return signed(difference.mean)
    return (
        f"{signed(difference.mean)} [{signed(interval.low)} to {signed(interval.high)}]"
    )
