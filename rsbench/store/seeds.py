"""Finished seeds, kept one by one: what was computed once is not computed again.

A seed is found by its run's fingerprint and its number, whatever command or notebook
computed it. Each is a JSON file of its own that a person can read, with its test
samples in a file beside it. It is made under a lock of its own, so parallel jobs work
side by side, and two that want the same one share it. What fails is not kept.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rsbench.core.experiment import SeedResult
from rsbench.errors import UserError
from rsbench.files.atomic import write_atomic
from rsbench.files.cache import Cache
from rsbench.store.items import items_bytes, read_items

log = logging.getLogger(__name__)

_FIX = "Make room, or name another folder for caches with RSBENCH_CACHE"


def seed_result(
    fingerprint: str,
    seed: int,
    compute: Callable[[], SeedResult],
    force: bool = False,
) -> tuple[SeedResult, bool]:
    """Return the result of a seed, and whether it had been computed before.

    Parameters
    ----------
    fingerprint : str
        The run's; with the seed's number it tells the result from all others.
    seed : int
        The seed's number.
    compute : callable
        Makes the result, if it is not kept.
    force : bool
        Whether to compute it anew in any case.

    Returns
    -------
    result : SeedResult
        The result.
    is_kept : bool
        Whether it had been computed before.

    Raises
    ------
    UserError
        If the folder of kept seeds cannot be read or written.
    """
    # Half of the fingerprint is enough to tell runs apart, and keeps paths short.
    cache = Cache(f"seeds/{fingerprint[:32]}")
    path = cache.folder / f"{seed}.json"
    if not force:
        # Without the lock first: files appear whole, so most are had without waiting.
        kept = _read(path, seed)
        if kept is not None:
            return kept, True
    with cache.lock(f"computing seed {seed}", str(seed)):
        if not force:
            # Another process may have made it while this one waited for the lock.
            kept = _read(path, seed)
            if kept is not None:
                return kept, True
            if path.exists():
                log.warning("%s is damaged: computed again", path)
        computed = compute()
        values = dict(vars(computed))
        tested = values.pop("tested")
        # First, since the JSON file is the mark of a seed that is there.
        items = items_bytes({(0, seed): tested})
        write_atomic(_items_of(path), items, fix=_FIX)
        content = json.dumps(values, default=_plain)
        # As it will be read, so that a fresh result and a kept one cannot differ.
        result = json.loads(content)
        write_atomic(path, _readable(result, _digest(content.encode(), items)), _FIX)
    return SeedResult(**result, tested=tested), False


def _items_of(path: Path) -> Path:
    """Return the file of a kept seed's test samples."""
    return path.with_suffix(".npz")


def _digest(content: bytes, items: bytes) -> str:
    """Return the hash of a kept seed: of its values and its test samples."""
    digest = hashlib.sha256(content)
    digest.update(items)
    return digest.hexdigest()


def _readable(result: dict[str, Any], digest: str) -> str:
    """Return the file's text: JSON with a line for each row.

    `json.dumps(indent=…)` gives each number a line, and takes ten times as long.
    """
    parts = []
    for key, value in result.items():
        text = json.dumps(value)
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            text = f"[\n  {rows}\n ]"
        parts.append(f'"{key}": {text}')
    body = ",\n ".join(parts)
    return f'{{"sha256": "{digest}",\n"result": {{\n {body}\n}}}}\n'


def _read(path: Path, seed: int) -> SeedResult | None:
    """Return the kept result; None if there is none, or a damaged one."""
    try:
        text = path.read_text(encoding="utf-8")
        items = _items_of(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        text = ""  # which is no JSON either
        items = b""
    except OSError as error:
        cause = f"cannot read the kept seed {path}: {error.strerror}"
        raise UserError(f"{cause}. {_FIX}") from None
    try:
        whole = json.loads(text)
        # As it was hashed: JSON gives back the same numbers in the same order.
        content = json.dumps(whole["result"])
        intact = _digest(content.encode(), items) == whole["sha256"]
        tested = read_items(_items_of(path))[0, seed]
        result = SeedResult(**whole["result"], tested=tested)
        seeds = {row["seed"] for row in (*result.rows, *result.per_class)}
    # Somebody's file, or one of another release: of any shape.
    except (KeyError, TypeError, ValueError, UserError):
        intact = False
    if not intact or seeds != {seed}:
        return None
    return result


def _plain(value: Any) -> Any:
    """Return NumPy's scalars, which an aggregator may give for what it tuned."""
    return value.item()
