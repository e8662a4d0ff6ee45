"""Arrays on disk, found again by what they were made from.

An entry is an npz file behind the sha256 of its bytes, written atomically. So a process
killed at any moment leaves the cache usable, and an entry that is damaged later is
noticed, thrown away and made again.
"""

import contextlib
import hashlib
import io
import json
import logging
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.errors import UserError
from rsbench.files.atomic import write_atomic
from rsbench.files.places import cache_root

log = logging.getLogger(__name__)

_SUFFIX = ".cache"
#: The last sentence of errors.
_FIX = "Make room, or name another folder for caches with RSBENCH_CACHE"
_DIGEST_BYTES = hashlib.sha256().digest_size


def key_of(*parts: Any) -> str:
    """Return a name for what is made from these parts.

    Parameters
    ----------
    *parts : array, bytes, or anything that JSON can hold
        Arrays and bytes count by their content, anything else by its JSON.

    Returns
    -------
    str
        32 hexadecimal digits; other parts have other digits.
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            # The same bytes are other numbers in another type or shape.
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            content: Any = np.ascontiguousarray(part).data
        elif isinstance(part, bytes):
            content = part
        else:
            content = json.dumps(part, sort_keys=True).encode()
        # Hashed one by one, so that bytes cannot move from one part to the next.
        digest.update(hashlib.sha256(content).digest())
    # 128 bits: so many that no two keys meet by chance.
    return digest.hexdigest()[:32]


class Cache:
    """Entries of one kind, each some named arrays under a key.

    Parameters
    ----------
    kind : str
        Their folder below RSBENCH_CACHE (by default `outputs/cache`).
    """

    def __init__(self, kind: str):
        self.folder = cache_root() / kind

    def get(self, key: str) -> dict[str, np.ndarray] | None:
        """Return an entry's arrays; None if there is none.

        A damaged entry counts as none, and is removed.
        """
        path = self._path(key)
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
            # Where nothing can be removed, nothing can be kept either.
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        return arrays

    def put(self, key: str, **arrays: np.ndarray) -> None:
        """Keep arrays under a key, in place of what was there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(self._path(key), _encode(arrays), fix=_FIX)

    def make(
        self,
        key: str,
        what: str,
        compute: Callable[[], dict[str, np.ndarray]],
        *,
        replace: bool = False,
    ) -> dict[str, np.ndarray]:
        """Return an entry's arrays, computed if there is no such entry.

        One process computes them, while others that want the same entry wait for it.

        Parameters
        ----------
        key : str
            Of the entry.
        what : str
            What is being done, for those who wait: "reading annotations".
        compute : callable
            Returns the arrays by their names.
        replace : bool
            Whether to compute them in any case, and replace an entry that is there.
        """
        if replace:
            with self.lock(what, key):
                return self._compute(key, compute)
        known = self.get(key)
        if known is not None:
            return known
        with self.lock(what, key):
            known = self.get(key)  # another process may have made it meanwhile
            if known is not None:
                return known
            return self._compute(key, compute)

    def _compute(
        self, key: str, compute: Callable[[], dict[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        arrays = compute()
        self.put(key, **arrays)
        return arrays

    def remove(self, key: str) -> None:
        """Forget an entry, if it is there."""
        self._path(key).unlink(missing_ok=True)

    def entries(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the arrays of all intact entries, in the order of their keys."""
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            arrays = self.get(path.name.removesuffix(_SUFFIX))
            if arrays is not None:
                yield arrays

    @contextlib.contextmanager
    def lock(self, what: str, key: str = "") -> Iterator[None]:
        """Hold the lock of one entry, or of the whole folder, while the block runs.

        Parameters
        ----------
        what : str
            What is being done, for those who wait: "reading annotations".
        key : str
            Of the entry; without one, the lock is the folder's.
        """
        from filelock import FileLock, Timeout

        path = self.folder / ".lock"
        remains = ".*.tmp"  # what `write_atomic` calls a file that is not whole yet
        if key:
            path = self.folder / f".{key}.lock"
            remains = f".{key}.*.tmp"
        lock = FileLock(path)
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
            # Of processes that were killed while writing.
            for temporary in self.folder.glob(remains):
                temporary.unlink(missing_ok=True)
            yield
        finally:
            # A lock file for each entry would be too many to keep. Whoever waits for
            # it notices that it is gone, and makes it again.
            if key:
                with contextlib.suppress(OSError):
                    path.unlink()
            lock.release()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"


def _encode(arrays: dict[str, np.ndarray]) -> bytes:
    """Return an entry's bytes: the digest of an npz file, then the file."""
    payload = io.BytesIO()
    np.savez(payload, **arrays)  # type: ignore[arg-type]
    content = payload.getvalue()
    return hashlib.sha256(content).digest() + content


def _decode(content: bytes) -> dict[str, np.ndarray] | None:
    """Return an entry's arrays; None if its bytes are not those that were written."""
    payload = content[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != content[:_DIGEST_BYTES]:
        return None
    try:
        # Whoever can write to the cache could otherwise run code by it.
        with np.load(io.BytesIO(payload), allow_pickle=False) as file:
            return dict(file)
    except (ValueError, OSError, zipfile.BadZipFile):
        return None
