"""Random streams, for components of plugins that draw."""

from rsbench.core.seeds import stream

__all__ = ["stream"]
