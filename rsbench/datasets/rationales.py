"""Texts with the words that somebody marked as the reason for their label."""

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.components import Dataset
from rsbench.core.data import Data
from rsbench.core.seeds import stream
from rsbench.datasets.marked_text import (
    Document,
    Split,
    Weights,
    bags_of_words,
    without_repeated,
)
from rsbench.datasets.real import RealOrSimulated, Source
from rsbench.errors import UserError
from rsbench.files.archive import Archive
from rsbench.files.atomic import read_text

#: ERASER's files, and what their documents are for.
_FILES: dict[str, Split] = {"train": "train", "val": "validation", "test": "test"}

_SPLITS = {"train": "train", "val": "validation", "validation": "validation"}

#: Words and single marks of punctuation.
_TOKEN = re.compile(r"\w+(?:['’]\w+)?|[^\w\s]")


class MovieRationales(RealOrSimulated):
    """Film reviews with the passages that made a reader call them good or bad.

    Two thousand reviews, positive and negative, with spans that a person marked as the
    reason (Zaidan, Eisner & Piatko 2007), in the format of the ERASER benchmark
    (DeYoung et al. 2020). Any other single-document classification folder of ERASER's
    works too. Features are a bag of words, sparse; a vote is for a word that is marked
    anywhere in the review.

    Parameters
    ----------
    source : {"auto", "disk", "simulated"}
        The real data set if it is there, else the stand-in; the real one or an error;
        the stand-in.
    root : str or None
        The folder, with `docs/` and `train.jsonl`, `val.jsonl`, `test.jsonl`; by
        default `movies` in RSBENCH_DATA.
    weights : {"tfidf", "counts", "binary"}
        What a word's feature is.
    least : int
        Words in fewer documents are left out.
    vocabulary : int or None
        At most so many words, the most frequent ones.
    draw : int
        Of the stand-in; another number, another simulated corpus.

    References
    ----------
    Zaidan, Eisner, Piatko, "Using Annotator Rationales to Improve Machine Learning for
    Text Categorization", NAACL 2007; DeYoung et al., "ERASER: A Benchmark to Evaluate
    Rationalized NLP Models", ACL 2020.
    """

    archive = Archive(
        folder="movies", url="https://www.eraserbenchmark.com/zipped/movies.tar.gz"
    )
    how_to_get_real = (
        "Get the real one with: python -m rsbench data get movie_rationales"
    )
    simulated_settings = ("weights", "least", "vocabulary", "draw")

    def __init__(
        self,
        source: Source = "auto",
        root: str | None = None,
        weights: Weights = "tfidf",
        least: int = 2,
        vocabulary: int | None = None,
        draw: int = 0,
    ):
        super().__init__(source, root)
        self.weights = weights
        self.least = least
        self.vocabulary = vocabulary
        self.draw = draw
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        _check_counts(self.least, self.vocabulary)
        if self.draw < 0:
            raise UserError(f"dataset.draw={self.draw}, expected 0 or more")

    def read(self, root: Path) -> Data:
        """Return the reviews of the folder."""
        documents = without_repeated(list(read_eraser(root)), str(root))
        return self._data(documents, str(root))

    def simulate(self) -> Data:
        """Return made-up reviews with made-up reasons."""
        made = self._data(_made_up(self.draw), "the stand-in")
        return dataclasses.replace(made, simulated=True)

    def _data(self, documents: list[Document], where: str) -> Data:
        return bags_of_words(
            documents, self.weights, self.least, self.vocabulary, where
        )

    def status(self, root: Path) -> tuple[bool, str]:
        """Return whether the folder is complete, and in words what is in it."""
        counts = []
        for name in _FILES:
            path = root / f"{name}.jsonl"
            if not path.exists():
                return False, f"no {path.name}"
            counts.append(f"{len(read_text(path).splitlines()):,} {name}")
        return True, f"{', '.join(counts)} documents"


