"""Samples, their labels and annotations: what data sets of plugins are made of."""

from rsbench.core.data import Data, Drawn, Names, Training

__all__ = ["Data", "Drawn", "Names", "Training"]
