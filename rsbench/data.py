"""Samples, their labels and annotations: what data sets of plugins are made of."""

from rsbench.core.data import Background, Data, Drawn, Names, Training

__all__ = ["Background", "Data", "Drawn", "Names", "Training"]
