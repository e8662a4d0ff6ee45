"""One run, from objects to its numbers: what the command line and Python share.

Seeds that were computed before, by whatever door, are taken from where they are kept.
"""

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import logging
import numbers
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.components import (
    Absent,
    Component,
    Learner,
    adopt,
    parameters_of,
)
from rsbench.core.data import Data
from rsbench.core.experiment import (
    KINDS,
    SeedResult,
    Setup,
    check_steps,
    run_seed,
)
from rsbench.core.items import TestItems
from rsbench.core.told import Told
from rsbench.core.tuning import CHOSEN, candidates, check_grid, tune
from rsbench.corruptions import Shuffled
from rsbench.errors import UserError, is_number
from rsbench.plugins import provenance, registry
from rsbench.plugins.registry import Registry
from rsbench.plugins.schema import check_value, type_hints
from rsbench.protocols import PerClass
from rsbench.store.fingerprint import fingerprint, git_commit, version_of, versions
from rsbench.store.items import Unit
from rsbench.store.record import Run, make_run
from rsbench.store.run_info import (
    Counterpart,
    CounterpartKind,
    DataInfo,
    RunInfo,
    SplitSizes,
)
from rsbench.store.seeds import seed_result

log = logging.getLogger(__name__)

#: Told the number of seeds that are done, as a fraction while one goes on.
Progress = Callable[[float], Any]


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


@dataclass(frozen=True)
class Task:
    """One method on all draws of the data: what to compute, and what it is known by.

    Parameters
    ----------
    setup : Setup
        The components.
    load : callable
        Returns the data of a draw, by its number.
    identities : dict of Identity
        By draw, what the method's seeds on it are known by.
    seeds : sequence of int
        Numbers of the seeds, the same in each draw.
    """

    setup: Setup
    load: Callable[[int], Data]
    identities: dict[int, Identity]
    seeds: Sequence[int]

    @property
    def identity(self) -> Identity:
        """What the run is known by: its only draw's, or all of theirs together."""
        first, *others = self.identities.values()
        if not others:
            return first
        whole = hashlib.sha256()
        for each in (first, *others):
            whole.update(each.fingerprint.encode())
        return dataclasses.replace(first, fingerprint=whole.hexdigest())

    @property
    def total(self) -> int:
        """The number of seeds in all draws."""
        return len(self.identities) * len(self.seeds)

    def judged_by(self, is_control: bool = False) -> "dict[str, Task]":
        """Return what shows the worth of its annotations, by the names of `BESIDE`.

        That is its counterpart and, unless it is a control itself or its annotations
        are changed already, itself with shuffled annotations. Nothing for a method that
        is told nothing.
        """
        if self.setup.told() is Told.NOTHING:
            return {}
        found = {"counterpart": self.setup.without_annotations()}
        if not is_control and not self.setup.new("annotation").changes_votes:
            shuffled = dataclasses.replace(self.setup, annotation=Shuffled())
            found["shuffled"] = shuffled
        draws = list(self.identities)
        tasks = {}
        for name, setup in found.items():
            tasks[name] = plan_task(setup, self.load, draws, self.seeds)
        return tasks

    def counterpart(
        self, method: str, bare: "Task", known: Registry | None = None
    ) -> Counterpart:
        """Return what the record says of its counterpart.

        Parameters
        ----------
        method : str
            What the method itself is called.
        bare : Task
            The counterpart's task.
        known : Registry, optional
            The components that have names; those of the working folder by default.
        """
        learner = adopt(self.setup.learner, Learner)
        kind = CounterpartKind.ITSELF
        name = method
        if learner.substitute is not None:
            kind = CounterpartKind.SUBSTITUTE
        elif learner.without is not None:
            kind = CounterpartKind.EQUAL
        if kind is not CounterpartKind.ITSELF:
            name = registered_name("learner", bare.setup.learner, known)
        return Counterpart(kind, name, bare.identity.fingerprint)


