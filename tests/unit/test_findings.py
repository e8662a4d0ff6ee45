"""What a sweep shows, in words: each sentence follows a verdict, and nothing else."""

import dataclasses

import numpy as np
import pytest

from rsbench.core.data import Drawn
from rsbench.core.told import Told
from rsbench.report.claims import claims
from rsbench.report.findings import Findings, findings
from rsbench.store.run_info import CounterpartKind, SplitSizes
from tests import made_up
from tests.made_up import around, with_counterpart


def said(runs) -> Findings:
    return findings(runs, claims(runs))


def text(runs) -> str:
    return " ".join(said(runs).lines)


def test_a_learner_that_takes_no_annotations_is_never_rich_supervision():
    """A nearest-class-mean learner was once "the best method with it", -40.4."""
    runs = [around(0.8), around(0.4, "ncm", told=Told.NOTHING)]
    found = said(runs)
    assert found.methods == () and found.tracks == ()
    assert found.answer[0].startswith("No method here was told anything of its samples")
    assert "ncm, 40." in found.answer[0]
    told = [*runs, with_counterpart(0.7, 0.8, "mine")]
    assert "ncm" not in " ".join(said(told).methods)
    (track,) = said(told).tracks
    assert "the best told nothing, ncm" in track and "more error" in track


def test_a_gain_is_told_against_the_counterpart_in_plain_words():
    found = said([with_counterpart(0.7, 0.8)])
    first = found.answer[0]
    assert first.startswith("ellipsotron has 10.0 points less error [")
    assert "than lean, which it is without annotations" in first
    assert "on average over the first 20 samples per class, for these classes" in first
    assert len(found.answer) <= 3


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (CounterpartKind.ITSELF, "than itself without annotations"),
        (CounterpartKind.EQUAL, "than lean, which it is without annotations"),
        (CounterpartKind.SUBSTITUTE, "than lean, which stands in for it"),
    ],
)
def test_the_counterpart_is_named_by_how_it_relates_to_the_method(kind, words):
    assert words in said([with_counterpart(0.7, 0.8, kind=kind)]).answer[0]


def test_shuffled_annotations_that_were_not_tried_are_asked_for():
    runs = [with_counterpart(0.7, 0.8)]
    assert "was not tried (control=none,shuffled)" in said(runs).answer[0]
    runs.append(around(0.79, "ellipsotron", control="shuffled"))
    found = said(runs)
    assert "not tried" not in " ".join(found.lines)
    assert "against itself with shuffled annotations" in found.methods[0]


def test_shuffled_annotations_that_came_with_a_method_are_its_control():
    method = with_counterpart(0.7, 0.8)
    for level, words in ((0.85, "Annotations help: "), (0.7, "shuffled ones help as")):
        shuffled = around(level, "ellipsotron", control="shuffled")
        found = said([dataclasses.replace(method, shuffled=shuffled)])
        assert words in found.answer[0]
        # It is no row of the sweep, and has no sentence of its own.
        assert found.controls == ()


def test_what_shuffled_annotations_do_as_well_is_said_to_be_that():
    runs = [with_counterpart(0.7, 0.8)]
    runs.append(around(0.7, "ellipsotron", control="shuffled"))
    found = said(runs)
    assert "shuffled ones help as much" in found.answer[0]
    assert found.methods[0].startswith(
        "Annotations help ellipsotron as much as shuffled ones"
    )
    assert "probably" not in " ".join(found.lines)


def test_harm_is_said():
    found = said([with_counterpart(0.9, 0.8)])
    assert found.answer[0].startswith(
        "Annotations harm ellipsotron: it has 10.0 points more error"
    )
    mixed = said(
        [with_counterpart(0.9, 0.8), with_counterpart(0.8, 0.8, "b", noise=0.1)]
    )
    assert mixed.answer[0].startswith("Whether annotations help is open: b is")
    assert "1 loses clearly and 1 is open" in mixed.answer[0]
    assert found.methods[0].startswith("Annotations harm ellipsotron: +10.0 [")


def test_a_failed_test_is_told_as_its_interval():
    found = said([with_counterpart(0.79, 0.8, noise=0.1)])
    assert (
        "Whether annotations help is open: ellipsotron is no more than"
        in (found.answer[0])
    )
    assert "points better and no more than" in found.answer[0]
    assert " not " not in " ".join(found.lines) and "does not" not in text(
        [with_counterpart(0.79, 0.8, noise=0.1)]
    )


