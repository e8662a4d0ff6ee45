"""The benchmark from Python: the same objects and functions as the command line's."""

import dataclasses
import functools
import inspect
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rsbench.aggregators import Sample
from rsbench.core.components import (
    Aggregator,
    Component,
    Corruption,
    Dataset,
    Learner,
    Preprocessor,
    Protocol,
    parameters_of,
)
from rsbench.core.data import Data
from rsbench.core.experiment import KINDS, Setup, load, read_only
from rsbench.errors import UserError
from rsbench.plugins import provenance, registry
from rsbench.protocols import PerClass
from rsbench.running import (
    Identity,
    Outcome,
    check,
    compute,
    describe,
    describe_data,
    identify,
    one_thread,
    whole_number,
)
from rsbench.store.record import Run, make_run, write_record
from rsbench.store.run_info import DataInfo

if TYPE_CHECKING:
    import pandas

log = logging.getLogger(__name__)

#: A learner; or a learner and its aggregator.
Method = Any


def run(
    data: Data | Dataset | str,
    methods: Mapping[str, Method] | Sequence[Method],
    *,
    preprocessor: Preprocessor | str = "none",
    protocol: Protocol | str | None = None,
    annotation: Corruption | str = "full",
    extractor: Any = "none",
    seeds: int = 5,
    seed: int = 0,
    precision: str = "data",
    tune: Mapping[str, Sequence[Any]] | None = None,
    jobs: int = 1,
    cache: bool = True,
    force: bool = False,
    folder: str | Path | None = None,
) -> "Results":
    """Run methods on data over paired seeds: within a seed, all see the same samples.

    Parameters
    ----------
    data : Data, data set object or str
        What to learn from: arrays, an object with `load`, or a data set's name.
    methods : mapping or sequence
        By name, a learner or a pair of learner and aggregator; a learner alone that
        asks for relevance gets it from each sample's own annotation. In a sequence,
        learners go by the names of their classes.
    preprocessor : preprocessor or str
        What is done to features first.
    protocol : protocol or str, optional
        Split and order; by default 25 samples of each class, the rest to test on.
    annotation : corruption or str
        What becomes of annotations before anyone sees them.
    extractor : extractor or str
        Makes features of images, where the data have none.
    seeds, seed : int
        How many paired repeats, and the number of the first.
    precision : str
        In what features are learned from: `data` (as they come), `float32`, `float64`.
    tune : mapping, optional
        By dotted key (`learner.C`), values to choose from on held-out classes.
    jobs : int
        How many processes work side by side.
    cache : bool
        Whether seeds are kept below RSBENCH_CACHE, and not computed twice. A class
        without a source file, typed into a notebook, is always computed anew.
    force : bool
        Whether to compute seeds anew that are kept already.
    folder : str or Path, optional
        Where to write the record of each run, as the command does.

    Returns
    -------
    Results
        One finished run for each method.

    Raises
    ------
    UserError
        For everything that a user can put right, in one sentence.
    """
    # Everything is checked before data are read, which may take long.
    first = whole_number("seed", seed, 0)
    all_seeds = range(first, first + whole_number("seeds", seeds, 1))
    jobs = whole_number("jobs", jobs, 1)
    if protocol is None:
        protocol = PerClass()
    setups = _setups(
        methods,
        preprocessor=_chosen("preprocessor", preprocessor),
        protocol=_chosen("protocol", protocol),
        annotation=_chosen("annotation", annotation),
        precision=precision,
        tune=dict(tune or {}),
    )
    extractor = _chosen("extractor", extractor)
    dataset = _chosen("dataset", data)
    name = _registered_name("dataset", dataset)
    with one_thread():
        loaded = load(dataset, extractor, f"dataset={name}")
    about = describe_data(loaded, name)
    # Identified here: in another process a notebook's class seems to have a file.
    tasks = []
    for method, setup in setups.items():
        tasks.append(_Task(method, setup, about, identify(setup, loaded)))
    compute_one = functools.partial(_compute, loaded, all_seeds, cache, force)
    outcomes = _compute_all(compute_one, tasks, jobs)
    runs = []
    for number, (task, outcome) in enumerate(zip(tasks, outcomes, strict=True)):
        place = None
        if folder is not None:
            place = Path(folder) / str(number)
        runs.append(_finish(task, outcome, place))
    return Results(runs)


def experiment(name: str, **settings: Any) -> "Results":
    """Run an experiment of the command line: `experiment("cub", seeds=20)`.

    Parameters
    ----------
    name : str
        The experiment, as in `+experiment=NAME`.
    **settings
        Settings, as the command line has them: `methods=["lean", "mine"]` (or
        `method`), `preprocessor=["none", "center"]`, `seeds=20`. A list is swept over.
        Dotted keys are written with two underscores: `learner__C=[0.1, 1]`.

    Returns
    -------
    Results
        One finished run for each job of the sweep.
    """
    from rsbench.cli.from_python import run_experiment

    return Results(run_experiment(name, settings))


