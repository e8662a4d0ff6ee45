"""Plugins to start from: each runs at once and keeps its promises."""

from pathlib import Path

from rsbench import __version__
from rsbench.errors import UserError
from rsbench.plugins.registry import plugin_folders

_LEARNER = '''from rsbench.learners import RelevanceLearner


class {cls}(RelevanceLearner):
    """A linear learner that steps along relevant features whenever a sample's margin is below one.

    Parameters
    ----------
    rate : length of a step, in units of the sample.
    """

    def __init__(self, rate: float = 0.1):
        super().__init__()
        self.rate = rate

    def step_vector(self, X, R):
        return R * X

    def tau(self, loss, squared_norm):
        return self.rate
'''

_AGGREGATOR = '''import numpy as np


class {cls}:
    """Marked features count `marked`, all others 1.

    Parameters
    ----------
    marked : relevance of a marked feature.
    """

    def __init__(self, marked: float = 2.0):
        self.marked = marked

    def fit(self, Z, y):
        """Learn from the training pool's votes; here there is nothing to learn."""
        return self

    def relevance(self, Z, y):
        """One row per sample, above zero; large means that the feature matters for this sample."""
        return 1.0 + (self.marked - 1.0) * np.asarray(Z, float)
'''

_PREPROCESSOR = '''import numpy as np


class {cls}:
    """Features raised to a power, their signs kept.

    Parameters
    ----------
    power : the exponent.
    """

    def __init__(self, power: float = 0.5):
        self.power = power

    def transform(self, X):
        """Each sample by itself. A preprocessor that learns has `fit(X)` and says `fit_on`: background or seen."""
        return np.sign(X) * np.abs(X) ** self.power
'''

_PROTOCOL = '''import numpy as np


class {cls}:
    """As many samples of each class as wanted, class after class; all others are for testing.

    Parameters
    ----------
    samples : to learn from, of each class.
    """

    unit = "samples per class"

    def __init__(self, samples: int = 5):
        self.samples = samples

    def plan(self, y, test, rng):
        """Steps (sample numbers each; a test after each) and the test samples."""
        members = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
        steps = [rng.permutation([numbers[k] for numbers in members]) for k in range(self.samples)]
        return steps, np.concatenate([numbers[self.samples :] for numbers in members])
'''

_DATASET = '''import numpy as np

from rsbench.core.data import Data, Names
from rsbench.core.seeds import stream


class {cls}:
    """Noise around a point for each class, in which people mark the coordinates that are large.

    Parameters
    ----------
    classes : how many.
    samples : of each class.
    """

    def __init__(self, classes: int = 5, samples: int = 40):
        self.classes = classes
        self.samples = samples

    def load(self):
        """Features `X`, labels `y`, votes `Z`; `simulated` keeps the numbers from passing for real ones."""
        rng = stream(0, "{name}")
        y = np.repeat(np.arange(self.classes), self.samples)
        points = rng.random((self.classes, 12))
        X = points[y] + 0.3 * rng.random((len(y), 12))
        names = Names(tuple(f"feature{{j}}" for j in range(12)), tuple(f"class{{c}}" for c in range(self.classes)))
        return Data(X=X, y=y, Z=points[y] > 0.6, names=names, simulated=True)
'''

_EXTRACTOR = '''import dataclasses

import numpy as np


class {cls}:
    """The mean of each image's colours, as many times as the data set has features.

    Parameters
    ----------
    size : images are scaled to this many pixels a side first.
    """

    def __init__(self, size: int = 16):
        self.size = size

    def extract(self, data):
        """The data with features `X`, one row for each of `data.images`."""
        from PIL import Image

        rows = []
        for path in data.images:
            with Image.open(path) as image:
                rows.append(np.asarray(image.convert("RGB").resize((self.size, self.size)), float).mean((0, 1)) / 255)
        X = np.resize(np.array(rows).T, (data.Z.shape[1], len(rows))).T.astype(np.float32)
        return dataclasses.replace(data, X=X, images=None, training=None)
'''

