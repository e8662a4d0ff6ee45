"""Whole commands, as a person types them: what they show, what they write, how they fail."""

import csv
import fcntl
import functools
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import numpy as np
import pytest

from rsbench.report.paper import TABLES
from rsbench.store import record as results
from tests.helpers import SMALL, run_command

MINE = """
from rsbench import hookimpl
from rsbench.learners import PassiveAggressive, RelevanceLearner

class Mine(RelevanceLearner, PassiveAggressive):
    '''Ellipsotron with a softer metric.'''
    def __init__(self, C: float = 1.0, variant: str = "pa2", power: float = 1.0):
        super().__init__(C, variant)
        self.power = power

    def step_vector(self, X, R):
        return R**self.power * X

@hookimpl
def rsbench_learners():
    return {"mine": Mine}
"""


def only(folder, pattern):
    (path,) = folder.glob(pattern)
    return path


def curves(folder):
    """Bytes of every curves.csv, by method and preprocessor."""
    return {
        (run.info.method, run.info.config["preprocessor"]["name"]): (
            run.folder / "curves.csv"
        ).read_bytes()
        for run in results.find_records(folder)
    }


@pytest.fixture(scope="module")
def cub(tmp_path_factory):
    """The main command, with fewer seeds."""
    folder = tmp_path_factory.mktemp("cub")
    done = run_command("+experiment=cub", "seeds=3", "tracking=none", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_cub_ends_with_a_table_beside_the_papers_and_a_figure(cub):
    folder, done = cub
    table = only(folder, "outputs/sweeps/*/table.md").read_text()
    assert table in done.stdout
    for method in (
        "lean",
        "feature_scaling",
        "ellipsotron",
        "class_threshold",
        "class_soft",
        "cross_classes",
        "svm_ff",
    ):
        assert re.search(rf"^\| {method} ", table, re.MULTILINE)
    assert "93.44" in table and "1887" in table
    figure = only(folder, "outputs/sweeps/*/curves.png")
    assert str(figure.relative_to(folder)) in done.stdout


def test_cub_says_simulated_everywhere(cub):
    folder, done = cub
    assert done.stdout.count("SIMULATED data (cub).") == 1  # once, before the first run
    assert "SIMULATED" in only(folder, "outputs/sweeps/*/table.md").read_text()
    for run in results.find_records(folder):
        assert run.info.data.simulated is True and run.info.data.name == "cub"


def test_cub_stand_in_has_the_papers_order_on_raw_features(cub):
    runs = {run.info.method: run for run in results.find_records(cub[0])}
    for step in (5, 10, 20):
        error = {
            name: run.mean("cumulative_error")[run.steps.index(step)]
            for name, run in runs.items()
        }
        assert (
            error["lean"]
            > error["feature_scaling"]
            > error["ellipsotron"]
            > error["class_soft"]
        ), step


def test_cub_records_the_papers_setting(cub):
    runs = {run.info.method: run for run in results.find_records(cub[0])}
    assert runs["lean"].info.classes == 50 and runs["lean"].steps == list(range(1, 26))
    assert runs["class_threshold"].info.config["aggregator"]["theta"] == 5
    assert runs["ellipsotron"].info.config["aggregator"] == {
        "name": "sample",
        "relevant": 1,
        "irrelevant": 1e-10,
    }
    # Not in the paper, and told nothing but labels.
    others = {"ncm", "ridge"}
    assert set(runs) == {*TABLES["cub"], "svm_ff", *others}
    for method, run in runs.items():
        assert method in others or run.info.config["learner"]["C"] == 1
        assert run.info.fingerprint and run.info.versions and run.info.digests
    assert len({run.info.data.identity for run in runs.values()}) == 1


def test_sweeps_are_narrowed_and_widened_from_the_command_line(rsbench, tmp_path):
    done = rsbench(
        "+experiment=cub", "method=lean,svm_ff", "preprocessor=none,center", "seeds=1", "protocol.samples_per_class=2",
        "tracking=none",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(curves(tmp_path)) == {
        (m, p) for m in ("lean", "svm_ff") for p in ("none", "center")
    }


def test_a_repeat_writes_the_same_bytes_in_another_process_and_in_parallel(
    rsbench, tmp_path
):
    sweep = (
        "-m",
        "method=lean,class_soft,svm_ff,svm_ff_batch",
        "tracking=none",
        "force=true",
        *SMALL,
    )
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder, extra in zip(
        folders,
        ([], [], ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]),
        strict=True,
    ):
        folder.mkdir()
        done = rsbench(*sweep, *extra, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "| svm_ff_batch" in done.stdout
    one, two, three = (curves(folder) for folder in folders)
    assert len(one) == 4 and one == two == three


def test_seeds_do_not_depend_on_what_is_computed_together(rsbench, tmp_path):
    def rows(*args):
        done = rsbench("tracking=none", "force=true", *SMALL, *args)
        assert done.returncode == 0, done.stderr
        latest = max(
            tmp_path.glob("outputs/runs/*"), key=lambda path: path.stat().st_mtime
        )
        with open(latest / "curves.csv") as file:
            return [tuple(row) for row in csv.reader(file)][1:]

    together = rows("seeds=3")
    assert [row for row in together if row[0] == "2"] == rows("seed=2", "seeds=1")


def test_a_dropped_learner_runs_by_name_and_in_a_sweep(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "mine.py").write_text(MINE)
    single = rsbench("learner=mine", "learner.power=1.5", "tracking=none", *SMALL)
    assert single.returncode == 0 and "mine+sample" in single.stdout, single.stderr
    fast = ("seeds=1", "protocol.samples_per_class=5", "tracking=none")
    swept = rsbench("+experiment=cub", "method=lean,ellipsotron,mine", *fast)
    assert swept.returncode == 0 and re.search(
        r"^\| mine ", swept.stdout, re.MULTILINE
    ), swept.stderr
    shown = rsbench("learner=mine", "--help")
    assert "power: 1.0" in shown.stdout and "mine" in shown.stdout
    launcher = ("hydra/launcher=joblib", "hydra.job.chdir=true")
    parallel = rsbench("-m", "method=lean,mine", *launcher, "tracking=none", *SMALL)
    assert parallel.returncode == 0, parallel.stderr


def test_a_broken_plugin_is_reported_and_stops_nobody(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "bad.py").write_text("raise SystemExit('no')")
    done = rsbench("tracking=none", *SMALL)
    assert done.returncode == 0
    assert "bad.py is broken and was left out: SystemExit: no" in done.stderr
    assert "Traceback" in rsbench("plugins", "-v").stdout
    listed = rsbench("plugins")
    assert listed.returncode == 1 and re.search("broken +plugins/bad.py", listed.stdout)
    assert re.search("learner +ellipsotron +rsbench +C: float", listed.stdout)


def test_method_in_the_record_is_the_chosen_one_only_if_unchanged(rsbench, tmp_path):
    def recorded(*args):
        done = rsbench("tracking=none", *SMALL, *args)
        assert done.returncode == 0, done.stderr
        latest = max(
            tmp_path.glob("outputs/runs/*"), key=lambda path: path.stat().st_mtime
        )
        return json.loads((latest / "run.json").read_text())["method"]

    assert recorded("method=class_soft") == "class_soft"
    assert recorded("method=class_soft", "learner.C=2") == "class_soft"
    assert (
        recorded("method=class_soft", "learner=feature_scaling")
        == "feature_scaling+class_soft"
    )
    assert recorded() == "ellipsotron+sample"


def test_theta_is_chosen_by_validation_unless_given(rsbench, tmp_path):
    quick = ("method=class_threshold", "dataset.classes=4", "seeds=2", "tracking=none")
    assert rsbench(*quick, "hydra.run.dir=auto").returncode == 0
    assert rsbench(*quick, "theta=3", "hydra.run.dir=three").returncode == 0
    tuned = json.loads((tmp_path / "auto" / "run.json").read_text())["tuned"]
    assert set(tuned) == {"0", "1"} and all(
        0 <= chosen["theta"] <= 9 for chosen in tuned.values()
    )
    assert json.loads((tmp_path / "three" / "run.json").read_text())["tuned"] == {}


def test_help_is_quick_to_read_and_imports_nothing_heavy(rsbench, tmp_path):
    done = rsbench("--help")
    assert done.returncode == 0
    for word in (
        "python -m rsbench +experiment=cub",
        "experiment: c_scan, cub, cub_budget",
        "learner: bottleneck",
        "seeds: 5",
    ):
        assert word in done.stdout
    code = (
        "import sys; sys.argv = ['rsbench', '--help']\n"
        "from rsbench.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'mlflow', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )


def arrays(folder, **changes):
    rng = np.random.default_rng(0)
    content = {
        "X": rng.random((24, 3)),
        "y": np.repeat([0, 1, 2], 8),
        "Z": rng.random((24, 3)) < 0.5,
        **changes,
    }
    np.savez(
        folder / "d.npz",
        **{key: value for key, value in content.items() if value is not None},
    )
    return ("dataset=arrays", "dataset.path=d.npz", "protocol.samples_per_class=4")


BAD_COMMANDS = {
    "unknown learner": (["learner=elipsotron"], "Did you mean 'ellipsotron'"),
    "unknown method": (["-m", "method=lean,elipsotron"], "Did you mean 'ellipsotron'"),
    "unknown dataset": (["dataset=cubb"], "Did you mean 'cub'"),
    "unknown experiment": (["+experiment=cubs"], "Did you mean 'cub'"),
    "unknown key": (["learner.Cc=1"], "unknown setting 'learner.Cc'. Did you mean 'C'"),
    "unknown top key": (["sedes=3"], "Did you mean 'seeds'"),
    "misspelt command": (
        ["plugin"],
        "unknown command 'plugin'. Did you mean 'plugins'",
    ),
    "method null": (["method=null"], "method=null chooses nothing"),
    "tracking null": (["tracking=null"], "tracking=null chooses nothing"),
    "null in a sweep": (["-m", "method=lean,null"], "method=null chooses nothing"),
    "two experiments": (["-m", "+experiment=cub,sun"], "a sweep is one experiment"),
    "unknown tracking": (["tracking.name=foo"], "choose with tracking=NAME"),
    "learner by the back door": (
        ["method=lean", "learner.name=svm_ff"],
        "choose with learner=NAME",
    ),
    "no tracking uri": (["tracking.uri=null"], "tracking.uri=None, expected text"),
    "tracking uri deleted": (["~tracking.uri"], "tracking.uri=None, expected text"),
    "swept tracking": (["-m", "tracking=mlflow,none"], "tracking cannot be swept"),
    "seeds deleted": (["~seeds"], "seeds=None, expected a whole number"),
    "no tracking": (["~tracking"], "tracking is missing"),
    "other case": (["learner.c=1"], "Did you mean 'C'"),
    "no bound": (
        ["protocol.max_samples=0"],
        "protocol.max_samples=0, expected 1 or more",
    ),
    "unknown option": (["--multi"], "unknown option --multi"),
    "wrong type": (
        ["learner.C=much"],
        "'much' of type 'str' could not be converted to Float",
    ),
    "wrong choice": (["learner.variant=pa3"], "expected pa or pa1 or pa2"),
    "wrong scope": (
        ["method=class_soft", "aggregator.scope=all"],
        "expected teacher or seen",
    ),
    "C zero": (["learner.C=0"], "C=0.0, expected a number above 0"),
    "C negative in a sweep": (
        ["-m", "learner.C=1,-1"],
        "C=-1.0, expected a number above 0",
    ),
    "irrelevant zero": (
        ["aggregator.irrelevant=0"],
        "irrelevant=0.0, expected a number above 0",
    ),
    "no seeds": (["seeds=0"], "seeds=0, expected"),
    "no class": (["protocol.min_samples=1000"], "class selection: 0 of 20 classes"),
    "too few samples": (
        ["protocol.samples_per_class=60"],
        "class 0 has 60 samples, 60 of them to learn from: too few",
    ),
    "no mask": (["protocol.test=mask"], "fixed test set"),
    "real data absent": (
        ["dataset=cub", "dataset.source=disk"],
        "CUB_200_2011 is not there",
    ),
    "no file": (["dataset=arrays"], "dataset.path=FILE.npz"),
    "learner beside methods": (["+experiment=cub", "learner=lean"], "method=lean"),
    "run folder for a sweep": (
        ["+experiment=cub", "hydra.run.dir=x"],
        "hydra.sweep.dir",
    ),
    "no background": (
        ["dataset.background_classes=0", "preprocessor=center"],
        "preprocessor.fit_on=seen",
    ),
    "code from a config": (["+learner._target_=os.system"], "_target_"),
}


@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_bad_commands_are_explained_and_leave_nothing(rsbench, case, tmp_path):
    args, message = BAD_COMMANDS[case]
    done = rsbench(*args)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    if case == "C negative in a sweep":
        assert [
            run.info.config["learner"]["C"] for run in results.find_records(tmp_path)
        ] == [1.0]
    else:
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]


BAD_ARRAYS = {
    "Z missing": {"Z": None},
    "X[5, 1] is nan": {
        "X": np.where((np.arange(72) == 16).reshape(24, 3), np.nan, 0.5)
    },
    "labels in y must be 0..K-1": {"y": np.repeat([0, 2, 3], 8)},
    "class 2 has 3 samples, 3 of them to learn from: too few": {
        "y": np.repeat([0, 1, 2], [11, 10, 3])
    },
    "one vote per sample and feature": {"Z": np.zeros((24, 5))},
    "votes must lie in [0, 1]": {"Z": np.full((24, 3), 3)},
    "Pickled objects are never loaded": {
        "class_names": np.array([{}, {}, {}], dtype=object)
    },
}


@pytest.mark.parametrize("message", BAD_ARRAYS)
def test_bad_arrays_are_explained_and_leave_nothing(rsbench, message, tmp_path):
    args = arrays(tmp_path, **BAD_ARRAYS[message])
    done = rsbench(*args, "tracking=none")
    assert (
        done.returncode == 1
        and message in done.stderr
        and "Traceback" not in done.stderr
    )
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["d.npz"]


def test_arrays_run_with_nothing_but_a_file(rsbench, tmp_path):
    done = rsbench(*arrays(tmp_path), "seeds=2", "tracking=none")
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" not in done.stdout
    (run,) = results.find_records(tmp_path)
    assert run.info.data.simulated is False


def test_an_output_folder_that_cannot_be_written_is_named(rsbench, tmp_path):
    (tmp_path / "outputs").write_text("a file in the way")
    done = rsbench("tracking=none", *SMALL)
    assert done.returncode == 1 and "cannot write to the output folder" in done.stderr
    assert "hydra.run.dir" in done.stderr and "Traceback" not in done.stderr


def test_a_folder_with_results_is_not_used_again(rsbench, tmp_path):
    again = ("tracking=none", *SMALL)
    assert rsbench(*again, "hydra.run.dir=x").returncode == 0
    before = (tmp_path / "x" / "curves.csv").read_bytes()
    done = rsbench(*again, "hydra.run.dir=x", "seed=7")
    assert (
        done.returncode == 1
        and "holds the results of another command (curves.csv)" in done.stderr
    )
    assert (tmp_path / "x" / "curves.csv").read_bytes() == before
    assert rsbench("-m", "method=lean", *again, "hydra.sweep.dir=y").returncode == 0
    done = rsbench("-m", "method=class_soft", *again, "hydra.sweep.dir=y")
    assert (
        done.returncode == 1 and "holds the results of another command" in done.stderr
    )


def test_methods_and_experiments_of_ones_own(rsbench, tmp_path):
    """From a config folder, with the soft mask 1 + z as a method built on another."""
    for name, text in {
        "method/soft.yaml": "# @package _global_\ndefaults:\n  - ellipsotron\naggregator:\n  relevant: 2\n  irrelevant: 1\n",
        "experiment/mine.yaml": "# @package _global_\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n      method: lean,soft\n",
    }.items():
        (tmp_path / "my conf" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "my conf" / name).write_text(text)
    done = rsbench(
        "--config-dir",
        "my conf",
        "+experiment=mine",
        "tracking=none",
        *SMALL,
    )
    assert done.returncode == 0, done.stderr
    runs = {run.info.method: run for run in results.find_records(tmp_path)}
    assert (
        set(runs) == {"lean", "soft"}
        and runs["soft"].info.config["aggregator"]["relevant"] == 2
    )


@pytest.mark.parametrize(
    "args",
    [
        ["method=lean,svm_ff", "-m"],
        ["method=lean,svm_ff", "--multirun", "hydra.verbose=false"],
        ["-m", "method=glob(*_ff)", "learner.C=1"],
        ["-m", "method='lean','svm_ff'"],
        ["-m", "method=choice(lean,svm_ff)"],
        ["-m", "method=lean"],
        ["-m", "learner.C=range(1,3)"],
        ["hydra.mode=MULTIRUN", "method=lean,svm_ff"],
        ["++learner.C=2", "method=lean"],
        ["hydra.run.dir=here/there"],
    ],
)
def test_hydras_ways_of_saying_things_work(rsbench, args, tmp_path):
    done = rsbench(*args, "tracking=none", *SMALL)
    assert done.returncode == 0, done.stderr
    assert results.find_records(tmp_path)


@pytest.mark.parametrize(
    "args",
    [["--cfg", "job"], ["--info", "searchpath"], ["--hydra-help"], ["--version"]],
)
def test_hydras_questions_are_answered_once(rsbench, args, tmp_path):
    done = rsbench(*args)
    assert done.returncode == 0 and done.stdout
    assert not list(tmp_path.iterdir())
    if args == ["--info", "searchpath"]:
        assert done.stdout.count("structured://") == 1


def test_a_run_in_the_working_folder_is_that_run_alone(rsbench):
    assert rsbench("tracking=none", *SMALL).returncode == 0
    done = rsbench("method=lean", "hydra.run.dir=.", "tracking=none", *SMALL)
    assert done.returncode == 0 and "ellipsotron" not in done.stdout, done.stderr


def test_a_stream_is_summed_up_along_its_length(rsbench):
    stream = (
        "protocol=stream",
        "protocol.test_at=[5,10,16]",
        "dataset.classes=4",
        "dataset.samples=12",
        "seeds=1",
    )
    done = rsbench(*stream, "tracking=none")
    assert done.returncode == 0 and "@16" in done.stdout, done.stderr


def test_folders_with_odd_names_work(rsbench, tmp_path):
    folder = "a b,c=d 'e' $f"
    done = rsbench(
        "-m",
        "method=lean",
        "tracking=none",
        *SMALL,
        "hydra.sweep.dir='a b,c=d \\'e\\' $f'",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / folder / "0" / "curves.csv").exists()


def test_sweeps_over_preprocessors_can_say_what_to_fit_on(rsbench, tmp_path):
    sweep = (
        "-m",
        "method=lean",
        "preprocessor=none,l2,center",
        "preprocessor.fit_on=seen",
    )
    done = rsbench(*sweep, "tracking=none", *SMALL)
    assert done.returncode == 0, done.stderr
    assert {run.info.features for run in results.find_records(tmp_path)} == {
        "none",
        "l2",
        "center (seen)",
    }


def test_what_is_swept_names_the_runs(rsbench, tmp_path):
    done = rsbench("-m", "learner.C=1,2", "tracking=none", *SMALL)
    assert done.returncode == 0, done.stderr
    labels = {run.info.label for run in results.find_records(tmp_path)}
    assert labels == {
        "ellipsotron+sample learner.C=1",
        "ellipsotron+sample learner.C=2",
    }


def test_the_users_own_folder_is_never_removed(rsbench, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious.txt").write_text("keep")
    done = rsbench("hydra.run.dir=mine", "protocol.min_samples=1000", "tracking=none")
    assert done.returncode == 1
    assert (tmp_path / "mine" / "precious.txt").read_text() == "keep"


def test_a_crash_in_one_run_spares_the_others_and_keeps_its_traceback(
    rsbench, tmp_path
):
    (tmp_path / "plugins").mkdir()
    crash = MINE.replace("return R**self.power * X", "raise ZeroDivisionError('oops')")
    (tmp_path / "plugins" / "mine.py").write_text(crash)
    done = rsbench("-m", "method=lean,mine,class_soft", "tracking=none", *SMALL)
    assert done.returncode == 1
    assert (
        "error: ZeroDivisionError: oops" in done.stderr
        and "1 of 3 runs failed" in done.stderr
    )
    assert re.search(r"^\| class_soft ", done.stdout, re.MULTILINE)
    trace = only(tmp_path, "outputs/sweeps/*/1/error.txt")
    assert (
        str(trace.relative_to(tmp_path)) in done.stderr
        and "Traceback" in trace.read_text()
    )
    assert not (trace.parent / "curves.csv").exists()


SLOW = """
import time
from rsbench import hookimpl
from rsbench.learners import Lean

class Slow(Lean):
    '''Takes its time.'''
    def prequential(self, *args, **kwargs):
        time.sleep(30)
        return super().prequential(*args, **kwargs)

@hookimpl
def rsbench_learners():
    return {"slow": Slow}
"""


def test_ctrl_c_leaves_finished_runs_and_their_table(tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "slow.py").write_text(SLOW)
    command = [
        sys.executable,
        "-m",
        "rsbench",
        "-m",
        "method=lean,slow",
        "tracking=none",
        *SMALL,
    ]
    # Tests that run in the background of a shell inherit that it ignores Ctrl-C.
    heeded = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipe = subprocess.PIPE
    job = subprocess.Popen(
        command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True, preexec_fn=heeded
    )
    for _ in range(300):
        if list(tmp_path.glob("outputs/sweeps/*/0/curves.csv")) and list(
            tmp_path.glob("outputs/sweeps/*/1")
        ):
            break
        time.sleep(0.1)
    time.sleep(0.5)
    job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 130 and "stopped" in err and "Traceback" not in err
    assert re.search(r"^\| lean ", out, re.MULTILINE)
    (run,) = results.find_records(tmp_path)
    assert run.info.method == "lean"


def test_progress_shows_on_a_terminal_and_only_there(rsbench, tmp_path):
    quiet = rsbench("tracking=none", *SMALL)
    assert " left" not in quiet.stderr and "% |" not in quiet.stderr
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    job = subprocess.Popen(
        [sys.executable, "-m", "rsbench", "tracking=none", *SMALL],
        cwd=tmp_path,
        stdout=side,
        stderr=side,
    )
    os.close(side)
    shown = b""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    assert job.wait(60) == 0
    assert b"ellipsotron+sample   0% |" in shown and b" left" in shown


def test_two_commands_at_once_never_share_a_folder(tmp_path):
    command = [sys.executable, "-m", "rsbench", "tracking=none", *SMALL]
    jobs = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [job.wait(120) for job in jobs] == [0] * 3
    assert len(results.find_records(tmp_path)) == 3
