"""Every extension point, on one page.

A plugin is a module with functions of these names, marked `@rsbench.hookimpl`, each returning
{name: class}. The parameters of a class's constructor are its configuration; a method
`check_params()`, if there is one, is called before a run starts.
"""

import pluggy

hookspec = pluggy.HookspecMarker("rsbench")


@hookspec
def rsbench_datasets() -> dict[str, type]:
    """Where samples come from: `load() -> Data`."""
    raise NotImplementedError


@hookspec
def rsbench_extractors() -> dict[str, type]:
    """From images to features: `extract(data) -> Data`; skipped when the data have features."""
    raise NotImplementedError


@hookspec
def rsbench_preprocessors() -> dict[str, type]:
    """What is done to features: `transform(X)`; if it learns, `fit(X)`, `fit_on` and optionally `partial_fit(X)`."""
    raise NotImplementedError


@hookspec
def rsbench_protocols() -> dict[str, type]:
    """Split and order: `plan(y, test, rng) -> (steps of indices, test indices)`; `unit` names what steps count."""
    raise NotImplementedError


@hookspec
def rsbench_aggregators() -> dict[str, type]:
    """From votes to relevance: `fit(Z, y)` on the training pool, `relevance(Z, y)`; may have `tune(validate)`."""
    raise NotImplementedError


@hookspec
def rsbench_learners() -> dict[str, type]:
    """What learns: scikit-learn's `partial_fit`, `decision_function`, `predict`; a `random_state` is set by the run."""
    raise NotImplementedError
