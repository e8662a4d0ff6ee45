"""One run, from objects to its numbers: what the command line and Python share.

Seeds that were computed before, by whatever door, are taken from where they are kept.
"""

import contextlib
import dataclasses
import functools
import logging
import numbers
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rsbench.core.components import parameters_of
from rsbench.core.data import Data
from rsbench.core.experiment import KINDS, SeedResult, Setup, run_seed
from rsbench.core.tuning import candidates, check_grid, tune
from rsbench.errors import UserError
from rsbench.plugins import provenance
from rsbench.plugins.schema import check_value, type_hints
from rsbench.protocols import PerClass
from rsbench.store.fingerprint import fingerprint, git_commit, versions
from rsbench.store.run_info import DataInfo, RunInfo, SplitSizes
from rsbench.store.seeds import seed_result

log = logging.getLogger(__name__)

#: Told the number of seeds that are done, as a fraction while one goes on.
Progress = Callable[[float], Any]


@dataclass(frozen=True)
class Outcome:
    """The results of a run's seeds.

    Parameters
    ----------
    seeds : dict of SeedResult
        By the seed's number, in the order they were asked for.
    reused : tuple of int
        Seeds that had been computed before.
    seconds : float
        Time it took.
    """

    seeds: dict[int, SeedResult]
    reused: tuple[int, ...]
    seconds: float

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the curves, seed after seed."""
        found: list[dict[str, Any]] = []
        for result in self.seeds.values():
            found += result.rows
        return found

    @property
    def per_class(self) -> list[dict[str, Any]]:
        """The rows with each class's error at the end, seed after seed."""
        found: list[dict[str, Any]] = []
        for result in self.seeds.values():
            found += result.per_class
        return found


@dataclass(frozen=True)
class Identity:
    """What a run is known by, and whether it can be known again.

    Parameters
    ----------
    fingerprint : str
        Hash of everything that can change a seed's numbers.
    unknown : tuple of str
        Classes without a source file, typed into a notebook or at a prompt: whether
        they are still those of a kept result nobody can tell.
    built_in : bool
        Whether all components are rsbench's own.
    """

    fingerprint: str
    unknown: tuple[str, ...] = ()
    built_in: bool = True


def whole_number(name: str, value: Any, least: int) -> int:
    """Return the value of a setting that counts something.

    Raises
    ------
    UserError
        Unless it is a whole number, `least` or more.
    """
    # To Python true is a whole number, 1; as a number of seeds it is a mistake.
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise UserError(f"{name}={value!r}, expected a whole number from {least} on")
    return int(value)  # which may be one of NumPy's


def check(setup: Setup) -> None:
    """Raise an error for mistakes that show before any data are read.

    Those of values to tune count too: they would show only after hours.
    """
    setup.check()
    _check_words(setup)
    for values in candidates(setup.tune):
        tried = setup.with_values(values)
        tried.check()
        _check_words(tried)


def _check_words(setup: Setup) -> None:
    """Raise an error for a parameter outside of the words that its hint allows.

    Components built by name were checked then; objects from Python were not.
    """
    for kind in KINDS:
        component = getattr(setup, kind)
        hints = type_hints(type(component))
        for name, value in parameters_of(component).items():
            where = type(component).__name__
            check_value(value, hints.get(name), f"{kind}.{name}", where)


def identify(setup: Setup, data: Data) -> Identity:
    """Return what a run of these components on these data is known by.

    The data set and the extractor are known by the data that they gave.
    """
    components: dict[str, Any] = {
        "precision": setup.precision,
        "tune": dict(setup.tune),
    }
    code = []
    unknown = []
    built_in = True
    for kind in KINDS:
        component = getattr(setup, kind)
        cls: Any = type(component)
        # By class and not by name, which two plugins may have given to different ones.
        components[kind] = {
            "class": f"{cls.__module__}.{cls.__qualname__}",
            "params": parameters_of(component),
        }
        # rsbench's own sources are in every fingerprint.
        if provenance.is_built_in(cls):
            continue
        built_in = False
        sources = provenance.of_class(cls)
        if sources is None:
            unknown.append(cls.__name__)
        else:
            code.append(sources)
    # Names of classes are in the results, and so in what they are known by.
    known_data = [data.identity, *data.names.classes]
    found = fingerprint(components, known_data, sorted(code))
    return Identity(found, tuple(unknown), built_in)


