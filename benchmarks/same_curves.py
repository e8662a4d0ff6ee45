"""Tell whether two commits compute the same curves, to the byte.

    python benchmarks/same_curves.py OLD NEW [--features FEATURES.npz] [--seeds N]
                                     [--only EXPERIMENT]

Both commits are checked out into folders of their own and installed beside the packages
of this environment. Each runs every experiment of OLD on the stand-ins, and with
`--features` also `cub` on a file of real features. Runs are matched by the settings of
their components, whatever a commit calls them; their curves.csv must be identical.
Ends with code 1 if a run is missing or differs.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: What decides a run's numbers. Not the method: its name may change, its settings not.
_DECIDES = (
    "dataset",
    "preprocessor",
    "protocol",
    "annotation",
    "aggregator",
    "learner",
    "tune",
)


def main() -> int:
    """Compare two commits, and return 1 if they differ."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--features", type=Path, help="an npz for cub on real features")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", action="append", help="this experiment alone")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pythons = {}
        for commit in (args.old, args.new):
            pythons[commit] = install(commit, Path(folder, commit))
        # The old commit's: one that the new one no longer has is to be missed.
        commands = experiments(Path(folder, args.old), args.features)
        bad = 0
        for name, words in commands.items():
            if args.only and name not in args.only:
                continue
            command = [*words, f"seeds={args.seeds}"]
            old = curves(pythons[args.old], Path(folder, "old", name), command)
            new = curves(pythons[args.new], Path(folder, "new", name), command)
            bad += report(name, old, new)
        for commit in (args.old, args.new):
            git("worktree", "remove", "--force", str(Path(folder, commit)))
    return int(bad > 0)


def install(commit: str, folder: Path) -> Path:
    """Check a commit out and return a Python that runs it."""
    git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    environment = folder / ".venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    here = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        text=True,
    )
    # The packages of this environment come after the commit's own.
    packages = sysconfig.get_path("purelib")
    Path(here.strip(), "packages.pth").write_text(f"{packages}\n")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(folder)], check=True)
    return python


def git(*words: str) -> None:
    """Run a git command in this checkout."""
    subprocess.run(["git", "-C", str(ROOT), *words], check=True)


def experiments(checkout: Path, features: Path | None) -> dict[str, list[str]]:
    """Return the words of each command to compare."""
    found = {}
    for file in sorted((checkout / "conf" / "experiment").glob("*.yaml")):
        found[file.stem] = [f"+experiment={file.stem}"]
    if features is not None:
        path = features.resolve()
        found["cub on real features"] = [
            "+experiment=cub",
            f"dataset.root={path}",
            "dataset.split=[75,25,50]",
            "extractor=precomputed",
            f"extractor.path={path}",
            "preprocessor=none,center",
        ]
    return found


def curves(python: Path, folder: Path, words: list[str]) -> dict[str, bytes]:
    """Run a sweep; return the bytes of each run's curves by its settings."""
    folder.mkdir(parents=True)
    # Nothing of this checkout or this machine: a commit is to run its own code on data
    # of its own.
    environment = {
        **os.environ,
        "PYTHONPATH": "",
        "RSBENCH_CACHE": str(folder / "cache"),
        "RSBENCH_DATA": str(folder / "data"),
        "RSBENCH_PLUGINS": "",
    }
    command = [str(python), "-m", "rsbench", *words, "tracking=none"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found = {}
    for file in folder.rglob("curves.csv"):
        # What a run is judged by has its folder; older commits have none of it.
        if file.parent.name in ("counterpart", "shuffled"):
            continue
        config = json.loads((file.parent / "run.json").read_text())["config"]
        decides = {key: _given(config.get(key)) for key in _DECIDES}
        found[json.dumps(decides, sort_keys=True)] = file.read_bytes()
    return found


def _given(component: Any) -> Any:
    """Return a component's settings without those that are null.

    A later commit may have a parameter more, which at null changes nothing.
    """
    if not isinstance(component, dict):
        return component
    return {key: value for key, value in component.items() if value is not None}


def report(name: str, old: dict[str, bytes], new: dict[str, bytes]) -> int:
    """Print how many runs are the same; return how many are not."""
    missing = sorted(set(old) - set(new))
    differing = []
    for key in sorted(set(old) & set(new)):
        if old[key] != new[key]:
            differing.append(key)
    same = len(old) - len(missing) - len(differing)
    more = len(set(new) - set(old))
    line = f"{name}: {same} of {len(old)} runs the same"
    if more:
        line += f", {more} more in the new commit"
    print(line, flush=True)
    for what, keys in (("missing", missing), ("differs", differing)):
        for key in keys:
            print(f"  {what}: {key}")
    return len(missing) + len(differing)


if __name__ == "__main__":
    sys.exit(main())
