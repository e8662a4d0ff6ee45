"""The command `plan`, on pilots that nobody ran."""

import argparse

import numpy as np
import pytest

from rsbench.cli.planning import show_plan
from rsbench.core.data import Drawn
from rsbench.core.planning import plan, variance_limit
from rsbench.errors import UserError
from rsbench.store.record import write_record
from tests.made_up import data, run

#: Gains of five draws, in points.
GAINS = np.array([3.0, 5.0, 1.0, 4.0, 2.0])


def pilot(folder, gains=GAINS, **changes):
    """Write a sweep of one method, told something, over draws with these gains."""
    without = np.full((2, len(gains), 2), 0.5)
    counterpart = run(without, "lean", **changes)
    told = run(
        without - np.asarray(gains)[None, :, None] / 100,
        "ellipsotron",
        counterpart=counterpart,
        **changes,
    )
    (folder / "0").mkdir(parents=True)
    write_record(folder / "0", told)
    return folder


def planned(folder, capsys, gain=2.0, power=0.8):
    show_plan(argparse.Namespace(folder=folder, gain=gain, power=power))
    return capsys.readouterr().out


def test_the_plan_is_that_of_the_statistics(tmp_path, capsys):
    expected = plan(2.0, variance_limit(GAINS)).draws
    out = planned(pilot(tmp_path / "pilot"), capsys)
    assert f"draws={expected}" in out and "gain +3.0" in out
    assert "5 draws of 2 seeds" in out and "corrected for 1 method:" in out


def test_it_says_when_no_number_of_draws_suffices(tmp_path, capsys):
    folder = pilot(tmp_path / "pilot", data=data(drawn=Drawn(50, 150)))
    out = planned(folder, capsys, gain=1.0)
    assert "never (from " in out and "share them, however many there are" in out
    assert "draws=" not in out


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"gain": 0.0}, "--gain 0.0: expected points of error above 0"),
        ({"gain": -2.0}, "--gain -2.0: expected"),
        ({"power": 1.0}, "--power 1.0: expected a chance between 0 and 1"),
    ],
)
def test_impossible_wishes_are_refused(asked, message, tmp_path, capsys):
    with pytest.raises(UserError, match=message):
        planned(pilot(tmp_path / "pilot"), capsys, **asked)


def test_a_pilot_needs_three_draws(tmp_path, capsys):
    folder = pilot(tmp_path / "pilot", gains=[1.0, 2.0])
    with pytest.raises(UserError, match="a pilot of 2 draws says too little"):
        planned(folder, capsys)


def test_a_pilot_needs_counterparts(tmp_path, capsys):
    (tmp_path / "0").mkdir()
    write_record(tmp_path / "0", run(np.full((2, 5, 2), 0.5), "lean"))
    with pytest.raises(UserError, match="no run in it has a counterpart"):
        planned(tmp_path, capsys)
