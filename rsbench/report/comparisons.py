"""Which runs are compared with which, seed by seed, and what that shows.

One comparison is fixed beforehand: cumulative error at 20 samples per class (or the
last step of the table), all pairs of methods that share features and all other
settings, corrected together after Holm. Runs that are corrected together are a family.
"""

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rsbench.core.statistics import (
    Interval,
    effect_size,
    holm,
    mean_difference,
    paired_t,
    wilcoxon,
)
from rsbench.errors import UserError
from rsbench.report.labels import Features, as_key, features_of
from rsbench.store.record import Run
from rsbench.store.run_info import SplitSizes
from rsbench.store.settings import declared

if TYPE_CHECKING:  # takes half a second to import
    import pandas as pd

#: The comparison fixed beforehand: the paper's measure, at the last step of its tables.
MEASURE = "cumulative_error"
STEP = 20

#: With more runs than these, each is compared with the first alone: nobody reads a
#: million pairs.
MOST_IN_PAIRS = 100

#: These cannot tell families apart: methods and controls are what a family consists of,
#: and runs are compared only on data of the same content, wherever they come from.
_SHARED = frozenset({"method", "control", "dataset", "extractor"})

#: Where runs of one method differ in these alone, its settings are what is compared.
#: `theta` is the aggregator's, by another name.
_HYPERPARAMETERS = frozenset({"learner", "aggregator", "tune", "theta"})


@dataclass(frozen=True)
class Comparison:
    """One run against another, by their differences seed by seed: one minus two.

    Parameters
    ----------
    one, two : Run
        The runs.
    measure : str
        What is compared.
    step : int
        Where on the curves.
    difference : Interval
        Mean difference, as a fraction; its interval allows for overlapping splits.
    effect : float
        Mean difference in standard deviations.
    wins, ties, losses : int
        Seeds in which the first has less error, the same, or more.
    p_t, p_corrected, p_wilcoxon, p_holm : float
        p of the paired t test; after Nadeau and Bengio; after Wilcoxon, if there are
        enough seeds; and Nadeau and Bengio's, corrected for the family after Holm.
    """

    one: Run
    two: Run
    measure: str
    step: int
    difference: Interval
    effect: float
    wins: int
    ties: int
    losses: int
    p_t: float
    p_corrected: float
    p_wilcoxon: float | None
    p_holm: float

    @property
    def first(self) -> str:
        """How people call the first run."""
        return self.one.info.label

    @property
    def second(self) -> str:
        """How people call the second run."""
        return self.two.info.label


@dataclass(frozen=True)
class FamilyKey:
    """What the runs of a family share.

    Parameters
    ----------
    features : Features
        What they learn on.
    changed : tuple of pairs of str
        Settings that differ from the methods' own, by dotted key, as JSON.
    method, control : str, optional
        The one method whose settings are compared; None where methods are.
    """

    features: Features
    changed: tuple[tuple[str, str], ...]
    method: str | None = None
    control: str | None = None


@dataclass(frozen=True)
class ComparisonKey:
    """What runs must share to be compared seed by seed."""

    data: str
    protocol: str
    seeds: tuple[int, ...]
    samples: SplitSizes | None
    steps: tuple[int, ...]


def compare(
    runs: Sequence[Run], measure: str = MEASURE, step: int | None = None
) -> list[Comparison]:
    """Compare all pairs of runs within each family, corrected together.

    Parameters
    ----------
    runs : sequence of Run
        Two or more, on the same data under the same protocol and seeds.
    measure : str
        A column of the curves.
    step : int, optional
        Where on the curves; by default that of the comparison fixed beforehand.

    Raises
    ------
    UserError
        If the runs cannot be paired.
    """
    check_comparable(runs)
    if step is None:
        step = compared_step(runs[0])
    if step not in runs[0].steps:
        raise UserError(
            f"{runs[0].info.label} has no step {step}: its curves go from "
            f"{runs[0].steps[0]} to {runs[0].steps[-1]} {runs[0].info.unit}"
        )
    found = []
    for family in families(runs):
        found += _compare_family(family, measure, step)
    return found


