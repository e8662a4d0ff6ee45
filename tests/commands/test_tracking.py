"""The MLflow mirror: everything in it, once, whatever happens to the store."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from conftest import SMALL, rsbench

from rsbench.core.measures import MEASURES
from rsbench.errors import UserError
from rsbench.report import FILES
from rsbench.store import record as results
from rsbench.tracking import mirror as tracking

RECORD = {"classes.csv", "curves.csv", "run.json", "summary.json"}


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
    done = rsbench(*SWEEP, cwd=folder)
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
    (run,) = [run for run in results.find(folder) if run.info["method"] == "class_soft"]
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
        tags["fingerprint"] == run.info["fingerprint"]
        and tags["data.identity"] == run.info["data"]["identity"]
    )
    artifacts = {file.path for file in client.list_artifacts(child.info.run_id)}
    assert artifacts == RECORD


def test_sending_again_adds_nothing(swept):
    folder, _ = swept
    before = [len(part) for part in store(folder)[1:]]
    for _ in range(2):
        done = rsbench("track", "outputs", cwd=folder)
        assert done.returncode == 0 and "2 finished runs" in done.stdout, done.stderr
    assert [len(part) for part in store(folder)[1:]] == before


def test_a_single_run_has_no_parent_and_carries_its_figure(tmp_path):
    assert rsbench(*SMALL, cwd=tmp_path).returncode == 0
    client, (run,), children = store(tmp_path)
    assert not children
    artifacts = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert artifacts == {*RECORD, *FILES} - {"comparisons.csv"}


def test_a_command_run_again_in_its_folder_adds_nothing_and_replaces_by_force(tmp_path):
    command = (*SWEEP, "hydra.sweep.dir=sweep")
    for extra in ((), (), ("force=true",)):
        before = [run.info["id"] for run in results.find(tmp_path / "sweep")]
        assert rsbench(*command, *extra, cwd=tmp_path).returncode == 0
        after = [run.info["id"] for run in results.find(tmp_path / "sweep")]
        assert (before == after) == (bool(before) and not extra)
        _, parents, children = store(tmp_path)
        assert len(parents) == 1 and parents[0].info.status == "FINISHED"
        assert {child.data.tags["rsbench.id"] for child in children} == set(
            after
        ) and len(children) == 2


def test_a_server_that_is_down_loses_nothing(tmp_path):
    done = rsbench(*SWEEP, "tracking.uri=http://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 0
    assert (
        done.stderr.count("could not be reached")
        + done.stdout.count("could not be reached")
        == 1
    )
    assert "python -m rsbench track" in done.stderr + done.stdout
    assert len(results.find(tmp_path)) == 2
    down = rsbench("track", "outputs", cwd=tmp_path)
    assert (
        down.returncode == 1
        and "error: http://127.0.0.1:9" in down.stderr
        and "Traceback" not in down.stderr
    )
    done = rsbench(
        "track", "outputs", "--uri", "sqlite:///outputs/mlflow.db", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    client, (parent,), children = store(tmp_path)
    assert len(children) == 2
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == set(
        FILES
    )


@pytest.mark.parametrize("in_sweep", [False, True])
@pytest.mark.parametrize("calls", [0, 1, 2, 4, 5, 6, 7, 8, 13])
def test_a_store_that_fails_midway_is_repaired_once(
    calls, in_sweep, tmp_path, monkeypatch, caplog
):
    from mlflow import MlflowClient

    folder = tmp_path / "0"
    folder.mkdir()
    run = make_run(folder)
    settings = {
        "uri": f"sqlite:///{tmp_path}/outputs/mlflow.db",
        "experiment": "rsbench",
    }
    sweep = None
    if in_sweep:
        sweep = {
            "id": "s",
            "name": "sweep",
            "swept": [],
            "tracked": True,
            "tracking": settings,
            "status": "FAILED",
        }
        results.write_sweep(tmp_path, sweep)
        assert tracking.open_sweep(sweep, tmp_path)
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
            tracking.send_child(run, sweep)
        else:
            tracking.send_single(run, settings)
    # A child makes 8 calls; a single run is ended a second time, with its figure, and said to be simulated or not.
    assert ("the server is gone" in caplog.text) == (calls < (8 if in_sweep else 13))
    assert tracking.track(tmp_path, settings["uri"])[0] == 1
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


def make_run(folder):
    record = results.Record(folder)
    for seed in range(2):
        record.add(
            [
                {"seed": seed, "step": k, "samples": k, **dict.fromkeys(MEASURES, 0.5)}
                for k in (1, 2)
            ]
        )
    return record.finish(
        {
            "method": "lean",
            "preprocessor": "none",
            "label": "lean",
            "experiment": None,
            "config": {"preprocessor": {"name": "none"}, "tracking": {"name": "none"}},
            "tracking": None,
            "fingerprint": "f",
            "git_commit": None,
            "versions": {"numpy": "2"},
            "data": {"name": "x", "identity": "i", "simulated": False},
            "classes": 2,
            "unit": "steps",
            "tuned": {},
            "seconds": 1.0,
            "seeds": [0, 1],
            "overrides": ["method=lean"],
        }
    )


def test_many_metrics_are_sent_in_batches(tmp_path):
    record = results.Record(tmp_path)
    record.add(
        [
            {"seed": 0, "step": k, "samples": k, **dict.fromkeys(MEASURES, 0.5)}
            for k in range(1, 401)
        ]
    )
    (tmp_path / "other").mkdir()
    run = record.finish({**make_run(tmp_path / "other").info, "seeds": [0]})
    settings = {
        "uri": f"sqlite:///{tmp_path}/outputs/mlflow.db",
        "experiment": "rsbench",
    }
    tracking.send_single(run, settings)
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


def test_sending_from_another_folder_finds_the_runs_own_store(swept, tmp_path):
    folder, _ = swept
    before = [len(part) for part in store(folder)[1:]]
    done = rsbench("track", str(folder / "outputs"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        not (tmp_path / "outputs").exists()
        and [len(part) for part in store(folder)[1:]] == before
    )


def test_a_sweep_not_tracked_at_first_gets_its_parent_later(tmp_path):
    assert rsbench(*SWEEP, "tracking=none", cwd=tmp_path).returncode == 0
    assert rsbench("track", "outputs", cwd=tmp_path).returncode == 0
    client, (parent,), children = store(tmp_path)
    assert len(children) == 2 and parent.info.status == "FINISHED"
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == set(
        FILES
    )


@pytest.mark.parametrize("damage", ["{}", "[]", "", '{"id"'])
def test_a_damaged_record_is_named_and_the_others_are_sent(damage, tmp_path):
    for name in ("0", "1"):
        (tmp_path / name).mkdir()
        make_run(tmp_path / name)
    (tmp_path / "0" / "run.json").write_text(damage)
    with pytest.raises(UserError, match=f"all others were:\n.*{tmp_path / '0'}"):
        tracking.track(tmp_path, f"sqlite:///{tmp_path}/outputs/mlflow.db")
    assert len(store(tmp_path)[1]) == 1


def test_a_run_finds_its_sweep_wherever_it_is_sent_from(tmp_path):
    nested = ("hydra.sweep.dir=sw", "hydra.sweep.subdir='a/${hydra.job.num}'")
    assert rsbench(*SWEEP, "tracking=none", *nested, cwd=tmp_path).returncode == 0
    target = ("--uri", f"sqlite:///{tmp_path}/outputs/mlflow.db")
    assert (
        rsbench("track", ".", *target, cwd=tmp_path / "sw" / "a" / "0").returncode == 0
    )
    assert rsbench("track", "sw", *target, cwd=tmp_path).returncode == 0
    _, parents, children = store(tmp_path)
    assert len(parents) == 1 and len(children) == 2
    assert {child.data.tags["folder"] for child in children} == {
        str(tmp_path / "sw" / "a" / n) for n in "01"
    }


def test_odd_folder_names_hold_their_store(tmp_path):
    folder = tmp_path / "k%41 ?q#x"
    folder.mkdir()
    done = rsbench(*SMALL, cwd=folder)
    assert (
        done.returncode == 0 and "could not be reached" not in done.stdout + done.stderr
    )
    assert (folder / "outputs" / "mlflow.db").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"cache", folder.name}


def test_a_job_in_its_own_folder_uses_the_same_store(tmp_path):
    assert rsbench(*SWEEP, "hydra.job.chdir=true", cwd=tmp_path).returncode == 0
    assert len(store(tmp_path)[2]) == 2 and len(list(tmp_path.rglob("mlflow.db"))) == 1


def test_nothing_to_send_is_said(tmp_path):
    with pytest.raises(UserError, match="no finished run"):
        tracking.track(tmp_path, None)


def test_tracking_none_touches_no_store(tmp_path):
    done = rsbench(*SWEEP, "tracking=none", cwd=tmp_path)
    assert done.returncode == 0 and "MLflow" not in done.stdout
    assert not (tmp_path / "outputs" / "mlflow.db").exists()


@pytest.mark.slow
def test_a_real_server_gets_everything(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store_uri = f"sqlite:///{tmp_path}/server.db"
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--port",
        str(port),
        "--backend-store-uri",
        store_uri,
    ]
    command += [
        "--artifacts-destination",
        str(tmp_path / "artifacts"),
        "--workers",
        "1",
    ]
    with open(tmp_path / "server.log", "w") as log:
        server = subprocess.Popen(
            command, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True
        )
    uri = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{uri}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.5)
        done = rsbench(*SWEEP, f"tracking.uri={uri}", cwd=tmp_path)
        assert (
            done.returncode == 0
            and "could not be reached" not in done.stderr + done.stdout
        )
        assert f"{uri}/#/experiments/" in done.stdout
        from mlflow import MlflowClient

        client = MlflowClient(uri)
        runs = client.search_runs(
            [client.get_experiment_by_name("rsbench").experiment_id]
        )
        assert len(runs) == 3
        assert {len(client.list_artifacts(run.info.run_id)) for run in runs} == {
            len(RECORD),
            len(FILES),
        }
    finally:
        os.killpg(server.pid, 15)
        server.wait(30)


def test_sweep_file_says_where_the_parent_is(swept):
    folder, _ = swept
    (path,) = folder.glob("outputs/sweeps/*/sweep.json")
    sweep = json.loads(path.read_text())
    assert (
        sweep["swept"] == ["method"]
        and sweep["status"] == "FINISHED"
        and sweep["tracked"] is True
    )
    assert sweep["tracking"] == {
        "uri": f"sqlite:///{folder}/outputs/mlflow.db",
        "experiment": "rsbench",
    }


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
    tmp_path,
):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "bad.py").write_text(BAD)
    assert rsbench("-m", "method=bad", *SMALL, cwd=tmp_path).returncode == 1
    client, (parent,), children = store(tmp_path)
    assert parent.info.status == "FAILED" and not children
    assert (
        rsbench(
            "-m", "method=lean", "protocol.min_samples=999", *SMALL, cwd=tmp_path
        ).returncode
        == 1
    )
    assert len(store(tmp_path)[1]) == 1


@pytest.mark.slow
def test_sixteen_jobs_at_once_are_in_a_fresh_store_once(tmp_path):
    values = "learner.C=0.01,0.02,0.05,0.1,0.2,0.5,1,2"
    done = rsbench("-m", "method=lean,ellipsotron", values, *SMALL, "hydra/launcher=joblib",
                   "hydra.launcher.n_jobs=16", cwd=tmp_path, timeout=300)  # fmt: skip
    assert (
        done.returncode == 0 and "could not be reached" not in done.stdout + done.stderr
    ), done.stderr
    _, parents, children = store(tmp_path)
    assert (
        len(parents) == 1
        and len({child.data.tags["rsbench.id"] for child in children})
        == len(children)
        == 16
    )
    assert {child.data.tags["rsbench.complete"] for child in children} == {"true"}
