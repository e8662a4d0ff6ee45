"""Text as a terminal shows it: paths as seen from here, and long words cut."""

import os
from pathlib import Path


def shown_path(path: Path | str) -> str:
    """Return a path as a person in the working folder would write it.

    Anything else, such as the name of a package, stays as it is.
    """
    if Path(path).is_relative_to(Path.cwd()):
        return os.path.relpath(path)
    return str(path)


def cut(text: str, room: int) -> str:
    """Return text that takes no more room than there is."""
    if len(text) <= room:
        return text
    return text[: room - 1] + "…"
