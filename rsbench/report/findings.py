"""What a sweep shows, in words: does rich supervision help, on which features, and what do its controls say?

Runs are matched by their settings, not by their names: a control is a run that differs from another in one thing.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rsbench.core.statistics import (
    Comparison,
    compare_pair,
    compared_step,
    holm,
    interaction,
)
from rsbench.report.labels import flatten, is_simulated, p_text, signed, swept_axis
from rsbench.store.record import Run

_SCORES = {
    "none": "raw",
    "center": "centred",
    "standardize": "standardised",
    "l2": "normalised",
}


@dataclass(frozen=True)
class Control:
    """A way in which a run differs from the one it is a control of: the setting, and how people call it."""

    keys: tuple[str, ...]
    value: Any
    words: str
    to_lean: bool = False


#: Each is looked for among the settings that may tell a run from its counterpart; None stands for any value.
CONTROLS = (
    Control(
        ("annotation.name",), "shuffled", "Annotations shuffled between samples", True
    ),
    Control(("annotation.name",), "random", "As many marks on random features", True),
    Control(("aggregator.name",), "none", "Every feature marked (all ones)"),
    Control(
        ("aggregator.relevant", "aggregator.irrelevant"),
        None,
        "A soft mask in place of the hard one",
        True,
    ),
    Control(
        ("aggregator.scope",), "seen", "Only votes seen so far, not the whole pool's"
    ),
    Control(("learner.variant",), "pa", "Steps that correct the margin exactly"),
    Control(("tune.learner.C",), None, "C tuned on held-out classes"),
)

_WHY_SHUFFLED_HELPS = (
    "Shuffled annotations are not no annotations: they still say which features are marked often, and how few are. "
    "Each step then leaves most of the raw scores' common mean alone, which is probably what is gained here."
)


@dataclass(frozen=True)
class Contrast:
    """A control of a method: by preprocessor how it compares with the method itself and with lean learning."""

    control: Control
    method: str
    to_itself: dict[str, Comparison]
    to_lean: dict[str, Comparison]

    def __str__(self) -> str:
        told = f"{self.control.words}, {self.method}: {_on_each(self.to_itself)}"
        return (
            f"{told}; against lean {_on_each(self.to_lean)}."
            if self.to_lean
            else f"{told}."
        )


@dataclass(frozen=True)
class Findings:
    """How to read the sentences, those on rich supervision against lean learning, and what the controls show."""

    note: str = ""
    claims: tuple[str, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    controlled: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """All of it in words."""
        return [*self.claims, *map(str, self.contrasts), *self.controlled]


def findings(runs: list[Run]) -> Findings:
    """What runs that can be compared seed by seed show; nothing if there is no lean run to compare with."""
    if len(runs) < 2:
        return Findings()
    plain = [run for run in runs if not _settings_of_controls(run)]
    contrasts = tuple(_contrasts(runs, plain))
    controlled: list[str] = []
    for words, is_so in (
        ("With exact steps", lambda changed: changed == {"learner.variant": "pa"}),
        ("With C tuned", lambda changed: list(changed) == ["tune.learner.C"]),
    ):
        controlled += _about_scores(
            [run for run in runs if is_so(_settings_of_controls(run))], words
        )
    if any(
        _beats_lean(contrast)
        for contrast in contrasts
        if contrast.control.value == "shuffled"
    ):
        controlled.append(_WHY_SHUFFLED_HELPS)
    # With a setting swept beside them, methods are compared at each of its values.
    axis = swept_axis(runs)
    claims = _about_axis(runs, *axis) if axis else _about_scores(plain, "")
    return Findings(_note(runs), tuple(claims), contrasts, tuple(controlled))


def _note(runs: list[Run]) -> str:
    sure = "one seed: no certainty"
    if runs[0].seeds > 1:
        sure = (
            "in brackets the 95 % interval of each difference by itself; p, and clearly better, by tests corrected "
            "(Holm) for the methods compared with lean in that sentence"
        )
    note = f"Cumulative error at {compared_step(runs[0])} {runs[0].info['unit']}, in points; {sure}."
    return (
        "SIMULATED data, evidence of nothing. " if is_simulated(runs) else ""
    ) + note


def _about_scores(runs: list[Run], family: str) -> Iterator[str]:
    """For each kind of features whether rich supervision beats lean learning; and where the kinds disagree."""
    kinds = [(run.info["method"], run.info["preprocessor"]) for run in runs]
    if len(set(kinds)) < len(kinds):
        return  # of runs that differ in something else, which of them would be the method?
    winners: dict[str, Run | None] = {}
    for name in dict.fromkeys(run.info["preprocessor"] for run in runs):
        lean, rich = (
            _lean(runs, name),
            [run for run in _with(runs, name) if not _is_lean(run)],
        )
        if lean is None or not rich:
            continue
        tests = _corrected([(run, lean) for run in rich])
        clear = [run for run in rich if tests[run].clearly_less]
        best = min(clear or rich, key=_error)
        winners[name] = best if clear else None
        test = tests[best]
        verb = (
            "helps"
            if clear
            else "does harm"
            if test.clearly_more
            else "shows no clear gain"
        )
        yield (
            f"{f'{family}, on' if family else 'On'} {scores(name)} scores rich supervision {verb}: the best method "
            f"with it, {best.info['method']}, has {points(test.comparison)} against {lean.info['method']} "
            f"({_percent(best)} and {_percent(lean)}, p {_equals(test.p)}); {len(clear)} of {len(rich)} clearly better."
        )
    of = f" {family[0].lower()}{family[1:]}" if family else ""
    yield from _reversal(runs, winners, of)
    if len(winners) > 1:
        best = min(
            (run for run in runs if run.info["preprocessor"] in winners), key=_error
        )
        where = scores(best.info["preprocessor"])
        yield f"Lowest of these{of}: {best.info['method']} on {where} scores, {_percent(best)}."


def _reversal(
    runs: list[Run], winners: dict[str, Run | None], of: str
) -> Iterator[str]:
    """Where rich supervision helps and where not; the latter only if its gain there is clearly smaller."""
    for name, winner in winners.items():
        if winner is None:
            continue
        smaller: list[str] = []
        unclear: list[str] = []
        for other in (other for other, found in winners.items() if found is None):
            (smaller if _gains_less(runs, winner, name, other) else unclear).append(
                scores(other)
            )
        if smaller:
            yield f"So{of} rich supervision helps on {scores(name)} scores, not on {_and(smaller)} ones."
        if unclear:
            yield f"So{of} rich supervision helps on {scores(name)} scores; on {_and(unclear)} ones that is not shown."


def _gains_less(runs: list[Run], winner: Run, name: str, other: str) -> bool:
    """Whether a method's gain over lean learning is clearly smaller on other features, seed by seed."""
    same = next(
        (
            run
            for run in _with(runs, other)
            if run.info["method"] == winner.info["method"]
        ),
        None,
    )
    lean, other_lean = _lean(runs, name), _lean(runs, other)
    if same is None or lean is None or other_lean is None:
        return False
    return interaction([(winner, lean), (same, other_lean)]).high < 0


