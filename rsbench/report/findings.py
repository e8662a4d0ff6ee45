"""What a sweep shows, in words.

Does rich supervision help, on which features, and what do the controls say? Which run
is what comes from its record alone: the method, what it was told, and its control.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rsbench.core.components import Told
from rsbench.core.statistics import holm
from rsbench.report.comparisons import (
    MEASURE,
    Comparison,
    compare_pair,
    compared_step,
    interaction,
    settings_key,
)
from rsbench.report.labels import (
    RAW,
    Features,
    features_among,
    features_of,
    in_order,
    is_simulated,
    p_text,
    signed,
    swept_axis,
)
from rsbench.store.record import Run


@dataclass(frozen=True)
class Control:
    """A variation of a method that answers a sceptic.

    Parameters
    ----------
    name : str
        Its name, as records have it.
    words : str
        What it changes.
    to_lean : bool
        Whether it is compared with lean learning too, not with the method alone.
    """

    name: str
    words: str
    to_lean: bool = False


#: Those that sentences have words for, in the order in which they are told.
CONTROLS = (
    Control("shuffled", "Annotations shuffled between samples", to_lean=True),
    Control("random", "As many marks on random features", to_lean=True),
    Control("ones", "Every feature marked (all ones)"),
    Control("soft", "A soft mask in place of the hard one", to_lean=True),
    Control("seen", "Only votes seen so far, not the whole pool's"),
    Control("exact", "Steps that correct the margin exactly"),
    Control("tuned", "C tuned on held-out classes"),
)

#: Lean learning has these controls too, so that rich supervision is judged under them.
_JUDGED_UNDER = {"exact": "With exact steps", "tuned": "With C tuned"}

_WHY_SHUFFLED_HELPS = (
    "Shuffled annotations are not no annotations: they still say which features are "
    "marked often, and how few are. Each step then leaves most of the raw scores' "
    "common mean alone, which is probably what is gained here."
)


@dataclass(frozen=True)
class Contrast:
    """A control of a method, against the method itself and against lean learning.

    Parameters
    ----------
    control : Control
        What was changed.
    method : str
        The method that it was changed in.
    to_itself, to_lean : dict
        By features, the control against the method, and against lean learning.
    """

    control: Control
    method: str
    to_itself: dict[Features, Comparison]
    to_lean: dict[Features, Comparison]

    def __str__(self) -> str:
        what = f"{self.control.words}, {self.method}"
        told = f"{what}: {_on_each(self.to_itself)}"
        if self.to_lean:
            told = f"{told}; against lean {_on_each(self.to_lean)}"
        return f"{told}."


@dataclass(frozen=True)
class Findings:
    """What runs show.

    Parameters
    ----------
    note : str
        How to read the sentences.
    claims : tuple of str
        Sentences on rich supervision against lean learning.
    contrasts : tuple of Contrast
        What each control changes.
    controlled : tuple of str
        Sentences on rich supervision under controls.
    """

    note: str = ""
    claims: tuple[str, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    controlled: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """All of it, a sentence each."""
        return [*self.claims, *map(str, self.contrasts), *self.controlled]


@dataclass(frozen=True)
class Test:
    """A comparison, with its p corrected for those that it was made with.

    "Clearly" stands for this p alone, here and in every sentence.
    """

    comparison: Comparison
    p: float

    @property
    def clearly_less(self) -> bool:
        """Whether the first run clearly has less error."""
        return self.p < 0.05 and self.comparison.difference.mean < 0

    @property
    def clearly_more(self) -> bool:
        """Whether the first run clearly has more error."""
        return self.p < 0.05 and self.comparison.difference.mean > 0


def findings(runs: Sequence[Run]) -> Findings:
    """Return what runs show that can be compared seed by seed.

    Nothing is said of rich supervision where no lean run is there to compare with.

    Parameters
    ----------
    runs : sequence of Run
        On the same data under the same protocol and seeds.

    Raises
    ------
    UserError
        If the runs cannot be paired.
    """
    if len(runs) < 2:
        return Findings()
    plain = _under(runs, None)
    contrasts = tuple(_contrasts(runs, plain))
    controlled: list[str] = []
    for name, words in _JUDGED_UNDER.items():
        controlled += _about_scores(_under(runs, name), words)
    # The one result that readers take for a mistake, so it is explained.
    if any(_is_shuffled_and_beats_lean(contrast) for contrast in contrasts):
        controlled.append(_WHY_SHUFFLED_HELPS)
    # With a setting swept beside them, methods are compared at each of its values.
    axis = swept_axis(runs)
    if axis is None:
        claims = tuple(_about_scores(plain))
    else:
        claims = tuple(_about_axis(runs, *axis))
    return Findings(_note(runs), claims, contrasts, tuple(controlled))


def _note(runs: Sequence[Run]) -> str:
    """Return how to read the numbers in the sentences."""
    first = runs[0]
    sure = "one seed: no certainty"
    if first.n_seeds > 1:
        sure = (
            "in brackets the 95 % interval of each difference by itself; p, and "
            "clearly better, by tests corrected (Holm) for the methods compared with "
            "lean in that sentence"
        )
    step = f"{compared_step(first)} {first.info.unit}"
    note = f"Cumulative error at {step}, in points; {sure}."
    if is_simulated(runs):
        return f"SIMULATED data, evidence of nothing. {note}"
    return note


def _about_scores(runs: Sequence[Run], family: str = "") -> Iterator[str]:
    """Say for each kind of features whether rich supervision beats lean learning.

    `family` says what these runs have in common, such as "With exact steps".
    """
    named = {(run.info.method, features_of(run)) for run in runs}
    if len(named) < len(runs):
        return  # they differ in something else: which of two would be the method?
    # By features: the best of those that are clearly better than lean; None if none is.
    winners: dict[Features, Run | None] = {}
    for features in features_among(runs):
        lean = _lean(runs, features)
        rich = [run for run in _with(runs, features) if _is_rich(run)]
        if lean is None or not rich:
            continue
        tests = _corrected([(run, lean) for run in rich])
        clear = _clearly_better(rich, tests)
        # The lowest of all may be one that is not clearly better, by its large spread.
        best = min(clear or rich, key=_error)
        if clear:
            winners[features] = best
        else:
            winners[features] = None
        yield _verdict_on(features, family, tests[best], len(clear), len(rich))
    of = ""
    if family:  # "So with exact steps …", in the middle of a sentence
        of = f" {family[0].lower()}{family[1:]}"
    yield from _reversal(runs, winners, of)
    if len(winners) > 1:
        judged = [run for run in runs if features_of(run) in winners]
        best = min(judged, key=_error)
        yield (
            f"Lowest of these{of}: {best.info.method} on {features_of(best).words} "
            f"scores, {_percent(best)}."
        )


def _verdict_on(
    features: Features, family: str, test: Test, clear: int, rich: int
) -> str:
    """Return the sentence on one kind of features, by the best method's test."""
    if clear:
        verb = "helps"
    elif test.clearly_more:
        verb = "does harm"
    else:
        verb = "shows no clear gain"
    where = f"on {features.words} scores"
    if family:
        where = f"{family}, {where}"
    where = f"{where[0].upper()}{where[1:]}"
    best = test.comparison.one
    lean = test.comparison.two
    return (
        f"{where} rich supervision {verb}: the best method with it, "
        f"{best.info.method}, has {points(test.comparison)} against {lean.info.method} "
        f"({_percent(best)} and {_percent(lean)}, p {_equals(test.p)}); "
        f"{clear} of {rich} clearly better."
    )


