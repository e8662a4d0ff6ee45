"""A real Slurm on this machine alone: accounting, controller and two nodes, on loopback.

    python tests/slow/slurm.py COMMAND …        runs the command with the cluster up, then stops it

Installs Debian's packages where they are missing, which needs root.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PACKAGES = ("slurm-wlm", "slurmdbd", "munge", "mariadb-server")
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd", "sbatch", "sacct")


class UnavailableError(Exception):
    """Why there can be no Slurm here."""


def install() -> None:
    """Make sure that Slurm's programs are there."""
    os.environ["PATH"] += (
        os.pathsep + "/usr/sbin"
    )  # where Debian keeps daemons, and a user's path may not lead
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if os.geteuid() != 0:
        raise UnavailableError("Slurm's daemons and their packages need root")
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise UnavailableError(
            f"{', '.join(missing)} not installed, and no apt-get to install them with"
        )
    # RUNLEVEL: the packages' own services are not to be started.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        subprocess.run(
            ["apt-get", "update", "-q"], env=environment, capture_output=True
        )
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise UnavailableError(
            f"apt-get could not install {', '.join(PACKAGES)}: {done.stderr.strip()[-200:]}"
        )


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Start everything below a folder; gives the environment that leads to it, and stops what was started."""
    munge, conf = folder / "munge.sock", folder / "slurm.conf"
    mysql, dbd, controller, *nodes = _free_ports(5)
    _configure(folder, conf, munge, mysql, dbd, controller, nodes)
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    started: list[subprocess.Popen] = []

    def start(*command: str) -> None:
        with open(folder / f"{Path(command[0]).name}-{len(started)}.log", "w") as log:
            started.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                )
            )

    def ask(*command: str) -> str:
        return subprocess.run(
            command, env=environment, capture_output=True, text=True
        ).stdout

    try:
        start("munged", "--foreground", "--force", f"--socket={munge}", f"--key-file={folder / 'munge.key'}",
              f"--pid-file={folder / 'munged.pid'}", f"--seed-file={folder / 'munge.seed'}",
              f"--log-file={folder / 'munged.log'}")  # fmt: skip
        _start_database(folder, mysql, start)
        start("slurmdbd", "-D")
        wait_for("accounting", lambda: _listens(dbd))
        wait_for("the cluster's account", lambda: "dev" in ask("sacctmgr", "-i", "add", "cluster", "dev")
                 or "dev" in ask("sacctmgr", "-n", "show", "cluster"))  # fmt: skip
        start("slurmctld", "-D", "-i")
        start("slurmd", "-D", "-N", "n1")
        start("slurmd", "-D", "-N", "n2")
        wait_for(
            "two idle nodes",
            lambda: ask("sinfo", "-h", "-o", "%D %t").split() == ["2", "idle"],
        )
        yield environment
    finally:
        ask("scancel", "--full", "--user=root")
        ask("scontrol", "shutdown")
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _configure(
    folder: Path,
    conf: Path,
    munge: Path,
    mysql: int,
    dbd: int,
    controller: int,
    nodes: list[int],
) -> None:
    host = socket.gethostname().partition(".")[0]
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    for name in ("state", "n1", "n2"):
        (folder / name).mkdir()
    lines = [
        "ClusterName=dev", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={controller}", "SlurmUser=root",
        "AuthType=auth/munge", f"AuthInfo=socket={munge}", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
        "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core", "ReturnToService=2", "MpiDefault=none",
        f"StateSaveLocation={folder / 'state'}", f"SlurmdSpoolDir={folder}/%n", f"SlurmctldPidFile={folder}/ctld.pid",
        f"SlurmdPidFile={folder}/%n.pid", "SlurmdParameters=config_overrides", "KillWait=2", "MinJobAge=300",
        "AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={dbd}", f"AccountingStoragePass={munge}", "JobAcctGatherType=jobacct_gather/none",
        *(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=8000" for i, port in enumerate(nodes, 1)),
        "PartitionName=all Nodes=n1,n2 Default=YES State=UP",
    ]  # fmt: skip
    conf.write_text("\n".join(lines) + "\n")
    accounting = folder / "slurmdbd.conf"
    lines = [
        "AuthType=auth/munge", f"AuthInfo=socket={munge}", f"DbdHost={host}", "DbdAddr=127.0.0.1", f"DbdPort={dbd}", "SlurmUser=root",
        "StorageType=accounting_storage/mysql", "StorageHost=127.0.0.1", f"StoragePort={mysql}", "StorageUser=slurm",
        "StoragePass=slurm", "StorageLoc=slurm", f"PidFile={folder}/slurmdbd.pid",
    ]  # fmt: skip
    accounting.write_text("\n".join(lines) + "\n")
    accounting.chmod(0o600)


def _start_database(folder: Path, port: int, start: Callable[..., None]) -> None:
    data = folder / "mysql"
    options = ["--no-defaults", "--user=root", f"--datadir={data}"]
    make = [
        "mariadb-install-db",
        *options,
        "--skip-test-db",
        "--auth-root-authentication-method=normal",
    ]
    subprocess.run(make, check=True, capture_output=True)
    at = f"--socket={folder / 'mysql.sock'}"
    start("mariadbd", *options, at, f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/mysql.pid",
          "--skip-name-resolve")  # fmt: skip
    user = "CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'slurm'; GRANT ALL ON slurm.* TO slurm@'127.0.0.1';"
    ask = ["mariadb", "--no-defaults", at, "--user=root", "-e", user]
    wait_for(
        "the database", lambda: subprocess.run(ask, capture_output=True).returncode == 0
    )


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def wait_for(what: str, ready: Callable[[], bool], seconds: float = 60) -> None:
    """Ask until it is so."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not there after {seconds} s")
        time.sleep(0.3)


if __name__ == "__main__":
    install()
    with tempfile.TemporaryDirectory() as place, cluster(Path(place)) as environment:
        sys.exit(subprocess.run(sys.argv[1:], env=environment).returncode)
