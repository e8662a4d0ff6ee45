"""Getting a data set: download its archive, check it, and unpack it.

A download that broke off goes on where it stopped. An archive is unpacked whole or not
at all, and only if all that is in it would lie in its own folder.
"""

import bz2
import errno
import gzip
import hashlib
import http
import http.client
import logging
import lzma
import os
import shutil
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from filelock import FileLock
from tqdm import tqdm

from rsbench.errors import UserError
from rsbench.files.archive import Archive

log = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 18
#: Without a byte for so long, a connection counts as broken.
_TIMEOUT_SECONDS = 30
#: Broken connections in a row, without a byte received, after which to give up.
_ATTEMPTS = 5
#: Space that unpacking takes, in sizes of the archive; images hardly compress.
_UNPACKED = 1.3
#: What reading an archive raises that is none, or no longer what was packed.
_DAMAGE = (
    tarfile.TarError,
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
)


def get(archive: Archive, root: Path, url: str | None = None) -> bool:
    """Make sure that a data set is there.

    Parameters
    ----------
    archive : Archive
        The data set's.
    root : Path
        The folder that is to hold the data set's folder.
    url : str or None
        Address of the archive, in place of the official one.

    Returns
    -------
    bool
        Whether anything had to be done.

    Raises
    ------
    UserError
        If it cannot be downloaded, is another file than expected, or is not to be
        unpacked.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot use {root}: {error.strerror}. Name another place with RSBENCH_DATA"
        ) from None
    # Two commands at once download once.
    with FileLock(root / f".{archive.folder}.lock"):
        if (root / archive.folder).exists():
            return False
        file = root / f"{archive.folder}.tgz"
        is_ours = not file.exists()
        if is_ours:
            _download(url or archive.url, file, archive.md5)
        elif archive.md5 and _md5(file) != archive.md5:
            # It may be something of the user's own, so it is not ours to remove.
            raise UserError(
                f"{file} is there, but its md5 is not {archive.md5}: remove it, to get "
                "it anew"
            )
        try:
            _unpack(file, root, archive)
        except DamagedError as error:
            # Kept, it would be tried again for ever.
            if is_ours and not archive.md5:
                file.unlink()
                raise UserError(f"{error}; it was removed. Try another --url") from None
            raise UserError(f"{error}: remove it, to get it anew") from None
        file.unlink()
    return True


class DamagedError(UserError):
    """An archive is not what it once was, or never was one."""


def _download(url: str, file: Path, md5: str) -> None:
    """Fetch a file with the right md5; try once to go on from an earlier download."""
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
            f"{url}: md5 is {found}, expected {md5}: not the right file; it was "
            "removed. Try another --url"
        )
    os.replace(part, file)


def _fetch(url: str, part: Path) -> None:
    """Download to `part`, on from its end, opening broken connections again."""
    _check_url(url)
    failures = 0
    with tqdm(
        desc=part.name.removesuffix(".part"),
        unit="B",
        unit_scale=True,
        unit_divisor=1024,
    ) as bar:
        while True:
            before = _size(part)
            cause = _try_to_fetch(url, part, bar)
            if cause is None:
                return
            if _size(part) > before:
                failures = 0
            else:
                failures += 1
            if failures == _ATTEMPTS:
                raise UserError(
                    f"{url}: {cause}. {_size(part):,} bytes are kept: run this again "
                    "to go on"
                )
            # Longer each time, as a server that is busy needs a rest.
            time.sleep(min(30.0, 0.2 * 2**failures))


def _check_url(url: str) -> None:
    """Raise an error unless it is an address on the web."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError as error:
        raise UserError(f"--url {url}: {error}") from None
    # urllib would also take file:// and others.
    on_the_web = parts.scheme in ("http", "https") and parts.hostname
    has_spaces = any(character.isspace() for character in url)
    if not on_the_web or has_spaces:
        raise UserError(
            f"--url {url}: expected an address that starts with https:// or http://"
        )


def _try_to_fetch(url: str, part: Path, bar: tqdm) -> Exception | str | None:
    """Fetch over one connection; return why it broke, or None if all is there.

    What trying again cannot mend is an error at once.
    """
    have = _size(part)
    try:
        if _receive(url, part, bar):
            return None
        return "the connection broke off"
    except urllib.error.HTTPError as error:
        beyond = http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
        if error.code == beyond and have:  # there is nothing beyond what we have
            return None
        if error.code < 500:
            raise UserError(
                f"{url}: the server answers {error.code} {error.reason}. Try another "
                "--url"
            ) from None
        return error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise UserError(
                f"no space left for {part}: make room, or set RSBENCH_DATA; then run "
                "this again"
            ) from None
        return error
    except http.client.HTTPException as error:
        return error


