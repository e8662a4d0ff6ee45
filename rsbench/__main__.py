"""python -m rsbench: a named command, else the Hydra run."""

import os
import sys

# NumPy's linear algebra reads these once, when it is imported: threads that are never
# used would be started first, which takes 3 % of a sweep's time. Results do not depend
# on it: what computes asks for one thread itself.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

COMMANDS = ("plugins", "new", "check", "data", "status", "track", "report", "plan")


def main() -> int:
    """Run the command line and return its exit code."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word in COMMANDS:
        from rsbench.cli.commands import main as command

        try:
            return command(sys.argv[1:])
        except BrokenPipeError:  # whoever was reading has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
    if word[:1].isalpha() and "=" not in word:
        from rsbench.errors import did_you_mean

        near = did_you_mean(word, COMMANDS)
        print(f"error: unknown command '{word}'. {near}", file=sys.stderr)
        print(
            "Settings are given as KEY=VALUE; see python -m rsbench --help",
            file=sys.stderr,
        )
        return 1
    if sys.argv[1:] in (["--help"], ["-h"]):
        from pathlib import Path

        from rsbench.cli.help import show_help

        return show_help(Path.cwd())
    from rsbench.cli.hydra_run import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
