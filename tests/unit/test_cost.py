"""Error against cost, from made-up runs."""

import numpy as np
import pytest

from rsbench.core.told import Told
from rsbench.report.claims import claims
from rsbench.report.cost import Prices, cost_table, costs, prices_of, same_cost
from tests.made_up import around, run

#: Error falls by ten points with each doubling of samples.
STEPS = (1, 2, 4, 8)
FALLING = np.array([[0.8], [0.7], [0.6], [0.5]])
NOISE = 0.001 * np.array([[-1.0, 0.0, 1.0]])
GIVEN = {"annotated": 1.0, "marks": 5.0}
PRICED = {"learner": {"name": "x"}, "prices": {"label": 1.0, "annotation": 1.0}}


def method(told=Told.VOTES, gain=0.2, **changes):
    """A method with a gain over its counterpart at each number of samples."""
    counterpart = run(FALLING + NOISE, "lean", steps=STEPS, config=PRICED)
    about = {"given": GIVEN, "told": told, "config": PRICED, **changes}
    return run(
        FALLING - gain - NOISE,
        "ellipsotron",
        steps=STEPS,
        counterpart=counterpart,
        **about,
    )


def test_labels_alone_cost_what_labels_cost():
    bare = run(FALLING + NOISE, "lean", steps=STEPS)
    # Made-up runs have four samples at each step.
    assert costs(bare, Prices(2.0, 7.0, 9.0)) == [8, 16, 32, 64]


def test_votes_are_paid_for_as_samples_come():
    found = costs(method(), Prices(label=1.0, annotation=0.5, mark=0.1))
    # One for the label, a half for the annotation and as much for its five marks.
    assert found == [8, 16, 32, 64]


def test_only_annotated_samples_are_paid_for():
    half = method(given={"annotated": 0.5, "marks": 5.0})
    assert costs(half, Prices(1.0, 2.0)) == [8, 16, 32, 64]


def test_class_votes_are_paid_for_before_the_stream():
    found = costs(method(Told.CLASS_VOTES), Prices(1.0, 0.5))
    assert found == [4 + 50, 8 + 50, 16 + 50, 32 + 50]  # of a pool of 100


@pytest.mark.parametrize(
    ("annotation", "gain", "expected"),
    [
        # Free annotations: the whole gain is kept.
        (0.0, 0.2, -0.2),
        # At the price of a label there are half as many samples, ten points back.
        (1.0, 0.2, -0.1),
        # Four samples in place of one annotated: twice two doublings.
        (3.0, 0.2, 0.0),
    ],
)
def test_a_gain_shrinks_by_what_annotations_cost(annotation, gain, expected):
    claim = claims([method(gain=gain)]).methods[0]
    found = {each.step: each for each in same_cost(claim, Prices(1.0, annotation))}
    assert found[8].difference.mean == pytest.approx(expected, abs=1e-12)
    assert found[8].difference.interval().low < expected


def test_what_no_money_was_spent_on_is_not_compared():
    claim = claims([method(Told.CLASS_VOTES)]).methods[0]
    assert [each.difference for each in same_cost(claim, Prices(1.0, 1.0))] == [
        None
    ] * 3


def test_break_even_is_where_worth_says():
    """An annotation that costs k - 1 labels gains nothing."""
    claim = claims([method(gain=0.1)]).methods[0]
    assert claim.worth.k == pytest.approx(2)
    price = Prices(1.0, annotation=claim.worth.price)
    found = {each.step: each for each in same_cost(claim, price)}
    assert found[8].difference.mean == pytest.approx(0, abs=1e-12)


def test_without_prices_nothing_is_said_of_cost():
    assert prices_of([around(0.5)]) is None
    assert cost_table(claims([method(config={"learner": {"name": "x"}})])) is None
    assert cost_table(None) is None


def test_runs_of_several_prices_have_no_common_axis():
    other = {**PRICED, "prices": {"label": 2.0}}
    assert prices_of([method(), method(config=other)]) is None


def test_the_table_has_a_dash_where_nothing_was_tested():
    table = cost_table(claims([method()]))
    assert table.header == ["method", "@2", "@4", "@8"]
    (row,) = table.rows
    assert row[0] == "ellipsotron" and row[3].startswith("-10.0 [")
    assert "a label at 1, an annotation at 1 and each mark at 0" in table.caption
