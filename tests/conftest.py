"""Shared by the tests: whole commands in a clean folder, and real data where it is present."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from rsbench.core.experiment import Spec
from rsbench.plugins import registry

#: Properties are tried on the same examples each time; `--hypothesis-profile=default` looks for new ones.
settings.load_profile("ci")

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
SMALL = (
    "dataset.classes=4",
    "dataset.samples=12",
    "protocol.samples_per_class=5",
    "seeds=2",
)


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


#: A sweep of naps, for tests that interrupt it; see dawdler.py.
DAWDLE = ("-m", "method=dawdler", "tracking=none", *SMALL)


def dawdling(folder):
    """The environment of such a sweep, with its diary and caches in a folder."""
    return {
        "RSBENCH_PLUGINS": str(Path(__file__).parent / "dawdler"),
        "RSBENCH_TEST_DIARY": str(folder / "diary"),
        "RSBENCH_CACHE": str(folder / "cache"),
    }


def curves_of(folder):
    """The bytes of each job's curves.csv in a sweep's folder."""
    return {
        path.parent.name: path.read_bytes()
        for path in Path(folder).glob("*/curves.csv")
    }


ATTRIBUTES = (
    "has_bill_shape::hooked",
    "has_bill_shape::dagger",
    "has_wing_color::blue",
    "has_wing_color::red",
    "plain",
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test sees the user's data or caches, or another test's."""
    monkeypatch.setenv("RSBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RSBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def make_cub(tmp_path):
    """Makes a small CUB in the official layout: images of noise around a colour per species, five attributes."""

    def make(classes=6, images=6, folder="CUB_200_2011", inside=False):
        from PIL import Image

        rng = np.random.default_rng(0)
        root = tmp_path / "birds" / folder
        (root / "attributes").mkdir(parents=True)
        names, labels, rows = [], [], []
        for c in range(classes):
            species = f"{c + 1:03}.Bird_{c}"
            (root / "images" / species).mkdir(parents=True)
            colour, marked = rng.integers(0, 200, 3), rng.random(len(ATTRIBUTES))
            for i in range(images):
                names.append(f"{species}/Bird_{c}_{i}.jpg")
                labels.append(c + 1)
                pixels = (colour + rng.integers(0, 56, (40 + c, 50, 3))).astype(
                    np.uint8
                )
                image = Image.fromarray(pixels)
                (image.convert("L") if (c, i) == (0, 0) else image).save(
                    root / "images" / names[-1]
                )
                for a, share in enumerate(marked):
                    present, certainty = (
                        int(rng.random() < share),
                        int(rng.integers(2, 5)),
                    )
                    if not present and rng.random() < 0.2:
                        certainty = 1
                    extra = "0 " if (len(names), a) == (2, 3) else ""
                    rows.append(
                        f"{len(names)} {a + 1} {present} {certainty} {extra}{rng.random():.3f}"
                    )
        write_numbered(root / "images.txt", names)
        write_numbered(root / "image_class_labels.txt", labels)
        write_numbered(
            root / "classes.txt", [f"{c + 1:03}.Bird_{c}" for c in range(classes)]
        )
        write_numbered(
            root / "attributes" / "certainties.txt",
            ["not visible", "guessing", "probably", "definitely"],
        )
        write_numbered((root if inside else root.parent) / "attributes.txt", ATTRIBUTES)
        (root / "attributes" / "image_attribute_labels.txt").write_text(
            "\n".join(rows) + "\n"
        )
        return root

    return make


def write_numbered(path, lines):
    path.write_text("".join(f"{i + 1} {line}\n" for i, line in enumerate(lines)))


@pytest.fixture
def small_disk():
    """Makes a folder a disk of its own, of that size."""
    mounted = []

    def mount(folder, size):
        if os.geteuid() != 0:
            pytest.skip("mounting a small disk needs root")
        folder.mkdir()
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        ).returncode:
            pytest.skip("a small disk could not be mounted here")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


def wait_for(ready, seconds=60):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


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
