"""Tables and figures: what a person reads, and the word simulated on all of it."""

import re
import subprocess
import sys

import matplotlib
import numpy as np
import pytest

from rsbench.core.data import Drawn
from rsbench.core.told import OfBackground, Told
from rsbench.core.worth import Worth
from rsbench.report import draw, make_comparisons, make_latex, make_tables
from rsbench.report.claims import MethodClaim, Verdict
from rsbench.report.collect import Group
from rsbench.report.figure import against, against_samples, with_counterparts
from rsbench.report.labels import swept_axis, varying
from rsbench.report.page_tables import _price_cell
from rsbench.report.paper import TABLES, published
from rsbench.report.table import TABLED, by_track, line_after, results
from rsbench.store.record import Run
from rsbench.store.run_info import SplitSizes
from tests import made_up


def run(
    method="lean",
    simulated=True,
    seeds=2,
    steps=(5, 10, 20),
    error=0.5,
    classes=50,
    about=None,
    **config,
):
    """A run of the paper's experiment, whose seeds differ by 0.1."""
    values = error + 0.1 * np.arange(seeds) + np.zeros((len(steps), 1))
    usual = {
        "experiment": "cub",
        "classes": classes,
        "data": made_up.data(
            simulated=simulated, how_to_get_real="Fetch it" if simulated else None
        ),
        "config": {"learner": {"C": 1.0}, **config},
    }
    return made_up.run(values, method, list(steps), **{**usual, **(about or {})})


def table_rows(text):
    """The cells of each table row in a Markdown text, by the row's first cell."""
    found = {}
    for line in text.splitlines():
        if line.startswith("|"):
            first, *others = (cell.strip() for cell in line.split("|")[1:-1])
            found.setdefault(first, others)
    return found


def test_table_has_means_errors_and_the_papers_figures():
    text = make_tables([run(), run("class_soft"), run("mine")])
    rows = table_rows(text)
    assert rows["lean"][:3] == ["nothing", "none", "55.0 ± 5.0"]
    assert rows["lean"][5:] == ["93.44", "85.45", "80.28"]
    assert rows["mine"][5:] == ["–"] * 3
    assert "cumulative loss" in text and "preprocessor" in text


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"force": True},
        {"on_error": "stop"},
        {"seeds": 20, "tracking": "none", "dataset.source": "simulated"},
        {"dataset.split": [75, 25, 50], "extractor": "precomputed"},
        {"extractor.path": "x.npz", "extractor.backbone": "another"},
    ],
)
def test_settings_that_keep_the_experiment_keep_the_papers_figures(changed):
    info = run(about={"changed": changed}).info
    assert published(info, "cumulative_error", 5) == 93.44
    assert published(info, "cumulative_error", 10) == 85.45
    assert published(info, "cumulative_loss", 20) == 2364


@pytest.mark.parametrize(
    "change",
    [
        {"changed": {"learner.C": 3.0}},
        {"changed": {"protocol.classes": 9}},
        {"changed": {"dataset": "arrays"}},
        {"changed": {"extractor.epochs": 3}},
        {"changed": {"a_plugins_own": 1}},
        {"preprocessor": "center"},
        {"preprocessor": "none_of_mine"},
        {"control": "tuned"},
        {"classes": 12},
        {"experiment": None},
        {"experiment": "c_scan"},
        {"experiment": "somebody's"},
    ],
)
def test_any_other_setting_is_not_the_papers(change):
    info = run(about=change).info
    assert published(info, "cumulative_error", 10) is None
    assert "paper @" not in make_tables([run(about=change)])


def test_the_papers_tables_are_complete():
    sun = run("class_soft", about={"experiment": "sun", "classes": 41}).info
    assert published(sun, "cumulative_loss", 20) == 1355
    assert published(run("mine").info, "cumulative_error", 10) is None
    assert published(run().info, "cumulative_error", 7) is None
    for table in TABLES.values():
        for errors, losses in table.values():
            assert len(errors) == len(losses) == 3


