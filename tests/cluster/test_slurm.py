"""A sweep on a real Slurm: preempted and killed jobs, resumed, and the bytes of a local sweep in the end."""

import re
import subprocess
import sys

import pytest
import slurm
from conftest import DAWDLE, curves_of, dawdling, rsbench

from rsbench import results

JOBS = ("learner.C=0.1,1,10,100", "learner.nap=0.4", "seeds=4")
LAUNCHER = ("hydra/launcher=slurm", "hydra.launcher.mem_gb=1", "hydra.launcher.timeout_min=5")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    try:
        slurm.install()
    except slurm.UnavailableError as why:
        pytest.skip(f"no Slurm: {why}")
    with slurm.cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


def ask(environment, *command):
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def running(environment):
    """Jobs on the nodes, as `3_1`."""
    return ask(environment, "squeue", "-h", "-t", "R", "-o", "%F_%K").split()


def seeds_begun(folder):
    return len((folder / "diary").read_text().splitlines()) if (folder / "diary").exists() else 0


@pytest.mark.slow
def test_a_sweep_on_slurm_survives_preemption_and_a_killed_job(cluster, tmp_path):
    local = tmp_path / "local"
    local.mkdir()
    done = rsbench(*DAWDLE, *JOBS, "hydra.sweep.dir=sweep", cwd=local, env=dawdling(local))
    assert done.returncode == 0, done.stderr

    environment = {**cluster, **dawdling(tmp_path), "RSBENCH_DATA": "data"}
    command = (*DAWDLE, *JOBS, *LAUNCHER, "hydra.sweep.dir=sweep")
    sweep = subprocess.Popen(
        [sys.executable, "-m", "rsbench", *command], cwd=tmp_path, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        slurm.wait_for("two jobs that have done a seed each", lambda: seeds_begun(tmp_path) >= 4)
        preempted, killed = running(environment)
        state = rsbench("status", "sweep", cwd=tmp_path).stdout
        assert re.search(r"2 running, 2 missing", state), state
        ask(environment, "scancel", "--signal=USR2", preempted)  # what Slurm sends before time is up
        ask(environment, "scancel", "--signal=KILL", "--full", killed)
        waiting = ("squeue", "-h", "-t", "PD", "-j", preempted, "-o", "%r")
        slurm.wait_for("the job back in the queue", lambda: "BeginTime" in ask(environment, *waiting))
        ask(environment, "scontrol", "update", f"JobId={preempted}", "StartTime=now")  # in place of two minutes later
        out, err = sweep.communicate(timeout=240)
    finally:
        sweep.kill()
    # The job that was put back went on by itself; the other one is missing, and said to be.
    assert sweep.returncode == 1 and "1 of 4 runs are not finished" in err, err
    assert len(curves_of(tmp_path / "sweep")) == 3 and out.count("| dawdler") >= 3
    before = {run.folder.name: run.info["id"] for run in results.find(tmp_path / "sweep")}

    done = rsbench(*command, cwd=tmp_path, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr
    after = {run.folder.name: run.info["id"] for run in results.find(tmp_path / "sweep")}
    assert before.items() < after.items()  # finished runs are left as they are
    assert curves_of(tmp_path / "sweep") == curves_of(local / "sweep")
    assert seeds_begun(tmp_path) <= 16 + 2  # each of the two interruptions cost a seed at most
