"""Arrays on disk, found again by what they were made from.

An entry is written whole and carries the hash of its content, so that a process killed at any moment
leaves the cache usable, and an entry damaged later is noticed, thrown away and made again.
"""

import contextlib
import hashlib
import io
import json
import logging
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.errors import UserError
from rsbench.files.atomic import write_whole

log = logging.getLogger(__name__)

_SUFFIX = ".cache"
_FIX = "Make room, or name another folder for caches with RSBENCH_CACHE"
_DIGEST_BYTES = hashlib.sha256().digest_size


def key_of(*parts: Any) -> str:
    """A name for what is made from these parts: arrays and bytes by content, anything else as JSON."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            content: Any = np.ascontiguousarray(part).data
        else:
            content = (
                part
                if isinstance(part, bytes)
                else json.dumps(part, sort_keys=True).encode()
            )
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:32]


def cache_root() -> Path:
    """Where caches live: RSBENCH_CACHE, by default `outputs/cache` of the working folder."""
    return Path(os.environ.get("RSBENCH_CACHE") or "outputs/cache")


class Cache:
    """Entries of one kind: a folder below RSBENCH_CACHE (by default `outputs/cache`)."""

    def __init__(self, kind: str):
        self.folder = cache_root() / kind

    def get(self, key: str) -> dict[str, np.ndarray] | None:
        """The arrays of an entry; None if there is none, or only a damaged one, which is removed."""
        path = self.folder / f"{key}{_SUFFIX}"
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UserError(
                f"cannot read the cache entry {path}: {error.strerror}. {_FIX}"
            ) from None
        arrays = _decode(content)
        if arrays is None:
            log.warning("cache entry %s is damaged: to be made again", path)
            with contextlib.suppress(
                OSError
            ):  # where nothing can be written, it will not be kept either
                path.unlink(missing_ok=True)
        return arrays

    def put(self, key: str, **arrays: np.ndarray) -> None:
        """Keep arrays under a key."""
        self.folder.mkdir(parents=True, exist_ok=True)
        payload = io.BytesIO()
        np.savez(payload, **arrays)  # type: ignore[arg-type]
        content = payload.getvalue()
        write_whole(
            self.folder / f"{key}{_SUFFIX}",
            hashlib.sha256(content).digest() + content,
            fix=_FIX,
        )

    def make(
        self,
        key: str,
        what: str,
        compute: Callable[[], dict[str, np.ndarray]],
        *,
        side_by_side: bool = False,
        anew: bool = False,
    ) -> dict[str, np.ndarray]:
        """The arrays of an entry, computed if there is none: by one process, while the others wait and find it made.

        Entries are made one after the other, or `side_by_side`, each under a lock of its own; `anew` replaces one.
        """
        known = None if anew else self.get(key)
        if known is None:
            with self.lock(what, key if side_by_side else ""):
                known = None if anew else self.get(key)
                if known is None:
                    known = compute()
                    self.put(key, **known)
        return known

    def remove(self, key: str) -> None:
        """Forget an entry."""
        (self.folder / f"{key}{_SUFFIX}").unlink(missing_ok=True)

    def entries(self) -> Iterator[dict[str, np.ndarray]]:
        """All entries that are intact."""
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            arrays = self.get(path.name.removesuffix(_SUFFIX))
            if arrays is not None:
                yield arrays

    @contextlib.contextmanager
    def lock(self, what: str, key: str = "") -> Iterator[None]:
        """Only one process at a time makes `what`, of one entry or in the folder; others wait and find it made."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / f".{key}.lock" if key else self.folder / ".lock")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            log.warning("waiting for another process, which is %s", what)
            lock.acquire()
        except OSError as error:
            raise UserError(
                f"cannot use the cache folder {self.folder}: {error.strerror}. {_FIX}"
            ) from None
        try:
            for path in self.folder.glob(f".{key}{_SUFFIX}.*.tmp" if key else ".*.tmp"):
                path.unlink(
                    missing_ok=True
                )  # of a process that was killed while writing
            yield
        finally:
            if key:  # one file for each entry would be too many to keep; whoever waits for it looks again
                with contextlib.suppress(OSError):
                    Path(lock.lock_file).unlink()
            lock.release()


def _decode(content: bytes) -> dict[str, np.ndarray] | None:
    payload = content[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != content[:_DIGEST_BYTES]:
        return None
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, zipfile.BadZipFile):
        return None
