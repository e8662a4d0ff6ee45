"""Disks that are full, or may only be read."""

import os
import subprocess

from rsbench.store.record import read_record
from tests.helpers import SMALL, curves_of, dawdle, diary


def test_a_full_disk_is_said_and_earlier_results_stay(rsbench, tmp_path, small_disk):
    disk = small_disk(tmp_path / "disk", "300k")
    first = rsbench("tracking=none", *SMALL, "hydra.run.dir=disk/first")
    assert first.returncode == 0, first.stderr
    before = (disk / "first" / "curves.csv").read_bytes()
    (disk / "ballast").write_bytes(
        b"0" * (os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - 28_000)
    )
    args = ("protocol.samples_per_class=11", "seeds=40", "hydra.run.dir=disk/second")
    done = rsbench("tracking=none", *SMALL, *args)
    assert done.returncode == 1 and "No space left on device" in done.stderr, (
        done.stderr
    )
    assert "Traceback" not in done.stderr
    assert not (disk / "second" / "curves.csv").exists()
    assert (disk / "first" / "curves.csv").read_bytes() == before


def test_a_full_disk_is_survived(tmp_path, small_disk):
    """Everything on one small disk: clear error, earlier results intact, and the command goes on once there is room."""
    disk = small_disk(tmp_path / "disk", "1m")
    dawdle(disk, "hydra.sweep.dir=first")
    before = {
        path: path.read_bytes() for path in disk.glob("first/0/*") if path.is_file()
    }
    room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "ballast").write_bytes(b"0" * (room - 60_000))
    second = ("learner.C=2,3,4", "seeds=8", "hydra.sweep.dir=second")
    done = dawdle(disk, *second, check=False)
    assert (
        done.returncode == 1
        and "No space left on device" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert {path: path.read_bytes() for path in before} == before
    for path in disk.rglob("curves.csv"):
        read_record(path.parent)
    (disk / "ballast").unlink()
    dawdle(disk, *second)
    assert len(curves_of(disk / "second")) == 3
    whole = tmp_path / "whole"
    whole.mkdir()
    dawdle(whole, *second)
    assert curves_of(whole / "second") == curves_of(disk / "second")


def test_outputs_that_may_only_be_read_are_said_and_kept(rsbench, tmp_path, small_disk):
    disk = small_disk(tmp_path / "outputs", "4m")
    dawdle(tmp_path, RSBENCH_CACHE="outputs/cache")
    before = {path: path.read_bytes() for path in disk.rglob("curves.csv")}
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for args in (
        (),
        ("hydra.sweep.dir=elsewhere", "seeds=3"),
    ):  # the second finds its cache read-only
        done = dawdle(tmp_path, *args, check=False, RSBENCH_CACHE="outputs/cache")
        assert done.returncode == 1 and "Read-only file system" in done.stderr, (
            done.stderr
        )
        assert "Traceback" not in done.stderr
    assert "1 done" in rsbench("status", "outputs").stdout
    dawdle(
        tmp_path, "hydra.sweep.dir=reads", RSBENCH_CACHE="outputs/cache"
    )  # what is there can be used
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert {path: path.read_bytes() for path in before} == before and len(before) == 1
    dawdle(
        tmp_path, "hydra.sweep.dir=elsewhere", "seeds=3", RSBENCH_CACHE="outputs/cache"
    )
    assert diary(tmp_path) == {1: 3}
