"""Plugins as a stranger meets them: scaffolds that run, checks that speak, broken ones that harm nobody."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import SMALL, rsbench

from rsbench.cli.scaffold import TEMPLATES
from rsbench.plugins import hookspecs, registry

ROOT = Path(__file__).resolve().parent.parent.parent
HOOKS = [name for name in vars(hookspecs) if name.startswith("rsbench_")]


def test_the_documentation_shows_what_the_commands_print(tmp_path):
    page = (ROOT / "docs" / "plugins.md").read_text()
    blocks = re.findall(r"```console\n(.*?)\n```", page, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        command, _, expected = block.partition("\n")
        words = command.removeprefix("$ python -m rsbench ").split()
        assert rsbench(*words, cwd=tmp_path).stdout.rstrip() == expected, command
    assert (tmp_path / "plugins" / "mine.py").read_text().strip() in page


def test_every_hook_is_documented():
    page = (ROOT / "docs" / "plugins.md").read_text()
    assert len(HOOKS) == len(registry.KINDS)
    for hook in HOOKS:
        assert f"| `{hook}` |" in page, hook


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_new_plugin_keeps_its_promises_and_runs_at_once(kind, tmp_path):
    done = rsbench("new", kind, "mine", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "plugins" / "mine.py").exists(), (
        done.stderr
    )
    checked = rsbench("check", "mine", cwd=tmp_path)
    assert checked.returncode == 0 and "BROKEN" not in checked.stdout, (
        checked.stdout + checked.stderr
    )
    small = SMALL if kind not in ("dataset", "protocol") else ("seeds=1",)
    small = (*small, "protocol.samples_per_class=5") if kind == "dataset" else small
    ran = rsbench(
        f"{kind}=mine", "tracking=none", *small, "hydra.run.dir=out", cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    plugins = json.loads((tmp_path / "out" / "run.json").read_text())["plugins"]
    assert plugins[0]["plugin"] == "mine.py" and plugins[0]["components"] == [
        f"{kind}=mine"
    ]
    assert len(plugins) == 1 and len(plugins[0]["sha256"]) == 64
    again = rsbench("new", kind, "mine", cwd=tmp_path)
    assert again.returncode == 1 and "is there already" in again.stderr


@pytest.mark.parametrize(
    "name",
    [
        "My-Learner",
        "9lives",
        "Mine",
        "a b",
        "_a",
        "a_",
        "a__b",
        "ö",
        "null",
        "class_soft",
    ],
)
def test_names_that_cannot_be_are_refused(name, tmp_path):
    done = rsbench("new", "learner", name, cwd=tmp_path)
    assert done.returncode == 1 and not list(tmp_path.iterdir())
    assert (
        "a name is made of small letters" in done.stderr
        or "choose another name" in done.stderr
    )


def test_three_edited_lines_make_a_method(tmp_path):
    rsbench("new", "learner", "mine", cwd=tmp_path)
    file = tmp_path / "plugins" / "mine.py"
    text = (
        file.read_text()
        .replace("rate: float = 0.1", "rate: float = 0.3")
        .replace("return R * X", "return R * R * X")
    )
    file.write_text(
        text.replace("return self.rate", "return self.rate * loss / (1 + squared_norm)")
    )
    assert rsbench("check", "mine", "rate=0.2", cwd=tmp_path).returncode == 0
    done = rsbench(
        "+experiment=cub",
        "method=lean,ellipsotron,mine",
        "seeds=1",
        "tracking=none",
        cwd=tmp_path,
    )
    assert done.returncode == 0 and "| mine " in done.stdout, done.stderr


def test_check_says_what_is_broken(tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "odd.py").write_text(
        "import numpy as np\nfrom rsbench import hookimpl\n\nclass Odd:\n    def fit(self, Z, y): return self\n"
        "    def relevance(self, Z, y): return np.zeros(Z.shape)\n\n@hookimpl\ndef rsbench_aggregators(): return {'odd': Odd}\n"
    )
    done = rsbench("check", "odd", cwd=tmp_path)
    assert (
        done.returncode == 1
        and "BROKEN  values" in done.stdout
        and "4 of 5 promises kept" in done.stdout
    )
    assert "relevance goes from 0.0 to 0.0" in done.stdout
    assert "Did you mean 'odd'" in rsbench("check", "odf", cwd=tmp_path).stderr
    assert "is a preprocessor and a aggregator: choose with --kind" in rsbench(
        "check", "none", cwd=tmp_path
    ).stderr.replace("extractor and a ", "")
    assert (
        "'x=1': expected KEY=VALUE"
        in rsbench("check", "odd", "x=1", cwd=tmp_path).stderr
    )


BROKEN = {
    "raises": ("raise RuntimeError('boom')", "RuntimeError: boom"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "syntax": ("def broken(:\n", "SyntaxError"),
    "lacks": ("import a_package_nobody_has.part", "needs the package 'a_package_nobody_has', which is not installed: pip install a_package_nobody_has"),
    "misspelt": ("from rsbench import hookimpl\n@hookimpl\ndef rsbench_lerners(): return {}", "unknown hook rsbench_lerners. Did you mean 'rsbench_learners'"),
    "unmarked": ("def rsbench_learners(): return {}", "put @rsbench.hookimpl before it"),
    "taken": ("from rsbench import hookimpl\nclass L:\n    pass\n@hookimpl\ndef rsbench_learners(): return {'lean': L}", "learner 'lean' is offered by both"),
    "nodefault": ("from rsbench import hookimpl\nclass L:\n    def __init__(self, C): pass\n@hookimpl\ndef rsbench_learners(): return {'nodefault': L}", "parameter 'C' needs a default value"),
    "noclass": ("from rsbench import hookimpl\n@hookimpl\ndef rsbench_learners(): return {'noclass': 3}", "expected a class, got 3"),
    "nodict": ("from rsbench import hookimpl\n@hookimpl\ndef rsbench_learners(): return None", "AttributeError"),
}  # fmt: skip


def test_ten_broken_plugins_at_once_harm_nobody(tmp_path):
    command = ("+experiment=cub", "method=lean,ellipsotron", "seeds=1", "tracking=none")
    assert rsbench(*command, "hydra.sweep.dir=without", cwd=tmp_path).returncode == 0
    (tmp_path / "plugins").mkdir()
    for name, (code, _) in BROKEN.items():
        (tmp_path / "plugins" / f"{name}.py").write_text(code + "\n")
    listing = rsbench("plugins", cwd=tmp_path)
    assert listing.returncode == 1 and "learner       lean" in listing.stdout
    for name, (_, cause) in BROKEN.items():
        (line,) = (
            line
            for line in listing.stdout.splitlines()
            if line.startswith(f"broken  plugins/{name}.py")
        )
        assert cause in line, line
    done = rsbench(*command, "hydra.sweep.dir=with", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for job in ("0", "1"):
        assert (tmp_path / "with" / job / "curves.csv").read_bytes() == (
            tmp_path / "without" / job / "curves.csv"
        ).read_bytes()
    told = json.loads(rsbench("plugins", "--json", cwd=tmp_path).stdout)
    assert len(told["broken"]) == len(BROKEN)
    assert {"kind": "learner", "name": "lean"}.items() <= next(
        c for c in told["components"] if c["name"] == "lean"
    ).items()


LEARNER = """
from rsbench import hookimpl
from rsbench.learners import Lean

