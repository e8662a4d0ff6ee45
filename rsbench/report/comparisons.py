"""Which runs are compared with which, and what that shows.

Every pair belongs to one family and has one p, corrected after Holm for that family.
Tables, comparisons.csv, sentences and the page all show this p. Families are, for each
data set, measure and step:

(a) methods against their counterparts, on all features and at all settings together;
(b) pairs inside of a track: methods that were told the same;
(c) pairs between a track and methods that were told nothing;
(d) each control against its method; those that make annotations meaningless also
    against the method's counterpart. Every control is a family of its own. (No
    annotations at all are no control here but the counterpart.)

Methods in (b) and (c) have the same settings, but for the method's own. Runs under the
controls of `JUDGED_UNDER` have families (a), (b) and (c) of their own: tuned methods
are compared with tuned ones. Where one method's settings were swept and there is
nothing else to compare, its settings are a family.
"""

import dataclasses
import enum
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rsbench.core.statistics import Estimate, Interval, holm
from rsbench.core.told import Track
from rsbench.errors import UserError
from rsbench.report.labels import (
    Features,
    as_key,
    features_of,
    in_order,
    tracks_among,
)
from rsbench.report.units import estimate_units, units, without_sizes
from rsbench.store.record import Run
from rsbench.store.run_info import CounterpartKind, SplitSizes
from rsbench.store.settings import declared

if TYPE_CHECKING:  # takes half a second to import
    import pandas as pd

#: What methods are judged by, at their judged step.
MEASURE = "cumulative_error"

#: A difference is clear if its p, corrected for its family, is smaller.
ALPHA = 0.05

#: Controls that methods told nothing have as well: methods are judged among those that
#: share it.
JUDGED_UNDER = ("tuned", "fair", "exact")

#: Controls that leave the learner its annotations but none of what they say. Each is
#: compared with the counterpart, too.
MEANINGLESS = ("shuffled", "shuffled_within", "random", "uniform")

#: The control that makes a counterpart explicit.
ABSENT = "absent"

#: With more runs than these, each is compared with the first alone: nobody reads a
#: million pairs.
MOST_IN_PAIRS = 100
_MOST_PAIRS = MOST_IN_PAIRS * (MOST_IN_PAIRS - 1) // 2

#: These cannot tell families apart: methods and controls are what a family consists of,
#: and runs are compared only on data of the same content, wherever they come from.
_SHARED = frozenset({"method", "control", "dataset", "extractor"})

#: Where runs of one method differ in these alone, its settings are what is compared.
#: `theta` is the aggregator's, by another name.
_HYPERPARAMETERS = frozenset({"learner", "aggregator", "tune", "theta"})


class Kind(enum.StrEnum):
    """What the comparisons of a family ask."""

    #: (a) Does a method gain by what it was told?
    COUNTERPART = "counterpart"
    #: (b) Which of the methods told the same is better?
    TRACK = "track"
    #: (c) Is a method told something better than others told nothing?
    NOTHING = "nothing"
    #: (d) What does a control change?
    CONTROL = "control"
    #: Which of a method's settings is better?
    SETTINGS = "settings"