def comparison_frame(
    runs: Sequence[Run], measure: str = MEASURE, step: int | None = None
) -> "pd.DataFrame":
    """Return all paired comparisons as a table, of whatever runs can be compared.

    Parameters are those of `compare`.

    Returns
    -------
    DataFrame
        A row for each pair, with the columns of comparisons.csv. Differences of errors
        are fractions; a p that cannot be given is NaN.
    """
    found = []
    for group in comparable(runs):
        if len(group) > 1:  # a single run is no error here, only nothing to compare
            found += compare(group, measure, step)
    return to_frame(found)


def to_frame(found: Sequence[Comparison]) -> "pd.DataFrame":
    """Return comparisons as a table, a row each."""
    import pandas as pd

    table = pd.DataFrame([_row(comparison) for comparison in found])
    if len(table):  # so that one that is not given is NaN, among others or not
        table["p_wilcoxon"] = table["p_wilcoxon"].astype(float)
    return table


def _row(c: Comparison) -> dict[str, str | float | None]:
    return {
        "first": c.first,
        "second": c.second,
        "measure": c.measure,
        "step": c.step,
        "seeds": c.one.n_seeds,
        "first_minus_second": c.difference.mean,
        "low": c.difference.low,
        "high": c.difference.high,
        "effect": c.effect,
        "first_wins": c.wins,
        "ties": c.ties,
        "second_wins": c.losses,
        "p_t": c.p_t,
        "p_nadeau_bengio": c.p_corrected,
        "p_holm": c.p_holm,
        "p_wilcoxon": c.p_wilcoxon,
    }


def families(runs: Sequence[Run]) -> list[list[Run]]:
    """Return runs by what is corrected together, in the order of their first ones.

    A family has the methods, and their controls, on the same features with the same
    settings. If that leaves every run alone, as where one method's C was swept, the
    settings of a method are a family.
    """
    # What is asked first is always which method is better.
    by_method = _by_key(runs, _family_key)
    if len(by_method) < len(runs):
        return by_method
    return _by_key(runs, _key_of_settings)


def _by_key(runs: Sequence[Run], key_of: Callable[[Run], Hashable]) -> list[list[Run]]:
    """Return runs by a key that they share, in the order of their first ones."""
    found: dict[Hashable, list[Run]] = {}
    for run in runs:
        found.setdefault(key_of(run), []).append(run)
    return list(found.values())


def _family_key(run: Run) -> FamilyKey:
    """Return what runs share that differ in their methods and controls alone."""
    return FamilyKey(features_of(run), settings_key(run))


def _key_of_settings(run: Run) -> FamilyKey:
    """Return what runs share that differ in nothing but their hyperparameters."""
    others = []
    for key, value in settings_key(run):
        if _kind(key) not in _HYPERPARAMETERS:
            others.append((key, value))
    return FamilyKey(features_of(run), tuple(others), run.info.method, run.info.control)


