"""Plugins: found in two ways, isolated from each other, configured by their constructors."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rsbench.errors import UserError
from rsbench.plugins import hookspecs, kinds, registry
from rsbench.plugins.discovery import Origin, Source, find_sources, plugin_folders
from rsbench.plugins.registry import Component, Plugin, Registry

GROUPS = [kind.group for kind in kinds.ALL]

PLUGIN = """
from rsbench import hookimpl
from rsbench.learners import Lean

class Mine(Lean):
    '''A learner of one's own.'''
    def __init__(self, C: float = 2.0, variant: str = "pa1"):
        super().__init__(C, variant)

@hookimpl
def rsbench_learners():
    return {"mine": Mine}
"""

BROKEN = {
    "raises": ("raise RuntimeError('boom')", "RuntimeError: boom"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "missing": ("import not_installed_anywhere", "pip install not_installed_anywhere"),
    "syntax": ("def broken(:", "SyntaxError"),
    "misspelt": (
        "from rsbench import hookimpl\n@hookimpl\ndef rsbench_learner(): return {}",
        "unknown hook rsbench_learner. Did you mean 'rsbench_learners'?",
    ),
    "taken": (
        PLUGIN.replace('"mine"', '"lean"'),
        "learner 'lean' is offered by both rsbench.learners and",
    ),
    "unmarked": (
        PLUGIN.replace("@hookimpl\n", ""),
        "rsbench_learners is not marked as a hook",
    ),
    "wrong_hook": (
        PLUGIN.replace("rsbench_learners()", "rsbench_learners(x)"),
        "PluginValidationError",
    ),
    "wrong_default": (
        PLUGIN.replace("C: float = 2.0", "C: int = 0.5"),
        "hinted as int, but its default is 0.5",
    ),
    "odd_default": (
        PLUGIN.replace("C: float = 2.0", "C=print"),
        "which a config cannot hold",
    ),
    "not_a_class": (
        PLUGIN.replace('{"mine": Mine}', '{"mine": lambda: Mine()}'),
        "expected a class",
    ),
    "number": (PLUGIN.replace('"mine"', "3"), "a name is letters"),
    "no_default": (
        PLUGIN.replace("C: float = 2.0, variant", "C: float, variant"),
        "parameter 'C' needs a default",
    ),
    "kwargs": (
        PLUGIN.replace('variant: str = "pa1"', "**variant"),
        "parameter *variant cannot be configured",
    ),
    "bad_result": (
        PLUGIN.replace('return {"mine": Mine}', "return 3"),
        "AttributeError",
    ),
    "called_name": (
        PLUGIN.replace("C: float = 2.0", "name: float = 2.0"),
        "cannot be called 'name'",
    ),
    "default_of_another_type": (
        PLUGIN.replace("C: float = 2.0", 'C: int | None = "abc"'),
        "its defaults cannot be configured",
    ),
    "items_of_another_type": (
        PLUGIN.replace("C: float = 2.0", 'C: list[int] = ["a"]'),
        "its defaults cannot be configured",
    ),
    "objects": (
        PLUGIN.replace("C: float = 2.0", "C=[object()]"),
        "its defaults cannot be configured",
    ),
    "slash": (PLUGIN.replace('"mine"', '"a/b"'), "a name is letters"),
    "a_value": (PLUGIN.replace('"mine"', '"None"'), "takes this word for a value"),
    "mute": (
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E()",
        "E: ",
    ),
}


#: Some plugin, where it does not matter which.
PLAIN = Plugin(Origin.FILE, "test.py")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Loads the registry anew with files dropped into a plugin folder."""

    def load(**files):
        monkeypatch.setenv("RSBENCH_PLUGINS", str(tmp_path))
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        registry.load.cache_clear()
        return registry.load()

    yield load
    registry.load.cache_clear()


def test_a_dropped_file_is_a_plugin(fresh):
    made = fresh(mine=PLUGIN)
    assert not made.broken
    learner = made.build("learner", {"name": "mine", "C": 3})
    assert (learner.C, learner.variant) == (3, "pa1")
    plugin = made.components["learner"]["mine"].plugin
    assert plugin.origin is Origin.FILE and plugin.name.endswith("mine.py")
    assert plugin in made.plugins and len(plugin.sha256) == 64


