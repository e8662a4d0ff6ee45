"""Which runs are compared with which, in which family, and with how much certainty."""

import csv
import dataclasses

import numpy as np
import pytest
from scipy import stats

from rsbench.core.data import Drawn
from rsbench.core.statistics import fixed_test, holm, over_draws, over_seeds
from rsbench.core.told import Told, Track
from rsbench.errors import UserError
from rsbench.report import make_comparisons
from rsbench.report.claims import Verdict, claims, worth_steps
from rsbench.report.collect import Group
from rsbench.report.comparisons import (
    Family,
    Kind,
    check_comparable,
    comparable,
    compare,
    comparison_frame,
)
from rsbench.report.pairs import family_sizes, pairs_csv
from rsbench.store.run_info import CounterpartKind, SplitSizes
from tests import made_up
from tests.made_up import around, with_counterpart

FLAT = np.full((20, 2), 0.5)


def named(found):
    return {(c.first, c.second): c.family.kind for c in found}


def test_each_pair_has_one_family():
    lean = around(0.8)
    runs = [
        lean,
        around(0.7, "a", counterpart=lean),
        around(0.6, "b", counterpart=lean),
        around(0.6, "soft", told=Told.CLASS_VOTES, counterpart=lean),
        around(0.5, "ncm", told=Told.NOTHING),
        around(0.75, "a", control="shuffled"),
    ]
    assert named(compare(runs)) == {
        ("a", "lean"): Kind.COUNTERPART,
        ("b", "lean"): Kind.COUNTERPART,
        ("soft", "lean"): Kind.COUNTERPART,
        ("lean", "ncm"): Kind.TRACK,
        ("a", "b"): Kind.TRACK,
        ("a", "ncm"): Kind.NOTHING,
        ("b", "ncm"): Kind.NOTHING,
        ("soft", "ncm"): Kind.NOTHING,
        ("a (shuffled)", "a"): Kind.CONTROL,
        ("a (shuffled)", "lean"): Kind.CONTROL,
    }
    assert {c.family for c in compare(runs) if c.family.kind is Kind.NOTHING} == {
        Family(Kind.NOTHING, Track(Told.VOTES)),
        Family(Kind.NOTHING, Track(Told.CLASS_VOTES)),
    }


def test_methods_on_all_features_are_corrected_together(rng):
    runs = []
    for preprocessor in ("none", "center"):
        for method in ("a", "b", "c"):
            lean = made_up.run(
                0.5 + 0.01 * rng.normal(size=(20, 5)), preprocessor=preprocessor
            )
            values = 0.5 + 0.01 * rng.normal(size=(20, 5))
            about = {"preprocessor": preprocessor, "counterpart": lean}
            runs.append(made_up.run(values, method, **about))
    found = [c for c in compare(runs) if c.family.kind is Kind.COUNTERPART]
    assert len(found) == 6 and {c.of for c in found} == {6}
    assert [c.p for c in found] == pytest.approx(holm([c.estimate.p() for c in found]))


def test_a_pair_has_the_same_p_in_words_tables_file_and_page(tmp_path):
    """One pair once had p = 0.066 in the table and 0.044 in the words."""
    lean = around(0.7)
    runs = [lean]
    for i in range(4):
        runs.append(around(0.69 - 0.002 * i, f"m{i}", noise=0.01, counterpart=lean))
    group = Group(runs)
    (shown,) = [c for c in group.comparisons if (c.first, c.second) == ("m3", "lean")]
    words = f"p = {shown.p:.3f}"
    sentence = [line for line in group.findings.methods if "m3" in line]
    assert words in sentence[0]
    row = [line for line in make_comparisons(group).splitlines() if "| m3 " in line]
    assert f" {shown.p:.3f} " in row[0]
    read = csv.DictReader(pairs_csv(group.comparisons).splitlines())
    in_file = [float(row["p"]) for row in read if row["first"] == "m3"]
    assert in_file[0] == pytest.approx(shown.p)


def test_a_counterpart_of_the_sweep_is_not_compared_again():
    lean = around(0.8)
    assert named(compare([lean, around(0.7, "a", counterpart=lean)])) == {
        ("a", "lean"): Kind.COUNTERPART
    }