def _reversal(
    runs: Sequence[Run], winners: dict[Features, Run | None], of: str
) -> Iterator[str]:
    """Say where rich supervision helps and where not.

    "Not" is said only where the gain is clearly smaller: a test that shows nothing does
    not show that there is nothing.
    """
    for features, winner in winners.items():
        if winner is None:
            continue
        smaller: list[str] = []
        unclear: list[str] = []
        for other, found in winners.items():
            if found is not None:
                continue
            if _gains_less(runs, winner, other):
                smaller.append(other.words)
            else:
                unclear.append(other.words)
        helps = f"So{of} rich supervision helps on {features.words} scores"
        if smaller:
            yield f"{helps}, not on {_and(smaller)} ones."
        if unclear:
            yield f"{helps}; on {_and(unclear)} ones that is not shown."


def _gains_less(runs: Sequence[Run], winner: Run, other: Features) -> bool:
    """Tell whether a method clearly gains less over lean learning on other features."""
    lean = _lean(runs, features_of(winner))
    other_lean = _lean(runs, other)
    # The same method on the other features: two methods would differ in more than that.
    same = None
    for run in _with(runs, other):
        if run.info.method == winner.info.method:
            same = run
    if same is None or lean is None or other_lean is None:
        return False
    # A gain is negative, being less error: the first one is clearly larger.
    return interaction((winner, lean), (same, other_lean)).high < 0


