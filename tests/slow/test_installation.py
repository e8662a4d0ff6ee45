"""What an installed wheel carries: rsbench's own, an example's, and that of a new package."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

from tests.helpers import ROOT, SMALL


def build_wheel(project, folder):
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(project),
    ]
    done = subprocess.run(build, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def installed(package, tmp_path):
    """Build a package's wheel, run its tests against it, and return where it is."""
    project = shutil.copytree(ROOT / "plugins" / package, tmp_path / "project")
    (tmp_path / "wheel").mkdir()
    site = build_wheel(project, tmp_path / "wheel")
    environment = {"PYTHONPATH": str(site)}
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "-c",
        os.devnull,
        str(project / "tests"),
    ]
    done = subprocess.run(
        tests,
        cwd=tmp_path,
        env={**os.environ, **environment, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr
    return environment


def test_the_classic_learners_work_from_their_wheel(rsbench, tmp_path):
    environment = installed("rsbench-classics", tmp_path)
    methods = "method=lean,perceptron,ballseptron,arow,scw,coin_betting"
    done = rsbench("-m", methods, "tracking=none", *SMALL, env=environment)
    assert done.returncode == 0 and "| coin_betting " in done.stdout, done.stderr
    # Beside the checkout's own dropped-in files, none of which has their names.
    both = {**environment, "RSBENCH_PLUGINS": str(ROOT / "plugins")}
    listing = rsbench("plugins", env=both)
    assert "broken" not in listing.stdout + listing.stderr


def test_the_learners_that_are_told_why_work_from_their_wheel(rsbench, tmp_path):
    environment = installed("rsbench-whys", tmp_path)
    methods = "method=lean,contrast,ridge_view,distillation,gaussian_class_votes"
    done = rsbench("-m", methods, "tracking=none", *SMALL, env=environment)
    assert done.returncode == 0 and "| ridge_view " in done.stdout, done.stderr
    # It comes with rsbench too, and is not offered twice.
    listing = rsbench("plugins", env=environment).stdout
    assert len(re.findall(r"^learner +contrast ", listing, re.MULTILINE)) == 1


def test_the_example_package_works_from_its_wheel(rsbench, tmp_path):
    environment = installed("rsbench-example", tmp_path)
    listing = rsbench("plugins", env=environment).stdout
    assert re.search(
        r"learner +prototypes +rsbench-example 0.1.0 +prior: float = 1.0", listing
    ), listing
    methods = "method=lean,prototypes,prototypes_rare"
    done = rsbench(
        "-m",
        methods,
        "tracking=none",
        *SMALL,
        "hydra.sweep.dir=out",
        env=environment,
    )
    assert done.returncode == 0 and "| prototypes_rare " in done.stdout, done.stderr
    info = json.loads((tmp_path / "out" / "2" / "run.json").read_text())
    assert info["config"]["aggregator"] == {"name": "rare", "strength": 2.0}
    (plugin,) = info["plugins"]
    assert (plugin["plugin"], plugin["version"]) == ("rsbench-example", "0.1.0")
    assert plugin["components"] == ["aggregator=rare", "learner=prototypes"]
    parallel = rsbench(
        "-m", methods, "tracking=none", *SMALL, "hydra.sweep.dir=par", "hydra/launcher=joblib", env=environment
    )  # fmt: skip
    assert parallel.returncode == 0, parallel.stderr
    assert (tmp_path / "par" / "2" / "curves.csv").read_bytes() == (
        tmp_path / "out" / "2" / "curves.csv"
    ).read_bytes()
    misspelt = rsbench("method=prototypes_rar", env=environment)
    assert "Did you mean 'prototypes_rare'" in misspelt.stderr


def test_a_new_package_is_whole(rsbench, tmp_path):
    done = rsbench("new", "learner", "yours", "--package")
    assert done.returncode == 0, done.stderr
    (tmp_path / "wheel").mkdir()
    site = build_wheel(tmp_path / "rsbench-yours", tmp_path / "wheel")
    environment = {"PYTHONPATH": str(site)}
    assert rsbench("check", "yours", env=environment).returncode == 0
    done = rsbench(
        "-m",
        "method=lean,yours,yours_slow",
        "tracking=none",
        *SMALL,
        env=environment,
    )
    assert done.returncode == 0 and "| yours_slow " in done.stdout, done.stderr
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "-c",
        os.devnull,
        str(tmp_path / "rsbench-yours" / "tests"),
    ]
    done = subprocess.run(
        tests,
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_the_wheel_works_without_the_checkout(rsbench, tmp_path):
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
        and "rsbench_whys/views.py" in names
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
        "running.py",
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
        env=environment,
    )
    assert done.returncode == 0 and "| class_soft " in done.stdout, done.stderr
