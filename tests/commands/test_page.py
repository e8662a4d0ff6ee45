"""The report on one page: what is in it, what a browser makes of it, and what happens to odd input."""

import dataclasses
import html
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rsbench.cli.commands import main
from rsbench.core.told import Told
from rsbench.errors import UserError
from rsbench.report import FILES, make_page, write_report
from rsbench.report.collect import from_folders, groups
from rsbench.store.record import read_record
from rsbench.store.run_info import SplitSizes
from tests import made_up
from tests.helpers import SMALL
from tests.made_up import write

EVIL = '<img src=x onerror="document.title=1"></script><script>alert(1)</script>'


def three(folder: Path):
    lean = write(folder / "0", "lean", 0.9)
    mine = write(folder / "1", "a", 0.8, counterpart=lean)
    return [lean, mine, write(folder / "2", EVIL, 0.7, counterpart=lean)]


def embedded(page: str) -> dict:
    return json.loads(
        re.search(
            r'<script type="application/json" id="data">(.*?)</script>', page, re.S
        )[1]
    )


def test_page_has_everything_and_asks_the_network_for_nothing(tmp_path):
    text = html.unescape(make_page(three(tmp_path), ["x/run.json: method missing"]))
    for part in (
        "SIMULATED",
        "Fetch it",
        "by what methods were told",
        "All comparisons",
        "the break-even price",
        "Error by class",
        "bird 3",
    ):
        assert part in text
    for part in (
        "The paper's bound",
        "python -m rsbench +experiment=cub method=lean",
        "sha256 abc",
        "x/run.json: method",
    ):
        assert part in text
    assert (
        not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
        and "@import" not in text
    )
    assert "default-src 'none'" in text


def test_names_are_never_markup(tmp_path):
    text = make_page(three(tmp_path))
    assert "<img" not in text and text.count("<script") == 2
    assert [
        line["label"] for line in embedded(text)["groups"][0]["views"][0]["lines"]
    ] == ["lean", "a", EVIL]


def test_controls_have_a_column_and_a_table_of_their_own(tmp_path):
    runs = [write(tmp_path / "0", "lean", 0.9), write(tmp_path / "1", "mine", 0.8)]
    assert "<h3" in make_page(runs) and 'id="controls-0"' not in make_page(runs)
    for name in ("shuffled", EVIL):
        runs.append(write(tmp_path / f"{len(runs)}", "mine", 0.7, control=name))
    text = make_page(runs)
    assert 'id="controls-0"' in text and "annotations shuffled between samples" in text
    assert '<th scope="col" class="text">control</th>' in text
    assert "<img" not in text and text.count("<script") == 2
    lines = embedded(text)["groups"][0]["views"][0]["lines"]
    assert [line["label"] for line in lines][1:3] == ["mine", "mine (shuffled)"]


def test_settings_of_one_method_are_compared_on_the_page(tmp_path):
    runs = [
        write(tmp_path / str(C), "mine", 0.5 + C / 10, changed={"learner.C": C})
        for C in (0.1, 1.0)
    ]
    text = make_page(runs)
    assert "for 1 pair of settings of one method" in text
    assert ">mine learner.C=1.0</td>" in text
    alone = [write(tmp_path / name, name, changed={"learner.C": name}) for name in "ab"]
    assert "No two of these runs differ in their methods alone" in make_page(alone)


def test_chart_draws_the_records_numbers(tmp_path):
    run = write(tmp_path / "0", level=0.8)
    (line,) = embedded(make_page([run]))["groups"][0]["views"][0]["lines"]
    np.testing.assert_allclose(
        line["mean"]["test_error"], 100 * run.mean("test_error"), rtol=1e-4
    )
    np.testing.assert_allclose(
        line["error"]["test_loss"], run.standard_error("test_loss"), rtol=1e-4
    )
    assert line["t"] == pytest.approx(4.303, abs=1e-3)  # Student's t of 3 seeds


def test_the_answer_stands_first(tmp_path):
    page = make_page(three(tmp_path))
    answer = page.index('<div class="answer"')
    assert answer < page.index("<table") and answer < page.index('class="chart"')
    first = html.unescape(page[answer : page.index("</div>", answer)])
    assert "SIMULATED data, evidence of nothing." in first and "nnotations" in first
    assert first.count("<p>") <= 4


