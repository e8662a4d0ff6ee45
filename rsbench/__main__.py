"""python -m rsbench: a named command, else the Hydra run."""

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    if len(sys.argv) > 1 and sys.argv[1] in ("plugins", "track"):
        from rsbench.cli.commands import main as command

        return command(sys.argv[1:])
    from rsbench.cli.hydra_run import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
