"""CUB-200-2011 as it is on disk, with the irregularities that copies of it have."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rsbench.errors import UserError
from rsbench.files.arrays import labels, read_npz, row_names
from rsbench.files.atomic import file_hash, read_lines
from rsbench.files.cache import Cache, key_of

#: How sure annotators were, from least to most; the order of `Table.certainty`.
CERTAINTIES = ("not visible", "guessing", "probably", "definitely")

ANNOTATIONS = Path("attributes", "image_attribute_labels.txt")
_NOT_SEEN = 255
_LARGEST = 10_000_000
_COLUMNS = ("image", "attribute", "present", "certainty", "time")


@dataclass(frozen=True)
class Table:
    """All images with their classes and votes; `certainty` counts from 0 on, None where nobody was asked."""

    where: Path
    images: tuple[Path, ...]
    y: np.ndarray
    present: np.ndarray
    certainty: np.ndarray | None
    classes: tuple[str, ...]
    attributes: tuple[str, ...]


def read_table(root: Path) -> Table:
    """The data set in the official folder, or its labels and votes from an npz without images."""
    return _read_npz_table(root) if root.is_file() else _read_folder(root)


def _read_folder(root: Path) -> Table:
    if not (root / "images.txt").exists():
        inside = root / "CUB_200_2011"
        hint = (
            f"dataset.root={inside}"
            if (inside / "images.txt").exists()
            else "dataset.root=…/CUB_200_2011"
        )
        raise UserError(
            f"{root}: no images.txt in it, so it is not the folder of CUB-200-2011: {hint}"
        )
    images = _numbered(root / "images.txt")
    classes = _numbered(root / "classes.txt")
    labels = _numbered(root / "image_class_labels.txt")
    attributes = _numbered(_attributes_file(root))
    for name, values in (("images.txt", images), ("classes.txt", classes)):
        twice = [
            value for value, count in Counter(values.values()).items() if count > 1
        ]
        if twice:
            raise UserError(f"{root / name}: {twice[0]} is there twice")
    unlabelled = images.keys() ^ labels.keys()
    if unlabelled:
        raise UserError(
            f"{root / 'image_class_labels.txt'}: {len(labels)} labels for the {len(images)} images of images.txt; "
            f"image {min(unlabelled)} is in one file only. Take both from one copy of the data set"
        )
    unknown = set(labels.values()) - {str(number) for number in classes}
    if unknown:
        raise UserError(
            f"{root / 'image_class_labels.txt'}: class {min(unknown)} is not in classes.txt"
        )
    numbers = {str(number): i for i, number in enumerate(classes)}
    present, certainty = _annotations(root, tuple(images), tuple(attributes))
    return Table(
        where=root,
        images=tuple(root / "images" / name for name in images.values()),
        y=np.array([numbers[labels[image]] for image in images]),
        present=present,
        certainty=certainty,
        classes=tuple(classes.values()),
        attributes=tuple(attributes.values()),
    )


def list_folder(root: Path) -> tuple[tuple[str, ...], int, int]:
    """Names of the images in the official folder, and the numbers of classes and attributes; all read anew."""
    images, attributes = (
        _numbered(root / "images.txt"),
        _numbered(_attributes_file(root)),
    )
    read_annotations(
        root / ANNOTATIONS, tuple(images), tuple(attributes), _certainty_levels(root)
    )
    return tuple(images.values()), len(_numbered(root / "classes.txt")), len(attributes)


def _numbered(path: Path) -> dict[int, str]:
    """Lines `NUMBER TEXT` as a dict."""
    found: dict[int, str] = {}
    for line in read_lines(path):
        number, _, text = line.partition(" ")
        if not number.isdecimal() or not text.strip():
            raise UserError(
                f"{path}: expected lines of a number and a text, found '{line[:80]}'"
            )
        if int(number) in found:
            raise UserError(f"{path}: number {number} is there twice")
        if int(number) > _LARGEST:
            raise UserError(f"{path}: number {number} is too large")
        found[int(number)] = text.strip()
    if not found:
        raise UserError(f"{path} is empty")
    return found


def _attributes_file(root: Path) -> Path:
    """`attributes.txt` lies beside the folder in the official archive, and inside it in many copies."""
    places = (
        root / "attributes.txt",
        root / "attributes" / "attributes.txt",
        root.parent / "attributes.txt",
    )
    for path in places:
        if path.exists():
            return path
    raise UserError(
        f"attributes.txt is neither in {root} nor beside it; the official archive has it beside"
    )


def _annotations(
    root: Path, images: tuple[int, ...], attributes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Presence (bool) and certainty (0..3) of each attribute in each image, from the cache if it has them."""
    path, levels = root / ANNOTATIONS, _certainty_levels(root)
    if not path.is_file():
        raise UserError(
            f"{path} is not there: the copy is incomplete. python -m rsbench data get cub gets a whole one"
        )

    def read() -> dict[str, np.ndarray]:
        present, certainty = read_annotations(path, images, attributes, levels)
        planes = np.stack([present, (certainty & 1).astype(bool), certainty > 1])
        return {"planes": np.packbits(planes, axis=2)}

    key = key_of("cub 1", file_hash(path), images, attributes, levels)
    known = Cache("annotations").make(key, "reading CUB's annotations", read)
    present, low, high = np.unpackbits(known["planes"], axis=2, count=len(attributes))
    return present.astype(bool), low + 2 * high


