"""What runs show, as types: verdicts on methods and tracks, ranks, controls, worth.

Nothing here is text. Sentences, tables and the page are made from these, and so are
simulations of how often a verdict is wrong.
"""

import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.core.statistics import Estimate, is_equivalent, ranks
from rsbench.core.told import Told, Track
from rsbench.core.worth import Worth, worth
from rsbench.errors import is_number
from rsbench.report.comparisons import (
    ALPHA,
    JUDGED_UNDER,
    MEASURE,
    MOST_IN_PAIRS,
    Comparison,
    by_settings,
    check_comparable,
    compare_pairs,
    counterparts,
    method_itself,
    nothing_among,
    pairs_among,
    shuffled_beside,
)
from rsbench.report.labels import flatten, tracks_among
from rsbench.report.units import estimator, units
from rsbench.store.record import Run
from rsbench.store.run_info import CounterpartKind

#: Worth is asked at these numbers of samples, and at ten and a hundred times as many.
_ASKED_AT = (1, 2, 5)


#: Of so many methods, the first ones, worth is computed.
_MOST_WORTHS = 100


class Verdict(enum.Enum):
    """What a comparison with less supervision shows."""

    #: Clearly better; of a method, also than with shuffled annotations.
    HELPS = "helps"
    #: Clearly better than without annotations; shuffled ones were not tried, or leave
    #: it open.
    BETTER = "better"
    HARMS = "harms"
    #: Surely within the margin that was set before the run.
    EQUIVALENT = "equivalent"
    UNCLEAR = "unclear"
    #: Clearly better than without annotations; but with shuffled ones it surely is as
    #: good, or clearly better than without annotations as well.
    AS_SHUFFLED = "as shuffled"
    #: There is nothing to compare with, or no telling how sure a difference is.
    NOT_JUDGED = "not judged"


#: Clearly better than without annotations.
GAINS = (Verdict.HELPS, Verdict.BETTER, Verdict.AS_SHUFFLED)


@dataclass(frozen=True)
class MethodClaim:
    """A method against its counterpart, and against itself with shuffled annotations.

    Parameters
    ----------
    run : Run
        The method, told something.
    counterpart : Run, optional
        What it is compared with; None where it was not run.
    verdict : Verdict
        What its annotations do, by cumulative error at the judged step.
    difference : Comparison, optional
        The method less its counterpart, of family (a).
    test_error : Comparison, optional
        The same pair by test error at that step.
    shuffled : Comparison, optional
        Itself with shuffled annotations less the method, of family (d); None where
        that control was not run.
    asks_worth : bool
        Whether its worth is computed when somebody asks.
    """

    run: Run
    counterpart: Run | None
    verdict: Verdict
    difference: Comparison | None = None
    test_error: Comparison | None = None
    shuffled: Comparison | None = None
    asks_worth: bool = True

    @property
    def stand_in(self) -> str | None:
        """The other method that is its counterpart, with the control both are under.

        None where the counterpart is the method itself.
        """
        about = self.run.info.counterpart
        if about is None or self.kind is CounterpartKind.ITSELF:
            return None
        if self.run.info.control in JUDGED_UNDER:
            return f"{about.name} ({self.run.info.control})"
        return about.name

    @property
    def kind(self) -> CounterpartKind:
        """How its counterpart relates to it."""
        about = self.run.info.counterpart
        if about is None:  # a run of the sweep without annotations, perhaps
            return CounterpartKind.ITSELF
        return about.kind

    @property
    def is_within_margin(self) -> bool:
        """Whether the difference is surely smaller than the margin, clear or not."""
        if self.difference is None:
            return False
        return is_equivalent(self.difference.estimate, self.run.info.margin)

    @functools.cached_property
    def worths(self) -> list[Worth]:
        """What an annotated sample is worth, at 1, 2, 5, 10 … samples."""
        if self.counterpart is None or not self.asks_worth:
            return []
        return worths(self.run, self.counterpart)

    @property
    def annotated(self) -> float:
        """The share of samples that somebody annotated, for which they are paid."""
        return self.run.info.given.get("annotated", 1.0)

    def price(self, worth: Worth) -> float:
        """Return the break-even price of an annotation, in labels."""
        return worth.price / self.annotated

    @property
    def worth(self) -> Worth | None:
        """The last of these, for which as many samples again are left."""
        if not self.worths:
            return None
        return self.worths[-1]


