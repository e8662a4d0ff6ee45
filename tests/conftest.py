"""Shared by the tests: whole commands in a clean folder, and real data where it is present."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rsbench import registry
from rsbench.run import Spec

DEFAULTS = {
    "dataset": {"name": "synthetic"},
    "extractor": {"name": "none"},
    "preprocessor": {"name": "none"},
    "protocol": {"name": "per_class", "samples_per_class": 4},
    "annotation": {"name": "full"},
    "aggregator": {"name": "sample"},
    "learner": {"name": "ellipsotron"},
}

#: A data set small enough for a whole command to take about a second.
SMALL = ("dataset.classes=4", "dataset.samples=12", "protocol.samples_per_class=5", "seeds=2")


def rsbench(*args, cwd, env=None, timeout=120):
    """Run `python -m rsbench` and return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "rsbench", *args],
        cwd=cwd,
        env={**os.environ, "RSBENCH_DATA": "data", **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.fixture
def spec():
    """Makes a run's spec from the defaults and changes to them."""

    def make(**changes):
        return Spec(registry.load(), {**DEFAULTS, **changes})

    return make


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data for tests."""
    folder = os.environ.get("RSBENCH_TEST_DATA")
    if not folder:
        pytest.skip("RSBENCH_TEST_DATA is not set: no real data to test on")
    return Path(folder)