def test_only_an_interval_within_the_margin_is_said_to_change_little():
    steady = said([with_counterpart(0.8, 0.8, noise=0.0005)])
    assert "by less than 1 point, the margin set beforehand" in steady.answer[0]
    wide = said([with_counterpart(0.8, 0.8, noise=0.05)])
    assert "margin" not in wide.answer[0]
    strict = said([with_counterpart(0.8, 0.8, noise=0.0005, margin=0.00001)])
    assert "margin" not in strict.answer[0]


def test_gains_of_eight_and_three_never_say_that_one_does_not_help():
    """Of 200 sweeps with such gains, 118 once said "helps on raw scores, not on …"."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(40):
        runs = []
        for preprocessor, gain in (("none", 0.08), ("center", 0.03)):
            base = 0.6 + 0.02 * rng.normal(size=(3, 5))
            lean = made_up.run(base, preprocessor=preprocessor)
            values = base - gain + 0.02 * rng.normal(size=(3, 5))
            runs.append(
                made_up.run(values, "mine", preprocessor=preprocessor, counterpart=lean)
            )
        words = text(runs).replace("was not tried", "")
        wrong += " not " in words or "by less than" in words or "harm" in words
    assert wrong <= 2


def test_test_error_that_points_the_other_way_is_in_the_same_sentence():
    lean = around(0.8)
    method = around(0.78, "mine", counterpart=lean, test_error=np.full((20, 5), 0.83))
    found = said([lean, method])
    assert (
        "; but after 20 samples per class it has 3.0 points more error"
        in (found.answer[0])
    )
    assert "more error [" in found.methods[0]
    same = around(0.78, "mine", counterpart=lean, test_error=np.full((20, 5), 0.7))
    assert "; but after" not in text([lean, same])


def test_the_scope_follows_what_was_repeated():
    drawn = {"draws": 4, "data": made_up.data(drawn=Drawn(classes=50, of=150))}
    assert "for classes like these" in said([with_counterpart(0.7, 0.8, **drawn)]).note
    half = {"draws": 4, "data": made_up.data(drawn=Drawn(classes=50, of=75))}
    words = said([with_counterpart(0.7, 0.8, **half)]).answer[0]
    assert "over draws from these 75 classes" in words
    worlds = said([with_counterpart(0.7, 0.8, draws=4)]).answer[0]
    assert "for classes like these" in worlds
    all_of_it = SplitSizes(pool=80, test=40, learned=80, fixed_test=True)
    wrong = np.random.default_rng(0).random((3, 20, 40)) < 0.5
    lean = made_up.on_fixed_test(wrong, samples=all_of_it)
    mine = made_up.on_fixed_test(
        wrong & (wrong.cumsum(axis=2) % 2 > 0),
        "mine",
        samples=all_of_it,
        counterpart=lean,
    )
    assert "for this training set" in said([lean, mine]).note


def test_two_draws_give_no_verdict_and_one_seed_no_certainty():
    two = said([with_counterpart(0.7, 0.8, draws=2)])
    assert "not judged: two draws are too few for a verdict" in two.answer[0]
    assert "draws=3 or more" in two.note
    one = said([with_counterpart(0.7, 0.8, seeds=1)])
    assert "one seed gives no certainty" in one.answer[0] and "[" not in one.methods[0]
    assert "one seed: no certainty" in one.note


def test_three_draws_give_one_verdict_and_not_three():
    found = said([with_counterpart(0.7, 0.8, draws=3)])
    assert len(found.methods) == 1 and "3 draws, 5 seeds each" in found.note


def test_a_method_without_a_counterpart_is_not_judged():
    found = said([around(0.8), around(0.7, "mine")])
    assert "not judged: mine was run without its counterpart" in found.answer[0]
    assert "Run without counterparts, so annotations are not judged: mine." in (
        found.caveats
    )
    # What it was told is still set beside what others were told nothing of.
    assert (
        "The best method told votes, mine, has 10.0 points less error"
        in (found.tracks[0])
    )


def test_class_votes_are_said_with_what_they_were_counted_over():
    sizes = SplitSizes(pool=1600, test=60, learned=40)
    runs = [with_counterpart(0.7, 0.8, "soft", told=Told.CLASS_VOTES, samples=sizes)]
    found = said(runs)
    assert "class votes of 1,600 samples; 40 learned from" in found.answer[0]
    assert "(votes of 1,600 samples, 40 learned from)" in found.tracks[0]


def falling(power, method="lean", **changes):
    """A run whose error falls as a power of the samples, the same for all seeds."""
    steps = np.arange(1, 41)[:, None]
    noise = 0.001 * np.random.default_rng(int(10 * power)).normal(size=(40, 5))
    return made_up.run(0.9 * (power * steps) ** -0.5 + noise, method, **changes)


def test_worth_is_said_with_its_price():
    lean = falling(1)
    found = said([lean, falling(1.5, "mine", counterpart=lean)])
    (worth,) = [line for line in found.answer if "is worth" in line]
    assert worth.startswith(
        "At 20 samples per class, an annotated sample of mine is worth 1.5 labels ["
    )
    assert "costs less than 0.5 of the price of a label" in worth
    open_one = said([with_counterpart(0.79, 0.8, noise=0.1)]).answer[-1]
    assert open_one.endswith("which leaves open whether any annotation pays.")
    much = said([lean, falling(9, "mine", counterpart=lean)])
    assert "is worth 2.0 or more labels" in much.answer[-1]
    assert "less than at least 1.0" in much.answer[-1]


def test_class_votes_save_labels_and_have_no_price_per_sample():
    lean = falling(1)
    soft = falling(1.5, "soft", counterpart=lean, told=Told.CLASS_VOTES)
    last = said([lean, soft]).answer[-1]
    assert "soft saves 10.1 [" in last and "labels per class" in last
    assert "pays" not in last


def test_the_best_of_a_track_is_held_against_the_best_told_nothing():
    """A method that beats its counterpart may still lose to another that is told less."""
    raw = around(0.8)
    centred = around(0.5, preprocessor="center")
    mine = around(0.7, "mine", counterpart=raw)
    found = said([raw, centred, mine])
    assert found.answer[0].startswith("mine on raw scores has 10.0 points less")
    assert found.answer[1].startswith(
        "The best method told votes, mine on raw scores, has 20.0 points more error"
    )
    assert "than the best told nothing, lean on centred scores" in found.answer[1]


def test_the_pair_of_the_answer_is_not_told_twice():
    lean = around(0.8)
    found = said([lean, around(0.7, "mine", counterpart=lean)])
    assert not any("the best told nothing" in line for line in found.answer)
    assert len(found.tracks) == 1


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ("shuffled", "annotations shuffled between samples"),
        ("shuffled_within", "annotations shuffled within each class"),
        ("random", "as many marks on random features"),
        ("uniform", "uniform votes in place of the annotators'"),
        ("ones", "every feature marked"),
        ("soft", "a soft mask in place of the hard one"),
        ("seen", "only votes seen so far, in place of the whole pool's"),
        ("exact", "steps that correct the margin exactly"),
        ("tuned", "hyperparameters tuned on held-out classes"),
        ("their own", "their own"),
    ],
)
def test_a_control_is_compared_with_its_method(control, words):
    runs = [with_counterpart(0.7, 0.8), around(0.75, "ellipsotron", control=control)]
    (line,) = said(runs).controls
    assert line.startswith(f"ellipsotron with {words}: +5.")
    meaningless = ("shuffled", "shuffled_within", "random", "uniform")
    assert ("against its counterpart" in line) == (control in meaningless)


def test_a_control_is_no_method_that_the_answer_speaks_of():
    runs = [with_counterpart(0.7, 0.8), around(0.5, "ellipsotron", control="random")]
    found = said(runs)
    assert len(found.methods) == 1 and "70." in found.methods[0]
    assert "random" not in " ".join((*found.answer, *found.methods, *found.tracks))


def test_tuned_methods_are_judged_among_themselves():
    runs = [with_counterpart(0.7, 0.8)]
    tuned = around(0.6, control="tuned")
    runs += [tuned, around(0.65, "mine", control="tuned", counterpart=tuned)]
    found = said(runs)
    assert any(
        line.startswith("Annotations harm mine (tuned)") for line in found.methods
    )
    track = found.tracks[-1]
    assert track.startswith("With hyperparameters tuned: the best method told votes")
    assert "lean (tuned)" in track


def test_methods_are_followed_along_a_swept_setting():
    runs = []
    for C, level in ((0.1, 0.7), (10.0, 0.85)):
        config = {"learner": {"C": C}, "protocol": {}}
        changed = {"learner.C": C}
        lean = around(0.8, config=config, changed=changed)
        runs.append(lean)
        runs.append(
            around(level, "mine", config=config, changed=changed, counterpart=lean)
        )
    lean, mine = said(runs).methods
    assert lean.startswith("lean goes from 80.") and lean.endswith("at 10.")
    assert "clearly better than its counterpart at 0.1" in mine
    assert mine.endswith("clearly worse than its counterpart at 10.")


def test_values_at_the_end_of_a_grid_are_said():
    config = {
        "learner": {"name": "mine", "C": 1.0},
        "protocol": {"name": "per_class"},
        "tune": {"learner": {"C": [0.1, 10.0, 1.0]}},
        "extractor": {"learning_rates": [1e-4, 1e-3], "weight_decays": [1e-6, 1e-5, 1]},
    }
    details = {"detectors": {"learning_rate": 1e-4, "weight_decay": 1e-5}}
    about = {"config": config, "data": made_up.data(details=details)}
    at_end = {"0": {"learner.C": 10.0}, "1": {"learner.C": 1.0}}
    lean = around(0.8, **about)
    mine = around(0.7, "mine", counterpart=lean, tuned=at_end, **about)
    line, seen = said([lean, mine]).caveats
    assert seen.startswith("Tuned on classes that the attribute detectors have seen")
    assert "learner.C=10" in line and "detectors' learning_rate=0.0001" in line
    assert "weight_decay" not in line and "learner.C=1," not in line


def test_simulated_data_are_said_first():
    data = made_up.data(simulated=True)
    found = said([with_counterpart(0.7, 0.8, data=data)])
    assert found.answer[0] == "SIMULATED data, evidence of nothing."
    assert found.note.startswith("SIMULATED data, evidence of nothing.")


def shuffled_beside(level, noise=0.002):
    method = with_counterpart(0.7, 0.8)
    control = around(level, "ellipsotron", control="shuffled", noise=noise)
    return said([dataclasses.replace(method, shuffled=control)])


def test_a_failed_test_does_not_say_that_shuffled_annotations_do_as_much():
    found = shuffled_beside(0.85, noise=0.2)
    assert (
        "as much as" not in found.methods[0] and "help as much" not in found.answer[0]
    )
    assert "open is whether shuffled ones do as much" in found.answer[0]
    assert "open is whether shuffled ones do as much" in found.methods[0]


def test_shuffled_annotations_that_beat_the_counterpart_do_as_much():
    assert "shuffled ones help as much" in shuffled_beside(0.72, noise=0.02).answer[0]


def test_no_price_is_named_where_it_is_open_whether_annotations_help():
    lean = falling(1)
    noise = np.random.default_rng(0).normal(size=(40, 5))
    steps = np.arange(1, 41)[:, None]
    test_error = 0.9 * (1.8 * steps) ** -0.5 + 0.0005 * noise
    values = np.full((40, 5), lean.mean("cumulative_error")[-1]) + 0.05 * noise
    mine = made_up.run(values, "mine", counterpart=lean, test_error=test_error)
    found = said([lean, mine])
    assert found.answer[0].startswith("Whether annotations help is open")
    assert "is worth" in found.answer[-1] and "pays" not in found.answer[-1]


def test_a_price_is_that_of_the_samples_that_are_annotated():
    lean = falling(1)
    given = {"annotated": 0.25, "marks": 3.0}
    last = said([lean, falling(1.5, "mine", counterpart=lean, given=given)]).answer[-1]
    assert "a sample, 25% of them annotated, of mine is worth 1.5 labels" in last
    assert "costs less than 2.0 of the price of a label" in last


def test_cumulative_error_of_a_stream_is_told_by_its_tests():
    runs = []
    for step_numbers in ([80], [10, 20, 40, 80]):
        values = np.full((len(step_numbers), 3), 0.5) + 0.01 * np.arange(3)
        lean = made_up.run(values, "lean", step_numbers, unit="samples")
        mine = made_up.run(
            values - 0.1, "mine", step_numbers, unit="samples", counterpart=lean
        )
        runs.append([lean, mine])
    assert "on average over one test up to 80 samples" in text(runs[0])
    assert "on average over 4 tests up to 80 samples" in text(runs[1])


def test_what_is_judged_otherwise_after_the_run_is_said():
    run = with_counterpart(0.7, 0.8, changed_after=("margin",))
    (caveat,) = said([run]).caveats
    assert (
        caveat.startswith("Changed after these results were there")
        and "margin" in caveat
    )


def test_a_tuned_methods_counterpart_is_called_tuned():
    tuned = with_counterpart(0.7, 0.8, control="tuned")
    assert "lean (tuned), which it is without annotations" in said([tuned]).methods[0]
