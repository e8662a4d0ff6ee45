"""What a sweep shows, in words: the answer first, then what it rests on.

Every sentence is made from a verdict of claims.py, and quotes the p of its family. A
test that fails is told as an interval, never as "not".
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rsbench.core.told import Told
from rsbench.core.worth import Worth
from rsbench.report.claims import (
    GAINS,
    Claims,
    ControlClaim,
    MethodClaim,
    TrackClaim,
    Verdict,
    error_of,
    grid_ends,
    points_the_other_way,
)
from rsbench.report.comparisons import JUDGED_UNDER, Comparison, by_settings
from rsbench.report.labels import (
    PER_CLASS,
    and_list,
    brief,
    features_among,
    features_of,
    in_order,
    is_simulated,
    p_text,
    plural,
    repeats_text,
    signed,
    swept_axis,
    told_text,
    voters,
)
from rsbench.report.units import Scope, scope_of
from rsbench.report.worth_text import interval_text, k_text, price_text, saved_text
from rsbench.store.record import Run
from rsbench.store.run_info import CounterpartKind

#: What controls change, in the words of a sentence; others are called by their names.
CONTROLS = {
    "shuffled": "annotations shuffled between samples",
    "shuffled_within": "annotations shuffled within each class",
    "random": "as many marks on random features",
    "uniform": "uniform votes in place of the annotators'",
    "absent": "no annotations",
    "ones": "every feature marked",
    "soft": "a soft mask in place of the hard one",
    "seen": "only votes seen so far, in place of the whole pool's",
    "exact": "steps that correct the margin exactly",
    "tuned": "hyperparameters tuned on held-out classes",
    "fair": "preprocessor and hyperparameters tuned on held-out classes",
}

#: How a sentence begins that is about methods under one control alone.
_UNDER = {
    "exact": "With exact steps",
    "tuned": "With hyperparameters tuned",
    "fair": "With preprocessor and hyperparameters tuned",
}

#: How methods fare, of one and of several.
_FARES = {
    Verdict.HELPS: ("gains clearly", "gain clearly"),
    Verdict.BETTER: ("is clearly better", "are clearly better"),
    Verdict.AS_SHUFFLED: ("gains as with shuffled ones", "gain as with shuffled ones"),
    Verdict.HARMS: ("loses clearly", "lose clearly"),
    Verdict.EQUIVALENT: ("stays within the margin", "stay within the margin"),
    Verdict.UNCLEAR: ("is open", "are open"),
    Verdict.NOT_JUDGED: ("is not judged", "are not judged"),
}

#: What the answer is about: the first of these that any method has. Harm is the answer
#: only where all that is judged does harm.
_HEADLINE = {
    Verdict.HELPS: 0,
    Verdict.BETTER: 1,
    Verdict.AS_SHUFFLED: 2,
    Verdict.EQUIVALENT: 3,
    Verdict.UNCLEAR: 3,
    Verdict.HARMS: 4,
    Verdict.NOT_JUDGED: 5,
}

#: Methods beyond these are in the tables alone.
_MOST_SENTENCES = 30

_SIMULATED = "SIMULATED data, evidence of nothing."


@dataclass(frozen=True)
class Findings:
    """What runs show, a sentence each.

    Parameters
    ----------
    note : str
        How to read the sentences.
    answer : tuple of str
        Two or three for anyone.
    methods : tuple of str
        On each method and its counterpart, and on how methods follow a swept setting.
    tracks : tuple of str
        On the best of each track.
    controls : tuple of str
        On each control of each method.
    caveats : tuple of str
        What makes results less sure than they look.
    """

    note: str = ""
    answer: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """All of it, the answer first."""
        return [*self.answer, *self.details]

    @property
    def details(self) -> list[str]:
        """All but the answer."""
        return [*self.methods, *self.tracks, *self.controls, *self.caveats]


def findings(runs: Sequence[Run], shown: Claims) -> Findings:
    """Return in words what runs show.

    Parameters
    ----------
    runs : sequence of Run
        Runs that can be compared with each other.
    shown : Claims
        What `claims` makes of them.
    """
    words = _Words(runs, shown)
    axis = swept_axis(runs)
    if axis is None:
        methods = _about_methods(words, shown.methods)
    else:
        methods = list(_about_axis(words, shown, *axis))
    return Findings(
        note=_note(words),
        answer=tuple(_answer(words, shown)),
        methods=tuple(methods),
        tracks=tuple(_about_track(words, claim) for claim in shown.tracks),
        controls=tuple(_about_controls(words, shown.controls)),
        caveats=tuple(_caveats(runs, shown)),
    )


class _Words:
    """How sentences name runs, and what is judged, among the runs of a group."""

    def __init__(self, runs: Sequence[Run], shown: Claims):
        self.runs = runs
        self._in_sweep = set(runs)
        #: Counterparts that came with their methods, by the first of these.
        self._brought: dict[Run, Run] = {}
        for claim in shown.methods:
            if claim.counterpart is not None:
                self._brought.setdefault(claim.counterpart, claim.run)
        self.first = runs[0]
        self.step = runs[0].judged_step
        # What all runs share goes without saying.
        self.several_features = len(features_among(runs)) > 1
        self.several_settings = len(by_settings(runs)) > 1

    def name(self, run: Run) -> str:
        """Return how a sentence calls a run."""
        if self.several_settings:
            return run.info.label
        name = run.info.variant
        if run not in self._in_sweep:
            name = self._name_brought(run)
        if self.several_features:
            name = f"{name} on {features_of(run).words} scores"
        return name

    def _name_brought(self, counterpart: Run) -> str:
        """Return the name of a counterpart that came with its method."""
        about = self._brought[counterpart].info.counterpart
        if about is None or about.kind is CounterpartKind.ITSELF:
            return f"{counterpart.info.method} without annotations"
        return about.name

    def without(self, claim: MethodClaim) -> str:
        """Return how a sentence calls a method's counterpart."""
        if claim.stand_in is None:
            return "itself without annotations"
        if claim.kind is CounterpartKind.EQUAL:
            return f"{claim.stand_in}, which it is without annotations"
        return f"{claim.stand_in}, which stands in for it without annotations"

    @property
    def on_average(self) -> str:
        """What cumulative error is, in words."""
        unit = self.first.info.unit
        if unit == "samples":
            # Which tests there were decides what is averaged.
            tests = [step for step in self.first.steps if step <= self.step]
            return f"on average over {_tests(len(tests))} up to {self.step} samples"
        if unit == PER_CLASS:
            return f"on average over the first {plural(self.step, 'sample')} per class"
        return f"on average over {unit} up to {self.step}"

    @property
    def after(self) -> str:
        """Where the judged step is."""
        return f"after {self.step} {self.first.info.unit}"

    @property
    def scope(self) -> str:
        """What else a claim holds for."""
        scope = scope_of(self.first, self.step)
        drawn = self.first.info.data.drawn
        if scope is Scope.FROM_THESE_CLASSES and drawn is not None:
            return f"over draws from these {drawn.of} classes"
        return scope.value


