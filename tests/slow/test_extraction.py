"""Extraction that is killed again and again, and of real images."""

import os
import subprocess
import sys

KILL = """
import os, sys, json
from pathlib import Path
from rsbench.datasets import CUB
from rsbench.extractors import ResNet50Attributes, images
from rsbench.core.data import identity
images.IMAGES_PER_ENTRY = 4
where, at, root, backbone = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
count = 0
real = os.replace
def replace(source, target):
    global count
    if where in str(target):
        count += 1
        if count == at:
            os.kill(os.getpid(), 9)
    real(source, target)
os.replace = replace
data = CUB(source="disk", root=root, split=[2, 2, 2]).load()
data = ResNet50Attributes(backbone=backbone, learning_rates=(1e-3, 1e-2), weight_decays=(1e-5, 1e-4), epochs=3).extract(data)
print(identity(data))
"""


def test_killed_at_any_point_the_next_run_goes_on_to_the_same_result(
    make_cub, resnet, tmp_path
):
    root = make_cub()

    def run(cache, where="nowhere", at=0):
        environment = {**os.environ, "RSBENCH_CACHE": str(tmp_path / cache)}
        args = [sys.executable, "-c", KILL, where, str(at), str(root), str(resnet)]
        return subprocess.run(args, env=environment, capture_output=True, text=True)

    undisturbed = run("undisturbed")
    assert undisturbed.returncode == 0, undisturbed.stderr
    # The kill comes after an entry's bytes were written to a temporary file, before it has its name.
    kept = 0
    points = [
        ("annotations", 1),
        ("features", 2),
        ("features", 4),
        ("candidate", 2),
        ("candidate", 2),
        ("final", 1),
    ]
    for where, at in points:
        assert run("disturbed", where, at).returncode == -9
        before, kept = kept, len(list((tmp_path / "disturbed").rglob("*.cache")))
        assert kept > before or where in ("annotations", "final")
    done = run("disturbed")
    assert done.returncode == 0, done.stderr
    assert done.stdout == undisturbed.stdout
    assert not list((tmp_path / "disturbed" / "features").rglob(".*.tmp"))


def test_real_birds_from_pixels_to_the_table_twice(rsbench, real_data, tmp_path):
    command = (
        "+experiment=cub", "method=lean,class_soft", "dataset.source=disk", f"dataset.root={real_data}/CUB_200_2011",
        "dataset.split=[6,3,3]", "extractor.backbone=efficientnet_lite0", "protocol.samples_per_class=8",
        "tracking=none",
    )  # fmt: skip
    curves = []
    for folder in ("first", "second"):
        done = rsbench(*command, f"hydra.sweep.dir={folder}", timeout=300)
        assert done.returncode == 0 and "efficientnet_lite0" in done.stdout, done.stderr
        assert ("features of 181 images" in done.stdout) == (
            folder == "first"
        )  # then from the cache
        curves.append((tmp_path / folder / "0" / "curves.csv").read_bytes())
    assert curves[0] == curves[1]