def settings_key(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the settings of a run that were changed, or are a value of a sweep.

    A sweep's value counts also where it is the method's own: methods whose own values
    differ are compared at the same value of the sweep.
    """
    found = []
    for key, value in sorted({**run.info.changed, **run.info.swept}.items()):
        if declared(key).changes_results and _kind(key) not in _SHARED:
            found.append((key, as_key(value)))
    return tuple(found)


def _kind(key: str) -> str:
    """Return the component that a dotted key is of."""
    kind, _, _ = key.partition(".")
    return kind


def _compare_family(runs: Sequence[Run], measure: str, step: int) -> list[Comparison]:
    """Compare the runs of a family pair by pair, corrected together."""
    if len(runs) <= MOST_IN_PAIRS:
        pairs = list(itertools.combinations(range(len(runs)), 2))
    else:
        pairs = [(0, i) for i in range(1, len(runs))]
    if not pairs:
        return []
    # Comparable runs have the same steps, so one place on the curves is enough.
    at = runs[0].steps.index(step)
    by_seed = [run.values(measure)[at] for run in runs]
    differences = np.array([by_seed[a] - by_seed[b] for a, b in pairs])
    overlap = _overlap(runs[0])
    # All pairs at once: a hundred runs make thousands of pairs.
    p_t = paired_t(differences)
    p_corrected = paired_t(differences, overlap)
    p_holm = holm(p_corrected)
    found = []
    for i, (a, b) in enumerate(pairs):
        row = differences[i]
        found.append(
            Comparison(
                one=runs[a],
                two=runs[b],
                measure=measure,
                step=step,
                difference=mean_difference(row, overlap),
                effect=effect_size(row),
                wins=int((row < 0).sum()),
                ties=int((row == 0).sum()),
                losses=int((row > 0).sum()),
                p_t=float(p_t[i]),
                p_corrected=float(p_corrected[i]),
                p_wilcoxon=wilcoxon(row),
                p_holm=float(p_holm[i]),
            )
        )
    return found


def compare_pair(one: Run, two: Run) -> Comparison:
    """Compare one run with another by the comparison fixed beforehand, by itself."""
    check_comparable([one, two])
    # By itself: whoever makes many of these corrects them together.
    (found,) = _compare_family([one, two], MEASURE, compared_step(one))
    return found


def interaction(first: tuple[Run, Run], second: tuple[Run, Run]) -> Interval:
    """Return by how much a gain differs from another one, seed by seed.

    A gain is that of a run over another: the error of the pair's first run less that of
    its second. Below zero, the first pair gains more.
    """
    check_comparable([*first, *second])
    # Gains are paired by seed as well, so that what a split adds to both cancels.
    i = first[0].steps.index(compared_step(first[0]))
    gains = []
    for one, two in (first, second):
        gains.append(one.values(MEASURE)[i] - two.values(MEASURE)[i])
    return mean_difference(gains[0] - gains[1], _overlap(first[0]))


def compared_step(run: Run) -> int:
    """Return the step of the comparison fixed beforehand, as far as the run goes.

    It must not be chosen by what the curves show, so nothing but their steps counts.
    """
    steps = run.table_steps()
    if STEP in steps:
        return STEP
    return steps[-1]


def _overlap(run: Run) -> float:
    """Return test over training samples of a split: the pool's, not the step's.

    Splits of two seeds share samples, by which differences of seeds resemble each
    other; Nadeau and Bengio's correction asks for this ratio.
    """
    sizes = run.info.samples
    if sizes is None:
        raise UserError(_without_sizes(run))
    return sizes.test / sizes.pool


def _without_sizes(run: Run) -> str:
    return (
        f"{run.folder}: a record of an older version, without its split's sizes: "
        "run it again"
    )


def comparison_key(run: Run) -> ComparisonKey:
    """Return what a run must share with others to be compared with them."""
    return ComparisonKey(
        data=run.info.data.identity,
        protocol=as_key(run.info.config.get("protocol")),
        seeds=run.info.seeds,
        samples=run.info.samples,
        steps=tuple(run.steps),
    )


def comparable(runs: Sequence[Run]) -> list[list[Run]]:
    """Return runs by what they must share, in the order of their first ones."""
    return _by_key(runs, comparison_key)


def check_comparable(runs: Sequence[Run]) -> None:
    """Raise an error unless runs share data, protocol and seeds."""
    if len(runs) < 2:
        raise UserError("a comparison needs two runs or more")
    first = runs[0]
    # Without the sizes nobody knows how much splits overlap.
    if first.info.samples is None:
        raise UserError(_without_sizes(first))
    expected = dataclasses.asdict(comparison_key(first))
    for other in runs[1:]:
        found = dataclasses.asdict(comparison_key(other))
        differing = [what for what in expected if found[what] != expected[what]]
        if differing:
            raise UserError(
                f"{first.info.label} and {other.info.label} cannot be compared seed by "
                f"seed: {', '.join(differing)} differ"
            )