def _tests(count: int) -> str:
    """Return how many tests there were, in words."""
    if count == 1:
        return "one test"
    return f"{count} tests"


def _answer(words: _Words, shown: Claims) -> Iterator[str]:
    """Say in two or three sentences whether annotations help, and what they are worth.

    Methods under a control answer other questions, and are left to later sentences.
    """
    if is_simulated(words.runs):
        yield _SIMULATED
    plain = [claim for claim in shown.methods if claim.run.info.control is None]
    if not plain:
        yield from _without_told(words)
        return
    best = _headline(plain)
    yield _about_annotations(words, plain, best)
    tracks = []
    for claim in shown.tracks:
        told_why = claim.track.samples is not Told.NOTHING
        if told_why and claim.best.info.control is None:
            tracks.append(claim)
    if tracks:
        lowest = min(tracks, key=lambda claim: error_of(claim.best))
        is_said = lowest.best is best.run and lowest.nothing is best.counterpart
        if not is_said:  # of the same pair, just now
            yield _about_track(words, lowest)
    is_judged = best.verdict is not Verdict.NOT_JUDGED
    if is_judged and best.worth is not None and not math.isnan(best.worth.k):
        yield _about_worth(words, best, best.worth)


def _without_told(words: _Words) -> Iterator[str]:
    """Say what there is to say where no method was told anything."""
    plain = [run for run in words.runs if run.info.control is None]
    if not plain or any(run.info.told is not Told.NOTHING for run in words.runs):
        return
    lowest = min(plain, key=error_of)
    yield (
        "No method here was told anything of its samples beyond labels, so nothing is "
        f"said of annotations. Lowest cumulative error: {words.name(lowest)}, "
        f"{_percent(lowest)} {words.on_average}."
    )


