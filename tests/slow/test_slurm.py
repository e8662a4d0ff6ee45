"""A sweep on a real Slurm: preempted and killed jobs, resumed, and the bytes of a local sweep in the end."""

import os
import re
import signal
import subprocess
import sys

import pytest

from rsbench.store.record import find_records
from tests.helpers import DAWDLE, curves_of, dawdling
from tests.slow import slurm

JOBS = ("learner.C=0.1,1,10,100", "seeds=8")
LAUNCHER = (
    "hydra/launcher=slurm",
    "hydra.launcher.mem_gb=1",
    "hydra.launcher.timeout_min=5",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    try:
        slurm.install()
    except slurm.UnavailableError as why:
        pytest.skip(f"no Slurm: {why}")
    with slurm.cluster(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment


def ask(environment, *command):
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def seeds_begun(folder):
    """What each seed's job and process are, in order."""
    text = (folder / "diary").read_text() if (folder / "diary").exists() else ""
    return [
        (float(line.split()[0]), int(line.split()[1])) for line in text.splitlines()
    ]


def test_a_sweep_on_slurm_survives_preemption_and_a_killed_job(
    rsbench, cluster, tmp_path
):
    local = tmp_path / "local"
    local.mkdir()
    done = rsbench(
        *DAWDLE,
        *JOBS,
        "learner.nap=0",
        "hydra.sweep.dir=sweep",
        cwd=local,
        env=dawdling(local),
    )
    assert done.returncode == 0, done.stderr

    environment = {**cluster, **dawdling(tmp_path), "RSBENCH_DATA": "data"}
    command = (*DAWDLE, *JOBS, "learner.nap=0.2", *LAUNCHER, "hydra.sweep.dir=sweep")
    sweep = subprocess.Popen(
        [sys.executable, "-m", "rsbench", *command], cwd=tmp_path, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        slurm.wait_for(
            "seeds on both nodes", lambda: len(set(seeds_begun(tmp_path))) == 2
        )
        state = rsbench("status", "sweep").stdout
        assert re.search(r"2 running, 2 missing", state), state
        (_, out_of_time), (_, killed) = sorted(set(seeds_begun(tmp_path)))
        os.kill(out_of_time, signal.SIGUSR2)  # what Slurm sends before time is up
        os.kill(killed, signal.SIGKILL)
        waiting = ("squeue", "-h", "-t", "PD", "-o", "%F_%K %r")
        slurm.wait_for(
            "the job back in the queue",
            lambda: "BeginTime" in ask(environment, *waiting),
        )
        (job,) = (
            line.split()[0]
            for line in ask(environment, *waiting).splitlines()
            if "BeginTime" in line
        )
        ask(
            environment, "scontrol", "update", f"JobId={job}", "StartTime=now"
        )  # Slurm would wait two minutes
        out, err = sweep.communicate(timeout=240)
    finally:
        sweep.kill()
    # The job that was put back went on by itself; the other one is missing, and said to be.
    assert sweep.returncode == 1 and "1 of 4 runs are not finished" in err, err
    assert len(curves_of(tmp_path / "sweep")) == 3 and out.count("| dawdler") >= 3
    before = {run.folder.name: run.info.id for run in find_records(tmp_path / "sweep")}

    done = rsbench(*command, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr
    after = {run.folder.name: run.info.id for run in find_records(tmp_path / "sweep")}
    assert before.items() < after.items()  # finished runs are left as they are
    assert curves_of(tmp_path / "sweep") == curves_of(local / "sweep")
    assert (
        len(seeds_begun(tmp_path)) <= 4 * 8 + 2
    )  # each of the two interruptions cost a seed at most