def test_a_counterpart_that_came_with_its_method_is_compared_once():
    lean = around(0.8, preprocessor="center")
    runs = [around(0.7, name, preprocessor="center", counterpart=lean) for name in "ab"]
    found = named(compare(runs))
    assert found == {
        ("a center", "lean center"): Kind.COUNTERPART,
        ("b center", "lean center"): Kind.COUNTERPART,
        ("a center", "b center"): Kind.TRACK,
    }
    without = around(0.8, "a", told=Told.NOTHING, fingerprint="a, absent")
    itself = CounterpartKind.ITSELF
    (pair,) = compare([around(0.7, "a", counterpart=without, kind=itself)])
    assert pair.second == "a without annotations"


def test_a_control_that_is_the_counterpart_is_compared_as_such():
    absent = around(0.8, "a", control="absent", told=Told.NOTHING)
    runs = [around(0.7, "a", counterpart=absent), absent]
    assert named(compare(runs)) == {("a", "a (absent)"): Kind.COUNTERPART}
    without_a_kept_one = [around(0.7, "a"), absent]
    assert named(compare(without_a_kept_one)) == {("a", "a (absent)"): Kind.COUNTERPART}
    lean = around(0.8)
    beside_lean = [lean, around(0.7, "a", counterpart=lean), absent]
    assert named(compare(beside_lean)) == {("a", "lean"): Kind.COUNTERPART}


def test_features_and_methods_are_ranked_within_a_track():
    runs = [around(0.8), around(0.6, preprocessor="center")]
    runs.append(around(0.3, "mine"))
    ranks = claims(runs).ranks
    assert [ranks.get(run) for run in runs] == [(2, 2), (1, 1), None]


def test_ranks_that_are_not_clear_are_ranges(rng):
    base = 0.5 + 0.02 * rng.normal(size=(20, 5))
    level = base + 0.02 * rng.normal(size=(20, 5))
    high = level + 0.4 + 0.02 * rng.normal(size=(20, 5))
    runs = [
        made_up.run(base, "a"),
        made_up.run(level, "b"),
        made_up.run(high, "c"),
    ]
    ranks = claims(runs).ranks
    assert [ranks[run] for run in runs] == [(1, 2), (1, 2), (3, 3)]
    table = make_comparisons(Group(runs))
    assert "1–2" in table


def test_tuned_methods_have_families_of_their_own():
    lean = around(0.8)
    tuned = around(0.6, control="tuned")
    runs = [
        lean,
        tuned,
        around(0.7, "a", counterpart=lean),
        around(0.65, "a", control="tuned", counterpart=tuned),
    ]
    found = {(c.first, c.second): c.family for c in compare(runs)}
    assert found["a (tuned)", "lean (tuned)"] == Family(
        Kind.COUNTERPART, control="tuned"
    )
    assert found["a (tuned)", "a"] == Family(Kind.CONTROL, control="tuned")
    assert ("a", "lean (tuned)") not in found


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
    assert family_sizes([found]) == "1 pair of settings of one method"
    table = make_comparisons(Group(runs))
    assert "| ellipsotron learner.C=1.0 | ellipsotron learner.C=0.1 |" in table


def test_settings_are_compared_also_where_shuffled_annotations_were_tried():
    runs = []
    for C in (0.1, 1.0):
        for control in (None, "shuffled"):
            about = {"changed": {"learner.C": C}, "control": control}
            runs.append(around(0.5, "a", **about))
    assert named(compare(runs)) == {
        ("a (shuffled) learner.C=0.1", "a learner.C=0.1"): Kind.CONTROL,
        ("a (shuffled) learner.C=1.0", "a learner.C=1.0"): Kind.CONTROL,
        ("a learner.C=0.1", "a learner.C=1.0"): Kind.SETTINGS,
    }


def test_theta_is_a_setting_of_its_method():
    runs = [made_up.run(FLAT, "a", changed={"theta": theta}) for theta in (3, 4)]
    assert [c.family.kind for c in compare(runs)] == [Kind.SETTINGS]
    runs += [made_up.run(FLAT, "b", changed={"theta": theta}) for theta in (3, 4)]
    assert set(named(compare(runs))) == {
        ("a theta=3", "b theta=3"),
        ("a theta=4", "b theta=4"),
    }