@dataclass(frozen=True)
class Family:
    """Comparisons that are corrected together.

    Parameters
    ----------
    kind : Kind
        What they ask.
    track : Track, optional
        The track, where the family has one.
    control : str, optional
        The control that is asked about, or that all methods are judged under.
    """

    kind: Kind
    track: Track | None = None
    control: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two runs that are compared, and the one family that this belongs to."""

    one: Run
    two: Run
    family: Family


@dataclass(frozen=True)
class Comparison:
    """One run against another, by paired differences: one minus two.

    Parameters
    ----------
    one, two : Run
        The runs.
    family : Family
        What it was corrected with.
    measure : str
        What is compared.
    step : int
        Where on the curves.
    estimate : Estimate
        The mean difference, as a fraction, with the variance that its repeats allow.
    p : float
        Two-sided, corrected for the family after Holm; NaN if it cannot be known.
    of : int
        How many comparisons the family has.
    wins, ties, losses : int
        Seeds in which the first has less error, the same, or more.
    """

    one: Run
    two: Run
    family: Family
    measure: str
    step: int
    estimate: Estimate
    p: float
    of: int
    wins: int
    ties: int
    losses: int

    @property
    def difference(self) -> Interval:
        """The mean difference with its 95 % interval, by itself."""
        return self.estimate.interval()

    @property
    def is_clearly_less(self) -> bool:
        """Whether the first run clearly has less error."""
        return self.p < ALPHA and self.estimate.mean < 0

    @property
    def is_clearly_more(self) -> bool:
        """Whether the first run clearly has more error."""
        return self.p < ALPHA and self.estimate.mean > 0

    @property
    def is_judged(self) -> bool:
        """Whether anything is known of how sure the difference is."""
        return not np.isnan(self.p)

    @property
    def first(self) -> str:
        """How people call the first run."""
        return self.one.info.label

    @property
    def second(self) -> str:
        """How people call the second run."""
        return self.two.info.label


@dataclass(frozen=True)
class ComparisonKey:
    """What runs must share to be compared seed by seed."""

    data: str
    protocol: str
    seeds: tuple[int, ...]
    draws: tuple[int, ...]
    samples: SplitSizes | None
    steps: tuple[int, ...]
    judged_step: int
    margin: float


def compare(
    runs: Sequence[Run], measure: str = MEASURE, step: int | None = None
) -> list[Comparison]:
    """Compare runs and their counterparts, family by family.

    Parameters
    ----------
    runs : sequence of Run
        On the same data under the same protocol, draws and seeds.
    measure : str
        A column of the curves.
    step : int, optional
        Where on the curves; by default the step at which the runs are judged.

    Returns
    -------
    list of Comparison
        All pairs of all families; none of losses on scales that differ.

    Raises
    ------
    UserError
        If the runs cannot be paired, or there is nothing to pair.
    """
    check_comparable(runs)
    if step is None:
        step = runs[0].judged_step
    if step not in runs[0].steps:
        raise UserError(
            f"{runs[0].info.label} has no step {step}: its curves go from "
            f"{runs[0].steps[0]} to {runs[0].steps[-1]} {runs[0].info.unit}"
        )
    everything = [*runs, *shuffled_beside(runs)]
    return compare_pairs(pairs_among(everything, counterparts(runs)), measure, step)


def compare_pairs(pairs: Sequence[Pair], measure: str, step: int) -> list[Comparison]:
    """Return the comparisons of pairs, in their order, corrected by families.

    Parameters
    ----------
    pairs : sequence of Pair
        As `pairs_among` has them.
    measure : str
        A column of the curves. Of losses, pairs on scales that differ are left out.
    step : int
        Where on the curves.
    """
    if measure.endswith("_loss"):
        pairs = [pair for pair in pairs if _have_like_scores(pair)]
    by_unit: dict[Run, np.ndarray] = {}
    estimates = []
    for pair in pairs:
        for run in (pair.one, pair.two):
            if run not in by_unit:
                by_unit[run] = units(run, measure, step)
        first = by_unit[pair.one]
        second = by_unit[pair.two]
        estimates.append(estimate_units(pair.one, first, second, measure, step))
    ps = [each.p() for each in estimates]
    corrected, sizes = _correct(pairs, ps)
    found = []
    for i, pair in enumerate(pairs):
        by_seed = _at(pair.one, measure, step) - _at(pair.two, measure, step)
        found.append(
            Comparison(
                one=pair.one,
                two=pair.two,
                family=pair.family,
                measure=measure,
                step=step,
                estimate=estimates[i],
                p=corrected[i],
                of=sizes[i],
                wins=int((by_seed < 0).sum()),
                ties=int((by_seed == 0).sum()),
                losses=int((by_seed > 0).sum()),
            )
        )
    return found


def _have_like_scores(pair: Pair) -> bool:
    """Tell whether the losses of a pair mean the same."""
    scale = pair.one.info.score_scale
    return bool(scale) and scale == pair.two.info.score_scale


def _correct(
    pairs: Sequence[Pair], ps: Sequence[float]
) -> tuple[list[float], list[int]]:
    """Return each p corrected for its family, and how many the family has."""
    places: dict[Family, list[int]] = {}
    for i, pair in enumerate(pairs):
        places.setdefault(pair.family, []).append(i)
    corrected = [float("nan")] * len(ps)
    sizes = [0] * len(ps)
    for members in places.values():
        together = holm([ps[i] for i in members])
        for i, p in zip(members, together, strict=True):
            corrected[i] = p
            sizes[i] = len(members)
    return corrected, sizes


def _at(run: Run, measure: str, step: int) -> np.ndarray:
    """Return a measure after a step, by draw and seed."""
    return run.values(measure)[run.steps.index(step)]


def pairs_among(runs: Sequence[Run], own: dict[Run, Run]) -> list[Pair]:
    """Return all pairs that are compared, each once.

    Parameters
    ----------
    runs : sequence of Run
        Runs that can be compared with each other.
    own : dict of Run
        Their counterparts, as `counterparts` finds them.
    """
    found: dict[frozenset[Run], Pair] = {}
    for under in (None, *JUDGED_UNDER):
        judged = [run for run in runs if run.info.control == under]
        _add(found, _with_counterparts(judged, own, under))
        for members in by_settings(judged):
            _add(found, _inside_tracks(members, under))
            _add(found, _with_nothing(members, own, under))
    _add(found, _with_controls(runs, own))
    # What is asked first is always which method is better. Shuffled annotations come
    # with every method, and are no other method.
    real = [run for run in runs if run.info.control not in MEANINGLESS]
    if all(_is_of_one_method(members) for members in by_settings(real)):
        _add(found, _between_settings(real))
    return list(found.values())


def _add(found: dict[frozenset[Run], Pair], pairs: Iterable[Pair]) -> None:
    """Take pairs over, unless an earlier family has them."""
    for pair in pairs:
        if pair.one is not pair.two:
            found.setdefault(frozenset((pair.one, pair.two)), pair)


def _with_counterparts(
    runs: Sequence[Run], own: dict[Run, Run], under: str | None
) -> Iterator[Pair]:
    for run in runs:
        if run in own:
            yield Pair(run, own[run], Family(Kind.COUNTERPART, control=under))


def _inside_tracks(runs: Sequence[Run], under: str | None) -> Iterator[Pair]:
    for track in tracks_among(runs):
        members = [run for run in runs if run.info.track == track]
        family = Family(Kind.TRACK, track, under)
        for one, two in _all_pairs(members):
            yield Pair(one, two, family)


def _with_nothing(
    runs: Sequence[Run], own: dict[Run, Run], under: str | None
) -> Iterator[Pair]:
    """Pair runs of each track with those told nothing, and with counterparts."""
    nothing = nothing_among(runs, own)
    for track in tracks_among(runs):
        if track.is_nothing:
            continue
        members = [run for run in runs if run.info.track == track]
        against = nothing
        if len(members) * len(nothing) > _MOST_PAIRS:
            against = nothing[:1]
        for one in members:
            for two in against:
                yield Pair(one, two, Family(Kind.NOTHING, track, under))


def _with_controls(runs: Sequence[Run], own: dict[Run, Run]) -> Iterator[Pair]:
    """Pair each control with its method, and some with the method's counterpart."""
    plain = [run for run in runs if run.info.control is None]
    for run in runs:
        method = method_itself(run, plain)
        # What a method gains over no annotations is asked in (a).
        if method is None or run.info.control == ABSENT:
            continue
        family = Family(Kind.CONTROL, control=run.info.control)
        yield Pair(run, method, family)
        if run.info.control in MEANINGLESS and method in own:
            yield Pair(run, own[method], family)


