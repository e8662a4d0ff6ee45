"""Kill a sweep at random moments, start the same command again each time, and compare with one left in peace.

    python benchmarks/kills.py --kills 100

SIGKILL goes to the command and all its workers, up to three seconds after the first seed begins: early enough for a
sweep to be killed many times on its way. When it has come to its end, its curves are compared byte for byte, and a
new one is begun with an empty cache, until all kills are done. Sweeps run in one process and with joblib's two
workers in turn.
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

SEEDS, JOBS = 10, 5
AFTER_START = 3.0
SWEEP = [
    *(
        "-m",
        "method=dawdler",
        "learner.C=0.1,1,10,100,1000",
        "learner.nap=0.06",
        f"seeds={SEEDS}",
        "tracking=none",
    ),
    *(
        "dataset.classes=4",
        "dataset.samples=12",
        "protocol.samples_per_class=5",
        "hydra.sweep.dir=sweep",
    ),
]
LAUNCHERS = {1: [], 2: ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]}


@dataclass
class Count:
    """What happened: kills, sweeps brought to their end, and seeds that were begun more than once."""

    kills: int = 0
    sweeps: int = 0
    again: int = 0


def start(folder: Path, launcher: list[str]) -> subprocess.Popen:
    """The sweep in a folder of its own, as a group of processes that can be killed together."""
    plugins = Path(__file__).resolve().parent.parent / "tests" / "dawdler"
    own = {
        "RSBENCH_PLUGINS": str(plugins),
        "RSBENCH_TEST_DIARY": str(folder / "diary"),
        "RSBENCH_CACHE": "cache",
    }
    with open(folder / "log", "a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "rsbench", *SWEEP, *launcher],
            cwd=folder,
            env={**os.environ, **own},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def curves(folder: Path) -> dict[str, bytes]:
    """The bytes of each job's curves."""
    return {
        path.parent.name: path.read_bytes()
        for path in (folder / "sweep").glob("*/curves.csv")
    }


def begun(folder: Path) -> int:
    """How many seeds were begun."""
    return (
        len((folder / "diary").read_text().splitlines())
        if (folder / "diary").exists()
        else 0
    )


def undisturbed(folder: Path) -> tuple[dict[str, bytes], float]:
    """The curves of a sweep that nobody kills, and the seconds before its first seed."""
    folder.mkdir()
    started = time.perf_counter()
    sweep = start(folder, LAUNCHERS[2])
    while not begun(folder) and sweep.poll() is None:
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    assert sweep.wait() == 0, (folder / "log").read_text()
    assert begun(folder) == JOBS * SEEDS
    return curves(folder), seconds


def kill_and_resume(place: Path, kills: int, rng: random.Random) -> Count:
    """Do all of it; an error if a curve differs, or if a kill costs more than a seed for each worker."""
    expected, seconds = undisturbed(place / "peace")
    assert len(expected) == JOBS
    count = Count()
    while count.kills < kills:
        workers = 1 + count.sweeps % 2
        folder = place / "killed"
        folder.mkdir()
        killed = 0
        while True:
            sweep = start(folder, LAUNCHERS[workers])
            try:
                code = sweep.wait(
                    rng.uniform(0, seconds + AFTER_START)
                    if count.kills < kills
                    else 300
                )
            except subprocess.TimeoutExpired:
                os.killpg(sweep.pid, signal.SIGKILL)
                sweep.wait()
                killed += 1
                count.kills += 1
                continue
            assert code == 0, (folder / "log").read_text()
            break
        assert curves(folder) == expected
        again = begun(folder) - JOBS * SEEDS
        assert 0 <= again <= killed * workers, (
            f"{again} seeds computed again after {killed} kills of {workers} workers"
        )
        count.sweeps, count.again = count.sweeps + 1, count.again + again
        shutil.rmtree(folder)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        count = kill_and_resume(Path(place), args.kills, random.Random(args.seed))
    print(
        f"{count.kills} kills in {count.sweeps} sweeps of {JOBS * SEEDS} seeds: all curves the same bytes, ",
        end="",
    )
    print(f"{count.again} seeds computed again")


if __name__ == "__main__":
    main()