def test_simulated_is_said_in_tables_and_real_is_not():
    assert "SIMULATED" in make_tables([run()]) and "Fetch it" in make_tables([run()])
    assert "SIMULATED" not in make_tables([run(simulated=False)])
    assert "cub (SIMULATED), cub" in make_tables([run(), run(simulated=False)])


def test_preprocessor_and_whatever_else_varies_is_a_column():
    runs = [
        run(learner={"C": C}, about={"preprocessor": p})
        for C in (0.1, 1.0)
        for p in ("none", "center")
    ]
    header = make_tables(runs).splitlines()[2]
    assert "preprocessor" in header and "learner.C" in header
    assert varying([run(), run("class_soft", learner={"name": "x", "C": 1.0})]) == {}


def test_controls_have_a_column_where_there_are_any():
    runs = [run(), run("mine"), run("mine", about={"control": "shuffled"})]
    header, _, lean, line, mine, shuffled = make_tables(runs).splitlines()[2:8]
    assert [cell.strip() for cell in header.split("|")[1:5]] == [
        "cumulative error %",
        "control",
        "told",
        "preprocessor",
    ]
    assert [cell.strip() for cell in mine.split("|")[1:3]] == ["mine", "–"]
    assert [cell.strip() for cell in shuffled.split("|")[1:3]] == ["mine", "shuffled"]
    assert "control" not in make_tables(runs[:2])
    assert "mine & shuffled &" in make_latex(runs)


