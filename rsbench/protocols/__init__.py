"""Built-in protocols: what is learned from, in which order, and what is tested on.

`plan` returns the steps of a stream (an array of sample numbers each, a test after
each) and the test samples. Samples of the planned classes that are not for testing are
the training pool.
"""

from rsbench import hookimpl
from rsbench.protocols.per_class import PerClass
from rsbench.protocols.stream import Stream

__all__ = ["PerClass", "Stream"]


@hookimpl
def rsbench_protocols() -> dict[str, type]:
    """Offer them under the names that configs use."""
    return {"per_class": PerClass, "stream": Stream}