@dataclass(frozen=True)
class TrackClaim:
    """The best method of a track against the best that was told nothing.

    Parameters
    ----------
    best, nothing : Run
        Those of the lowest cumulative error at the judged step.
    verdict : Verdict
        What being told the track's share does for the best method.
    difference : Comparison
        The best of the track less the best told nothing: of family (c), or of (a) where
        they are a method and its counterpart.
    test_error : Comparison, optional
        The same pair by test error at that step.
    """

    best: Run
    nothing: Run
    verdict: Verdict
    difference: Comparison
    test_error: Comparison | None = None

    @property
    def track(self) -> Track:
        """What the best method was told."""
        return self.best.info.track


@dataclass(frozen=True)
class ControlClaim:
    """A control of a method, against the method and its counterpart.

    Parameters
    ----------
    run, method : Run
        The method under the control, and the method itself.
    to_itself : Comparison
        The control less the method.
    to_counterpart : Comparison, optional
        The control less the method's counterpart, for controls that make annotations
        meaningless.
    """

    run: Run
    method: Run
    to_itself: Comparison
    to_counterpart: Comparison | None = None


@dataclass(frozen=True)
class Claims:
    """All that runs show.

    Parameters
    ----------
    comparisons : list of Comparison
        All pairs, by cumulative error at the judged step.
    methods : list of MethodClaim
        One for each run that was told something, but for controls that answer another
        question.
    tracks : list of TrackClaim
        One for each track, where no settings were swept; those of tuned methods and
        others that are judged by themselves come last.
    controls : list of ControlClaim
        One for each run that is a control of another one.
    ranks : dict
        By run, the first and last place that it may have in its track.
    """

    comparisons: list[Comparison]
    methods: list[MethodClaim]
    tracks: list[TrackClaim]
    controls: list[ControlClaim]
    ranks: dict[Run, tuple[int, int]]

    def of(self, run: Run) -> MethodClaim | None:
        """Return what is said of a run's annotations, if anything is."""
        return self._by_run.get(run)

    @functools.cached_property
    def _by_run(self) -> dict[Run, MethodClaim]:
        return {claim.run: claim for claim in self.methods}


#: Comparisons by their runs, the first one first; a run that is missing has none.
_Found = dict[tuple[Run | None, Run | None], Comparison]


def claims(runs: Sequence[Run]) -> Claims:
    """Return what runs show that can be compared with each other.

    Parameters
    ----------
    runs : sequence of Run
        On the same data under the same protocol, draws and seeds.

    Raises
    ------
    UserError
        If they cannot be paired, or there is nothing to pair.
    """
    check_comparable(runs)
    own = counterparts(runs)
    everything = [*runs, *shuffled_beside(runs)]
    pairs = pairs_among(everything, own)
    step = runs[0].judged_step
    judged = compare_pairs(pairs, MEASURE, step)
    errors = _by_pair(judged)
    test_errors = _by_pair(compare_pairs(pairs, "test_error", step))
    tracks: list[TrackClaim] = []
    settings = by_settings(runs)
    # Which value of a swept setting would be the method?
    if len(settings) == 1:
        tracks = _track_claims(runs, own, errors, test_errors)
    return Claims(
        comparisons=judged,
        methods=_method_claims(everything, own, errors, test_errors),
        tracks=tracks,
        controls=_control_claims(runs, own, errors),
        ranks=_ranks(settings, errors),
    )


def _by_pair(comparisons: Sequence[Comparison]) -> _Found:
    return {(found.one, found.two): found for found in comparisons}


def judge(estimate: Estimate, p: float, margin: float) -> Verdict:
    """Return what a difference to less supervision shows by itself.

    Parameters
    ----------
    estimate : Estimate
        The difference in error.
    p : float
        Corrected for its family; NaN if nobody knows.
    margin : float
        Differences within it count as none.
    """
    if np.isnan(p):
        return Verdict.NOT_JUDGED
    if p < ALPHA:
        if estimate.mean < 0:
            return Verdict.HELPS
        return Verdict.HARMS
    if is_equivalent(estimate, margin):
        return Verdict.EQUIVALENT
    return Verdict.UNCLEAR


