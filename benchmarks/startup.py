"""What the command line costs before anything runs, beside importing Hydra alone: ratios from one run.

    python benchmarks/startup.py

Each command is a process of its own, in turn, `--repeats` times; ratios are of medians.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time

COMMANDS = {
    "import hydra": ["-c", "import hydra"],
    "plugins": ["-m", "rsbench", "plugins"],
    "plugins show ellipsotron": ["-m", "rsbench", "plugins", "show", "ellipsotron"],
    "--help": ["-m", "rsbench", "--help"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(args.repeats + 1):
            for name, words in COMMANDS.items():
                start = time.perf_counter()
                subprocess.run([sys.executable, *words], cwd=folder, stdout=subprocess.DEVNULL, check=True)
                if repeat:  # the first round fills the caches
                    seconds[name].append(time.perf_counter() - start)
    floor = statistics.median(seconds["import hydra"])
    print("| command | median s | spread s | ratio to `import hydra` |\n|---|---:|---:|---:|")
    for name, times in seconds.items():
        middle = statistics.median(times)
        print(f"| {name} | {middle:.2f} | {min(times):.2f}–{max(times):.2f} | {middle / floor:.2f} |")


if __name__ == "__main__":
    main()
