"""Controls: a config group that applies to any method, and says where it is of no use."""

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra

from rsbench.cli import configs
from rsbench.cli.choices import Choices, read_choices
from rsbench.cli.controls import OLD_METHODS
from rsbench.cli.hydra_run import version_base
from rsbench.store import record as results
from tests.helpers import SMALL, curves_of

MINE = """
from rsbench import hookimpl
from rsbench.learners import PassiveAggressive, RelevanceLearner

class Mine(RelevanceLearner, PassiveAggressive):
    '''A learner without a variant.'''
    def __init__(self, C: float = 1.0):
        super().__init__(C)

    def step_vector(self, X, R):
        return R * X

@hookimpl
def rsbench_learners():
    return {"mine": Mine}
"""


def by_name(folder):
    """The config of each run, by its method and control."""
    found = {}
    for run in results.find_records(folder):
        name = run.info.method
        if run.info.control:
            assert run.info.control_of == run.info.method
            name = f"{name}_{run.info.control}"
        found[name] = run.info.config
    return found


def test_controls_apply_to_any_method_and_the_useless_are_named_once(rsbench, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "mine.py").write_text(MINE)
    done = rsbench(
        "-m", "method=lean,ellipsotron,class_soft,mine", "control=none,shuffled,ones,soft,seen,exact,tuned",
        "tracking=none", *SMALL, "hydra.sweep.dir=sweep",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("left out") == 1
    (line,) = [line for line in done.stdout.splitlines() if "left out" in line]
    # The very same run as ellipsotron's: class_soft's aggregator is what differs.
    assert "ones (lean, class_soft)" in line
    assert "shuffled (lean)" in line and "soft (lean, class_soft)" in line
    assert "seen (lean, ellipsotron, mine)" in line and "exact (mine)" in line
    found = by_name(tmp_path / "sweep")
    assert set(found) == {
        *("lean", "lean_exact", "lean_tuned"),
        *("ellipsotron", "ellipsotron_shuffled", "ellipsotron_ones"),
        *("ellipsotron_soft", "ellipsotron_exact", "ellipsotron_tuned"),
        *("class_soft", "class_soft_shuffled", "class_soft_seen", "class_soft_exact"),
        *("class_soft_tuned", "mine", "mine_shuffled", "mine_ones", "mine_soft"),
        "mine_tuned",
    }
    assert found["mine_shuffled"]["annotation"]["name"] == "shuffled"
    assert found["mine_soft"]["aggregator"]["relevant"] == 2
    assert found["class_soft_seen"]["aggregator"]["scope"] == "seen"
    status = rsbench("status", "sweep").stdout
    assert f"{len(found)} done" in status
    assert "method=mine control=soft" in status


REFUSED = {
    "told nothing": (["method=lean", "control=shuffled"], "it is told nothing"),
    "no scope": (["control=seen"], "it has no aggregator.scope"),
    "so already": (["method=lean", "control=ones"], "control=ones cannot change lean"),
    "in a sweep": (["-m", "method=lean", "control=random,ones"], "it is told nothing"),
    "annotation too": (
        ["method=ellipsotron", "control=shuffled", "annotation=noisy"],
        "control=shuffled decides the annotation, which is given as annotation=noisy",
    ),
    "the same annotation": (
        ["method=ellipsotron", "control=shuffled", "annotation=shuffled"],
        "leave one of them out",
    ),
    "annotation of a sweep": (
        ["-m", "method=ellipsotron", "control=none,random", "annotation=noisy,budget"],
        "control=random decides the annotation",
    ),
    "annotation of a new control": (
        ["-m", "method=ellipsotron", "control=shuffled_within", "annotation=full"],
        "control=shuffled_within decides the annotation",
    ),
    "nobody annotates lean anyway": (
        ["method=lean", "control=absent"],
        "control=absent cannot change lean: it is told nothing",
    ),
    "uniform votes that nobody sees": (
        ["method=lean", "control=uniform"],
        "it is told nothing",
    ),
    "annotation of an experiment": (
        ["+experiment=cub_noise", "control=shuffled"],
        "control=shuffled decides the annotation",
    ),
    "two controls": (
        ["method=ellipsotron_shuffled", "control=tuned"],
        "it is under a control already",
    ),
    "unknown": (["control=shufled"], "Did you mean 'shuffled'"),
    "unknown in a sweep": (["-m", "control=none,shufled"], "Did you mean 'shuffled'"),
    "null": (["control=null"], "control=null chooses nothing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_control_that_cannot_be_is_refused(rsbench, case, tmp_path):
    args, message = REFUSED[case]
    done = rsbench(*args, "tracking=none")
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_old_names_give_the_bytes_of_method_and_control(rsbench, tmp_path):
    pairs = ("ellipsotron_shuffled", "class_soft_seen", "lean_tuned")
    common = ("tracking=none", *SMALL, "force=true")
    done = rsbench("-m", f"method={','.join(pairs)}", *common, "hydra.sweep.dir=old")
    assert done.returncode == 0, done.stderr
    assert set(by_name(tmp_path / "old")) == set(pairs)
    for number, name in enumerate(pairs):
        method, control = OLD_METHODS[name]
        place = f"hydra.run.dir=new/{number}"
        new = (f"method={method}", f"control={control}", *common, place)
        assert rsbench(*new).returncode == 0
    assert curves_of(tmp_path / "old") == curves_of(tmp_path / "new")


@pytest.fixture
def choices(tmp_path, monkeypatch):
    """What is chosen by a command with these settings."""
    monkeypatch.chdir(tmp_path)
    configs.offer(tmp_path)
    GlobalHydra.instance().clear()

    def read(*overrides, swept=()):
        cfg = hydra.compose("config", list(overrides), return_hydra_config=True)
        return read_choices(cfg, cfg.hydra, swept)

    with hydra.initialize_config_dir(str(configs.CONF), **version_base()):
        yield read


def test_old_names_are_a_method_and_its_control(choices):
    for name, (method, control) in OLD_METHODS.items():
        assert choices(f"method={name}") == Choices(None, method, control, {}, {})
    assert len(OLD_METHODS) == 18


def test_choices_are_named_and_changes_count_by_value(choices):
    assert choices() == Choices(None, "ellipsotron+sample", None, {}, {})
    assert choices(
        "+experiment=cub", "method=lean", "control=tuned", "preprocessor=center", "seeds=7", "tracking=none"
    ) == Choices("cub", "lean", "tuned", {}, {})  # fmt: skip
    assert choices("method=lean", "learner.C=1", "precision=data").changed == {}
    assert choices("method=lean", "learner.C=2").changed == {"learner.C": 2}
    assert choices("+experiment=cub", "theta=5", "theta=6").changed == {"theta": 6}
    replaced = choices("method=class_soft", "learner=feature_scaling")
    assert replaced.method == "feature_scaling+class_soft" and replaced.changed == {}


def test_other_groups_are_changes_with_what_is_set_in_them(choices):
    noisy = choices("method=lean", "annotation=noisy", "annotation.miss=0.5")
    assert noisy.changed == {"annotation": "noisy", "annotation.miss": 0.5}
    assert choices("method=lean", "annotation=full").changed == {}
    assert choices("+experiment=cub_noise", "annotation=noisy").changed == {}


def test_values_of_a_sweep_are_for_labels(choices):
    found = choices("method=lean", "learner.C=2", "protocol=stream", swept=["method", "learner.C", "protocol"])  # fmt: skip
    assert found.swept == {"learner.C": 2, "protocol": "stream"}
