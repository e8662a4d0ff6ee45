"""The SUN database as it is on disk: one LabelMe XML file per image.

    Annotations/<letter>/<scene>[/<sub>]/*.xml    Images/… likewise

Objects are named as people typed them. The scene is the folder's path without its
letter. Files that cannot be read are counted by cause and left out, as in the paper; so
are scenes called `misc` and `outliers`.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from rsbench.errors import UserError
from rsbench.files.atomic import file_hash
from rsbench.files.cache import Cache, key_of
from rsbench.files.places import cores

EXCLUDED = ("misc", "outliers")

#: The encoding that an XML file says it has.
_DECLARATION = rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)"""

#: Files that a process parses at a time: enough for the way there and back not to
#: matter, few enough for the bar to move.
FILES_PER_CHUNK = 250
#: So many files are parsed here; more are worth the start of other processes.
FEW_FILES = 2000

#: A file's tags as typed, or in words why it cannot be used.
TagsOrCause = list[str] | str


@dataclass(frozen=True)
class Scan:
    """What the annotation files say.

    Parameters
    ----------
    images : tuple of str
        Paths below Annotations without their ending, n of them.
    scenes : tuple of str
        The scene of each.
    tags : tuple of tuple of str
        The tags of each, as typed; empty ones are left out.
    left_out : dict of int
        How many files were left out, by cause.
    empty_names : int
        How many tags were empty.
    """

    images: tuple[str, ...]
    scenes: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    left_out: dict[str, int]
    empty_names: int


class UnusableError(ValueError):
    """Why an annotation file cannot be used."""


def scan(root: Path) -> Scan:
    """Read all annotations below a folder, from the cache if their content is known."""
    listed, excluded = list_annotations(root)
    causes: Counter[str] = Counter()
    if excluded:
        causes["in " + " or ".join(EXCLUDED)] = excluded
    hashes = _hash_all(root, listed, causes)
    files = list(hashes)

    def parse() -> dict[str, np.ndarray]:
        # As JSON in bytes: rows of tags have no common length, and arrays of objects
        # would have to be pickled.
        content = json.dumps(_parse_all(root, files)).encode()
        return {"scan": np.frombuffer(content, np.uint8)}

    # By content and not by time of change, which copying a data set may alter.
    contents = [[file, digest.hex()] for file, digest in hashes.items()]
    key = key_of("sun 2", contents)  # another number if what is kept changes
    known = Cache("annotations").make(key, "reading SUN's annotations", parse)
    results = json.loads(known["scan"].tobytes())
    found = _collect(files, results, causes)
    if not found.images:
        raise UserError(
            f"{root / 'Annotations'}: none of {len(listed)} annotations can be used: "
            f"{dict(causes)}"
        )
    return found


def list_annotations(root: Path) -> tuple[list[str], int]:
    """Find annotation files.

    Returns
    -------
    files : list of str
        Their paths below Annotations, in order.
    excluded : int
        How many others are of excluded scenes, or of none.
    """
    folder = root / "Annotations"
    if not folder.is_dir():
        raise UserError(
            f"{root}: no folder Annotations in it, so it is not the SUN database: "
            "dataset.root=…/SUN2012"
        )
    found: list[str] = []
    excluded = 0
    for place, folders, names in os.walk(folder):
        folders.sort()  # in place, which decides the order of the walk
        within = Path(place).relative_to(folder)
        files = []
        for name in sorted(names):
            if name.lower().endswith(".xml"):
                files.append((within / name).as_posix())
        if _is_scene(within):
            found += files
        else:
            excluded += len(files)
    if not found:
        raise UserError(
            f"{folder}: no annotations (<letter>/<scene>/*.xml) in it, {excluded} of "
            "excluded scenes"
        )
    return found, excluded


def _is_scene(within: Path) -> bool:
    """Tell whether a folder below Annotations is of a scene that is not excluded."""
    for part in within.parts:
        if part.lower() in EXCLUDED:
            return False
    return len(within.parts) >= 2  # a letter and a scene


def scene_of(file: str) -> str:
    """Return the scene of a file below Annotations: its folder, without the letter."""
    return "/".join(file.split("/")[1:-1])


def image_of(root: Path, name: str) -> Path:
    """Return the image that an annotation is of, whatever the case of its ending."""
    path = root / "Images" / f"{name}.jpg"
    loud = root / "Images" / f"{name}.JPG"
    if not path.exists() and loud.exists():
        return loud
    return path


