"""Files written atomically, locked, read as text, and known by their content."""

import contextlib
import hashlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from rsbench.errors import UserError

#: What helps if a folder of results cannot be written to.
CHOOSE_FOLDER = (
    "Earlier results are intact; make room or choose another folder with "
    "hydra.run.dir (a sweep: hydra.sweep.dir)"
)


def write_atomic(path: Path, content: str | bytes, fix: str = CHOOSE_FOLDER) -> None:
    """Write the whole file, or leave what was there before.

    Parameters
    ----------
    path : Path
        The file; its folder must exist.
    content : str or bytes
        What to write; text as UTF-8.
    fix : str
        What helps if the file cannot be written, as the error's last sentence.

    Raises
    ------
    UserError
        If it cannot be written; the file is then what it was.
    """
    if isinstance(content, str):
        content = content.encode()
    # With the node's name, as two nodes of a cluster may have processes of one number.
    temporary = path.with_name(f".{path.name}.{platform.node()}-{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            # Else a power failure could leave the new name with nothing behind it.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        cause = error.strerror or error
        raise UserError(f"cannot write {path}: {cause}. {fix}") from None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock, as a file made for the purpose, while the block runs.

    One process at a time holds it; it is free again when the block ends or the process
    dies.
    """
    from filelock import FileLock

    with FileLock(path):
        try:
            yield
        finally:
            # Whoever waits for the file notices that it is gone, and makes it again.
            with contextlib.suppress(OSError):
                path.unlink()


def file_hash(path: Path) -> bytes:
    """Return the sha256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def read_text(path: Path) -> str:
    """Return a text file's content; an error names a file that cannot be read."""
    try:
        # Editors on Windows write a mark before the first letter, which is not text.
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"cannot read {path}: not UTF-8 text") from None


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file, stripped, without empty ones."""
    lines = []
    for line in read_text(path).splitlines():
        stripped = line.strip()
        if stripped:
            lines.append(stripped)
    return lines
