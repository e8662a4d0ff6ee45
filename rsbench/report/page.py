"""One HTML file with everything: opens from disk, needs no network, and is read on a phone as well."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rsbench import __version__
from rsbench.core.measures import MEASURES
from rsbench.core.statistics import (
    ENOUGH_TO_BOOTSTRAP,
    WHY_CORRECTED,
    Comparison,
    Interval,
    Needed,
    area_under_curve,
    bootstrap_interval,
    compared_step,
    critical_t,
    levels,
    needed,
    t_interval,
)
from rsbench.errors import UserError
from rsbench.report.collect import Group, groups
from rsbench.report.comparisons import against_first, family_sizes, wilcoxon_note
from rsbench.report.figure import against, against_samples, is_wide
from rsbench.report.findings import Findings, change, points, scores
from rsbench.report.labels import (
    commands,
    data_details,
    data_label,
    flatten,
    hints,
    is_simulated,
    p_text,
    signed,
    swept_axis,
    varying,
)
from rsbench.report.markup import Cell, bullets, number, plain, table, text_of
from rsbench.report.paper import published
from rsbench.report.table import MEASURES as TABLED
from rsbench.report.table import lowest, mean_text
from rsbench.store.record import Run

_HERE = Path(__file__).parent
_MEASURE_NAMES = {
    "test_error": "test error, %",
    "cumulative_error": "cumulative error, %",
    "online_error": "online error, %",
    "test_loss": "test loss",
    "cumulative_loss": "cumulative loss",
    "online_loss": "online loss",
}
#: Errors of each class are shown for so many runs, the first ones.
_MOST_BY_CLASS = 60
_CLASSES_SHOWN = 400


def make_page(
    runs: list[Run], left_out: Sequence[str] = (), parts: list[Group] | None = None
) -> str:
    """The report of these runs, as HTML; `parts` are their groups, if somebody has made them already."""
    parts = parts or groups(runs)
    title = _title(runs)
    overview = len(parts) > 1 and swept_axis(runs) is not None
    body = [_header(title, runs, parts, bool(left_out)), "<main>"]
    if overview:  # of what makes groups of runs, such as the number of classes
        body.append(f"<h2>All runs</h2>{_chart(len(parts))}")
    body += [_group(i, part, len(parts)) for i, part in enumerate(parts)]
    body += [_repeat(runs), _what(runs)]
    if left_out:
        body.append(f"<h2 id=left-out>Left out</h2>{bullets(left_out)}")
    body += [
        "</main>",
        f"<footer>Made by rsbench {text_of(__version__)} from the records on disk.</footer>",
    ]
    charts = [_charted(part.runs, part.title) for part in parts]
    charts += [_charted(runs, "All runs")] if overview else []
    payload = {"measures": _MEASURE_NAMES, "groups": charts}
    # A "<" inside a script could end it.
    data = json.dumps(payload, separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Nothing in this file may come from, or go to, anywhere else.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n"
        f"<title>{text_of(title)}</title>\n<style>\n{(_HERE / 'page.css').read_text()}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + f'\n<script type="application/json" id="data">{data}</script>\n'
        + f"<script>\n{(_HERE / 'page.js').read_text()}</script>\n</body>\n</html>\n"
    )


def _title(runs: list[Run]) -> str:
    experiments = dict.fromkeys(
        run.info["experiment"] for run in runs if run.info["experiment"]
    )
    return f"{', '.join(experiments) or 'rsbench'}: {data_label(runs)}"


def _header(title: str, runs: list[Run], parts: list[Group], left_out: bool) -> str:
    simulated = is_simulated(runs)
    badge = ' <span class="badge">SIMULATED</span>' if simulated else ""
    count = f"{len(runs)} run{'' if len(runs) == 1 else 's'}"
    links = [(f"group-{i}", part.title) for i, part in enumerate(parts)]
    if len(parts) == 1:
        links = [
            ("curves-0", "Curves"),
            ("results-0", "Results"),
            ("pairs-0", "Comparisons"),
            ("needed-0", "Samples"),
        ]
    links += [
        ("repeat", "Repeat it"),
        ("what", "What was run"),
        *([("left-out", "Left out")] if left_out else []),
    ]
    warning = ""
    if simulated:
        told = " ".join(map(text_of, hints(runs)))
        warning = (
            f'<p class="warning"><strong>Simulated data.</strong> These numbers say nothing about the real data set, '
            f"nor about the paper's. {told}</p>"
        )
    nav = "".join(f'<a href="#{anchor}">{text_of(name)}</a>' for anchor, name in links)
    several = (
        ""
        if len(parts) == 1
        else f" in {len(parts)} groups that cannot be compared with each other"
    )
    return (
        f'<header><h1>{text_of(title)}{badge}</h1><p class="soft">{count}{several}</p>{warning}'
        f'<nav aria-label="Sections">{nav}</nav></header>'
    )


def _chart(i: int) -> str:
    return f'<figure class="chart" id="chart-{i}" style="margin:0"></figure>'


def _group(i: int, group: Group, of: int) -> str:
    """Everything on runs that can be compared with each other."""
    words = group.findings
    parts = [
        f'<section id="group-{i}">',
        f"<h2>{text_of(group.title)}</h2>" if of > 1 else "",
    ]
    parts += [
        f'<p class="note">{text_of(line)}</p>' for line in data_details(group.runs)
    ]
    if words.claims:
        parts += [
            f'<p class="note">{text_of(words.note)}</p>{bullets(words.claims, "words")}'
        ]
    parts += [bullets(group.problems, "words") if group.problems else ""]
    parts += [f'<h3 id="curves-{i}">Curves</h3>{_chart(i)}']
    parts += [
        f'<noscript><p class="note">The curves need JavaScript; every number is in the tables.</p></noscript>'
        f'<h3 id="results-{i}">Results</h3>{_results(group.runs)}'
    ]
    if group.good:
        parts += [_controls(i, words)] if words.contrasts else []
        parts += [f'<h3 id="pairs-{i}">Seed by seed</h3>{_pairs(group)}']
        parts += [f'<h3 id="needed-{i}">Samples needed</h3>{_needed(group.good)}']
        parts += [_by_class(group.good), _bounds(group.good)]
    return "\n".join([*parts, "</section>"])


def _controls(i: int, words: Findings) -> str:
    """What each control changes: a row per control and method, a column per kind of features."""
    kinds = list(
        dict.fromkeys(
            name for contrast in words.contrasts for name in contrast.to_itself
        )
    )
    header = [
        "control",
        "of",
        *(f"{scores(name)}" for name in kinds),
        *(f"{scores(name)}, to lean" for name in kinds),
    ]
    rows = []
    for contrast in words.contrasts:
        found = [contrast.to_itself.get(name) for name in kinds] + [
            contrast.to_lean.get(name) for name in kinds
        ]
        rows.append(
            [
                contrast.control.words,
                contrast.method,
                *(_changed(comparison) for comparison in found),
            ]
        )
    caption = (
        "What each control does to the error, against the method itself and against lean learning. Colours go by "
        "single intervals: of twenty cells one may be coloured by chance."
    )
    said = bullets(words.controlled, "words") if words.controlled else ""
    note = f'<p class="note">{text_of(words.note)}</p>'
    return f'<h3 id="controls-{i}">Controls</h3>{note}{table(header, rows, caption, text=2)}{said}'


def _changed(comparison: Comparison | None) -> Cell:
    if comparison is None:
        return Cell("")
    word = change(comparison)
    return Cell(
        points(comparison),
        comparison.difference.mean,
        {"better": "best", "worse": "worse"}.get(word, ""),
    )


def _results(runs: list[Run]) -> str:
    """The leaderboards of error and loss."""
    return "".join(_leaderboard(runs, *measure) for measure in TABLED)


def _leaderboard(
    runs: list[Run], measure: str, title: str, scale: int, digits: int
) -> str:
    """Runs, best first; the paper's figures and the difference where it has them."""
    steps = sorted({step for run in runs for step in run.table_steps()})
    fixed, extra = compared_step(runs[0]), varying(runs)
    cited = [[published(run.info, measure, step) for step in steps] for run in runs]
    with_paper = any(figure is not None for figures in cited for figure in figures)
    kinds = _intervals(runs)
    header = ["rank", "method", "preprocessor", *extra, *(f"@{step}" for step in steps)]
    header += [f"95 % @{fixed}{name}" for name in kinds]
    header += (
        [text for step in steps for text in (f"paper @{step}", "difference")]
        if with_paper
        else []
    )
    order = np.argsort([_at(run, measure, fixed) for run in runs], kind="stable")
    best = [lowest(runs, measure, step) for step in steps]
    rows = []
    for rank, i in enumerate(order):
        run = runs[i]
        row: list[Any] = [
            Cell(str(rank + 1), rank),
            run.info["method"],
            run.info["preprocessor"],
        ]
        row += [plain(values[i]) for values in extra.values()]
        for j, step in enumerate(steps):
            look = "best" if run in best[j] else ""
            row.append(
                Cell(
                    mean_text(run, measure, step, scale, digits),
                    _sort(_at(run, measure, step)),
                    look,
                )
            )
        row += [
            _interval_cell(run, measure, fixed, scale, digits, interval)
            for interval in kinds.values()
        ]
        for step, figure in zip(steps, cited[i], strict=True) if with_paper else ():
            gap = None if figure is None else scale * _at(run, measure, step) - figure
            row += [number(figure, "g"), number(gap, f"+.{digits}f")]
        rows.append(row)
    caption = f"{title.capitalize()}, mean ± standard error, best first; the lowest of each column stands out."
    return table(header, rows, caption, text=3 + len(extra), minor=1)


