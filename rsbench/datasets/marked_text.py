"""Documents in which people marked why, as bags of words with votes for marked ones."""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rsbench.core.data import Data, Names
from rsbench.core.sparse import make_csr
from rsbench.errors import UserError

log = logging.getLogger(__name__)

Weights = Literal["tfidf", "counts", "binary"]
Split = Literal["train", "validation", "test"]

#: Longer ones are no words.
_LONGEST_WORD = 100

_WORD = re.compile(r"\w\w")


@dataclass(frozen=True)
class Document:
    """A text, what it is, and why somebody thought so.

    Parameters
    ----------
    name : str
        What errors call it.
    tokens : tuple of str
        Its words, in order.
    label : str
        Its class.
    marked : frozenset of int, or None
        Which of its words somebody marked, by number; None if nobody was asked.
    split : {"train", "validation", "test"}
        What it is for. Documents to validate on are background here.
    """

    name: str
    tokens: tuple[str, ...]
    label: str
    marked: frozenset[int] | None
    split: Split = "train"


def bags_of_words(
    documents: Sequence[Document],
    weights: Weights,
    least: int,
    vocabulary: int | None,
    where: str,
) -> Data:
    """Return documents as sparse rows, with votes for the words that were marked.

    Which words there are, and how rare they are, comes from documents that are not
    tested on. A word is marked in a document if any of its occurrences is.

    Parameters
    ----------
    documents : sequence of Document
        The documents.
    weights : {"tfidf", "counts", "binary"}
        What a word's feature is.
    least : int
        Words in fewer documents are left out.
    vocabulary : int or None
        At most so many words, the most frequent ones.
    where : str
        The file or folder, for errors.
    """
    shown = [each for each in documents if each.split != "validation"]
    classes = sorted({document.label for document in shown})
    if len(classes) < 2:
        raise UserError(f"{where}: documents of one label alone, {classes}")
    learned: list[list[str]] = []
    other: list[list[str]] = []
    seen: list[list[str]] = []
    # Once for all of the passes below, each word one object wherever it stands.
    one: dict[str, str] = {}
    for document in documents:
        words = [one.setdefault(word, word) for word in words_of(document)]
        if document.split != "test":
            learned.append(words)
        if document.split == "validation":
            other.append(words)
        else:
            seen.append(words)
    vectorizer = fitted(_as_they_are, learned, weights, least, vocabulary, where)
    places = vectorizer.vocabulary_
    background = None
    if other:
        background = rows(vectorizer, other)
    asked = np.array([each.marked is not None for each in shown])
    return Data(
        X=rows(vectorizer, seen),
        y=np.array([classes.index(each.label) for each in shown]),
        Z=_votes(shown, places),
        asked=asked,
        test=np.array([each.split == "test" for each in shown]),
        background=background,
        names=Names(tuple(vectorizer.get_feature_names_out().tolist()), tuple(classes)),
    )


def words_of(document: Document) -> list[str]:
    """Return a document's words in lower case.

    As scikit-learn has it by default, a word has two letters or digits in a row: marks
    of punctuation are in every document. What is too long is no word either.
    """
    found = []
    for token in document.tokens:
        if len(token) <= _LONGEST_WORD and _WORD.search(token):
            found.append(token.lower())
    return found


def _as_they_are(words: list[str]) -> list[str]:
    """Return words that were taken from their text before."""
    return words


def without_repeated(documents: Sequence[Document], where: str) -> list[Document]:
    """Return documents, those to learn from without any that are held out as well.

    Public copies have the validation documents in the training file a second time.
    """
    held = {each.name for each in documents if each.split != "train"}
    kept = []
    for each in documents:
        if each.split != "train" or each.name not in held:
            kept.append(each)
    dropped = len(documents) - len(kept)
    if dropped:
        log.warning(
            "%s: %d documents to learn from are also to validate or test on: left out "
            "of the former",
            where,
            dropped,
        )
    return kept


def fitted(
    words: Callable[[Any], list[str]],
    texts: Sequence[Any],
    weights: Weights,
    least: int,
    vocabulary: int | None,
    where: str,
) -> Any:
    """Return scikit-learn's vectoriser, once it knows words and how rare they are.

    Parameters
    ----------
    words : callable
        Returns the words of a text.
    texts : sequence
        What it learns from: nothing that is tested on.
    weights, least, vocabulary, where
        As those of `bags_of_words`.
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    settings: dict[str, Any] = {
        "analyzer": words,
        "min_df": least,
        "max_features": vocabulary,
        "dtype": np.float64,
    }
    vectorizer: Any = CountVectorizer(binary=weights == "binary", **settings)
    if weights == "tfidf":
        # 1 + log(tf), as is usual for long texts: else "the" outweighs everything.
        vectorizer = TfidfVectorizer(sublinear_tf=True, **settings)
    try:
        return vectorizer.fit(texts)
    except ValueError:
        raise UserError(
            f"{where}: no word is in {least} texts or more (dataset.least), of "
            f"{len(texts):,} that are not tested on"
        ) from None


def rows(vectorizer: Any, texts: Sequence[Any]) -> Any:
    """Return texts as sparse rows, their indices ascending."""
    X = vectorizer.transform(texts)
    X.sort_indices()
    return X


def _votes(documents: Sequence[Document], places: dict[str, int]) -> Any:
    """Return votes for the words that are marked in each document, CSR."""
    indices: list[int] = []
    starts = [0]
    for document in documents:
        marked = set()
        for number in document.marked or ():
            place = places.get(document.tokens[number].lower())
            if place is not None:  # a word that too few documents have
                marked.add(place)
        indices += sorted(marked)
        starts.append(len(indices))
    marks = np.ones(len(indices), np.float32)
    shape = (len(documents), len(places))
    return make_csr(marks, np.array(indices, int), np.array(starts), shape)
