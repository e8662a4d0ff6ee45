"""What a sweep shows, in words: does rich supervision help, on which features, and what do its controls say?

Runs are matched by their settings, not by their names: a control is a run that differs from another in one thing.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rsbench.compare import Comparison, compare_pair, compared_step, holm
from rsbench.report.labels import flatten, swept_axis
from rsbench.results import Run

_SCORES = {"none": "raw", "center": "centred", "standardize": "standardised", "l2": "normalised"}


@dataclass(frozen=True)
class Control:
    """A way in which a run differs from the one it is a control of: the setting, and how people call it."""

    keys: tuple[str, ...]
    value: Any
    words: str
    to_lean: bool = False


#: Each is looked for among the settings that may tell a run from its counterpart; None stands for any value.
CONTROLS = (
    Control(("annotation.name",), "shuffled", "Annotations shuffled between samples", True),
    Control(("annotation.name",), "random", "As many marks on random features", True),
    Control(("aggregator.name",), "none", "Every feature marked (all ones)"),
    Control(("aggregator.relevant", "aggregator.irrelevant"), None, "A soft mask in place of the hard one", True),
    Control(("aggregator.scope",), "seen", "Only votes seen so far, not the whole pool's"),
    Control(("learner.variant",), "pa", "Steps that correct the margin exactly"),
    Control(("tune.learner.C",), None, "C tuned on held-out classes"),
)

_WHY_SHUFFLED_HELPS = (
    "Shuffled annotations are not no annotations: they still say which features are marked often, and how few are, "
    "so each step leaves most of the scores' common mean alone, which on raw scores is what costs lean learning most."
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
        return f"{told}; against lean {_on_each(self.to_lean)}." if self.to_lean else f"{told}."


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
    for key, words in (("learner.variant", "With exact steps"), ("tune", "With C tuned")):
        family = [run for run in runs if any(name.startswith(key) for name in _settings_of_controls(run))]
        controlled += _about_scores(family, words)
    if any(_beats_lean(contrast) for contrast in contrasts if contrast.control.value == "shuffled"):
        controlled.append(_WHY_SHUFFLED_HELPS)
    # With a setting swept beside them, methods are compared at each of its values.
    axis = swept_axis(runs)
    claims = _about_axis(runs, *axis) if axis else _about_scores(plain, "")
    return Findings(_note(runs), tuple(claims), contrasts, tuple(controlled))


def _note(runs: list[Run]) -> str:
    sure = "one seed: no certainty"
    if runs[0].seeds > 1:
        sure = "in brackets the 95 % interval of each difference by itself; clearly better: after Holm's correction"
    simulated = any(run.info["data"].get("simulated") for run in runs)
    note = f"Cumulative error at {compared_step(runs[0])} {runs[0].info['unit']}, in points; {sure}."
    return ("SIMULATED data, evidence of nothing. " if simulated else "") + note


def _about_scores(runs: list[Run], family: str) -> Iterator[str]:
    """For each kind of features whether rich supervision beats lean learning; and where the kinds disagree."""
    helped: dict[str, bool] = {}
    for name in dict.fromkeys(run.info["preprocessor"] for run in runs):
        lean, rich = _lean(runs, name), [run for run in _with(runs, name) if not _is_lean(run)]
        if lean is None or not rich:
            continue
        comparisons = [compare_pair(run, lean) for run in rich]
        clear = [run for run, better in zip(rich, _clearly_better(comparisons), strict=True) if better]
        helped[name] = bool(clear)
        best = min(clear or rich, key=_error)
        comparison = comparisons[rich.index(best)]
        verb = "helps" if clear else _HELPS[_verdict(comparison) is False]
        yield (
            f"{f'{family}, on' if family else 'On'} {scores(name)} scores rich supervision {verb}: the best method "
            f"with it, {best.info['method']}, has {points(comparison)} against {lean.info['method']} "
            f"({_percent(best)} and {_percent(lean)}); {len(clear)} of {len(rich)} clearly better."
        )
    of = f" {family[0].lower()}{family[1:]}" if family else ""
    where, not_where = ([scores(name) for name in helped if helped[name] is is_so] for is_so in (True, False))
    if where and not_where:
        yield f"So{of} rich supervision helps on {_and(where)} scores, not on {_and(not_where)} ones."
    if len(helped) > 1:
        best = min((run for run in runs if run.info["preprocessor"] in helped), key=_error)
        where_best = scores(best.info["preprocessor"])
        yield f"Best of these{of}: {best.info['method']} on {where_best} scores, {_percent(best)}."


def _about_axis(runs: list[Run], key: str, values: list[float]) -> Iterator[str]:
    """For each method how its error follows the swept setting, and where it is clearly better than lean learning."""
    at = dict(zip(map(id, runs), values, strict=True))
    for preprocessor in dict.fromkeys(run.info["preprocessor"] for run in runs):
        mine = sorted(_with(runs, preprocessor), key=lambda run: at[id(run)])
        leans = {at[id(run)]: run for run in mine if _is_lean(run)}
        rich = [run for run in mine if not _is_lean(run) and at[id(run)] in leans]
        comparisons = [compare_pair(run, leans[at[id(run)]]) for run in rich]
        clear = [run for run, better in zip(rich, _clearly_better(comparisons), strict=True) if better]
        for method in dict.fromkeys(run.info["method"] for run in mine):
            own = [run for run in mine if run.info["method"] == method]
            line = (
                f"On {scores(preprocessor)} scores {method} goes from {_percent(own[0])} at {key}={at[id(own[0])]:g} "
                f"to {_percent(own[-1])} at {at[id(own[-1])]:g}"
            )
            if any(run in rich for run in own):
                better = [f"{at[id(run)]:g}" for run in own if run in clear]
                line += (
                    f"; clearly better than lean at {_and(better)}" if better else "; nowhere clearly better than lean"
                )
            yield f"{line}."


def _clearly_better(comparisons: list[Comparison]) -> list[bool]:
    """Which first runs have the lower error, by tests corrected for each other (Holm)."""
    corrected = holm([comparison.p_corrected for comparison in comparisons])
    return [p < 0.05 and c.difference.mean < 0 for p, c in zip(corrected, comparisons, strict=True)]


def _contrasts(runs: list[Run], plain: list[Run]) -> Iterator[Contrast]:
    """For each control, and each method that has it, what it changes on each kind of features."""
    for control in CONTROLS:
        pairs = [(run, other) for run in runs if (other := _counterpart(run, plain, control)) is not None]
        for method in dict.fromkeys(other.info["method"] for _, other in pairs):
            mine = [(run, other) for run, other in pairs if other.info["method"] == method]
            leans = [(run, _lean(plain, run.info["preprocessor"])) for run, _ in mine] if control.to_lean else []
            yield Contrast(
                control,
                method,
                {run.info["preprocessor"]: compare_pair(run, other) for run, other in mine},
                {run.info["preprocessor"]: compare_pair(run, lean) for run, lean in leans if lean is not None},
            )


def _on_each(comparisons: dict[str, Comparison]) -> str:
    """The differences on each kind of features."""
    return ", ".join(f"{scores(name)} {points(c)} ({change(c)})" for name, c in comparisons.items())


def change(comparison: Comparison) -> str:
    """What a control does to the error, in a word."""
    if math.isinf(comparison.difference.low):
        return "one seed"
    return _CHANGES[_verdict(comparison)]


def _beats_lean(contrast: Contrast) -> bool:
    return any(_verdict(comparison) is True for comparison in contrast.to_lean.values())


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
    found = {key: flat[key] for key, value in usual.items() if key in flat and value not in (None, flat[key])}
    if "aggregator.relevant" in found and "aggregator.irrelevant" in flat:
        found["aggregator.irrelevant"] = flat["aggregator.irrelevant"]
    if flat.get("aggregator.name") == "none" and flat.get("learner.name") in ("ellipsotron", "feature_scaling"):
        found["aggregator.name"] = "none"
    return found | {key: value for key, value in flat.items() if key.startswith("tune.")}


def _counterpart(run: Run, plain: list[Run], control: Control) -> Run | None:
    """The plain run that differs from this one in just that control; None if the run is no such control."""
    changed = _settings_of_controls(run)
    if not changed or not set(changed) <= set(control.keys) or control.value not in (None, *changed.values()):
        return None
    ignored = (*control.keys, *(("aggregator.",) if control.keys == ("aggregator.name",) else ()))

    def settings(of: Run) -> dict[str, Any]:
        kept = ("learner.", "aggregator.", "annotation.", "preprocessor.", "tune.")
        flat = flatten(of.info["config"])
        return {key: value for key, value in flat.items() if key.startswith(kept) and not key.startswith(ignored)}

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


_HELPS = {True: "does harm", False: "shows no clear gain"}
_CHANGES = {True: "better", False: "worse", None: "no clear difference"}


def points(comparison: Comparison) -> str:
    """A difference, with its interval if there is one; the first run's error less the second's."""
    difference = comparison.difference
    mean, low, high = (_signed(value) for value in (difference.mean, difference.low, difference.high))
    return mean if math.isinf(difference.low) else f"{mean} [{low}, {high}]"


def _signed(value: float) -> str:
    """Points with their sign; nothing is +0.0, however it was rounded."""
    return f"{100 * value:+.1f}".replace("-0.0", "+0.0") if abs(value) < 0.0005 else f"{100 * value:+.1f}"


def _percent(run: Run) -> str:
    return f"{100 * _error(run):.1f}\N{NO-BREAK SPACE}%"


def scores(preprocessor: str) -> str:
    """How people call features after a preprocessor."""
    name, _, seen = preprocessor.partition(" ")
    return _SCORES.get(name, name) + (f" {seen}" if seen else "")


def _and(words: list[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"
