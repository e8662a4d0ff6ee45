"""One HTML file with everything: opens from disk, needs no network, fits a phone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rsbench import __version__
from rsbench.errors import UserError
from rsbench.report import page_tables
from rsbench.report.chart import MEASURE_NAMES, chart
from rsbench.report.collect import Group, groups
from rsbench.report.labels import (
    changed_for_all,
    commands,
    data_details,
    data_label,
    hints,
    in_order,
    is_simulated,
    plural,
    swept_axis,
)
from rsbench.report.page_tables import Table
from rsbench.report.pairs import notes
from rsbench.report.table import footnotes
from rsbench.store.record import Run

if TYPE_CHECKING:
    import jinja2

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Link:
    """An entry of the page's navigation."""

    anchor: str
    name: str


@dataclass(frozen=True)
class Section:
    """Everything on runs that can be compared with each other.

    Parameters
    ----------
    group : Group
        The runs, and what is said of them.
    details : list of str
        What to know of their data.
    footnotes : list of str
        What stands under their tables.
    leaderboards : list of Table
        Their errors, a table for each track.
    losses : Table
        Their losses.
    worths, saved, costs, controls, pairs, by_class, bounds : Table, optional
        Further tables; None where there is nothing to show.
    notes : list of str
        What to know of the comparisons, or why there are none.
    by_class_problem : str
        Why there are no errors by class, if they cannot be read.
    """

    group: Group
    details: list[str]
    footnotes: list[str]
    leaderboards: list[Table]
    losses: Table
    worths: Table | None = None
    saved: Table | None = None
    costs: Table | None = None
    controls: Table | None = None
    pairs: Table | None = None
    notes: tuple[str, ...] = ()
    by_class: Table | None = None
    by_class_problem: str = ""
    bounds: Table | None = None


def make_page(
    runs: Sequence[Run],
    left_out: Sequence[str] = (),
    parts: Sequence[Group] | None = None,
) -> str:
    """Return the report of runs as HTML.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs.
    left_out : sequence of str
        A line for each run that could not be taken.
    parts : sequence of Group, optional
        The runs' groups, if somebody has made them already: they keep what they have
        computed.
    """
    if parts is None:
        parts = groups(runs)
    charts = [chart(part.runs, part.title) for part in parts]
    # A setting that makes groups of runs, such as the number of classes, has no group
    # to show what it does: one more chart has all of them.
    overview = len(parts) > 1 and swept_axis(runs) is not None
    if overview:
        charts.append(chart(runs, "All runs"))
    shared, each = page_tables.settings(runs)
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=_title(runs),
            count=plural(len(runs), "run"),
            simulated=is_simulated(runs),
            hints=hints(runs),
            links=_links(parts, bool(left_out)),
            overview=overview,
            sections=[_section(part) for part in parts],
            commands=commands(runs),
            provenance=page_tables.provenance(runs),
            shared=shared,
            each=each,
            left_out=left_out,
            version=__version__,
            # page.js reads it from the page itself: no file beside it is needed.
            charts={"measures": MEASURE_NAMES, "groups": charts},
        )
    )


def _environment() -> "jinja2.Environment":
    """Return templates in which every text is escaped, unless it is said to be safe."""
    import jinja2

    environment = jinja2.Environment(
        # Scripts and styles are written into the page as well.
        loader=jinja2.FileSystemLoader([_HERE / "templates", _HERE / "static"]),
        autoescape=True,
        # A misspelt name is an error, not an empty place on the page.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # The order of measures is that in which they are offered; NaN is no JSON.
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False,
        "separators": (",", ":"),
    }
    return environment


def _title(runs: Sequence[Run]) -> str:
    experiments = [run.info.experiment for run in runs if run.info.experiment]
    name = ", ".join(in_order(experiments)) or "rsbench"
    return f"{name}: {data_label(runs)}"


def _links(parts: Sequence[Group], left_out: bool) -> list[Link]:
    """Return the navigation: a single group's parts, or else the groups."""
    if len(parts) == 1:
        links = [Link("results-0", "Results")]
        if _told_anything(parts[0]):
            links.append(Link("worth-0", "Worth"))
        links += [Link("curves-0", "Curves"), Link("pairs-0", "Comparisons")]
    else:
        links = [Link(f"group-{i}", part.title) for i, part in enumerate(parts)]
    links += [Link("repeat", "Repeat it"), Link("what", "What was run")]
    if left_out:
        links.append(Link("left-out", "Left out"))
    return links


def _told_anything(group: Group) -> bool:
    """Tell whether a group has anything whose worth can be asked."""
    if group.claims is None:
        return False
    return any(claim.worths for claim in group.claims.methods)


def _section(group: Group) -> Section:
    """Return everything on runs that can be compared with each other."""
    # Runs with a hole in their curves have their place in these, but in no comparison.
    section = Section(
        group,
        details=[*changed_for_all(group.runs), *data_details(group.runs)],
        footnotes=footnotes(group.runs),
        leaderboards=page_tables.leaderboards(group),
        losses=page_tables.losses(group.runs),
    )
    if not group.good:
        return section
    pairs, told = _pairs(group)
    by_class = None
    problem = ""
    try:
        by_class = page_tables.by_class(group.good)
    except UserError as error:  # which costs nothing but that table
        problem = str(error)
    worths = None
    saved = None
    costs = page_tables.costs(group.claims)
    controls = None
    if group.claims is not None:
        worths = page_tables.worths(group.claims)
        saved = page_tables.saved(group.claims)
        if group.claims.controls:
            controls = page_tables.controls(group.claims.controls)
    return replace(
        section,
        worths=worths,
        saved=saved,
        costs=costs,
        controls=controls,
        pairs=pairs,
        notes=told,
        by_class=by_class,
        by_class_problem=problem,
        bounds=page_tables.bounds(group.good),
    )


def _pairs(group: Group) -> tuple[Table | None, tuple[str, ...]]:
    """Return all comparisons, and what to know of them."""
    problem = group.not_compared
    if problem is not None:
        if len(group.good) < 2:
            return None, ("A single run: nothing to compare it with.",)
        return None, (f"Not compared: {problem}.",)
    if not group.comparisons:
        return None, ("No two of these runs differ in their methods alone.",)
    return page_tables.pairs(group), tuple(notes(group))