def _headline(claims: Sequence[MethodClaim]) -> MethodClaim:
    """Return the method that the answer is about: the largest gain that is clear.

    Class votes, which are counted over more samples than are learned from, come after
    votes of the samples themselves.
    """
    surest: dict[tuple[int, ...], list[MethodClaim]] = {}
    for claim in claims:
        key = [_HEADLINE[claim.verdict]]
        if claim.verdict in GAINS:
            key.append(int(claim.run.info.told is Told.CLASS_VOTES))
        surest.setdefault(tuple(key), []).append(claim)
    return min(surest[min(surest)], key=_gain)


def _gain(claim: MethodClaim) -> float:
    """Return a method's difference to its counterpart; the more negative, the better.

    A method without a counterpart comes last, by its error.
    """
    if claim.difference is None:
        return 1 + error_of(claim.run)
    return claim.difference.estimate.mean


def _about_annotations(
    words: _Words, claims: Sequence[MethodClaim], best: MethodClaim
) -> str:
    """Return whether annotations help, by the best method, and how many others."""
    name = words.name(best.run)
    if best.run.info.told is Told.CLASS_VOTES:
        name = f"{name} (told {told_text(best.run)})"
    where = f"{words.on_average}, {words.scope}"
    gain = best.difference
    if gain is None:
        return (
            f"Whether annotations help is not judged: {name} was run without its "
            f"counterpart, and has {_percent(best.run)} error {words.on_average}."
        )
    against = f"than {words.without(best)}"
    if best.verdict is Verdict.NOT_JUDGED:
        return (
            f"Whether annotations help is not judged: {_why_not_judged(best.run)}. "
            f"{name} has {_less_or_more(gain)} {against}, {words.on_average}."
        )
    if best.verdict is Verdict.HELPS:
        opening = "Annotations help"
        if any(claim.verdict is Verdict.HARMS for claim in claims):
            opening = "Annotations help some methods and harm others"
        told = f"{opening}: {name} has {_less_or_more(gain)} {against}, {where}"
    elif best.verdict is Verdict.BETTER:
        told = f"{name} has {_less_or_more(gain)} {against}, {where}"
        told = f"{told}{_beside_shuffled(best)}"
    elif best.verdict is Verdict.AS_SHUFFLED:
        told = (
            f"Annotations help {name}, but as far as these runs tell, shuffled ones "
            f"help as much: it has {_less_or_more(gain)} {against}, {where}"
        )
    elif best.verdict is Verdict.HARMS:
        told = (
            f"Annotations harm {name}: it has {_less_or_more(gain)} {against}, {where}"
        )
    elif best.verdict is Verdict.EQUIVALENT:
        told = (
            f"Annotations change {name} by less than {_margin(best.run)}, the margin "
            f"set beforehand, {where}"
        )
    else:
        told = (
            f"Whether annotations help is open: {name} is {_at_most(gain)} "
            f"{against}, {where}"
        )
    told = f"{told}{_contradicted(words, best)}."
    return f"{told}{_counts(claims)}"


def _counts(claims: Sequence[MethodClaim]) -> str:
    """Return how many methods fare how, where several do."""
    if len({claim.verdict for claim in claims}) < 2:
        return ""
    counted = []
    for verdict, (one, many) in _FARES.items():
        count = len([claim for claim in claims if claim.verdict is verdict])
        what = many
        if count == 1:
            what = one
        if count:
            counted.append(f"{count} {what}")
    return f" Of {len(claims)} rows of the tables, {and_list(counted)}."


def _about_worth(words: _Words, claim: MethodClaim, worth: Worth) -> str:
    """Return what the counterpart would need, in labels."""
    name = words.name(claim.run)
    unit = words.first.info.unit
    if claim.run.info.told is Told.CLASS_VOTES:
        labels = "labels"
        if unit == PER_CLASS:
            labels = "labels per class"
        return f"At {worth.n} {unit}, {name} saves {saved_text(worth)} {labels}."
    what = "an annotated sample"
    if claim.annotated < 1:
        what = f"a sample, {claim.annotated:.0%} of them annotated,"
    text = f"At {worth.n} {unit}, {what} of {name} is worth {k_text(worth)}"
    return f"{text} labels {interval_text(worth)}{price_text(claim, worth)}."


