"""The command `plan`: how many draws of classes would find a gain?"""

import argparse
import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rsbench.errors import UserError, is_number

if TYPE_CHECKING:
    from rsbench.core.planning import Plan
    from rsbench.store.record import Run


@dataclass(frozen=True)
class Forecast:
    """What a pilot says of one method against its counterpart.

    Parameters
    ----------
    run : Run
        The method's run.
    gains : array of shape (draws,)
        By how much its error is less, in points; seeds averaged inside.
    deviation : float
        What the standard deviation between draws is at most, in points.
    plan : Plan
        How many draws it takes.
    """

    run: "Run"
    gains: np.ndarray
    deviation: float
    plan: "Plan"


def add_commands(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "plan", help="how many draws of classes would find a gain, from a pilot"
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="a finished sweep of a few draws"
    )
    parser.add_argument(
        "--gain",
        type=float,
        default=2.0,
        metavar="POINTS",
        help="the gain in error to be found, in points; 2 by default",
    )
    parser.add_argument(
        "--power",
        type=float,
        default=0.8,
        help="the chance to find it; 0.8 by default",
    )
    parser.set_defaults(run=show_plan)


def show_plan(args: argparse.Namespace) -> int:
    """Print how many draws each method of a pilot needs."""
    from rsbench.report.collect import from_folders
    from rsbench.report.labels import data_label, plural

    if not is_number(args.gain) or args.gain <= 0:
        raise UserError(f"--gain {args.gain}: expected points of error above 0")
    if not 0 < args.power < 1:
        raise UserError(f"--power {args.power}: expected a chance between 0 and 1")
    runs = from_folders([args.folder]).runs
    judged = [run for run in runs if run.counterpart and run.info.control is None]
    if not judged:
        raise UserError(
            f"{args.folder}: no run in it has a counterpart to gain over: "
            "counterparts=true, with a method that is told something"
        )
    forecasts = list(_forecasts(judged, args.gain, args.power))
    first = judged[0]
    print(
        f"Pilot: {data_label(judged)}, {first.n_draws} draws of {first.n_seeds} seeds; "
        f"cumulative error at {first.judged_step} {first.info.unit}."
    )
    print(
        f"To find a gain of {args.gain:g} points over the counterpart with a chance of "
        f"{args.power:.0%}, corrected for {plural(len(judged), 'method')}:"
    )
    for line in _lines(forecasts):
        print(line)
    if any(forecast.plan.draws is None for forecast in forecasts):
        print(
            "Never: draws of the same classes share them, however many there are; the "
            "gain that can be found at all is given."
        )
    print(
        "The spread between draws is taken at its upper 80 % limit: with the pilot's "
        "own, more than half of all plans would promise too much."
    )
    return 0


def _forecasts(runs: Sequence["Run"], gain: float, power: float) -> Iterator[Forecast]:
    """Plan for each method, corrected for all of them."""
    from rsbench.core.planning import plan, variance_limit

    for run in runs:
        assert run.counterpart is not None
        at = run.steps.index(run.judged_step)
        ours = run.by_draw("cumulative_error")[at]
        theirs = run.counterpart.by_draw("cumulative_error")[at]
        gains = 100 * (theirs - ours).mean(axis=1)
        drawn = run.info.data.drawn
        classes = None
        of = None
        if drawn is not None:
            classes = drawn.classes
            of = drawn.of
        variance = variance_limit(gains, classes, of)
        found = plan(gain, variance, classes, of, family=len(runs), power=power)
        if drawn is not None and (found.draws or 0) > math.comb(
            drawn.of, drawn.classes
        ):
            # So many draws there are not.
            found = dataclasses.replace(found, draws=None)
        yield Forecast(run, gains, float(np.sqrt(variance)), found)


def _lines(forecasts: Sequence[Forecast]) -> Iterator[str]:
    """Yield a line for each method."""
    width = max(len(forecast.run.info.label) for forecast in forecasts)
    for forecast in forecasts:
        found = forecast.plan
        told = f"draws={found.draws}"
        if found.draws is None:
            told = f"never (from {found.smallest_gain:.1f} points on)"
        # Plus zero, so that nothing is shown as "-0.0".
        gain = round(float(forecast.gains.mean()), 1) + 0
        yield (
            f"  {forecast.run.info.label:<{width}}  gain {gain:+.1f}, "
            f"spread {forecast.deviation:.1f}: {told}"
        )
