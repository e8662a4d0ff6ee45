"""The MLflow mirror: everything in it, once, whatever happens to the store."""

import json
import re
import subprocess
import sys

import pytest

from rsbench.core.measures import MEASURES
from rsbench.errors import UserError
from rsbench.report import FILES
from rsbench.store.record import find_records
from rsbench.store.sweep import Sweep, read_sweep, write_sweep
from rsbench.tracking import mirror
from rsbench.tracking.records import from_mlflow
from tests import made_up
from tests.helpers import SMALL, run_command

RECORD = {"classes.csv", "curves.csv", "items.npz", "run.json", "summary.json"}


def store(folder, experiment="rsbench"):
    """Runs in the store: (parents, children)."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'outputs' / 'mlflow.db'}")
    found = client.search_runs(
        [client.get_experiment_by_name(experiment).experiment_id]
    )
    children = [run for run in found if "mlflow.parentRunId" in run.data.tags]
    return client, [run for run in found if run not in children], children


SWEEP = ("-m", "method=lean,class_soft", *SMALL)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A small sweep with tracking on, done once for the tests that look at it."""
    folder = tmp_path_factory.mktemp("swept")
    done = run_command(*SWEEP, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_a_sweep_is_a_parent_with_a_child_per_run(swept):
    folder, done = swept
    client, parents, children = store(folder)
    assert [child.data.tags["mlflow.parentRunId"] for child in children] == [
        parents[0].info.run_id
    ] * 2
    assert {child.info.run_name for child in children} == {"lean", "class_soft"}
    assert {run.info.status for run in [*parents, *children]} == {"FINISHED"}
    artifacts = {file.path for file in client.list_artifacts(parents[0].info.run_id)}
    assert artifacts == set(FILES)
    assert (
        parents[0].data.tags["simulated"] == "true"
        and parents[0].data.tags["data"] == "synthetic (SIMULATED)"
    )
    assert "mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db" in done.stdout
    assert not (folder / "mlruns").exists()


def test_a_child_has_config_curves_provenance_and_record(swept):
    folder, _ = swept
    client, _, children = store(folder)
    (child,) = [run for run in children if run.info.run_name == "class_soft"]
    (run,) = [run for run in find_records(folder) if run.info.method == "class_soft"]
    assert (
        child.data.params["aggregator.normalize"] == "l2"
        and child.data.params["dataset.classes"] == "4"
    )
    for measure in MEASURES:
        section = "error" if measure.endswith("error") else "loss"
        history = client.get_metric_history(child.info.run_id, f"{section}/{measure}")
        assert [
            point.step for point in sorted(history, key=lambda p: p.step)
        ] == run.steps
        assert {p.step: p.value for p in history} == dict(
            zip(run.steps, run.mean(measure), strict=True)
        )
        errors = client.get_metric_history(
            child.info.run_id, f"standard_error/{measure}"
        )
        assert {p.step: p.value for p in errors} == dict(
            zip(run.steps, run.standard_error(measure), strict=True)
        )
    tags = child.data.tags
    assert tags["simulated"] == "true" and "Simulated" in tags["mlflow.note.content"]
    assert (
        tags["command"].startswith("python -m rsbench ")
        and "method=class_soft" in tags["command"]
    )
    assert tags["command"] in tags["mlflow.note.content"]
    assert (
        tags["fingerprint"] == run.info.fingerprint
        and tags["data.identity"] == run.info.data.identity
    )
    artifacts = {file.path for file in client.list_artifacts(child.info.run_id)}
    assert artifacts == RECORD | {"counterpart", "shuffled"}


def test_a_child_has_its_counterpart_if_it_is_told_something(swept):
    folder, _ = swept
    client, _, children = store(folder)
    for child in children:
        found = client.list_artifacts(child.info.run_id, "counterpart")
        expected = set()
        if child.info.run_name == "class_soft":
            expected = {f"counterpart/{name}" for name in RECORD}
        assert {file.path for file in found} == expected


def test_runs_come_back_from_the_store_whole(swept, tmp_path):
    folder, _ = swept
    uri = f"sqlite:///{folder / 'outputs' / 'mlflow.db'}"
    found = from_mlflow("rsbench", uri, tmp_path)
    assert found.left_out == []
    back = {run.info.method: run for run in found.runs}
    for run in find_records(folder):
        other = back[run.info.method]
        assert other.info == run.info
        assert set(other.items()) == set(run.items()) == {(0, 0), (0, 1)}
        assert (other.counterpart is None) == (run.counterpart is None)
        if run.counterpart is not None:
            assert other.counterpart.info == run.counterpart.info
            assert set(other.counterpart.items()) == {(0, 0), (0, 1)}


def test_sending_again_adds_nothing(rsbench, swept):
    folder, _ = swept
    before = [len(part) for part in store(folder)[1:]]
    for _ in range(2):
        done = rsbench("track", "outputs", cwd=folder)
        assert done.returncode == 0 and "2 finished runs" in done.stdout, done.stderr
    assert [len(part) for part in store(folder)[1:]] == before


def test_a_single_run_has_no_parent_and_carries_its_figure(rsbench, tmp_path):
    assert rsbench(*SMALL).returncode == 0
    client, (run,), children = store(tmp_path)
    assert not children
    artifacts = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert artifacts == {*RECORD, "counterpart", "shuffled", *FILES}


def test_a_command_run_again_in_its_folder_adds_nothing_and_replaces_by_force(
    rsbench, tmp_path
):
    command = (*SWEEP, "hydra.sweep.dir=sweep")
    for extra in ((), (), ("force=true",)):
        before = [run.info.id for run in find_records(tmp_path / "sweep")]
        assert rsbench(*command, *extra).returncode == 0
        after = [run.info.id for run in find_records(tmp_path / "sweep")]
        assert (before == after) == (bool(before) and not extra)
        _, parents, children = store(tmp_path)
        assert len(parents) == 1 and parents[0].info.status == "FINISHED"
        assert {child.data.tags["rsbench.id"] for child in children} == set(
            after
        ) and len(children) == 2


def test_a_server_that_is_down_loses_nothing(rsbench, tmp_path):
    done = rsbench(*SWEEP, "tracking.uri=http://127.0.0.1:9")
    assert done.returncode == 0
    assert (
        done.stderr.count("could not be reached")
        + done.stdout.count("could not be reached")
        == 1
    )
    assert "python -m rsbench track" in done.stderr + done.stdout
    assert len(find_records(tmp_path)) == 2
    down = rsbench("track", "outputs")
    assert (
        down.returncode == 1
        and "error: http://127.0.0.1:9" in down.stderr
        and "Traceback" not in down.stderr
    )
    done = rsbench("track", "outputs", "--uri", "sqlite:///outputs/mlflow.db")
    assert done.returncode == 0, done.stderr
    client, (parent,), children = store(tmp_path)
    assert len(children) == 2
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == set(
        FILES
    )


@pytest.mark.parametrize("in_sweep", [False, True])
@pytest.mark.parametrize("calls", [0, 1, 2, 4, 5, 6, 7, 8, 9, 14])
def test_a_store_that_fails_midway_is_repaired_once(
    calls, in_sweep, tmp_path, monkeypatch, caplog
):
    from mlflow import MlflowClient

    run = made_up.write(tmp_path / "0", seeds=2, steps=range(1, 3), data=made_up.data())
    settings = store_settings(tmp_path)
    sweep = None
    if in_sweep:
        sweep = Sweep("s", "sweep", tracking=settings, tracked=True, status="FAILED")
        write_sweep(tmp_path, sweep)
        assert mirror.open_sweep(sweep, tmp_path)
    left = [calls]

    def failing(real):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise ConnectionError("the server is gone")
            return real(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in (
            "create_run",
            "log_batch",
            "log_artifact",
            "set_tag",
            "set_terminated",
        ):
            patch.setattr(MlflowClient, name, failing(getattr(MlflowClient, name)))
        if sweep:
            mirror.send_child(run, sweep)
        else:
            mirror.send_single(run, settings)
    # A child makes 9 calls; a single run is ended a second time, with its figure, and said to be simulated or not.
    assert ("the server is gone" in caplog.text) == (calls < (9 if in_sweep else 14))
    assert mirror.track(tmp_path, settings["uri"])[0] == 1
    client, parents, children = store(tmp_path)
    (sent,) = children if in_sweep else parents
    assert [parent.info.status for parent in parents] == [
        "FAILED" if in_sweep else "FINISHED"
    ]
    assert (
        sent.data.tags["rsbench.complete"] == "true" and sent.info.status == "FINISHED"
    )
    assert len(client.get_metric_history(sent.info.run_id, "error/test_error")) == len(
        run.steps
    )


def store_settings(folder):
    """Where a test's runs are tracked."""
    uri = f"sqlite:///{folder}/outputs/mlflow.db"
    return {"uri": uri, "experiment": "rsbench"}


def test_many_metrics_are_sent_in_batches(tmp_path):
    run = made_up.write(tmp_path / "0", seeds=1, steps=range(1, 401))
    settings = store_settings(tmp_path)
    mirror.send_single(run, settings)
    client, (sent,), _ = store(tmp_path)
    assert len(client.get_metric_history(sent.info.run_id, "loss/online_loss")) == 400


def test_processes_that_open_a_fresh_store_together_share_it(tmp_path):
    code = (
        "import sys; from rsbench.tracking.mirror import Tracker;"
        f"t = Tracker('sqlite:///{tmp_path}/outputs/mlflow.db', 'rsbench'); t.open(sys.argv[1], sys.argv[1], {{}})"
    )
    jobs = [subprocess.Popen([sys.executable, "-c", code, str(i)]) for i in range(4)]
    assert [job.wait(120) for job in jobs] == [0] * 4
    assert len(store(tmp_path)[1]) == 4


def test_sending_from_another_folder_finds_the_runs_own_store(rsbench, swept, tmp_path):
    folder, _ = swept
    before = [len(part) for part in store(folder)[1:]]
    done = rsbench("track", str(folder / "outputs"))
    assert done.returncode == 0, done.stderr
    assert (
        not (tmp_path / "outputs").exists()
        and [len(part) for part in store(folder)[1:]] == before
    )


def test_a_sweep_not_tracked_at_first_gets_its_parent_later(rsbench, tmp_path):
    assert rsbench(*SWEEP, "tracking=none").returncode == 0
    assert rsbench("track", "outputs").returncode == 0
    client, (parent,), children = store(tmp_path)
    assert len(children) == 2 and parent.info.status == "FINISHED"
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == set(
        FILES
    )


@pytest.mark.parametrize("damage", ["{}", "[]", "", '{"id"'])
def test_a_damaged_record_is_named_and_the_others_are_sent(damage, tmp_path):
    made_up.write(tmp_path / "0", id="a")
    made_up.write(tmp_path / "1", id="b")
    (tmp_path / "0" / "run.json").write_text(damage)
    with pytest.raises(UserError, match=f"all others were:\n.*{tmp_path / '0'}"):
        mirror.track(tmp_path, store_settings(tmp_path)["uri"])
    assert len(store(tmp_path)[1]) == 1


def test_a_run_finds_its_sweep_wherever_it_is_sent_from(rsbench, tmp_path):
    nested = ("hydra.sweep.dir=sw", "hydra.sweep.subdir='a/${hydra.job.num}'")
    assert rsbench(*SWEEP, "tracking=none", *nested).returncode == 0
    target = ("--uri", f"sqlite:///{tmp_path}/outputs/mlflow.db")
    assert (
        rsbench("track", ".", *target, cwd=tmp_path / "sw" / "a" / "0").returncode == 0
    )
    assert rsbench("track", "sw", *target).returncode == 0
    _, parents, children = store(tmp_path)
    assert len(parents) == 1 and len(children) == 2
    assert {child.data.tags["folder"] for child in children} == {
        str(tmp_path / "sw" / "a" / n) for n in "01"
    }


def test_odd_folder_names_hold_their_store(rsbench, tmp_path):
    folder = tmp_path / "k%41 ?q#x"
    folder.mkdir()
    done = rsbench(*SMALL, cwd=folder)
    assert (
        done.returncode == 0 and "could not be reached" not in done.stdout + done.stderr
    )
    assert (folder / "outputs" / "mlflow.db").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"cache", folder.name}


def test_a_job_in_its_own_folder_uses_the_same_store(rsbench, tmp_path):
    assert rsbench(*SWEEP, "hydra.job.chdir=true").returncode == 0
    assert len(store(tmp_path)[2]) == 2 and len(list(tmp_path.rglob("mlflow.db"))) == 1


def test_nothing_to_send_is_said(tmp_path):
    with pytest.raises(UserError, match="no finished run"):
        mirror.track(tmp_path, None)


def test_tracking_none_touches_no_store(rsbench, tmp_path):
    done = rsbench(*SWEEP, "tracking=none")
    assert done.returncode == 0 and "MLflow" not in done.stdout
    assert not (tmp_path / "outputs" / "mlflow.db").exists()


def test_sweep_file_says_where_the_parent_is(swept):
    folder, _ = swept
    (place,) = folder.glob("outputs/sweeps/*")
    sweep = read_sweep(place)
    assert sweep.swept == ("method",)
    assert sweep.status == "FINISHED"
    assert sweep.tracked
    assert sweep.tracking == store_settings(folder)


def test_the_hint_leads_to_a_view_of_the_sweeps_curves(swept):
    folder, done = swept
    client, _, children = store(folder)
    key = re.search(r"compareRunsMode=CHART&viewStateShareKey=(\w+)", done.stdout)[1]
    view = json.loads(
        client.get_experiment(children[0].info.experiment_id).tags[
            f"mlflow.sharedViewState.{key}"
        ]
    )
    found = client.search_runs([children[0].info.experiment_id], view["searchFilter"])
    assert {run.info.run_id for run in found} == {run.info.run_id for run in children}
    assert {run.data.tags["run"] for run in found} == {"lean", "class_soft"}


BAD = """
from rsbench import hookimpl
from rsbench.learners import Lean

class Bad(Lean):
    "Fails."
    def _learn(self, *args):
        raise ZeroDivisionError

@hookimpl
def rsbench_learners():
    return {"bad": Bad}
"""


def test_a_sweep_that_fails_is_failed_and_one_that_cannot_start_leaves_no_parent(
    rsbench,
    tmp_path,
):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "bad.py").write_text(BAD)
    assert rsbench("-m", "method=bad", *SMALL).returncode == 1
    client, (parent,), children = store(tmp_path)
    assert parent.info.status == "FAILED" and not children
    assert (
        rsbench("-m", "method=lean", "protocol.min_samples=999", *SMALL).returncode == 1
    )
    assert len(store(tmp_path)[1]) == 1