def _hash_all(root: Path, listed: list[str], causes: Counter[str]) -> dict[str, bytes]:
    """Return the hash of each file's content; count those that cannot be opened."""
    paths = [root / "Annotations" / file for file in listed]
    with ThreadPoolExecutor(cores()) as pool:
        found = list(pool.map(_hash, paths))
    hashes = {}
    for file, result in zip(listed, found, strict=True):
        if isinstance(result, str):
            causes[result] += 1
        else:
            hashes[file] = result
    return hashes


def _hash(path: Path) -> bytes | str:
    """Return the hash of a file's content, or in words why it cannot be opened."""
    try:
        if not path.is_file():
            return "not a file"
        return file_hash(path)
    except OSError as error:
        return f"cannot be opened ({error.strerror})"


def _collect(
    files: list[str], results: list[TagsOrCause], causes: Counter[str]
) -> Scan:
    """Put together what was parsed; count the files that cannot be used."""
    images = []
    scenes = []
    tags = []
    empty_names = 0
    for file, result in zip(files, results, strict=True):
        if isinstance(result, str):
            causes[result] += 1
            continue
        images.append(file[: -len(".xml")])
        scenes.append(scene_of(file))
        typed = tuple(tag for tag in result if tag)
        tags.append(typed)
        empty_names += len(result) - len(typed)
    return Scan(tuple(images), tuple(scenes), tuple(tags), dict(causes), empty_names)


def _parse_all(root: Path, files: list[str]) -> list[TagsOrCause]:
    """Parse files in their order, with a bar for whoever watches."""
    from tqdm import tqdm

    size = FILES_PER_CHUNK
    chunks = [files[start : start + size] for start in range(0, len(files), size)]
    bar = tqdm(
        total=len(files),
        desc="annotations",
        bar_format="{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} files, "
        "{rate_fmt}, {remaining} left",
        leave=False,
        disable=not sys.stderr.isatty(),
        unit=" files",
    )
    results: list[TagsOrCause] = []
    with bar:
        for done in _parse_chunks(str(root / "Annotations"), chunks, len(files)):
            results += done
            bar.update(len(done))
    return results


def _parse_chunks(
    folder: str, chunks: list[list[str]], n_files: int
) -> Iterator[list[TagsOrCause]]:
    """Parse chunk by chunk, on all cores where that is worth it."""
    # Only a fork is safe: other ways to start processes run the caller's script again,
    # which may not expect that.
    if n_files <= FEW_FILES or cores() == 1 or sys.platform != "linux":
        for chunk in chunks:
            yield parse_chunk(folder, chunk)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(cores(), multiprocessing.get_context("fork")) as pool:
        yield from pool.map(parse_chunk, [folder] * len(chunks), chunks)


def parse_chunk(folder: str, files: Sequence[str]) -> list[TagsOrCause]:
    """Return for each file its tags, or why it cannot be used."""
    results: list[TagsOrCause] = []
    for file in files:
        try:
            with open(os.path.join(folder, file), "rb") as stream:
                results.append(object_names(stream.read()))
        except UnusableError as cause:
            results.append(str(cause))
        except OSError as error:
            results.append(f"cannot be opened ({error.strerror})")
    return results


def object_names(content: bytes) -> list[str]:
    """Return the names of the objects in a LabelMe annotation, as typed.

    A name is empty where there is none. Objects that are marked as deleted are left
    out.
    """
    _check_content(content)
    names = []
    try:
        # Entities, which could make a small file a huge one, were refused above.
        for item in ElementTree.fromstring(content).iter("object"):  # noqa: S314
            deleted = item.findtext("deleted") or "0"
            if deleted.strip() != "1":
                name = item.findtext("name") or ""
                names.append(" ".join(name.split()))
    except (ElementTree.ParseError, LookupError, ValueError):
        raise UnusableError("malformed XML") from None
    return names


def _check_content(content: bytes) -> None:
    """Raise an error for what the XML parser must not see, or would misread."""
    if b"\0" in content:  # UTF-16, say, which could hide what is looked for below
        raise UnusableError("encoding")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:  # LabelMe writes neither
        raise UnusableError("declares entities")
    encoding = "utf-8"
    declared = re.match(_DECLARATION, content)
    if declared:
        encoding = declared[1].decode("ascii")
    try:
        content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise UnusableError("encoding") from None
