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
    "experiment": "string",
    "data": "string",
    "simulated": "bool",
    "classes": "int64",
    "unit": "string",
    "fingerprint": "string",
    "changed": "string",
}


def frame(runs: Sequence[Run]) -> "pd.DataFrame":
    """Return one row per run, seed and step, in that order.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs.

    Returns
    -------
    DataFrame
        Columns are those of `DTYPES`. Measures are as in curves.csv: errors are
        fractions. `told` is what the method was told beyond labels, `changed` the
        settings that differ from the method's own, as JSON.
    """
    import pandas as pd

    columns: dict[str, list[Any]] = {name: [] for name in DTYPES}
    for run in runs:
        # Whatever the order in the file: seeds, and steps within them.
        order = np.lexsort([run.curves["step"], run.curves["seed"]])
        about = _about(run)
        for name, parts in columns.items():
            if name in run.curves:
                parts.append(run.curves[name][order])
            else:
                parts.append(np.full(len(order), about[name], dtype=object))
    series = {}
    for name, parts in columns.items():
        # Without runs there is still a table, with all of its columns.
        values = np.concatenate([np.empty(0, dtype=object), *parts])
        series[name] = pd.Series(values).astype(DTYPES[name])
    return pd.DataFrame(series)


def _about(run: Run) -> dict[str, Any]:
    """Return what all rows of a run say of it."""
    info = run.info
    return {
        "method": info.method,
        "control": info.control,
        "told": info.told.value,
        "preprocessor": info.preprocessor,
        "fitted_on_stream": info.fitted_on_stream,
        "draw": info.draw,
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
