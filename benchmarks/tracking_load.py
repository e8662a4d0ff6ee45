"""Sixteen jobs at once into a fresh outputs folder and a fresh MLflow store, again and again: is each run in it, once?

python benchmarks/tracking_load.py --rounds 10
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

JOBS = 16
SWEEP = [
    *(
        "-m",
        "method=lean,ellipsotron",
        "learner.C=0.01,0.02,0.05,0.1,0.2,0.5,1,2",
        "seeds=2",
    ),
    *("dataset.classes=4", "dataset.samples=12", "protocol.samples_per_class=5"),
    *("hydra/launcher=joblib", f"hydra.launcher.n_jobs={JOBS}"),
]


def one_round(folder: Path) -> tuple[int, int]:
    """How many runs of a sweep are in its store whole, and how many more than once."""
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
    runs = client.search_runs([experiment.experiment_id], "tags.sweep != ''")
    ids = Counter(
        run.data.tags["rsbench.id"]
        for run in runs
        if run.data.tags.get("rsbench.complete") == "true"
    )
    return len(ids), sum(ids.values()) - len(ids) + sum(
        "rsbench.complete" not in run.data.tags for run in runs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    whole = double = 0
    for number in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            found, more = one_round(Path(folder))
        whole, double = whole + found, double + more
        print(
            f"round {number + 1}: {found} of {JOBS} runs in the store, {more} too many",
            flush=True,
        )
    print(f"{whole} of {args.rounds * JOBS} runs in the store, {double} too many")


if __name__ == "__main__":
    main()