def load_results(*folders: str | Path) -> "Results":
    """Return the finished runs in folders and below.

    Parameters
    ----------
    *folders : str or Path
        Folders of runs, of sweeps, or above; `outputs` by default.

    Returns
    -------
    Results
        The runs; `left_out` names what could not be read.
    """
    from rsbench.report.collect import from_folders

    places = [Path(folder) for folder in folders or ("outputs",)]
    found = from_folders(places)
    return Results(found.runs, found.left_out)


class Results:
    """Finished runs, and what they show.

    Parameters
    ----------
    runs : sequence of Run
        The runs.
    left_out : sequence of str
        A line for everything that could not be read.
    """

    def __init__(self, runs: Sequence[Run], left_out: Sequence[str] = ()):
        self.runs = list(runs)
        self.left_out = list(left_out)

    @property
    def frame(self) -> "pandas.DataFrame":
        """One tidy table: a row for each run, seed and step, with all measures."""
        from rsbench.store.results import frame

        return frame(self.runs)

    def compare(
        self, at: int | None = None, measure: str = "cumulative_error"
    ) -> "pandas.DataFrame":
        """Return all paired comparisons as a table, corrected for being many.

        Parameters
        ----------
        at : int, optional
            The step; by default that of the comparison fixed beforehand.
        measure : str
            The measure, one of `rsbench.core.measures.MEASURES`.

        Returns
        -------
        DataFrame
            A row for each pair of runs.
        """
        from rsbench.report.comparisons import comparison_frame

        return comparison_frame(self.runs, measure, at)

    def findings(self) -> list[str]:
        """Return what the runs show, in sentences.

        The first one says of which data, and how to read the others; so does the first
        on each further group of runs that cannot be compared with those before.
        """
        from rsbench.report.collect import groups
        from rsbench.report.labels import changed_for_all

        sentences: list[str] = []
        for group in groups(self.runs):
            # A group of diverged runs alone has none to speak of.
            if group.good and group.findings.lines:
                about = [f"{group.title}.", *changed_for_all(group.good)]
                sentences.append(" ".join([*about, group.findings.note]))
                sentences += group.findings.lines
        return sentences

    def report(self, folder: str | Path) -> Path:
        """Write the page, tables and figures that the command makes.

        Parameters
        ----------
        folder : str or Path
            Where to write them; made if it is not there.

        Returns
        -------
        Path
            The page.
        """
        from rsbench.report import write_report

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        write_report(self.runs, place, self.left_out)
        return place / "report.html"

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        names = ", ".join(run.info.label for run in self.runs)
        simulated = ""
        if any(run.info.data.simulated for run in self.runs):
            simulated = ", SIMULATED data"
        return f"Results({len(self.runs)} runs{simulated}: {names})"


@dataclasses.dataclass(frozen=True)
class _Task:
    """A run to be computed."""

    method: str
    setup: Setup
    data: DataInfo
    identity: Identity


def _setups(
    methods: Mapping[str, Method] | Sequence[Method], **shared: Any
) -> dict[str, Setup]:
    """Return the components of each method, by its name, checked."""
    setups = {}
    for name, (learner, aggregator) in _named(methods).items():
        setups[name] = Setup(learner=learner, aggregator=aggregator, **shared)
        check(setups[name])
    return setups


def _named(methods: Mapping[str, Method] | Sequence[Method]) -> dict[str, Any]:
    """Return the learner and the aggregator of each method, by its name."""
    if not isinstance(methods, Mapping):
        # Text is a sequence too, of letters.
        if isinstance(methods, str) or not isinstance(methods, Sequence):
            raise UserError(
                "methods: expected learners by name, "
                "methods={'lean': Lean()}, or a list of learners"
            )
        methods = _by_class_name(methods)
    if not methods:
        raise UserError("methods: there is none to run")
    for name in methods:
        if not isinstance(name, str):
            raise UserError(f"methods: {name!r} is no name, expected text")
    return {name: _pair(name, method) for name, method in methods.items()}


def _pair(name: str, method: Method) -> tuple[Learner, Aggregator]:
    """Return a method's learner and aggregator, which must be objects."""
    learner = method
    aggregator = Sample()
    if isinstance(method, tuple):
        if len(method) != 2:
            raise UserError(
                f"methods: {name} has {len(method)} parts, expected a learner, or a "
                "learner and its aggregator"
            )
        learner, aggregator = method
    for component, example in ((learner, "Lean()"), (aggregator, "Sample()")):
        if inspect.isclass(component) or isinstance(component, str):
            raise UserError(
                f"methods: {name} is {component!r}, expected an object: {example}"
            )
    return learner, aggregator