def _between_settings(runs: Sequence[Run]) -> Iterator[Pair]:
    for members in _by_key(runs, _key_of_settings):
        for one, two in _all_pairs(members):
            yield Pair(one, two, Family(Kind.SETTINGS))


def _is_of_one_method(runs: Sequence[Run]) -> bool:
    return len({run.info.variant for run in runs}) == 1


def _all_pairs(runs: Sequence[Run]) -> Iterable[tuple[Run, Run]]:
    if len(runs) <= MOST_IN_PAIRS:
        return itertools.combinations(runs, 2)
    return [(runs[0], run) for run in runs[1:]]


def counterparts(runs: Sequence[Run]) -> dict[Run, Run]:
    """Return the counterpart of each run that has one.

    A run of the sweep that computes the same is the counterpart itself. Others come
    with the records of their methods; methods that share one share it here, too. Where
    none was kept, the control without annotations takes its place.
    """
    in_sweep: dict[str, list[Run]] = {}
    for run in runs:
        in_sweep.setdefault(run.info.fingerprint, []).append(run)
    brought: dict[str, Run] = {}
    found = {}
    for run in runs:
        about = run.info.counterpart
        if about is None:
            continue
        if about.fingerprint in in_sweep:
            found[run] = _nearest(run, in_sweep[about.fingerprint])
        elif run.counterpart is not None:
            if about.fingerprint not in brought:
                brought[about.fingerprint] = _named(run, run.counterpart)
            found[run] = brought[about.fingerprint]
    for run in runs:
        if run.info.control == ABSENT:
            method = method_itself(run, runs)
            if method is not None:
                found.setdefault(method, run)
    return found


