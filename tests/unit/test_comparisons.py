"""Which runs are compared with which; comparisons that make no sense are refused."""

import csv
import dataclasses

import numpy as np
import pytest
from scipy import stats

from rsbench import compare as public
from rsbench.core.statistics import holm
from rsbench.errors import UserError
from rsbench.report import make_comparisons
from rsbench.report.collect import Group
from rsbench.report.comparisons import (
    check_comparable,
    compare,
    comparison_frame,
    families,
    interaction,
)
from rsbench.report.pairs import family_sizes, pairs_csv
from rsbench.store.run_info import SplitSizes
from tests import made_up

FLAT = np.full((20, 2), 0.5)


def labels(found):
    return [[run.info.label for run in family] for family in found]


def test_all_pairs_are_compared_and_corrected_together(rng):
    base = 0.5 + 0.01 * rng.normal(size=(20, 8))
    lower = base - 0.1 + 0.01 * rng.normal(size=base.shape)
    runs = [
        made_up.run(base),
        made_up.run(lower, "ellipsotron"),
        made_up.run(base, "twin"),
    ]
    found = {(c.first, c.second): c for c in compare(runs)}
    assert len(found) == 3
    better = found["lean", "ellipsotron"]
    assert better.difference.low > 0 and better.p_holm < 0.01
    assert better.losses == 8 and better.wins == 0
    assert better.p_t < better.p_corrected <= better.p_holm and better.effect > 1
    level = found["lean", "twin"]
    assert level.ties == 8 and level.p_t == 1
    assert np.isnan(level.effect) and level.p_wilcoxon is None


def test_methods_are_corrected_with_those_on_the_same_features_alone(rng):
    runs = []
    for preprocessor in ("none", "center"):
        for method in ("lean", "a", "b"):
            values = 0.5 + 0.01 * rng.normal(size=(20, 5))
            runs.append(made_up.run(values, method, preprocessor=preprocessor))
    found = compare(runs)
    assert len(found) == 6
    assert all(c.one.info.preprocessor == c.two.info.preprocessor for c in found)
    raw = [c for c in found if c.one.info.preprocessor == "none"]
    expected = holm([c.p_corrected for c in raw])
    assert [c.p_holm for c in raw] == pytest.approx(expected)


def test_what_the_stream_is_centred_with_makes_other_features():
    seen = {"preprocessor": "center", "fitted_on_stream": True}
    runs = [
        made_up.run(FLAT, method, preprocessor="center") for method in ("lean", "a")
    ]
    runs += [made_up.run(FLAT, method, **seen) for method in ("lean", "a")]
    assert [len(family) for family in families(runs)] == [2, 2]


def test_a_swept_setting_of_one_method_is_compared(rng):
    runs = []
    for C in (0.1, 1.0):
        values = 0.5 + 0.01 * rng.normal(size=(20, 5))
        runs.append(made_up.run(values, "ellipsotron", changed={"learner.C": C}))
    (found,) = compare(runs)
    assert (found.first, found.second) == (
        "ellipsotron learner.C=0.1",
        "ellipsotron learner.C=1.0",
    )
    assert family_sizes(runs) == "1 pair of settings"


def test_theta_is_a_setting_of_its_method():
    runs = [made_up.run(FLAT, "a", changed={"theta": theta}) for theta in (3, 4)]
    assert [len(family) for family in families(runs)] == [2]
    runs += [made_up.run(FLAT, "b", changed={"theta": theta}) for theta in (3, 4)]
    assert labels(families(runs)) == [
        ["a theta=3", "b theta=3"],
        ["a theta=4", "b theta=4"],
    ]


def test_methods_are_compared_at_each_value_of_a_swept_setting():
    runs = [
        made_up.run(FLAT, method, changed={"learner.C": C})
        for method in ("lean", "a", "b")
        for C in (0.1, 1.0)
    ]
    assert labels(families(runs)) == [
        ["lean learner.C=0.1", "a learner.C=0.1", "b learner.C=0.1"],
        ["lean learner.C=1.0", "a learner.C=1.0", "b learner.C=1.0"],
    ]
    assert family_sizes(runs) == (
        "3 pairs of methods on the same features, in each of 2 families"
    )