def plan_task(
    setup: Setup,
    load: Callable[[int], Data],
    draws: Sequence[int],
    seeds: Sequence[int],
) -> Task:
    """Return the task of a method, known by the content of all its draws.

    Parameters
    ----------
    setup : Setup
        The components.
    load : callable
        Returns the data of a draw, by its number.
    draws, seeds : sequence of int
        Numbers of the draws, and of the seeds in each.

    Raises
    ------
    UserError
        If two draws are the same data.
    """
    identities: dict[int, Identity] = {}
    for draw in draws:
        found = identify(setup, load(draw))
        for earlier, known in identities.items():
            if known == found:
                # Counted twice, it would pass for evidence that draws agree.
                raise UserError(
                    f"draws {earlier} and {draw} are the same data: the data set has "
                    f"no {len(draws)} draws, draws={draw}"
                )
        identities[draw] = found
    return Task(setup, load, identities, seeds)


@dataclass(frozen=True)
class Outcome:
    """The results of a run's seeds.

    Parameters
    ----------
    seeds : dict of SeedResult
        By the numbers of draw and seed, in the order they were asked for.
    reused : tuple of int
        Seeds that had been computed before, in all of their draws.
    seconds : float
        Time it took.
    """

    seeds: dict[Unit, SeedResult]
    reused: tuple[int, ...]
    seconds: float

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the curves, draw after draw and seed after seed."""
        found: list[dict[str, Any]] = []
        for (draw, _), result in self.seeds.items():
            found += [{"draw": draw, **row} for row in result.rows]
        return found

    @property
    def per_class(self) -> list[dict[str, Any]]:
        """The rows with each class's error at the end, likewise."""
        found: list[dict[str, Any]] = []
        for (draw, _), result in self.seeds.items():
            found += [{"draw": draw, **row} for row in result.per_class]
        return found

    @property
    def tested(self) -> dict[Unit, TestItems]:
        """What became of each test sample, by the numbers of draw and seed."""
        return {unit: result.tested for unit, result in self.seeds.items()}


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


def check_judgement(
    judged_step: Any, table_steps: Any, margin: Any, counterparts: Any
) -> None:
    """Raise an error unless the settings of what is said of results make sense.

    Parameters
    ----------
    judged_step : int or None
        Where on the curve methods are judged.
    table_steps : sequence of int or None
        The steps that tables report.
    margin : float
        Differences within so many points count as none.
    counterparts : bool
        Whether methods are run without annotations too.
    """
    if judged_step is not None:
        whole_number("judged_step", judged_step, least=1)
    if table_steps is not None:
        # A word is a sequence too, of letters.
        is_list = isinstance(table_steps, Sequence) and not isinstance(table_steps, str)
        if not is_list or not table_steps:
            raise UserError(
                f"table_steps={table_steps!r}, expected a list of steps, [5,10,20]"
            )
        for step in table_steps:
            whole_number("table_steps", step, least=1)
    if not is_number(margin) or not 0 <= margin < float("inf"):
        raise UserError(f"margin={margin!r}, expected points of error, 0 or more")
    if not isinstance(counterparts, bool):
        raise UserError(f"counterparts={counterparts!r}, expected true or false")


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


def registered_name(group: str, component: Any, known: Registry | None = None) -> str:
    """Return what configs call a component; the name of its class if they do not.

    Parameters
    ----------
    group : str
        The kind of component.
    component : object
        The component.
    known : Registry, optional
        The components that have names; those of the working folder by default.
    """
    # Arrays that were handed over are like those that dataset=arrays reads.
    if isinstance(component, Data):
        return "arrays"
    if inspect.isfunction(component):
        return component.__name__
    # Loaded from another folder, a dropped-in file would give other classes.
    found = known or registry.load()
    for name, entry in found.components[group].items():
        if entry.cls is type(component):
            return name
    return type(component).__name__