def test_a_line_stands_between_the_papers_rows_and_others():
    runs = [
        run("ncm", about={"told": Told.NOTHING}),
        run(),
        run("svm_ff"),
        run("ellipsotron"),
    ]
    lines = [line for line in make_tables(runs).splitlines() if line.startswith("|")]
    errors = lines[: len(lines) // 2]
    first = [line.split("|")[1].strip() for line in errors]
    # By track, above and below.
    assert first[2:] == ["lean", "ellipsotron", "*not in the paper*", "ncm", "svm_ff"]
    assert len({len(line) for line in errors}) == 1
    assert line_after(by_track(runs)) == 2
    # Where nothing is the paper's, there is nothing to tell apart.
    for others in (
        runs[:1],
        [
            run("ncm", about={"experiment": "cub_field"}),
            run("lean", about={"experiment": "cub_field"}),
        ],
    ):
        assert "not in the paper" not in make_tables(others)


def test_methods_told_of_the_background_have_a_track_of_their_own():
    told = {"told": Told.NOTHING, "told_background": OfBackground.LABELS}
    runs = [
        run("gaussian", about=told),
        run("ridge", about={"told": Told.NOTHING}),
        run("mine"),
    ]
    text = make_tables(runs)
    tracks = [
        line.split("|")[2].strip() for line in text.splitlines() if line.startswith("|")
    ]
    assert tracks[2:5] == ["nothing", "labels of the background", "votes"]
    errors, _ = TABLED
    assert results(runs, errors).best[20].tolist() == [False, False, False]


def test_what_a_control_changes_is_no_column_of_its_own():
    tuned = run("mine", about={"control": "tuned"}, tune={"learner": {"C": [1, 2]}})
    assert varying([run("mine"), tuned]) == {}


def test_only_what_tells_runs_apart_is_a_column():
    by_data = [
        run(dataset={"name": name, **own})
        for name, own in (("cub", {"root": 1}), ("synthetic", {"marks": 3}))
    ]
    assert list(varying(by_data)) == ["dataset.name"]
    steps = [
        run(
            protocol={"name": "per_class", "samples_per_class": n, "classes": k},
            classes=k,
        )
        for n in (5, 10)
        for k in (3, 6)
    ]
    assert list(varying(steps)) == ["classes", "protocol.samples_per_class"]
    assert list(varying([run(seeds=1), run(seeds=3)])) == []
    assert list(varying([run(config_seeds=1), run(config_seeds=3)])) == ["config_seeds"]


def test_where_runs_are_tracked_does_not_tell_them_apart():
    assert varying([run(tracking={"uri": uri}) for uri in ("here", "there")]) == {}


def test_bounds_are_shown_where_the_number_of_classes_does_not_tell():
    runs = [
        run(protocol={"min_samples": low}, classes=k)
        for low, k in ((75, 16), (74, 16), (40, 41))
    ]
    assert list(varying(runs)) == ["classes", "protocol.min_samples"]


def test_steps_stand_in_order():
    header = make_tables([run(steps=(5, 10, 20)), run(steps=(1, 2, 4))]).splitlines()[2]
    assert re.findall(r"@(\d+)", header)[:6] == ["1", "2", "4", "5", "10", "20"]


def test_the_figure_draws_test_errors_with_their_standard_errors():
    runs = [run(error=0.5), run("mine", error=0.3)]
    for each in runs:
        # Nothing else is drawn by mistake.
        each.curves["online_loss"] = each.curves["online_loss"] + 7
    lean, mine = against_samples(runs)
    assert (lean.method, lean.x) == ("lean", [5, 10, 20])
    assert lean.mean["test_error"] == pytest.approx([55] * 3)
    assert mine.mean["test_error"] == pytest.approx([35] * 3)
    assert lean.error["test_error"] == pytest.approx([5] * 3)
    swept = [run(learner={"C": C}, error=C) for C in (0.3, 0.1)]
    (line,) = against(swept, [0.3, 0.1])
    assert line.x == [0.1, 0.3] and line.mean["test_error"] == pytest.approx([15, 35])
    assert line.error["test_error"] == pytest.approx([5, 5])


def test_a_counterpart_is_a_line_of_its_methods_colour_unless_it_is_in_the_sweep():
    lean = made_up.around(0.8)
    runs = [made_up.around(0.7, name, counterpart=lean) for name in "ab"]
    lines = with_counterparts(runs)
    assert [line.label(False) for line in lines] == ["a", "b", "lean (counterpart)"]
    assert lines[2].method == "a" and lines[2].mean["test_error"][0] == pytest.approx(
        80
    )
    assert len(with_counterparts([lean, *runs])) == 3


def test_a_control_is_a_line_of_its_own():
    swept = [
        run("mine", learner={"C": C}, about={"control": control})
        for C in (0.1, 0.3)
        for control in (None, "shuffled")
    ]
    lines = against(swept, [0.1, 0.1, 0.3, 0.3])
    assert [line.method for line in lines] == ["mine", "mine (shuffled)"]


def test_a_file_name_is_no_mathematics(tmp_path):
    draw([run(dataset={"path": "a$\\foo$b.npz"})], tmp_path / "curves.png")


def test_latex_table_is_booktabs_with_the_lowest_of_each_track_in_bold():
    runs = [run("lean", error=0.01), run("mine", error=1.0)]
    runs.append(run("50% & more_{a}", error=0.093))
    text = make_latex(runs)
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    note = r"\multicolumn{8}{l}{\emph{not in the paper}} \\"
    assert rows.pop(3) == note
    assert len(rows) == 5
    assert len({row.count("&") - row.count(r"\&") for row in rows[1:]}) == 1
    # Told nothing, it has no peers to be better than.
    assert rows[2].startswith(r"lean & nothing & 6.0 $\pm$ 5.0")
    assert rows[3].startswith(r"mine & votes & 105.0 $\pm$ 5.0")
    # 9.3 and 19.3 %; text would sort "105" first.
    expected = r"50\% \& more\_\{a\} & votes & \textbf{14.3 $\pm$ 5.0}"
    assert rows[4].startswith(expected)
    assert r"\toprule" in text and "SIMULATED" in text and r"\bottomrule" in text
    assert "SIMULATED" not in make_latex([run(simulated=False)])


def test_losses_are_marked_among_learners_on_the_same_scale_alone():
    """Hinge losses of learners on different scales were once ranked."""
    runs = []
    for name, scale, level in (
        ("a", "margin", 9.0),
        ("b", "margin", 8.0),
        ("c", "log odds", 1.0),
        ("d", "", 0.5),
    ):
        runs.append(run(name, error=level, about={"score_scale": scale}))
    _, losses = TABLED
    assert results(runs, losses).best[20].tolist() == [False, True, False, False]
    errors, _ = TABLED
    assert results(runs, errors).best[20].tolist() == [False, False, False, True]
    assert "scales of their own are not ranked" in make_tables(runs)


def test_methods_stand_by_what_they_were_told():
    sizes = SplitSizes(pool=1600, test=200, learned=40)
    class_votes = {"told": Told.CLASS_VOTES, "samples": sizes}
    runs = [run("soft", about=class_votes), run("mine"), run("lean")]
    rows = table_rows(make_tables(runs))
    order = [name for name in rows if name in ("soft", "mine", "lean")]
    assert order == ["lean", "mine", "soft"]
    assert rows["soft"][0] == "class votes of 1,600 samples; 40 learned from"
    assert rows["mine"][0] == "votes" and rows["lean"][0] == "nothing"
    assert "class votes of 1,600 samples; 40 learned from" in make_latex(runs)


def test_what_was_fixed_beforehand_stands_under_the_tables():
    details = {"detectors": {"auc": 0.8}}
    about = {
        "data": made_up.data(details=details, drawn=Drawn(50, 150)),
        "preprocessor": "center",
        "margin": 0.02,
        "judged_step": 10,
    }
    values = 0.5 + 0.1 * np.arange(6).reshape(1, 3, 2) + np.zeros((3, 1, 1))
    runs = [made_up.run(values, "mine", [5, 10, 20], **about)]
    for text in (make_tables(runs), make_latex(runs).replace("$\\pm$", "±")):
        assert (
            "Features are scores of attribute detectors, trained on annotated" in text
        )
        assert "Preprocessed by center: statistics, if any, of background" in text
        assert (
            "Judged at 10 samples per class; equivalent means surely within ±2 points."
            in text
        )
        assert "over 3 draws of 50 of 150 classes, 2 seeds each" in text
    seen = make_tables(
        [run(about={"preprocessor": "center", "fitted_on_stream": True})]
    )
    assert "center (seen): statistics, if any, of the stream so far" in seen


def test_tables_have_differences_to_counterparts_ranks_and_worth():
    lean = made_up.around(0.8)
    runs = [lean, made_up.around(0.7, "a", counterpart=lean)]
    runs.append(made_up.around(0.6, "b", counterpart=lean))
    rows = table_rows(make_comparisons(Group(runs)))
    assert rows["method"] == [
        *("told", "preprocessor", "rank", "counterpart", "difference"),
        *("95 % interval", "p", "worth @10"),
    ]
    assert rows["a"][2:5] == ["2", "lean", "-10.0"] and rows["b"][2] == "1"
    assert rows["lean"][3:] == ["–"] * 5
    assert "rank & difference & 95 \\% interval & p & worth" in make_latex(runs)


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        (None, "seeds averaged."),
        (Drawn(50, 150), "share some of their classes, by which variances are widened"),
        (Drawn(100, 150), "share most of them, so that nothing is said of other"),
    ],
)
def test_why_variances_are_as_they_are_is_said_of_the_draws_at_hand(drawn, said):
    values = 0.5 + 0.1 * np.arange(6).reshape(1, 3, 2) + np.zeros((2, 1, 1))
    about = {"data": made_up.data(drawn=drawn)}
    lean = made_up.run(values, "lean", **about)
    mine = made_up.run(values**2, "mine", counterpart=lean, **about)
    text = make_comparisons(Group([lean, mine]))
    assert said in text
    assert ("widened" in text) == (drawn is not None)


