"""Sweeps that survive: seeds computed once, commands that go on where they stopped, parallel jobs, full disks."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from rsbench.store import fingerprint
from rsbench.store import record as results
from rsbench.store.settings import SETTINGS, declared
from tests.helpers import (
    DAWDLE,
    ROOT,
    SMALL,
    curves_of,
    dawdle,
    dawdling,
    diary,
    wait_for,
)


def config():
    """The whole default config, resolved."""
    import hydra

    from rsbench.cli import configs
    from rsbench.cli.hydra_run import version_base

    configs.offer(Path.cwd())
    with hydra.initialize_config_dir(str(configs.CONF), **version_base()):
        return OmegaConf.to_container(hydra.compose("config"), resolve=True)


def leaves(config, path=""):
    for key, value in config.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def test_every_setting_is_declared_to_change_numbers_or_not():
    """A new one has to be declared; those that say how a run goes change none."""
    how = {"seed", "seeds", "draws", "tracking", "force", "on_error"}
    how |= {"judged_step", "table_steps", "margin", "counterparts", "prices"}
    for key in leaves(config()):
        group = key.partition(".")[0]
        assert group in {setting.key for setting in SETTINGS}, key
        assert declared(key).changes_results == (group not in how), key


def test_data_code_and_versions_are_part_of_the_fingerprint(monkeypatch):
    settings = {"learner": {"C": 1.0}}
    find = fingerprint.fingerprint
    before = find(settings, ["data", "class"], ["plugin"])
    assert before == find(settings, ["data", "class"], ["plugin"])
    assert before != find({"learner": {"C": 2.0}}, ["data", "class"], ["plugin"])
    assert before != find(settings, ["other data", "class"], ["plugin"])
    assert before != find(settings, ["data", "other class"], ["plugin"])
    assert before != find(settings, ["data", "class"], ["edited plugin"])
    versions = fingerprint.versions()
    for name in ("numpy", "torch", "scikit-learn", "mlflow", "hydra-core"):
        with monkeypatch.context() as patch:
            other = {**versions, name: "0"}
            patch.setattr(fingerprint, "versions", lambda other=other: other)
            same = find(settings, ["data", "class"], ["plugin"]) == before
            assert same == (name in ("mlflow", "hydra-core")), name
    monkeypatch.setattr(fingerprint, "code_identity", lambda: "edited")
    assert before != find(settings, ["data", "class"], ["plugin"])


def threads(folder):
    """How many threads each job's linear algebra may use."""
    return {line.split()[2] for line in (folder / "diary").read_text().splitlines()}


def test_only_seeds_that_are_not_there_are_computed(tmp_path):
    dawdle(tmp_path, "seeds=2", "hydra.sweep.dir=first")
    done = dawdle(tmp_path, "seeds=5", "learner.C=1,2", "hydra.sweep.dir=second")
    assert diary(tmp_path) == {1: 5, 2: 5}
    assert (
        re.search(r"5 seeds, 2 reused", done.stdout)
        and len(re.findall("reused", done.stdout)) == 1
    )
    one, two = results.find_records(tmp_path / "second")
    assert one.info.reused == (0, 1) and two.info.reused == ()
    dawdle(tmp_path, "seed=3", "seeds=2")
    assert diary(tmp_path) == {1: 5, 2: 5}
    dawdle(tmp_path, "seeds=5", "force=true", "hydra.sweep.dir=forced")
    assert diary(tmp_path) == {1: 10, 2: 5}
    forced = curves_of(tmp_path / "forced")
    assert forced["0"] == curves_of(tmp_path / "second")["0"]


def test_results_of_other_plugins_survive_an_edit(tmp_path):
    """What counts is the code of the plugins that a run uses."""
    plugins = tmp_path / "mine"
    shutil.copytree(ROOT / "tests" / "dawdler", plugins)
    env = {"RSBENCH_PLUGINS": str(plugins)}
    dawdle(tmp_path, **env)
    shutil.copy(ROOT / "plugins" / "marked_perceptron.py", plugins)
    dawdle(tmp_path, **env)
    assert diary(tmp_path) == {1: 2}
    with open(plugins / "dawdler.py", "a") as file:
        file.write("# edited\n")
    dawdle(tmp_path, **env)
    assert diary(tmp_path) == {1: 4}


