"""Finished runs that nobody ran, for tests of what is made of them."""

import zlib
from pathlib import Path

import numpy as np

from rsbench.core.items import TestItems
from rsbench.core.measures import MEASURES
from rsbench.core.told import Told
from rsbench.store.record import Run, make_run, write_record
from rsbench.store.run_info import (
    Counterpart,
    CounterpartKind,
    DataInfo,
    RunInfo,
    SplitSizes,
)


def data(**changes):
    about = {"name": "cub", "identity": "abc", "simulated": False}
    return DataInfo(**{**about, **changes})


def info(method="lean", seeds=2, **changes):
    """What a record would say of a run; a control is one of its method.

    `seeds` are their numbers, or how many there are.
    """
    if isinstance(seeds, int):
        seeds = tuple(range(seeds))
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
        "seeds": seeds,
        "data": data(),
        "classes": 5,
        "samples": SplitSizes(pool=100, test=60),
        "unit": "samples per class",
    }
    return RunInfo(**{**about, **changes})


def rows(values, steps=None, seeds=None, draws=None):
    """The rows of curves in which every measure has these values.

    Values are of shape (steps, seeds), or (steps, draws, seeds).
    """
    values = np.asarray(values, float)
    if values.ndim == 2:
        values = values[:, None]
    found = []
    for d, draw in enumerate(draws or range(values.shape[1])):
        for s, seed in enumerate(seeds or range(values.shape[2])):
            for i, step in enumerate(steps or range(1, len(values) + 1)):
                measures = dict.fromkeys(MEASURES, float(values[i, d, s]))
                place = {"draw": draw, "seed": seed, "step": step, "samples": 4 * step}
                found.append({**place, **measures})
    return found


def run(values, method="lean", steps=None, folder=Path("x"), **changes) -> Run:
    """A run whose every measure has these values, (steps, seeds) or (steps, draws, seeds).

    `counterpart` is another run, `kind` how it relates to the method, `tested` the test
    items by draw and seed, `test_error` values of that measure that differ from others.
    """
    shape = np.shape(values)
    counterpart = changes.pop("counterpart", None)
    kind = changes.pop("kind", CounterpartKind.EQUAL)
    tested = changes.pop("tested", None)
    test_error = changes.pop("test_error", None)
    if counterpart is not None:
        about = counterpart.info
        changes["counterpart"] = Counterpart(kind, about.method, about.fingerprint)
    if len(shape) == 3:
        changes.setdefault("draws", tuple(range(shape[1])))
    places = {"steps": steps, "seeds": changes.get("seeds")}
    places["draws"] = changes.get("draws")
    made = rows(values, **places)
    if test_error is not None:
        for row, other in zip(made, rows(test_error, **places), strict=True):
            row["test_error"] = other["test_error"]
    about = info(method, **{"seeds": shape[-1], **changes})
    return make_run(folder, about, made, tested=tested, counterpart=counterpart)


def around(
    level, method="lean", *, steps=20, seeds=5, draws=None, noise=0.002, **changes
):
    """A run whose mean is an error, with a little noise of its own from seed to seed."""
    name = f"{method} {changes.get('preprocessor')} {changes.get('control')}"
    rng = np.random.default_rng(zlib.crc32(f"{name} {changes.get('changed')}".encode()))
    shape = (steps, seeds)
    if draws is not None:
        shape = (steps, draws, seeds)
    spread = noise * rng.normal(size=shape)
    # Means are exactly as asked for, whatever the noise.
    spread -= (
        spread.reshape(steps, -1).mean(axis=1).reshape(-1, *[1] * (len(shape) - 1))
    )
    return run(level + spread, method, **changes)


def with_counterpart(level, without, method="ellipsotron", **changes) -> Run:
    """A method around an error, and lean around another as its counterpart.

    The counterpart has a fingerprint of its own: it is no run of the sweep.
    """
    own = {"kind", "control", "told", "test_error", "counterpart"}
    shared = {key: value for key, value in changes.items() if key not in own}
    counterpart = around(without, "lean", **shared)
    return around(level, method, counterpart=counterpart, **changes)


def items(wrong, steps=None) -> TestItems:
    """Test samples of one seed that were wrong or right, (steps, items)."""
    wrong = np.asarray(wrong, bool)
    n = wrong.shape[1]
    return TestItems(
        steps=np.array(steps or range(1, len(wrong) + 1)),
        items=np.arange(n),
        labels=np.zeros(n, int),
        wrong=wrong,
        margin_steps=np.empty(0, int),
        margins=np.empty((0, n), np.float32),
    )


def on_fixed_test(wrong, method="lean", **changes) -> Run:
    """A run whose seeds share a test set, from wrong of shape (seeds, steps, items)."""
    wrong = np.asarray(wrong, bool)
    errors = wrong.mean(axis=2).T
    tested = {(0, seed): items(each) for seed, each in enumerate(wrong)}
    usual = {"samples": SplitSizes(pool=1600, test=wrong.shape[2], fixed_test=True)}
    cumulative = errors.cumsum(axis=0) / np.arange(1, len(errors) + 1)[:, None]
    about = {**usual, **changes}
    return run(cumulative, method, tested=tested, test_error=errors, **about)


def write(
    folder, method="lean", level=0.5, seeds=3, steps=range(1, 26), **changes
) -> Run:
    """A finished run on disk whose error falls from `level` on."""
    folder.mkdir(parents=True)
    own = zlib.crc32(f"{method} {level}".encode())
    noise = 0.01 * np.random.default_rng(own).random(seeds)
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
    counterpart = changes.pop("counterpart", None)
    if counterpart is not None:
        about = counterpart.info
        kind = CounterpartKind.EQUAL
        usual["counterpart"] = Counterpart(kind, about.method, about.fingerprint)
    about = info(method, seeds, **{**usual, **changes})
    made = make_run(
        folder, about, rows(values, list(steps)), classes, counterpart=counterpart
    )
    return write_record(folder, made)
