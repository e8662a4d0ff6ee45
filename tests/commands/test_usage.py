"""`--help` without Hydra says what Hydra's own says."""

from conftest import rsbench

PLUGIN = '''
from rsbench import hookimpl
from rsbench.learners import Lean


class Mine(Lean):
    """A learner."""


@hookimpl
def rsbench_learners():
    return {"mine": Mine}
'''


def test_help_is_what_hydra_shows(tmp_path):
    (tmp_path / "plugins" / "conf" / "method").mkdir(parents=True)
    (tmp_path / "plugins" / "mine.py").write_text(PLUGIN)
    (tmp_path / "plugins" / "conf" / "method" / "preset.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /learner: mine\n"
    )
    ours = rsbench("--help", cwd=tmp_path)
    hydras = rsbench(
        "learner=ellipsotron", "--help", cwd=tmp_path
    )  # the default, but not to be known without Hydra
    assert ours.returncode == hydras.returncode == 0
    assert ours.stdout == hydras.stdout
    assert rsbench("-h", cwd=tmp_path).stdout == ours.stdout
    methods = next(
        line for line in ours.stdout.splitlines() if line.startswith("method: ")
    )
    assert {"mine", "preset"} <= set(methods.removeprefix("method: ").split(", "))