def test_each_track_has_a_table_and_ranks_of_its_own(tmp_path):
    lean = made_up.around(0.8)
    runs = [lean, made_up.around(0.5, "ncm", told=Told.NOTHING)]
    runs.append(made_up.around(0.7, "a", counterpart=lean))
    sizes = SplitSizes(pool=100, test=60, learned=80)
    runs = [
        dataclasses.replace(run, info=_with(run.info, samples=sizes)) for run in runs
    ]
    soft = {"told": Told.CLASS_VOTES, "samples": sizes, "counterpart": lean}
    page = html.unescape(make_page([*runs, made_up.around(0.6, "soft", **soft)]))
    captions = re.findall(r'<p class="caption">(Told .*?):', page)
    assert captions == [
        "Told nothing",
        "Told votes",
        "Told class votes of 100 samples; 80 learned from",
    ]
    nothing = page[page.index("Told nothing:") : page.index("Told votes:")]
    assert re.findall(r'data-sort="1.001">1</td>.*?>(\w+)</td>', nothing) == ["ncm"]


def _with(info, **changes):
    return dataclasses.replace(info, **changes)


def test_what_annotations_are_worth_is_drawn_with_its_interval(tmp_path):
    steps = np.arange(1, 26)[:, None]
    rng = np.random.default_rng(0)
    runs = []
    for method, power in (("lean", 1), ("a", 1.5), ("soft", 1.5)):
        values = 0.9 * (power * steps) ** -0.5 + 0.001 * rng.normal(size=(25, 5))
        about = {}
        if runs:
            about["counterpart"] = runs[0]
        if method == "soft":
            about["told"] = Told.CLASS_VOTES
        runs.append(made_up.run(values, method, **about))
    page = html.unescape(make_page(runs))
    worth = page[page.index("What annotations are worth") : page.index("Curves</h3>")]
    assert "n = 10 (≤ 2.5)" in worth and "break-even price" in worth
    assert worth.count('class="range"') == 4  # one method told votes, at 1, 2, 5 and 10
    assert re.search(r">1\.5 \[1\.\d to 1\.\d\]</td>", worth)
    assert "Class votes have no price per sample" in worth


def test_a_counterpart_is_drawn_thin_unless_it_is_a_run_itself(tmp_path):
    lean = made_up.around(0.8)
    mine = made_up.around(0.7, "a", counterpart=lean)
    (group,) = embedded(make_page([mine]))["groups"]
    own, other = group["views"][0]["lines"]
    assert other["thin"] and other["label"] == "lean (counterpart)"
    assert other["color"] == own["color"] and not own["thin"]
    (group,) = embedded(make_page([lean, mine]))["groups"]
    assert [line["thin"] for line in group["views"][0]["lines"]] == [False, False]


def test_swept_number_becomes_an_axis(tmp_path):
    runs = [
        write(
            tmp_path / str(C),
            level=0.5 + C / 1000,
            config={"learner": {"C": C}, "protocol": {}},
        )
        for C in (10.0, 0.1, 1.0)
    ]
    samples, swept = embedded(make_page(runs))["groups"][0]["views"]
    assert (
        swept["name"] == "learner.C"
        and swept["lines"][0]["x"] == [0.1, 1, 10]
        and swept["log"]
    )
    assert len(samples["lines"]) == 3


def test_runs_on_other_data_are_a_group_of_their_own(tmp_path):
    other = made_up.data(name="sun", identity="xyz")
    runs = [*three(tmp_path), write(tmp_path / "3", "b", data=other)]
    assert [len(group.runs) for group in groups(runs)] == [3, 1]
    text = make_page(runs)
    assert "2 groups that cannot be compared" in text and text.count("<h2>") == 2


def test_one_seed_has_no_certainty_but_a_report(tmp_path):
    runs = [write(tmp_path / name, name, seeds=1) for name in ("lean", "a")]
    text = write_report(runs, tmp_path)
    assert "nan" not in text and "inf" not in text.replace("information", "")
    page = (tmp_path / "report.html").read_text()
    assert (
        embedded(page)["groups"][0]["views"][0]["lines"][0]["error"]["test_error"]
        == [None] * 25
    )
    assert "nan" not in page.split("<script")[0].lower()