def test_settings_are_compared_within_their_method_and_features_alone():
    runs = [
        made_up.run(FLAT, "a", changed={"learner.C": 1}),
        made_up.run(FLAT, "a", changed={"learner.C": 2}),
        made_up.run(FLAT, "b", changed={"learner.C": 3}),
        made_up.run(FLAT, "a", changed={"learner.C": 4}, preprocessor="center"),
        made_up.run(FLAT, "a", changed={"learner.C": 5, "annotation.err": 0.1}),
    ]
    assert [len(family) for family in families(runs)] == [2, 1, 1, 1]


def test_labels_and_harmless_settings_do_not_tell_families_apart():
    runs = [
        made_up.run(FLAT, "lean", label="what I call it", changed={"force": True}),
        made_up.run(
            FLAT, "a", label="something else", changed={"extractor.device": "cuda"}
        ),
        made_up.run(FLAT, "b", changed={"dataset.root": "elsewhere", "seeds": 5}),
        made_up.run(FLAT, "a (tuned)", label="a plugin's odd name"),
    ]
    assert len(families(runs)) == 1


def test_controls_are_in_the_family_of_their_method():
    runs = [
        made_up.run(FLAT, "lean"),
        made_up.run(FLAT, "a"),
        made_up.run(FLAT, "a", control="shuffled"),
    ]
    assert labels(families(runs)) == [["lean", "a", "a (shuffled)"]]


def test_differences_that_are_all_the_same_prove_nothing():
    (found,) = compare([made_up.run(FLAT), made_up.run(FLAT - 0.1, "other")])
    assert np.isnan(found.p_t) and np.isnan(found.p_holm)
    assert found.difference.low == -np.inf
    (same,) = compare([made_up.run(FLAT), made_up.run(FLAT, "twin")])
    assert same.p_t == 1 and same.difference.low == same.difference.high == 0


def test_interaction_is_the_difference_of_gains(rng):
    a, b, c, d = (0.5 + 0.1 * rng.random((20, 6)) for _ in range(4))
    first = (made_up.run(a), made_up.run(b))
    found = interaction(first, (made_up.run(c), made_up.run(d)))
    gains = (a - b)[19] - (c - d)[19]
    half = stats.t.ppf(0.975, 5) * gains.std(ddof=1) * np.sqrt(1 / 6 + 0.6)
    expected = (gains.mean(), gains.mean() - half, gains.mean() + half)
    assert (found.mean, found.low, found.high) == pytest.approx(expected)