def identify(setup: Setup, data: Data) -> Identity:
    """Return what a run of these components on these data is known by.

    The data set and the extractor are known by the data that they gave. What a learner
    does not ask for plays no part, so that its results are found again whatever
    annotations and aggregators there are.
    """
    idle = setup.idle()
    tune: dict[str, Any] = dict(setup.tune)
    components: dict[str, Any] = {"precision": setup.precision, "tune": tune}
    if adopt(setup.learner, Learner).taught_at == "table":
        # Else these decide only what is said of a result.
        components["taught"] = [setup.judged_step, list(setup.table_steps or ())]
    parts = []
    for kind in KINDS:
        if kind not in idle:
            parts.append((kind, getattr(setup, kind)))
    for i, tried in enumerate(tune.pop("preprocessor", ())):
        parts.append((f"preprocessor {i}", tried))
    code: list[str] = []
    unknown = []
    built_in = True
    for kind, component in parts:
        cls: Any = type(component)
        # By class and not by name, which two plugins may have given to different ones.
        components[kind] = {
            "class": f"{cls.__module__}.{cls.__qualname__}",
            "params": parameters_of(component),
        }
        code += map(version_of, adopt(component, Component).libraries)
        # rsbench's own sources are in every fingerprint.
        if provenance.is_built_in(cls):
            continue
        built_in = False
        sources = provenance.of_class(cls)
        if sources is None:
            unknown.append(cls.__name__)
        else:
            code.append(sources)
    # Names of classes are in the results, and so in what they are known by; those of
    # features may be told to the learner.
    known_data = [data.identity, *data.names.classes]
    if setup.track(data).names:
        known_data += [*data.names.features, *data.names.concepts]
    found = fingerprint(components, known_data, sorted(code))
    return Identity(found, tuple(unknown), built_in)


def compute(
    task: Task,
    *,
    cache: bool = True,
    force: bool = False,
    progress: Progress = float,
    quiet: bool = False,
) -> Outcome:
    """Compute a run's seeds, each kept as soon as it is there.

    Parameters
    ----------
    task : Task
        What to compute.
    cache : bool
        Whether seeds are kept, and taken from where they are kept.
    force : bool
        Whether to compute seeds anew that are kept already.
    progress : callable
        Told how many seeds are done.
    quiet : bool
        Whether to say nothing of classes whose results cannot be kept.

    Returns
    -------
    Outcome
        The results, which of them had been computed before, and the time it took.
    """
    started = time.perf_counter()
    check_grid(task.setup.tune)
    unknown = task.identity.unknown
    if cache and unknown and not quiet:
        log.warning(
            "%s has no source file, so nobody can tell whether it has changed: "
            "computed anew, and not kept",
            " and ".join(unknown),
        )
    done: dict[Unit, SeedResult] = {}
    new = set()
    with one_thread():
        for draw, identity in task.identities.items():
            data = task.load(draw)
            # Only a seed that has to be computed needs to know what was tuned, and all
            # of them the same.
            chosen = functools.cache(
                functools.partial(_tuned, task.setup, data, task.seeds[0])
            )
            for seed in task.seeds:
                tell = functools.partial(_tell, progress, len(done))
                make = functools.partial(_run_tuned, chosen, data, seed, tell)
                kept = ""
                if cache and not unknown:
                    kept = identity.fingerprint
                result, known = _seed(task.setup, kept, seed, make, force)
                if not known:
                    new.add(seed)
                done[draw, seed] = result
                progress(len(done))
    reused = tuple(seed for seed in task.seeds if seed not in new)
    return Outcome(done, reused, round(time.perf_counter() - started, 3))


