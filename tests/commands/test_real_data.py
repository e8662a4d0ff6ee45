"""Whole commands on data sets in their official layout: from pixels and tags to the record."""

import json


def test_a_whole_command_from_pixels_to_the_record(rsbench, make_cub, resnet, tmp_path):
    root = make_cub(images=8)
    command = (
        "+experiment=cub", "method=lean,ellipsotron", "dataset.source=disk", f"dataset.root={root}",
        "dataset.split=[2,2,2]", f"extractor.backbone={resnet}", "extractor.epochs=3", "protocol.samples_per_class=5",
        "seeds=2", "hydra.sweep.dir=out",
    )  # fmt: skip
    done = rsbench(*command)
    assert done.returncode == 0, done.stderr
    assert (
        "Detectors: backbone" in done.stdout
        and "SIMULATED" not in done.stdout
        and "paper @" not in done.stdout
    )
    info = json.loads((tmp_path / "out" / "0" / "run.json").read_text())
    assert (
        info["data"]["simulated"] is False
        and 0 < info["data"]["details"]["detectors"]["validation_loss"] < 2
    )

    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'outputs' / 'mlflow.db'}")
    (experiment,) = (e for e in client.search_experiments() if e.name == "rsbench")
    run = client.search_runs([experiment.experiment_id], "tags.method = 'lean'")[0]
    assert (
        run.data.metrics["detectors/validation_auc"]
        == info["data"]["details"]["detectors"]["validation_auc"]
    )
    assert run.data.tags["detectors.backbone"] == str(resnet)


def test_parallel_jobs_share_one_extraction(rsbench, make_cub, resnet, tmp_path):
    root = make_cub(images=8)
    done = rsbench(
        "+experiment=cub", "method=lean,ellipsotron", f"dataset.root={root}", "dataset.split=[2,2,2]", "seeds=2",
        f"extractor.backbone={resnet}", "extractor.epochs=3", "protocol.samples_per_class=5", "tracking=none",
        "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "hydra.sweep.dir=out", timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    identities = {
        json.loads(p.read_text())["data"]["identity"]
        for p in (tmp_path / "out").glob("*/run.json")
    }
    assert len(identities) == 1


def test_cub_features_through_precomputed_show_the_papers_order_and_its_reversal(
    rsbench, real_data, tmp_path
):
    file = real_data / "cub150_lite0.npz"
    done = rsbench(
        "+experiment=cub", "method=lean,ellipsotron,class_soft", f"dataset.root={file}", "dataset.split=[75,25,50]",
        "extractor=precomputed", f"extractor.path={file}", "extractor.learning_rates=[1e-4]",
        "extractor.weight_decays=[1e-4]", "extractor.epochs=12", "preprocessor=none,center", "seeds=2",
        "tracking=none", "hydra.sweep.dir=out", timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = [
        json.loads(p.read_text()) for p in sorted((tmp_path / "out").glob("*/run.json"))
    ]
    assert {run["classes"] for run in runs} == {50}

    def error(method, preprocessor):
        (found,) = (
            p for p in (tmp_path / "out").glob("*/run.json")
            if json.loads(p.read_text())["method"] == method and json.loads(p.read_text())["preprocessor"] == preprocessor
        )  # fmt: skip
        return json.loads((found.parent / "summary.json").read_text())["20"][
            "cumulative_error"
        ]["mean"]

    assert error("lean", "none") > error("ellipsotron", "none") and error(
        "lean", "none"
    ) > error("class_soft", "none")
    assert error("lean", "center") < min(
        error("ellipsotron", "center"), error("class_soft", "center")
    )


def test_explain_lists_every_decision(rsbench, make_sun, tmp_path):
    root = make_sun()
    given = ("--root", str(root), "--vocabulary", str(tmp_path / "vocabulary.txt"))
    done = rsbench("data", "explain", "sun", *given)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(
        line.split()[1:]
        == [
            "tv",
            "table",
            "table,",
            "tables",
            "by",
            "'table';",
            "typed",
            "TV",
            "table_occluded",
        ]
        for line in lines
    ), done.stdout
    assert any(
        "thing" in line and "no term with the stem 'thing'" in line for line in lines
    )
    assert (
        any(line.split() == ["terms", "matched", "6", "531"] for line in lines)
        and "SIMULATED" not in done.stdout
    )
    short = rsbench("data", "explain", "sun", *given, "--top", "2")
    assert "6 more; --top 0 for all" in short.stdout
    assert "typed TV table_occluded" in done.stdout
    stand_in = rsbench("data", "explain", "sun")
    assert "SIMULATED tags" in stand_in.stdout and "271,737" in stand_in.stdout
    assert "no tags to explain" in rsbench("data", "explain", "cub").stderr


def test_a_whole_command_on_a_real_layout(rsbench, make_sun, tiny_vgg, tmp_path):
    root = make_sun()
    done = rsbench(
        "+experiment=sun", "method=lean,ellipsotron", f"dataset.root={root}", "dataset.vocabulary=vocabulary.txt",
        "dataset.background_below=5", f"extractor.weights={tiny_vgg}", "extractor.image_size=224", "seeds=2",
        "protocol.min_samples=10", "protocol.samples_per_class=5", "tracking=none", "hydra.sweep.dir=out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" not in done.stdout and "Tags: tags as typed 8" in done.stdout
    assert (
        "Classes: 3, in the paper's sun 41" in done.stdout
        and "paper @" not in done.stdout
    )
    info = json.loads((tmp_path / "out" / "0" / "run.json").read_text())
    assert (
        info["classes"] == 3
        and info["data"]["details"]["tags"]["left out, encoding"] == 4
    )