def test_one_seed_gives_no_certainty():
    one = FLAT[:, :1]
    (found,) = compare([made_up.run(one), made_up.run(one - 0.1, "other")])
    assert found.difference.mean == pytest.approx(0.1)
    assert found.difference.high == np.inf and np.isnan(found.p_holm)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"data": made_up.data(identity="y")}, "data differ"),
        ({"config": {"protocol": {"name": "stream"}}}, "protocol differ"),
        ({"seeds": (7, 8)}, "seeds differ"),
        ({"samples": SplitSizes(pool=50, test=60)}, "samples differ"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused(change, what):
    other = made_up.run(FLAT, "other")
    info = dataclasses.replace(other.info, **change)
    other = dataclasses.replace(other, info=info)
    words = f"lean and other cannot be compared seed by seed: {what}"
    with pytest.raises(UserError, match=words):
        check_comparable([made_up.run(FLAT), other])
    with pytest.raises(UserError, match="two runs or more"):
        compare([made_up.run(FLAT)])


def test_a_step_that_is_not_there_is_named():
    with pytest.raises(
        UserError, match="lean has no step 99: its curves go from 1 to 20"
    ):
        compare([made_up.run(FLAT), made_up.run(FLAT, "other")], step=99)


def test_other_measures_and_steps_can_be_compared():
    falling = np.linspace(0.9, 0.5, 20)[:, None] + [0, 0.01]
    runs = [made_up.run(falling), made_up.run(falling**2, "other")]
    (found,) = public.compare(runs, measure="test_loss", step=3)
    assert (found.measure, found.step) == ("test_loss", 3)
    expected = (falling - falling**2)[2].mean()
    assert found.difference.mean == pytest.approx(expected)


def test_a_frame_has_the_pairs_of_whatever_can_be_compared():
    elsewhere = made_up.data(identity="other")
    runs = [made_up.run(FLAT), made_up.run(FLAT - 0.1, "a")]
    runs += [made_up.run(FLAT, method, data=elsewhere) for method in ("lean", "a", "b")]
    runs.append(made_up.run(FLAT, data=made_up.data(identity="alone")))
    found = comparison_frame(runs)
    assert list(zip(found["first"], found["second"], strict=True)) == [
        ("lean", "a"),
        ("lean", "a"),
        ("lean", "b"),
        ("a", "b"),
    ]
    assert found["first_minus_second"][0] == pytest.approx(0.1)
    assert set(found["step"]) == {20} and set(found["seeds"]) == {2}
    assert found["p_wilcoxon"].dtype == float and found["p_wilcoxon"].isna().all()


def test_a_thousand_runs_are_compared_with_the_first_alone(rng):
    values = 0.5 + 0.1 * rng.random((3, 4))
    found = compare([made_up.run(values + 0.001 * i, f"m{i}") for i in range(150)])
    assert len(found) == 149 and {comparison.first for comparison in found} == {"m0"}


def test_a_sweep_is_compared_with_its_first_run_in_words_and_numbers(rng):
    base = 0.5 + 0.01 * rng.normal(size=(20, 5))
    lower = base - 0.1 + 0.01 * rng.normal(size=base.shape)
    runs = [
        made_up.run(base),
        made_up.run(lower, "ellipsotron"),
        made_up.run(base, "twin"),
    ]
    group = Group(runs)
    text = make_comparisons(group)
    rows = {}
    for line in text.splitlines():
        if line.startswith("|"):
            first, *others = (cell.strip() for cell in line.split("|")[1:-1])
            rows[first] = others
    assert rows["ellipsotron"][0] == "lean" and rows["ellipsotron"][1].startswith("-1")
    assert rows["ellipsotron"][3] == "5/0/0"
    assert rows["twin"][1:] == ["+0.0", "+0.0 to +0.0", "0/5/0", "1.000"]
    assert "cumulative error at 20" in text
    assert "corrected (Holm) for 3 pairs of methods" in text
    assert "with 5 seeds cannot go below p = 0.0625" in text
    read = list(csv.DictReader(pairs_csv(group.comparisons).splitlines()))
    assert len(read) == 3
    assert float(read[0]["first_minus_second"]) == pytest.approx(0.1, abs=0.02)
    assert read[0]["p_wilcoxon"] == ""
    assert float(read[0]["p_t"]) < float(read[0]["p_nadeau_bengio"])


def test_what_cannot_be_compared_is_said():
    other = made_up.run(FLAT, "other", data=made_up.data(identity="y"))
    text = make_comparisons(Group([made_up.run(FLAT), other]))
    assert "Not compared seed by seed: lean and other" in text and "data differ" in text
    one = FLAT[:, :1]
    text = make_comparisons(Group([made_up.run(one), made_up.run(one, "other")]))
    assert "| other  |" in text and "nan" not in text and "Holm" not in text


def test_no_name_is_a_spreadsheets_formula_and_unknown_is_nan():
    runs = [made_up.run(FLAT), made_up.run(FLAT - 0.1, "=HYPERLINK()")]
    table = pairs_csv(Group(runs).comparisons)
    assert "'=HYPERLINK()" in table and ",=" not in table
    (read,) = csv.DictReader(table.splitlines())
    assert (read["low"], read["p_t"], read["p_wilcoxon"]) == ("-inf", "nan", "")
