"""The SUN database as it is on disk: one LabelMe XML file per image, objects named as people typed them.

    Annotations/<letter>/<scene>[/<sub>]/*.xml    Images/… likewise

The scene is the folder's path without its letter. Files that cannot be read are counted by cause and left
out, as in the paper; so are scenes called `misc` and `outliers`.
"""

import json
import logging
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from tqdm import tqdm

from rsbench.cache import Cache, key_of
from rsbench.errors import UserError
from rsbench.files import cores, file_hash

log = logging.getLogger(__name__)

EXCLUDED = ("misc", "outliers")

_CHUNK = 250
#: So many files are parsed here; more are worth the start of other processes.
_FEW = 2000


@dataclass(frozen=True)
class Scan:
    """Images (paths below Annotations, without ending), their scenes and tags, and what was left out and why."""

    images: tuple[str, ...]
    scenes: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    left_out: dict[str, int]
    empty_names: int


class UnusableError(ValueError):
    """Why an annotation file cannot be used."""


def scan(root: Path) -> Scan:
    """All annotations below a folder, from the cache if its content is known."""
    files, excluded = list_annotations(root)
    cache = Cache("annotations")
    with cache.lock("reading SUN's annotations"), ThreadPoolExecutor(cores()) as pool:
        hashes = b"".join(pool.map(file_hash, [root / "Annotations" / file for file in files]))
        key = key_of("sun 1", hashes, files)
        known = cache.get(key)
        if known is None:
            known = {"scan": np.frombuffer(json.dumps(_parse_all(root, files)).encode(), np.uint8)}
            cache.put(key, **known)
    results = json.loads(known["scan"].tobytes())
    causes = Counter(result for result in results if isinstance(result, str))
    if excluded:
        causes["in " + " or ".join(EXCLUDED)] = excluded
    used = [i for i, result in enumerate(results) if not isinstance(result, str)]
    return Scan(
        images=tuple(files[i].removesuffix(".xml") for i in used),
        scenes=tuple(scene_of(files[i]) for i in used),
        tags=tuple(tuple(tag for tag in results[i] if tag) for i in used),
        left_out=dict(causes),
        empty_names=sum(not tag for i in used for tag in results[i]),
    )


def scene_of(file: str) -> str:
    """The scene of a file below Annotations: its folder, without the letter that sorts it."""
    return "/".join(file.split("/")[1:-1]) or file.split("/")[0]


def list_annotations(root: Path) -> tuple[list[str], int]:
    """Annotation files in order, as paths below Annotations, and how many are of excluded scenes."""
    folder = root / "Annotations"
    if not folder.is_dir():
        raise UserError(f"{root}: no folder Annotations in it, so it is not the SUN database: dataset.root=…/SUN2012")
    found, excluded = [], 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        within = Path(place).relative_to(folder)
        files = [(within / name).as_posix() for name in sorted(names) if name.endswith(".xml")]
        if set(EXCLUDED) & set(within.parts):
            excluded += len(files)
        else:
            found += files
    if not found:
        raise UserError(f"{folder}: no annotations (*.xml) in it")
    return found, excluded


def _parse_all(root: Path, files: list[str]) -> list[list[str] | str]:
    """For each file its tags, or why it cannot be used."""
    chunks = [files[start : start + _CHUNK] for start in range(0, len(files), _CHUNK)]
    folder = str(root / "Annotations")
    look = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} files, {rate_fmt}, {remaining} left"
    bar = tqdm(
        total=len(files),
        desc="annotations",
        bar_format=look,
        leave=False,
        disable=not sys.stderr.isatty(),
        unit=" files",
    )
    results: list[list[str] | str] = []
    with bar:
        for done in _parse_chunks(folder, chunks, len(files) > _FEW):
            results += done
            bar.update(len(done))
    return results


def _parse_chunks(folder: str, chunks: list[list[str]], many: bool) -> Iterator[list[list[str] | str]]:
    if not many:
        yield from (parse_chunk(folder, chunk) for chunk in chunks)
        return
    with ProcessPoolExecutor(cores(), multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(parse_chunk, [folder] * len(chunks), chunks)


def parse_chunk(folder: str, files: Sequence[str]) -> list[list[str] | str]:
    """For each file its tags, or why it cannot be used."""
    results: list[list[str] | str] = []
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
    """Names of the objects in a LabelMe annotation, as typed; empty where there is none. Deleted objects are gone."""
    if b"\0" in content:
        raise UnusableError("encoding")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:  # LabelMe writes neither; bombs need them
        raise UnusableError("declares entities")
    if b"encoding=" not in content[:200]:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            raise UnusableError("encoding") from None
    try:
        objects = ElementTree.fromstring(content).iter("object")  # noqa: S314 - entities were refused above
        return [
            " ".join((item.findtext("name") or "").split())
            for item in objects
            if (item.findtext("deleted") or "0").strip() != "1"
        ]
    except (ElementTree.ParseError, LookupError, ValueError):  # an unknown encoding is a LookupError
        raise UnusableError("malformed XML") from None