class Mine(Lean):
    def __init__(self, {parameter}, C: float = 1.0):
        super().__init__(C=C)

@hookimpl
def rsbench_learners(): return {{"{name}": Mine}}
"""

RUDE = {
    "chdir": "import os, tempfile; os.chdir(tempfile.gettempdir())",
    "argv": "import sys; sys.argv = []",
    "numpy": "import numpy; numpy.seterr(all='raise')",
    "logging": "import logging; logging.disable(50)",
    "recursion": "import sys; sys.setrecursionlimit(200)",
    "environment": "import os; os.environ.clear()",
    "prints": "print('hello')",
    "interrupts": "raise KeyboardInterrupt",
    "mute": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E()",
    "default": LEARNER.format(name="a1", parameter='x: int | None = "abc"'),
    "numbers": LEARNER.format(name="a2", parameter='x: list[int] = ["a"]'),
    "objects": LEARNER.format(name="a3", parameter="x=[object()]"),
    "named": LEARNER.format(name="a/b", parameter="x: int = 1"),
}


@pytest.mark.parametrize("what", RUDE)
def test_a_rude_plugin_changes_nobodys_run(what, tmp_path):
    command = ("method=ellipsotron", "tracking=none", *SMALL)
    assert rsbench(*command, "hydra.run.dir=without", cwd=tmp_path).returncode == 0
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "rude.py").write_text(RUDE[what])
    done = rsbench(*command, "hydra.run.dir=with", cwd=tmp_path)
    assert done.returncode == 0 and "cumulative error" in done.stdout, done.stderr
    assert (tmp_path / "with" / "curves.csv").read_bytes() == (
        tmp_path / "without" / "curves.csv"
    ).read_bytes()
    json.loads(rsbench("plugins", "--json", cwd=tmp_path).stdout)


def test_legal_but_odd_parameters_work(tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "odd.py").write_text(
        LEARNER.format(name="odd", parameter='x: tuple[int, str] = (1, "a")')
    )
    assert rsbench("learner=odd", "tracking=none", *SMALL, cwd=tmp_path).returncode == 0
    os.symlink("loop.py", tmp_path / "plugins" / "loop.py")
    os.symlink("nowhere", tmp_path / "plugins" / ".#odd.py")
    listing = rsbench("plugins", cwd=tmp_path).stdout
    assert "broken  plugins/loop.py" in listing and ".#odd" not in listing


def test_presets_that_hide_others_make_a_plugin_broken(tmp_path):
    rsbench("new", "learner", "mine", cwd=tmp_path)
    for group, name in (("learner", "ellipsotron"), ("method", "lean")):
        preset = tmp_path / "plugins" / "conf" / group / f"{name}.yaml"
        preset.parent.mkdir(parents=True)
        preset.write_text("name: ellipsotron\nC: 0.000001\n")
        done = rsbench("plugins", cwd=tmp_path)
        assert (
            done.returncode == 1
            and "broken  plugins/mine.py: " in done.stdout
            and name in done.stdout
        )
        preset.unlink()
        preset.parent.rmdir()
    preset = tmp_path / "plugins" / "conf" / "method" / "mine_fast.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text(
        "# @package _global_\ndefaults:\n  - override /learner: mine\nlearner:\n  rate: 0.9\n"
    )
    assert (
        rsbench("method=mine_fast", "tracking=none", *SMALL, cwd=tmp_path).returncode
        == 0
    )


def test_like_named_files_in_two_folders_are_two_plugins(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "common.py").write_text(
            LEARNER.format(name=f"dup{folder}", parameter="x: int = 1")
        )
    environment = {"RSBENCH_PLUGINS": f"x{os.pathsep}y"}
    shown = rsbench("plugins", "show", "dupx", cwd=tmp_path, env=environment)
    assert "x/common.py:" in shown.stdout, shown.stderr


def test_data_are_shared_read_only(tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "sorter.py").write_text(
        "from rsbench import hookimpl\nfrom rsbench.protocols import PerClass\nclass Sorter(PerClass):\n"
        "    def plan(self, y, test, rng):\n        y[:] = y[::-1].copy()\n        return super().plan(y, test, rng)\n"
        "@hookimpl\ndef rsbench_protocols(): return {'sorter': Sorter}\n"
    )
    done = rsbench("protocol=sorter", "tracking=none", *SMALL, cwd=tmp_path)
    assert done.returncode == 1 and "read-only" in done.stderr


def test_plugins_can_be_limited_and_timed(tmp_path):
    for name in ("one", "two"):
        rsbench("new", "learner", name, cwd=tmp_path)
    with open(tmp_path / "plugins" / "one.py", "a") as file:
        file.write("\nimport time\ntime.sleep(0.2)\n")
    listing = rsbench("plugins", "-v", cwd=tmp_path).stdout
    (took,) = re.findall(r"(\d+) ms  plugins/one.py", listing)
    assert int(took) >= 200
    limited = rsbench(
        "plugins", cwd=tmp_path, env={"RSBENCH_LOAD_PLUGINS": "two"}
    ).stdout
    assert (
        "plugins/two.py" in limited
        and "plugins/one.py" not in limited
        and "lean" in limited
    )
    assert (
        "plugins/"
        not in rsbench("plugins", cwd=tmp_path, env={"RSBENCH_LOAD_PLUGINS": ""}).stdout
    )
    run = rsbench(
        "tracking=none", *SMALL, cwd=tmp_path, env={"RSBENCH_LOAD_PLUGINS": "Two,tow"}
    )
    assert (
        run.returncode == 0
        and "RSBENCH_LOAD_PLUGINS names tow, which is no plugin here" in run.stderr
    )
    preset = tmp_path / "plugins" / "conf" / "method" / "bad.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("a: [1,\n")
    broken = rsbench("method=bad", "tracking=none", cwd=tmp_path)
    assert (
        broken.returncode == 1
        and "Traceback" not in broken.stderr
        and "bad.yaml" in broken.stderr
    )


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


@pytest.mark.slow
def test_the_example_package_works_from_its_wheel(tmp_path):
    import shutil

    project = shutil.copytree(
        ROOT / "plugins" / "rsbench-example", tmp_path / "project"
    )
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
    listing = rsbench("plugins", cwd=tmp_path, env=environment).stdout
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
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0 and "| prototypes_rare " in done.stdout, done.stderr
    info = json.loads((tmp_path / "out" / "2" / "run.json").read_text())
    assert info["config"]["aggregator"] == {"name": "rare", "strength": 2.0}
    (plugin,) = info["plugins"]
    assert (plugin["plugin"], plugin["version"]) == ("rsbench-example 0.1.0", "0.1.0")
    assert plugin["components"] == ["aggregator=rare", "learner=prototypes"]
    parallel = rsbench(
        "-m", methods, "tracking=none", *SMALL, "hydra.sweep.dir=par", "hydra/launcher=joblib", cwd=tmp_path, env=environment
    )  # fmt: skip
    assert parallel.returncode == 0, parallel.stderr
    assert (tmp_path / "par" / "2" / "curves.csv").read_bytes() == (
        tmp_path / "out" / "2" / "curves.csv"
    ).read_bytes()
    misspelt = rsbench("method=prototypes_rar", cwd=tmp_path, env=environment)
    assert "Did you mean 'prototypes_rare'" in misspelt.stderr


@pytest.mark.slow
def test_a_new_package_is_whole(tmp_path):
    done = rsbench("new", "learner", "yours", "--package", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "wheel").mkdir()
    site = build_wheel(tmp_path / "rsbench-yours", tmp_path / "wheel")
    environment = {"PYTHONPATH": str(site)}
    assert rsbench("check", "yours", cwd=tmp_path, env=environment).returncode == 0
    done = rsbench(
        "-m",
        "method=lean,yours,yours_slow",
        "tracking=none",
        *SMALL,
        cwd=tmp_path,
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


def test_show_tells_all_of_a_component(tmp_path):
    done = rsbench("plugins", "show", "ellipsotron", cwd=tmp_path)
    assert (
        "learner=ellipsotron, from rsbench" in done.stdout
        and "learner.C: float = 1.0" in done.stdout
    )
    assert "passive_aggressive.py" in done.stdout
    assert (
        "Did you mean 'ellipsotron'"
        in rsbench("plugins", "show", "elipsotron", cwd=tmp_path).stderr
    )
    assert "which one?" in rsbench("plugins", "show", cwd=tmp_path).stderr