def test_broken_plugins_are_kept_with_their_cause_and_stop_nobody(fresh):
    made = fresh(
        mine=PLUGIN,
        **{
            name: text.replace('"mine"', f'"{name}"')
            for name, (text, _) in BROKEN.items()
        },
    )
    causes = {Path(broken.plugin.name).stem: broken for broken in made.broken}
    assert set(causes) == set(BROKEN)
    for name, (_, cause) in BROKEN.items():
        assert cause in causes[name].cause, name
        assert "Traceback" in causes[name].traceback
    assert {"mine", "lean"} <= set(made.components["learner"])
    assert made.components["learner"]["lean"].plugin.name == "rsbench.learners"
    assert not {Path(plugin.name).stem for plugin in made.plugins} & set(BROKEN)


def test_two_plugins_with_one_name_are_both_named(fresh):
    made = fresh(a=PLUGIN, b=PLUGIN)
    (broken,) = made.broken
    assert "a.py and" in broken.cause and "b.py" in broken.cause
    with pytest.raises(UserError, match="offered by both"):
        made.build("learner", {"name": "mine"})


def install(site, name, version, **modules):
    """What pip leaves in a folder: files, and the distribution's entry points."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    points = "".join(f"{module} = {module}\n" for module in modules)
    (info / "entry_points.txt").write_text(f"[rsbench]\n{points}")
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)
        sys.modules.pop(module, None)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path / "site"


def test_an_installed_package_is_a_plugin(fresh, site):
    install(
        site,
        "rsbench-stranger",
        "1.2",
        stranger_good=PLUGIN,
        stranger_too=PLUGIN.replace('"mine"', '"too"'),
        stranger_bad="raise RuntimeError('boom')",
    )
    made = fresh()
    for name in ("mine", "too"):
        plugin = made.components["learner"][name].plugin
        assert str(plugin) == "rsbench-stranger 1.2"
        assert plugin.origin is Origin.PACKAGE and plugin.version == "1.2"
    assert [(str(broken.plugin), broken.cause) for broken in made.broken] == [
        ("rsbench-stranger 1.2", "RuntimeError: boom")
    ]


def test_a_package_whose_name_begins_as_ours_is_a_plugin_like_any_other(fresh, site):
    """Results were not computed anew when its code changed, once."""
    sha256 = []
    for code in (PLUGIN, PLUGIN + "# edited\n"):
        install(site, "rsbench.extra", "1.0", stranger_extra=code)
        component = fresh().components["learner"]["mine"]
        assert component.plugin.name == "rsbench.extra"
        assert not component.plugin.is_built_in
        assert component.plugin.origin is Origin.PACKAGE
        sha256.append(component.plugin.sha256)
    assert sha256[0] != sha256[1]


def test_a_package_of_that_name_may_not_take_a_built_in_name(fresh, site):
    taking = PLUGIN.replace('"mine"', '"lean"')
    install(site, "rsbench.extra", "1.0", stranger_taking=taking)
    (broken,) = fresh().broken
    assert "offered by both rsbench.learners and rsbench.extra 1.0" in broken.cause


def test_two_entry_points_of_one_module_are_one_plugin(fresh, site):
    install(site, "rsbench-stranger", "1.2", stranger_good=PLUGIN)
    points = "[rsbench]\na = stranger_good\nb = stranger_good\n"
    (site / "rsbench-stranger-1.2.dist-info" / "entry_points.txt").write_text(points)
    made = fresh()
    assert not made.broken
    assert [str(plugin) for plugin in made.plugins].count("rsbench-stranger 1.2") == 1


def test_an_interrupt_is_a_persons_and_stops_everything(fresh):
    """Also where it comes while a plugin is imported."""
    with pytest.raises(KeyboardInterrupt):
        fresh(pressed="raise KeyboardInterrupt")


def test_an_interrupted_plugin_can_be_loaded_again(fresh, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fresh(pressed="raise KeyboardInterrupt")
    made = fresh(pressed=PLUGIN)
    assert not made.broken and "mine" in made.components["learner"]


def test_a_plugin_that_exits_is_a_broken_one(fresh):
    (broken,) = fresh(exits="import sys\nsys.exit('bye')").broken
    assert broken.cause == "SystemExit: bye"


@pytest.mark.parametrize(
    ("hook", "meant"),
    [
        ("rsbench_learner", "rsbench_learners"),
        ("rsbench_agregators", "rsbench_aggregators"),
        ("rsbench_annotations", None),
    ],
)
def test_a_misspelt_hook_is_named_with_a_suggestion(hook, meant, fresh):
    code = f"from rsbench import hookimpl\n@hookimpl\ndef {hook}(): return {{}}\n"
    (broken,) = fresh(misspelt=code).broken
    assert f"unknown hook {hook}" in broken.cause
    if meant is not None:
        assert f"Did you mean '{meant}'?" in broken.cause
    assert all(kind.hook in broken.cause for kind in kinds.ALL)


def test_a_broken_plugin_is_left_out_whole(fresh):
    """What it offers before its mistake does not count either."""
    code = PLUGIN + "\n@hookimpl\ndef rsbench_preprocessors(): return {'x': 3}\n"
    made = fresh(half=code)
    (broken,) = made.broken
    assert "expected a class, got 3" in broken.cause
    assert "mine" not in made.components["learner"]
    with pytest.raises(
        UserError, match="unknown learner 'mine'.*\n.*is broken and was"
    ):
        made.build("learner", {"name": "mine"})


def test_a_plugin_edited_after_its_import_keeps_its_hash(fresh, tmp_path):
    """People edit while a sweep goes on."""
    made = fresh(mine=PLUGIN)
    component = made.components["learner"]["mine"]
    before = component.plugin.sha256, registry.provenance.of_class(component.cls)
    (tmp_path / "mine.py").write_text(PLUGIN + "# edited\n")
    after = component.plugin.sha256, registry.provenance.of_class(component.cls)
    assert after == before
    assert fresh().components["learner"]["mine"].plugin.sha256 != before[0]


def test_like_named_files_in_two_folders_are_two_plugins(fresh, tmp_path, monkeypatch):
    folders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.py").write_text(PLUGIN.replace("mine", name))
        folders.append(str(tmp_path / name))
    monkeypatch.setenv("RSBENCH_PLUGINS", os.pathsep.join(folders))
    registry.load.cache_clear()
    made = registry.load()
    assert not made.broken and {"one", "two"} <= set(made.components["learner"])


def test_a_folder_named_twice_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugins").mkdir()
    monkeypatch.setenv("RSBENCH_PLUGINS", os.pathsep.join(["plugins", "./plugins", ""]))
    assert plugin_folders() == [Path("plugins")]


def test_a_folder_that_is_not_there_is_named(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("RSBENCH_PLUGINS", str(tmp_path / "nowhere"))
    find_sources()
    assert "nowhere, which is not a folder" in caplog.text


def test_plugins_can_be_limited_by_name(fresh, monkeypatch, caplog):
    monkeypatch.setenv("RSBENCH_LOAD_PLUGINS", "My_Own, tow")
    made = fresh(my_own=PLUGIN, other=PLUGIN.replace('"mine"', '"other"'))
    assert "mine" in made.components["learner"]
    assert "other" not in made.components["learner"]
    assert "lean" in made.components["learner"]
    assert "RSBENCH_LOAD_PLUGINS names tow, which is no plugin here" in caplog.text


def test_an_object_can_stand_for_a_module():
    """As tests of plugins do."""
    from rsbench import hookimpl
    from rsbench.learners import Lean

    class Mine(Lean):
        pass

    class Holder:
        @hookimpl
        def rsbench_learners(self):
            return {"mine": Mine}

    made = Registry()
    made.add(Source(Origin.PACKAGE, "holder", Holder))
    assert not made.broken and made.get("learner", "mine").cls is Mine


def test_broken_plugins_are_told_of_once(fresh, caplog):
    fresh(bad="raise RuntimeError('boom')")
    lines = [r.message for r in caplog.records if r.levelno == logging.WARNING]
    assert len(lines) == 1 and "bad.py is broken and was left out: Runtime" in lines[0]


def test_an_empty_plugin_folder_setting_loads_nothing(tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text("raise SystemExit('never run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSBENCH_PLUGINS", "")
    registry.load.cache_clear()
    assert not registry.load().broken
    registry.load.cache_clear()


def test_unknown_names_and_parameters_get_a_suggestion():
    made = registry.load()
    with pytest.raises(UserError, match="Did you mean 'ellipsotron'"):
        made.build("learner", {"name": "elipsotron"})
    with pytest.raises(
        UserError, match="no parameter 'variannt'. Did you mean 'variant'"
    ):
        made.build("learner", {"name": "lean", "variannt": "pa"})
    with pytest.raises(UserError, match="expected pa or pa1 or pa2"):
        made.build("learner", {"name": "lean", "variant": "pa3"})
    with pytest.raises(UserError, match="expected auto or int or float"):
        made.build("aggregator", {"name": "class_threshold", "theta": "many"})
    assert made.build("aggregator", {"name": "class_threshold", "theta": 4}).theta == 4


def test_a_strangers_refusal_is_explained(fresh):
    made = fresh(
        picky=PLUGIN.replace(
            "super().__init__(C, variant)", "raise ValueError('C is too large for me')"
        )
    )
    with pytest.raises(UserError, match="learner=mine: C is too large for me"):
        made.build("learner", {"name": "mine"})


def test_parameters_are_checked_before_a_run():
    with pytest.raises(UserError, match="C=-1"):
        registry.load().build("learner", {"name": "lean", "C": -1})


@pytest.mark.parametrize(
    ("kind", "name"),
    [(group, name) for group in GROUPS for name in registry.load().components[group]],
)
def test_every_component_has_a_schema_its_defaults_fit_and_a_docstring(kind, name):
    component = registry.load().components[kind][name]
    config = OmegaConf.structured(component.schema)
    assert config.name == name
    registry.load().build(kind, OmegaConf.to_container(config))
    assert component.cls.__doc__


def test_unusual_constructors_are_configured_all_the_same():
    """A default of None without a hint of it, and hints that cannot be made out."""

    def make(C: float = None, other: "Unknown" = 1):  # noqa: F821, RUF013
        return C, other

    config = OmegaConf.structured(Component("learner", "x", make, PLAIN).schema)
    assert config.C is None
    config.C, config.other = 2, "text"


def test_schemas_are_typed():
    lean = OmegaConf.structured(registry.load().components["learner"]["lean"].schema)
    lean.C = 3
    assert lean.C == 3.0
    for key, value in (("C", "abc"), ("Cc", 1)):
        with pytest.raises(OmegaConfBaseException):
            lean[key] = value

    def make(
        a: int | None = None,
        b: tuple[int, ...] = (1,),
        c: str | float = "x",
        d: dict | None = None,
        e: bool = True,
        f=3,
    ):
        return a, b, c, d, e, f

    config = OmegaConf.structured(Component("learner", "x", make, PLAIN).schema)
    config.a, config.b, config.c, config.f = 3, [4, 5], 0.5, "anything"
    for key, value in (("a", "x"), ("b", ["x"]), ("e", "maybe")):
        with pytest.raises(OmegaConfBaseException):
            config[key] = value


def test_words_of_a_literal_are_checked_and_numpys_numbers_are_numbers():
    import numpy as np

    build = registry.load().build
    for theta in (4, 2.5, np.int64(4), np.float32(2.5), "auto"):
        config = {"name": "class_threshold", "theta": theta}
        assert build("aggregator", config).theta == theta
    for theta in ("car", True, None):
        with pytest.raises(UserError, match="aggregator.theta=.*expected auto or int"):
            build("aggregator", {"name": "class_threshold", "theta": theta})


def test_every_kind_has_a_hook_with_one_line_of_documentation():
    hooks = {name for name in vars(hookspecs) if name.startswith("rsbench_")}
    assert hooks == {kind.hook for kind in kinds.ALL}
    for hook in hooks:
        assert getattr(hookspecs, hook).__doc__.count("\n") == 0


def test_every_kind_has_built_in_components_of_its_base_class():
    for kind in kinds.ALL:
        for component in registry.load().components[kind.group].values():
            if component.plugin.is_built_in:
                assert issubclass(component.cls, kind.base), component.name


def test_a_registry_is_empty_until_filled():
    empty = Registry()
    assert set(empty.components) == set(GROUPS)
    assert not any(empty.components.values()) and not empty.plugins


def test_registries_share_nothing():
    one = Registry()
    one.add(next(iter(find_sources())))
    assert one.plugins and not Registry().plugins


def test_listing_plugins_imports_nothing_heavy():
    code = (
        "import sys; from rsbench.plugins import registry; assert not registry.load().broken;"
        "heavy = {'torch', 'mlflow', 'sklearn', 'matplotlib', 'hydra', 'pandas', 'scipy.stats'}"
        "& set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_rsbench_costs_next_to_nothing():
    """Every plugin does it."""
    code = (
        "import sys; import rsbench; rsbench.hookimpl;"
        "heavy = {'numpy', 'scipy', 'hydra', 'omegaconf'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
