"""What tests share that needs no setting up: words of commands, and looking at results."""

import dataclasses
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent

#: A data set small enough for a whole command to take about a second.
SMALL = (
    "dataset.classes=4",
    "dataset.samples=12",
    "protocol.samples_per_class=5",
    "seeds=2",
)

#: A sweep of naps, for tests that interrupt it; see dawdler.py.
DAWDLE = ("-m", "method=dawdler", "tracking=none", *SMALL)


def run_command(*args, cwd, env=None, timeout=120):
    """Run `python -m rsbench` and return the finished process.

    Tests have it as the fixture `rsbench`, which runs it in their own folder.
    """
    return subprocess.run(
        [sys.executable, "-m", "rsbench", *args],
        cwd=cwd,
        env={**os.environ, "RSBENCH_DATA": "data", **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def dawdling(folder):
    """Return the environment of a sweep of naps, its diary and caches in a folder."""
    return {
        "RSBENCH_PLUGINS": str(ROOT / "tests" / "dawdler"),
        "RSBENCH_TEST_DIARY": str(folder / "diary"),
        "RSBENCH_CACHE": str(folder / "cache"),
    }


def dawdle(folder, *args, check=True, **env):
    """Run a sweep without naps in a folder; return the finished process."""
    environment = {**dawdling(folder), **env}
    done = run_command(*DAWDLE, "learner.nap=0", *args, cwd=folder, env=environment)
    assert not check or done.returncode == 0, done.stderr
    return done


def diary(folder):
    """Return how many seeds each job of such sweeps began, by its C."""
    path = folder / "diary"
    if not path.exists():
        return Counter()
    return Counter(float(line.split()[0]) for line in path.read_text().splitlines())


def curves_of(folder):
    """Return the bytes of each job's curves.csv in a sweep's folder."""
    curves = {}
    for path in Path(folder).glob("*/curves.csv"):
        curves[path.parent.name] = path.read_bytes()
    return curves


def wait_for(ready, seconds=60):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


def same(one, two):
    """Tell whether two results of a seed are the same, to the last bit."""
    try:
        np.testing.assert_equal(dataclasses.asdict(one), dataclasses.asdict(two))
    except AssertionError:
        return False
    return True