def compute(
    setup: Setup,
    data: Data,
    seeds: Sequence[int],
    identity: Identity,
    *,
    cache: bool = True,
    force: bool = False,
    progress: Progress = float,
) -> Outcome:
    """Compute a run's seeds, each kept as soon as it is there.

    Parameters
    ----------
    setup : Setup
        The components.
    data : Data
        The samples, with features.
    seeds : sequence of int
        Numbers of the seeds.
    identity : Identity
        What the run is known by; see `identify`.
    cache : bool
        Whether seeds are kept, and taken from where they are kept.
    force : bool
        Whether to compute seeds anew that are kept already.
    progress : callable
        Told how many seeds are done.

    Returns
    -------
    Outcome
        The results, which of them had been computed before, and the time it took.
    """
    started = time.perf_counter()
    check_grid(setup.tune)
    if cache and identity.unknown:
        log.warning(
            "%s has no source file, so nobody can tell whether it has changed: "
            "computed anew, and not kept",
            " and ".join(identity.unknown),
        )
    keeps = cache and not identity.unknown
    # Only a seed that has to be computed needs to know what was tuned, and all of them
    # the same.
    chosen = functools.cache(functools.partial(tune, setup, data, _per_class))
    done: dict[int, SeedResult] = {}
    reused = []
    with one_thread():
        for number, seed in enumerate(seeds):
            tell = functools.partial(_tell, progress, number)
            make = functools.partial(_run_tuned, chosen, data, seed, tell)
            if keeps:
                result, known = seed_result(identity.fingerprint, seed, make, force)
            else:
                result, known = make(), False
            if known:
                reused.append(seed)
            done[seed] = result
            progress(number + 1)
    return Outcome(done, tuple(reused), round(time.perf_counter() - started, 3))


def _per_class(samples: int) -> PerClass:
    """Return the protocol that tunes, which the core cannot know of itself."""
    return PerClass(samples_per_class=samples, test="rest")


def _tell(progress: Progress, seeds_done: int, share: float) -> None:
    progress(seeds_done + share)


def _run_tuned(
    chosen: Callable[[], tuple[Setup, dict[str, Any]]],
    data: Data,
    seed: int,
    tell: Progress,
) -> SeedResult:
    """Run a seed with what was tuned; its result says what that was."""
    setup, values = chosen()
    result = run_seed(setup, data, seed, tell)
    return dataclasses.replace(result, tuned=values | result.tuned)


def describe(outcome: Outcome, identity: Identity, **about: Any) -> RunInfo:
    """Return what a record says of a run.

    Parameters
    ----------
    outcome : Outcome
        What was computed.
    identity : Identity
        What the run is known by.
    **about
        Fields of `RunInfo` that the numbers do not tell.
    """
    # Sizes differ between seeds only where each draws its own classes.
    last = list(outcome.seeds.values())[-1]
    tuned = {}
    for seed, result in outcome.seeds.items():
        if result.tuned:
            tuned[seed] = result.tuned
    bound = {}
    for key in last.bound:
        values = [result.bound[key] for result in outcome.seeds.values()]
        bound[key] = float(np.mean(values))
    return RunInfo(
        id=uuid.uuid4().hex,
        fingerprint=identity.fingerprint,
        built_in=identity.built_in,
        seeds=tuple(outcome.seeds),
        reused=outcome.reused,
        classes=last.classes,
        samples=SplitSizes(**last.samples),
        tuned=tuned,
        bound=bound,
        seconds=outcome.seconds,
        versions=versions(),
        git_commit=git_commit(),
        **about,
    )


def describe_data(data: Data, name: str, learn_on: str = "few_shot") -> DataInfo:
    """Return what a record says of the data.

    Parameters
    ----------
    data : Data
        The samples that were learned from.
    name : str
        What the data set is called.
    learn_on : str
        The classes that they are of: `few_shot`, or `validation`.
    """
    return DataInfo(
        name=name,
        identity=data.identity,
        simulated=data.simulated,
        learn_on=learn_on,
        how_to_get_real=data.how_to_get_real,
        details=data.details,
    )


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread, unless OMP_NUM_THREADS says otherwise.

    Sums are then made in the same order on any number of cores, so that two machines
    give the same bytes, and parallel jobs do not fight for cores.
    """
    if os.environ.get("OMP_NUM_THREADS"):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
