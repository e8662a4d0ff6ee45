"""Try by simulation how often rsbench would say what is not true.

    python benchmarks/claims.py [--sweeps N] [--only NAME] [--write FILE]

Whole sweeps are made up in worlds whose truth is known (benchmarks/worlds.py) and
judged by the program's own functions. Every rate is printed with its Monte Carlo error
and held to a bound. Ends with code 1 if one is missed.
"""

import argparse
import itertools
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import counting  # before numpy: it settles the number of threads
import numpy as np
import worlds
from counting import NO_BOUND, Bound, Count, Outcome

from rsbench.core.planning import plan, power_of, variance_limit
from rsbench.core.statistics import (
    Estimate,
    fixed_test,
    holm,
    over_draws,
    over_seeds,
    ranks,
)
from rsbench.core.worth import worth
from rsbench.report.claims import Verdict, judge

ROOT = Path(__file__).resolve().parent.parent

ALPHA = 0.05

#: In points, as recorded by a run.
MARGIN = 1.0

#: Methods in a track.
TRACKS = (2, 12)

#: Turns paired differences into an estimate.
Judge = Callable[[np.ndarray], Estimate]

_CLEAR = {Verdict.HELPS, Verdict.HARMS}
_DENIES = {Verdict.HARMS, Verdict.EQUIVALENT}


def verdicts(family: Sequence[Estimate]) -> list[Verdict]:
    """Return what may be said of each comparison of a family."""
    ps = holm([estimate.p() for estimate in family])
    return [judge(each, p, MARGIN) for each, p in zip(family, ps, strict=True)]


# Nothing to be found: how often is something said?


def false_sentences(errors: np.ndarray, judge: Judge) -> dict[str, bool]:
    """Tell which false sentences a sweep leads to, where all methods are equal.

    Parameters
    ----------
    errors : array of shape (2 M, units...)
        Of M methods of a track, then of M that are told nothing: the counterparts.
    judge : callable
        Makes an estimate of paired differences.
    """
    size = len(errors) // 2
    own = range(size)

    def estimates(pairs: Iterable[tuple[int, int]]) -> list[Estimate]:
        return [judge(errors[one] - errors[two]) for one, two in pairs]

    against = verdicts(estimates((i, size + i) for i in own))
    inside = estimates(itertools.combinations(own, 2))
    between = verdicts(estimates(itertools.product(own, range(size, 2 * size))))
    return {
        "helps": Verdict.HELPS in against,
        "helps or harms": bool(_CLEAR & set(against)),
        "a rank inside the track": _some_rank(inside, size),
        "track against nothing": bool(_CLEAR & set(between)),
    }


def _some_rank(inside: Sequence[Estimate], size: int) -> bool:
    """Tell whether methods of a track get other ranks than all the same."""
    p = np.ones((size, size))
    mean = np.zeros((size, size))
    upper = np.triu_indices(size, 1)
    p[upper] = holm([estimate.p() for estimate in inside])
    mean[upper] = [estimate.mean for estimate in inside]
    # A pair has one p, and its difference turns its sign when read backwards.
    places = ranks(np.minimum(p, p.T), mean - mean.T, ALPHA)
    return any(place != (1, size) for place in places)


def count_false(
    count: Count, what: str, errors: np.ndarray, judge: Judge, plain: Judge
) -> None:
    """Count a sweep's false sentences for each size of a track.

    Parameters
    ----------
    count : Count
        Is added to.
    what : str
        The design.
    errors : array of shape (views, units...)
        Of as many views as the largest track has methods and counterparts.
    judge, plain : callable
        The program's estimate, and one that forgets what units share.
    """
    errors = 100 * errors  # in points, like the margin
    for size in TRACKS:
        of_track = np.concatenate([errors[:size], errors[-size:]])
        for said, is_so in false_sentences(of_track, judge).items():
            count.add(f"{what}, {size} methods", said, is_so)
    # What the corrections are for.
    is_clear = plain(errors[0] - errors[-1]).p() < ALPHA
    said = "one pair, by a plain t test"
    count.add(f"{what}, {TRACKS[0]} methods", said, is_clear, NO_BOUND)