def test_a_curve_with_a_hole_is_drawn_and_not_compared(tmp_path):
    three(tmp_path)
    path = tmp_path / "1" / "curves.csv"
    lines = path.read_text().splitlines()
    lines[5] = ",".join([*lines[5].split(",")[:3], "nan", *lines[5].split(",")[4:]])
    path.write_text("\n".join(lines) + "\n")
    runs = from_folders([tmp_path]).runs
    write_report(runs, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "test_error is nan at seed 0, step 5: not compared" in page
    assert (
        embedded(page)["groups"][0]["views"][0]["lines"][1]["mean"]["test_error"][4]
        is None
    )
    assert all(
        'a"' not in line.split(",")[0]
        for line in (tmp_path / "comparisons.csv").read_text().splitlines()
    )
    assert (tmp_path / "comparisons.csv").read_text().count("\n") == 2


def test_folders_merge_and_the_same_run_counts_once(tmp_path):
    three(tmp_path / "one")
    write(tmp_path / "two" / "0", "new")
    shutil.copytree(tmp_path / "one" / "0", tmp_path / "two" / "1")
    found = from_folders([tmp_path / "one", tmp_path / "two"])
    assert [run.info.method for run in found.runs] == ["lean", "a", EVIL, "new"]
    assert len(found.left_out) == 1 and "the same as another run" in found.left_out[0]


def test_folders_that_are_not_ours_are_named(tmp_path, capsys):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "curves.csv").write_text("a,b\n1,2\n")
    for folder, words in (
        (tmp_path / "theirs", "no finished run in it"),
        (tmp_path / "none", "is not a folder"),
    ):
        assert main(["report", str(folder)]) == 1
        assert words in capsys.readouterr().err
    assert main(["report"]) == 1 and "report of what?" in capsys.readouterr().err
    assert list((tmp_path / "theirs").iterdir()) == [tmp_path / "theirs" / "curves.csv"]


def test_a_record_of_an_older_version_is_left_out_by_name(tmp_path, capsys):
    three(tmp_path)
    info = json.loads((tmp_path / "1" / "run.json").read_text())
    del info["unit"]
    (tmp_path / "1" / "run.json").write_text(json.dumps(info))
    assert main(["report", str(tmp_path)]) == 0
    assert (
        "left out" in capsys.readouterr().err
        and "unit is missing" in (tmp_path / "report.html").read_text()
    )
    del info["label"]
    for i in "02":
        (tmp_path / i / "run.json").write_text(json.dumps(info))
    assert main(["report", str(tmp_path)]) == 1
    assert "no finished run in it" in capsys.readouterr().err


def test_records_without_the_splits_sizes_are_not_compared(tmp_path):
    runs = [write(tmp_path / name, name, samples=None) for name in ("lean", "a")]
    text = write_report(runs, tmp_path)
    assert "older version, without its split's sizes" in text
    assert "older version" in (tmp_path / "report.html").read_text()


def test_report_is_the_same_every_time(tmp_path):
    runs = three(tmp_path / "runs")
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_report(runs, tmp_path / name)
        contents.append({file: (tmp_path / name / file).read_bytes() for file in FILES})
    assert contents[0] == contents[1]


def test_nothing_of_an_earlier_report_stays(tmp_path):
    runs = three(tmp_path)
    write_report(runs, tmp_path)
    write_report(runs[:1], tmp_path)
    assert not (tmp_path / "comparisons.csv").exists()


def test_damaged_errors_by_class_cost_nothing_but_their_table(tmp_path):
    three(tmp_path)
    (tmp_path / "1" / "classes.csv").write_text(
        "seed,class,samples,test_error\n0,a,0,1\n"
    )
    page = make_page(from_folders([tmp_path]).runs)
    assert (
        "No errors by class: " in page
        and "a class without samples" in page
        and "All comparisons" in page
    )


def test_runs_of_one_name_and_groups_of_one_title_can_be_told_apart(tmp_path):
    runs = [write(tmp_path / "0", level=0.5), write(tmp_path / "1", level=0.6)]
    runs += [write(tmp_path / "2", data=made_up.data(identity="other", simulated=True))]
    page = make_page(runs)
    assert "lean (2)" in page
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert (
        len(set(titles)) == 2 and "data abc" in titles[0] and "data other" in titles[1]
    )


