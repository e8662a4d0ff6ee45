"""Send sixteen jobs at once to a fresh MLflow store: is each run in it, once?

    python benchmarks/tracking_load.py --rounds 10

Each round begins with an empty outputs folder, so that the jobs also compete for the
making of the store.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

JOBS = 16

#: Two methods with eight values: as many runs as jobs.
SWEEP = [
    "-m",
    "method=lean,ellipsotron",
    "learner.C=0.01,0.02,0.05,0.1,0.2,0.5,1,2",
    "seeds=2",
    "dataset.classes=4",
    "dataset.samples=12",
    "protocol.samples_per_class=5",
    "hydra/launcher=joblib",
    f"hydra.launcher.n_jobs={JOBS}",
]


def one_round(folder: Path) -> tuple[int, int]:
    """Run the sweep, and return how many of its runs are in the store.

    Returns
    -------
    whole : int
        Runs that are there completely.
    too_many : int
        Further copies of these, and runs that broke off.
    """
    done = subprocess.run(
        [sys.executable, "-m", "rsbench", *SWEEP],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
    experiment = client.get_experiment_by_name("rsbench")
    assert experiment is not None
    # The sweep's own run, their parent, has no such tag.
    runs = client.search_runs([experiment.experiment_id], "tags.sweep != ''")
    complete: Counter[str] = Counter()
    broken_off = 0
    for run in runs:
        mark = run.data.tags.get("rsbench.complete")
        if mark == "true":
            complete[run.data.tags["rsbench.id"]] += 1
        elif mark is None:
            broken_off += 1
    whole = len(complete)
    copies = complete.total() - whole
    return whole, copies + broken_off


def main() -> None:
    """Do all rounds, and print the sums."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    all_whole = 0
    all_too_many = 0
    for number in range(1, args.rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            whole, too_many = one_round(Path(folder))
        all_whole += whole
        all_too_many += too_many
        found = f"{whole} of {JOBS} runs in the store, {too_many} too many"
        print(f"round {number}: {found}", flush=True)
    expected = args.rounds * JOBS
    print(f"{all_whole} of {expected} runs in the store, {all_too_many} too many")


if __name__ == "__main__":
    main()
