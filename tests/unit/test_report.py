"""Tables and figures: what a person reads, and the word simulated on all of it."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from rsbench.core.measures import MEASURES
from rsbench.report import draw, make_latex, make_tables
from rsbench.report.figure import against, against_samples
from rsbench.report.labels import swept_axis, varying
from rsbench.report.paper import TABLES, published
from rsbench.store.record import COLUMNS, Run


def run(
    method="lean",
    preprocessor="none",
    simulated=True,
    experiment="cub",
    seeds=2,
    steps=(5, 10, 20),
    error=0.5,
    overrides=(),
    **config,
):
    rows = [(seed, step) for seed in range(seeds) for step in steps]
    curves = {
        measure: np.array([error + 0.1 * seed for seed, _ in rows])
        for measure in MEASURES
    }
    curves |= {
        "seed": np.array([s for s, _ in rows]),
        "step": np.array([k for _, k in rows]),
    }
    curves["samples"] = curves["step"]
    assert set(curves) == set(COLUMNS)
    info = {
        "method": method,
        "preprocessor": preprocessor,
        "experiment": experiment,
        "overrides": list(overrides),
        "config": {
            "preprocessor": {"name": preprocessor},
            "learner": {"C": 1.0},
            **config,
        },
        "data": {
            "name": "cub",
            "simulated": simulated,
            "identity": "x",
            "how_to_get_real": "Fetch it" if simulated else None,
        },
        "classes": config.get("classes", 50),
        "unit": "samples per class",
    }
    return Run(Path("x"), info, curves)


def test_table_has_means_errors_and_the_papers_figures():
    text = make_tables([run(), run("class_soft"), run("mine")])
    lean = next(line for line in text.splitlines() if line.startswith("| lean"))
    assert lean.split("|")[3].strip() == "55.0 ± 5.0"
    assert [cell.strip() for cell in lean.split("|")[6:9]] == [
        "93.44",
        "85.45",
        "80.28",
    ]
    mine = next(line for line in text.splitlines() if line.startswith("| mine"))
    assert [cell.strip() for cell in mine.split("|")[6:9]] == ["–"] * 3
    assert "cumulative loss" in text and "preprocessor" in text


def test_papers_figures_only_stand_beside_the_papers_setting():
    assert published(run().info, "cumulative_error", 10) == 85.45
    assert (
        published(
            run("class_soft", experiment="sun", classes=41).info, "cumulative_loss", 20
        )
        == 1355
    )
    harmless = [
        "+experiment=cub",
        "method=lean",
        "seeds=20",
        "tracking=none",
        "dataset.source=simulated",
    ]
    assert published(run(overrides=harmless).info, "cumulative_error", 5) == 93.44
    features = [
        "dataset.split=[75,25,50]",
        "extractor=precomputed",
        "extractor.path=x.npz",
    ]
    assert published(run(overrides=features).info, "cumulative_error", 5) == 93.44
    others = [
        run(classes=12),
        run("mine"),
        run(experiment=None),
        run(experiment="c_scan"),
    ]
    assert (
        published(run(overrides=["preprocessor=none"]).info, "cumulative_error", 5)
        == 93.44
    )
    others += [
        run(overrides=[word])
        for word in (
            "preprocessor=center",
            "preprocessor=none_of_mine",
            "dataset=arrays",
            "learner.C=2",
            "protocol.classes=9",
        )
    ]
    for other in others:
        assert published(other.info, "cumulative_error", 10) is None
    assert "paper @" not in make_tables([run(experiment=None)])
    assert all(
        len(row) == 2 and len(row[0]) == len(row[1]) == 3
        for t in TABLES.values()
        for row in t.values()
    )


def test_simulated_is_said_in_tables_and_real_is_not():
    assert "SIMULATED" in make_tables([run()]) and "Fetch it" in make_tables([run()])
    assert "SIMULATED" not in make_tables([run(simulated=False)])
    assert "cub (SIMULATED), cub" in make_tables([run(), run(simulated=False)])


def test_preprocessor_and_whatever_else_varies_is_a_column():
    runs = [
        run(learner={"C": C}, preprocessor=p)
        for C in (0.1, 1.0)
        for p in ("none", "center")
    ]
    header = make_tables(runs).splitlines()[2]
    assert "preprocessor" in header and "learner.C" in header
    assert varying([run(), run("class_soft", learner={"name": "x", "C": 1.0})]) == {}


def test_only_what_tells_runs_apart_is_a_column():
    by_data = [
        run(dataset={"name": name, **own})
        for name, own in (("cub", {"root": 1}), ("synthetic", {"marks": 3}))
    ]
    assert list(varying(by_data)) == ["dataset.name"]
    steps = [
        run(protocol={"name": "per_class", "samples_per_class": n, "classes": k})
        for n in (5, 10)
        for k in (3, 6)
    ]
    for each, k in zip(steps, (3, 6, 3, 6), strict=True):
        each.info["classes"] = k
    assert list(varying(steps)) == ["classes", "protocol.samples_per_class"]
    assert list(varying([run(seeds=1), run(seeds=3)])) == []
    assert list(varying([run(config_seeds=1), run(config_seeds=3)])) == ["config_seeds"]


def test_bounds_are_shown_where_the_number_of_classes_does_not_tell():
    runs = [run(protocol={"min_samples": low}) for low in (75, 74, 40)]
    for each, k in zip(runs, (16, 16, 41), strict=True):
        each.info["classes"] = k
    assert list(varying(runs)) == ["classes", "protocol.min_samples"]


def test_steps_stand_in_order():
    header = make_tables([run(steps=(5, 10, 20)), run(steps=(1, 2, 4))]).splitlines()[2]
    assert re.findall(r"@(\d+)", header)[:6] == ["1", "2", "4", "5", "10", "20"]


def test_the_figure_draws_test_errors_with_their_standard_errors():
    runs = [run(error=0.5), run("mine", error=0.3)]
    for each in runs:
        each.curves["online_loss"] = (
            each.curves["online_loss"] + 7
        )  # nothing else is drawn by mistake
    lean, mine = against_samples(runs)
    assert (lean.method, lean.x) == ("lean", [5, 10, 20])
    assert lean.mean["test_error"] == pytest.approx([55] * 3) and mine.mean[
        "test_error"
    ] == pytest.approx([35] * 3)
    assert lean.error["test_error"] == pytest.approx([5] * 3)
    swept = [run(learner={"C": C}, error=C) for C in (0.3, 0.1)]
    (line,) = against(swept, [0.3, 0.1])
    assert line.x == [0.1, 0.3] and line.mean["test_error"] == pytest.approx([15, 35])
    assert line.error["test_error"] == pytest.approx([5, 5])


def test_a_file_name_is_no_mathematics(tmp_path):
    draw([run(dataset={"path": "a$\\foo$b.npz"})], tmp_path / "curves.png")


def test_latex_table_is_booktabs_with_the_lowest_of_each_column_in_bold():
    runs = [run("lean", error=1.0), run("50% & more_{a}", error=0.093, simulated=False)]
    text = make_latex(runs)
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert (
        len(rows) == 4
        and len({row.count("&") - row.count(r"\&") for row in rows[1:]}) == 1
    )
    assert rows[2].startswith(r"lean & 105.0 $\pm$ 5.0")
    assert rows[3].startswith(
        r"50\% \& more\_\{a\} & \textbf{14.3 $\pm$ 5.0}"
    )  # 9.3 and 19.3 %; text would sort "105" first
    assert r"\toprule" in text and "SIMULATED" in text and r"\bottomrule" in text
    assert "SIMULATED" not in make_latex(runs[1:])


def test_theta_is_one_column_and_one_axis():
    runs = [run(theta=theta, aggregator={"theta": theta}) for theta in (3, 5)]
    assert list(varying(runs)) == ["aggregator.theta"]


def test_one_seed_shows_no_standard_error():
    text = make_tables([run(seeds=1)])
    assert "±" not in text.split("\n", 1)[1] and "1 seed." in text


def test_numeric_sweep_becomes_the_axis():
    assert (
        swept_axis([run(learner={"C": C}) for C in (0.1, 1.0, 10.0)])[0] == "learner.C"
    )
    by_classes = [
        run(classes=k, protocol={"min_samples": m}) for k, m in ((13, 75), (41, 40))
    ]
    for each, k in zip(by_classes, (13, 41), strict=True):
        each.info["config"].pop("classes")
        each.info["classes"] = k
    assert swept_axis(by_classes) == ("classes", [13, 41])
    assert swept_axis([run(), run("class_soft")]) is None


@pytest.mark.parametrize(
    "runs",
    [
        [run()],
        [run(seeds=1)],
        [
            run(learner={"C": C}, method=m)
            for C in (0.1, 1.0, 100.0)
            for m in ("lean", "mine")
        ],
        [run(f"method{i}") for i in range(30)],
        [
            run(f"method{i}", preprocessor=p)
            for i in range(25)
            for p in ("none", "center", "standardize")
        ],
    ],
)
def test_figures_are_drawn_and_say_simulated(runs, tmp_path):
    assert draw(runs, tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    # Text stays text in an SVG.
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        assert "cub (SIMULATED)" in draw(runs, tmp_path / "curves.svg").read_text()
