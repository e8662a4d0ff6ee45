"""What a sweep shows, in words: claims follow the numbers, and controls their records."""

import zlib

import numpy as np
import pytest

from rsbench.core.components import Told
from rsbench.report.findings import findings
from rsbench.report.labels import Features
from rsbench.store.run_info import SplitSizes
from tests import made_up

RAW = Features("none")


def run(method, level, preprocessor="none", seeds=5, noise=0.002, **changes):
    """A run of 20 steps around an error, with a little noise from seed to seed."""
    name = f"{method} {preprocessor} {changes.get('control')}"
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    values = level + noise * rng.normal(size=(20, seeds))
    return made_up.run(values, method, preprocessor=preprocessor, **changes)


def test_the_reversal_is_said_in_words():
    runs = [run("lean", 0.8), run("ellipsotron", 0.7), run("class_soft", 0.69)]
    runs += [
        run("lean", 0.5, "center"),
        run("ellipsotron", 0.6, "center"),
        run("class_soft", 0.58, "center"),
    ]
    claims = findings(runs).claims
    assert claims[0].startswith(
        "On raw scores rich supervision helps: the best method with it, class_soft, has -1"
    )
    assert "2 of 2 clearly better" in claims[0] and "p < 0.001" in claims[0]
    assert claims[1].startswith("On centred scores rich supervision does harm")
    assert "0 of 2" in claims[1]
    assert claims[2] == "So rich supervision helps on raw scores, not on centred ones."
    assert claims[3].startswith("Lowest of these: lean on centred scores, ")


def test_features_fitted_on_the_stream_are_features_of_their_own():
    runs = [run("lean", 0.8, "center"), run("ellipsotron", 0.7, "center")]
    for method, level in (("lean", 0.8), ("ellipsotron", 0.7)):
        runs.append(run(method, level, "center", fitted_on_stream=True))
    claims = findings(runs).claims
    assert claims[0].startswith("On centred scores rich supervision helps")
    assert claims[1].startswith("On centred (seen) scores rich supervision helps")


def test_a_gain_that_is_not_shown_is_not_said_to_be_absent():
    runs = [run("lean", 0.8), run("ellipsotron", 0.7)]
    runs += [
        run("lean", 0.5, "center", noise=0.1),
        run("ellipsotron", 0.5, "center", noise=0.1),
    ]
    claims = findings(runs).claims
    assert "shows no clear gain" in claims[1]
    assert (
        claims[2]
        == "So rich supervision helps on raw scores; on centred ones that is not shown."
    )


def test_no_claim_where_a_method_is_there_more_than_once():
    runs = []
    for C, level in ((1, 0.9), (2, 0.6)):
        learner = {"name": "x", "C": C, "more": f"{C}"}
        config = {"learner": learner, "protocol": {}}
        runs.append(run("lean", level, config=config))
        runs.append(run("ellipsotron", 0.7, config=config))
    assert findings(runs).claims == ()


def test_only_methods_that_are_told_something_are_rich_supervision():
    runs = [run("lean", 0.8), run("mine", 0.5, told=Told.NOTHING)]
    assert findings(runs).claims == ()
    runs.append(run("yours", 0.7, told=Told.CLASS_VOTES))
    (claim,) = findings(runs).claims
    assert "the best method with it, yours," in claim and "1 of 1 clearly" in claim


def test_a_plugins_own_parameter_does_not_make_it_a_control():
    """`variant: str = "pa1"` of a plugin's learner was once taken for a control."""
    config = {
        "learner": {"name": "mine", "variant": "pa1"},
        "tune": {"theirs": [1]},
        "protocol": {"name": "per_class"},
    }
    runs = [run("lean", 0.8), run("ellipsotron", 0.7), run("mine", 0.6, config=config)]
    found = findings(runs)
    assert "the best method with it, mine," in found.claims[0]
    assert "2 of 2 clearly better" in found.claims[0]
    assert found.contrasts == () and found.controlled == ()


def test_nothing_is_claimed_without_evidence():
    noisy = [run("lean", 0.8, noise=0.1), run("ellipsotron", 0.79, noise=0.1)]
    (claim,) = findings(noisy).claims
    assert "shows no clear gain" in claim and "0 of 1" in claim
    one = findings([run("lean", 0.8, seeds=1), run("ellipsotron", 0.7, seeds=1)])
    assert "one seed: no certainty" in one.note
    assert "shows no clear gain" in one.claims[0] and "[" not in one.claims[0]
    assert findings([run("ellipsotron", 0.7), run("class_soft", 0.6)]).lines == []
    assert findings([run("lean", 0.7)]).lines == []


