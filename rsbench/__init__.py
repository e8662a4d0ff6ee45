"""rsbench: a benchmark for online few-shot learning with rich supervision.

The public names below are imported when they are first used, so that
`import rsbench`, which every plugin does, costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:  # for editors and type checkers, which do not run `__getattr__`
    from rsbench.api import Results, experiment, load_results, run
    from rsbench.core.components import (
        Aggregator,
        Corruption,
        Dataset,
        Extractor,
        Preprocessor,
        Protocol,
    )
    from rsbench.core.data import Data, Names
    from rsbench.core.seeds import stream
    from rsbench.errors import UserError
    from rsbench.learners import Learner

__version__ = "0.1.0"

hookimpl = pluggy.HookimplMarker("rsbench")

#: Where each public name is.
_PLACES = {
    "run": "rsbench.api",
    "experiment": "rsbench.api",
    "load_results": "rsbench.api",
    "Results": "rsbench.api",
    "Data": "rsbench.core.data",
    "Names": "rsbench.core.data",
    "UserError": "rsbench.errors",
    "stream": "rsbench.core.seeds",
    "Dataset": "rsbench.core.components",
    "Extractor": "rsbench.core.components",
    "Preprocessor": "rsbench.core.components",
    "Protocol": "rsbench.core.components",
    "Corruption": "rsbench.core.components",
    "Aggregator": "rsbench.core.components",
    "Learner": "rsbench.learners",
}

#: Rooms that people reach through the package: `rsbench.protocols.PerClass`.
_ROOMS = (
    "aggregators",
    "checks",
    "corruptions",
    "datasets",
    "extractors",
    "learners",
    "preprocessors",
    "protocols",
)

__all__ = [
    "Aggregator",
    "Corruption",
    "Data",
    "Dataset",
    "Extractor",
    "Learner",
    "Names",
    "Preprocessor",
    "Protocol",
    "Results",
    "UserError",
    "__version__",
    "experiment",
    "hookimpl",
    "load_results",
    "run",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"rsbench.{name}")
    raise AttributeError(f"module 'rsbench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