def _seed(
    setup: Setup,
    fingerprint: str,
    seed: int,
    make: Callable[[Sequence[int]], SeedResult],
    force: bool,
) -> tuple[SeedResult, bool]:
    """Return a seed's result, and whether it had been computed before.

    Without a fingerprint it is computed, and not kept.
    """
    if not fingerprint:
        return make(()), False
    usual = functools.partial(make, ())
    result, known = seed_result(fingerprint, seed, usual, force)
    # A kept seed has the margins of the steps that were reported then.
    _, reported = setup.reported_steps(result.tested.steps.tolist())
    kept = result.tested.margin_steps.tolist()
    if not set(reported) <= set(kept):
        # With those of then: two tables in turn would else compute it each time.
        both = functools.partial(make, sorted({*kept, *reported}))
        result, known = seed_result(fingerprint, seed, both, force=True)
    # A record has its own table's margins, whatever others have asked for before.
    tested = result.tested.with_margins_at(reported)
    return dataclasses.replace(result, tested=tested), known


def _tuned(setup: Setup, data: Data, seed: int) -> tuple[Setup, dict[str, Any]]:
    """Return the setup with what was tuned, and what that was."""
    if setup.tune:
        # Else a step that is not tested would show only after hours of tuning.
        check_steps(setup, data, seed)
    return tune(setup, data, _per_class)


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
    steps: Sequence[int],
) -> SeedResult:
    """Run a seed with what was tuned; its result says what that was.

    `steps` are those to keep margins of; empty for those of the setup's own table.
    """
    setup, values = chosen()
    if steps:
        setup = dataclasses.replace(setup, table_steps=steps)
    result = run_seed(setup, data, seed, tell)
    told = dict(values)
    if CHOSEN in told:  # a component, which the record knows by its name
        told[CHOSEN] = registered_name(CHOSEN, told[CHOSEN])
    return dataclasses.replace(result, tuned=told | result.tuned)


def describe(outcome: Outcome, task: Task, **about: Any) -> RunInfo:
    """Return what a record says of a run.

    Parameters
    ----------
    outcome : Outcome
        What was computed.
    task : Task
        What was to be computed.
    **about
        Fields of `RunInfo` that the numbers do not tell.
    """
    # Sizes differ between seeds only where each draws its own classes.
    last = list(outcome.seeds.values())[-1]
    tuned = {}
    for (draw, seed), result in outcome.seeds.items():
        if result.tuned:
            key = str(seed)
            if len(task.identities) > 1:
                key = f"{draw}/{seed}"
            tuned[key] = result.tuned
    results = outcome.seeds.values()
    bound = {}
    for key in last.bound:
        bound[key] = float(np.mean([result.bound[key] for result in results]))
    given = {}
    for key in last.given:
        given[key] = float(np.mean([result.given[key] for result in results]))
    setup = task.setup
    learner = adopt(setup.learner, Learner)
    track = setup.track(task.load(next(iter(task.identities))))
    judged, reported = setup.reported_steps(last.tested.steps.tolist())
    identity = task.identity
    return RunInfo(
        id=uuid.uuid4().hex,
        fingerprint=identity.fingerprint,
        built_in=identity.built_in,
        told=track.samples,
        told_background=track.background,
        told_names=track.names,
        taught_at=learner.taught_at,
        fitted_on_stream=setup.fitted_on_stream(),
        unit=setup.new("protocol").unit,
        score_scale=learner.score_scale,
        seeds=tuple(task.seeds),
        draws=tuple(task.identities),
        judged_step=judged,
        table_steps=tuple(reported),
        reused=outcome.reused,
        classes=last.classes,
        samples=SplitSizes(**last.samples, fixed_test=_is_fixed(outcome)),
        given=given,
        tuned=tuned,
        bound=bound,
        seconds=outcome.seconds,
        versions=versions(),
        git_commit=git_commit(),
        **about,
    )


def _is_fixed(outcome: Outcome) -> bool:
    """Tell whether all seeds of each draw are tested on the same samples."""
    items: dict[int, np.ndarray] = {}
    for (draw, _), result in outcome.seeds.items():
        first = items.setdefault(draw, result.tested.items)
        if not np.array_equal(first, result.tested.items):
            return False
    # One seed alone cannot tell.
    return len(outcome.seeds) > len(items)