def _about_axis(runs: Sequence[Run], key: str, values: list[float]) -> Iterator[str]:
    """Say how each method's error follows a swept setting.

    And at which values it is clearly better than lean learning.
    """
    at = dict(zip(runs, values, strict=True))
    for features in features_among(runs):
        mine = sorted(_with(runs, features), key=lambda run: at[run])
        # All values of all methods are one family: each is a chance to look better.
        tests = _corrected(_with_lean_at_same_value(mine, at))
        by_variant: dict[str, list[Run]] = {}
        for run in mine:
            by_variant.setdefault(run.info.variant, []).append(run)
        for variant, own in by_variant.items():
            first = own[0]
            last = own[-1]
            line = (
                f"On {features.words} scores {variant} goes from {_percent(first)} at "
                f"{key}={at[first]:g} to {_percent(last)} at {at[last]:g}"
            )
            tested = [run for run in own if run in tests]
            if tested:
                better = [at[run] for run in _clearly_better(tested, tests)]
                line = f"{line}; {_where_better(better)}"
            yield f"{line}."


def _with_lean_at_same_value(
    runs: Sequence[Run], at: dict[Run, float]
) -> list[tuple[Run, Run]]:
    """Pair each run that has rich supervision with the lean one at the same value."""
    leans = {}
    for run in runs:
        if _is_lean(run) and run.info.control is None:
            leans[at[run]] = run
    pairs = []
    for run in runs:
        if _is_rich(run) and at[run] in leans:
            pairs.append((run, leans[at[run]]))
    return pairs


def _where_better(values: Sequence[float]) -> str:
    """Return at which values of a swept setting a method is clearly better."""
    if not values:
        return "nowhere clearly better than lean"
    shown = [f"{value:g}" for value in values]
    return f"clearly better than lean at {_and(shown)}"


def _clearly_better(runs: Sequence[Run], tests: dict[Run, Test]) -> list[Run]:
    """Return the runs that clearly have less error than lean learning."""
    return [run for run in runs if tests[run].clearly_less]


def _corrected(pairs: Sequence[tuple[Run, Run]]) -> dict[Run, Test]:
    """Compare the first run of each pair with the second, corrected together (Holm)."""
    comparisons = []
    ps = []
    for one, two in pairs:
        comparison = compare_pair(one, two)
        comparisons.append(comparison)
        ps.append(comparison.p_corrected)
    tests = {}
    for comparison, p in zip(comparisons, holm(ps), strict=True):
        tests[comparison.one] = Test(comparison, p)
    return tests


def _contrasts(runs: Sequence[Run], plain: Sequence[Run]) -> Iterator[Contrast]:
    """Say of each control, and each method that has it, what it changes."""
    for control in _controls_of(runs):
        by_method: dict[str, list[tuple[Run, Run]]] = {}
        for run in _under(runs, control.name):
            itself = _method_itself(run, plain)
            if itself is not None:
                by_method.setdefault(itself.info.method, []).append((run, itself))
        for method, pairs in by_method.items():
            # Where something else was swept beside it, sentences follow that instead.
            kinds_of_features = {features_of(run) for run, _ in pairs}
            if len(kinds_of_features) == len(pairs):
                yield _contrast(control, method, pairs, plain)


