"""The machine: files written whole and known by content, where data live, how many cores there are."""

import contextlib
import hashlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from rsbench.errors import UserError

_PACKAGE = Path(__file__).resolve().parent.parent

#: The config folder: inside an installed package, beside it in a checkout.
CONF = _PACKAGE / "conf" if (_PACKAGE / "conf").is_dir() else _PACKAGE.parent / "conf"

_CHOOSE_FOLDER = "Earlier results are intact; make room or choose another folder with hydra.run.dir (a sweep: hydra.sweep.dir)"


def write_whole(path: Path, content: str | bytes, fix: str = _CHOOSE_FOLDER) -> None:
    """Write the file completely or leave what was there; `fix` says what helps if it cannot be written."""
    # Two nodes of a cluster may have processes of one number.
    temporary = path.with_name(f".{path.name}.{platform.node()}-{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise UserError(
            f"cannot write {path}: {error.strerror or error}. {fix}"
        ) from None


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock by a file made for the purpose: one process at a time, until the block ends or the process dies."""
    from filelock import FileLock

    with FileLock(path):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()  # whoever waits for it notices, and makes it again


def data_root() -> Path:
    """Where data sets live: RSBENCH_DATA, by default `data` of the working folder."""
    return Path(os.environ.get("RSBENCH_DATA") or "data")


def file_hash(path: Path) -> bytes:
    """The sha256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def read_text(path: Path) -> str:
    """A text file's content; an error that names the file if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UserError(f"cannot read {path}: {cause}") from None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not empty."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def cores() -> int:
    """How many cores this process may use: those it is bound to, and on a cluster no more than it was given."""
    here = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )
    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(here, int(given)) if given.isdecimal() and int(given) else here
