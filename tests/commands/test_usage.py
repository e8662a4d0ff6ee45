"""`--help` shows what there is to choose, plugins' components and presets among it."""

PLUGIN = '''
from rsbench import hookimpl
from rsbench.learners import Lean


class Mine(Lean):
    """A learner."""


@hookimpl
def rsbench_learners():
    return {"mine": Mine}
'''


def test_help_shows_what_plugins_bring(rsbench, tmp_path):
    (tmp_path / "plugins" / "conf" / "method").mkdir(parents=True)
    (tmp_path / "plugins" / "mine.py").write_text(PLUGIN)
    (tmp_path / "plugins" / "conf" / "method" / "preset.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /learner: mine\n"
    )
    shown = rsbench("--help")
    assert shown.returncode == 0 and not shown.stderr
    assert rsbench("-h").stdout == shown.stdout
    lines = shown.stdout.splitlines()
    methods = next(line for line in lines if line.startswith("method: "))
    assert {"mine", "preset"} <= set(methods.removeprefix("method: ").split(", "))
    controls = next(line for line in lines if line.startswith("control: "))
    assert {"absent", "none", "shuffled_within", "uniform"} <= set(
        controls.removeprefix("control: ").split(", ")
    )


def test_help_explains_the_settings_of_a_run(rsbench):
    shown = rsbench("--help").stdout
    assert "seeds: 5" in shown and "on_error: continue" in shown
    assert "hydra:" not in shown and "defaults:" not in shown
    assert max(map(len, shown.partition("== Choices")[0].splitlines())) <= 80


def test_help_beside_settings_is_the_config_that_hydra_composes(rsbench):
    shown = rsbench("learner=svm_ff", "--help")
    assert shown.returncode == 0, shown.stderr
    config = rsbench("learner=svm_ff", "--cfg", "job").stdout
    assert "irrelevant: 0.1" in config and config in shown.stdout


def test_help_tells_of_a_misspelt_name(rsbench):
    done = rsbench("learner=elipsotron", "--help")
    assert done.returncode == 1 and "Did you mean 'ellipsotron'" in done.stderr
