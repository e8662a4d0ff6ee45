"""Paired statistics: how sure can one be that one method is better than another?

Methods are compared seed by seed, since within a seed they see the same split and the same order. One comparison
is fixed beforehand: cumulative error at 20 samples per class (or the last step of the table), all pairs of
methods that share features and all other settings, corrected together after Holm.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.errors import UserError
from rsbench.store.record import Run

#: The comparison fixed beforehand.
MEASURE, STEP = "cumulative_error", 20

#: From so many seeds on a bootstrap interval is given; with 5 it covers 84 % where it says 95 %.
ENOUGH_TO_BOOTSTRAP = 20

#: Fewer pairs than these cannot make Wilcoxon's p fall below 0.05, whatever they show.
ENOUGH_FOR_WILCOXON = 6

#: With more runs than these, each is compared with the first alone: nobody reads a million pairs.
MOST_IN_PAIRS = 100

WHY_CORRECTED = (
    "Seeds draw their splits from the same samples, so the plain paired t test is too sure; Nadeau and Bengio's "
    "correction widens it by the ratio of test to training samples."
)


@dataclass(frozen=True)
class Interval:
    """A mean and where it lies with the given confidence."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Needed:
    """Samples needed to reach an error: over the seeds, or which of them never did."""

    reached: int
    seeds: int
    samples: Interval | None


@dataclass(frozen=True)
class Comparison:
    """One method against another, by their differences seed by seed (first minus second)."""

    one: Run
    two: Run
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
        return self.one.info["label"]

    @property
    def second(self) -> str:
        return self.two.info["label"]


def t_interval(
    values: Sequence[float] | np.ndarray, level: float = 0.95, overlap: float = 0.0
) -> Interval:
    """The mean with Student's interval; without end for a single value. `overlap` as in `paired_t`."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return Interval(float(values.mean()), -np.inf, np.inf)
    n = len(values)
    half = critical_t(level, n) * values.std(ddof=1) * np.sqrt(1 / n + overlap)
    return Interval(
        float(values.mean()), float(values.mean() - half), float(values.mean() + half)
    )


@functools.cache
def critical_t(level: float, n: int) -> float:
    """Student's t that n values exceed, either way, with probability 1 - level."""
    from scipy.special import stdtrit  # scipy.stats takes long to import

    return float(stdtrit(n - 1, (1 + level) / 2))


def bootstrap_interval(
    values: Sequence[float] | np.ndarray, level: float = 0.95, seed: int = 0
) -> Interval:
    """The mean with a bootstrap interval (BCa); refused for few values, for which it promises too much."""
    from scipy import stats

    values = np.asarray(values, float)
    if len(values) < ENOUGH_TO_BOOTSTRAP:
        raise UserError(
            f"a bootstrap interval of {len(values)} seeds covers less than it says (with 5, 84 % in place of 95 %): "
            f"take the t interval, or {ENOUGH_TO_BOOTSTRAP} seeds"
        )
    if np.ptp(values) == 0:
        return Interval(float(values[0]), float(values[0]), float(values[0]))
    found = stats.bootstrap(
        (values,), np.mean, confidence_level=level, random_state=seed, method="BCa"
    )
    return Interval(
        float(values.mean()),
        float(found.confidence_interval.low),
        float(found.confidence_interval.high),
    )