def test_methods_are_compared_at_each_value_of_a_swept_setting():
    runs = []
    for C in (0.1, 1.0):
        changed = {"learner.C": C}
        lean = around(0.8, changed=changed)
        runs += [lean, around(0.7, "a", changed=changed, counterpart=lean)]
    found = compare(runs)
    assert set(named(found)) == {
        ("a learner.C=0.1", "lean learner.C=0.1"),
        ("a learner.C=1.0", "lean learner.C=1.0"),
    }
    # Each value is a chance to look better.
    assert {c.of for c in found} == {2}


def test_settings_are_compared_within_their_method_and_features_alone():
    runs = [
        made_up.run(FLAT, "a", changed={"learner.C": 1}),
        made_up.run(FLAT, "a", changed={"learner.C": 2}),
        made_up.run(FLAT, "b", changed={"learner.C": 3}),
        made_up.run(FLAT, "a", changed={"learner.C": 4}, preprocessor="center"),
        made_up.run(FLAT, "a", changed={"learner.C": 5, "annotation.err": 0.1}),
    ]
    assert set(named(compare(runs))) == {("a learner.C=1", "a learner.C=2")}


def test_labels_and_harmless_settings_do_not_tell_settings_apart():
    runs = [
        made_up.run(FLAT, "c", label="what I call it", changed={"force": True}),
        made_up.run(
            FLAT, "a", label="something else", changed={"extractor.device": "cuda"}
        ),
        made_up.run(FLAT, "b", changed={"dataset.root": "elsewhere", "seeds": 5}),
        made_up.run(FLAT, "a (tuned)", label="a plugin's odd name"),
    ]
    assert len(compare(runs)) == 6


def test_the_judged_step_does_not_depend_on_which_other_steps_were_tested():
    """`test_at=[10,20,…]` was once judged at 20 and `[10,25,…]` at the end."""
    values = np.linspace(0.9, 0.5, 4)[:, None] + [0, 0.01]
    for steps in ([10, 20, 400, 1600], [10, 25, 400, 1600]):
        runs = [made_up.run(values, name, steps) for name in "ab"]
        assert compare(runs)[0].step == 1600
        early = [made_up.run(values, name, steps, judged_step=400) for name in "ab"]
        assert compare(early)[0].step == 400
    hundred = [made_up.run(np.tile(FLAT, (5, 1)), name) for name in "ab"]
    assert compare(hundred)[0].step == 100


def test_seeds_of_one_draw_are_judged_after_nadeau_and_bengio(rng):
    a, b = (0.5 + 0.1 * rng.random((20, 6)) for _ in range(2))
    (found,) = compare([made_up.run(a, "a"), made_up.run(b, "b")])
    assert found.estimate.p() == pytest.approx(over_seeds((a - b)[19], 0.6).p())
    half = stats.t.ppf(0.975, 5) * (a - b)[19].std(ddof=1) * np.sqrt(1 / 6 + 0.6)
    assert found.difference.high - found.difference.low == pytest.approx(2 * half)


def test_draws_are_the_unit_where_there_are_three_or_more(rng):
    a, b = (0.5 + 0.1 * rng.random((20, 4, 3)) for _ in range(2))
    about = {"data": made_up.data(drawn=Drawn(classes=50, of=150))}
    runs = [made_up.run(a, "a", **about), made_up.run(b, "b", **about)]
    (found,) = compare(runs)
    expected = over_draws((a - b)[19].mean(axis=1), 50, 150)
    assert found.estimate.variance == pytest.approx(expected.variance)
    assert found.estimate.df == 3 and found.wins + found.losses == 12
    worlds = [made_up.run(values, name) for values, name in ((a, "a"), (b, "b"))]
    (independent,) = compare(worlds)
    assert independent.estimate.variance < found.estimate.variance


def test_two_draws_give_no_verdict(rng):
    runs = [made_up.run(rng.random((20, 2, 9)), name) for name in "ab"]
    assert np.isnan(compare(runs)[0].p)
    assert claims([with_counterpart(0.2, 0.9, draws=2)]).methods[0].verdict is (
        Verdict.NOT_JUDGED
    )