def _method_claims(
    runs: Sequence[Run], own: dict[Run, Run], errors: _Found, test_errors: _Found
) -> list[MethodClaim]:
    shuffled = {}
    for run in runs:
        method = method_itself(run, runs)
        if method is not None and run.info.control == "shuffled":
            shuffled[method] = run
    found: list[MethodClaim] = []
    for run in runs:
        answers_another_question = run.info.control not in (None, *JUDGED_UNDER)
        if run.info.told is Told.NOTHING or answers_another_question:
            continue
        counterpart = own.get(run)
        pair = (run, counterpart)
        gain = errors.get(pair)
        against_shuffled = errors.get((shuffled.get(run), run))
        verdict = Verdict.NOT_JUDGED
        if gain is not None:
            verdict = judge(gain.estimate, gain.p, run.info.margin)
        if verdict is Verdict.HELPS:
            control = shuffled.get(run)
            also_gains = errors.get((control, counterpart))
            margin = run.info.margin
            verdict = _beside_shuffled(against_shuffled, also_gains, margin)
        found.append(
            MethodClaim(
                run,
                counterpart,
                verdict,
                gain,
                test_errors.get(pair),
                against_shuffled,
                # A worth takes a hundredth of a second, and nobody reads a thousand.
                asks_worth=len(found) < _MOST_WORTHS,
            )
        )
    return found


def _beside_shuffled(
    shuffled: Comparison | None, also_gains: Comparison | None, margin: float
) -> Verdict:
    """Return the verdict on a clear gain: shuffled annotations may do as well.

    Parameters
    ----------
    shuffled, also_gains : Comparison or None
        The method with shuffled annotations less the method itself, and less the
        method's counterpart.
    margin : float
        Differences within it count as none.
    """
    if shuffled is None:
        return Verdict.BETTER
    if shuffled.is_clearly_more:
        return Verdict.HELPS
    # That a test fails does not show that shuffled ones do as well.
    if is_equivalent(shuffled.estimate, margin):
        return Verdict.AS_SHUFFLED
    if also_gains is not None and also_gains.is_clearly_less:
        return Verdict.AS_SHUFFLED
    return Verdict.BETTER


def _track_claims(
    runs: Sequence[Run], own: dict[Run, Run], errors: _Found, test_errors: _Found
) -> list[TrackClaim]:
    found = []
    for under in (None, *JUDGED_UNDER):
        judged = [run for run in runs if run.info.control == under]
        nothing = nothing_among(judged, own)
        for track in tracks_among(judged):
            told = [run for run in judged if run.info.track == track]
            if track.is_nothing or not nothing:
                continue
            pair = (min(told, key=error_of), min(nothing, key=error_of))
            # With very many runs, not every pair is compared.
            if pair in errors:
                difference = errors[pair]
                margin = pair[0].info.margin
                verdict = judge(difference.estimate, difference.p, margin)
                tested = test_errors.get(pair)
                found.append(TrackClaim(*pair, verdict, difference, tested))
    return found


def _control_claims(
    runs: Sequence[Run], own: dict[Run, Run], errors: _Found
) -> list[ControlClaim]:
    plain = [run for run in runs if run.info.control is None]
    found = []
    for run in runs:
        method = method_itself(run, plain)
        # A control that is the method's counterpart is compared with it as such.
        if method is not None and (run, method) in errors:
            to_itself = errors[run, method]
            to_counterpart = errors.get((run, own.get(method)))
            found.append(ControlClaim(run, method, to_itself, to_counterpart))
    return found


def _ranks(
    settings: Sequence[Sequence[Run]], errors: _Found
) -> dict[Run, tuple[int, int]]:
    """Return the places that runs may have among those told the same."""
    found: dict[Run, tuple[int, int]] = {}
    for members in settings:
        for under in (None, *JUDGED_UNDER):
            judged = [run for run in members if run.info.control == under]
            for track in tracks_among(judged):
                told = [run for run in judged if run.info.track == track]
                found |= _ranks_in(told, errors)
    return found


def _ranks_in(runs: Sequence[Run], errors: _Found) -> dict[Run, tuple[int, int]]:
    """Return the places of runs of one track; none where one is not to be judged."""
    if not 1 < len(runs) <= MOST_IN_PAIRS:
        return {}
    p = np.full((len(runs), len(runs)), np.nan)
    mean = np.zeros((len(runs), len(runs)))
    for i, one in enumerate(runs):
        for j, two in enumerate(runs):
            found = errors.get((one, two))
            if found is not None:
                p[i, j] = p[j, i] = found.p
                mean[i, j] = found.estimate.mean
                mean[j, i] = -found.estimate.mean
    np.fill_diagonal(p, 1)
    if np.isnan(p).any():
        return {}
    return dict(zip(runs, ranks(p, mean), strict=True))


