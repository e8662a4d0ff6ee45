"""Statistics against scipy's own and by simulation; comparisons that make no sense are refused."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rsbench.core.statistics import (
    area_under_curve,
    bootstrap_interval,
    check_comparable,
    compare,
    holm,
    interaction,
    levels,
    needed,
    paired_t,
    samples_needed,
    t_interval,
    wilcoxon,
)
from rsbench.errors import UserError
from rsbench.report import make_comparisons
from rsbench.report.collect import Group
from rsbench.store.record import COLUMNS, Run


def run(values, label="lean", **info):
    """A run whose every measure has these values, (steps, seeds)."""
    values = np.asarray(values, float)
    steps, seeds = np.meshgrid(
        np.arange(1, len(values) + 1), np.arange(values.shape[1]), indexing="ij"
    )
    curves = {column: values.ravel() for column in COLUMNS}
    curves |= {"seed": seeds.ravel(), "step": steps.ravel(), "samples": steps.ravel()}
    about = {
        "label": label, "method": label.split()[0], "unit": "samples per class", "seeds": list(range(values.shape[1])),
        "data": {"identity": "x", "simulated": False}, "config": {"protocol": {"name": "per_class"}}, "samples": {"pool": 100, "test": 60},
    }  # fmt: skip
    return Run(Path("x"), {**about, **info}, curves)


def test_intervals_and_tests_are_scipys(rng):
    values, others = rng.normal(size=8), rng.normal(size=8) + 0.5
    low, high = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    found = t_interval(values)
    assert (found.mean, found.low, found.high) == pytest.approx(
        (values.mean(), low, high)
    )
    assert paired_t(values - others) == pytest.approx(
        stats.ttest_rel(values, others).pvalue
    )
    assert wilcoxon(values - others) == pytest.approx(
        stats.wilcoxon(values, others).pvalue
    )
    assert t_interval([1.0]).high == np.inf and np.isnan(paired_t(np.array([1.0])))
    assert paired_t(np.zeros(5)) == 1
    assert np.isnan(paired_t(np.full(5, 0.1))) and np.isnan(
        paired_t(0.1 + 0.2 + np.full(3, 0.7))
    )


def test_nadeau_and_bengios_variance(rng):
    d = rng.normal(size=10) + 1
    t = d.mean() / np.sqrt((1 / 10 + 0.6) * d.var(ddof=1))
    assert paired_t(d, overlap=0.6) == pytest.approx(2 * stats.t.sf(abs(t), 9))
    assert paired_t(d, overlap=0.6) > paired_t(d)
    wide = t_interval(d, overlap=0.6)
    assert wide.high - wide.mean == pytest.approx(
        (t_interval(d).high - d.mean()) * np.sqrt(0.7 / 0.1)
    )


def test_holm_is_the_textbooks():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0]) and holm([]) == []
    assert holm([0.01, np.nan, 0.02]) == pytest.approx(
        [0.03, np.nan, 0.04], nan_ok=True
    )


def test_five_seeds_cannot_make_wilcoxon_significant(rng):
    assert wilcoxon(np.full(5, 0.1)) is None and wilcoxon(np.zeros(10)) is None
    assert stats.wilcoxon(np.arange(1, 6)).pvalue == pytest.approx(0.0625)
    assert wilcoxon(np.arange(1.0, 7)) < 0.05


def test_few_seeds_are_not_bootstrapped(rng):
    with pytest.raises(UserError, match="5 seeds covers less than it says"):
        bootstrap_interval(rng.normal(size=5))
    found = bootstrap_interval(rng.normal(size=40))
    assert found.low < found.mean < found.high
    assert bootstrap_interval(np.ones(25)).low == 1


def test_t_intervals_cover_and_paired_t_errs_as_often_as_they_say():
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(4000, 5))
    covered = np.mean(
        [found.low <= 0 <= found.high for found in map(t_interval, samples)]
    )
    assert 0.93 <= covered <= 0.97
    false = np.mean([paired_t(sample) < 0.05 for sample in samples])
    assert 0.04 <= false <= 0.06


def test_the_correction_holds_on_overlapping_splits_where_plain_t_does_not():
    """Two methods that are equally good, tried on splits of the same 60 samples again and again.

    What a sample adds to the difference when it is tested on is noise. Where the training sets add noise of their
    own, the correction errs more often as well (8 % in a like simulation): it is better than none, not exact.
    """
    rng = np.random.default_rng(2)
    plain, corrected = [], []
    for _ in range(4000):
        noise, tested = (
            rng.normal(size=60),
            np.argsort(rng.random((10, 60)), axis=1)[:, :20],
        )
        differences = noise[tested].mean(axis=1)
        plain.append(paired_t(differences) < 0.05)
        corrected.append(paired_t(differences, overlap=20 / 40) < 0.05)
    two_standard_errors = 2 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean(plain) > 0.3 and np.mean(corrected) <= 0.05 + two_standard_errors


def test_all_pairs_are_compared_and_corrected_together(rng):
    base = 0.5 + 0.01 * rng.normal(size=(20, 8))
    runs = [
        run(base),
        run(base - 0.1 + 0.01 * rng.normal(size=base.shape), "ellipsotron"),
        run(base, "twin"),
    ]
    found = {(c.first, c.second): c for c in compare(runs)}
    assert len(found) == 3
    better = found["lean", "ellipsotron"]
    assert (
        better.difference.low > 0
        and better.losses == 8
        and better.wins == 0
        and better.p_holm < 0.01
    )
    assert better.p_t < better.p_corrected <= better.p_holm and better.effect > 1
    level = found["lean", "twin"]
    assert (
        level.ties == 8
        and level.p_t == 1
        and np.isnan(level.effect)
        and level.p_wilcoxon is None
    )


def test_methods_are_corrected_with_those_on_the_same_features_alone(rng):
    runs = [
        run(0.5 + 0.01 * rng.normal(size=(20, 5)), f"{method}{features}")
        for features in ("", " center")
        for method in ("lean", "a", "b")
    ]
    found = compare(runs)
    assert len(found) == 6 and all(
        ("center" in c.first) == ("center" in c.second) for c in found
    )
    raw = [c.p_corrected for c in found if "center" not in c.first]
    assert [c.p_holm for c in found if "center" not in c.first] == pytest.approx(
        holm(raw)
    )


def test_differences_that_are_all_the_same_prove_nothing():
    values = np.full((20, 2), 0.5)
    (found,) = compare([run(values), run(values - 0.1, "other")])
    assert (
        np.isnan(found.p_t)
        and np.isnan(found.p_holm)
        and found.difference.low == -np.inf
    )
    (same,) = compare([run(values), run(values, "twin")])
    assert same.p_t == 1 and same.difference.low == same.difference.high == 0


def test_interaction_is_the_difference_of_gains(rng):
    a, b, c, d = (0.5 + 0.1 * rng.random((20, 6)) for _ in range(4))
    found = interaction([(run(a), run(b)), (run(c), run(d))])
    gains = (a - b)[19] - (c - d)[19]
    half = stats.t.ppf(0.975, 5) * gains.std(ddof=1) * np.sqrt(1 / 6 + 0.6)
    assert (found.mean, found.low, found.high) == pytest.approx(
        (gains.mean(), gains.mean() - half, gains.mean() + half)
    )


def test_one_seed_gives_no_certainty():
    (found,) = compare(
        [run(np.full((20, 1), 0.5)), run(np.full((20, 1), 0.4), "other")]
    )
    assert (
        found.difference.mean == pytest.approx(0.1)
        and found.difference.high == np.inf
        and np.isnan(found.p_holm)
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"data": {"identity": "y", "simulated": False}}, "data differ"),
        ({"config": {"protocol": {"name": "stream"}}}, "protocol differ"),
        ({"seeds": [7, 8]}, "seeds differ"),
        ({"samples": {"pool": 50, "test": 60}}, "samples differ"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused(change, what):
    values = np.full((20, 2), 0.5)
    with pytest.raises(
        UserError, match=f"lean and other cannot be compared seed by seed: {what}"
    ):
        check_comparable([run(values), run(values, "other", **change)])
    with pytest.raises(UserError, match="two runs or more"):
        compare([run(values)])


def test_samples_needed_and_area():
    curve = np.array([[0.9, 0.9], [0.6, 0.8], [0.5, 0.7], [0.4, 0.7]])
    assert samples_needed(run(curve), 0.6) == [2.0, None]
    some = needed(run(curve), 0.6)
    assert (some.reached, some.seeds, some.samples) == (1, 2, None)
    every = needed(run(curve), 0.8)
    assert every.reached == 2 and (
        every.samples.mean,
        every.samples.low,
        every.samples.high,
    ) == (2.0, 2.0, 2.0)
    assert needed(run(curve), 0.7).samples.mean == 2.5
    np.testing.assert_allclose(
        area_under_curve(run(curve)),
        [(0.75 + 0.55 + 0.45) / 3, (0.85 + 0.75 + 0.7) / 3],
    )
    np.testing.assert_allclose(area_under_curve(run(curve[:1])), [0.9, 0.9])


def test_errors_to_reach_lie_between_the_best_end_and_the_worst_start():
    runs = [run([[0.97, 0.97], [0.62, 0.62]]), run([[0.9, 0.9], [0.31, 0.31]], "other")]
    assert levels(runs) == [0.8, 0.6, 0.4]
    assert levels([run([[0.52, 0.52], [0.41, 0.41]])]) == [0.5, 0.45]
    assert levels([run([[0.5, 0.5], [0.5, 0.5]])]) == []


def test_a_thousand_runs_are_compared_with_the_first_alone(rng):
    values = 0.5 + 0.1 * rng.random((3, 4))
    found = compare([run(values + 0.001 * i, f"m{i}") for i in range(150)])
    assert len(found) == 149 and {comparison.first for comparison in found} == {"m0"}


def test_a_sweep_is_compared_with_its_first_run_in_words_and_numbers(rng):
    base = 0.5 + 0.01 * rng.normal(size=(20, 5))
    runs = [
        run(base),
        run(base - 0.1 + 0.01 * rng.normal(size=base.shape), "ellipsotron"),
        run(base, "twin"),
    ]
    text, table = make_comparisons(Group(runs))
    rows = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in text.splitlines()
        if line[:1] == "|"
    }
    assert rows["ellipsotron"][0] == "lean" and rows["ellipsotron"][1].startswith("-1")
    assert rows["ellipsotron"][3] == "5/0/0" and rows["twin"][1:] == [
        "+0.0",
        "+0.0 to +0.0",
        "0/5/0",
        "1.000",
    ]
    assert (
        "cumulative error at 20" in text
        and "corrected (Holm) for 3 pairs of methods" in text
    )
    assert "with 5 seeds cannot go below p = 0.0625" in text
    read = list(csv.DictReader(table.splitlines()))
    assert len(read) == 3 and float(read[0]["first_minus_second"]) == pytest.approx(
        0.1, abs=0.02
    )
    assert read[0]["p_wilcoxon"] == "" and float(read[0]["p_t"]) < float(
        read[0]["p_nadeau_bengio"]
    )


def test_what_cannot_be_compared_is_said():
    values = np.full((20, 2), 0.5)
    text, table = make_comparisons(
        Group(
            [
                run(values),
                run(values, "other", data={"identity": "y", "simulated": False}),
            ]
        )
    )
    assert (
        table is None
        and "Not compared seed by seed: lean and other" in text
        and "data differ" in text
    )
    text, _ = make_comparisons(Group([run(values[:, :1]), run(values[:, :1], "other")]))
    assert "| other  |" in text and "nan" not in text and "Holm" not in text
    _, table = make_comparisons(Group([run(values), run(values - 0.1, "=HYPERLINK()")]))
    assert "'=HYPERLINK()" in table and ",=" not in table