def _about_methods(words: _Words, claims: Sequence[MethodClaim]) -> list[str]:
    """Say of each method what its annotations do; the surest verdicts first."""
    order = list(_FARES)
    ranked = sorted(claims, key=lambda claim: order.index(claim.verdict))
    return _most([_about_method(words, claim) for claim in ranked])


def _most(lines: list[str]) -> list[str]:
    """Return as many sentences as anyone reads."""
    left = len(lines) - _MOST_SENTENCES
    if left <= 0:
        return lines
    return [*lines[:_MOST_SENTENCES], f"{left} more are in the report's tables."]


def _about_method(words: _Words, claim: MethodClaim) -> str:
    """Return the sentence on one method and its counterpart."""
    name = words.name(claim.run)
    gain = claim.difference
    if gain is None:
        return (
            f"{name}: not judged, since its counterpart was not run "
            f"({_percent(claim.run)})."
        )
    against = f"against {words.without(claim)}"
    # The same p as in the tables: "clearly" never stands for another one.
    told = f"{points(gain)} {against} ({_errors(gain)}, p {_equals(gain.p)})"
    other_way = _contradicted(words, claim)
    if claim.verdict is Verdict.NOT_JUDGED:
        reason = _why_not_judged(claim.run)
        told = f"{points(gain)} {against} ({_errors(gain)})"
        return f"{name}: not judged, {reason}: {told}{other_way}."
    if claim.verdict is Verdict.HELPS:
        told = f"Annotations help {name}: {told}{_beside_shuffled(claim)}"
        if claim.is_within_margin:
            told = f"{told}; it is less than {_margin(claim.run)} all the same"
    elif claim.verdict is Verdict.BETTER:
        told = f"{name} is clearly better with annotations: {told}"
        told = f"{told}{_beside_shuffled(claim)}"
    elif claim.verdict is Verdict.AS_SHUFFLED:
        told = f"Annotations help {name} as much as shuffled ones: {told}"
        told = f"{told}{_beside_shuffled(claim)}"
    elif claim.verdict is Verdict.HARMS:
        told = f"Annotations harm {name}: {told}"
    elif claim.verdict is Verdict.EQUIVALENT:
        margin = _margin(claim.run)
        told = f"Annotations change {name} by less than {margin}: {told}"
    else:
        told = f"Open for {name}: {_at_most(gain)} with annotations; {told}"
    return f"{told}{other_way}."


def _beside_shuffled(claim: MethodClaim) -> str:
    """Return how the method stands against itself with shuffled annotations."""
    if claim.shuffled is None:
        return f"; {_not_shuffled(claim.run)}"
    estimate = claim.shuffled.estimate
    interval = claim.shuffled.difference
    # The comparison has the control first; the sentence has the method.
    told = _points(-estimate.mean, -interval.high, -interval.low)
    against = f"{told} against itself with shuffled annotations"
    if claim.verdict is Verdict.BETTER:
        return f"; open is whether shuffled ones do as much: {against}"
    return f", and {against} (p {_equals(claim.shuffled.p)})"


def _not_shuffled(run: Run) -> str:
    """Return that shuffled annotations were not tried, and how to, where that helps."""
    told = "whether shuffled annotations do as much was not tried"
    annotation = run.info.config.get("annotation") or {}
    if run.info.control is None and annotation.get("name", "full") == "full":
        return f"{told} (control=none,shuffled)"
    return told


def _contradicted(words: _Words, claim: MethodClaim | TrackClaim) -> str:
    """Return what test error says, where that is something else."""
    test_error = claim.test_error
    if test_error is None:
        return ""
    if not points_the_other_way(claim.verdict, claim.difference, test_error):
        return ""
    interval = ""
    if test_error.is_judged:
        interval = f" (p {_equals(test_error.p)})"
    return f"; but {words.after} it has {_less_or_more(test_error)} in test{interval}"


