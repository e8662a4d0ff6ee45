"""Tracking to a real MLflow server that is down, slow, failing, or asked by many at once: everything, once."""

import contextlib
import http.client
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from rsbench.report import FILES
from rsbench.store.record import find_records
from tests.helpers import SMALL, wait_for

SWEEP = ("-m", "method=lean,class_soft,svm_ff", *SMALL)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def answers(url):
    try:
        return urllib.request.urlopen(url, timeout=2).status == 200
    except OSError:
        return False


@contextlib.contextmanager
def process(command, cwd, **kwargs):
    with open(cwd / f"{Path(command[0]).name}.log", "w") as log:
        running = subprocess.Popen(
            command, cwd=cwd, stdout=log, stderr=log, start_new_session=True, **kwargs
        )
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, 15)
        running.wait(60)


@contextlib.contextmanager
def mlflow_server(folder, store):
    port = free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--backend-store-uri", store,
               "--artifacts-destination", str(folder / "artifacts"), "--workers", "1"]  # fmt: skip
    with process(command, folder):
        wait_for(lambda: answers(f"http://127.0.0.1:{port}/health"))
        yield port


def postgresql_programs():
    """The folder of PostgreSQL's programs, from Debian's package."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            pytest.skip(
                "no PostgreSQL: not installed, and installing it takes root and apt-get"
            )
        environment = {
            **os.environ,
            "DEBIAN_FRONTEND": "noninteractive",
            "RUNLEVEL": "1",
        }
        install = [
            "apt-get",
            "install",
            "-y",
            "-q",
            "--no-install-recommends",
            "postgresql",
        ]
        done = subprocess.run(install, env=environment, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(
                f"no PostgreSQL: apt-get could not install it: {done.stderr.strip()[-200:]}"
            )
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent


@contextlib.contextmanager
def postgresql(folder):
    """A database server of our own; gives the address of its store."""
    pytest.importorskip(
        "psycopg2",
        reason="no PostgreSQL: psycopg2, which connects to it, is not installed",
    )
    programs, data, port = postgresql_programs(), folder / "postgresql", free_port()
    data.mkdir()
    user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = {"user": "postgres", "group": "postgres"}
        shutil.chown(data, "postgres")
        for parent in (folder, *list(folder.parents)[:4]):
            parent.chmod(parent.stat().st_mode | 0o011)
    make = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "mlflow",
        "-A",
        "trust",
        "--no-sync",
    ]
    subprocess.run(make, check=True, capture_output=True, cwd=data, **user)
    serve = [
        str(programs / "postgres"),
        "-D",
        str(data),
        "-p",
        str(port),
        "-h",
        "127.0.0.1",
        "-k",
        str(data),
    ]
    with process(serve, folder, **user):
        ready = [str(programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
        wait_for(lambda: subprocess.run(ready, capture_output=True).returncode == 0)
        yield f"postgresql+psycopg2://mlflow@127.0.0.1:{port}/postgres"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request, tmp_path_factory):
    """The port of a real server on either database."""
    folder = tmp_path_factory.mktemp(request.param)
    with contextlib.ExitStack() as stack:
        store = f"sqlite:///{folder}/server.db"
        if request.param == "postgresql":
            store = stack.enter_context(postgresql(folder))
        yield stack.enter_context(mlflow_server(folder, store))


class Proxy(http.server.ThreadingHTTPServer):
    """Stands before the server, and does to its requests what `trouble` says, given the request's number."""

    daemon_threads = True

    def __init__(self, port, trouble):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind, self.trouble, self.asked, self.lock = (
            port,
            trouble,
            0,
            threading.Lock(),
        )

    @property
    def uri(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.asked += 1
            trouble = self.server.trouble(self.server.asked)
        if trouble == "cut":
            self.close_connection = True
            return
        if trouble == "slow":
            time.sleep(3)
        status, content = 500, b"trouble"
        if trouble != "fail":
            behind = http.client.HTTPConnection(
                "127.0.0.1", self.server.behind, timeout=60
            )
            behind.request(self.command, self.path, body, dict(self.headers))
            answer = behind.getresponse()
            if trouble != "fail after":
                status, content = answer.status, answer.read()
        with contextlib.suppress(OSError):  # whoever asked may have given up
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def proxy(port, trouble):
    made = Proxy(port, trouble)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()


def check_store(uri, experiment, jobs, parents=1):
    """Each record is in the store once, whole and finished."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    found = client.search_runs(
        [client.get_experiment_by_name(experiment).experiment_id]
    )
    ids = Counter(run.data.tags["rsbench.id"] for run in found)
    children = [run for run in found if "mlflow.parentRunId" in run.data.tags]
    assert (
        set(ids.values()) == {1}
        and len(children) == jobs
        and len(found) == jobs + parents
    )
    assert {run.info.status for run in found} == {"FINISHED"}
    assert {run.data.tags["rsbench.complete"] for run in found} == {"true"}
    known = {run.info.run_id for run in found}
    for child in children:
        assert child.data.tags["mlflow.parentRunId"] in known
        assert (
            len(client.get_metric_history(child.info.run_id, "error/test_error")) == 5
        )
        files = {file.path for file in client.list_artifacts(child.info.run_id)}
        record = {"classes.csv", "curves.csv", "items.npz", "run.json", "summary.json"}
        # Of a method that is told something.
        assert files - {"counterpart", "shuffled"} == record
    for run in found:
        if run not in children:
            files = {file.path for file in client.list_artifacts(run.info.run_id)}
            assert files == set(FILES)


def test_a_server_gets_everything_and_the_command_leads_to_it(rsbench, server):
    uri = f"http://127.0.0.1:{server}"
    done = rsbench(*SWEEP, f"tracking.uri={uri}", "tracking.experiment=everything")
    assert done.returncode == 0, done.stderr
    assert "could not be reached" not in done.stderr + done.stdout
    assert f"{uri}/#/experiments/" in done.stdout
    check_store(uri, "everything", 3)


ONCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}

#: What happens to the n-th request while the sweep runs, and how patient the client is.
TROUBLES = {
    "down for the whole sweep": (lambda n: "cut", ONCE),
    "down in the middle": (lambda n: "cut" if n > 25 else None, ONCE),
    "every third fails": (lambda n: "fail" if n % 3 == 0 else None, ONCE),
    "every third fails when it was done": (
        lambda n: "fail after" if n % 3 == 0 else None,
        {},
    ),
    "slow": (
        lambda n: "slow" if n > 20 else None,
        {**ONCE, "MLFLOW_HTTP_REQUEST_TIMEOUT": "1"},
    ),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_troubled_server_has_everything_once_after_track(
    rsbench, name, server, tmp_path
):
    trouble, patience = TROUBLES[name]
    experiment = name.replace(" ", "_")
    with proxy(server, trouble) as between:
        target = (f"tracking.uri={between.uri}", f"tracking.experiment={experiment}")
        done = rsbench(*SWEEP, *target, env=patience, timeout=300)
        assert done.returncode == 0, done.stderr
        assert len(find_records(tmp_path)) == 3
        if name != "every third fails when it was done":  # which patience overcomes
            assert "python -m rsbench track" in done.stdout + done.stderr
        if not name.startswith("every"):
            between.trouble = lambda n: None
        for _ in range(2):  # the second adds nothing
            sent = rsbench("track", "outputs", timeout=300)
            assert sent.returncode == 0, sent.stderr
            between.trouble = lambda n: None
            check_store(between.uri, experiment, 3)


def test_sending_twice_at_once_sends_once(rsbench, server, tmp_path):
    assert rsbench(*SWEEP, "tracking=none").returncode == 0
    command = [
        sys.executable,
        "-m",
        "rsbench",
        "track",
        "outputs",
        "--uri",
        f"http://127.0.0.1:{server}",
    ]
    senders = [
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for sender in senders:
        _, err = sender.communicate(timeout=120)
        assert sender.returncode == 0, err
    check_store(f"http://127.0.0.1:{server}", "rsbench", 3)


SIXTEEN = ("-m", "learner.C=0.01,0.02,0.05,0.1,0.2,0.5,1,2", "method=lean,ellipsotron", *SMALL,
           "hydra/launcher=joblib", "hydra.launcher.n_jobs=16")  # fmt: skip


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_sixteen_jobs_at_once_are_on_a_server_once(rsbench, server):
    uri = f"http://127.0.0.1:{server}"
    done = rsbench(
        *SIXTEEN,
        f"tracking.uri={uri}",
        "tracking.experiment=sixteen",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert rsbench("track", "outputs", timeout=300).returncode == 0
    check_store(uri, "sixteen", 16)


def test_sixteen_jobs_at_once_are_in_a_fresh_store_once(rsbench, tmp_path):
    done = rsbench(*SIXTEEN, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "could not be reached" not in done.stdout + done.stderr
    check_store(f"sqlite:///{tmp_path}/outputs/mlflow.db", "rsbench", 16)