def test_names_stay_in_their_cells(tmp_path):
    runs = [
        write(tmp_path / "0", "a|b\nc"),
        write(tmp_path / "1", "<b>", seeds=3),
    ]
    rows = [
        line
        for line in write_report(runs, tmp_path).splitlines()
        if line.startswith("|")
    ]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (7, 10) for row in rows), rows
    assert all(
        re.fullmatch(r"-+:?", cell.strip()) for cell in rows[1].strip("|").split("|")
    )
    assert r"\textless{}b\textgreater{}" in (tmp_path / "table.tex").read_text()


def test_the_papers_marks_stand_with_the_papers_features_alone(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "matplotlib.axes.Axes.plot",
        lambda axes, *args, **_: drawn.append((axes.get_title(), args)) or [],
    )
    runs = [
        write(
            tmp_path / f"{i} {p}", f"m{i}" if i else "lean", preprocessor=p, classes=50
        )
        for i in range(5)
        for p in ("none", "center")
    ]
    write_report(runs, tmp_path)
    assert sum(args[:1] == (10,) for _, args in drawn) == 1


def test_a_full_disk_leaves_the_earlier_report(tmp_path, monkeypatch):
    runs = three(tmp_path)
    write_report(runs, tmp_path)
    before = (tmp_path / "report.html").read_bytes()
    monkeypatch.setattr(
        "os.replace",
        lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )
    with pytest.raises(UserError, match="No space left"):
        write_report(runs[:1], tmp_path)
    assert (tmp_path / "report.html").read_bytes() == before


def test_a_thousand_runs_make_a_page_of_less_than_ten_megabytes(tmp_path):
    for i in range(1000):
        write(
            tmp_path / str(i),
            f"method{i % 40}",
            0.3 + i / 2000,
            config={"learner": {"C": i}, "protocol": {}},
        )
    found = from_folders([tmp_path])
    assert len(found.runs) == 1000
    page = make_page(found.runs)
    assert (
        len(page.encode()) < 10e6
        and len(embedded(page)["groups"][0]["views"][0]["lines"]) == 1000
    )


def test_sweep_ends_with_a_report_and_the_command_makes_it_again(rsbench, tmp_path):
    done = rsbench(*SMALL, "-m", "method=lean,ellipsotron")
    assert done.returncode == 0 and "report  outputs/sweeps/" in done.stdout
    (folder,) = (tmp_path / "outputs" / "sweeps").iterdir()
    assert {path.name for path in folder.iterdir()} >= set(FILES)
    page = (folder / "report.html").read_text()
    assert "-m method=lean,ellipsotron" in page or "--multirun" in page
    again = rsbench("report", "outputs", "--to", "elsewhere")
    assert (
        again.returncode == 0
        and (tmp_path / "elsewhere" / "report.html").read_text() == page
    )
    from_store = rsbench("report", "--mlflow", "rsbench", "--to", "stored")
    assert from_store.returncode == 0, from_store.stderr
    stored = embedded((tmp_path / "stored" / "report.html").read_text())
    assert stored["groups"][0]["views"] == embedded(page)["groups"][0]["views"]
    for gone in (tmp_path / "outputs" / "mlflow-artifacts").rglob("classes.csv"):
        gone.unlink()
    older = rsbench("report", "--mlflow", "rsbench", "--to", "older")
    assert older.returncode == 0 and "Downloading" not in older.stderr, older.stderr
    next((tmp_path / "outputs" / "mlflow-artifacts").rglob("curves.csv")).unlink()
    broken = rsbench("report", "--mlflow", "rsbench", "--to", "broken")
    assert broken.returncode == 0 and broken.stderr.count("left out: ") == 1, (
        broken.stderr
    )
    for wrong, words in (
        ("nothing", "no experiment 'nothing'"),
        ("rsbench", "no such database"),
    ):
        uri = ["--uri", "sqlite:///x.db"] if wrong == "rsbench" else []
        refused = rsbench("report", "--mlflow", wrong, *uri)
        assert refused.returncode == 1 and words in refused.stderr, refused.stderr


@pytest.fixture(scope="module")
def chromium():
    """A browser, where there is one."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright to drive a browser with"
    )
    found = next(
        filter(
            None,
            map(
                shutil.which,
                ("chromium", "chromium-browser", "google-chrome", "chrome"),
            ),
        ),
        None,
    )
    if found is None:
        pytest.skip("no Chromium here to open the report in")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def opened(browser, page: Path, width=1200, scheme="light"):
    """The page opened from disk without a network, and what its console says."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    tab, said = context.new_page(), []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on(
        "request",
        lambda request: (
            said.append(request.url) if not request.url.startswith("file:") else None
        ),
    )
    tab.goto(page.as_uri())
    tab.locator("#chart-0").scroll_into_view_if_needed()
    tab.wait_for_selector("#chart-0 path.run")
    return tab, said


