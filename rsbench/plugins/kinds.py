"""The kinds of components: what commands, configs and hooks call each of them."""

from dataclasses import dataclass

from rsbench.core.components import (
    Aggregator,
    Component,
    Corruption,
    Dataset,
    Extractor,
    Learner,
    Preprocessor,
    Protocol,
)


@dataclass(frozen=True)
class Kind:
    """A kind of components.

    Parameters
    ----------
    name : str
        What commands call it: `new learner`, `check --kind learner`.
    group : str
        The config group in which one is chosen: `learner=NAME`.
    base : type
        What its components can derive from.
    """

    name: str
    group: str
    base: type[Component]

    @property
    def hook(self) -> str:
        """The name of the hook that offers them."""
        return f"rsbench_{self.name}s"

    @property
    def room(self) -> str:
        """The module of the built-in ones."""
        return f"rsbench.{self.name}s"


#: In the order in which a sample meets them.
ALL = (
    Kind("dataset", "dataset", Dataset),
    Kind("extractor", "extractor", Extractor),
    Kind("preprocessor", "preprocessor", Preprocessor),
    Kind("protocol", "protocol", Protocol),
    Kind("corruption", "annotation", Corruption),
    Kind("aggregator", "aggregator", Aggregator),
    Kind("learner", "learner", Learner),
)

#: A kind has two names: a corruption is chosen in the config group `annotation`.
BY_NAME = {kind.name: kind for kind in ALL}
BY_GROUP = {kind.group: kind for kind in ALL}
