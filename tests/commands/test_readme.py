"""What the README shows is what happens."""

import re

import numpy as np

from tests.helpers import ROOT, SMALL

README = (ROOT / "README.md").read_text()


def python_blocks(heading):
    """Return the blocks of Python below a heading."""
    _, _, below = README.partition(f"\n## {heading}\n")
    section, _, _ = below.partition("\n## ")
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_ci_runs_the_readmes_test_command():
    (command,) = re.findall(r"^pip install .* && pytest$", README, re.MULTILINE)
    steps = (ROOT / ".ci" / "run").read_text().splitlines()
    assert f"{{ {command}; }} || exit 1" in steps


def test_readme_has_the_run_command():
    command = r"^pip install -e \. && python -m rsbench \+experiment=cub$"
    assert re.search(command, README, re.MULTILINE)


def test_the_example_in_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example, _ = python_blocks("In Python")
    names = {}
    exec(example, names)
    frame = names["results"].frame
    assert set(frame["method"]) == {"lean", "ellipsotron", "class_soft"}
    assert set(frame["seed"]) == set(range(5))
    families = names["results"].compare(at=10)["family"]
    assert (families == "counterpart").sum() == 2
    assert (tmp_path / "outputs" / "mine" / "report.html").exists()


def test_the_example_with_relevance_runs(rng):
    example, learning = python_blocks("In Python")
    names = {"X": rng.random((20, 4)), "y": np.arange(20) % 3}
    names["Z"] = (names["X"] > 0.5).astype(float)
    names["X_test"] = rng.random((5, 4))
    imports = [line for line in example.splitlines() if "import" in line]
    exec("\n".join(imports), names)
    exec(learning, names)


def test_readme_shows_the_plugin_that_is_there():
    (block,) = python_blocks("A plugin")
    assert block == (ROOT / "plugins" / "marked_perceptron.py").read_text()


def test_the_example_plugin_runs(rsbench):
    folder = {"RSBENCH_PLUGINS": str(ROOT / "plugins")}
    done = rsbench("method=marked_perceptron", "tracking=none", *SMALL, env=folder)
    assert done.returncode == 0, done.stderr
    assert "| marked_perceptron " in done.stdout