def shuffled_beside(runs: Sequence[Run]) -> list[Run]:
    """Return the controls with shuffled annotations that came with their methods.

    Of a method that the sweep runs under this control, the sweep's own is taken.
    """
    in_sweep = {run.info.fingerprint for run in runs}
    found = []
    for run in runs:
        other = run.shuffled
        if other is not None and other.info.fingerprint not in in_sweep:
            found.append(other)
    return found


def _nearest(run: Run, same: Sequence[Run]) -> Run:
    """Return the one with the run's settings, of runs that compute the same."""
    # Where votes are swept, what learns without them is there once for each value.
    for other in same:
        if settings_key(other) == settings_key(run):
            return other
    return same[0]


def _named(run: Run, counterpart: Run) -> Run:
    """Return a run's counterpart under a name that tells it from other runs."""
    about = run.info.counterpart
    if about is None or about.kind is CounterpartKind.ITSELF:
        label = f"{run.info.label} without annotations"
    else:
        words = [about.name]
        if run.info.features != "none":
            words.append(run.info.features)
        for key, value in run.info.changed.items():
            words.append(f"{key}={value}")
        label = " ".join(words)
    info = dataclasses.replace(counterpart.info, label=label)
    return dataclasses.replace(counterpart, info=info)


def nothing_among(runs: Sequence[Run], own: dict[Run, Run]) -> list[Run]:
    """Return what is told nothing: runs of the sweep, and counterparts."""
    found = [run for run in runs if run.info.track.is_nothing]
    for run in runs:
        # That of a method told of the background is still told of it.
        if run in own and own[run].info.track.is_nothing:
            found.append(own[run])
    return in_order(found)


def method_itself(run: Run, plain: Sequence[Run]) -> Run | None:
    """Return the run that this one is a control of, if it is there."""
    if run.info.control is None:
        return None
    for other in plain:
        same_method = other.info.method == run.info.control_of
        same_features = features_of(other) == features_of(run)
        if same_method and same_features and settings_key(other) == settings_key(run):
            return other
    return None


def by_settings(runs: Sequence[Run]) -> list[list[Run]]:
    """Return runs that differ in methods, controls and features alone, together."""
    return _by_key(runs, settings_key)


def _by_key(runs: Sequence[Run], key_of: Callable[[Run], Hashable]) -> list[list[Run]]:
    """Return runs by a key that they share, in the order of their first ones."""
    found: dict[Hashable, list[Run]] = {}
    for run in runs:
        found.setdefault(key_of(run), []).append(run)
    return list(found.values())


