"""Plugins as a stranger meets them: scaffolds that run, checks that speak, broken ones that harm nobody."""

import json
import os
import re

import pytest

from rsbench.cli.scaffold import TEMPLATES
from rsbench.plugins import hookspecs, kinds
from tests.helpers import ROOT, SMALL

HOOKS = [name for name in vars(hookspecs) if name.startswith("rsbench_")]


def test_the_documentation_shows_what_the_commands_print(rsbench, tmp_path):
    page = (ROOT / "docs" / "plugins.md").read_text()
    blocks = re.findall(r"```console\n(.*?)\n```", page, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        command, _, expected = block.partition("\n")
        words = command.removeprefix("$ python -m rsbench ").split()
        assert rsbench(*words).stdout.rstrip() == expected, command
    assert (tmp_path / "plugins" / "mine.py").read_text().strip() in page


def test_the_documented_batch_learner_runs(rsbench, tmp_path):
    page = (ROOT / "docs" / "plugins.md").read_text()
    blocks = re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)
    (forest,) = [block for block in blocks if "class Forest" in block]
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "forest.py").write_text(forest + "\n")
    checked = rsbench("check", "forest")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = rsbench("-m", "method=lean,forest", "tracking=none", *SMALL)
    assert done.returncode == 0 and "| forest " in done.stdout, done.stderr


def test_every_hook_is_documented():
    page = (ROOT / "docs" / "plugins.md").read_text()
    assert sorted(HOOKS) == sorted(kind.hook for kind in kinds.ALL)
    for hook in HOOKS:
        assert f"| `{hook}` |" in page, hook


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_new_plugin_keeps_its_promises_and_runs_at_once(rsbench, kind, tmp_path):
    done = rsbench("new", kind, "mine")
    assert done.returncode == 0 and (tmp_path / "plugins" / "mine.py").exists(), (
        done.stderr
    )
    checked = rsbench("check", "mine")
    assert checked.returncode == 0 and "BROKEN" not in checked.stdout, (
        checked.stdout + checked.stderr
    )
    group = kinds.BY_NAME[kind].group
    small = SMALL if kind not in ("dataset", "protocol") else ("seeds=1",)
    small = (*small, "protocol.samples_per_class=5") if kind == "dataset" else small
    ran = rsbench(f"{group}=mine", "tracking=none", *small, "hydra.run.dir=out")
    assert ran.returncode == 0, ran.stderr
    plugins = json.loads((tmp_path / "out" / "run.json").read_text())["plugins"]
    assert plugins[0]["plugin"] == "mine.py" and plugins[0]["components"] == [
        f"{group}=mine"
    ]
    assert len(plugins) == 1 and len(plugins[0]["sha256"]) == 64
    again = rsbench("new", kind, "mine")
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
def test_names_that_cannot_be_are_refused(rsbench, name, tmp_path):
    done = rsbench("new", "learner", name)
    assert done.returncode == 1 and not list(tmp_path.iterdir())
    assert (
        "a name is made of small letters" in done.stderr
        or "choose another name" in done.stderr
    )


def test_three_edited_lines_make_a_method(rsbench, tmp_path):
    rsbench("new", "learner", "mine")
    file = tmp_path / "plugins" / "mine.py"
    text = (
        file.read_text()
        .replace("rate: float = 0.1", "rate: float = 0.3")
        .replace("return R * X", "return R * R * X")
    )
    file.write_text(
        text.replace("return self.rate", "return self.rate * loss / (1 + squared_norm)")
    )
    assert rsbench("check", "mine", "rate=0.2").returncode == 0
    done = rsbench(
        "+experiment=cub",
        "method=lean,ellipsotron,mine",
        "seeds=1",
        "tracking=none",
    )
    assert done.returncode == 0 and "| mine " in done.stdout, done.stderr


def test_check_says_what_is_broken(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "odd.py").write_text(
        "import numpy as np\nfrom rsbench import hookimpl\n\nclass Odd:\n    def fit(self, Z, y): return self\n"
        "    def relevance(self, Z, y): return np.zeros(Z.shape)\n\n@hookimpl\ndef rsbench_aggregators(): return {'odd': Odd}\n"
    )
    done = rsbench("check", "odd")
    assert (
        done.returncode == 1
        and "BROKEN  values" in done.stdout
        and "5 of 6 promises kept" in done.stdout
    )
    assert "relevance goes from 0.0 to 0.0" in done.stdout
    assert "Did you mean 'odd'" in rsbench("check", "odf").stderr
    assert "is a preprocessor and a aggregator: choose with --kind" in rsbench(
        "check", "none"
    ).stderr.replace("extractor and a ", "")
    assert "odd has no parameter 'x'" in rsbench("check", "odd", "x=1").stderr


LEARNER = """
from rsbench import hookimpl
from rsbench.learners import Lean

class Mine(Lean):
    def __init__(self, {parameter}, C: float = 1.0):
        super().__init__(C=C)
        self.x = x

@hookimpl
def rsbench_learners(): return {{"{name}": Mine}}
"""

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
    "mute": ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E()", "E: "),
    "default": (LEARNER.format(name="a1", parameter='x: int | None = "abc"'), "its defaults cannot be configured"),
    "numbers": (LEARNER.format(name="a2", parameter='x: list[int] = ["a"]'), "its defaults cannot be configured"),
    "objects": (LEARNER.format(name="a3", parameter="x=[object()]"), "its defaults cannot be configured"),
    "named": (LEARNER.format(name="a/b", parameter="x: int = 1"), "a name is letters, digits and _ . -"),
    "nodict": ("from rsbench import hookimpl\n@hookimpl\ndef rsbench_learners(): return None", "AttributeError"),
}  # fmt: skip


