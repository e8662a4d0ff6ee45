"""CUB-200-2011 as it is on disk, with the irregularities that copies of it have."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from rsbench.errors import UserError
from rsbench.files.arrays import labels, read_npz, require_arrays, row_names
from rsbench.files.atomic import file_hash, read_lines
from rsbench.files.cache import Cache, key_of

#: How sure annotators were, from least to most; the order of `Table.certainty`.
CERTAINTIES = ("not visible", "guessing", "probably", "definitely")

ANNOTATIONS = Path("attributes", "image_attribute_labels.txt")

#: Columns of that file. Of these, the first four are used.
_COLUMNS = ("image", "attribute", "present", "certainty", "time")
_USED = 4
_EXPECTED = f"expected rows of `{' '.join(_COLUMNS)}`"

#: What a pair of image and attribute has before its row is read. Later it has its
#: certainty, plus this if the attribute is present.
_NOT_SEEN = 255
_PRESENT = 8

#: Numbers of images and classes index arrays, so a wild one would fill the memory.
_LARGEST = 10_000_000


@dataclass(frozen=True)
class Table:
    """All images with their classes and votes.

    Parameters
    ----------
    where : Path
        Where they were read from.
    images : tuple of Path
        The image files, n of them.
    y : array of shape (n,), of int
        Their classes, as positions in `classes`.
    present : array of shape (n, d), of bool
        Which attributes were marked in them.
    certainty : array of shape (n, d), of int, or None
        How sure annotators were, as positions in CERTAINTIES; None where nobody says.
    classes : tuple of str
        Names of the classes.
    attributes : tuple of str
        Names of the attributes, d of them.
    annotated : array of shape (n,), of bool, or None
        Whose votes a person gave, where others were made up; None for all of them.
    """

    where: Path
    images: tuple[Path, ...]
    y: np.ndarray
    present: np.ndarray
    certainty: np.ndarray | None
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    annotated: np.ndarray | None = None


def read_table(root: Path) -> Table:
    """Read the official folder, or labels and votes from an npz without images."""
    if root.is_file():
        return _read_npz_table(root)
    return _read_folder(root)


def list_folder(root: Path) -> tuple[tuple[str, ...], int, int]:
    """Return what the official folder should hold, with all its tables read anew.

    Returns
    -------
    images : tuple of str
        Names of the images.
    classes, attributes : int
        How many there are.
    """
    images = _read_numbered(root / "images.txt")
    attributes = _read_numbered(_attributes_file(root))
    # What they say does not matter here, but that they can be read.
    read_annotations(
        root / ANNOTATIONS, tuple(images), tuple(attributes), _certainty_levels(root)
    )
    classes = _read_numbered(root / "classes.txt")
    return tuple(images.values()), len(classes), len(attributes)


def _read_folder(root: Path) -> Table:
    """Read the official folder, and raise an error where its files do not agree."""
    if not (root / "images.txt").exists():
        _refuse_folder(root)
    images = _read_numbered(root / "images.txt")
    classes = _read_numbered(root / "classes.txt")
    class_of = _read_numbered(root / "image_class_labels.txt")
    attributes = _read_numbered(_attributes_file(root))
    _check_unique(images, root / "images.txt")
    _check_unique(classes, root / "classes.txt")
    _check_class_labels(class_of, images, classes, root / "image_class_labels.txt")

    # The file's numbers of classes start at one and may have gaps; ours are positions.
    positions = {str(number): i for i, number in enumerate(classes)}
    y = np.array([positions[class_of[image]] for image in images])
    present, certainty = _cached_annotations(root, tuple(images), tuple(attributes))
    return Table(
        where=root,
        images=tuple(root / "images" / name for name in images.values()),
        y=y,
        present=present,
        certainty=certainty,
        classes=tuple(classes.values()),
        attributes=tuple(attributes.values()),
    )


def _refuse_folder(root: Path) -> NoReturn:
    """Raise an error that names the right folder, where it is one level below."""
    hint = "dataset.root=…/CUB_200_2011"
    inside = root / "CUB_200_2011"
    if (inside / "images.txt").exists():
        hint = f"dataset.root={inside}"
    raise UserError(
        f"{root}: no images.txt in it, so it is not the folder of CUB-200-2011: {hint}"
    )


def _read_numbered(path: Path) -> dict[int, str]:
    """Read lines `NUMBER TEXT`; numbers may have gaps, and any order."""
    found: dict[int, str] = {}
    for line in read_lines(path):
        digits, _, text = line.partition(" ")
        text = text.strip()
        if not digits.isdecimal() or not text:
            raise UserError(
                f"{path}: expected lines of a number and a text, found '{line[:80]}'"
            )
        number = int(digits)
        if number in found:
            raise UserError(f"{path}: number {digits} is there twice")
        if number > _LARGEST:
            raise UserError(f"{path}: number {digits} is too large")
        found[number] = text
    if not found:
        raise UserError(f"{path} is empty")
    return found


def _check_unique(names: dict[int, str], path: Path) -> None:
    for name, count in Counter(names.values()).items():
        if count > 1:
            raise UserError(f"{path}: {name} is there twice")


def _check_class_labels(
    class_of: dict[int, str],
    images: dict[int, str],
    classes: dict[int, str],
    path: Path,
) -> None:
    """Raise an error unless every image has a label, and every label is a class."""
    in_one_only = images.keys() ^ class_of.keys()
    if in_one_only:
        raise UserError(
            f"{path}: {len(class_of)} labels for the {len(images)} images of "
            f"images.txt; image {min(in_one_only)} is in one file only. Take both from "
            "one copy of the data set"
        )
    unknown = set(class_of.values()) - {str(number) for number in classes}
    if unknown:
        raise UserError(f"{path}: class {min(unknown)} is not in classes.txt")


def _attributes_file(root: Path) -> Path:
    """Find `attributes.txt`: the official archive has it beside, many copies inside."""
    places = (
        root / "attributes.txt",
        root / "attributes" / "attributes.txt",
        root.parent / "attributes.txt",
    )
    for path in places:
        if path.exists():
            return path
    raise UserError(
        f"attributes.txt is neither in {root} nor beside it; the official archive has "
        "it beside"
    )


def _certainty_levels(root: Path) -> tuple[int, ...]:
    """Return the file's numbers for CERTAINTIES, in that order."""
    path = root / "attributes" / "certainties.txt"
    if not path.exists():  # some copies lack it; these are the official numbers
        return (1, 2, 3, 4)
    numbers = {}
    for number, name in _read_numbered(path).items():
        numbers[name] = number
    if set(numbers) != set(CERTAINTIES):
        raise UserError(
            f"{path}: expected {', '.join(CERTAINTIES)}; found {', '.join(numbers)}"
        )
    return tuple(numbers[name] for name in CERTAINTIES)