def _controls_of(runs: Sequence[Run]) -> list[Control]:
    """Return the controls among runs; one that has no words is called by its name."""
    names = in_order([run.info.control for run in runs])
    found = [control for control in CONTROLS if control.name in names]
    known = {control.name for control in CONTROLS}
    for name in names:
        if name is not None and name not in known:
            found.append(Control(name, words=name))
    return found


def _method_itself(run: Run, plain: Sequence[Run]) -> Run | None:
    """Return the run that this one is a control of, if it is there."""
    for other in plain:
        same_method = other.info.method == run.info.control_of
        same_features = features_of(other) == features_of(run)
        if same_method and same_features and settings_key(other) == settings_key(run):
            return other
    return None


def _contrast(
    control: Control,
    method: str,
    pairs: Sequence[tuple[Run, Run]],
    plain: Sequence[Run],
) -> Contrast:
    to_itself = {}
    to_lean = {}
    for run, itself in pairs:
        features = features_of(run)
        to_itself[features] = compare_pair(run, itself)
        # Worse than the method, it may still be better than no supervision at all.
        lean = _lean(plain, features)
        if control.to_lean and lean is not None:
            to_lean[features] = compare_pair(run, lean)
    return Contrast(control, method, to_itself, to_lean)


def _is_shuffled_and_beats_lean(contrast: Contrast) -> bool:
    """Tell whether shuffled annotations clearly beat lean learning on raw scores."""
    if contrast.control.name != "shuffled" or RAW not in contrast.to_lean:
        return False
    return contrast.to_lean[RAW].difference.high < 0


def _on_each(comparisons: dict[Features, Comparison]) -> str:
    """Return the differences on each kind of features."""
    told = []
    for features, found in comparisons.items():
        told.append(f"{features.words} {points(found)} ({change(found)})")
    return ", ".join(told)


def change(comparison: Comparison) -> str:
    """Return what a control does to the error, in a word.

    By the interval of this one difference, not corrected for others.
    """
    difference = comparison.difference
    if math.isinf(difference.low):  # one seed, or no spread between seeds
        return "not to be judged"
    if difference.high < 0:
        return "better"
    if difference.low > 0:
        return "worse"
    return "no clear difference"


def points(comparison: Comparison) -> str:
    """Return a difference in points, with its interval if there is one."""
    difference = comparison.difference
    if math.isinf(difference.low):
        return signed(difference.mean)
    low = signed(difference.low)
    high = signed(difference.high)
    return f"{signed(difference.mean)} [{low}, {high}]"


def _under(runs: Sequence[Run], control: str | None) -> list[Run]:
    """Return the runs that have this control; None for those that have none."""
    return [run for run in runs if run.info.control == control]


def _with(runs: Sequence[Run], features: Features) -> list[Run]:
    """Return the runs that learn on these features."""
    return [run for run in runs if features_of(run) == features]


def _is_rich(run: Run) -> bool:
    return run.info.told is not Told.NOTHING


def _is_lean(run: Run) -> bool:
    # By the method, not by what it was told: other learners may be told nothing too,
    # and the paper's claims are against this one.
    return run.info.method == "lean"


def _lean(runs: Sequence[Run], features: Features) -> Run | None:
    """Return the lean run on these features; None unless there is just one."""
    found = [run for run in _with(runs, features) if _is_lean(run)]
    if len(found) != 1:
        return None
    return found[0]


def _error(run: Run) -> float:
    """Return a run's error in the comparison fixed beforehand."""
    at = run.steps.index(compared_step(run))
    return float(run.mean(MEASURE)[at])


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
    return f"{100 * _error(run):.1f}\N{NO-BREAK SPACE}%"


def _and(words: Sequence[str]) -> str:
    """Return words as a sentence lists them: "a", "a and b", "a, b and c"."""
    if len(words) < 3:
        return " and ".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