@pytest.mark.parametrize(
    ("k", "low", "high", "reached", "said"),
    [
        (2.2, 1.1, 3.4, True, "1.2"),
        (4.0, 1.1, 4.0, False, "> 3.0"),
        (1.9, 0.6, 3.0, True, "open"),
        (0.7, 0.6, 3.0, True, "open"),
        (0.7, 0.6, 0.9, True, "none pays"),
        # Below all that could be measured: not "more than -0.5".
        (0.5, 0.5, 0.9, False, "none pays"),
    ],
)
def test_a_price_is_given_where_an_annotation_is_known_to_pay(
    k, low, high, reached, said
):
    worth = Worth(2, k, reached, low, high, low > 0.5, high < 4, largest=4.0)
    claim = MethodClaim(run(), None, Verdict.HELPS)
    assert _price_cell(claim, worth).text == said


def test_theta_is_one_column_and_one_axis():
    runs = [run(theta=theta, aggregator={"theta": theta}) for theta in (3, 5)]
    assert list(varying(runs)) == ["aggregator.theta"]


def test_one_seed_shows_no_standard_error():
    text = make_tables([run(seeds=1)])
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table and "±" not in "".join(table) and "1 seed." in text


def test_numeric_sweep_becomes_the_axis():
    runs = [run(learner={"C": C}) for C in (0.1, 1.0, 10.0)]
    assert swept_axis(runs) == ("learner.C", [0.1, 1.0, 10.0])
    by_classes = [
        run(classes=k, protocol={"min_samples": m}) for k, m in ((13, 75), (41, 40))
    ]
    assert swept_axis(by_classes) == ("classes", [13, 41])
    assert swept_axis([run(), run("class_soft")]) is None
    assert swept_axis([run(learner={"C": C}) for C in (0.1, None)]) is None