TEMPLATES = {
    "learner": _LEARNER,
    "aggregator": _AGGREGATOR,
    "preprocessor": _PREPROCESSOR,
    "protocol": _PROTOCOL,
    "dataset": _DATASET,
    "extractor": _EXTRACTOR,
}

_HOOK = """

@hookimpl
def rsbench_{kind}s():
    return {{"{name}": {cls}}}
"""

_PYPROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "rsbench-{dashed}"
version = "0.1.0"
description = "{Kind} {name} for rsbench"
requires-python = ">=3.11"
dependencies = ["rsbench>={version}"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points.rsbench]
{name} = "rsbench_{name}"

[tool.setuptools]
packages = ["rsbench_{name}"]

[tool.setuptools.package-data]
rsbench_{name} = ["conf/*/*.yaml"]
"""

_TEST = '''"""The {kind} keeps its promises, one test for each."""

import pytest

import rsbench.checks
from rsbench_{name} import {cls}


@pytest.mark.parametrize("promise", rsbench.checks.promises("{kind}"), ids=str)
def test_keeps_its_promises(promise):
    promise.check({cls})
'''

_METHOD = """# @package _global_
# A preset: python -m rsbench +experiment=cub method=lean,{name}_slow
defaults:
  - override /learner: {name}
  - override /aggregator: sample
learner:
  rate: 0.01
"""

_README = """# rsbench-{dashed}

The {kind} `{name}` for rsbench.

    pip install -e ".[test]" && pytest
    python -m rsbench {kind}={name}
"""


def write_file(kind: str, name: str) -> list[Path]:
    """A single file in the first plugin folder."""
    folder = plugin_folders()[0] if plugin_folders() else Path("plugins")
    return [_write(folder / f"{name}.py", _module(kind, name))]


def write_package(kind: str, name: str) -> list[Path]:
    """A package with tests, in a folder of its own."""
    words = {
        "kind": kind,
        "Kind": kind.capitalize(),
        "name": name,
        "dashed": name.replace("_", "-"),
        "cls": _class(kind, name),
        "version": __version__,
    }
    root = Path(f"rsbench-{words['dashed']}")
    files = {
        "pyproject.toml": _PYPROJECT.format(**words),
        "README.md": _README.format(**words),
        f"rsbench_{name}/__init__.py": _module(kind, name),
        f"tests/test_{name}.py": _TEST.format(**words),
    }
    if kind == "learner":
        files[f"rsbench_{name}/conf/method/{name}_slow.yaml"] = _METHOD.format(**words)
    if root.exists():
        raise UserError(f"{root} is there already: remove it, or choose another name")
    return [_write(root / path, content) for path, content in files.items()]


def _module(kind: str, name: str) -> str:
    words = {"kind": kind, "name": name, "cls": _class(kind, name)}
    body = TEMPLATES[kind].format(**words)
    start = f'"""The {kind} `{name}`."""\n\n'
    first, _, rest = body.partition("\n\n\nclass ")
    imports = [line for line in first.splitlines() if line]
    standard = [line for line in imports if line == "import dataclasses"]
    others = [line for line in imports if line == "import numpy as np"]
    ours = sorted(
        [
            *(line for line in imports if line.startswith("from rsbench.")),
            "from rsbench import hookimpl",
        ]
    )
    groups = "\n\n".join(
        "\n".join(group) for group in (standard, others, ours) if group
    )
    return f"{start}{groups}\n\n\nclass {rest.rstrip()}\n{_HOOK.format(**words)}"


def _class(kind: str, name: str) -> str:
    """A name for the class that shadows nothing."""
    return "".join(word.capitalize() for word in name.split("_")) + kind.capitalize()


def _write(path: Path, content: str) -> Path:
    if path.exists():
        raise UserError(f"{path} is there already: remove it, or choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    return path