@dataclass(frozen=True)
class _OneMethod:
    """What runs share that differ in nothing but a method's own settings."""

    method: str
    control: str | None
    features: Features
    others: tuple[tuple[str, str], ...]


def _key_of_settings(run: Run) -> _OneMethod:
    others = []
    for key, value in settings_key(run):
        if _component(key) not in _HYPERPARAMETERS:
            others.append((key, value))
    info = run.info
    return _OneMethod(info.method, info.control, features_of(run), tuple(others))


def settings_key(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the settings of a run that were changed, or are a value of a sweep.

    A sweep's value counts also where it is the method's own: methods whose own values
    differ are compared at the same value of the sweep.
    """
    found = []
    for key, value in sorted({**run.info.changed, **run.info.swept}.items()):
        # Another learner is another method; a parameter of it is a setting.
        is_method = key in ("learner", "aggregator")
        if is_method or _component(key) in _SHARED:
            continue
        if declared(key).changes_results:
            found.append((key, as_key(value)))
    return tuple(found)


def _component(key: str) -> str:
    """Return the component that a dotted key is of."""
    component, _, _ = key.partition(".")
    return component


def comparison_frame(
    runs: Sequence[Run], measure: str = MEASURE, step: int | None = None
) -> "pd.DataFrame":
    """Return all comparisons as a table, of whatever runs can be compared.

    Parameters are those of `compare`.

    Returns
    -------
    DataFrame
        A row for each pair, with the columns of comparisons.csv. Differences of errors
        are fractions; a p that cannot be given is NaN.
    """
    found = []
    for group in comparable(runs):
        # A single run is no error here, only nothing to compare.
        if len(group) > 1 or counterparts(group):
            found += compare(group, measure, step)
    return to_frame(found)


def to_frame(found: Sequence[Comparison]) -> "pd.DataFrame":
    """Return comparisons as a table, a row each."""
    import pandas as pd

    return pd.DataFrame([to_row(comparison) for comparison in found])


def to_row(c: Comparison) -> dict[str, str | float | None]:
    """Return a comparison as a row of comparisons.csv."""
    track = None
    if c.family.track is not None:
        track = c.family.track.text
    return {
        "first": c.first,
        "second": c.second,
        "family": c.family.kind.value,
        "track": track,
        "control": c.family.control,
        "measure": c.measure,
        "step": c.step,
        "draws": c.one.n_draws,
        "seeds": c.one.n_seeds,
        "first_minus_second": c.estimate.mean,
        "low": c.difference.low,
        "high": c.difference.high,
        "variance": c.estimate.variance,
        "df": c.estimate.df,
        "first_wins": c.wins,
        "ties": c.ties,
        "second_wins": c.losses,
        "p": c.p,
        "corrected_for": c.of,
    }


def comparison_key(run: Run) -> ComparisonKey:
    """Return what a run must share with others to be compared with them."""
    return ComparisonKey(
        data=run.info.data.identity,
        protocol=as_key(run.info.config.get("protocol")),
        seeds=run.info.seeds,
        draws=run.info.draws,
        samples=run.info.samples,
        steps=tuple(run.steps),
        judged_step=run.judged_step,
        margin=run.info.margin,
    )


def comparable(runs: Sequence[Run]) -> list[list[Run]]:
    """Return runs by what they must share, in the order of their first ones."""
    return _by_key(runs, comparison_key)


def check_comparable(runs: Sequence[Run]) -> None:
    """Raise an error unless runs share data, protocol, draws and seeds."""
    if not counterparts(runs) and len(runs) < 2:
        raise UserError("a comparison needs two runs or more")
    first = runs[0]
    # Without the sizes nobody knows how much splits overlap.
    if first.info.samples is None:
        raise UserError(without_sizes(first))
    expected = dataclasses.asdict(comparison_key(first))
    for other in runs[1:]:
        found = dataclasses.asdict(comparison_key(other))
        differing = [what for what in expected if found[what] != expected[what]]
        if differing:
            raise UserError(
                f"{first.info.label} and {other.info.label} cannot be compared seed by "
                f"seed: {', '.join(differing)} differ"
            )