def rest(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """One draw, `protocol.test=rest`: fresh splits of the same samples.

    10 classes of 60 samples, 25 in the pool and 35 to test; the error is averaged over
    tests after 1, 2, 5, 10 and 20 samples per class. Nadeau and Bengio's variance is a
    cautious one.
    """
    count = Count()
    judge = partial(over_seeds, overlap=35 / 25)
    plain = partial(over_seeds, overlap=0)
    for _ in range(sweeps):
        errors = worlds.splits_of_one_sample(
            rng, 2 * max(TRACKS), (1, 2, 5, 10, 20), seeds=20
        ).mean(axis=1)
        for seeds in (5, 20):
            count_false(count, f"{seeds} seeds", errors[:, :seeds], judge, plain)
    return count.outcomes()


def fixed(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """A fixed test set: a pool of 1,600, 200 test items, two classes.

    Learned from 40 and from 400 samples. The two-way variance; the plain test takes
    seeds for units, with test over pool for their overlap.
    """
    count = Count()
    for _ in range(sweeps):
        errors = worlds.fixed_test_set(rng, 2 * max(TRACKS), (40, 400), seeds=50)
        for at, learned in enumerate((40, 400)):
            judge = partial(fixed_test, learned=learned, pool=1600)
            for seeds in (5, 20, 50):
                what = f"{learned} learned, {seeds} seeds"
                count_false(count, what, errors[:, at, :seeds], judge, _by_seed)
    return count.outcomes()


def _by_seed(differences: np.ndarray) -> Estimate:
    """Return what one would say who forgets that the test items are the same."""
    return over_seeds(differences.mean(axis=1), overlap=200 / 1600)


def draws(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """Overlapping draws: 10 of 30 classes, two seeds in each draw.

    The error is averaged over tests after 1, 5 and 20 samples per class. Some views are
    better on these 30 classes, none on classes like these.
    """
    count = Count()
    judge = partial(over_draws, classes=10, of=30)
    for _ in range(sweeps):
        errors = worlds.draws_of_classes(
            rng, 2 * max(TRACKS), (1, 5, 20), draws=20, of=30
        ).mean(axis=1)
        for number in (5, 10, 20):
            what = f"{number} draws"
            count_false(count, what, errors[:, :number], judge, over_draws)
    return count.outcomes()


# Something to be found: how often is it?


#: Standard deviations between draws, and between seeds of a draw, in points.
OF_DRAWS = 2.1
OF_SEEDS = 2.3

#: Comparisons in a family.
FAMILY = 6


def gains(
    rng: np.random.Generator,
    true: Sequence[float],
    draws: int,
    seeds: int,
    of_draws: float = OF_DRAWS,
) -> np.ndarray:
    """Return differences in points of shape (comparisons, draws, seeds)."""
    shape = (len(true), draws, seeds)
    of_draw = of_draws * rng.normal(size=(*shape[:2], 1))
    of_seed = OF_SEEDS * rng.normal(size=shape)
    return -np.reshape(true, (-1, 1, 1)) + of_draw + of_seed


def found(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """A gain of 4 points in a family of 6, the other five without any.

    Independent draws, standard deviations 2.1 (draw) and 2.3 (seed), 5 seeds in each.
    One draw alone is judged by its seeds, with the overlap of 35 test samples and 25 in
    the pool.
    """
    count = Count()
    true = [4.0, *[0.0] * (FAMILY - 1)]
    for _ in range(sweeps):
        differences = gains(rng, true, draws=10, seeds=5)
        several = verdicts([over_draws(row.mean(axis=-1)) for row in differences])
        one = verdicts([over_seeds(row[0], 35 / 25) for row in differences])
        is_found = several[0] is Verdict.HELPS
        count.add("10 draws of 5 seeds", "helps", is_found, Bound(low=0.9))
        is_found = one[0] is Verdict.HELPS
        count.add("one draw of 5 seeds", "helps", is_found, Bound(high=0.1))
    return count.outcomes()


def denied(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """True gains of 8 and 3 points on two kinds of features: is one of them denied?

    Said to be equivalent (margin 1 point) or harmful: a test that merely fails is told
    as its interval. A true gain of just the margin is what equivalence is held to.
    Draws as above; seeds of one draw, whose classes have these very gains, with the
    overlap of 35 test samples and 25 in the pool.
    """
    count = Count()
    for _ in range(sweeps):
        for number in (3, 5, 10, 20):
            differences = gains(rng, [8, 3, MARGIN], number, seeds=5)
            estimates = [over_draws(row.mean(axis=-1)) for row in differences]
            count_denied(count, f"{number} draws of 5 seeds", estimates)
        for number in (5, 20, 100):
            differences = gains(rng, [8, 3, MARGIN], 1, number, of_draws=0.0)
            estimates = [over_seeds(row[0], 35 / 25) for row in differences]
            count_denied(count, f"one draw of {number} seeds", estimates)
    return count.outcomes()


def count_denied(count: Count, what: str, estimates: Sequence[Estimate]) -> None:
    """Count what is said of gains of 8, 3 and just the margin."""
    said = set(verdicts(estimates[:2]))
    count.add(what, "a gain of 8 or 3 is denied", bool(said & _DENIES))
    (of_margin,) = verdicts(estimates[2:])
    count.add(what, "a gain of 1 is denied", of_margin in _DENIES)


# Worth: does the interval hold the truth?


#: Samples per class after which counterparts are tested.
STEPS = (1, 2, 5, 10, 20, 40)

#: Samples per class that lie between two tested steps.
BETWEEN = 4

#: Samples (per class) learned from, and what an annotated one is truly worth.
WORTHS = ((5, 1.0), (5, 2.0), (2, 2.0), (5, 4.0), (5, 0.4))

COVERS = Bound(low=0.93, high=0.97)
COVERS_ENOUGH = Bound(low=0.93)

#: Of the median of the found worth over the true one.
NEAR = Bound(low=0.9, high=1.1)


def count_worth(
    count: Count,
    what: str,
    curves: np.ndarray,
    sizes: Sequence[int],
    case: tuple[int, float],
    judge: Judge,
    bound: Bound = COVERS_ENOUGH,
) -> None:
    """Count whether a worth's interval holds the truth, and note what is found.

    Parameters
    ----------
    count : Count
        Is added to.
    what : str
        The design.
    curves : array of shape (2, sizes, units...)
        Of the counterpart and of a method that is equal to it.
    sizes : sequence of int
        Samples behind the curves; the counterpart is tested at all but `BETWEEN`.
    case : (int, float)
        The method learns from n samples, each worth k: as from k n samples.
    judge : callable
        Makes an estimate of paired differences.
    bound : Bound
        How often the interval is to hold the truth.
    """
    n, k = case
    errors = curves[1, sizes.index(round(k * n))]
    steps = [size for size in sizes if size != BETWEEN]
    tested = [sizes.index(step) for step in steps]
    found = worth(n, errors, steps, curves[0, tested], judge)
    what = f"{what}, n = {n}, k = {k:g}"
    count.add(what, "the interval holds k", found.contains(k), bound)
    # From 20 samples (per class) on curves are so flat that k is mostly a bound, whose
    # median says little.
    near = NEAR
    if k * n >= 20:
        near = NO_BOUND
    count.note(what, "median of k, % of the truth", found.k / k, near)


def worth_of_draws(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """Worth over draws of classes, independent or 10 of 30, two seeds in each.

    The method is truly worth k: it learns from k n samples of another view. The
    counterpart is tested after 1, 2, 5, 10, 20 and 40 samples per class. A curve that
    bends between tested steps (4 samples) gives a k that is a little too large; one
    that is nearly flat (20 samples) gives mostly bounds.
    """
    count = Count()
    sizes = sorted([*STEPS, BETWEEN])
    of_thirty = partial(over_draws, classes=10, of=30)
    for _ in range(sweeps):
        alone = worlds.draws_of_classes(rng, 2, sizes, draws=20, pool=40)
        shared = worlds.draws_of_classes(rng, 2, sizes, draws=20, of=30, pool=40)
        for number, case in itertools.product((3, 5, 10, 20), WORTHS):
            bound = COVERS
            if number < 5:
                bound = COVERS_ENOUGH
            what = f"{number} independent draws"
            first = alone[..., :number]
            count_worth(count, what, first, sizes, case, over_draws, bound)
        for number, case in itertools.product((5, 20), WORTHS):
            what = f"{number} draws of a third"
            first = shared[..., :number]
            count_worth(count, what, first, sizes, case, of_thirty)
    return count.outcomes()


def worth_of_seeds(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """Worth for these classes, over seeds of one draw.

    Splits of 60 samples per class, 40 in the pool and 20 to test.
    """
    count = Count()
    sizes = sorted([*STEPS, BETWEEN])
    judge = partial(over_seeds, overlap=20 / 40)
    for _ in range(sweeps):
        curves = worlds.splits_of_one_sample(rng, 2, sizes, seeds=20, pool=40, test=20)
        for seeds, case in itertools.product((5, 20), WORTHS):
            first = curves[..., :seeds]
            what = f"{seeds} seeds"
            count_worth(count, what, first, sizes, case, judge)
    return count.outcomes()


def worth_of_items(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """Worth on a fixed test set: a pool of 1,600, 200 test items.

    Here n is the number of samples. With so few items a worth is known only within
    wide limits, and at 400 samples mostly as a bound.
    """
    count = Count()
    sizes = (20, 40, 80, 200, 400, 800, 1600)
    cases = ((40, 1.0), (40, 2.0), (400, 2.0))
    for _ in range(sweeps):
        curves = worlds.fixed_test_set(rng, 2, sizes, seeds=20)
        for seeds, case in itertools.product((5, 20), cases):
            judge = partial(fixed_test, learned=case[0], pool=1600)
            what = f"{seeds} seeds"
            first = curves[:, :, :seeds]
            count_worth(count, what, first, sizes, case, judge)
    return count.outcomes()


# Plans: are promises kept?


def planned(rng: np.random.Generator, sweeps: int) -> list[Outcome]:
    """Plans of draws: is a gain found as often as promised?

    Differences of draws are normal, as above: 5 seeds in each, a family of 6. Draws of
    10 of 30 classes have a part for each class, and share what their classes share.
    Where variances are known, 20 times the sweeps are run. A pilot has 5 draws. Of
    draws of the same N classes it knows less than 4 degrees of freedom say, since the
    classes are a sample too: with these, its upper 80 % limit holds in 78 % of pilots.
    So 1 / (1/4 + 1/(N-1)) are taken. A plan that says that no number of draws suffices
    promises nothing; where that is often said, those that do promise are the pilots
    that came out small, and keep their promise less often than all together.
    """
    count = Count()
    of_classes = {"classes": 10, "of": 30}
    for number, gain in ((5, 5.0), (10, 3.5), (20, 2.0)):
        bound = _within_two_points(power_of(number, gain, VARIANCE, family=FAMILY))
        for _ in range(20 * sweeps):
            estimate = over_draws(independent_draws(rng, number, gain))
            is_found = estimate.p() < ALPHA / FAMILY
            count.add(f"{number} independent draws", "found", is_found, bound)
    for number, gain in ((5, 12.0), (10, 8.0), (20, 6.0)):
        chance = power_of(number, gain, VARIANCE, **of_classes, family=FAMILY)
        bound = _within_two_points(chance)
        for _ in range(20 * sweeps):
            estimate = over_draws(shared_draws(rng, number, gain), **of_classes)
            is_found = estimate.p() < ALPHA / FAMILY
            count.add(f"{number} draws of a third", "found", is_found, bound)
    for _ in range(4 * sweeps):
        pilot = variance_limit(independent_draws(rng, 5, 4.0))
        count_promise(count, "pilots, independent draws", pilot, 4.0)
        for gain in (9.0, 16.0):
            pilot = variance_limit(shared_draws(rng, 5, gain), **of_classes)
            what = f"pilots, draws of a third, gain {gain:g}"
            count_promise(count, what, pilot, gain, **of_classes)
    return count.outcomes()


def _within_two_points(rate: float) -> Bound:
    return Bound(low=rate - 0.02, high=rate + 0.02)


def count_promise(
    count: Count, what: str, pilot: float, gain: float, **draws: int
) -> None:
    """Count whether a plan made from a pilot's variance has a true power of 80 %.

    Where it says that no number of draws suffices, nothing is promised, and no promise
    is broken.
    """
    made = plan(gain, pilot, **draws, family=FAMILY)
    is_kept = True
    if made.draws is not None:
        power = power_of(made.draws, gain, VARIANCE, **draws, family=FAMILY)
        is_kept = power >= 0.8
    count.add(what, "promise not broken", is_kept, Bound(low=0.8))
    count.add(what, "nothing promised", made.draws is None, NO_BOUND)


#: Of a draw's difference, its five seeds averaged inside.
VARIANCE = OF_DRAWS**2 + OF_SEEDS**2 / 5


def independent_draws(rng: np.random.Generator, draws: int, gain: float) -> np.ndarray:
    """Return a difference for each draw."""
    return -gain + math.sqrt(VARIANCE) * rng.normal(size=draws)


def shared_draws(rng: np.random.Generator, draws: int, gain: float) -> np.ndarray:
    """Return a difference for each draw of 10 of 30 classes, each with its own part.

    Draws of the same 30 classes vary less than the classes they come from: scaled so
    that they vary by `VARIANCE`, which is what a plan is told.
    """
    of_class = math.sqrt(VARIANCE * 10 / (1 - 10 / 30)) * rng.normal(size=30)
    drawn = np.argsort(rng.random((draws, 30)), axis=1)[:, :10]
    return -gain + of_class[drawn].mean(axis=1)


# The command.


#: By name, each kind of simulation: what it does is in its docstring.
SIMULATIONS: dict[str, Callable[[np.random.Generator, int], list[Outcome]]] = {
    "rest": rest,
    "fixed": fixed,
    "draws": draws,
    "found": found,
    "denied": denied,
    "worth-draws": worth_of_draws,
    "worth-seeds": worth_of_seeds,
    "worth-items": worth_of_items,
    "plan": planned,
}


def run(name: str, sweeps: int) -> list[Outcome]:
    """Run one kind of simulation; its numbers do not depend on the others."""
    number = list(SIMULATIONS).index(name)
    return SIMULATIONS[name](np.random.default_rng([0, number]), sweeps)


def section(name: str, results: Sequence[Outcome]) -> list[str]:
    """Return a heading, what was done, and a table, in markdown."""
    doc = SIMULATIONS[name].__doc__
    assert doc is not None
    title, _, explained = doc.partition("\n\n")
    paragraph = " ".join(explained.split())
    sweeps = sorted({outcome.sweeps for outcome in results})
    numbers = " and ".join(f"{number:,}" for number in sweeps)
    return [
        f"## {title.rstrip('.')}",
        "",
        f"{paragraph} ({numbers} sweeps; `--only {name}`.)",
        "",
        *counting.table(results),
        "",
    ]


#: The page's beginning.
ABOUT = """\
# How often rsbench says what is not true

Sweeps in worlds whose truth is known, judged by the program's own functions
(`rsbench/core/statistics.py`, `worth.py` and `planning.py`). Rates are in percent of
sweeps, with one Monte Carlo error; false sentences may be said in 5 % of them, and two
such errors more. Bounds stand in brackets.

Methods learn by nearest class means, each from a view of its own. Views are
exchangeable: no method is better than another, though no two make the same errors.
*Helps* is said of one or more of a track's methods against their counterparts. It is
said as often, and as wrongly, of methods that are better than their counterparts but no
better than themselves with shuffled annotations: it is the same test. *A rank* is one
that is not "1 to all"; *track against nothing* is any clear pair of a track's methods
and those told nothing. What a plain t test says of a single pair shows what the
corrections are for.
"""


def introduction(sweeps: int, names: Sequence[str]) -> list[str]:
    """Return the page's beginning: what this is, and how it was made."""
    command = f"python benchmarks/claims.py --sweeps {sweeps}"
    if list(names) != list(SIMULATIONS):
        command = " ".join([command, *[f"--only {name}" for name in names]])
    made = f"Made by `{command}` at commit {commit()}, with numpy {np.__version__}."
    return [*ABOUT.splitlines(), "", made, ""]


def commit() -> str:
    """Return the commit at hand, and whether anything was changed since."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty", "--abbrev=12"]
    found = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def main() -> int:
    """Run simulations, print their tables, and return 1 if a bound is missed."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--only", action="append", choices=SIMULATIONS)
    parser.add_argument("--write", type=Path, help="a file for the tables")
    args = parser.parse_args()
    names = args.only or list(SIMULATIONS)
    lines = introduction(args.sweeps, names)
    missed = 0
    for name in names:
        start = time.perf_counter()
        results = run(name, args.sweeps)
        missed += sum(not outcome.passes for outcome in results)
        lines.extend(section(name, results))
        print("\n".join(section(name, results)), flush=True)
        took = time.perf_counter() - start
        print(f"{name}: {took:.0f} s", file=sys.stderr)
    if args.write:
        args.write.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"{missed} bounds missed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