def test_data_count_by_content_not_by_place(rsbench, tmp_path, rng):
    arrays = {
        "X": rng.random((40, 5)),
        "y": np.arange(40) % 2,
        "Z": rng.random((40, 5)) < 0.5,
    }
    args = (
        "-m",
        "method=dawdler",
        "tracking=none",
        "seeds=2",
        "protocol.samples_per_class=3",
        "dataset=arrays",
    )
    for name, change, computed in (("one", 0, 2), ("two", 0, 2), ("three", 1, 4)):
        np.savez(tmp_path / f"{name}.npz", **{**arrays, "X": arrays["X"] + change})
        done = rsbench(*args, f"dataset.path={name}.npz", env=dawdling(tmp_path))
        assert done.returncode == 0, done.stderr
        assert diary(tmp_path) == {1: computed}, name


def start(folder, *args):
    """A sweep that can be killed, workers and all."""
    return subprocess.Popen(
        [sys.executable, "-m", "rsbench", *DAWDLE, *args],
        cwd=folder, env={**os.environ, **dawdling(folder)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def test_each_job_is_composed_once(tmp_path):
    """Beside the command itself, which is composed to be checked, and once by Hydra."""
    script = (
        "import sys\n"
        "from rsbench.cli.configs import ComponentConfigs\n"
        "load, asked = ComponentConfigs.load_config, []\n"
        "class Counting(ComponentConfigs):\n"
        "    def load_config(self, config_path):\n"
        "        asked.append(config_path)\n"
        "        return load(self, config_path)\n"
        "import rsbench.cli.configs as configs\n"
        "configs.ComponentConfigs = Counting\n"
        "from rsbench.__main__ import main\n"
        "code = main()\n"
        "print('composed', asked.count('protocol/per_class'))\n"
        "sys.exit(code)\n"
    )
    command = ("-m", "tracking=none", *SMALL, "learner.C=1,2,3,4,5")
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    # One more for what the runs are compared with, to see what was changed.
    assert "composed 8" in done.stdout


def test_a_job_may_come_twice(rsbench, tmp_path):
    done = rsbench(
        "-m",
        "tracking=none",
        *SMALL,
        "learner.C=1,1,2",
        "hydra.sweep.dir=sweep",
    )
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "sweep").glob("*/curves.csv"))) == 3


def test_the_same_command_in_the_same_folder_goes_on(rsbench, tmp_path):
    command = ("learner.C=1,2,3", "learner.nap=0.3", "seeds=2", "hydra.sweep.dir=sweep")
    sweep = start(tmp_path, *command)
    wait_for(lambda: diary(tmp_path)[2.0] == 1)
    state = rsbench("status", "sweep").stdout
    assert "1 done, 1 running, 1 missing" in state
    assert re.search(
        r"0 done +learner.C=1\n +1 running +learner.C=2\n +2 missing +learner.C=3\n",
        state,
    ), state
    os.killpg(sweep.pid, signal.SIGKILL)
    sweep.communicate()
    state = rsbench("status", "sweep").stdout
    assert re.search(
        r"0 done .*\n +1 missing +learner.C=2 interrupted\n +2 missing +learner.C=3\n",
        state,
    ), state
    first = results.read_record(tmp_path / "sweep" / "0").info.id
    done = rsbench(*DAWDLE, *command, env=dawdling(tmp_path))
    assert done.returncode == 0 and "finished earlier" in done.stdout, done.stderr
    assert diary(tmp_path)[1.0] == 2 and sum(diary(tmp_path).values()) <= 7
    assert results.read_record(tmp_path / "sweep" / "0").info.id == first
    assert "3 done" in rsbench("status", "sweep").stdout
    other = rsbench(
        *DAWDLE,
        "learner.C=1,2",
        "hydra.sweep.dir=sweep",
        env=dawdling(tmp_path),
    )
    assert other.returncode == 1 and "another command" in other.stderr