def paired_t(differences: np.ndarray, overlap: float = 0.0) -> Any:
    """Two-sided p of the mean difference being zero; `overlap` is n_test / n_train, 0 for independent repeats.

    Of one row of differences, or of many at once. Nadeau & Bengio (2003): the variance of the mean is
    s² (1/n + n_test/n_train), not s²/n. Without any spread there is nothing to judge a difference by: NaN.
    """
    from scipy.special import stdtr

    n, mean = differences.shape[-1], differences.mean(axis=-1)
    if n < 2:
        return np.full(mean.shape, np.nan)[()]
    deviation = differences.std(axis=-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / (deviation * np.sqrt(1 / n + overlap))
    none = np.where(mean == 0, 1.0, np.nan)
    return np.where(_has_spread(differences), 2 * stdtr(n - 1, -abs(t)), none)[()]


def _has_spread(differences: np.ndarray) -> np.ndarray:
    """Whether differences vary by more than rounding."""
    return np.ptp(differences, axis=-1) > 1e-9


def wilcoxon(differences: np.ndarray) -> float | None:
    """Wilcoxon's signed-rank p; None where so few pairs could never be significant."""
    if len(differences) < ENOUGH_FOR_WILCOXON or not differences.any():
        return None
    from scipy import stats

    return float(stats.wilcoxon(differences).pvalue)


def holm(ps: Sequence[float]) -> list[float]:
    """p values corrected after Holm for being looked at together; one that is unknown counts, and stays unknown."""
    known = np.nan_to_num(np.asarray(ps, float), nan=1.0)
    corrected, largest = np.empty(len(known)), 0.0
    for rank, i in enumerate(np.argsort(known, kind="stable")):
        largest = max(largest, min(1.0, (len(known) - rank) * known[i]))
        corrected[i] = largest
    return np.where(np.isnan(ps), np.nan, corrected).tolist() if len(known) else []


def samples_needed(run: Run, error: float) -> list[float | None]:
    """For each seed the samples per class at which the test error first falls to `error`; None where it never does."""
    found: list[float | None] = []
    for curve in run.values("test_error").T:
        below = np.flatnonzero(curve <= error)
        found.append(float(run.steps[below[0]]) if len(below) else None)
    return found


def area_under_curve(run: Run, measure: str = "test_error") -> np.ndarray:
    """For each seed the mean height of its curve between the first and the last step."""
    if len(run.steps) == 1:
        return run.values(measure)[0]
    return np.trapezoid(run.values(measure), run.steps, axis=0) / (
        run.steps[-1] - run.steps[0]
    )


def needed(run: Run, error: float) -> Needed:
    """Samples needed to reach an error, with an interval if all seeds reached it."""
    found = samples_needed(run, error)
    reached = [n for n in found if n is not None]
    return Needed(
        len(reached),
        len(found),
        t_interval(reached) if len(reached) == len(found) else None,
    )


def levels(runs: Sequence[Run], most: int = 4) -> list[float]:
    """Round errors that tell runs apart: from where the best one ends to where the worst one begins."""
    low = min(float(run.mean("test_error")[-1]) for run in runs)
    high = max(float(run.mean("test_error")[0]) for run in runs)
    for spacing in (0.05, 0.1, 0.2):
        found = [
            round(k * spacing, 2)
            for k in range(1, round(1 / spacing))
            if low <= k * spacing < high
        ]
        if len(found) <= most:
            break
    return found[:most][::-1]


def compare(
    runs: Sequence[Run], measure: str = MEASURE, step: int | None = None
) -> list[Comparison]:
    """All pairs of methods that share everything else, corrected together; runs that cannot be paired are refused."""
    check_comparable(runs)
    step = step or compared_step(runs[0])
    return [
        comparison
        for family in families(runs)
        for comparison in _compare_family(family, measure, step)
    ]


def families(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of different methods on the same features with the same settings: what a label says beside the method."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.info["label"].removeprefix(run.info["method"]), []).append(
            run
        )
    return list(found.values())


def _compare_family(runs: list[Run], measure: str, step: int) -> list[Comparison]:
    every = itertools.combinations(range(len(runs)), 2)
    pairs = (
        list(every)
        if len(runs) <= MOST_IN_PAIRS
        else [(0, i) for i in range(1, len(runs))]
    )
    if not pairs:
        return []
    values = np.array([run.values(measure)[run.steps.index(step)] for run in runs])
    differences = np.array([values[a] - values[b] for a, b in pairs])
    overlap = _overlap(runs[0])
    p_t, p_corrected = paired_t(differences), paired_t(differences, overlap)
    p_holm = holm(p_corrected)
    return [
        _comparison(runs[a], runs[b], row, overlap, (p_t[i], p_corrected[i], p_holm[i]))
        for i, ((a, b), row) in enumerate(zip(pairs, differences, strict=True))
    ]


def compare_pair(one: Run, two: Run) -> Comparison:
    """One run against another by the comparison fixed beforehand, by itself."""
    check_comparable([one, two])
    return _compare_family([one, two], MEASURE, compared_step(one))[0]


def interaction(gains: Sequence[tuple[Run, Run]]) -> Interval:
    """How much a gain (of a run over another) differs between two such pairs, seed by seed."""
    check_comparable([run for pair in gains for run in pair])
    i = gains[0][0].steps.index(compared_step(gains[0][0]))
    first, second = (
        one.values(MEASURE)[i] - two.values(MEASURE)[i] for one, two in gains
    )
    return _difference(first - second, _overlap(gains[0][0]))


def compared_step(run: Run) -> int:
    """The step of the comparison fixed beforehand, as far as the run goes."""
    return STEP if STEP in run.table_steps() else run.table_steps()[-1]


def _comparison(
    one: Run,
    two: Run,
    differences: np.ndarray,
    overlap: float,
    ps: tuple[float, float, float],
) -> Comparison:
    deviation = differences.std(ddof=1) if _has_spread(differences) else 0.0
    return Comparison(
        one=one,
        two=two,
        difference=_difference(differences, overlap),
        effect=float(differences.mean() / deviation) if deviation > 0 else float("nan"),
        wins=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences > 0).sum()),
        p_t=float(ps[0]),
        p_corrected=float(ps[1]),
        p_wilcoxon=wilcoxon(differences),
        p_holm=float(ps[2]),
    )


def _difference(differences: np.ndarray, overlap: float) -> Interval:
    """The mean difference; where it lies is unknown if all are the same, unless they are nothing."""
    mean = float(differences.mean())
    if len(differences) > 1 and not _has_spread(differences):
        return (
            Interval(mean, mean, mean) if mean == 0 else Interval(mean, -np.inf, np.inf)
        )
    return t_interval(differences, overlap=overlap)


def _overlap(run: Run) -> float:
    """Test over training samples of a split: the pool's, not the step's."""
    sizes = run.info["samples"]
    return sizes["test"] / sizes["pool"]


def comparison_key(run: Run) -> dict[str, Any]:
    """What runs must share to be compared seed by seed."""
    return {
        "data": run.info["data"]["identity"],
        "protocol": run.info["config"].get("protocol"),
        "seeds": run.info["seeds"],
        "samples": run.info.get("samples"),
        "steps": run.steps,
    }


def check_comparable(runs: Sequence[Run]) -> None:
    """Raise an error unless runs share data, protocol and seeds, so that they can be compared seed by seed."""
    if len(runs) < 2:
        raise UserError("a comparison needs two runs or more")
    first = runs[0]
    if first.info.get("samples") is None:
        raise UserError(
            f"{first.folder}: a record of an older version, without its split's sizes: run it again"
        )
    expected = comparison_key(first)
    for other in runs[1:]:
        found = comparison_key(other)
        differing = [what for what in expected if found[what] != expected[what]]
        if differing:
            pair = f"{first.info['label']} and {other.info['label']}"
            raise UserError(
                f"{pair} cannot be compared seed by seed: {', '.join(differing)} differ"
            )
