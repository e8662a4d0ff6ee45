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
from rsbench.core.experiment import KINDS, Setup, draw_of, load, read_only
from rsbench.core.tuning import with_own_grid
from rsbench.datasets import Arrays
from rsbench.errors import UserError
from rsbench.plugins import provenance, registry
from rsbench.protocols import PerClass
from rsbench.running import (
    Outcome,
    Task,
    check,
    check_judgement,
    compute,
    describe,
    describe_data,
    finish,
    one_thread,
    plan_task,
    registered_name,
    whole_number,
)
from rsbench.store.record import Run, write_record
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
    draws: int = 1,
    precision: str = "data",
    tune: Mapping[str, Sequence[Any]] | None = None,
    judged_step: int | None = None,
    table_steps: Sequence[int] | None = None,
    margin: float = 1.0,
    counterparts: bool = True,
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
    draws : int
        How many draws of classes, each with all seeds; for data sets that have them.
    precision : str
        In what features are learned from: `data` (as they come), `float32`, `float64`.
    tune : mapping, optional
        By dotted key (`learner.C`), values to choose from on held-out classes; by
        `preprocessor`, preprocessors; with `learner="own"`, the values that each
        learner names itself. At most 12 settings.
    judged_step : int, optional
        Where on the curve methods are judged; by default at its end.
    table_steps : sequence of int, optional
        The steps that tables report; by default a quarter, half and all of the curve.
    margin : float
        Differences within so many points count as none.
    counterparts : bool
        Whether each method that is told something is run without it too.
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
    numbers = range(whole_number("draws", draws, 1))
    jobs = whole_number("jobs", jobs, 1)
    check_judgement(judged_step, table_steps, margin, counterparts)
    if protocol is None:
        protocol = PerClass()
    setups = _setups(
        methods,
        preprocessor=_chosen("preprocessor", preprocessor),
        protocol=_chosen("protocol", protocol),
        annotation=_chosen("annotation", annotation),
        precision=precision,
        tune=dict(tune or {}),
        judged_step=judged_step,
        table_steps=table_steps,
    )
    extractor = _chosen("extractor", extractor)
    dataset = _chosen("dataset", data)
    name = registered_name("dataset", dataset)
    # What errors begin with: the file, where there is one.
    where = f"dataset={name}"
    if isinstance(dataset, Arrays):
        where = dataset.path
    drawn = {number: draw_of(dataset, number) for number in numbers}
    loaded = {}
    with one_thread():
        for number, each in drawn.items():
            loaded[number] = load(each, extractor, where)
    about = describe_data(list(loaded.values()), name)
    # Identified here: in another process a notebook's class seems to have a file.
    planned = []
    for method, setup in setups.items():
        task = plan_task(setup, loaded.__getitem__, numbers, all_seeds)
        judged_by: dict[str, Task] = {}
        if counterparts:
            judged_by = task.judged_by()
        planned.append(Planned(method, task, judged_by))
    judgement = {
        "judged_step": judged_step,
        "table_steps": table_steps,
        "margin": margin,
        "counterparts": counterparts,
    }
    how = {"cache": cache, "force": force}
    finish_one = functools.partial(_finish, about, judgement, how)
    runs = _run_all(finish_one, planned, jobs)
    if folder is not None:
        runs = [_write(Path(folder) / str(i), run) for i, run in enumerate(runs)]
    return Results(runs)


@dataclasses.dataclass(frozen=True)
class Planned:
    """A method that is ready to be computed.

    Parameters
    ----------
    method : str
        What it is called.
    task : Task
        What is to be computed.
    judged_by : dict of Task
        What is computed with it, as `Task.judged_by` has it.
    """

    method: str
    task: Task
    judged_by: dict[str, Task]


def _write(folder: Path, run: Run) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    return write_record(folder, run)


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


def _setups(
    methods: Mapping[str, Method] | Sequence[Method], **shared: Any
) -> dict[str, Setup]:
    """Return the components of each method, by its name, checked."""
    setups = {}
    for name, (learner, aggregator) in _named(methods).items():
        own = {**shared, "tune": with_own_grid(shared["tune"], learner)}
        setups[name] = Setup(learner=learner, aggregator=aggregator, **own)
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


def _run_all(
    finish_one: Callable[[Planned], Run], planned: Sequence[Planned], jobs: int
) -> list[Run]:
    """Compute all runs, in several processes if asked to."""
    if jobs == 1:
        return [finish_one(each) for each in planned]
    for each in planned:
        _check_code(each.task)
        for task in each.judged_by.values():
            _check_code(task)
    # joblib sends classes of a notebook to its workers, which pickle alone cannot, and
    # lets them share large arrays.
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky import get_reusable_executor

    threads = int(os.environ.get("OMP_NUM_THREADS") or 1)
    with parallel_config("loky", inner_max_num_threads=threads):
        # A dropped-in file cannot be imported by its name before plugins are loaded.
        workers = Parallel(n_jobs=jobs, initializer=registry.load)
        calls = [delayed(finish_one)(each) for each in planned]
        try:
            return workers(calls)
        finally:
            # Workers that lived on would know this folder, these settings and this
            # code when those have changed.
            get_reusable_executor().shutdown()


def _check_code(task: Task) -> None:
    """Raise an error for code that other processes would import as something else."""
    for kind in KINDS:
        cls: Any = type(getattr(task.setup, kind))
        if provenance.was_edited(cls):
            raise UserError(
                f"{cls.__name__} has been edited since it was imported, and other "
                "processes would import it as it is now: import it anew, or jobs=1"
            )


def _finish(
    data: DataInfo, judgement: dict[str, Any], how: dict[str, Any], planned: Planned
) -> Run:
    """Compute a run, and its counterpart if wanted."""
    # What was sent to another process has lost its lock.
    task = _locked(planned.task)
    judged_by = {}
    for name, other in planned.judged_by.items():
        judged_by[name] = _locked(other)
    method = planned.method
    outcome = compute(task, **how)
    name = registered_name("preprocessor", task.setup.preprocessor)
    if "preprocessor" in task.setup.tune:
        name = "tuned"
    label = method
    if name != "none":
        label = f"{method} {name}"
    info = describe(
        outcome,
        task,
        method=method,
        preprocessor=name,
        label=label,
        config=_config(task.setup, outcome) | judgement,
        data=data,
        margin=judgement["margin"] / 100,
    )
    return finish(task, outcome, info, judged_by, **how)


def _locked(task: Task) -> Task:
    """Return the same task on data that nobody can write to."""
    return dataclasses.replace(task, load=lambda draw: read_only(task.load(draw)))


def _config(setup: Setup, outcome: Outcome) -> dict[str, Any]:
    """Return the settings of a run as the command line would have them."""
    config: dict[str, Any] = {
        "seed": min(seed for _, seed in outcome.seeds),
        "seeds": len({seed for _, seed in outcome.seeds}),
        "draws": len({draw for draw, _ in outcome.seeds}),
        "precision": setup.precision,
        "tune": dict(setup.tune),
    }
    for kind in KINDS:
        component: Component = getattr(setup, kind)
        name = registered_name(kind, component)
        config[kind] = {"name": name, **parameters_of(component)}
    return config
