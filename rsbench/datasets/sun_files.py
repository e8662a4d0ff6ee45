"""The SUN database as it is on disk: one LabelMe XML file per image, objects named as people typed them.

    Annotations/<letter>/<scene>[/<sub>]/*.xml    Images/… likewise

The scene is the folder's path without its letter. Files that cannot be read are counted by cause and left
out, as in the paper; so are scenes called `misc` and `outliers`.
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
from rsbench.files.atomic import cores, file_hash
from rsbench.files.cache import Cache, key_of

EXCLUDED = ("misc", "outliers")

#: The encoding that an XML file says it has.
_DECLARATION = rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)"""

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
    listed, excluded = list_annotations(root)
    causes = Counter({"in " + " or ".join(EXCLUDED): excluded} if excluded else {})
    with ThreadPoolExecutor(cores()) as pool:
        hashes = dict(
            zip(
                listed,
                pool.map(_hash, [root / "Annotations" / file for file in listed]),
                strict=True,
            )
        )
    causes.update(cause for cause in hashes.values() if isinstance(cause, str))
    files = [file for file, found in hashes.items() if isinstance(found, bytes)]

    def parse() -> dict[str, np.ndarray]:
        return {
            "scan": np.frombuffer(
                json.dumps(_parse_all(root, files)).encode(), np.uint8
            )
        }

    key = key_of("sun 2", [[file, hashes[file].hex()] for file in files])  # type: ignore[union-attr]
    known = Cache("annotations").make(key, "reading SUN's annotations", parse)
    results = json.loads(known["scan"].tobytes())
    causes.update(result for result in results if isinstance(result, str))
    used = [i for i, result in enumerate(results) if not isinstance(result, str)]
    if not used:
        raise UserError(
            f"{root / 'Annotations'}: none of {len(listed)} annotations can be used: {dict(causes)}"
        )
    return Scan(
        images=tuple(files[i][: -len(".xml")] for i in used),
        scenes=tuple(scene_of(files[i]) for i in used),
        tags=tuple(tuple(tag for tag in results[i] if tag) for i in used),
        left_out=dict(causes),
        empty_names=sum(not tag for i in used for tag in results[i]),
    )


def _hash(path: Path) -> bytes | str:
    """The hash of a file's content, or why it cannot be opened."""
    try:
        return file_hash(path) if path.is_file() else "not a file"
    except OSError as error:
        return f"cannot be opened ({error.strerror})"


def image_of(root: Path, name: str) -> Path:
    """The image that an annotation is of, whatever the case of its ending."""
    path, loud = (root / "Images" / f"{name}{ending}" for ending in (".jpg", ".JPG"))
    return loud if not path.exists() and loud.exists() else path


def scene_of(file: str) -> str:
    """The scene of a file below Annotations: its folder, without the letter that sorts it."""
    return "/".join(file.split("/")[1:-1])


def list_annotations(root: Path) -> tuple[list[str], int]:
    """Annotation files in order, as paths below Annotations, and how many are of excluded scenes or of none."""
    folder = root / "Annotations"
    if not folder.is_dir():
        raise UserError(
            f"{root}: no folder Annotations in it, so it is not the SUN database: dataset.root=…/SUN2012"
        )
    found, excluded = [], 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        within = Path(place).relative_to(folder)
        files = [
            (within / name).as_posix()
            for name in sorted(names)
            if name.lower().endswith(".xml")
        ]
        if (
            set(EXCLUDED) & {part.lower() for part in within.parts}
            or len(within.parts) < 2
        ):
            excluded += len(files)
        else:
            found += files
    if not found:
        raise UserError(
            f"{folder}: no annotations (<letter>/<scene>/*.xml) in it, {excluded} of excluded scenes"
        )
    return found, excluded


def _parse_all(root: Path, files: list[str]) -> list[list[str] | str]:
    """For each file its tags, or why it cannot be used."""
    from tqdm import tqdm

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


def _parse_chunks(
    folder: str, chunks: list[list[str]], many: bool
) -> Iterator[list[list[str] | str]]:
    # Other ways to start processes run the caller's script again, which may not expect that.
    if not many or cores() == 1 or sys.platform != "linux":
        yield from (parse_chunk(folder, chunk) for chunk in chunks)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(cores(), multiprocessing.get_context("fork")) as pool:
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
    if (
        b"<!DOCTYPE" in content or b"<!ENTITY" in content
    ):  # LabelMe writes neither; bombs need them
        raise UnusableError("declares entities")
    declared = re.match(_DECLARATION, content)
    try:
        content.decode(declared[1].decode("ascii") if declared else "utf-8")
    except (UnicodeDecodeError, LookupError):
        raise UnusableError("encoding") from None
    try:
        objects = ElementTree.fromstring(content).iter("object")  # noqa: S314 - entities were refused above
        return [
            " ".join((item.findtext("name") or "").split())
            for item in objects
            if (item.findtext("deleted") or "0").strip() != "1"
        ]
    except (ElementTree.ParseError, LookupError, ValueError):
        raise UnusableError("malformed XML") from None