class Rationales(Dataset):
    """Anybody's texts with marks, from a file with one JSON object a line.

    Each has `text`, `label`, and `marks`: spans of characters, [[start, end], …], or
    words, ["good", …]. Without `marks` nobody was asked. `split` is optional: train,
    validation (background), or test, a fixed test set for protocol.test=mask.

    Parameters
    ----------
    path : str
        The file.
    weights : {"tfidf", "counts", "binary"}
        What a word's feature is.
    least : int
        Words in fewer documents are left out.
    vocabulary : int or None
        At most so many words, the most frequent ones.
    """

    def __init__(
        self,
        path: str = "",
        weights: Weights = "tfidf",
        least: int = 2,
        vocabulary: int | None = None,
    ):
        self.path = path
        self.weights = weights
        self.least = least
        self.vocabulary = vocabulary
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        _check_counts(self.least, self.vocabulary)

    def load(self) -> Data:
        """Read and check the texts."""
        if not self.path:
            raise UserError("dataset=rationales needs a file: dataset.path=FILE.jsonl")
        path = Path(self.path)
        documents = []
        for where, fields in _lines(path):
            documents.append(_document(fields, where))
        data = bags_of_words(
            documents, self.weights, self.least, self.vocabulary, str(path)
        )
        if data.test is not None and not data.test.any():
            return dataclasses.replace(data, test=None)
        return data


def read_eraser(root: Path) -> Iterator[Document]:
    """Yield the documents of a folder in ERASER's format.

    Parameters
    ----------
    root : Path
        The folder, with `docs/` and a file for each split; `val.jsonl` may be missing.
    """
    for name, split in _FILES.items():
        path = root / f"{name}.jsonl"
        if name == "val" and not path.exists():
            continue
        for where, fields in _lines(path):
            identity = _field(fields, "annotation_id", str, where)
            label = _field(fields, "classification", str, where)
            tokens = tuple(_read_document(root, identity, where).split())
            if not tokens:
                raise UserError(f"{where}: document {identity} is empty")
            marked = _marked(fields, identity, len(tokens), where)
            yield Document(identity, tokens, label, marked, split)


def _read_document(root: Path, identity: str, where: str) -> str:
    """Return a document's text."""
    # A name from a file of strangers must not lead out of the folder.
    if Path(identity).name != identity:
        raise UserError(f"{where}: document {identity!r} is no name of a file in docs")
    path = root / "docs" / identity
    if not path.is_file():
        raise UserError(f"{where}: there is no document {path}")
    return read_text(path)


def _marked(
    fields: dict[str, Any], identity: str, length: int, where: str
) -> frozenset[int] | None:
    """Return which words the evidences mark; None if there are none."""
    groups = _field(fields, "evidences", list, where)
    marked: set[int] = set()
    for span in _spans(groups, where):
        if span.get("docid", identity) != identity:
            raise UserError(
                f"{where}: an evidence is in document {span['docid']!r:.60}, expected "
                f"{identity}; documents with a query are not read"
            )
        start = _field(span, "start_token", int, where)
        end = _field(span, "end_token", int, where)
        _check_span(start, end, length, "words", where)
        marked.update(range(start, end))
    if not marked:
        return None
    return frozenset(marked)


def _spans(groups: list[Any], where: str) -> Iterator[dict[str, Any]]:
    """Yield the spans of all groups of evidence."""
    for group in groups:
        if not isinstance(group, list):
            raise UserError(f"{where}: evidences is no list of lists of spans")
        for span in group:
            if not isinstance(span, dict):
                raise UserError(f"{where}: a span is {span!r:.60}, expected an object")
            yield span


def _document(fields: dict[str, Any], where: str) -> Document:
    """Return the document of a line of anybody's file."""
    text = _field(fields, "text", str, where)
    label = fields.get("label")
    if isinstance(label, bool) or not isinstance(label, (str, int)):
        raise UserError(f"{where}: label is {label!r:.60}, expected text or a number")
    found = list(_TOKEN.finditer(text))
    if not found:
        raise UserError(f"{where}: text has no words")
    tokens = tuple(match.group() for match in found)
    marked = None
    if fields.get("marks") is not None:
        marked = _marked_by_hand(fields["marks"], text, found, where)
    word = fields.get("split", "train")
    if word not in (*_SPLITS, "test"):
        raise UserError(
            f"{where}: split is {word!r:.60}, expected train, validation or test"
        )
    split: Any = _SPLITS.get(word, word)
    return Document(where, tokens, str(label), marked, split)


