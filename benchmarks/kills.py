"""Kill a sweep at random moments, and compare with one that was left in peace.

    python benchmarks/kills.py --kills 100

The same command is started again after each kill. SIGKILL goes to the command and all
its workers, up to three seconds after the first seed begins: early enough for a sweep
to be killed many times on its way. When it has come to its end, its curves are compared
byte for byte, and a new one is begun with an empty cache, until all kills are done.
Sweeps run in one process and with joblib's two workers in turn.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SEEDS = 10
JOBS = 5

#: The latest moment of a kill, in seconds after the first seed begins.
AFTER_START = 3.0

#: For a sweep that nobody kills any more, in seconds: far more than it takes.
PATIENCE = 300.0

#: The dawdler naps before each step, so that kills find seeds under way.
SWEEP = [
    "-m",
    "method=dawdler",
    "learner.C=0.1,1,10,100,1000",
    "learner.nap=0.06",
    f"seeds={SEEDS}",
    "tracking=none",
    "dataset.classes=4",
    "dataset.samples=12",
    "protocol.samples_per_class=5",
    "hydra.sweep.dir=sweep",
]

#: By the number of workers.
LAUNCHERS = {1: [], 2: ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]}


@dataclass
class Count:
    """Count kills, sweeps brought to their end, and seeds begun more than once."""

    kills: int = 0
    sweeps: int = 0
    again: int = 0


def start(folder: Path, workers: int) -> subprocess.Popen:
    """Start the sweep, as a group of processes that can be killed together."""
    plugins = Path(__file__).resolve().parent.parent / "tests" / "dawdler"
    own = {
        "RSBENCH_PLUGINS": str(plugins),
        "RSBENCH_TEST_DIARY": str(folder / "diary"),
        "RSBENCH_CACHE": "cache",
    }
    with open(folder / "log", "a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "rsbench", *SWEEP, *LAUNCHERS[workers]],
            cwd=folder,
            env={**os.environ, **own},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def curves(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each job's curves, by its number."""
    found = {}
    for path in (folder / "sweep").glob("*/curves.csv"):
        found[path.parent.name] = path.read_bytes()
    return found


def begun(folder: Path) -> int:
    """Return how many seeds were begun, by the diary that the dawdler keeps."""
    diary = folder / "diary"
    if not diary.exists():
        return 0
    return len(diary.read_text().splitlines())


def undisturbed(folder: Path) -> tuple[dict[str, bytes], float]:
    """Run a sweep in peace; return its curves, and the seconds before its first seed.

    Kills are spread over these seconds too: starting up must survive them as well.
    """
    folder.mkdir()
    started = time.perf_counter()
    sweep = start(folder, workers=2)
    while not begun(folder) and sweep.poll() is None:
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    assert sweep.wait() == 0, (folder / "log").read_text()
    assert begun(folder) == JOBS * SEEDS
    found = curves(folder)
    assert len(found) == JOBS
    return found, seconds


def kill_and_resume(place: Path, kills: int, rng: random.Random) -> Count:
    """Kill and resume sweeps until there were enough kills.

    Raises
    ------
    AssertionError
        If a curve differs, or if a kill costs more than a seed for each worker.
    """
    expected, start_up = undisturbed(place / "peace")
    latest = start_up + AFTER_START
    count = Count()
    while count.kills < kills:
        workers = 1 + count.sweeps % 2
        folder = place / "killed"
        folder.mkdir()
        killed = 0
        finished = False
        while not finished:
            wait = PATIENCE
            if count.kills + killed < kills:
                wait = rng.uniform(0, latest)
            finished = _finishes(folder, workers, wait)
            if not finished:
                killed += 1
        assert curves(folder) == expected
        again = begun(folder) - JOBS * SEEDS
        assert 0 <= again <= killed * workers, (
            f"{again} seeds computed again after {killed} kills of {workers} workers"
        )
        count.kills += killed
        count.sweeps += 1
        count.again += again
        shutil.rmtree(folder)
    return count


def _finishes(folder: Path, workers: int, seconds: float) -> bool:
    """Start the sweep and kill it after a while, unless it comes to its end."""
    sweep = start(folder, workers)
    try:
        code = sweep.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(sweep.pid, signal.SIGKILL)
        sweep.wait()
        return False
    assert code == 0, (folder / "log").read_text()
    return True


def main() -> None:
    """Do it in a folder that is removed at the end, and print what happened."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        count = kill_and_resume(Path(place), args.kills, random.Random(args.seed))
    print(
        f"{count.kills} kills in {count.sweeps} sweeps of {JOBS * SEEDS} seeds: "
        f"all curves the same bytes, {count.again} seeds computed again"
    )


if __name__ == "__main__":
    main()
