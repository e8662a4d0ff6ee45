"""Plugins: found in two ways, isolated from each other, configured by their constructors."""

import subprocess
import sys

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rsbench.errors import UserError
from rsbench.plugins import hookspecs, registry
from rsbench.plugins.registry import KINDS, Component, Registry

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
}


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
    assert made.components["learner"]["mine"].plugin.endswith("mine.py")


def test_broken_plugins_are_kept_with_their_cause_and_stop_nobody(fresh):
    made = fresh(
        mine=PLUGIN,
        **{
            name: text.replace('"mine"', f'"{name}"')
            for name, (text, _) in BROKEN.items()
        },
    )
    causes = {
        broken.plugin.rpartition("/")[2].removesuffix(".py"): broken
        for broken in made.broken
    }
    assert set(causes) == set(BROKEN)
    for name, (_, cause) in BROKEN.items():
        assert cause in causes[name].cause, name
        assert "Traceback" in causes[name].traceback
    assert {"mine", "lean"} <= set(made.components["learner"])
    assert made.components["learner"]["lean"].plugin == "rsbench.learners"


def test_two_plugins_with_one_name_are_both_named(fresh):
    made = fresh(a=PLUGIN, b=PLUGIN)
    (broken,) = made.broken
    assert "a.py and" in broken.cause and "b.py" in broken.cause
    with pytest.raises(UserError, match="offered by both"):
        made.build("learner", {"name": "mine"})


def test_an_installed_package_is_a_plugin(fresh, tmp_path, monkeypatch):
    info = tmp_path / "site" / "rsbench_stranger-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: rsbench-stranger\nVersion: 1.2\n"
    )
    (info / "entry_points.txt").write_text(
        "[rsbench]\ngood = stranger_good\ntoo = stranger_too\nbad = stranger_bad\n"
    )
    (tmp_path / "site" / "stranger_good.py").write_text(PLUGIN)
    (tmp_path / "site" / "stranger_too.py").write_text(
        PLUGIN.replace('"mine"', '"too"')
    )
    (tmp_path / "site" / "stranger_bad.py").write_text("raise RuntimeError('boom')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    made = fresh()
    for name in ("mine", "too"):
        assert made.components["learner"][name].plugin == "rsbench-stranger 1.2"
    assert [(broken.plugin, broken.cause) for broken in made.broken] == [
        ("rsbench-stranger 1.2", "RuntimeError: boom")
    ]


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
    [(kind, name) for kind in KINDS for name in registry.load().components[kind]],
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

    config = OmegaConf.structured(Component("learner", "x", make, "test").schema)
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

    config = OmegaConf.structured(Component("learner", "x", make, "test").schema)
    config.a, config.b, config.c, config.f = 3, [4, 5], 0.5, "anything"
    for key, value in (("a", "x"), ("b", ["x"]), ("e", "maybe")):
        with pytest.raises(OmegaConfBaseException):
            config[key] = value


def test_every_hook_has_one_line_of_documentation():
    for kind in KINDS:
        assert getattr(hookspecs, f"rsbench_{kind}s").__doc__.count("\n") == 0


def test_a_registry_is_empty_until_filled():
    empty = Registry().components
    assert not any(empty[kind] for kind in KINDS) and "full" in empty["annotation"]


def test_listing_plugins_imports_nothing_heavy():
    code = (
        "import sys; from rsbench import registry; registry.load();"
        "heavy = {'torch', 'mlflow', 'sklearn', 'matplotlib', 'hydra', 'pandas'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
