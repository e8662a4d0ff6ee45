"""What tells runs apart, and how tables, figures and sentences name it."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsbench.core.told import Told, Track
from rsbench.errors import UserError, is_number
from rsbench.store.record import Run
from rsbench.store.settings import declared
from rsbench.store.sweep import read_sweep, sweep_folder

#: What steps count where all classes get as many samples; else they count all samples.
PER_CLASS = "samples per class"

#: Shown as a dash: what a run does not have.
NONE = "–"

#: Methods, controls and features imply these; tables name those instead, so that a
#: sweep over methods is not taken for one over learners.
_IMPLIED = frozenset(
    {
        "learner.name",
        "aggregator.name",
        "preprocessor.name",
        "preprocessor.fit_on",
        # The aggregator of a method takes it over, where it has one.
        "theta",
    }
)

#: Settings that select classes: where the number of classes tells runs apart, it says
#: it better, and is a number to draw against.
_SELECT_CLASSES = frozenset(
    {
        "protocol.min_samples",
        "protocol.max_samples",
        "protocol.classes",
        "dataset.classes",
    }
)

#: Sentences speak of scores, as those of attribute detectors are.
_SCORES = {
    "none": "raw",
    "center": "centred",
    "standardize": "standardised",
    "scale": "scaled",
    "l2": "normalised",
    "tuned": "the best",
}


@dataclass(frozen=True)
class Features:
    """The features that a run learns on: a preprocessor, and what it is fitted on."""

    preprocessor: str
    fitted_on_stream: bool = False

    @property
    def words(self) -> str:
        """How sentences call them, such as "centred" in "on centred scores"."""
        word = _SCORES.get(self.preprocessor, self.preprocessor)
        if self.fitted_on_stream:
            return f"{word} (seen)"
        return word


RAW = Features("none")

#: In place of a preprocessor that was chosen on held-out classes.
TUNED = "tuned"


def features_of(run: Run) -> Features:
    """Return the features that a run learns on."""
    return Features(run.info.preprocessor, run.info.fitted_on_stream)


def features_among(runs: Sequence[Run]) -> list[Features]:
    """Return the features that runs learn on, in the order of their first ones."""
    return in_order([features_of(run) for run in runs])


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by their dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def settings_among(runs: Sequence[Run], missing: Any = None) -> dict[str, list[Any]]:
    """Return all settings of runs by their dotted keys, with the value of each run.

    `missing` stands for the value of runs whose components do not have the setting.
    """
    flats = []
    for run in runs:
        config = dict(run.info.config)
        # Where a run is tracked changes nothing about it.
        config.pop("tracking", None)
        flats.append(flatten(config))
    keys: list[str] = []
    for flat in flats:
        keys += flat
    found = {}
    for key in in_order(keys):
        found[key] = [flat.get(key, missing) for flat in flats]
    return found


def as_key(value: Any) -> str:
    """Return a setting's value as text that is the same for the same value.

    Values may be lists and dicts, which cannot be keys themselves.
    """
    return json.dumps(value, sort_keys=True, default=str)


def varying(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """Return settings in which runs of one method, control and features differ.

    Returns
    -------
    dict
        By dotted key, the value of each run; `classes` stands for the number of them.
    """
    found: dict[str, list[Any]] = {}
    classes = [run.info.classes for run in runs]
    if len(set(classes)) > 1:
        found["classes"] = classes
    for key, values in settings_among(runs).items():
        if key in _IMPLIED or not _differs_within_method(runs, values):
            continue
        if key in _SELECT_CLASSES and _follows(values, classes):
            continue
        found[key] = values
    return _without_other_components(found)


def _differs_within_method(runs: Sequence[Run], values: Sequence[Any]) -> bool:
    """Tell whether a setting has two values among runs of one method."""
    seen: dict[tuple[str, str | None, Features], str] = {}
    for run, value in zip(runs, values, strict=True):
        # Learners of different methods have different parameters anyway.
        method = (run.info.method, run.info.control, features_of(run))
        first = seen.setdefault(method, as_key(value))
        if as_key(value) != first:
            return True
    return False


def _follows(values: Sequence[Any], classes: Sequence[int]) -> bool:
    """Tell whether the number of classes tells the values apart."""
    if len(set(classes)) < 2:
        return False
    pairs = set(zip(classes, map(as_key, values), strict=True))
    # As many pairs as counts: each count goes with one value alone.
    return len(pairs) == len(set(classes))


def _without_other_components(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Drop parameters of components that differ themselves: their names say it.

    One component's parameters have nothing to be compared with in another's.
    """
    differing = set()
    for key in found:
        kind, _, parameter = key.partition(".")
        if parameter == "name":
            differing.add(kind)
    kept = {}
    for key, values in found.items():
        kind, _, parameter = key.partition(".")
        if parameter == "name" or kind not in differing:
            kept[key] = values
    return kept