def error_of(run: Run) -> float:
    """Return a run's cumulative error at its judged step."""
    return float(run.mean(MEASURE)[run.steps.index(run.judged_step)])


def points_the_other_way(
    verdict: Verdict, difference: Comparison | None, test_error: Comparison | None
) -> bool:
    """Tell whether test error contradicts what cumulative error says.

    It does if the sign is another one and the difference clear. Where cumulative error
    says something at all, so does one that is as large as the margin within which
    differences count as none.

    Parameters
    ----------
    verdict : Verdict
        What cumulative error says.
    difference, test_error : Comparison, optional
        The same pair, by cumulative and by test error.
    """
    if difference is None or test_error is None:
        return False
    if difference.estimate.mean * test_error.estimate.mean >= 0:
        return False
    if test_error.is_clearly_less or test_error.is_clearly_more:
        return True
    # Of two differences that are open, either sign means little.
    if verdict in (Verdict.UNCLEAR, Verdict.NOT_JUDGED):
        return False
    return abs(test_error.estimate.mean) >= test_error.one.info.margin


def worth_steps(steps: Sequence[int]) -> list[int]:
    """Return the numbers of samples at which worth is asked, of those tested.

    At 1, 2, 5, 10 … as far as the counterpart has as many samples to go again, so that
    a worth of two can be measured. Where none of these was tested, the middle of the
    curve and the middle of that, thrice.
    """
    last = steps[-1]
    found = []
    power = 1
    while power <= last:
        for digit in _ASKED_AT:
            if 2 * digit * power <= last and digit * power in steps:
                found.append(digit * power)
        power *= 10
    if found:
        return found
    for share in (8, 4, 2):
        before = [step for step in steps if share * step <= last]
        if before and before[-1] not in found:
            found.append(before[-1])
    return found


def worths(run: Run, counterpart: Run) -> list[Worth]:
    """Return what an annotated sample of a method is worth in labels.

    Parameters
    ----------
    run : Run
        The method.
    counterpart : Run
        The same without annotations.

    Returns
    -------
    list of Worth
        One for each number of samples of `worth_steps`.
    """
    tested = [step for step in counterpart.steps if step >= 1]
    if not tested:
        return []
    curves = np.stack([units(counterpart, "test_error", step) for step in tested])
    found = []
    for n in worth_steps(tested):
        errors = units(run, "test_error", n)
        if errors.shape != curves[0].shape:  # of only one of them samples are kept
            continue
        estimate = estimator(run, "test_error", n)
        found.append(worth(n, errors, tested, curves, estimate))
    return found


@dataclass(frozen=True)
class GridEnd:
    """A hyperparameter that was chosen at the end of its grid.

    Parameters
    ----------
    key : str
        The hyperparameter, by its dotted key.
    value : float
        What was chosen.
    of_detectors : bool
        Whether it is one of the detectors', which all methods share.
    """

    key: str
    value: float
    of_detectors: bool = False


#: Hyperparameters of attribute detectors, with the settings that hold their grids.
_OF_DETECTORS = {"learning_rate": "learning_rates", "weight_decay": "weight_decays"}


def grid_ends(run: Run) -> list[GridEnd]:
    """Return chosen values beyond which a better one may lie, each once.

    Those of the run's tuning, in any of its seeds, and of its attribute detectors.
    """
    found = []
    grid = flatten(run.info.config.get("tune") or {})
    for chosen in run.info.tuned.values():
        for key, value in chosen.items():
            if is_at_end(value, grid.get(key)):
                found.append(GridEnd(key, value))
    extractor = run.info.config.get("extractor") or {}
    detectors = run.info.data.details.get("detectors") or {}
    for name, grid_name in _OF_DETECTORS.items():
        value = detectors.get(name)
        if value is not None and is_at_end(value, extractor.get(grid_name)):
            found.append(GridEnd(name, value, of_detectors=True))
    return list(dict.fromkeys(found))


def is_at_end(value: Any, grid: Any) -> bool:
    """Tell whether a value is the smallest or the largest of a grid."""
    if not is_number(value) or not isinstance(grid, (list, tuple)) or len(grid) < 2:
        return False
    numbers = [each for each in grid if is_number(each)]
    return bool(numbers) and value in (min(numbers), max(numbers))
