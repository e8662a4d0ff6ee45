"""Every extension point, on one page.

A plugin is a module with functions of these names, marked `@rsbench.hookimpl`, each
returning {name: class}. The parameters of a class's constructor are its configuration.
The base classes in `rsbench.core.components` say what each kind does.
"""

import pluggy

hookspec = pluggy.HookspecMarker("rsbench")


@hookspec
def rsbench_datasets() -> dict[str, type]:
    """Offer places where samples come from: `load() -> Data`."""
    raise NotImplementedError


@hookspec
def rsbench_extractors() -> dict[str, type]:
    """Offer ways from images to features: `extract(data) -> Data`."""
    raise NotImplementedError


@hookspec
def rsbench_preprocessors() -> dict[str, type]:
    """Offer changes of features: `transform(X)`; to learn, `fit(X)` and `fit_on`."""
    raise NotImplementedError


@hookspec
def rsbench_protocols() -> dict[str, type]:
    """Offer splits and orders: `plan(y, test, rng) -> steps, test`, all indices."""
    raise NotImplementedError


@hookspec
def rsbench_corruptions() -> dict[str, type]:
    """Offer changes of votes, for `annotation=NAME`; `y` for those that name it."""
    raise NotImplementedError


@hookspec
def rsbench_aggregators() -> dict[str, type]:
    """Offer ways from votes to relevance: `fit(Z, y)`, `relevance(Z, y)`."""
    raise NotImplementedError


@hookspec
def rsbench_learners() -> dict[str, type]:
    """Offer what learns: scikit-learn's `partial_fit` and `decision_function`."""
    raise NotImplementedError
