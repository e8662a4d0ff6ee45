"""Each setting, declared once: what can change results, and what keeps a run the paper's."""

import pytest

from rsbench.plugins import registry
from rsbench.store.settings import SETTINGS, declared, keep_the_papers

#: Whether results can change, and whether a run with another value is still the paper's.
DECLARED = {
    "force": (False, True),
    "on_error": (False, True),
    "seed": (False, True),
    "seeds": (False, True),
    "draws": (False, True),
    "judged_step": (False, True),
    "table_steps": (False, True),
    "margin": (False, True),
    "counterparts": (False, True),
    "tracking": (False, True),
    "tracking.uri": (False, True),
    "experiment": (False, True),
    "method": (True, True),
    "control": (True, False),
    "precision": (True, False),
    "learner": (True, False),
    "learner.C": (True, False),
    "aggregator.scope": (True, False),
    "annotation": (True, False),
    "annotation.marks": (True, False),
    "preprocessor.fit_on": (True, False),
    "protocol.samples_per_class": (True, False),
    "protocol.test": (True, False),
    "tune": (True, False),
    "tune.learner.C": (True, False),
    "learn_on": (True, False),
    "theta": (True, False),
    "dataset": (True, False),
    "dataset.root": (True, True),
    "dataset.source": (True, True),
    "dataset.classes": (True, False),
    "dataset.draw": (True, False),
    "extractor": (True, True),
    "extractor.backbone": (True, True),
    "extractor.device": (True, True),
    "extractor.epochs": (True, False),
    "extractor.workers": (False, True),
    "extractor.batch_size": (False, True),
}


@pytest.mark.parametrize("key", DECLARED)
def test_a_setting_is_declared_once_for_all(key):
    found = declared(key)
    assert (found.changes_results, found.keeps_the_papers) == DECLARED[key]
    assert keep_the_papers([key]) == found.keeps_the_papers


@pytest.mark.parametrize("key", ["mood", "mine.rate", "mine.deep.rate", ""])
def test_an_undeclared_setting_counts_as_changing_everything(key):
    assert declared(key).changes_results and not keep_the_papers([key])


def test_several_settings_are_as_strict_as_the_strictest():
    assert keep_the_papers([]) and keep_the_papers(["seeds", "extractor.backbone"])
    assert not keep_the_papers(["seeds", "learner.C"])


def test_a_component_and_its_parameters_can_be_declared_apart():
    """Another extractor is still the experiment; another way to train it is not."""
    assert keep_the_papers(["extractor"])
    assert not keep_the_papers(["extractor.anything"])
    assert keep_the_papers(["extractor.backbone.depth"])


def test_no_setting_is_declared_twice():
    keys = [setting.key for setting in SETTINGS]
    assert len(keys) == len(set(keys))


def test_every_declared_parameter_is_one_that_some_component_has():
    """Else it was renamed, and its declaration has no effect."""
    components = registry.load().components
    for setting in SETTINGS:
        group, _, name = setting.key.partition(".")
        if name in ("", "*"):
            continue
        parameters = set()
        for component in components[group].values():
            if component.plugin.is_built_in:
                parameters |= set(component.parameters)
        assert name in parameters, setting.key


def test_parameters_that_decide_numbers_are_all_declared_so():
    """How fast images are read is all of a component that cannot change a number."""
    harmless = {"extractor.workers", "extractor.batch_size"}
    for group, components in registry.load().components.items():
        for component in components.values():
            for name in component.parameters:
                key = f"{group}.{name}"
                assert declared(key).changes_results != (key in harmless), key
