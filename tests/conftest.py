"""Fixtures for all tests: whole commands in a clean folder, small data, real data."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from rsbench.cli.objects import build_setup
from rsbench.plugins import registry
from tests import small_data
from tests.helpers import run_command

#: Properties are tried on the same examples each time; `--hypothesis-profile=default` looks for new ones.
settings.load_profile("ci")

SLOW = Path(__file__).parent / "slow"

DEFAULTS = {
    "preprocessor": {"name": "none"},
    "protocol": {"name": "per_class", "samples_per_class": 4},
    "annotation": {"name": "full"},
    "aggregator": {"name": "sample"},
    "learner": {"name": "ellipsotron"},
    "precision": "data",
    "tune": {},
}


# First of all hooks: pytest itself leaves out what is marked in its own.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark all tests in slow/ as slow."""
    for item in items:
        if item.path.is_relative_to(SLOW):
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test sees the user's data or caches, or another test's."""
    monkeypatch.setenv("RSBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def no_hub(monkeypatch):
    """No test asks the Hugging Face hub for anything."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def rsbench(tmp_path):
    """Runs `python -m rsbench` in the test's own folder; returns the finished process."""

    def run(*args, cwd=tmp_path, env=None, timeout=120):
        return run_command(*args, cwd=cwd, env=env, timeout=timeout)

    return run


@pytest.fixture
def make_setup():
    """Makes a run's components from the defaults and changes to them."""

    def make(**changes):
        return build_setup(registry.load(), {**DEFAULTS, **changes})

    return make


@pytest.fixture
def rng():
    """Random numbers, the same in each test."""
    return np.random.default_rng(0)


@pytest.fixture
def make_cub(tmp_path):
    """Makes a small CUB in the official layout."""

    def make(classes=6, images=6, folder="CUB_200_2011", inside=False):
        root = tmp_path / "birds" / folder
        return small_data.write_cub(root, classes, images, inside)

    return make


@pytest.fixture
def make_sun(tmp_path):
    """Makes a small SUN in the official layout, with its vocabulary beside it."""

    def make(images=True):
        return small_data.write_sun(tmp_path / "SUN2012", images)

    return make


@pytest.fixture(scope="session")
def resnet(tmp_path_factory):
    """The folder of a tiny ResNet."""
    return small_data.write_resnet(tmp_path_factory.mktemp("resnet"))


@pytest.fixture(scope="session")
def tiny_vgg(tmp_path_factory):
    """The weights of a tiny network of visual concepts."""
    folder = tmp_path_factory.mktemp("vgg")
    return small_data.write_concepts(folder / "concepts.safetensors")


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data for tests."""
    folder = os.environ.get("RSBENCH_TEST_DATA")
    if not folder:
        pytest.skip("RSBENCH_TEST_DATA is not set: no real data to test on")
    return Path(folder)


@pytest.fixture
def small_disk():
    """Makes a folder a disk of its own, of that size."""
    mounted = []

    def mount(folder, size):
        if os.geteuid() != 0:
            pytest.skip("mounting a small disk needs root")
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if subprocess.run(command).returncode:
            pytest.skip("a small disk could not be mounted here")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)