def test_data_on_validation_classes_are_called_so():
    data = made_up.data(learn_on="validation")
    text = make_tables([run(about={"data": data})])
    assert text.startswith("Data: cub, validation classes; mean")


@pytest.mark.parametrize(
    "runs",
    [
        [run()],
        [run(seeds=1)],
        [
            run(method, learner={"C": C})
            for C in (0.1, 1.0, 100.0)
            for method in ("lean", "mine")
        ],
        [run(f"method{i}") for i in range(30)],
        [
            run(f"method{i}", about={"preprocessor": p})
            for i in range(25)
            for p in ("none", "center", "standardize")
        ],
    ],
)
def test_figures_are_drawn_and_say_simulated(runs: list[Run], tmp_path):
    assert draw(runs, tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    # Text stays text in an SVG.
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        assert "cub (SIMULATED)" in draw(runs, tmp_path / "curves.svg").read_text()


def test_panels_tell_settings_apart_as_well(tmp_path):
    runs = [
        run(f"m{i}", learner={"C": C}, other=f"{C}", about={"preprocessor": p})
        for i in range(3)
        for C in (1, 2)
        for p in ("none", "center")
    ]
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawn = draw(runs, tmp_path / "curves.svg").read_text()
    assert "preprocessor center" in drawn and "m0, C=1, other=1" in drawn


def test_importing_the_report_imports_nothing_heavy():
    code = (
        "import sys, rsbench.report, rsbench.store.results\n"
        "heavy = {'pandas', 'jinja2', 'matplotlib', 'mlflow', 'torch', 'pyarrow', 'scipy'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_what_was_changed_for_all_runs_is_said():
    """No column has it, and a method's name alone would promise something else."""
    shuffled = {"changed": {"annotation": "shuffled", "force": True}}
    runs = [run("lean", about=shuffled), run("ellipsotron", about=shuffled)]
    line = "Changed for all runs: annotation=shuffled."
    assert line in make_tables(runs) and line in make_latex(runs)
    assert "Changed for all" not in make_tables([runs[0], run("ellipsotron")])