def test_a_single_run_goes_on_in_its_folder(rsbench, tmp_path):
    command = ("method=dawdler", "tracking=none", *SMALL, "hydra.run.dir=run")
    env = dawdling(tmp_path)
    assert rsbench(*command, env=env).returncode == 0
    before = (tmp_path / "run" / "run.json").read_bytes()
    assert rsbench(*command, env=env).returncode == 0
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    (tmp_path / "run" / "curves.csv").unlink()  # as if it had been killed at the end
    assert "1 missing" in rsbench("status", "run").stdout
    assert rsbench(*command, env=env).returncode == 0
    assert diary(tmp_path) == {1: 2} and results.read_record(
        tmp_path / "run"
    ).info.reused == (0, 1)
    refused = rsbench(*command, "learner.C=2", env=env)
    assert refused.returncode == 1 and "another command" in refused.stderr


def test_status_of_nothing_is_an_error(rsbench, tmp_path):
    done = rsbench("status", str(tmp_path))
    assert done.returncode == 1 and "no sweep or run in it" in done.stderr


FAILING = """
from rsbench import hookimpl
from rsbench.learners import Lean
import pathlib

class Failing(Lean):
    "Fails until told otherwise."
    def prequential(self, X, y, classes=None):
        if not pathlib.Path("mended").exists():
            raise ZeroDivisionError("oops")
        return super().prequential(X, y, classes)

@hookimpl
def rsbench_learners():
    return {"failing": Failing}
"""


@pytest.mark.parametrize(
    ("launcher", "on_error"),
    [
        ("basic", "continue"),
        ("basic", "stop"),
        ("joblib", "stop"),
        ("submitit_local", "continue"),
    ],
)
def test_a_failing_job_is_told_and_tried_again(rsbench, launcher, on_error, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "failing.py").write_text(FAILING)
    command = ("-m", "method=failing,lean,svm_ff", "tracking=none", *SMALL, "hydra.sweep.dir=sweep",
               f"on_error={on_error}", f"hydra/launcher={launcher}", "hydra.sweeper.max_batch_size=1")  # fmt: skip
    done = rsbench(*command)
    assert done.returncode == 1
    assert (
        "error: ZeroDivisionError: oops\ntraceback: sweep/0/error.txt" in done.stderr
    ), done.stderr
    assert "Traceback" in (tmp_path / "sweep" / "0" / "error.txt").read_text()
    finished = {"continue": {"1", "2"}, "stop": set()}[on_error]
    assert set(curves_of(tmp_path / "sweep")) == finished
    assert ("| svm_ff " in done.stdout) == bool(finished)
    state = rsbench("status", "sweep").stdout
    assert re.search(
        r"0 failed +method=failing ZeroDivisionError: oops \(sweep/0/error.txt\)", state
    ), state
    (tmp_path / "mended").touch()
    done = rsbench(*command)
    assert done.returncode == 0, done.stderr
    assert "3 done" in rsbench("status", "sweep").stdout


def test_a_job_killed_by_a_signal_spares_the_others(rsbench, tmp_path):
    command = (
        "learner.C=1,2,3",
        "learner.nap=0.3",
        "hydra/launcher=submitit_local",
        "hydra.sweep.dir=sweep",
    )
    sweep = start(tmp_path, *command)
    wait_for(lambda: (tmp_path / "diary").exists())
    os.kill(int((tmp_path / "diary").read_text().split()[1]), signal.SIGKILL)
    _, err = sweep.communicate(timeout=120)
    assert sweep.returncode == 1 and "1 of 3 runs are not finished" in err, err
    assert len(curves_of(tmp_path / "sweep")) == 2
    assert rsbench(*DAWDLE, *command, env=dawdling(tmp_path)).returncode == 0
    assert (
        len(curves_of(tmp_path / "sweep")) == 3 and sum(diary(tmp_path).values()) <= 7
    )
    assert threads(tmp_path) == {"1"}


def test_a_killed_worker_of_joblib_is_explained(tmp_path):
    command = (
        "learner.C=1,2",
        "learner.nap=0.3",
        "hydra/launcher=joblib",
        "hydra.launcher.n_jobs=2",
    )
    sweep = start(tmp_path, *command)
    wait_for(lambda: (tmp_path / "diary").exists())
    os.kill(int((tmp_path / "diary").read_text().split()[1]), signal.SIGKILL)
    _, err = sweep.communicate(timeout=120)
    assert threads(tmp_path) == {"1"}
    assert (
        sweep.returncode == 1
        and "joblib gave up" in err
        and "the same command again" in err
    ), err
    assert "Traceback" not in err


