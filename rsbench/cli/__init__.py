"""The command line: named commands, and the Hydra run behind everything else."""