def _cached_annotations(
    root: Path, images: tuple[int, ...], attributes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `read_annotations` does, from the cache if it has it."""
    path = root / ANNOTATIONS
    levels = _certainty_levels(root)
    if not path.is_file():
        raise UserError(
            f"{path} is not there: the copy is incomplete. python -m rsbench data get "
            "cub gets a whole one"
        )

    def read() -> dict[str, np.ndarray]:
        present, certainty = read_annotations(path, images, attributes, levels)
        # Three bits tell all there is, of each of nearly four million votes.
        low = (certainty & 1).astype(bool)
        high = certainty > 1
        return {"planes": np.packbits(np.stack([present, low, high]), axis=2)}

    # Another number, here, if the entry's form changes.
    key = key_of("cub 1", file_hash(path), images, attributes, levels)
    known = Cache("annotations").make(key, "reading CUB's annotations", read)
    present, low, high = np.unpackbits(known["planes"], axis=2, count=len(attributes))
    return present.astype(bool), low + 2 * high


def read_annotations(
    path: Path,
    images: tuple[int, ...],
    attributes: tuple[int, ...],
    levels: tuple[int, ...] = (1, 2, 3, 4),
) -> tuple[np.ndarray, np.ndarray]:
    """Read rows `image attribute present certainty time …`.

    Rows with extra columns, of which the official file has some, are read like the
    others.

    Parameters
    ----------
    path : Path
        The file.
    images, attributes : tuple of int
        The file's numbers for images and attributes, in the order of the result.
    levels : tuple of int
        The file's numbers for CERTAINTIES.

    Returns
    -------
    present : array of shape (images, attributes), of bool
        Whether the attribute was marked.
    certainty : array of shape (images, attributes), of int
        How sure the annotator was, as positions in CERTAINTIES.
    """
    code = np.full((len(images), len(attributes)), _NOT_SEEN, np.uint8)
    columns = (
        _Column("image", images, "images.txt", path),
        _Column("attribute", attributes, "attributes.txt", path),
        _Column("present", (0, 1), "0 and 1", path),
        _Column("certainty", levels, "certainties.txt", path),
    )
    rows = 0
    for block in _blocks(path):
        found = []
        for column, values in zip(columns, block, strict=True):
            found.append(column.positions(values))
        image, attribute, present, level = found
        code[image, attribute] = present * _PRESENT + level
        rows += len(image)
    # A file that was cut off would otherwise pass for images without attributes.
    missing = np.argwhere(code == _NOT_SEEN)
    if len(missing):
        i, a = missing[0]
        raise UserError(
            f"{path}: {len(missing)} of {code.size} annotations are missing, the first "
            f"for image {images[i]}, attribute {attributes[a]}. The file is cut off or "
            "of another copy: get it anew"
        )
    if rows > code.size:
        raise UserError(
            f"{path}: {rows} rows for {code.size} pairs of image and attribute: some "
            "are there twice"
        )
    return code >= _PRESENT, code & (_PRESENT - 1)


class _Column:
    """The numbers that a column may hold, and where each stands in their list."""

    def __init__(self, name: str, numbers: tuple[int, ...], listed: str, path: Path):
        self._name = name
        self._listed = listed
        self._path = path
        # The place of each number by the number itself, as that is the fastest way to
        # look up millions. One place at either end stands for all numbers beyond.
        self._places = np.full(max(numbers) + 2, -1, np.int32)
        self._places[list(numbers)] = np.arange(len(numbers))

    def positions(self, values: np.ndarray) -> np.ndarray:
        """Return where values stand in the list; one that is not in it is an error."""
        end = len(self._places) - 1
        inside = len(values) == 0 or (values.min() >= 0 and values.max() <= end)
        # Nearly always; clipping would copy millions of numbers for nothing.
        if inside:
            found = self._places[values]
        else:
            found = self._places[np.clip(values.astype(np.int64), -1, end)]
        if len(found) and found.min() < 0:
            unknown = values[found < 0][0]
            raise UserError(
                f"{self._path}: unknown {self._name} {unknown}: it is not in "
                f"{self._listed}"
            )
        return found


def _blocks(path: Path) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the first four columns block by block, rows of irregular length last."""
    import pyarrow as pa
    from pyarrow import csv

    irregular: list[str] = []

    def set_aside(row: csv.InvalidRow) -> str:
        irregular.append(row.text)
        return "skip"

    # Types that hold all that can be right; anything larger is an error of Arrow's.
    types = {
        "image": pa.int32(),
        "attribute": pa.int16(),
        "present": pa.int8(),
        "certainty": pa.int8(),
    }
    try:
        table = csv.read_csv(
            path,
            csv.ReadOptions(column_names=_COLUMNS, block_size=1 << 22),
            csv.ParseOptions(delimiter=" ", invalid_row_handler=set_aside),
            csv.ConvertOptions(
                include_columns=list(types), column_types=types, null_values=[]
            ),
        )
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: {_EXPECTED}: {error}") from None
    for batch in table.to_batches():
        yield tuple(column.to_numpy() for column in batch.columns)
    for row in irregular:
        yield _read_irregular(row, path)


def _read_irregular(row: str, path: Path) -> tuple[np.ndarray, ...]:
    """Read the first four numbers of a row that has more or fewer columns."""
    fields = row.split()[:_USED]
    numbers = []
    for field in fields:
        # Up to eight digits fit into any integer type.
        if field.isdecimal() and len(field) < 9:
            numbers.append(np.array([int(field)]))
    if len(numbers) < _USED:
        raise UserError(f"{path}: {_EXPECTED}, found '{row[:80]}'")
    return tuple(numbers)


def _read_npz_table(path: Path) -> Table:
    """Read labels and votes of images that are not here.

    The file has `y`, `Z` (as it is, or its packed bits), `class_names` and
    `attribute_names`; and `real_annotation`, if the votes of some were made up.
    """
    arrays = read_npz(path)
    require_arrays(arrays, ("y", "Z", "class_names", "attribute_names"), path)
    attributes = tuple(map(str, np.ravel(arrays["attribute_names"])))
    names = row_names(arrays, path)
    y = labels(arrays, path)
    Z = _unpack(arrays["Z"], len(attributes))
    if Z.shape != (len(y), len(attributes)):
        raise UserError(
            f"{path}: Z has shape {Z.shape}, expected ({len(y)}, {len(attributes)}), "
            "or its packed bits"
        )
    if len(names) != len(y):
        raise UserError(f"{path}: {len(names)} names for {len(y)} labels in y")
    if not np.isin(Z, (0, 1)).all():
        raise UserError(f"{path}: Z holds other values than 0 and 1")
    annotated = arrays.get("real_annotation")
    if annotated is not None and (
        annotated.shape != y.shape or annotated.dtype != np.bool_
    ):
        raise UserError(
            f"{path}: real_annotation has shape {annotated.shape} and type "
            f"{annotated.dtype}, expected ({len(y)},) of bool"
        )
    return Table(
        where=path,
        images=names,
        y=y,
        present=Z.astype(bool),
        certainty=None,
        classes=tuple(map(str, np.ravel(arrays["class_names"]))),
        attributes=attributes,
        annotated=annotated,
    )


def _unpack(Z: np.ndarray, width: int) -> np.ndarray:
    """Return votes one by one, where an array has eight of them in a byte."""
    if Z.dtype != np.uint8 or Z.ndim != 2 or Z.shape[1] == width:
        return Z
    packed_width = math.ceil(width / 8)
    if Z.shape[1] != packed_width:
        return Z
    return np.unpackbits(Z, axis=1, count=width)