def test_many_broken_plugins_at_once_harm_nobody(rsbench, tmp_path):
    command = ("+experiment=cub", "method=lean,ellipsotron", "seeds=1", "tracking=none")
    assert rsbench(*command, "hydra.sweep.dir=without").returncode == 0
    (tmp_path / "plugins").mkdir()
    for name, (code, _) in BROKEN.items():
        (tmp_path / "plugins" / f"{name}.py").write_text(code + "\n")
    listing = rsbench("plugins")
    assert listing.returncode == 1 and "learner       lean" in listing.stdout
    for name, (_, cause) in BROKEN.items():
        (line,) = (
            line
            for line in listing.stdout.splitlines()
            if line.startswith(f"broken  plugins/{name}.py")
        )
        assert cause in line, line
    done = rsbench(*command, "hydra.sweep.dir=with")
    assert done.returncode == 0, done.stderr
    for job in ("0", "1"):
        assert (tmp_path / "with" / job / "curves.csv").read_bytes() == (
            tmp_path / "without" / job / "curves.csv"
        ).read_bytes()
    told = json.loads(rsbench("plugins", "--json").stdout)
    assert len(told["broken"]) == len(BROKEN)
    assert {"kind": "learner", "name": "lean"}.items() <= next(
        c for c in told["components"] if c["name"] == "lean"
    ).items()


def test_legal_but_odd_parameters_work(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "odd.py").write_text(
        LEARNER.format(name="odd", parameter='x: tuple[int, str] = (1, "a")')
    )
    assert rsbench("learner=odd", "tracking=none", *SMALL).returncode == 0
    os.symlink("loop.py", tmp_path / "plugins" / "loop.py")
    os.symlink("nowhere", tmp_path / "plugins" / ".#odd.py")
    listing = rsbench("plugins").stdout
    assert "broken  plugins/loop.py" in listing and ".#odd" not in listing


def test_presets_that_hide_others_make_a_plugin_broken(rsbench, tmp_path):
    rsbench("new", "learner", "mine")
    for group, name in (("learner", "ellipsotron"), ("method", "lean")):
        preset = tmp_path / "plugins" / "conf" / group / f"{name}.yaml"
        preset.parent.mkdir(parents=True)
        preset.write_text("name: ellipsotron\nC: 0.000001\n")
        done = rsbench("plugins")
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
    assert rsbench("method=mine_fast", "tracking=none", *SMALL).returncode == 0


def test_like_named_files_in_two_folders_are_two_plugins(rsbench, tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "common.py").write_text(
            LEARNER.format(name=f"dup{folder}", parameter="x: int = 1")
        )
    environment = {"RSBENCH_PLUGINS": f"x{os.pathsep}y"}
    shown = rsbench("plugins", "show", "dupx", env=environment)
    assert "x/common.py:" in shown.stdout, shown.stderr


def test_data_are_shared_read_only(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "sorter.py").write_text(
        "from rsbench import hookimpl\nfrom rsbench.protocols import PerClass\nclass Sorter(PerClass):\n"
        "    def plan(self, y, test, rng):\n        y[:] = y[::-1].copy()\n        return super().plan(y, test, rng)\n"
        "@hookimpl\ndef rsbench_protocols(): return {'sorter': Sorter}\n"
    )
    done = rsbench("protocol=sorter", "tracking=none", *SMALL)
    assert done.returncode == 1 and "read-only" in done.stderr


def test_plugins_can_be_limited_and_timed(rsbench, tmp_path):
    for name in ("one", "two"):
        rsbench("new", "learner", name)
    with open(tmp_path / "plugins" / "one.py", "a") as file:
        file.write("\nimport time\ntime.sleep(0.2)\n")
    listing = rsbench("plugins", "-v").stdout
    (took,) = re.findall(r"(\d+) ms  plugins/one.py", listing)
    assert int(took) >= 200
    limited = rsbench("plugins", env={"RSBENCH_LOAD_PLUGINS": "two"}).stdout
    assert (
        "plugins/two.py" in limited
        and "plugins/one.py" not in limited
        and "lean" in limited
    )
    assert "plugins/" not in rsbench("plugins", env={"RSBENCH_LOAD_PLUGINS": ""}).stdout
    run = rsbench("tracking=none", *SMALL, env={"RSBENCH_LOAD_PLUGINS": "Two,tow"})
    assert (
        run.returncode == 0
        and "RSBENCH_LOAD_PLUGINS names tow, which is no plugin here" in run.stderr
    )
    preset = tmp_path / "plugins" / "conf" / "method" / "bad.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("a: [1,\n")
    broken = rsbench("method=bad", "tracking=none")
    assert (
        broken.returncode == 1
        and "Traceback" not in broken.stderr
        and "bad.yaml" in broken.stderr
    )


def test_show_tells_all_of_a_component(rsbench):
    done = rsbench("plugins", "show", "ellipsotron")
    assert (
        "learner=ellipsotron, from rsbench" in done.stdout
        and "learner.C: float = 1.0" in done.stdout
    )
    assert "passive_aggressive.py" in done.stdout
    assert (
        "Did you mean 'ellipsotron'" in rsbench("plugins", "show", "elipsotron").stderr
    )
    assert "which one?" in rsbench("plugins", "show").stderr
