"""What a protocol promises."""

from dataclasses import dataclass

import numpy as np

from rsbench.checks.assertions import (
    ComponentError,
    adopted,
    assert_same,
    assert_unchanged,
    call,
    numbers,
)
from rsbench.checks.promise import Make, promise
from rsbench.core.components import Protocol
from rsbench.core.seeds import stream
from rsbench.errors import UserError

#: Labels of six classes, large enough for the built-in protocols' defaults.
LABELS = np.repeat(np.arange(6), 400)
#: A fixed test set: every other sample.
MASK = np.arange(len(LABELS)) % 2 == 0


@dataclass(frozen=True)
class Plan:
    """A protocol's plan: how many steps there are, all of their samples, the test's."""

    steps: int
    order: np.ndarray
    test: np.ndarray


@promise("protocol")
def tests_on_other_samples(make: Make) -> None:
    """No sample is both learned from and tested on, and there are some of each; with or
    without a fixed test set."""
    plan = _plan_without_mask(make)
    order = plan.order
    test = plan.test
    assert len(order) and len(test), (
        f"{len(order)} samples to learn from and {len(test)} to test on"
    )
    both = np.intersect1d(order, test)
    assert not len(both), f"{len(both)} samples are both learned from and tested on"
    used = np.concatenate([order, test])
    assert used.min() >= 0 and used.max() < len(LABELS), (
        f"sample numbers go from {used.min()} to {used.max()}, "
        f"expected 0 to {len(LABELS) - 1}"
    )
    assert len(np.unique(test)) == len(test), "a sample is tested twice"
    never_learned = np.setdiff1d(LABELS[test], LABELS[order])
    assert not len(never_learned), (
        f"class {never_learned[0]} is tested and never learned"
    )


@promise("protocol")
def is_drawn_by_its_seed(make: Make) -> None:
    """The same seed gives the same plan, another seed another."""
    one = planned(make, MASK, seed=0)
    again = planned(make, MASK, seed=0)
    other = planned(make, MASK, seed=1)
    same_seed = "the same seed gives another"
    assert_same(again.order, one.order, f"{same_seed} stream", tolerance=0)
    assert_same(again.test, one.test, f"{same_seed} test set", tolerance=0)
    # Curves are means over seeds at each step.
    assert other.steps == one.steps, (
        f"the number of steps depends on the seed: {one.steps} and {other.steps}"
    )
    assert not np.array_equal(one.order, other.order), "all seeds have the same stream"


def planned(make: Make, mask: np.ndarray | None, seed: int = 0) -> Plan:
    """Return a new protocol's plan under a seed."""
    # A copy, for a protocol that changes the labels it is given.
    y = LABELS.copy()
    rng = stream(seed, "plan")
    found = call(adopted(make, Protocol), "plan", y, mask, rng)
    assert_unchanged(y, LABELS, "the labels")
    assert isinstance(found, tuple) and len(found) == 2, (
        f"plan gave {type(found).__name__}, expected steps and test samples"
    )
    steps, test = found
    arrays = [numbers(step, "plan") for step in steps]
    assert arrays, "plan gave no steps"
    assert all(map(len, arrays)), "a step has no samples"
    return Plan(len(arrays), np.concatenate(arrays), numbers(test, "plan"))


def _plan_without_mask(make: Make) -> Plan:
    """Return a plan for data without a fixed test set, as most are."""
    try:
        return planned(make, mask=None)
    except ComponentError as failed:
        # One that needs a fixed test set says so, and is tried with one.
        if isinstance(failed.error, UserError):
            return planned(make, MASK)
        raise