def _about_axis(runs: list[Run], key: str, values: list[float]) -> Iterator[str]:
    """For each method how its error follows the swept setting, and where it is clearly better than lean learning."""
    at = dict(zip(runs, values, strict=True))
    for preprocessor in dict.fromkeys(run.info["preprocessor"] for run in runs):
        mine = sorted(_with(runs, preprocessor), key=lambda run: at[run])
        leans = {at[run]: run for run in mine if _is_lean(run)}
        tests = _corrected(
            [
                (run, leans[at[run]])
                for run in mine
                if not _is_lean(run) and at[run] in leans
            ]
        )
        for method in dict.fromkeys(run.info["method"] for run in mine):
            own = [run for run in mine if run.info["method"] == method]
            first, last = own[0], own[-1]
            line = (
                f"On {scores(preprocessor)} scores {method} goes from {_percent(first)} at {key}={at[first]:g} "
                f"to {_percent(last)} at {at[last]:g}"
            )
            if any(run in tests for run in own):
                better = [
                    f"{at[run]:g}"
                    for run in own
                    if run in tests and tests[run].clearly_less
                ]
                where = (
                    f"clearly better than lean at {_and(better)}"
                    if better
                    else "nowhere clearly better than lean"
                )
                line = f"{line}; {where}"
            yield f"{line}."


@dataclass(frozen=True)
class Test:
    """A comparison, with its p corrected for those that it was made with."""

    comparison: Comparison
    p: float

    @property
    def clearly_less(self) -> bool:
        return self.p < 0.05 and self.comparison.difference.mean < 0

    @property
    def clearly_more(self) -> bool:
        return self.p < 0.05 and self.comparison.difference.mean > 0


def _corrected(pairs: list[tuple[Run, Run]]) -> dict[Run, Test]:
    """The first run of each pair against the second, by tests corrected for each other (Holm)."""
    comparisons = [compare_pair(*pair) for pair in pairs]
    ps = holm([comparison.p_corrected for comparison in comparisons])
    return {c.one: Test(c, p) for c, p in zip(comparisons, ps, strict=True)}