def test_a_person_can_read_values_hide_runs_and_sort(tmp_path, chromium):
    write_report(three(tmp_path), tmp_path)
    tab, said = opened(chromium, tmp_path / "report.html")
    assert (
        tab.locator("path.run").count() == 3 and tab.locator("path.band").count() == 3
    )
    box = tab.locator(".plot svg").bounding_box()
    tab.mouse.move(box["x"] + box["width"] - 14, box["y"] + 60)
    tip = tab.locator(".tip").inner_text()
    expected = 100 * read_record(tmp_path / "0").mean("test_error")[-1]
    assert "samples per class: 25" in tip and f"{expected:.1f} ±" in tip and EVIL in tip
    tab.mouse.move(0, 0)
    assert tab.locator(".tip").is_hidden()
    tab.locator(".plot svg").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert "samples per class: 2" in tab.locator("[aria-live]").inner_text()
    lean = tab.locator(".legend button", has_text="lean")
    lean.click()
    assert (
        tab.locator("path.run").count() == 2
        and lean.get_attribute("aria-pressed") == "false"
    )
    tab.get_by_role("button", name="None").click()
    assert tab.locator("path.run").count() == 0
    tab.get_by_role("button", name="All", exact=True).click()
    before = tab.locator("path.run").first.get_attribute("d")
    tab.get_by_label("log y").check()
    assert tab.locator("path.run").first.get_attribute("d") != before
    tab.get_by_label("Bands").select_option("none")
    assert tab.locator("path.band").count() == 0
    tab.get_by_role("combobox", name="Measure").select_option("cumulative_loss")
    assert tab.locator("path.run").count() == 3
    votes = tab.locator("table.sortable").nth(1)
    assert votes.locator("tbody tr").first.inner_text().split("\t")[1] == EVIL
    error = votes.locator("th button", has_text="@25")
    error.click()
    error.click()
    assert votes.locator("tbody tr").first.inner_text().split("\t")[1] == "a"
    assert tab.title() != "1" and said == []


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "dark")]
)
def test_page_fits_its_screen_and_follows_the_colour_scheme(
    tmp_path, chromium, width, scheme
):
    write_report(three(tmp_path), tmp_path)
    tab, said = opened(chromium, tmp_path / "report.html", width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width and said == []
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) > 380) == (scheme == "light")
    unnamed = "[...document.querySelectorAll('button,select,input')].filter(e => !e.textContent.trim() && !e.ariaLabel && !e.labels?.length).length"
    assert tab.evaluate(unnamed) == 0


def test_a_thousand_runs_can_be_looked_at(tmp_path, chromium):
    runs = [write(tmp_path / str(i), f"method{i}", 0.3 + i / 2000) for i in range(1000)]
    (tmp_path / "report.html").write_text(make_page(runs))
    tab, said = opened(chromium, tmp_path / "report.html")
    assert tab.locator("path.run").count() == 12  # the others wait to be asked for
    tab.get_by_label("Filter runs").fill("method99")
    assert tab.locator(".legend button:visible").count() == 11
    tab.get_by_role("button", name="All", exact=True).click()
    assert tab.locator("path.run").count() == 23
    tab.get_by_label("Filter runs").fill("")
    tab.get_by_role("button", name="All", exact=True).click()
    assert tab.locator("path.run").count() == 1000 and said == []


def test_no_two_methods_look_the_same_in_a_chart(tmp_path, chromium):
    """There are eight colours; `cub` has nine methods."""
    runs = [write(tmp_path / f"{i}", f"m{i}", 0.5 + i / 30) for i in range(12)]
    (tmp_path / "report.html").write_text(make_page(runs))
    tab, said = opened(chromium, tmp_path / "report.html")
    looks = tab.eval_on_selector_all(
        "svg path.run",
        "all => all.map(p => p.style.stroke + '/' + p.getAttribute('stroke-dasharray'))",
    )
    assert len(looks) == len(set(looks)) == 12 and said == []
