"""Finished runs that nobody ran, for tests of what is made of them."""

from pathlib import Path

import numpy as np

from rsbench.core.components import Told
from rsbench.core.measures import MEASURES
from rsbench.store.record import Run, make_run, write_record
from rsbench.store.run_info import DataInfo, RunInfo, SplitSizes


def data(**changes):
    about = {"name": "cub", "identity": "abc", "simulated": False}
    return DataInfo(**{**about, **changes})


def info(method="lean", seeds=2, **changes):
    """What a record would say of a run; a control is one of its method."""
    control = changes.get("control")
    changed = changes.get("changed", {})
    preprocessor = changes.get("preprocessor", "none")
    words = [f"{method} ({control})" if control else method]
    words += [preprocessor] if preprocessor != "none" else []
    words += [f"{key}={value}" for key, value in changed.items()]
    about = {
        "id": "0",
        "method": method,
        "control_of": method if control else None,
        "told": Told.NOTHING if method == "lean" else Told.VOTES,
        "preprocessor": preprocessor,
        "label": " ".join(words),
        "config": {
            "learner": {"name": method, "C": 1.0},
            "protocol": {"name": "per_class"},
        },
        "overrides": ("+experiment=cub", f"method={method}"),
        "fingerprint": " ".join(words),
        "seeds": tuple(range(seeds)),
        "data": data(),
        "classes": 5,
        "samples": SplitSizes(pool=100, test=60),
        "unit": "samples per class",
    }
    return RunInfo(**{**about, **changes})


def rows(values, steps=None):
    """The rows of curves in which every measure has these values, (steps, seeds)."""
    values = np.asarray(values, float)
    found = []
    for seed in range(values.shape[1]):
        for i, step in enumerate(steps or range(1, len(values) + 1)):
            measures = dict.fromkeys(MEASURES, float(values[i, seed]))
            found.append({"seed": seed, "step": step, "samples": 4 * step, **measures})
    return found


def run(values, method="lean", steps=None, folder=Path("x"), **changes) -> Run:
    """A run whose every measure has these values, (steps, seeds)."""
    seeds = np.shape(values)[1]
    return make_run(folder, info(method, seeds, **changes), rows(values, steps))


def write(
    folder, method="lean", level=0.5, seeds=3, steps=range(1, 26), **changes
) -> Run:
    """A finished run on disk whose error falls from `level` on."""
    folder.mkdir(parents=True)
    noise = 0.01 * np.random.default_rng(len(method)).random(seeds)
    values = level + noise - 0.01 * np.array([steps]).T
    classes = []
    for seed in range(seeds):
        for c in range(4):
            row = {"seed": seed, "class": f"bird {c}", "samples": 10}
            classes.append({**row, "test_error": 0.1 * c})
    usual = {
        "experiment": "cub",
        "classes": 4,
        "data": data(simulated=True, how_to_get_real="Fetch it"),
        "bound": {"as_printed": 12.5, "scale_free_ratio": 0.5},
        "versions": {"numpy": "1"},
        "fingerprint": f"{method} {level}",
    }
    about = info(method, seeds, **{**usual, **changes})
    return write_record(folder, about, rows(values, list(steps)), classes)
