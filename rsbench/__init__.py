"""rsbench: a benchmark for online few-shot learning with rich supervision."""

import pluggy

__version__ = "0.1.0"

hookimpl = pluggy.HookimplMarker("rsbench")

__all__ = ["__version__", "hookimpl"]
