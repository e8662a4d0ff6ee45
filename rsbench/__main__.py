"""python -m rsbench: a named command, else the Hydra run."""

import gc
import os
import sys

# One thread per process, before NumPy is imported: results then do not depend on the number of cores,
# and parallel jobs do not fight for them.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Imports and configs make many objects that stay: among them, garbage need not be looked for so often.
gc.set_threshold(100_000)

COMMANDS = ("plugins", "new", "check", "data", "status", "track", "report")


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

        print(
            f"error: unknown command '{word}'. {did_you_mean(word, COMMANDS)}",
            file=sys.stderr,
        )
        print(
            "Settings are given as KEY=VALUE; see python -m rsbench --help",
            file=sys.stderr,
        )
        return 1
    if sys.argv[1:] in (["--help"], ["-h"]):
        from rsbench.cli.usage import show

        return show()
    from rsbench.cli.hydra_run import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
