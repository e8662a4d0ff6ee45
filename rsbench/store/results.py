"""The numbers of finished runs as one tidy data frame, and as a file of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rsbench.core.measures import MEASURES
from rsbench.files.atomic import write_atomic
from rsbench.store.record import Run

if TYPE_CHECKING:  # takes half a second to import
    import pandas as pd

#: Columns on a method's counterpart, with the measures that they are of.
COUNTERPART_COLUMNS = {
    "counterpart_test_error": "test_error",
    "counterpart_cumulative_error": "cumulative_error",
}

#: The columns in order, with their types. Text is nullable: most runs have no control.
DTYPES = {
    "method": "string",
    "control": "string",
    "told": "string",
    "preprocessor": "string",
    "fitted_on_stream": "bool",
    "draw": "int64",
    "seed": "int64",
    "step": "int64",
    "samples": "int64",
    **dict.fromkeys(MEASURES, "float64"),
    **dict.fromkeys(COUNTERPART_COLUMNS, "float64"),
    "experiment": "string",
    "data": "string",
    "simulated": "bool",
    "classes": "int64",
    "unit": "string",
    "fingerprint": "string",
    "changed": "string",
}


def frame(runs: Sequence[Run]) -> "pd.DataFrame":
    """Return one row per run, draw, seed and step, in that order.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs.

    Returns
    -------
    DataFrame
        Columns are those of `DTYPES`. Measures are as in curves.csv: errors are
        fractions. `told` is what the method was told beyond labels,
        `counterpart_test_error` and `counterpart_cumulative_error` the errors of the
        same without annotations (NaN where it has no counterpart), `changed` the
        settings that differ from the method's own, as JSON.
    """
    import pandas as pd

    columns: dict[str, list[Any]] = {name: [] for name in DTYPES}
    for run in runs:
        order = _order(run)
        about = _about(run)
        for name, parts in columns.items():
            if name in run.curves:
                parts.append(run.curves[name][order])
            elif name in COUNTERPART_COLUMNS:
                parts.append(_of_counterpart(run, COUNTERPART_COLUMNS[name]))
            else:
                parts.append(np.full(len(order), about[name], dtype=object))
    series = {}
    for name, parts in columns.items():
        # Without runs there is still a table, with all of its columns.
        values = np.concatenate([np.empty(0, dtype=object), *parts])
        series[name] = pd.Series(values).astype(DTYPES[name])
    return pd.DataFrame(series)


def _order(run: Run) -> np.ndarray:
    """Return the rows of curves by draw, seed and step, whatever the file has."""
    return np.lexsort([run.curves[name] for name in ("step", "seed", "draw")])


def _of_counterpart(run: Run, measure: str) -> np.ndarray:
    """Return a counterpart's measure for each row of a run, in the frame's order."""
    rows = len(run.curves["step"])
    if run.counterpart is None:
        return np.full(rows, np.nan)
    known = {}
    for key, value in zip(
        _keys(run.counterpart), run.counterpart.curves[measure], strict=True
    ):
        known[key] = value
    values = [known.get(key, np.nan) for key in _keys(run)]
    return np.array(values)[_order(run)]


def _keys(run: Run) -> list[tuple[float, ...]]:
    """Return the draw, seed and step of each row of curves."""
    columns = [run.curves[name].tolist() for name in ("draw", "seed", "step")]
    return list(zip(*columns, strict=True))


def _about(run: Run) -> dict[str, Any]:
    """Return what all rows of a run say of it."""
    info = run.info
    return {
        "method": info.method,
        "control": info.control,
        "told": info.track.text,
        "preprocessor": info.preprocessor,
        "fitted_on_stream": info.fitted_on_stream,
        "experiment": info.experiment,
        "data": info.data.name,
        "simulated": info.data.simulated,
        "classes": info.classes,
        "unit": info.unit,
        "fingerprint": info.fingerprint,
        # As text, which groups and files can hold, in one order for the same settings.
        "changed": json.dumps(info.changed, sort_keys=True, default=str),
    }


def to_parquet(runs: Sequence[Run]) -> bytes:
    """Return the data frame of runs as the content of a Parquet file."""
    return frame(runs).to_parquet(None, engine="pyarrow", index=False)


def write_parquet(runs: Sequence[Run], path: Path) -> None:
    """Write the data frame of runs as a Parquet file, atomically."""
    write_atomic(path, to_parquet(runs))