def on_one_test_set(rng, names="ab", seeds=5, items=100):
    """Methods that err alike in expectation, on test samples of their own tastes."""
    runs = []
    for name in names:
        taste = rng.random(items) < 0.3
        slips = rng.random((seeds, 3, items)) < 0.05
        runs.append(made_up.on_fixed_test(taste ^ slips, name))
    return runs


def test_a_fixed_test_set_is_judged_by_its_samples(rng):
    one, two = on_one_test_set(rng)
    (found,) = compare([one, two])
    differences = []
    for seed in range(5):
        errors = [run.items()[0, seed].errors(3, cumulative=True) for run in (one, two)]
        differences.append(errors[0] - errors[1])
    expected = fixed_test(np.array(differences), learned=12, pool=1600)
    assert found.estimate == expected
    assert found.estimate.mean == pytest.approx(
        one.mean("cumulative_error")[2] - two.mean("cumulative_error")[2]
    )


def test_a_fixed_test_set_calls_few_null_comparisons_clear():
    """With variances of seeds alone, 8 to 69 % of them were."""
    rng = np.random.default_rng(0)
    clear = 0
    naive = 0
    for _ in range(100):
        (found,) = compare(on_one_test_set(rng))
        clear += found.p < 0.05
        by_seed = found.one.values("cumulative_error")[2]
        by_seed = by_seed - found.two.values("cumulative_error")[2]
        naive += over_seeds(by_seed, 100 / 1600).p() < 0.05
    assert clear <= 10 and naive > 40


def test_losses_on_a_fixed_test_set_are_not_judged(rng):
    runs = []
    for run in on_one_test_set(rng):
        info = dataclasses.replace(run.info, score_scale="margin")
        runs.append(dataclasses.replace(run, info=info))
    (found,) = compare(runs, "cumulative_loss")
    assert np.isnan(found.p)
    (online,) = compare(runs, "online_error")
    assert np.isfinite(online.p)


def test_losses_are_compared_only_on_one_scale():
    runs = [around(0.5, name) for name in "ab"]
    assert compare(runs, "test_loss") == []
    like = [around(0.5, name, score_scale="margin") for name in "ab"]
    assert len(compare(like, "test_loss")) == 1
    unlike = [like[0], around(0.5, "c", score_scale="log odds")]
    assert compare(unlike, "test_loss") == []
    assert len(compare(unlike, "test_error")) == 1


def test_differences_that_are_all_the_same_prove_nothing():
    (found,) = compare([made_up.run(FLAT, "a"), made_up.run(FLAT - 0.1, "other")])
    assert np.isnan(found.p) and found.difference.low == -np.inf
    (same,) = compare([made_up.run(FLAT, "a"), made_up.run(FLAT, "twin")])
    assert same.p == 1 and same.difference.low == same.difference.high == 0


def test_one_seed_gives_no_certainty():
    one = FLAT[:, :1]
    (found,) = compare([made_up.run(one, "a"), made_up.run(one - 0.1, "other")])
    assert found.difference.mean == pytest.approx(0.1)
    assert found.difference.high == np.inf and np.isnan(found.p)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"data": made_up.data(identity="y")}, "data differ"),
        ({"config": {"protocol": {"name": "stream"}}}, "protocol differ"),
        ({"seeds": (7, 8)}, "seeds differ"),
        ({"draws": (4,)}, "draws differ"),
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


def test_a_single_method_is_compared_with_its_counterpart():
    (found,) = compare([with_counterpart(0.7, 0.8)])
    assert found.is_clearly_less and found.estimate.mean == pytest.approx(-0.1)


def test_a_step_that_is_not_there_is_named():
    with pytest.raises(
        UserError, match="lean has no step 99: its curves go from 1 to 20"
    ):
        compare([made_up.run(FLAT), made_up.run(FLAT, "other")], step=99)


def test_other_measures_and_steps_can_be_compared():
    falling = np.linspace(0.9, 0.5, 20)[:, None] + [0, 0.01]
    runs = [made_up.run(falling, "a"), made_up.run(falling**2, "other")]
    (found,) = compare(runs, measure="test_error", step=3)
    assert (found.measure, found.step) == ("test_error", 3)
    expected = (falling - falling**2)[2].mean()
    assert found.difference.mean == pytest.approx(expected)


