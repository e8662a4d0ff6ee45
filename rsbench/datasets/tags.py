"""From tags as people type them to terms of a vocabulary, without learning anything.

Tags are cleaned as the paper describes: the suffixes "_occluded" and "_crop" go, spaced, misspelt or
doubled as they may be. Then tag and terms are stemmed and matched; of a compound noun its second word
counts ("TV table": table). A tag that matches nothing is dropped.
"""

import difflib
import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rsbench.errors import UserError, did_you_mean
from rsbench.files.atomic import read_text

#: Snowball's English stemmer, which its authors also call Porter2; not the older `porter`.
STEMMER = "english"

_SUFFIXES = ("crop", "cropp", "cropped", "occ", "occl", "occluded")
#: Words this near to one of these, and with the same first letters, are a suffix misspelt.
_MISSPELT = {"oc": ("occluded", 0.8), "cro": ("cropped", 0.85)}
_WORDS_OF_THEIR_OWN = ("occluder", "cropper")
_EDGES = " \t.,;:!?'\"()[]{}<>*/\\-–—+&#"
#: What may stand between a word and its suffix in place of a space.
_JOINTS = re.compile(r"[-–—,;/(+&]")


def clean(tag: str) -> str:
    """The tag in lower case, words apart by single spaces, without suffixes that say how the object is seen."""
    text = unicodedata.normalize("NFKC", tag).lower().replace("_", " ")
    words = [part for word in text.split() for part in _apart(word.strip(_EDGES))]
    while len(words) > 1 and _is_suffix(words[-1]):
        words.pop()
    if (
        len(words) > 2 and words[-1].isdecimal() and _is_suffix(words[-2])
    ):  # "table crop 2"
        return clean(" ".join(words[:-1]))
    return " ".join(words)


def _apart(word: str) -> list[str]:
    """A word, or a word and the suffix that is joined to it by other than a space."""
    joints = list(_JOINTS.finditer(word))
    if joints and _is_suffix(word[joints[-1].end() :]):
        return [
            *_apart(word[: joints[-1].start()].strip(_EDGES)),
            word[joints[-1].end() :],
        ]
    return [word] if word else []


@functools.cache
def _is_suffix(word: str) -> bool:
    word = word.rstrip("0123456789")
    if word in _SUFFIXES or word in _WORDS_OF_THEIR_OWN:
        return word in _SUFFIXES
    for start, (right, least) in _MISSPELT.items():
        if (
            word.startswith(start)
            and difflib.SequenceMatcher(None, word, right).ratio() >= least
        ):
            return True
    return False


@functools.cache
def stem(word: str) -> str:
    """The word's stem by STEMMER."""
    return _stemmer().stemWord(word)


@functools.cache
def _stemmer():
    import snowballstemmer

    return snowballstemmer.stemmer(STEMMER)


@dataclass(frozen=True)
class Vocabulary:
    """Terms in the order of the features, and which of them have a stem."""

    terms: tuple[str, ...]

    @functools.cached_property
    def by_stem(self) -> dict[str, list[int]]:
        """Numbers of the terms that share a stem."""
        found: dict[str, list[int]] = {}
        for i, term in enumerate(self.terms):
            found.setdefault(stem(term.lower()), []).append(i)
        return found


def read_vocabulary(path: Path) -> Vocabulary:
    """Terms from lines `term` or `term, part of speech, count`."""
    lines = read_text(path).rstrip("\n").split("\n")
    terms: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        term = line.partition(",")[0].strip()
        if not term:
            raise UserError(
                f"{path}, line {number}: empty; expected a term, alone or before a comma"
            )
        if term in terms:
            raise UserError(
                f"{path}, line {number}: '{term}' is there already, in line {terms[term]}"
            )
        terms[term] = number
    return Vocabulary(tuple(terms))


#: From a cleaned tag's words to the one that stands for it; None if none does.
Matcher = Callable[[list[str]], str | None]


def _second(words: list[str]) -> str | None:
    """The only word, or of several the second."""
    return words[min(1, len(words) - 1)] if words else None


def _head(words: list[str]) -> str | None:
    """The last word, which in English names the thing."""
    return words[-1] if words else None


def _single(words: list[str]) -> str | None:
    """The only word; compounds match nothing."""
    return words[0] if len(words) == 1 else None


#: Ways to match, by name: `dataset.matcher=NAME`. A plugin adds its own with MATCHERS["mine"] = function.
MATCHERS: dict[str, Matcher] = {"second": _second, "head": _head, "single": _single}


def find_matcher(name: str) -> Matcher:
    """The way to match of that name."""
    if name not in MATCHERS:
        raise UserError(
            f"dataset.matcher='{name}' is unknown. {did_you_mean(name, MATCHERS)}"
        )
    return MATCHERS[name]


@dataclass(frozen=True)
class Decision:
    """What became of a cleaned tag: the terms it stands for, or why there are none."""

    tag: str
    count: int
    terms: tuple[str, ...]
    why: str
    typed: tuple[str, ...]


class TagMap:
    """The way from tags to terms, each decision kept for those who ask."""

    def __init__(self, vocabulary: Vocabulary, matcher: str = "second"):
        self.vocabulary = vocabulary
        self._matcher = find_matcher(matcher)
        self._terms: dict[str, list[int]] = {}

    def terms(self, tag: str) -> list[int]:
        """Numbers of the terms that a tag, as typed, stands for."""
        if tag not in self._terms:
            word = self._matcher(clean(tag).split())
            self._terms[tag] = (
                self.vocabulary.by_stem.get(stem(word), []) if word else []
            )
        return self._terms[tag]

    def votes(self, tags: Iterable[Iterable[str]]) -> np.ndarray:
        """One row for each sample's tags: which terms they mark."""
        rows = [
            sorted({term for tag in marked for term in self.terms(tag)})
            for marked in tags
        ]
        Z = np.zeros((len(rows), len(self.vocabulary.terms)), bool)
        for row, terms in zip(Z, rows, strict=True):
            row[terms] = True
        return Z

    def decisions(self, counts: Mapping[str, int]) -> list[Decision]:
        """What became of each cleaned tag, the most frequent first."""
        cleaned: dict[str, dict[str, int]] = {}
        for typed, count in counts.items():
            cleaned.setdefault(clean(typed), {})[typed] = count
        found = []
        for tag, forms in sorted(
            cleaned.items(), key=lambda item: (-sum(item[1].values()), item[0])
        ):
            word, terms = (
                self._matcher(tag.split()),
                tuple(self.vocabulary.terms[i] for i in self.terms(tag)),
            )
            typed_forms = tuple(sorted(forms, key=lambda form: (-forms[form], form)))
            found.append(
                Decision(
                    tag,
                    sum(forms.values()),
                    terms,
                    _why(tag, word, bool(terms)),
                    typed_forms,
                )
            )
        return found


def _why(tag: str, word: str | None, matched: bool) -> str:
    if word is None:
        return "no word stands for it"
    by = "same stem" if word == tag else f"by '{word}'"
    return by if matched else f"no term with the stem '{stem(word)}'"