def test_launchers_give_the_same_bytes(rsbench, tmp_path):
    found = []
    for launcher in ("basic", "joblib", "submitit_local"):
        folder = tmp_path / launcher
        folder.mkdir()
        methods = "method=lean,class_soft,svm_ff"
        done = rsbench("-m", methods, "tracking=none", *SMALL, f"hydra/launcher={launcher}", "hydra.sweep.dir=sweep",
                       cwd=folder, env={"RSBENCH_CACHE": "cache"})  # fmt: skip
        assert done.returncode == 0, done.stderr
        # Two seeds each: of three methods, and of two with shuffled annotations.
        assert len(list(folder.glob("cache/seeds/*/*.json"))) == 10
        found.append(curves_of(folder / "sweep"))
    assert len(found[0]) == 3 and found[0] == found[1] == found[2]


@pytest.mark.parametrize("folder", ["sweep", None])
def test_two_people_with_one_command_share_the_work(folder, tmp_path):
    """In one folder, and each in one of their own with the same caches."""
    where = (f"hydra.sweep.dir={folder}",) if folder else ()
    sweeps = [
        start(tmp_path, "learner.C=1,2", "learner.nap=0.1", *where) for _ in range(2)
    ]
    for sweep in sweeps:
        _, err = sweep.communicate(timeout=120)
        assert sweep.returncode == 0, err
    assert diary(tmp_path) == {1: 2, 2: 2}
    assert len(results.find_records(tmp_path)) == (2 if folder else 4)
    assert len({path.read_bytes() for path in tmp_path.rglob("0/curves.csv")}) == 1
    assert not list(tmp_path.rglob("cache/**/*.lock"))


MAKER = """
import time, numpy as np
from rsbench.files.cache import Cache
def make():
    open("made", "a").write("once\\n")
    time.sleep(1)
    return {"x": np.arange(5)}
while not __import__("os").path.exists("go"): time.sleep(0.01)
cache = Cache("features/some")
print(cache.make("key", "making", make)["x"].sum())
"""


def test_eight_processes_that_want_one_entry_make_it_once(tmp_path):
    command = [sys.executable, "-c", MAKER]
    jobs = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    time.sleep(1)
    (tmp_path / "go").touch()
    assert [job.communicate(timeout=60)[0].strip() for job in jobs] == ["10"] * 8
    assert (tmp_path / "made").read_text() == "once\n"


def test_a_cluster_job_uses_the_cores_it_was_given(monkeypatch):
    from rsbench.files.places import cores

    here = cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    assert cores() == 1
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", str(10 * here))
    assert cores() == here


HELD_OUT = """
from dataclasses import dataclass
import numpy as np
from rsbench import hookimpl
from rsbench.core.data import Data

@dataclass(frozen=True)
class WithValidation(Data):
    validation: Data | None = None

class HeldOut:
    "Two classes to learn, which tell nothing, and two to tune on, which do."
    def load(self):
        rng = np.random.default_rng(0)
        y = np.arange(60) % 2
        X = rng.random((60, 4))
        told = Data(X=X + 2 * np.eye(2, 4)[y], y=y, Z=np.ones((60, 4), bool), simulated=False)
        return WithValidation(X=X, y=y, Z=np.ones((60, 4), bool), simulated=True, validation=told)

@hookimpl
def rsbench_datasets():
    return {"held_out": HeldOut}
"""

TUNE = (
    *(
        "-m",
        "method=dawdler",
        "learner.nap=0",
        "tracking=none",
        "dataset=held_out",
        "seeds=2",
    ),
    *(
        "protocol.samples_per_class=5",
        "hydra/sweeper=optuna",
        "hydra.sweeper.n_trials=4",
    ),
    *("learner.C=tag(log, interval(0.01, 100))", "hydra.sweep.dir=sweep"),
)


