"""What tells runs apart, so that tables and figures name just that."""

import math
import shlex
from pathlib import Path
from typing import Any

from rsbench.core.statistics import comparison_key
from rsbench.errors import UserError, is_number
from rsbench.store.record import Run, read_sweep, sweep_folder

#: Settings that methods and record keeping change by themselves; they do not tell runs apart.
_IMPLIED = (
    "learner.name",
    "aggregator.name",
    "preprocessor.name",
    "preprocessor.fit_on",
    "theta",
    "tracking",
)

_SELECT_CLASSES = (
    "protocol.min_samples",
    "protocol.max_samples",
    "protocol.classes",
    "dataset.classes",
)


def flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def varying(runs: list[Run]) -> dict[str, list[Any]]:
    """Settings beside method and preprocessor that differ between runs of one method."""
    flats = [flatten(run.info["config"]) for run in runs]
    found: dict[str, list[Any]] = {}
    if len({run.info["classes"] for run in runs}) > 1:
        found["classes"] = [run.info["classes"] for run in runs]
    for key in dict.fromkeys(key for flat in flats for key in flat):
        values = [flat.get(key) for flat in flats]
        if key.startswith(_IMPLIED) or not _differs_within_method(runs, values):
            continue
        if key in _SELECT_CLASSES and _follows(values, found.get("classes", [])):
            continue  # their number says it better
        found[key] = values
    # Where a component itself differs, its name says it and its parameters have nothing to be compared with.
    kinds = {key.removesuffix("name") for key in found if key.endswith(".name")}
    return {
        key: values
        for key, values in found.items()
        if key.endswith(".name") or not key.startswith(tuple(kinds))
    }


def swept_axis(runs: list[Run]) -> tuple[str, list[float]] | None:
    """The one numeric setting that was swept, if there is just one."""
    found = varying(runs)
    if len(found) != 1:
        return None
    ((key, values),) = found.items()
    return (key, values) if all(map(is_number, values)) else None


def _follows(values: list[Any], classes: list[int]) -> bool:
    """Whether the number of classes tells the values apart."""
    return bool(classes) and len(
        {*zip(classes, map(repr, values), strict=True)}
    ) == len({*classes})


def _differs_within_method(runs: list[Run], values: list[Any]) -> bool:
    by_method: dict[tuple[str, str], set[str]] = {}
    for run, value in zip(runs, values, strict=True):
        by_method.setdefault((run.info["method"], run.info["preprocessor"]), set()).add(
            repr(value)
        )
    return any(len(values) > 1 for values in by_method.values())


def signed(value: float) -> str:
    """A difference of errors in points, with its sign; nothing is +0.0, however it was rounded."""
    shown = f"{100 * value:+.1f}"
    return "+0.0" if shown == "-0.0" else shown


def p_text(p: float) -> str:
    """A p value as people write it."""
    return "-" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def is_simulated(runs: list[Run]) -> bool:
    """Whether any of the data are simulated."""
    return any(run.info["data"]["simulated"] for run in runs)


def hints(runs: list[Run]) -> list[str]:
    """How to come by the real data, a sentence each."""
    told = dict.fromkeys(run.info["data"].get("how_to_get_real") for run in runs)
    return [f"{hint}." for hint in told if hint]


def data_label(runs: list[Run]) -> str:
    """The data sets of the runs, with a warning where they are simulated."""
    names = dict.fromkeys(
        (_data_name(run), run.info["data"]["simulated"]) for run in runs
    )
    return ", ".join(
        f"{name} (SIMULATED)" if simulated else name for name, simulated in names
    )


def group_titles(firsts: list[Run]) -> list[str]:
    """What groups of runs have in common, by the first of each; where that does not tell them apart, what does."""
    titles = [_group_title(run) for run in firsts]
    return [
        title if titles.count(title) == 1 else f"{title}, {_telling(run)}"
        for title, run in zip(titles, firsts, strict=True)
    ]


def _group_title(run: Run) -> str:
    reach = f"{run.info['classes']} classes, up to {run.steps[-1]} {run.info['unit']}"
    return (
        f"{data_label([run])}, {reach}, {run.seeds} seed{'' if run.seeds == 1 else 's'}"
    )


def _telling(run: Run) -> str:
    key = comparison_key(run)
    protocol = " ".join(
        f"{name}={value}"
        for name, value in (key["protocol"] or {}).items()
        if value is not None
    )
    sizes = " ".join(
        f"{name} {n}" for name, n in (key["samples"] or {"sizes": "unknown"}).items()
    )
    return f"seeds from {key['seeds'][0]}, {sizes}, {protocol}, data {str(key['data'])[:8]}"


def data_details(runs: list[Run]) -> list[str]:
    """A line for each thing to know of how the data came about, such as the detectors' quality."""
    lines = []
    for run in runs:
        for what, facts in run.info["data"].get("details", {}).items():
            told = ", ".join(
                f"{key.replace('_', ' ')} {_brief(value)}"
                for key, value in facts.items()
            )
            lines.append(f"{what.replace('_', ' ').capitalize()}: {told}.")
    return list(dict.fromkeys(lines))


def _brief(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def command(words: list[str]) -> str:
    """A command line to type."""
    return shlex.join(["python", "-m", "rsbench", *words])


def commands(runs: list[Run], most: int = 50) -> list[str]:
    """The commands that compute these runs: those of their sweeps, or of the runs themselves."""
    found: dict[str, None] = {}
    for run in runs:
        try:
            sweep = read_sweep(sweep_folder(run.folder)) or {}
        except UserError:  # damaged; the runs' own settings are left
            sweep = {}
        found[command(sweep.get("command") or run.info["overrides"])] = None
    return [
        *list(found)[:most],
        *([f"# and {len(found) - most} more"] if len(found) > most else []),
    ]


def _data_name(run: Run) -> str:
    settings = run.info["config"].get("dataset", {})
    path = settings.get("path") or (
        settings.get("root") if str(settings.get("root")).endswith(".npz") else None
    )
    return (
        f"{run.info['data']['name']} {Path(path).name}"
        if path
        else run.info["data"]["name"]
    )
