"""What a sweep shows, in words: claims follow the numbers, and controls are matched by their settings."""

import zlib
from pathlib import Path

import numpy as np
import pytest

from rsbench.report.findings import findings
from rsbench.store.record import COLUMNS, Run

LEAN, RICH = (
    {"name": "lean", "variant": "pa2"},
    {"name": "ellipsotron", "variant": "pa2"},
)


def run(
    method,
    level,
    preprocessor="none",
    learner=RICH,
    seeds=5,
    simulated=False,
    noise=0.002,
    **config,
):
    """A run of 20 steps around an error, with a little noise from seed to seed."""
    values = level + noise * np.random.default_rng(
        zlib.crc32(f"{method} {preprocessor}".encode())
    ).normal(size=(20, seeds))
    steps, numbers = np.meshgrid(np.arange(1, 21), np.arange(seeds), indexing="ij")
    curves = {column: values.ravel() for column in COLUMNS} | {
        "seed": numbers.ravel(),
        "step": steps.ravel(),
    }
    settings = {
        "learner": learner,
        "aggregator": {"name": "sample", "relevant": 1.0, "irrelevant": 1e-10}
        if learner is not LEAN
        else {"name": "none"},
        "annotation": {"name": "full"},
        "preprocessor": {"name": preprocessor},
        "protocol": {},
        "tune": {},
    }
    info = {
        "method": method, "label": f"{method} {preprocessor}", "preprocessor": preprocessor, "unit": "samples per class",
        "classes": 5, "seeds": list(range(seeds)), "samples": {"pool": 100, "test": 60}, "config": settings | config,
        "data": {"identity": "x", "simulated": simulated},
    }  # fmt: skip
    return Run(Path("x"), info, curves)


def test_the_reversal_is_said_in_words():
    runs = [
        run("lean", 0.8, learner=LEAN),
        run("ellipsotron", 0.7),
        run("class_soft", 0.69),
    ]
    runs += [
        run("lean", 0.5, "center", LEAN),
        run("ellipsotron", 0.6, "center"),
        run("class_soft", 0.58, "center"),
    ]
    claims = findings(runs).claims
    assert claims[0].startswith(
        "On raw scores rich supervision helps: the best method with it, class_soft, has -1"
    )
    assert "2 of 2 clearly better" in claims[0]
    assert (
        claims[1].startswith("On centred scores rich supervision does harm")
        and "0 of 2" in claims[1]
    )
    assert claims[2] == "So rich supervision helps on raw scores, not on centred ones."
    assert (
        claims[3].startswith("Lowest of these: lean on centred scores, ")
        and "p < 0.001" in claims[0]
    )


def test_a_gain_that_is_not_shown_is_not_said_to_be_absent():
    runs = [run("lean", 0.8, learner=LEAN), run("ellipsotron", 0.7)]
    runs += [
        run("lean", 0.5, "center", LEAN, noise=0.1),
        run("ellipsotron", 0.5, "center", noise=0.1),
    ]
    claims = findings(runs).claims
    assert "shows no clear gain" in claims[1]
    assert (
        claims[2]
        == "So rich supervision helps on raw scores; on centred ones that is not shown."
    )


def test_no_claim_where_a_method_is_there_more_than_once():
    runs = [
        run("lean", 0.9, learner={**LEAN, "C": 1}),
        run("lean", 0.6, learner={**LEAN, "C": 2, "x": 1}),
    ]
    runs += [
        run("ellipsotron", 0.7, learner={**RICH, "C": 1}),
        run("ellipsotron", 0.7, learner={**RICH, "C": 2, "x": 1}),
    ]
    assert findings(runs).claims == ()


def test_only_exact_steps_and_tuned_c_are_called_so():
    other = {"name": "ellipsotron", "variant": "pa1"}
    runs = [
        run("lean", 0.8, learner={"name": "lean", "variant": "pa1"}),
        run("e", 0.7, learner=other),
    ]
    theta = {"tune": {"aggregator": {"theta": [1, 2]}}}
    runs += [run("lean_t", 0.8, learner=LEAN, **theta), run("e_t", 0.7, **theta)]
    assert findings(runs).controlled == ()


def test_nothing_is_claimed_without_evidence():
    noisy = [
        run("lean", 0.8, learner=LEAN, noise=0.1),
        run("ellipsotron", 0.79, noise=0.1),
    ]
    (claim,) = findings(noisy).claims
    assert "shows no clear gain" in claim and "0 of 1" in claim
    one = findings(
        [run("lean", 0.8, learner=LEAN, seeds=1), run("ellipsotron", 0.7, seeds=1)]
    )
    assert (
        "one seed: no certainty" in one.note
        and "shows no clear gain" in one.claims[0]
        and "[" not in one.claims[0]
    )
    assert findings([run("ellipsotron", 0.7), run("class_soft", 0.6)]).lines == []
    assert findings([run("lean", 0.7)]).lines == []


