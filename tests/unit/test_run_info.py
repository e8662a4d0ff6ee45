"""What a record says of its run: typed, read from any release, and wrong values named."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbench.core.data import Drawn
from rsbench.core.told import Told
from rsbench.errors import UserError
from rsbench.store.run_info import (
    SCHEMA,
    Counterpart,
    CounterpartKind,
    DataInfo,
    PluginInfo,
    RunInfo,
    SplitSizes,
    read_info,
)

FULL = RunInfo(
    id="abc",
    method="ellipsotron",
    told=Told.CLASS_VOTES,
    preprocessor="center",
    fitted_on_stream=True,
    label="ellipsotron (shuffled) center (seen)",
    control="shuffled",
    control_of="ellipsotron",
    changed={"learner.C": 3.0},
    built_in=False,
    experiment="cub",
    config={"learner": {"name": "ellipsotron", "C": 3.0}},
    overrides=("learner.C=3",),
    tracking={"uri": "sqlite:///mlflow.db", "experiment": "cub"},
    fingerprint="f" * 64,
    seeds=(0, 1),
    draws=(0, 1, 2),
    judged_step=20,
    table_steps=(5, 20),
    margin=0.02,
    counterpart=Counterpart(CounterpartKind.EQUAL, "lean", "e" * 64),
    score_scale="margin",
    versions={"numpy": "2.0"},
    git_commit="0123+",
    data=DataInfo(
        name="cub",
        identity="d" * 64,
        simulated=True,
        learn_on="validation",
        how_to_get_real="Get it",
        details={"detectors": {"auc": 0.9}},
        drawn=Drawn(classes=10, of=30),
    ),
    classes=10,
    samples=SplitSizes(pool=30, test=20, learned=25, fixed_test=True),
    unit="samples per class",
    tuned={"0": {"theta": 3}, "1": {"theta": 4}},
    bound={"as_printed": 2.0},
    seconds=1.5,
    plugins=(PluginInfo("mine.py", None, "a" * 64, ("learner=mine",)),),
    reused=(1,),
    replaces=("older",),
    digests={"curves.csv": "c" * 64},
)

LEAST = RunInfo(
    id="abc",
    method="lean",
    told=Told.NOTHING,
    preprocessor="none",
    label="lean",
    config={},
    fingerprint="f",
    seeds=(0,),
    data=DataInfo(name="x", identity="y", simulated=False),
    classes=2,
    unit="samples",
)


def through_json(info):
    return json.loads(json.dumps(info.to_json()))


@pytest.mark.parametrize("info", [FULL, LEAST], ids=["full", "least"])
def test_what_is_written_is_what_is_read(info):
    assert read_info(through_json(info), "run.json") == info


def test_what_has_a_default_may_be_missing():
    required = {
        field.name
        for field in dataclasses.fields(RunInfo)
        if field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    }
    content = through_json(LEAST)
    least = {name: content[name] for name in (*required, "schema")}
    assert read_info(least, "run.json") == LEAST
    for name in required:
        partial = {key: value for key, value in least.items() if key != name}
        with pytest.raises(UserError, match=f"run.json: {name} is missing"):
            read_info(partial, "run.json")


def test_what_a_later_release_adds_within_a_schema_is_passed_over():
    assert read_info({**through_json(FULL), "mood": "good"}, "run.json") == FULL


def test_a_record_of_a_later_schema_is_named_with_the_reason():
    later = {**through_json(FULL), "schema": SCHEMA + 1}
    with pytest.raises(
        UserError,
        match=f"x/run.json: schema {SCHEMA + 1}, which a later release wrote; this one reads up to {SCHEMA}",
    ):
        read_info(later, "x/run.json")


@pytest.mark.parametrize("content", [None, [], "text", 3])
def test_what_is_no_object_is_no_record(content):
    with pytest.raises(UserError, match="run.json: not a record"):
        read_info(content, "run.json")


# Damage.

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2)
    ),
    max_leaves=4,
)


#: All but the schema, which decides how the others are read.
FIELDS = sorted({field.name for field in dataclasses.fields(RunInfo)} - {"schema"})


@given(name=st.sampled_from(FIELDS), value=VALUES)
def test_any_value_is_either_read_or_named(name, value):
    content = {**through_json(FULL), name: value}
    try:
        info = read_info(content, "run.json")
    except UserError as error:
        assert str(error).startswith(f"run.json: {name}")
    else:
        assert read_info(through_json(info), "run.json") == info


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"told": "gossip"}, "told is 'gossip'"),
        ({"seeds": 3}, "seeds is 3"),
        ({"seeds": ["0"]}, "seeds is '0'"),
        ({"seeds": [0.5]}, "seeds is 0.5"),
        ({"seeds": [True]}, "seeds is True"),
        ({"seconds": "1"}, "seconds is '1'"),
        ({"built_in": 1}, "built_in is 1"),
        ({"classes": None}, "classes is None"),
        ({"data": {"name": "x"}}, "data.identity is missing"),
        ({"data": "x"}, "data is not as expected"),
        (
            {"data": {**FULL.to_json()["data"], "simulated": "no"}},
            "data.simulated is 'no'",
        ),
        ({"samples": {"pool": 1}}, "samples.test is missing"),
        ({"tuned": {"0": 3}}, "tuned.0 is 3"),
        ({"bound": {"as_printed": "large"}}, "bound.as_printed is 'large'"),
        ({"versions": {"numpy": 2}}, "versions.numpy is 2"),
        ({"plugins": [{"version": "1"}]}, "plugins.plugin is missing"),
        ({"tracking": {"uri": None}}, "tracking.uri is None"),
        ({"schema": "3"}, "schema is '3'"),
        ({"draws": 3}, "draws is 3"),
        ({"judged_step": "20"}, "judged_step is '20'"),
        ({"judged_step": True}, "judged_step is True"),
        ({"table_steps": [5.5]}, "table_steps is 5.5"),
        ({"margin": "1"}, "margin is '1'"),
        ({"counterpart": "lean"}, "counterpart is not as expected"),
        ({"counterpart": {"kind": "equal"}}, "counterpart.name is missing"),
        (
            {"counterpart": {**FULL.to_json()["counterpart"], "kind": "twin"}},
            "counterpart.kind is 'twin'",
        ),
        (
            {"data": {**FULL.to_json()["data"], "drawn": {"classes": 3}}},
            "data.drawn.of is missing",
        ),
        ({"schema": True}, "schema is True"),
        ({"schema": 0}, "schema 0"),
    ],
)
def test_each_damaged_value_is_named(change, named):
    content = {**json.loads(json.dumps(FULL.to_json())), **change}
    with pytest.raises(UserError, match=f"^run.json: {named}"):
        read_info(content, "run.json")


# Records of the first releases, schema 1.

OLD = {
    "id": "5f0c",
    "method": "ellipsotron",
    "preprocessor": "none",
    "label": "ellipsotron",
    "experiment": "cub",
    "config": {
        "dataset": {"name": "cub"},
        "extractor": {"name": "none"},
        "preprocessor": {"name": "none"},
        "protocol": {"name": "per_class", "samples_per_class": 25},
        "annotation": {"name": "full"},
        "aggregator": {"name": "sample", "relevant": 1.0, "irrelevant": 1e-10},
        "learner": {"name": "ellipsotron", "C": 1.0, "variant": "pa2"},
        "seed": 0,
        "seeds": 2,
    },
    "overrides": ["+experiment=cub", "method=ellipsotron", "preprocessor=none"],
    "tracking": None,
    "fingerprint": "f" * 64,
    "plugins": [
        {"plugin": "idle.py", "version": None, "sha256": "a" * 64, "components": []}
    ],
    "seeds": [0, 1],
    "reused": [],
    "replaces": [],
    "versions": {"rsbench": "0.1.0", "numpy": "2.0"},
    "git_commit": None,
    "data": {"name": "cub", "identity": "d" * 64, "simulated": False},
    "classes": 10,
    "samples": {"pool": 250, "test": 300},
    "unit": "samples per class",
    "tuned": {},
    "bound": {"as_printed": 3.0, "scale_free_ratio": 0.5},
    "seconds": 2.5,
}


def old(**changes):
    return read_info({**OLD, **changes}, "run.json")


def old_config(learner="ellipsotron", **aggregator):
    return {
        **OLD["config"],
        "learner": {"name": learner},
        "aggregator": aggregator,
    }


def test_an_old_record_is_upgraded():
    info = old()
    assert info.schema == SCHEMA
    assert (info.method, info.control, info.control_of) == ("ellipsotron", None, None)
    assert (info.preprocessor, info.fitted_on_stream) == ("none", False)
    assert info.told is Told.VOTES and info.built_in and info.draws == (0,)
    assert info.seeds == (0, 1) and info.samples == SplitSizes(250, 300)
    assert info.data == DataInfo("cub", "d" * 64, False)
    assert info.config == OLD["config"] and info.changed == {}
    assert info.bound == OLD["bound"] and info.seconds == 2.5
    assert read_info(through_json(info), "run.json") == info


@pytest.mark.parametrize(
    ("name", "method", "control"),
    [
        ("ellipsotron_shuffled", "ellipsotron", "shuffled"),
        ("ellipsotron_random", "ellipsotron", "random"),
        ("ellipsotron_ones", "ellipsotron", "ones"),
        ("ellipsotron_soft", "ellipsotron", "soft"),
        ("ellipsotron_exact", "ellipsotron", "exact"),
        ("ellipsotron_tuned", "ellipsotron", "tuned"),
        ("class_soft", "class_soft", None),
        ("class_soft_shuffled", "class_soft", "shuffled"),
        ("class_soft_seen", "class_soft", "seen"),
        ("class_threshold", "class_threshold", None),
        ("class_threshold_seen", "class_threshold", "seen"),
        ("cross_classes_tuned", "cross_classes", "tuned"),
        ("feature_scaling", "feature_scaling", None),
        ("feature_scaling_tuned", "feature_scaling", "tuned"),
        ("lean_exact", "lean", "exact"),
        ("svm_ff", "svm_ff", None),
        ("svm_ff_batch", "svm_ff_batch", None),
        ("svm_ff_tuned", "svm_ff", "tuned"),
        ("ellipsotron+none", "ellipsotron+none", None),
        ("my_soft", "my_soft", None),
        ("tuned", "tuned", None),
    ],
)
def test_an_old_method_with_a_suffix_is_a_method_with_a_control(name, method, control):
    info = old(method=name)
    assert (info.method, info.control) == (method, control)
    assert info.control_of == (method if control else None)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (old_config("lean", name="none"), Told.NOTHING),
        (old_config("ellipsotron", name="none"), Told.NOTHING),
        (old_config("ellipsotron", name="sample"), Told.VOTES),
        (old_config("feature_scaling", name="sample"), Told.VOTES),
        (old_config("svm_ff", name="none"), Told.VOTES),
        (old_config("svm_ff_batch", name="none"), Told.VOTES),
        (old_config("ellipsotron", name="class_soft"), Told.CLASS_VOTES),
        (
            old_config("ellipsotron", name="class_soft", scope="teacher"),
            Told.CLASS_VOTES,
        ),
        (old_config("ellipsotron", name="class_soft", scope="seen"), Told.VOTES),
        (old_config("ellipsotron", name="class_threshold"), Told.CLASS_VOTES),
        (old_config("ellipsotron", name="cross_classes"), Told.CLASS_VOTES),
        (old_config("lean", name="class_soft"), Told.NOTHING),
    ],
)
def test_what_an_old_method_was_told_follows_from_its_names(config, told):
    assert old(config=config).told is told


def test_an_old_preprocessors_statistics_are_told_from_its_name():
    info = old(preprocessor="center (seen)")
    assert (info.preprocessor, info.fitted_on_stream) == ("center", True)
    assert info.features == "center (seen)"


def test_an_old_record_of_validation_classes_keeps_its_name():
    data = {**OLD["data"], "name": "cub, validation classes"}
    info = old(data=data)
    assert (info.data.name, info.data.learn_on) == ("cub", "validation")
    assert info.data.label == "cub, validation classes"


def test_old_details_and_hints_are_kept():
    more = {"how_to_get_real": "Get it", "details": {"detectors": {"auc": 0.9}}}
    info = old(data={**OLD["data"], "simulated": True, **more})
    assert info.data.how_to_get_real == "Get it"
    assert info.data.details == more["details"]


def test_old_words_of_a_command_become_settings():
    info = old(overrides=["+experiment=cub", "learner.C=3", "+tune.learner.C=[1,2]"])
    assert info.changed == {"learner.C": "3", "tune.learner.C": "[1,2]"}
    assert info.overrides == ("+experiment=cub", "learner.C=3", "+tune.learner.C=[1,2]")


def test_an_old_run_of_a_plugins_component_is_not_built_in():
    used = {**OLD["plugins"][0], "components": ["learner=mine"]}
    info = old(plugins=[used])
    assert not info.built_in
    assert info.plugins[0].components == ("learner=mine",)


def test_old_choices_are_kept_by_seed():
    assert old(tuned={"0": {"theta": 3.0}}).tuned == {"0": {"theta": 3.0}}


@pytest.mark.parametrize(
    "missing", ["samples", "reused", "replaces", "plugins", "bound"]
)
def test_what_the_first_releases_did_not_have_may_be_missing(missing):
    content = {key: value for key, value in OLD.items() if key != missing}
    read_info(content, "run.json")


@given(name=st.sampled_from(sorted(OLD)), value=VALUES)
def test_a_damaged_old_record_is_an_error_that_names_the_file(name, value):
    try:
        old(**{name: value})
    except UserError as error:
        assert str(error).startswith("run.json: ")


# Records of schema 2, before draws and counterparts.


def schema_2():
    """What the release before wrote of a run."""
    content = {**through_json(FULL), "schema": 2, "draw": 0}
    later = ("draws", "judged_step", "table_steps", "margin", "counterpart")
    for name in (*later, "score_scale"):
        del content[name]
    for name in ("learned", "fixed_test"):
        del content["samples"][name]
    del content["data"]["drawn"]
    return content


def test_a_record_of_schema_2_has_one_draw_and_no_counterpart():
    info = read_info(schema_2(), "run.json")
    assert info.draws == (0,) and info.counterpart is None
    assert (info.judged_step, info.table_steps, info.margin) == (None, (), 0.01)
    assert info.data.drawn is None and info.score_scale == ""
    assert info.samples == SplitSizes(30, 20, learned=0, fixed_test=False)


def test_all_else_of_schema_2_is_as_it_was():
    info = read_info(schema_2(), "run.json")
    later = ("draws", "judged_step", "table_steps", "margin", "counterpart")
    for each in dataclasses.fields(RunInfo):
        if each.name not in (*later, "score_scale", "samples", "data", "schema"):
            assert getattr(info, each.name) == getattr(FULL, each.name), each.name


# How people read it.


def test_names_for_people():
    assert FULL.variant == "ellipsotron (shuffled)" and LEAST.variant == "lean"
    assert FULL.features == "center (seen)" and LEAST.features == "none"
    assert FULL.data.label == "cub, validation classes" and LEAST.data.label == "x"