def finish(
    task: Task,
    outcome: Outcome,
    info: RunInfo,
    judged_by: Mapping[str, Task],
    known: Registry | None = None,
    progress: Progress = float,
    **how: Any,
) -> Run:
    """Return a finished run, beside what tells the worth of its annotations.

    Parameters
    ----------
    task : Task
        What was to be computed.
    outcome : Outcome
        What was.
    info : RunInfo
        What the record says of it.
    judged_by : mapping of Task
        What it is judged by, if that is to be computed too; see `Task.judged_by`.
    known : Registry, optional
        The components that have names; those of the working folder by default.
    progress : callable
        Told how many seeds are done, the run's own among them.
    **how
        Other arguments of `compute`, for what it is judged by.
    """
    done = task.total
    beside: dict[str, Any] = {}
    for name, other in judged_by.items():
        # It was said of the method itself.
        tell = functools.partial(_tell, progress, done)
        result = compute(other, quiet=True, progress=tell, **how)
        done += other.total
        if name == "counterpart":
            found = task.counterpart(info.method, other, known)
            info = dataclasses.replace(info, counterpart=found)
            # A method that was computed before was checked then.
            is_new = len(outcome.reused) < len(task.seeds)
            if is_new and found.kind is CounterpartKind.EQUAL:
                _check_equal(task, result, found.name)
            beside[name] = _control(info, found.name, "absent", other, result)
        else:
            info = dataclasses.replace(info, shuffled=other.identity.fingerprint)
            beside[name] = _control(info, info.method, "shuffled", other, result)
    rows = outcome.rows
    return make_run(Path(), info, rows, outcome.per_class, outcome.tested, **beside)


def _check_equal(task: Task, counterpart: Outcome, name: str) -> None:
    """Raise an error if a learner is not what it says it is without annotations.

    One seed is enough to find that out. Built-in learners are held to it by tests, and
    tuned ones may have chosen other values.
    """
    if task.identity.built_in or task.setup.tune:
        return
    (draw, seed), expected = next(iter(counterpart.seeds.items()))
    bare = dataclasses.replace(task.setup, annotation=Absent())
    with one_thread():
        found = run_seed(bare, task.load(draw), seed)
    for one, two in zip(found.rows, expected.rows, strict=True):
        if one != two:
            learner = type(task.setup.learner).__name__
            raise UserError(
                f"{learner} says that it is {name} without annotations (`without`), "
                f"and it is not: after {one['samples']} samples test losses are "
                f"{one['test_loss']:.10g} and {two['test_loss']:.10g}. Take that out "
                "of the class, and it is run without annotations itself"
            )


def _control(
    info: RunInfo, method: str, control: str, task: Task, outcome: Outcome
) -> Run:
    """Return the run of a method's control, computed with the method itself."""
    own = describe(
        outcome,
        task,
        method=method,
        control=control,
        control_of=info.method,
        label=f"{info.label} ({control})",
        preprocessor=info.preprocessor,
        config=info.config,
        changed=info.changed,
        swept=info.swept,
        experiment=info.experiment,
        data=info.data,
        margin=info.margin,
    )
    return make_run(Path(), own, outcome.rows, outcome.per_class, outcome.tested)


def describe_data(
    draws: Sequence[Data], name: str, learn_on: str = "few_shot"
) -> DataInfo:
    """Return what a record says of the data.

    Parameters
    ----------
    draws : sequence of Data
        The samples that were learned from, draw by draw; what is said of how they came
        about is said of the first.
    name : str
        What the data set is called.
    learn_on : str
        The classes that they are of: `few_shot`, or `validation`.
    """
    first = draws[0]
    identity = first.identity
    if len(draws) > 1:
        whole = hashlib.sha256()
        for data in draws:
            whole.update(data.identity.encode())
        identity = whole.hexdigest()
    return DataInfo(
        name=name,
        identity=identity,
        simulated=first.simulated,
        learn_on=learn_on,
        how_to_get_real=first.how_to_get_real,
        details=first.details,
        drawn=first.drawn,
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
