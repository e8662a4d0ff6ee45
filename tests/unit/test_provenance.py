"""Code known by content: results of other code are never found again."""

import dataclasses
import importlib
import sys
import types

import numpy as np
import pytest

from rsbench.aggregators import Ones, Sample
from rsbench.core.data import Data
from rsbench.core.experiment import Setup
from rsbench.corruptions import Full
from rsbench.learners import Ellipsotron, Lean
from rsbench.plugins import provenance
from rsbench.preprocessors import Identity
from rsbench.protocols import PerClass
from rsbench.running import compute, identify, plan_task

LEARNER = """
from rsbench.learners import Lean

class Mine(Lean):
    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, classes)
"""

DATA = Data(
    X=np.eye(4)[np.arange(12) % 4] + 0.1,
    y=np.arange(12) % 4,
    Z=np.ones((12, 4)),
    identity="x",
)


def setup(learner):
    return Setup(
        learner=learner,
        aggregator=Ones(),
        preprocessor=Identity(),
        protocol=PerClass(2),
        annotation=Full(),
    )


@pytest.fixture
def fresh_import(tmp_path, monkeypatch):
    """Imports a module of the test's own folder, as a new process would."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def forget():
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
                del sys.modules[name]

    def load(name, **files):
        for file, text in files.items():
            path = tmp_path / f"{file}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        forget()
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield load
    forget()


def test_a_class_is_known_by_its_file(fresh_import):
    one = provenance.of_class(fresh_import("pv_mine", pv_mine=LEARNER).Mine)
    again = provenance.of_class(fresh_import("pv_mine").Mine)
    edited = LEARNER + "# another line\n"
    other = provenance.of_class(fresh_import("pv_mine", pv_mine=edited).Mine)
    assert one == again != other


@pytest.mark.parametrize(
    "how",
    [
        "import pv_helper",
        "from pv_helper import rate",
        "from pv_helper import RATE",
        "from pv_helper import *",
        "import pv_between",
    ],
)
def test_a_helper_modules_change_counts(how, fresh_import):
    """However it is imported, and by whatever lies between."""
    helper = "RATE = {}\ndef rate(): return RATE\n"
    files = {
        "pv_mine": f"{how}\n{LEARNER}",
        "pv_helper": helper.format(1),
        "pv_between": "from pv_helper import RATE\n",
    }
    one = provenance.of_class(fresh_import("pv_mine", **files).Mine)
    assert one == provenance.of_class(fresh_import("pv_mine", **files).Mine)
    files["pv_helper"] = helper.format(2)
    assert one != provenance.of_class(fresh_import("pv_mine", **files).Mine)


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_libraries_of_the_user_or_the_system_are_installed_ones(
    folder, fresh_import, monkeypatch, tmp_path
):
    """A virtual environment may see them, though they are not its own."""
    monkeypatch.syspath_prepend(str(tmp_path / folder))
    files = {"pv_mine": f"import pv_library\n{LEARNER}"}
    files[f"{folder}/pv_library"] = "RATE = 1\n"
    one = provenance.of_class(fresh_import("pv_mine", **files).Mine)
    files[f"{folder}/pv_library"] = "RATE = 2\n"
    assert one == provenance.of_class(fresh_import("pv_mine", **files).Mine)


def test_modules_that_import_each_other_end(fresh_import):
    files = {
        "pv_mine": f"import pv_helper\n{LEARNER}",
        "pv_helper": "import pv_mine\nRATE = 1\n",
    }
    assert provenance.of_class(fresh_import("pv_mine", **files).Mine)


def test_all_files_of_a_package_count(fresh_import):
    files = {
        "pv_pack/__init__": "",
        "pv_pack/deep": LEARNER,
        "pv_pack/other": "A = 1\n",
    }
    one = provenance.of_class(fresh_import("pv_pack.deep", **files).Mine)
    files["pv_pack/other"] = "A = 2\n"
    assert one != provenance.of_class(fresh_import("pv_pack.deep", **files).Mine)


def test_a_base_classs_file_counts(fresh_import):
    files = {
        "pv_base": LEARNER,
        "pv_mine": "from pv_base import Mine\nclass Yours(Mine):\n    pass\n",
    }
    one = provenance.of_class(fresh_import("pv_mine", **files).Yours)
    files["pv_base"] = LEARNER + "# edited\n"
    assert one != provenance.of_class(fresh_import("pv_mine", **files).Yours)


def test_an_installed_plugin_is_known_by_its_whole_package(
    fresh_import, monkeypatch, tmp_path
):
    monkeypatch.setattr(provenance, "_installed", lambda: (tmp_path.resolve(),))
    files = {"pv_pack/__init__": LEARNER, "pv_pack/other": "A = 1\n"}
    one = provenance.of_class(fresh_import("pv_pack", **files).Mine)
    files["pv_pack/other"] = "A = 2\n"
    assert one != provenance.of_class(fresh_import("pv_pack", **files).Mine)


def test_a_file_edited_after_import_does_not_change_the_class(fresh_import, tmp_path):
    cls = fresh_import("pv_mine", pv_mine=LEARNER).Mine
    one = provenance.of_class(cls)
    assert not provenance.was_edited(cls)
    (tmp_path / "pv_mine.py").write_text(LEARNER + "# edited\n")
    assert provenance.of_class(cls) == one and provenance.was_edited(cls)


# Classes without a file.


def by_exec():
    space = {}
    exec(LEARNER, space)
    return space["Mine"]


def by_exec_in_this_module():
    space = {"__name__": __name__}
    exec(LEARNER, space)
    return space["Mine"]


def by_type():
    return type("Mine", (by_exec(),), {})


def by_type_in_no_module():
    return type("Mine", (Lean,), {"__module__": "nowhere"})


def in_a_notebook():
    module = types.ModuleType("a_notebook")
    exec(LEARNER, vars(module))
    return module.Mine


@pytest.mark.parametrize(
    "make",
    [by_exec, by_exec_in_this_module, by_type, by_type_in_no_module, in_a_notebook],
)
def test_a_class_without_a_file_is_unknown(make):
    cls = make()
    assert provenance.of_class(cls) is None
    assert not provenance.is_built_in(cls)
    found = identify(setup(cls()), DATA)
    assert found.unknown == ("Mine",) and not found.built_in


def test_a_class_without_a_file_is_never_kept_and_this_is_said(caplog, tmp_path):
    made = setup(by_exec()())
    task = plan_task(made, lambda draw: DATA, [0], [0, 1])
    for _ in range(2):
        caplog.clear()
        outcome = compute(task)
        assert outcome.reused == ()
        assert "Mine has no source file" in caplog.text
        assert "computed anew, and not kept" in caplog.text
    assert not (tmp_path / "cache").exists()


def test_who_keeps_nothing_is_not_warned(caplog):
    made = setup(by_exec()())
    compute(plan_task(made, lambda draw: DATA, [0], [0]), cache=False)
    assert "no source file" not in caplog.text


def test_a_function_is_unknown_too():
    made = dataclasses.replace(
        setup(Ellipsotron()), aggregator=Sample(), annotation=lambda Z, rng: Z
    )
    assert identify(made, DATA).unknown == ("function",)


@dataclasses.dataclass
class Declared(Lean):
    """Whose constructor Python makes, out of no file."""

    C: float = 1.0
    variant: str = "pa2"


class Mapped(dict, Lean):
    """One of whose bases is Python's own."""

    __hash__ = object.__hash__


