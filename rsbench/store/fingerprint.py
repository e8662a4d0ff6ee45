"""What tells one computation from all others: settings, data, code and versions."""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rsbench import __version__

_PACKAGE = Path(__file__).resolve().parent.parent

#: Libraries whose versions can change a number.
_COMPUTE = ("numpy", "scipy", "torch", "scikit-learn")
#: Libraries whose versions a record names.
_VERSIONED = (*_COMPUTE, "hydra-core", "omegaconf", "mlflow", "pluggy")


def fingerprint(
    components: dict[str, Any], data: Iterable[str], code: Iterable[str]
) -> str:
    """Return a hash of everything that can change a seed's numbers.

    It is the same for all seeds of a run; with the seed's number it tells one result
    from all others.

    Parameters
    ----------
    components : dict
        By kind, the class of each component and its parameters.
    data : iterable of str
        The data's identity, and the names of its classes.
    code : iterable of str
        Hashes of the third-party code that the run uses.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    # Another Hydra or MLflow is no reason to compute anything again.
    computing = {}
    for name, version in versions().items():
        if name in _COMPUTE:
            computing[name] = version
    parts = {
        "components": components,
        "data": list(data),
        "code": [code_identity(), *code],
        "versions": computing,
    }
    content = json.dumps(parts, sort_keys=True, default=_plain)
    return hashlib.sha256(content.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return something that JSON can hold for a parameter that it cannot."""
    if isinstance(value, np.ndarray):
        # Printed, a large array is mostly dots: runs with other values would be taken
        # for the same.
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return [value.dtype.str, value.shape, content]
    return str(value)


@functools.cache
def code_identity() -> str:
    """Return a hash of rsbench's own sources: people edit between releases."""
    digest = hashlib.sha256()
    # Sorted, since file systems list their files in any order.
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of what computes, read without importing it."""
    found = {"rsbench": __version__, "python": platform.python_version()}
    for name in _VERSIONED:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def version_of(library: str) -> str:
    """Return a library and its version; `none` where it is not installed."""
    try:
        return f"{library} {importlib.metadata.version(library)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{library} none"


@functools.cache
def git_commit() -> str | None:
    """Return the commit of rsbench's own checkout; None when it is installed.

    A + after it says that the checkout has been edited.
    """
    root = _PACKAGE.parent
    try:
        # A checkout of something else may hold an installed rsbench.
        if Path(_git(root, "rev-parse", "--show-toplevel")) != root:
            return None
        commit = _git(root, "rev-parse", "HEAD")
        edited = _git(root, "status", "--porcelain", "--", "rsbench", "conf")
    except (OSError, subprocess.CalledProcessError):
        return None
    if edited:
        return f"{commit}+"
    return commit


def _git(root: Path, *args: str) -> str:
    command = ["git", "-C", str(root), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()
