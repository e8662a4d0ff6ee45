"""The project as a whole: what the README promises, and what an installed wheel carries."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import SMALL, rsbench

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()


def test_ci_runs_the_readmes_test_command():
    (command,) = re.findall(r"^pip install .* && pytest$", README, re.MULTILINE)
    assert (
        f"{{ {command}; }} || exit 1" in (ROOT / ".ci" / "run").read_text().splitlines()
    )


def test_readme_has_the_run_command():
    assert re.search(
        r"^pip install -e \. && python -m rsbench \+experiment=cub$",
        README,
        re.MULTILINE,
    )


def test_readme_shows_the_plugin_that_is_there():
    assert (ROOT / "plugins" / "perceptron.py").read_text() in README


def test_links_in_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_example_plugin_runs(tmp_path):
    done = rsbench(
        "method=perceptron",
        "tracking=none",
        *SMALL,
        cwd=tmp_path,
        env={"RSBENCH_PLUGINS": str(ROOT / "plugins")},
    )
    assert done.returncode == 0 and "| perceptron " in done.stdout, done.stderr


def test_configs_name_no_code():
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert "_target_" not in path.read_text(), path


def test_experiments_leave_learner_and_aggregator_to_methods():
    for path in (ROOT / "conf" / "experiment").glob("*.yaml"):
        assert not re.search(
            r"override /(learner|aggregator)|^(learner|aggregator):",
            path.read_text(),
            re.MULTILINE,
        ), path


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(tmp_path):
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    done = subprocess.run(build, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert (
        "rsbench/conf/config.yaml" in names
        and "rsbench/conf/experiment/cub.yaml" in names
    )
    assert "rsbench/conf/hydra/launcher/slurm.yaml" in names
    assert not [
        name
        for name in names
        if name.startswith(("tests", "plugins", "conf", "benchmarks"))
    ]
    assert {name.split("/")[1] for name in names if name.endswith(".py")} >= {
        "cli",
        "learners",
        "report",
        "run.py",
    }
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    where = "import rsbench.cli.configs; print(rsbench.cli.configs.CONF)"
    found = subprocess.run(
        [sys.executable, "-c", where],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip() == str(tmp_path / "installed" / "rsbench" / "conf")
    done = rsbench(
        "-m",
        "method=lean,class_soft",
        "tracking=none",
        *SMALL,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0 and "| class_soft " in done.stdout, done.stderr