def _marked_by_hand(
    marks: Any, text: str, found: list[re.Match[str]], where: str
) -> frozenset[int]:
    """Return which words are marked, by spans of characters or by the words."""
    if not isinstance(marks, list):
        raise UserError(
            f"{where}: marks is {marks!r:.60}, expected spans [[start, end], …] or "
            "words"
        )
    marked = set()
    places: dict[str, list[int]] = {}
    for number, match in enumerate(found):
        places.setdefault(match.group().lower(), []).append(number)
    for mark in marks:
        if isinstance(mark, str):
            numbers = places.get(mark.lower(), [])
            if not numbers:
                raise UserError(f"{where}: '{mark:.60}' is marked, and not in the text")
        else:
            numbers = _overlapping(mark, text, found, where)
        marked.update(numbers)
    return frozenset(marked)


def _overlapping(
    mark: Any, text: str, found: list[re.Match[str]], where: str
) -> list[int]:
    """Return the words that a span of characters has any part of."""
    is_pair = isinstance(mark, list) and len(mark) == 2
    if not is_pair or not all(type(end) is int for end in mark):
        raise UserError(
            f"{where}: a mark is {mark!r:.60}, expected [start, end] or a word"
        )
    start, end = mark
    _check_span(start, end, len(text), "characters", where)
    return [i for i, m in enumerate(found) if m.start() < end and m.end() > start]


def _check_span(start: int, end: int, length: int, unit: str, where: str) -> None:
    if not 0 <= start < end <= length:
        raise UserError(
            f"{where}: a span goes from {start} to {end}, expected ascending within "
            f"the {length} {unit} of the text"
        )


def _field(fields: dict[str, Any], name: str, kind: type, where: str) -> Any:
    """Return a field of an object, of the kind that it has to be."""
    value = fields.get(name)
    if type(value) is not kind:
        raise UserError(f"{where}: {name} is {value!r:.60}, expected {kind.__name__}")
    return value


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file with one a line, and where each stands."""
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise UserError(f"{where}: expected an object, {{…}}")
        yield where, fields


def _check_counts(least: int, vocabulary: int | None) -> None:
    if least < 1:
        raise UserError(f"dataset.least={least}, expected 1 or more")
    if vocabulary is not None and vocabulary < 1:
        raise UserError(f"dataset.vocabulary={vocabulary}, expected 1 or more")


def _made_up(draw: int) -> list[Document]:
    """Return reviews of common words and a few that tell, of which some are marked."""
    rng = stream(draw, "reviews")
    n_words = 4000
    share = 1 / np.arange(1, n_words + 1)
    share /= share.sum()
    # Which way a word points, if it points at all.
    points = np.where(rng.random(n_words) < 0.05, rng.choice([-1, 1], n_words), 0)
    documents = []
    splits: tuple[Split, ...] = ("train",) * 7 + ("validation",) + ("test",) * 2
    for i in range(1000):
        is_good = i % 2 == 1
        side = 1 if is_good else -1
        bag = rng.choice(n_words, rng.integers(150, 400), p=share)
        # Words that point the other way are mostly avoided.
        kept = bag[(points[bag] != -side) | (rng.random(len(bag)) < 0.6)]
        tells = np.flatnonzero(points[kept] == side)
        marked = frozenset(tells[rng.random(len(tells)) < 0.5].tolist())
        tokens = tuple(f"word{j}" for j in kept)
        label = "POS" if is_good else "NEG"
        split = splits[(i // 2) % len(splits)]
        documents.append(Document(f"review{i}", tokens, label, marked or None, split))
    return documents