def _contrasts(runs: list[Run], plain: list[Run]) -> Iterator[Contrast]:
    """For each control, and each method that has it, what it changes on each kind of features."""
    for control in CONTROLS:
        pairs = [
            (run, other)
            for run in runs
            if (other := _counterpart(run, plain, control)) is not None
        ]
        for method in dict.fromkeys(other.info["method"] for _, other in pairs):
            mine = [
                (run, other) for run, other in pairs if other.info["method"] == method
            ]
            leans = (
                [(run, _lean(plain, run.info["preprocessor"])) for run, _ in mine]
                if control.to_lean
                else []
            )
            yield Contrast(
                control,
                method,
                {
                    run.info["preprocessor"]: compare_pair(run, other)
                    for run, other in mine
                },
                {
                    run.info["preprocessor"]: compare_pair(run, lean)
                    for run, lean in leans
                    if lean is not None
                },
            )


def _on_each(comparisons: dict[str, Comparison]) -> str:
    """The differences on each kind of features."""
    return ", ".join(
        f"{scores(name)} {points(c)} ({change(c)})" for name, c in comparisons.items()
    )


def change(comparison: Comparison) -> str:
    """What a control does to the error, in a word."""
    if math.isinf(comparison.difference.low):
        return "not to be judged"
    return _CHANGES[_verdict(comparison)]


def _beats_lean(contrast: Contrast) -> bool:
    """Whether it is clearly better than lean learning on raw scores."""
    return "none" in contrast.to_lean and _verdict(contrast.to_lean["none"]) is True


def _settings_of_controls(run: Run) -> dict[str, Any]:
    """The settings in which a run is a control, rather than a method as the paper has it."""
    flat = flatten(run.info["config"])
    usual = {
        "annotation.name": "full",
        "aggregator.relevant": 1.0,
        "aggregator.irrelevant": None,
        "aggregator.scope": "teacher",
        "learner.variant": "pa2",
    }
    found = {
        key: flat[key]
        for key, value in usual.items()
        if key in flat and value not in (None, flat[key])
    }
    if "aggregator.relevant" in found and "aggregator.irrelevant" in flat:
        found["aggregator.irrelevant"] = flat["aggregator.irrelevant"]
    if flat.get("aggregator.name") == "none" and flat.get("learner.name") in (
        "ellipsotron",
        "feature_scaling",
    ):
        found["aggregator.name"] = "none"
    return found | {
        key: value for key, value in flat.items() if key.startswith("tune.")
    }


def _counterpart(run: Run, plain: list[Run], control: Control) -> Run | None:
    """The plain run that differs from this one in just that control; None if the run is no such control."""
    changed = _settings_of_controls(run)
    if (
        not changed
        or not set(changed) <= set(control.keys)
        or control.value not in (None, *changed.values())
    ):
        return None
    ignored = (
        *control.keys,
        *(("aggregator.",) if control.keys == ("aggregator.name",) else ()),
    )

    def settings(of: Run) -> dict[str, Any]:
        kept = ("learner.", "aggregator.", "annotation.", "preprocessor.", "tune.")
        flat = flatten(of.info["config"])
        return {
            key: value
            for key, value in flat.items()
            if key.startswith(kept) and not key.startswith(ignored)
        }

    wanted = settings(run)
    return next((other for other in plain if settings(other) == wanted), None)


def _with(runs: Iterable[Run], preprocessor: str) -> list[Run]:
    return [run for run in runs if run.info["preprocessor"] == preprocessor]


def _is_lean(run: Run) -> bool:
    return run.info["config"].get("learner", {}).get("name") == "lean"


def _lean(runs: Iterable[Run], preprocessor: str) -> Run | None:
    return next((run for run in _with(runs, preprocessor) if _is_lean(run)), None)


def _error(run: Run) -> float:
    return float(run.mean("cumulative_error")[run.steps.index(compared_step(run))])


def _verdict(comparison: Comparison) -> bool | None:
    """Whether the first run's error is clearly lower (True), clearly higher (False), or neither."""
    if comparison.difference.high < 0:
        return True
    return False if comparison.difference.low > 0 else None


_CHANGES = {True: "better", False: "worse", None: "no clear difference"}


def points(comparison: Comparison) -> str:
    """A difference, with its interval if there is one; the first run's error less the second's."""
    difference = comparison.difference
    if math.isinf(difference.low):
        return signed(difference.mean)
    return f"{signed(difference.mean)} [{signed(difference.low)}, {signed(difference.high)}]"


def _equals(p: float) -> str:
    shown = p_text(p)
    return "unknown" if shown == "-" else shown if shown[0] == "<" else f"= {shown}"


def _percent(run: Run) -> str:
    return f"{100 * _error(run):.1f}\N{NO-BREAK SPACE}%"


def scores(preprocessor: str) -> str:
    """How people call features after a preprocessor."""
    name, _, seen = preprocessor.partition(" ")
    return _SCORES.get(name, name) + (f" {seen}" if seen else "")


def _and(words: list[str]) -> str:
    return (
        " and ".join(words)
        if len(words) < 3
        else f"{', '.join(words[:-1])} and {words[-1]}"
    )
