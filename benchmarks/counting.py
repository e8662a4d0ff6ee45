"""How often something was said in simulated sweeps, and how often it may be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import common  # before numpy: it settles the number of threads
import numpy as np


@dataclass(frozen=True)
class Bound:
    """How often something may be said.

    Parameters
    ----------
    low, high : float
        The least and the largest rate.
    allowance : float
        Monte Carlo errors by which a rate may be above.
    """

    low: float = 0.0
    high: float = math.inf
    allowance: float = 0.0

    def limit(self, sweeps: int) -> float:
        """Return the largest rate that so many sweeps may show."""
        if self.allowance == 0:
            return self.high
        chance = math.sqrt(self.high * (1 - self.high) / sweeps)
        return self.high + self.allowance * chance

    def text(self, sweeps: int) -> str:
        """Return it in percent, as a cell of a table."""
        if self == NO_BOUND:
            return ""
        if self.low == 0:
            return f"≤ {100 * self.limit(sweeps):.1f}"
        if math.isinf(self.high):
            return f"≥ {100 * self.low:.0f}"
        return f"{100 * self.low:.1f} to {100 * self.high:.1f}"


#: For what is shown but held to nothing.
NO_BOUND = Bound()

#: For what is not true.
FALSE = Bound(high=0.05, allowance=2)


@dataclass(frozen=True)
class Outcome:
    """How often something was said, or a number was found.

    Parameters
    ----------
    what : str
        What was simulated.
    said : str
        What was counted.
    bound : Bound
        How often it may be so.
    value, error : float
        The share of sweeps in which it was so, or the number found in the median, and
        its Monte Carlo error: one standard error.
    sweeps : int
        How many there were.
    """

    what: str
    said: str
    bound: Bound
    value: float
    error: float
    sweeps: int

    @property
    def passes(self) -> bool:
        """Tell whether the value is within its bound."""
        return self.bound.low <= self.value <= self.bound.limit(self.sweeps)

    def cell(self) -> str:
        """Return it in percent, in bold where its bound is missed."""
        text = f"{100 * self.value:.1f} ± {100 * self.error:.1f}"
        if not self.passes:
            text = f"**{text}, missed**"
        return text


class Count:
    """Count, over sweeps, how often each of several things was so."""

    def __init__(self) -> None:
        self._hits: dict[tuple[str, str, Bound], list[bool]] = {}
        self._numbers: dict[tuple[str, str, Bound], list[float]] = {}

    def add(self, what: str, said: str, is_so: bool, bound: Bound = FALSE) -> None:
        """Take note of one sweep."""
        self._hits.setdefault((what, said, bound), []).append(bool(is_so))

    def note(self, what: str, said: str, number: float, bound: Bound) -> None:
        """Take note of a number that a sweep has found."""
        self._numbers.setdefault((what, said, bound), []).append(number)

    def outcomes(self) -> list[Outcome]:
        """Return shares and medians, in the order in which they came up."""
        found = []
        for key, hits in self._hits.items():
            rate = sum(hits) / len(hits)
            error = math.sqrt(rate * (1 - rate) / len(hits))
            found.append(Outcome(*key, rate, error, len(hits)))
        for key, numbers in self._numbers.items():
            # The ranks between which the median lies with one standard error.
            margin = 50 / math.sqrt(len(numbers))
            low, middle, high = np.percentile(numbers, [50 - margin, 50, 50 + margin])
            error = float(high - low) / 2
            found.append(Outcome(*key, float(middle), error, len(numbers)))
        return found


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a row for each design and a column for each sentence, in markdown.

    A bound stands in its column's title, or with each number where they differ.
    """
    bounds: dict[str, set[str]] = {}
    for outcome in outcomes:
        of_column = bounds.setdefault(outcome.said, set())
        of_column.add(outcome.bound.text(outcome.sweeps))
    rows: dict[str, dict[str, str]] = {}
    for outcome in outcomes:
        cell = outcome.cell()
        bound = outcome.bound.text(outcome.sweeps)
        if len(bounds[outcome.said]) > 1 and bound:
            cell = f"{cell} ({bound})"
        rows.setdefault(outcome.what, {})[outcome.said] = cell
    titles = ["design"]
    for said, of_column in bounds.items():
        title = said
        if len(of_column) == 1 and of_column != {""}:
            title = f"{said} ({min(of_column)})"
        titles.append(title)
    cells = []
    for what, row in rows.items():
        cells.append([what, *[row.get(said, "") for said in bounds]])
    return common.table(titles, cells)