def test_many_methods_are_corrected_for():
    """A method that looks better by itself, and not once it is one of forty."""
    # The overlap of splits is set aside, so that single tests do err as often as they say.
    apart = {"samples": SplitSizes(pool=10**9, test=1)}
    lean = run("lean", 0.5, noise=0, **apart)
    others = []
    for i in range(40):
        gains = np.array([0.01, -0.01, 0.005, -0.005, 0.001])
        if i == 0:
            gains = np.array([0.010, 0.012, 0.004, 0.016, 0.008])
        others.append(made_up.run(0.5 - np.tile(gains, (20, 1)), f"m{i}", **apart))
    assert "1 of 1 clearly better" in findings([lean, others[0]]).claims[0]
    assert "0 of 40 clearly better" in findings([lean, *others]).claims[0]


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ("shuffled", "Annotations shuffled between samples"),
        ("random", "As many marks on random features"),
        ("ones", "Every feature marked (all ones)"),
        ("soft", "A soft mask in place of the hard one"),
        ("seen", "Only votes seen so far, not the whole pool's"),
        ("exact", "Steps that correct the margin exactly"),
        ("tuned", "C tuned on held-out classes"),
        ("their own", "their own"),
    ],
)
def test_a_control_is_compared_with_its_method(control, words):
    runs = [run("lean", 0.8), run("ellipsotron", 0.7), run("class_soft", 0.6)]
    (contrast,) = findings([*runs, run("ellipsotron", 0.75, control=control)]).contrasts
    assert (contrast.control.words, contrast.method) == (words, "ellipsotron")
    difference = contrast.to_itself[RAW].difference.mean
    assert difference == pytest.approx(0.05, abs=0.005)
    assert str(contrast).startswith(f"{words}, ellipsotron: raw +")
    to_lean = control in ("shuffled", "random", "soft")
    assert ("; against lean raw -" in str(contrast)) == to_lean


def test_a_control_is_no_method_with_rich_supervision():
    runs = [run("lean", 0.8), run("ellipsotron", 0.7)]
    runs.append(run("ellipsotron", 0.5, control="random"))
    (claim,) = findings(runs).claims
    assert "1 of 1 clearly better" in claim and "(70." in claim


@pytest.mark.parametrize(
    "change", [{"preprocessor": "center"}, {"changed": {"learner.C": 3}}]
)
def test_a_control_without_its_method_is_compared_with_nothing(change):
    runs = [run("lean", 0.8), run("ellipsotron", 0.7)]
    other = run("ellipsotron", 0.75, control="shuffled", **change)
    assert findings([*runs, other]).contrasts == ()


def test_shuffled_annotations_that_help_are_explained_and_only_they():
    runs = [run("lean", 0.8), run("ellipsotron", 0.7)]
    helping = findings([*runs, run("ellipsotron", 0.75, control="shuffled")])
    assert "against lean raw -" in str(helping.contrasts[0])
    explained = "Shuffled annotations are not no annotations"
    assert any(explained in line for line in helping.lines)
    harmful = findings([*runs, run("ellipsotron", 0.85, control="shuffled")])
    assert not any(explained in line for line in harmful.lines)


@pytest.mark.parametrize(
    ("control", "words"), [("tuned", "With C tuned"), ("exact", "With exact steps")]
)
def test_tuned_and_exact_methods_are_compared_among_themselves(control, words):
    runs = [run("lean", 0.8), run("ellipsotron", 0.7)]
    runs += [run("lean", 0.6, control=control), run("mine", 0.65, control=control)]
    (line,) = findings(runs).controlled
    expected = f"{words}, on raw scores rich supervision does harm: the best method with it, mine,"
    assert line.startswith(expected) and "and 60." in line


def test_no_other_control_is_judged_by_itself():
    runs = [run("lean", 0.8, control="soft"), run("mine", 0.7, control="soft")]
    assert findings(runs).lines == []


def test_methods_are_followed_along_a_swept_setting():
    runs = []
    for C, level in ((0.1, 0.7), (10.0, 0.85)):
        config = {"learner": {"C": C}, "protocol": {}}
        changed = {"learner.C": C}
        runs.append(run("lean", 0.8, config=config, changed=changed))
        runs.append(run("mine", level, config=config, changed=changed))
        # Tuned, it is no yardstick for others.
        runs.append(run("lean", 0.3, control="tuned", config=config, changed=changed))
    lean, mine, tuned = findings(runs).claims
    assert lean.startswith("On raw scores lean goes from 80.") and lean.endswith(
        "at 10."
    )
    assert mine.endswith("at 10; clearly better than lean at 0.1.")
    assert "lean (tuned) goes from 30." in tuned


def test_simulated_data_are_said_to_be_no_evidence():
    data = made_up.data(simulated=True)
    runs = [run("lean", 0.8, data=data), run("ellipsotron", 0.7, data=data)]
    assert findings(runs).note.startswith("SIMULATED data, evidence of nothing.")