@pytest.mark.parametrize("cls", [Declared, Mapped])
def test_unusual_classes_of_a_file_are_known(cls):
    assert provenance.of_class(cls) is not None


# What is rsbench's own.


def test_built_in_classes_are_known_by_rsbenchs_own_hash():
    assert provenance.is_built_in(Lean)
    found = identify(setup(Lean()), DATA)
    assert found.built_in and found.unknown == ()


def test_a_class_whose_module_merely_sounds_like_rsbench_is_not_built_in(fresh_import):
    """Names were recognised by how they begin, once."""
    files = {"rsbench_extra/__init__": LEARNER}
    cls = fresh_import("rsbench_extra", **files).Mine
    sys.modules.pop("rsbench_extra")
    assert not provenance.is_built_in(cls)
    sys.modules["rsbench.extra"] = module = types.ModuleType("rsbench.extra")
    try:
        exec(LEARNER, vars(module))
        assert not provenance.is_built_in(module.Mine)
    finally:
        del sys.modules["rsbench.extra"]


# Fingerprints.


def fingerprint(learner=None, data=DATA, **changes):
    made = dataclasses.replace(setup(learner or Lean()), **changes)
    return identify(made, data).fingerprint


def test_a_fingerprint_changes_with_whatever_can_change_a_number(fresh_import):
    mine = fingerprint(fresh_import("pv_mine", pv_mine=LEARNER).Mine())
    edited = fresh_import("pv_mine", pv_mine=LEARNER + "# edited\n").Mine()
    different = [
        mine,
        fingerprint(),
        fingerprint(Lean(C=2.0)),
        fingerprint(Lean(variant="pa")),
        fingerprint(edited),
        fingerprint(protocol=PerClass(1)),
        fingerprint(precision="float32"),
        fingerprint(tune={"learner.C": [1, 2]}),
        fingerprint(data=dataclasses.replace(DATA, identity="y")),
    ]
    assert len(set(different)) == len(different)


def test_a_fingerprint_is_that_of_equal_components():
    assert fingerprint(Lean(C=2.0)) == fingerprint(Lean(C=2.0))