def test_a_frame_has_the_pairs_of_whatever_can_be_compared():
    elsewhere = made_up.data(identity="other")
    runs = [made_up.run(FLAT, "b"), made_up.run(FLAT - 0.1, "a")]
    runs += [made_up.run(FLAT, method, data=elsewhere) for method in "abc"]
    runs.append(made_up.run(FLAT, data=made_up.data(identity="alone")))
    found = comparison_frame(runs)
    pairs = list(zip(found["first"], found["second"], strict=True))
    assert pairs == [("b", "a"), ("a", "b"), ("a", "c"), ("b", "c")]
    assert found["first_minus_second"][0] == pytest.approx(0.1)
    assert set(found["step"]) == {20} and set(found["seeds"]) == {2}
    assert set(found["family"]) == {"track"} and set(found["track"]) == {"votes"}
    assert list(found["corrected_for"]) == [1, 3, 3, 3]


def test_a_thousand_runs_are_compared_with_the_first_alone(rng):
    values = 0.5 + 0.1 * rng.random((3, 4))
    found = compare([made_up.run(values + 0.001 * i, f"m{i}") for i in range(150)])
    assert len(found) == 149 and {comparison.first for comparison in found} == {"m0"}


def test_the_table_says_how_p_was_corrected(rng):
    group = Group([with_counterpart(0.7, 0.8), with_counterpart(0.6, 0.8, "b")])
    text = make_comparisons(group)
    assert "Judged by cumulative error at 20 samples per class" in text
    assert "corrected (Holm) for 2 pairs of methods with their counterparts" in text
    assert "1 pair of methods told votes" in text and "Nadeau and Bengio" in text
    drawn = make_comparisons(Group([with_counterpart(0.7, 0.8, draws=4)]))
    assert "The unit is the draw" in drawn and "Nadeau" not in drawn


def test_what_cannot_be_compared_is_said():
    other = made_up.run(FLAT, "other", data=made_up.data(identity="y"))
    text = make_comparisons(Group([made_up.run(FLAT), other]))
    assert "Not compared seed by seed: lean and other" in text and "data differ" in text
    one = FLAT[:, :1]
    text = make_comparisons(Group([made_up.run(one), made_up.run(one, "other")]))
    assert "| other  |" in text and "nan" not in text and "Holm" not in text


def test_no_name_is_a_spreadsheets_formula_and_unknown_is_nan():
    runs = [made_up.run(FLAT, "a"), made_up.run(FLAT - 0.1, "=HYPERLINK()")]
    table = pairs_csv(Group(runs).comparisons)
    assert "'=HYPERLINK()" in table and ",=" not in table
    (read,) = csv.DictReader(table.splitlines())
    assert (read["low"], read["p"], read["control"]) == ("-inf", "nan", "")


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        (range(1, 26), [1, 2, 5, 10]),
        (range(1, 101), [1, 2, 5, 10, 20, 50]),
        ([3, 7, 11, 40, 80], [7, 11, 40]),
        ([40], []),
    ],
)
def test_worth_is_asked_where_a_worth_of_two_can_be_measured(steps, asked):
    assert worth_steps(list(steps)) == asked


def test_runs_that_are_judged_elsewhere_are_not_compared():
    one = around(0.5)
    two = around(0.6, "mine", told=Told.NOTHING, judged_step=10)
    three = around(0.6, "mine", told=Told.NOTHING, margin=0.3)
    for other in (two, three):
        assert len(comparable([one, other])) == 2
        with pytest.raises(UserError, match="judged_step differ|margin differ"):
            compare([one, other])


def test_another_learner_is_another_method_and_no_setting():
    runs = []
    for i, learner in enumerate(("lean", "ncm", "ridge")):
        about = {"told": Told.NOTHING, "swept": {"learner": learner}}
        runs.append(around(0.5 + 0.1 * i, f"{learner}+sample", **about))
    found = compare(runs)
    assert {each.family.kind for each in found} == {Kind.TRACK} and len(found) == 3