def _certainty_levels(root: Path) -> tuple[int, ...]:
    """The file's numbers for CERTAINTIES, in that order."""
    path = root / "attributes" / "certainties.txt"
    if not path.exists():
        return (1, 2, 3, 4)
    numbers = {name: number for number, name in _numbered(path).items()}
    if set(numbers) != set(CERTAINTIES):
        raise UserError(
            f"{path}: expected {', '.join(CERTAINTIES)}; found {', '.join(numbers)}"
        )
    return tuple(numbers[name] for name in CERTAINTIES)


def read_annotations(
    path: Path,
    images: tuple[int, ...],
    attributes: tuple[int, ...],
    levels: tuple[int, ...] = (1, 2, 3, 4),
) -> tuple[np.ndarray, np.ndarray]:
    """Presence and certainty, images × attributes, from rows `image attribute present certainty time …`.

    Rows with extra columns, of which the official file has some, are read like the others.
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
        image, attribute, present, level = (
            column.positions(values)
            for column, values in zip(columns, block, strict=True)
        )
        code.ravel()[image * len(attributes) + attribute] = present * 8 + level
        rows += len(image)
    missing = np.argwhere(code == _NOT_SEEN)
    if len(missing):
        i, a = missing[0]
        raise UserError(
            f"{path}: {len(missing)} of {code.size} annotations are missing, the first for image {images[i]}, "
            f"attribute {attributes[a]}. The file is cut off or of another copy: get it anew"
        )
    if rows > code.size:
        raise UserError(
            f"{path}: {rows} rows for {code.size} pairs of image and attribute: some are there twice"
        )
    return code >= 8, code & 7


class _Column:
    """The numbers that a column may hold, and where each stands in their list."""

    def __init__(self, name: str, numbers: tuple[int, ...], listed: str, path: Path):
        self._name, self._listed, self._path = name, listed, path
        # One place at either end stands for all numbers beyond.
        self._places = np.full(max(numbers) + 2, -1, np.int32)
        self._places[list(numbers)] = np.arange(len(numbers))

    def positions(self, values: np.ndarray) -> np.ndarray:
        """Where the values stand in the list; one that is not in it is an error."""
        end = len(self._places) - 1
        inside = len(values) == 0 or (values.min() >= 0 and values.max() <= end)
        found = self._places[
            values if inside else np.clip(values.astype(np.int64), -1, end)
        ]
        if len(found) and found.min() < 0:
            raise UserError(
                f"{self._path}: unknown {self._name} {values[found < 0][0]}: it is not in {self._listed}"
            )
        return found


def _blocks(path: Path) -> Iterable[tuple[np.ndarray, ...]]:
    """The first four columns, block by block; first the blocks, then the rows of irregular length."""
    import pyarrow as pa
    from pyarrow import csv

    irregular: list[str] = []

    def set_aside(row: csv.InvalidRow) -> str:
        irregular.append(row.text)
        return "skip"

    types = dict(
        zip(_COLUMNS, (pa.int32(), pa.int16(), pa.int8(), pa.int8()), strict=False)
    )
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
        raise UserError(
            f"{path}: expected rows of `{' '.join(_COLUMNS)}`: {error}"
        ) from None
    for batch in table.to_batches():
        yield tuple(column.to_numpy() for column in batch.columns)
    for row in irregular:
        yield _irregular(row, path)


def _irregular(row: str, path: Path) -> tuple[np.ndarray, ...]:
    fields = row.split()[: len(_COLUMNS) - 1]
    if len(fields) < len(_COLUMNS) - 1 or not all(
        field.isdecimal() and len(field) < 9 for field in fields
    ):
        raise UserError(
            f"{path}: expected rows of `{' '.join(_COLUMNS)}`, found '{row[:80]}'"
        )
    return tuple(np.array([int(field)]) for field in fields)


def _read_npz_table(path: Path) -> Table:
    """Labels and votes of images that are not here: `y`, `Z` (packed bits or not), `class_names`, `attribute_names`."""
    arrays = read_npz(path)
    missing = [
        key for key in ("y", "Z", "class_names", "attribute_names") if key not in arrays
    ]
    if missing:
        raise UserError(
            f"{path}: {', '.join(missing)} missing; it has {', '.join(arrays) or 'nothing'}"
        )
    classes, attributes = (
        tuple(map(str, np.ravel(arrays[key])))
        for key in ("class_names", "attribute_names")
    )
    names, y, Z = row_names(arrays, path), labels(arrays, path), arrays["Z"]
    packed = (
        Z.dtype == np.uint8
        and Z.ndim == 2
        and Z.shape[1] == -(-len(attributes) // 8) != len(attributes)
    )
    if packed:
        Z = np.unpackbits(Z, axis=1, count=len(attributes))
    if Z.shape != (len(y), len(attributes)):
        raise UserError(
            f"{path}: Z has shape {Z.shape}, expected ({len(y)}, {len(attributes)}), or its packed bits"
        )
    if len(names) != len(y):
        raise UserError(f"{path}: {len(names)} names for {len(y)} labels in y")
    if not np.isin(Z, (0, 1)).all():
        raise UserError(f"{path}: Z holds other values than 0 and 1")
    return Table(path, names, y, Z.astype(bool), None, classes, attributes)