def _about_track(words: _Words, claim: TrackClaim) -> str:
    """Return the sentence on the best of a track and the best told nothing."""
    found = claim.difference
    under = ""
    if claim.best.info.control in JUDGED_UNDER:
        under = f"{_UNDER[claim.best.info.control]}: "
    best = f"the best method told {claim.track.text}, {words.name(claim.best)}"
    nothing = f"the best told nothing, {words.name(claim.nothing)}"
    sizes = claim.best.info.samples
    counts_votes = claim.track.samples is Told.CLASS_VOTES
    if counts_votes and sizes is not None and sizes.learned:
        best = (
            f"{best} (votes of {voters(claim.best):,} samples, {sizes.learned:,} "
            "learned from)"
        )
    p = f"p {_equals(found.p)}"
    if claim.verdict is Verdict.NOT_JUDGED:
        told = f"{best}, has {_less_or_more(found)} than {nothing}"
        told = f"{told} ({_errors(found)}; not judged)"
    elif claim.verdict in (Verdict.HELPS, Verdict.HARMS):
        told = f"{best}, has {_less_or_more(found)} than {nothing}"
        told = f"{told} ({_errors(found)}, {p})"
    elif claim.verdict is Verdict.EQUIVALENT:
        told = f"{best}, is within {_margin(claim.best)} of {nothing}"
        told = f"{told} ({_errors(found)})"
    else:
        told = f"{best}, is {_at_most(found)} than {nothing}"
        told = f"{told} ({_errors(found)}, {p})"
    told = f"{under}{told}{_contradicted(words, claim)}."
    return f"{told[0].upper()}{told[1:]}"


def _about_axis(
    words: _Words, shown: Claims, key: str, values: list[float]
) -> Iterator[str]:
    """Say how each method's error follows a swept setting.

    And at which values it is clearly better than its counterpart.
    """
    at = dict(zip(words.runs, values, strict=True))
    for features in features_among(words.runs):
        mine = [run for run in words.runs if features_of(run) == features]
        mine.sort(key=lambda run: at[run])
        for variant in in_order([run.info.variant for run in mine]):
            own = [run for run in mine if run.info.variant == variant]
            first = own[0]
            last = own[-1]
            where = ""
            if words.several_features:
                where = f" on {features.words} scores"
            line = (
                f"{variant}{where} goes from {_percent(first)} at "
                f"{key}={brief(at[first])} to {_percent(last)} at {brief(at[last])}"
            )
            yield f"{line}{_where_clear(own, shown, at)}."


def _where_clear(own: Sequence[Run], shown: Claims, at: dict[Run, float]) -> str:
    """Return at which values of a swept setting a method's annotations help or harm."""
    helps = []
    harms = []
    judged = 0
    for run in own:
        claim = shown.of(run)
        if claim is None or claim.verdict is Verdict.NOT_JUDGED:
            continue
        judged += 1
        if claim.verdict in GAINS:
            helps.append(brief(at[run]))
        elif claim.verdict is Verdict.HARMS:
            harms.append(brief(at[run]))
    told = ""
    if helps:
        told = f"{told}; clearly better than its counterpart at {and_list(helps)}"
    if harms:
        told = f"{told}; clearly worse than its counterpart at {and_list(harms)}"
    if judged and not told:
        told = "; at none of them clearly better or worse than its counterpart"
    return told


def _about_controls(words: _Words, claims: Sequence[ControlClaim]) -> list[str]:
    """Say what controls change; those that change a method clearly come first."""
    clear = []
    others = []
    for claim in claims:
        found = claim.to_itself
        line = _about_control(words, claim)
        if found.is_clearly_less or found.is_clearly_more:
            clear.append(line)
        else:
            others.append(line)
    return _most([*clear, *others])


def _about_control(words: _Words, claim: ControlClaim) -> str:
    """Return what a control changes."""
    name = claim.run.info.control or ""
    what = CONTROLS.get(name, name)
    told = (
        f"{words.name(claim.method)} with {what}: {_changed(claim.to_itself)} "
        "against itself"
    )
    if claim.to_counterpart is not None:
        told = f"{told}; {_changed(claim.to_counterpart)} against its counterpart"
    return f"{told}."


def _changed(comparison: Comparison) -> str:
    """Return a difference with its p."""
    if not comparison.is_judged:
        return points(comparison)
    return f"{points(comparison)} (p {_equals(comparison.p)})"