def _intervals(runs: list[Run]) -> dict[str, Callable[..., Interval]]:
    """The intervals that so many seeds allow, by what their column says."""
    seeds = min(run.seeds for run in runs)
    if seeds < 2:
        return {}
    return {"": t_interval} | (
        {", bootstrap": bootstrap_interval} if seeds >= ENOUGH_TO_BOOTSTRAP else {}
    )


def _interval_cell(
    run: Run, measure: str, step: int, scale: int, digits: int, interval: Any
) -> Cell:
    if step not in run.steps or not math.isfinite(_at(run, measure, step)):
        return Cell("–")
    found = interval(scale * run.values(measure)[run.steps.index(step)])
    return Cell(f"{found.low:.{digits}f} to {found.high:.{digits}f}", found.low)


def _at(run: Run, measure: str, step: int) -> float:
    return (
        float(run.mean(measure)[run.steps.index(step)])
        if step in run.steps
        else math.nan
    )


def _sort(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _pairs(group: Group) -> str:
    """Every run against the first one of its family."""
    runs = group.good
    if len(runs) < 2:
        return '<p class="note">A single run: nothing to compare it with.</p>'
    try:
        found = group.comparisons
    except UserError as error:
        return f'<p class="note">Not compared: {text_of(error)}.</p>'
    header = [
        "method",
        "against",
        "difference",
        "95 % interval",
        "effect size",
        "win / tie / loss",
        "p, paired t",
    ]
    header += ["p, Nadeau–Bengio", "p, Wilcoxon", "p, Holm"]
    step, unit = compared_step(runs[0]), runs[0].info["unit"]
    caption = (
        f"Differences in cumulative error at {step} {unit}, in points, paired by seed; negative is less error, and a "
        "win a seed with less error."
    )
    rows = [_pair_row(comparison) for comparison in against_first(runs, found)]
    note = f"Holm's correction is over {family_sizes(runs)}, on Nadeau and Bengio's p. {WHY_CORRECTED}"
    lines = [note if runs[0].seeds > 1 else "", wilcoxon_note(runs[0].seeds)]
    notes = "".join(f'<p class="note">{text_of(line)}</p>' for line in lines if line)
    return table(header, rows, caption, text=2) + notes


def _pair_row(c: Comparison) -> list[Any]:
    low, high = -c.difference.high, -c.difference.low
    interval = (
        Cell(f"{signed(low)} to {signed(high)}", low)
        if math.isfinite(low)
        else Cell("–")
    )
    ps = [
        c.p_t,
        c.p_corrected,
        math.nan if c.p_wilcoxon is None else c.p_wilcoxon,
        c.p_holm,
    ]
    return [
        c.second,
        c.first,
        Cell(signed(-c.difference.mean), -c.difference.mean),
        interval,
        number(-c.effect, "+.2f"),
        Cell(f"{c.losses} / {c.ties} / {c.wins}", c.losses),
        *(Cell("–") if math.isnan(p) else Cell(p_text(p), p) for p in ps),
    ]


def _needed(runs: list[Run]) -> str:
    """Samples needed to reach errors, and the area under the curve."""
    wanted, unit = levels(runs), runs[0].info["unit"]
    header = [
        "method",
        *(f"≤ {100 * level:.0f} %" for level in wanted),
        "area under the curve, %",
    ]
    rows = []
    for run in runs:
        area = t_interval(100 * area_under_curve(run))
        row: list[Any] = [
            run.info["label"],
            *(_needed_cell(needed(run, level), run.steps[-1]) for level in wanted),
        ]
        spread = f" ± {area.high - area.mean:.1f}" if math.isfinite(area.high) else ""
        rows.append([*row, Cell(f"{area.mean:.1f}{spread}", area.mean)])
    caption = (
        f"{unit.capitalize()} until the test error first falls to so much, and the mean test error over the whole "
        "curve; ± 95 % interval over seeds."
    )
    return table(header, rows, caption, text=1)


def _needed_cell(found: Needed, last: int) -> Cell:
    if found.samples is None:
        told = (
            f" in {found.seeds - found.reached} of {found.seeds}"
            if found.reached
            else ""
        )
        return Cell(f"> {last}{told}", 1e300)
    spread = found.samples.high - found.samples.mean
    return Cell(
        f"{found.samples.mean:.1f}"
        + (f" ± {spread:.1f}" if math.isfinite(spread) else ""),
        found.samples.mean,
    )


def _by_class(runs: list[Run]) -> str:
    """Each class's error at the end, a row per class and a column per run."""
    try:
        shown = [(run, run.per_class()) for run in runs[:_MOST_BY_CLASS]]
    except UserError as error:
        return f'<p class="note">No errors by class: {text_of(error)}.</p>'
    shown = [(run, errors) for run, errors in shown if errors]
    names = list(dict.fromkeys(name for _, errors in shown for name in errors))
    if not names:
        return ""
    mean = {
        name: np.mean([errors[name][1] for _, errors in shown if name in errors])
        for name in names
    }
    names = sorted(names, key=lambda name: -mean[name])[:_CLASSES_SHOWN]
    rows = []
    for name in names:
        row: list[Any] = [name, Cell(f"{100 * mean[name]:.0f}", float(mean[name]))]
        for _, errors in shown:
            found = errors.get(name)
            row.append(
                Cell(f"{100 * found[1]:.0f}", found[1], heat=found[1])
                if found
                else Cell("–")
            )
        rows.append(row)
    header = ["class", "all", *(run.info["label"] for run, _ in shown)]
    left = (
        f" The first {len(shown)} of {len(runs)} runs."
        if len(runs) > len(shown)
        else ""
    )
    caption = f"Test error of each class at the last step, in %, pooled over seeds; hardest first.{left}"
    return f"<details><summary>Error by class</summary>{table(header, rows, caption, text=1, tall=True)}</details>"


def _bounds(runs: list[Run]) -> str:
    shown = {"as_printed": ".1f", "scale_free_ratio": ".3f"}
    rows = [
        [
            run.info["label"],
            *(number(bound.get(key), form) for key, form in shown.items()),
        ]
        for run in runs
        if isinstance(bound := run.info.get("bound"), dict) and bound
    ]
    if not rows:
        return ""
    header = ["method", "bound as printed", "max |r∘x| / max |x|"]
    caption = (
        "The paper's generalisation bound for the samples learned from, as printed, δ = 0.05. It has slips (√‖x‖ is "
        "not homogeneous, theorem and proof differ by a factor of 2, the empirical loss is a sum, and scaling "
        "relevance down improves it for free), so no conclusion is rested on it. The ratio, with relevance scaled to "
        "at most 1, has no scale."
    )
    return f"<details><summary>The paper's bound</summary>{table(header, rows, caption, text=1)}</details>"


def _repeat(runs: list[Run]) -> str:
    return f'<h2 id="repeat">Repeat it</h2><div class="copy"><pre>{text_of(chr(10).join(commands(runs)))}</pre></div>'


def _what(runs: list[Run]) -> str:
    """Settings, versions and data: what every run shares, and what tells them apart."""
    flats = [
        flatten(
            {
                key: value
                for key, value in run.info["config"].items()
                if key != "tracking"
            }
        )
        for run in runs
    ]
    keys = list(dict.fromkeys(key for flat in flats for key in flat))
    shared: list[tuple[str, set[str]]] = []
    own: list[tuple[str, set[str]]] = []
    for key in keys:
        values = {plain(flat.get(key, "–")) for flat in flats}
        (shared if len(values) == 1 else own).append((key, values))
    about = [("git commit", run.info["git_commit"] or "–") for run in runs]
    about += [
        (name, version)
        for run in runs
        for name, version in run.info["versions"].items()
    ]
    about += [("data", f"{_data(run)}") for run in runs]
    about += [
        (
            f"plugin {plugin['plugin']}",
            f"{plugin['version'] or ''} sha256 {str(plugin['sha256'])[:16]}",
        )
        for run in runs
        for plugin in run.info.get("plugins", [])
    ]
    rows = [[key, value] for key, value in dict.fromkeys(about)]
    header = [
        "run",
        "seeds",
        "seconds",
        "fingerprint",
        "tuned",
        *(key for key, _ in own),
    ]
    each = [
        [
            run.info["label"],
            number(run.seeds, "d"),
            number(run.info["seconds"], ".1f"),
            run.info["fingerprint"][:16],
            _tuned(run),
            *(plain(flat.get(key, "–")) for key, _ in own),
        ]
        for run, flat in zip(runs, flats, strict=True)
    ]
    common = [[key, next(iter(values))] for key, values in shared]
    return (
        '<h2 id="what">What was run</h2>'
        + table(["", ""], rows, "Versions and data, by content.", text=2)
        + f"<details><summary>Settings that all runs share ({len(common)})</summary>"
        + table(["setting", "value"], common, "", text=2)
        + f"</details><details><summary>Each run ({len(runs)})</summary>"
        + table(header, each, "", text=len(header), tall=True)
        + "</details>"
    )


def _data(run: Run) -> str:
    data = run.info["data"]
    return f"{data['name']}{' (SIMULATED)' if data['simulated'] else ''}, sha256 {str(data['identity'])[:16]}"


def _tuned(run: Run) -> str:
    """What was tuned, over all seeds, and whether the grid ended there."""
    found: dict[str, list[str]] = {}
    grid = flatten(run.info["config"].get("tune") or {})
    for values in run.info["tuned"].values():
        for key, value in values.items():
            ends = [grid[key][0], grid[key][-1]] if len(grid.get(key, ())) > 1 else []
            found.setdefault(key, []).append(
                plain(value) + (" (edge of the grid)" if value in ends else "")
            )
    return (
        "; ".join(
            f"{key}={'/'.join(dict.fromkeys(values))}" for key, values in found.items()
        )
        or "–"
    )


def _charted(runs: list[Run], title: str) -> dict[str, Any]:
    """What the chart of a group draws: runs against samples, and against a swept setting if there is one."""
    views = [
        {
            "name": " / ".join(dict.fromkeys(run.info["unit"] for run in runs)),
            "log": False,
        }
    ]
    views[0]["lines"] = _styled(against_samples(runs, MEASURES))
    axis = swept_axis(runs)
    if axis:
        views.append(
            {
                "name": axis[0],
                "log": is_wide(axis[1]),
                "lines": _styled(against(runs, axis[1], MEASURES)),
            }
        )
    return {"title": title, "first": len(views) - 1, "views": views}


def _styled(lines: list[Any]) -> list[dict[str, Any]]:
    methods = list(dict.fromkeys(line.method for line in lines))
    variants = list(dict.fromkeys(line.variant for line in lines))
    return [
        {
            "label": f"{line.method}, {line.variant}" if line.variant else line.method,
            "color": methods.index(line.method),
            "dash": variants.index(line.variant),
            "x": [float(x) for x in line.x],
            "t": critical_t(0.95, line.seeds) if line.seeds > 1 else 0,
            "mean": {
                measure: _rounded(values) for measure, values in line.mean.items()
            },
            "error": {
                measure: _rounded(values) for measure, values in line.error.items()
            },
        }
        for line in lines
    ]


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
