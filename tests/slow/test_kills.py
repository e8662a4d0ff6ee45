"""Sweeps that are killed at any moment."""

import importlib.util
import random
import sys

from tests.helpers import ROOT


def test_thirty_kills_change_no_byte_and_cost_a_seed_each(tmp_path):
    place = importlib.util.spec_from_file_location(
        "kills", ROOT / "benchmarks" / "kills.py"
    )
    kills = importlib.util.module_from_spec(place)
    sys.modules["kills"] = kills
    place.loader.exec_module(kills)
    count = kills.kill_and_resume(tmp_path, 30, random.Random())  # noqa: S311
    assert count.kills == 30 and count.sweeps >= 1