def test_many_methods_are_corrected_for():
    """A method that looks better by itself, and not once it is one of forty."""
    lean = run("lean", 0.5, learner=LEAN, noise=0)
    others = [run(f"m{i}", 0.5, noise=0) for i in range(40)]
    for i, other in enumerate(others):
        gains = np.array(
            [0.01, -0.01, 0.005, -0.005, 0.001]
            if i
            else [0.010, 0.012, 0.004, 0.016, 0.008]
        )
        other.curves["cumulative_error"] = 0.5 - np.tile(gains, 20)
    # The overlap of splits is set aside, so that single tests do err as often as they say.
    for each in (lean, *others):
        each.info["samples"] = {"pool": 10**9, "test": 1}
    assert "1 of 1 clearly better" in findings([lean, others[0]]).claims[0]
    assert "0 of 40 clearly better" in findings([lean, *others]).claims[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"annotation": {"name": "shuffled"}}, "Annotations shuffled between samples"),
        ({"annotation": {"name": "random"}}, "As many marks on random features"),
        ({"aggregator": {"name": "none"}}, "Every feature marked (all ones)"),
        (
            {"aggregator": {"name": "sample", "relevant": 2, "irrelevant": 1}},
            "A soft mask in place of the hard one",
        ),
        (
            {"learner": {"name": "ellipsotron", "variant": "pa"}},
            "Steps that correct the margin exactly",
        ),
        ({"tune": {"learner": {"C": [1, 2]}}}, "C tuned on held-out classes"),
    ],
)
def test_controls_are_found_by_their_settings_whatever_their_names(change, words):
    plain = [run("lean", 0.8, learner=LEAN), run("ellipsotron", 0.7)]
    control = run("whatever", 0.75, **change)
    (contrast,) = findings([*plain, control]).contrasts
    assert (contrast.control.words, contrast.method) == (words, "ellipsotron")
    assert contrast.to_itself["none"].difference.mean == pytest.approx(0.05, abs=0.005)
    assert str(contrast).startswith(f"{words}, ellipsotron: raw +")
    twice = run("twice", 0.7, **{**change, "annotation": {"name": "noisy"}})
    assert len(findings([*plain, twice]).contrasts) == 0


def test_scope_is_a_control_of_the_same_aggregator():
    teacher, seen = (
        {"name": "class_soft", "scope": scope} for scope in ("teacher", "seen")
    )
    runs = [run("lean", 0.8, learner=LEAN), run("class_soft", 0.7, aggregator=teacher)]
    (contrast,) = findings([*runs, run("honest", 0.72, aggregator=seen)]).contrasts
    assert (
        contrast.control.words.startswith("Only votes seen so far")
        and contrast.method == "class_soft"
    )


def test_shuffled_annotations_that_help_are_explained_and_only_they():
    runs = [run("lean", 0.8, learner=LEAN), run("ellipsotron", 0.7)]
    helping = findings([*runs, run("s", 0.75, annotation={"name": "shuffled"})])
    assert "against lean raw -" in str(helping.contrasts[0])
    assert any(
        "Shuffled annotations are not no annotations" in line
        for line in helping.controlled
    )
    harmful = findings([*runs, run("s", 0.85, annotation={"name": "shuffled"})])
    assert not any(
        "Shuffled annotations are not" in line for line in harmful.controlled
    )


def test_tuned_and_exact_methods_are_compared_among_themselves():
    tuned = {"tune": {"learner": {"C": [1, 2]}}}
    runs = [run("lean", 0.8, learner=LEAN), run("ellipsotron", 0.7)]
    runs += [
        run("lean_tuned", 0.6, learner=LEAN, **tuned),
        run("e_tuned", 0.65, **tuned),
    ]
    (line,) = findings(runs).controlled
    assert (
        line.startswith("With C tuned, on raw scores rich supervision does harm")
        and "e_tuned" in line
    )


def test_simulated_data_are_said_to_be_no_evidence():
    runs = [
        run("lean", 0.8, learner=LEAN, simulated=True),
        run("ellipsotron", 0.7, simulated=True),
    ]
    assert findings(runs).note.startswith("SIMULATED data, evidence of nothing.")
