"""Getting a data set: a download that goes on where it broke off, checked, and unpacked whole or not at all."""

import hashlib
import http.client
import logging
import os
import shutil
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path, PurePosixPath

from filelock import FileLock
from tqdm import tqdm

from rsbench.datasets.real import Archive
from rsbench.errors import UserError

log = logging.getLogger(__name__)

_CHUNK = 1 << 18
_TIMEOUT = 30
#: Broken connections in a row, without a byte received, after which to give up.
_ATTEMPTS = 5
#: Space that unpacking takes, in sizes of the archive; images hardly compress.
_UNPACKED = 1.3


def get(archive: Archive, root: Path, url: str | None = None) -> bool:
    """Make sure that the data set is in `root`; whether anything had to be done."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot use {root}: {error.strerror}. Name another place with RSBENCH_DATA"
        ) from None
    with FileLock(root / f".{archive.folder}.lock"):
        if (root / archive.folder).exists():
            return False
        url = url or archive.url
        file = root / f"{archive.folder}.tgz"
        if not file.exists():
            _download(url, file, archive.md5)
        elif archive.md5 and _md5(file) != archive.md5:
            raise UserError(
                f"{file} is there, but its md5 is not {archive.md5}: remove it, to get it anew"
            )
        _unpack(file, root, archive)
        file.unlink()
    return True


def _download(url: str, file: Path, md5: str) -> None:
    """Fetch until the md5 is right; what was fetched of a broken download is used, once."""
    part = file.with_name(file.name + ".part")
    resumed = part.exists()
    _fetch(url, part)
    found = _md5(part)
    if not md5:
        log.warning("md5 of %s is %s; there is none to compare it with", url, found)
        md5 = found
    if found != md5 and resumed:
        log.warning("what was left of an earlier download does not fit: starting anew")
        part.unlink()
        _fetch(url, part)
        found = _md5(part)
    if found != md5:
        part.unlink()
        raise UserError(
            f"{url}: md5 is {found}, expected {md5}: not the right file; it was removed. Try another --url"
        )
    os.replace(part, file)


def _fetch(url: str, part: Path) -> None:
    """Download to `part`, on from its end; a connection that breaks is opened again."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError as error:
        raise UserError(f"--url {url}: {error}") from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or any(c.isspace() for c in url)
    ):
        raise UserError(
            f"--url {url}: expected an address that starts with https:// or http://"
        )
    failures = 0
    with tqdm(
        desc=part.name.removesuffix(".part"),
        unit="B",
        unit_scale=True,
        unit_divisor=1024,
    ) as bar:
        while True:
            before = _size(part)
            try:
                if _fetch_once(url, part, bar):
                    return
                cause: Exception | str = "the connection broke off"
            except urllib.error.HTTPError as error:
                if error.code == 416 and before:  # nothing beyond what we have
                    return
                if error.code < 500:
                    raise UserError(
                        f"{url}: the server answers {error.code} {error.reason}. Try another --url"
                    ) from None
                cause = error
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, OSError) and error.errno == 28:
                    raise UserError(
                        f"no space left for {part}: make room, or set RSBENCH_DATA; then run this again"
                    ) from None
                cause = error
            failures = 0 if _size(part) > before else failures + 1
            if failures == _ATTEMPTS:
                raise UserError(
                    f"{url}: {cause}. {_size(part):,} bytes are kept: run this again to go on"
                )
            time.sleep(min(30.0, 0.2 * 2**failures))


def _fetch_once(url: str, part: Path, bar: tqdm) -> bool:
    """Receive as much as one connection gives; whether that was all."""
    start = _size(part)
    request = urllib.request.Request(
        url, headers={"Range": f"bytes={start}-"} if start else {}
    )  # noqa: S310
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
        if answer.status != 206:
            start = 0  # the server sends it from the beginning
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length else None
        _check_space(part.parent, (total or 0) - start, total or 0)
        bar.total, bar.n = total, start
        with open(part, "ab" if start else "wb") as out:
            while chunk := answer.read(_CHUNK):
                out.write(chunk)
                bar.update(len(chunk))
    return total is None or _size(part) >= total


def _check_space(folder: Path, missing: int, total: int) -> None:
    needed = missing + _UNPACKED * total
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{folder}: {needed / 1e9:.1f} GB are needed to download and unpack, {free / 1e9:.1f} GB are free: "
            "make room, or name another place with RSBENCH_DATA"
        )


def _unpack(file: Path, root: Path, archive: Archive) -> None:
    """Unpack into a folder of its own, then move what is wanted to its place, the data set's folder last."""
    target = root / f".{archive.folder}.unpacking"
    shutil.rmtree(target, ignore_errors=True)
    try:
        with (
            tarfile.open(file) as tar,
            tqdm(desc=f"unpacking {file.name}", unit=" files") as bar,
        ):
            wanted = [(name,) for name in (archive.folder, *archive.beside)]
            for member in tar:
                _check_member(member, file)
                if PurePosixPath(member.name).parts[:1] in wanted:
                    _extract(tar, member, target / member.name)
                    bar.update()
        if not (target / archive.folder).is_dir():
            raise UserError(f"{file}: no folder {archive.folder} in it")
        for name in (*archive.beside, archive.folder):
            if (target / name).exists():
                os.replace(target / name, root / name)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"{file}: cannot unpack: {error}") from None
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _check_member(member: tarfile.TarInfo, file: Path) -> None:
    """Only plain files and folders inside the archive's own tree; an archive with anything else is refused."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\\" in member.name:
        raise UserError(
            f"{file}: member '{member.name}' would lie outside of its folder: archive refused"
        )
    if not (member.isfile() or member.isdir()):
        raise UserError(
            f"{file}: member '{member.name}' is a link or a device: archive refused"
        )


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """The content alone: no owner, no mode, no time."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    assert content is not None
    with content, open(path, "wb") as out:
        shutil.copyfileobj(content, out)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