def test_tuning_is_on_validation_classes_and_goes_on(rsbench, tmp_path):
    pytest.importorskip(
        "hydra_plugins.hydra_optuna_sweeper", reason="the extra `tune` is not installed"
    )
    plugins = tmp_path / "mine"
    shutil.copytree(ROOT / "tests" / "dawdler", plugins)
    (plugins / "held_out.py").write_text(HELD_OUT)
    env = {**dawdling(tmp_path), "RSBENCH_PLUGINS": str(plugins)}
    done = rsbench(*TUNE, env=env)
    assert done.returncode == 0, done.stderr
    assert "held_out, validation classes" in done.stdout
    runs = results.find_records(tmp_path / "sweep")
    errors = {
        run.info.config["learner"]["C"]: run.mean("cumulative_error")[-1]
        for run in runs
    }
    best = OmegaConf.load(tmp_path / "sweep" / "optimization_results.yaml")
    assert len(errors) == 4 and best.best_value == min(errors.values()) < 0.3
    assert best.best_params["learner.C"] == min(errors, key=errors.get)
    begun = sum(diary(tmp_path).values())
    done = rsbench(*TUNE, env=env)  # the same way once more
    assert done.returncode == 0 and done.stdout.count("finished earlier") == 4, (
        done.stderr
    )
    assert sum(diary(tmp_path).values()) == begun == 8
    assert (
        len(
            re.findall(
                r"\d done +learner.C=[\d.]+\n",
                rsbench("status", "sweep").stdout,
            )
        )
        == 4
    )
    done = rsbench(*TUNE, "learn_on=few_shot", env=env)
    assert done.returncode == 1 and "tunes on validation classes" in done.stderr


def test_data_without_validation_classes_cannot_be_tuned_on(rsbench):
    done = rsbench(
        "learn_on=validation",
        "tracking=none",
        *SMALL,
        "dataset.background_classes=0",
    )
    assert (
        done.returncode == 1
        and "other classes, and the data set has none" in done.stderr
    )
    done = rsbench("-m", "learner.C=interval(1, 2)", "tracking=none", *SMALL)
    assert done.returncode == 1 and "hydra/sweeper=optuna" in done.stderr


LEARNER = """
from rsbench.learners import Lean

class Mine(Lean):
    SIGN = 1

    def step_vector(self, X, R):
        return self.SIGN * X
"""
HOOK = """
from rsbench import hookimpl
from {} import Mine

@hookimpl
def rsbench_learners():
    return {{"mine": Mine}}
"""
MINE = ("learner=mine", "tracking=none", *SMALL)


def test_results_of_other_code_do_not_stand_for_those_of_this(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    plugin = tmp_path / "plugins" / "mine.py"
    plugin.write_text(
        LEARNER
        + HOOK.partition("from {} import Mine")[0]
        + HOOK.partition("from {} import Mine")[2].format()
    )
    command = ("-m", "learner.C=1,2", *MINE, "hydra.sweep.dir=s")
    assert rsbench(*command).returncode == 0
    plugin.write_text(
        plugin.read_text()
        .replace("SIGN = 1", "SIGN = -1")
        .replace("return self.SIGN", "assert self.C < 2\n        return self.SIGN")
    )
    done = rsbench(*command)
    assert done.returncode == 1 and "1 of 2 runs failed" in done.stderr
    (run,) = results.find_records(tmp_path / "s")
    assert (
        run.info.config["learner"]["C"] == 1
        and "1 done, 1 failed" in rsbench("status", "s").stdout
    )
    assert (
        tmp_path / "s" / "1" / "superseded.csv"
    ).exists()  # nothing is lost of it either
    plugin.write_text(plugin.read_text().replace("assert self.C < 2", "pass"))
    assert rsbench(*command).returncode == 0
    assert (
        len(results.find_records(tmp_path / "s")) == 2
        and not (tmp_path / "s" / "1" / "superseded.csv").exists()
    )


def test_jobs_that_share_a_folder_are_refused(rsbench, tmp_path):
    done = rsbench(
        "-m",
        "method=lean,ellipsotron",
        "tracking=none",
        *SMALL,
        "hydra.sweep.subdir=x",
    )
    assert (
        done.returncode == 1
        and "jobs 0 and 1 share the folder" in done.stderr
        and "Traceback" not in done.stderr
    )
    (run,) = results.find_records(tmp_path)
    assert run.info.method == "lean"


def test_a_sweep_beside_its_own_tracking_store_ends_well(rsbench):
    done = rsbench("-m", "method=lean,ellipsotron", *SMALL, "hydra.sweep.dir=outputs")
    assert done.returncode == 0, done.stderr
