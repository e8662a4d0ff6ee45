"""Each setting, declared once: can it change results, and is a run still the paper's?

Fingerprints, resuming, the paper's columns, labels and families of tests all read this
declaration. A setting is found by its dotted key, else by the longest beginning of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """A setting, or all settings below a dotted key.

    Parameters
    ----------
    key : str
        Dotted key. It holds for everything below it too, unless `key.*` is declared.
    changes_results : bool
        Whether another value can change a seed's numbers.
    keeps_the_papers : bool
        Whether a run with another value is still the paper's experiment.
    """

    key: str
    changes_results: bool
    keeps_the_papers: bool


SETTINGS = (
    # Which seeds and draws there are changes none of them.
    Setting("seed", changes_results=False, keeps_the_papers=True),
    Setting("seeds", changes_results=False, keeps_the_papers=True),
    Setting("draws", changes_results=False, keeps_the_papers=True),
    # What is said of results, and what they are compared with.
    Setting("judged_step", changes_results=False, keeps_the_papers=True),
    Setting("table_steps", changes_results=False, keeps_the_papers=True),
    Setting("prices", changes_results=False, keeps_the_papers=True),
    Setting("margin", changes_results=False, keeps_the_papers=True),
    Setting("counterparts", changes_results=False, keeps_the_papers=True),
    # How a command goes about its work.
    Setting("force", changes_results=False, keeps_the_papers=True),
    Setting("on_error", changes_results=False, keeps_the_papers=True),
    Setting("tracking", changes_results=False, keeps_the_papers=True),
    # What a run is: the paper has rows for these, or it has none.
    Setting("experiment", changes_results=False, keeps_the_papers=True),
    Setting("method", changes_results=True, keeps_the_papers=True),
    Setting("control", changes_results=True, keeps_the_papers=False),
    # A method's aggregator takes it over, where it has one.
    Setting("theta", changes_results=True, keeps_the_papers=False),
    Setting("learn_on", changes_results=True, keeps_the_papers=False),
    Setting("precision", changes_results=True, keeps_the_papers=False),
    Setting("tune", changes_results=True, keeps_the_papers=False),
    Setting("learner", changes_results=True, keeps_the_papers=False),
    Setting("aggregator", changes_results=True, keeps_the_papers=False),
    Setting("annotation", changes_results=True, keeps_the_papers=False),
    Setting("preprocessor", changes_results=True, keeps_the_papers=False),
    Setting("protocol", changes_results=True, keeps_the_papers=False),
    # Another copy of the data, or other classes of it, is still the experiment.
    Setting("dataset", changes_results=True, keeps_the_papers=False),
    Setting("dataset.source", changes_results=True, keeps_the_papers=True),
    Setting("dataset.root", changes_results=True, keeps_the_papers=True),
    Setting("dataset.split", changes_results=True, keeps_the_papers=True),
    Setting("dataset.split_seed", changes_results=True, keeps_the_papers=True),
    Setting("dataset.on_bad_image", changes_results=True, keeps_the_papers=True),
    Setting("dataset.vocabulary", changes_results=True, keeps_the_papers=True),
    # So is another network. How its detectors are trained is part of the experiment.
    Setting("extractor", changes_results=True, keeps_the_papers=True),
    Setting("extractor.*", changes_results=True, keeps_the_papers=False),
    Setting("extractor.backbone", changes_results=True, keeps_the_papers=True),
    Setting("extractor.weights", changes_results=True, keeps_the_papers=True),
    Setting("extractor.model", changes_results=True, keeps_the_papers=True),
    Setting("extractor.path", changes_results=True, keeps_the_papers=True),
    Setting("extractor.array", changes_results=True, keeps_the_papers=True),
    Setting("extractor.content", changes_results=True, keeps_the_papers=True),
    Setting("extractor.names_file", changes_results=True, keeps_the_papers=True),
    Setting("extractor.device", changes_results=True, keeps_the_papers=True),
    # Only how fast images are read.
    Setting("extractor.workers", changes_results=False, keeps_the_papers=True),
    Setting("extractor.batch_size", changes_results=False, keeps_the_papers=True),
)

_BY_KEY = {setting.key: setting for setting in SETTINGS}

#: A plugin's own settings, of which nothing is known, count as changing everything.
_UNKNOWN = Setting("", changes_results=True, keeps_the_papers=False)


def declared(key: str) -> Setting:
    """Return the declaration that holds for a dotted key."""
    if key in _BY_KEY:
        return _BY_KEY[key]
    parent, _, _ = key.rpartition(".")
    if not parent:
        return _UNKNOWN
    # `extractor.*` is for what is below `extractor`, and before it.
    return _BY_KEY.get(f"{parent}.*") or declared(parent)


def keep_the_papers(keys: Iterable[str]) -> bool:
    """Tell whether a run in which these settings differ is still the paper's."""
    return all(declared(key).keeps_the_papers for key in keys)