def _receive(url: str, part: Path, bar: tqdm) -> bool:
    """Append to `part` as much as one connection gives; return whether that was all."""
    start = _size(part)
    request = urllib.request.Request(url)  # noqa: S310 - the scheme was checked
    if start:
        request.add_header("Range", f"bytes={start}-")
    with urllib.request.urlopen(  # noqa: S310 - likewise
        request, timeout=_TIMEOUT_SECONDS
    ) as answer:
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0  # the server sends it from the beginning
        length = answer.headers.get("Content-Length")
        total = None
        if length:
            total = start + int(length)
            _check_space(part.parent, int(length), total)
        bar.total = total
        bar.n = start
        mode = "wb"
        if start:
            mode = "ab"
        with open(part, mode) as out:
            while chunk := answer.read(_CHUNK_BYTES):
                out.write(chunk)
                bar.update(len(chunk))
    return total is None or _size(part) >= total


def _check_space(folder: Path, missing: int, total: int) -> None:
    """Raise an error unless there is room for the rest of the archive, and unpacked."""
    needed = missing + _UNPACKED * total
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{folder}: {needed / 1e9:.1f} GB are needed to download and unpack, "
            f"{free / 1e9:.1f} GB are free: make room, or name another place with "
            "RSBENCH_DATA"
        )


def _unpack(file: Path, root: Path, archive: Archive) -> None:
    """Unpack into a folder of its own, then move what is wanted to its place."""
    # On the same disk as the final place, so that moving it there is atomic.
    target = root / f".{archive.folder}.unpacking"
    shutil.rmtree(target, ignore_errors=True)
    try:
        _extract_wanted(file, target, archive)
        if not (target / archive.folder).is_dir():
            raise DamagedError(f"{file}: no folder {archive.folder} in it")
        # The data set's folder comes last: where it is there, everything is.
        for name in (*archive.beside, archive.folder):
            if (target / name).exists():
                os.replace(target / name, root / name)
    except _DAMAGE as error:
        raise DamagedError(f"{file}: cannot unpack: {error}") from None
    except OSError as error:
        raise UserError(f"{file}: cannot unpack: {error}") from None
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _extract_wanted(file: Path, target: Path, archive: Archive) -> None:
    """Unpack the data set's folder and files, and nothing else that is in it."""
    wanted = (archive.folder, *archive.beside)
    bar = tqdm(desc=f"unpacking {file.name}", unit=" files")
    with _opener(file)(file, "rb") as content, bar:
        with tarfile.open(fileobj=content, mode="r|") as tar:
            for member in tar:
                # Unwanted ones too: an archive that holds such a thing is not trusted.
                _check_member(member, file)
                top = PurePosixPath(member.name).parts[:1]
                if top and top[0] in wanted:
                    _extract(tar, member, target / member.name)
                    bar.update()
        _read_to_end(content, file)


def _opener(file: Path) -> Callable[..., Any]:
    """Return what opens an archive for what is in it, by the bytes it begins with."""
    with open(file, "rb") as begin:
        magic = begin.read(6)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open
    if magic.startswith(b"BZh"):
        return bz2.open
    if magic == b"\xfd7zXZ\0":
        return lzma.open
    return open


def _read_to_end(content: BinaryIO, file: Path) -> None:
    """Read what is left of an archive: only there is its checksum, which is then tried.

    Beyond the mark of its end an archive has nothing but zeros.
    """
    while chunk := content.read(_CHUNK_BYTES):
        if chunk.strip(b"\0"):
            raise DamagedError(f"{file}: there is something beyond the archive's end")


def _check_member(member: tarfile.TarInfo, file: Path) -> None:
    """Refuse an archive with anything but files and folders in its own tree."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\\" in member.name:
        raise UserError(
            f"{file}: member '{member.name}' would lie outside of its folder: archive "
            "refused"
        )
    if not (member.isfile() or member.isdir()):
        raise UserError(
            f"{file}: member '{member.name}' is a link or a device: archive refused"
        )


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Write a member's content alone: no owner, no mode, no time."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    assert content is not None  # as it is for every plain file
    with content, open(path, "wb") as out:
        shutil.copyfileobj(content, out)


def _size(path: Path) -> int:
    if not path.exists():
        return 0
    return path.stat().st_size


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