def _by_class_name(methods: Sequence[Method]) -> dict[str, Method]:
    """Return methods by names of their own; two of one class cannot be told apart."""
    named: dict[str, Method] = {}
    for method in methods:
        if isinstance(method, str):
            raise UserError(
                f"methods: '{method}' is a name, expected an object: Lean(). "
                "rsbench.experiment takes names"
            )
        name = _class_name(method)
        if name in named:
            raise UserError(
                f"methods: two are called {name}: name them, methods={{'{name}_1': …}}"
            )
        named[name] = method
    return named


def _class_name(method: Method) -> str:
    """Return a name for a method: that of `FeatureScaling()` is feature_scaling."""
    learner = method
    if isinstance(method, tuple):
        learner = method[0]
    # An underscore between a small letter and a capital: where a word begins.
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(learner).__name__)
    return words.lower()


def _chosen(group: str, component: Any) -> Any:
    """Return a component that was given by name or as an object."""
    if isinstance(component, str):
        return registry.load().build(group, {"name": component})
    if inspect.isclass(component):
        raise UserError(
            f"{group}: {component.__name__} is a class, expected an object: "
            f"{component.__name__}()"
        )
    return component


def _registered_name(group: str, component: Any) -> str:
    """Return what configs call a component; the name of its class if they do not."""
    # Arrays that were handed over are like those that dataset=arrays reads.
    if isinstance(component, Data):
        return "arrays"
    if inspect.isfunction(component):
        return component.__name__
    for name, known in registry.load().components[group].items():
        if known.cls is type(component):
            return name
    return type(component).__name__


def _compute_all(
    compute_one: Callable[[_Task], Outcome], tasks: list[_Task], jobs: int
) -> list[Outcome]:
    """Compute all runs, in several processes if asked to."""
    if jobs == 1:
        return [compute_one(task) for task in tasks]
    _check_code(tasks)
    # joblib sends classes of a notebook to its workers, which pickle alone cannot, and
    # lets them share large arrays.
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky import get_reusable_executor

    threads = int(os.environ.get("OMP_NUM_THREADS") or 1)
    with parallel_config("loky", inner_max_num_threads=threads):
        # A dropped-in file cannot be imported by its name before plugins are loaded.
        workers = Parallel(n_jobs=jobs, initializer=registry.load)
        try:
            return workers([delayed(compute_one)(task) for task in tasks])
        finally:
            # Workers that lived on would know this folder, these settings and this
            # code when those have changed.
            get_reusable_executor().shutdown()


def _check_code(tasks: list[_Task]) -> None:
    """Raise an error for code that other processes would import as something else."""
    for task in tasks:
        for kind in KINDS:
            cls: Any = type(getattr(task.setup, kind))
            if provenance.was_edited(cls):
                raise UserError(
                    f"{cls.__name__} has been edited since it was imported, and other "
                    "processes would import it as it is now: import it anew, or jobs=1"
                )


def _compute(
    data: Data, seeds: range, cache: bool, force: bool, task: _Task
) -> Outcome:
    # What was sent to another process has lost its lock.
    data = read_only(data)
    return compute(task.setup, data, seeds, task.identity, cache=cache, force=force)


def _finish(task: _Task, outcome: Outcome, folder: Path | None) -> Run:
    """Return a finished run, its record written if there is a folder for it."""
    setup = task.setup
    name = _registered_name("preprocessor", setup.preprocessor)
    label = task.method
    if name != "none":
        label = f"{task.method} {name}"
    info = describe(
        outcome,
        task.identity,
        method=task.method,
        told=setup.told(),
        preprocessor=name,
        fitted_on_stream=setup.fitted_on_stream(),
        label=label,
        config=_config(setup, outcome),
        data=task.data,
        unit=setup.new("protocol").unit,
    )
    if folder is None:
        return make_run(Path(), info, outcome.rows, outcome.per_class)
    folder.mkdir(parents=True, exist_ok=True)
    return write_record(folder, info, outcome.rows, outcome.per_class)


def _config(setup: Setup, outcome: Outcome) -> dict[str, Any]:
    """Return the settings of a run as the command line would have them."""
    config: dict[str, Any] = {
        "seed": min(outcome.seeds),
        "seeds": len(outcome.seeds),
        "precision": setup.precision,
        "tune": dict(setup.tune),
    }
    for kind in KINDS:
        component: Component = getattr(setup, kind)
        name = _registered_name(kind, component)
        config[kind] = {"name": name, **parameters_of(component)}
    return config