def swept_axis(runs: Sequence[Run]) -> tuple[str, list[float]] | None:
    """Return the one numeric setting that was swept and its values, if there is one."""
    found = varying(runs)
    # With two, no line would show what either of them does.
    if len(found) != 1:
        return None
    ((key, values),) = found.items()
    if not all(map(is_number, values)):
        return None
    return key, values


def in_order(values: Sequence[Any]) -> list[Any]:
    """Return each value once, in the order of their first appearance."""
    return list(dict.fromkeys(values))


def brief(value: Any) -> str:
    """Return a setting's value as a table shows it."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def signed(value: float) -> str:
    """Return a difference of errors in points, with its sign."""
    shown = f"{100 * value:+.1f}"
    if shown == "-0.0":  # which would say that something was gained
        return "+0.0"
    return shown


def p_text(p: float) -> str:
    """Return a p value as people write it."""
    if math.isnan(p):
        return NONE
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}"


def plural(n: int, word: str) -> str:
    """Return a count with its noun."""
    if n == 1:
        return f"1 {word}"
    return f"{n} {word}s"


def and_list(words: Sequence[str]) -> str:
    """Return words as a sentence lists them: "a", "a and b", "a, b and c"."""
    if len(words) < 3:
        return " and ".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def repeats_text(run: Run) -> str:
    """Return what a run was repeated over, such as "3 draws of 5 seeds each"."""
    if run.n_draws == 1:
        return plural(run.n_seeds, "seed")
    drawn = run.info.data.drawn
    draws = plural(run.n_draws, "draw")
    if drawn is not None:
        draws = f"{draws} of {drawn.classes} of {drawn.of} classes"
    if run.n_seeds == 1:
        return f"{draws}, 1 seed each"
    return f"{draws}, {run.n_seeds} seeds each"


def voters(run: Run) -> int:
    """Return how many samples class votes come from: those that were annotated."""
    sizes = run.info.samples
    if sizes is None:
        return 0
    return round(sizes.pool * run.info.given.get("annotated", 1.0))


def tracks_among(runs: Sequence[Run]) -> list[Track]:
    """Return the tracks of runs, those that are told less first."""
    found = {run.info.track for run in runs}
    return sorted(found, key=lambda track: track.order)


def told_text(run: Run) -> str:
    """Return what a run was told; of class votes, how many samples they come from.

    Votes of a whole pool say more than those of the samples learned from.
    """
    told = run.info.told
    sizes = run.info.samples
    if told is not Told.CLASS_VOTES or sizes is None:
        return run.info.track.text
    counted = f"{told.value} of {voters(run):,} samples"
    if sizes.learned:
        counted = f"{counted}; {sizes.learned:,} learned from"
    return run.info.track.with_samples(counted)


def units(runs: Sequence[Run]) -> str:
    """Return what the steps of runs count."""
    return " / ".join(in_order([run.info.unit for run in runs]))


def is_simulated(runs: Sequence[Run]) -> bool:
    """Tell whether any of the data are simulated."""
    return any(run.info.data.simulated for run in runs)


def hints(runs: Sequence[Run]) -> list[str]:
    """Return how to come by the real data, a sentence each."""
    told = []
    for run in runs:
        hint = run.info.data.how_to_get_real
        if hint:
            told.append(f"{hint}.")
    return in_order(told)


def data_label(runs: Sequence[Run]) -> str:
    """Return the names of the data sets, with a warning where they are simulated."""
    names = []
    for run in runs:
        name = _data_name(run)
        if run.info.data.simulated:
            name = f"{name} (SIMULATED)"
        names.append(name)
    return ", ".join(in_order(names))


def _data_name(run: Run) -> str:
    """Return the data set's name, with the file's where the data are a file."""
    # Of many files called arrays, the name of the data set says nothing.
    settings = run.info.config.get("dataset", {})
    path = settings.get("path")
    # A `root` is a folder, or one file with features that were made elsewhere.
    root = settings.get("root")
    if not path and root is not None and Path(str(root)).suffix == ".npz":
        path = root
    if not path:
        return run.info.data.label
    return f"{run.info.data.label} {Path(path).name}"


def changed_for_all(runs: Sequence[Run]) -> list[str]:
    """Return a line on settings that all runs share and that are not their methods'.

    No column shows what all runs have in common. But a method that learned from
    shuffled annotations is not the method that its name promises.
    """
    shared = []
    for key, value in runs[0].info.changed.items():
        changes_numbers = declared(key).changes_results
        if changes_numbers and all(run.info.changed.get(key) == value for run in runs):
            shared.append(f"{key}={value}")
    if not shared:
        return []
    return [f"Changed for all runs: {', '.join(shared)}."]


def data_details(runs: Sequence[Run]) -> list[str]:
    """Return a line for each thing to know of how the data came about.

    The quality of the attribute detectors is such a thing.
    """
    lines = []
    for run in runs:
        for what, facts in run.info.data.details.items():
            told = []
            for key, value in facts.items():
                told.append(f"{_in_words(key)} {_fact(value)}")
            lines.append(f"{_in_words(what).capitalize()}: {', '.join(told)}.")
    return in_order(lines)


def _in_words(key: str) -> str:
    return key.replace("_", " ")


def _fact(value: Any) -> str:
    """Return a value with the four digits that people read."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def fitted_on(runs: Sequence[Run]) -> list[str]:
    """Return what features rest on beside the samples: it belongs to no method.

    Detectors and preprocessors have seen other classes, whatever a method was told.
    """
    lines = []
    for run in runs:
        if "detectors" in run.info.data.details:
            lines.append(
                "Features are scores of attribute detectors, trained on annotated "
                "images of other classes."
            )
    on_background = []
    on_stream = []
    for run in runs:
        if run.info.fitted_on_stream:
            on_stream.append(run.info.preprocessor)
        elif run.info.preprocessor == TUNED:
            lines.append("Preprocessed as was best on held-out classes.")
        elif features_of(run) != RAW:
            on_background.append(run.info.preprocessor)
    if on_background:
        lines.append(
            f"Preprocessed by {', '.join(in_order(on_background))}: statistics, if "
            "any, of background features (other classes, without labels and "
            "annotations)."
        )
    if on_stream:
        lines.append(
            f"Preprocessed by {', '.join(in_order(on_stream))} (seen): statistics, if "
            "any, of the stream so far."
        )
    return in_order(lines)


def command(words: Sequence[str]) -> str:
    """Return a command line to type."""
    return shlex.join(["python", "-m", "rsbench", *words])


def commands(runs: Sequence[Run], most: int = 50) -> list[str]:
    """Return the commands that compute these runs: their sweeps', or their own."""
    # The runs of a sweep share its command. Single runs each have their own, of which a
    # page lists no more than `most`.
    found = in_order([_command_of(run) for run in runs])
    shown = found[:most]
    if len(found) > most:
        shown.append(f"# and {len(found) - most} more")
    return shown


def _command_of(run: Run) -> str:
    """Return the command that computes a run: its sweep's, if it has one."""
    try:
        sweep = read_sweep(sweep_folder(run.folder))
    except UserError:  # damaged; the run's own settings are left
        sweep = None
    if sweep is not None and sweep.command:
        return command(sweep.command)
    return command(run.info.overrides)