def _caveats(runs: Sequence[Run], shown: Claims) -> Iterator[str]:
    """Say what makes results less sure than they look."""
    ends = []
    for run in runs:
        for end in grid_ends(run):
            # Detectors are the same for all methods, and so said once.
            whose = run.info.label
            if end.of_detectors:
                whose = "detectors'"
            ends.append(f"{whose} {end.key}={brief(end.value)}")
    if ends:
        told = ", ".join(in_order(ends))
        yield f"Chosen at the end of a grid, so a better value may lie beyond: {told}."
    if any(_tuned_on_detectors_classes(run) for run in runs):
        yield (
            "Tuned on classes that the attribute detectors have seen: "
            "extractor.unseen_validation=true keeps them apart."
        )
    late = in_order([key for run in runs for key in run.info.changed_after])
    if late:
        yield (
            f"Changed after these results were there, and so not set beforehand: "
            f"{', '.join(late)}."
        )
    missing = [claim for claim in shown.methods if claim.counterpart is None]
    if missing:
        names = ", ".join(in_order([claim.run.info.variant for claim in missing]))
        yield f"Run without counterparts, so annotations are not judged: {names}."


def _tuned_on_detectors_classes(run: Run) -> bool:
    """Tell whether held-out classes were used for more than tuning."""
    detectors = run.info.data.details.get("detectors") or {}
    trained = "learning_rate" in detectors
    return bool(run.info.config.get("tune")) and trained and "unseen" not in detectors


def _note(words: _Words) -> str:
    """Return how to read the numbers in the sentences."""
    first = words.first
    sure = (
        f"{words.scope}; in brackets the 95 % interval of each difference by itself; p "
        "corrected (Holm) for all comparisons of its family"
    )
    if first.n_draws == 2:
        sure = "two draws are too few for a verdict: draws=3 or more"
    elif first.n_seeds == 1 and first.n_draws == 1:
        sure = "one seed: no certainty"
    note = (
        f"Cumulative error, {words.on_average}, in points; {repeats_text(first)}; "
        f"{sure}."
    )
    if is_simulated(words.runs):
        return f"{_SIMULATED} {note}"
    return note


def _why_not_judged(run: Run) -> str:
    """Return why nobody knows how sure a difference is."""
    if run.n_draws == 2:
        return "two draws are too few for a verdict"
    if run.n_draws == 1 and run.n_seeds == 1:
        return "one seed gives no certainty"
    return "repeats do not tell how sure the difference is"


def _less_or_more(comparison: Comparison) -> str:
    """Return a difference in plain words, with its interval if there is one."""
    interval = comparison.difference
    mean = 100 * comparison.estimate.mean
    low = 100 * interval.low
    high = 100 * interval.high
    if mean < 0:
        mean, low, high = -mean, -high, -low
        word = "less"
    else:
        word = "more"
    told = f"{mean:.1f} points {word} error"
    if math.isinf(low):
        return told
    return f"{told} [{_number(low)} to {_number(high)}]"


def _at_most(comparison: Comparison) -> str:
    """Return the interval as what a failed test leaves: "no more than 1.3 better"."""
    interval = comparison.difference
    better = -100 * interval.low
    worse = 100 * interval.high
    # Clear by itself, but one of several that were looked at.
    if worse < 0:
        return f"by its own interval alone {-worse:.1f} to {better:.1f} points better"
    if better < 0:
        return f"by its own interval alone {-better:.1f} to {worse:.1f} points worse"
    return f"no more than {better:.1f} points better and no more than {worse:.1f} worse"


def points(comparison: Comparison) -> str:
    """Return a difference in points, with its interval if there is one."""
    interval = comparison.difference
    return _points(comparison.estimate.mean, interval.low, interval.high)


def _points(mean: float, low: float, high: float) -> str:
    if math.isinf(low):
        return signed(mean)
    return f"{signed(mean)} [{signed(low)}, {signed(high)}]"


def _number(value: float) -> str:
    shown = f"{value:.1f}"
    if shown == "-0.0":
        return "0.0"
    return shown


def _errors(comparison: Comparison) -> str:
    return f"{_percent(comparison.one)} and {_percent(comparison.two)}"


def _margin(run: Run) -> str:
    points_wide = 100 * run.info.margin
    if points_wide == 1:
        return "1 point"
    return f"{points_wide:g} points"


def _equals(p: float) -> str:
    """Return what follows "p" in a sentence: "= 0.012", "< 0.001" or "unknown"."""
    if math.isnan(p):
        return "unknown"
    shown = p_text(p)
    if p < 0.001:
        return shown
    return f"= {shown}"


def _percent(run: Run) -> str:
    # The number and its sign stay on one line.
    return f"{100 * error_of(run):.1f}\N{NO-BREAK SPACE}%"
