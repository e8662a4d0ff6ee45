"""From tags as people type them to terms of a vocabulary, without learning anything.

Tags are cleaned as the paper describes: the suffixes "_occluded" and "_crop" go,
spaced, misspelt or doubled as they may be. Then tag and terms are stemmed and matched;
of a compound noun its second word counts ("TV table": table). A tag that matches
nothing is dropped.
"""

import difflib
import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.errors import UserError, did_you_mean
from rsbench.files.atomic import read_text

#: Snowball's English stemmer, which its authors also call Porter2; not the older
#: `porter`.
STEMMER = "english"

_SUFFIXES = ("crop", "cropp", "cropped", "occ", "occl", "occluded")
#: Words that begin so are a suffix misspelt if they are at least so near to it, as
#: difflib measures. "occupied" and "cross" have to stay below.
_MISSPELT = {"oc": ("occluded", 0.8), "cro": ("cropped", 0.85)}
#: Words that are near enough, and yet no suffix.
_WORDS_OF_THEIR_OWN = ("occluder", "cropper")
#: What may stand around a word.
_EDGES = " \t.,;:!?'\"()[]{}<>*/\\-–—+&#"
#: What may stand between a word and its suffix in place of a space.
_JOINTS = re.compile(r"[-–—,;/(+&]")


@functools.cache  # of a few thousand tags, each is typed hundreds of times
def clean(tag: str) -> str:
    """Return a tag without suffixes that say how the object is seen.

    It is in lower case, with single spaces between its words.

    Examples
    --------
    >>> clean("TV table_occluded")
    'tv table'
    """
    # Ligatures become letters, wide spaces spaces.
    text = unicodedata.normalize("NFKC", tag).lower().replace("_", " ")
    words = []
    for word in text.split():
        words += _split_suffix(word.strip(_EDGES))
    # A first word stays: somebody may have tagged a crop in a field.
    while len(words) > 1 and _is_suffix(words[-1]):
        words.pop()
    numbered = len(words) > 2 and words[-1].isdecimal() and _is_suffix(words[-2])
    if numbered:  # "table crop 2"
        return clean(" ".join(words[:-1]))
    return " ".join(words)


def _split_suffix(word: str) -> list[str]:
    """Return a word, and apart from it suffixes joined to it by other than a space."""
    joints = list(_JOINTS.finditer(word))
    if joints:
        last = joints[-1]
        suffix = word[last.end() :]
        if _is_suffix(suffix):
            return [*_split_suffix(word[: last.start()].strip(_EDGES)), suffix]
    if not word:
        return []
    return [word]


@functools.cache
def _is_suffix(word: str) -> bool:
    """Tell whether a word says how an object is seen; a number may follow it."""
    word = word.rstrip("0123456789")
    if word in _SUFFIXES:
        return True
    if word in _WORDS_OF_THEIR_OWN:
        return False
    for start, (right, least) in _MISSPELT.items():
        if word.startswith(start):
            likeness = difflib.SequenceMatcher(None, word, right).ratio()
            if likeness >= least:
                return True
    return False


@functools.cache
def stem(word: str) -> str:
    """Return the word's stem by STEMMER."""
    import snowballstemmer

    return snowballstemmer.stemmer(STEMMER).stemWord(word)


@dataclass(frozen=True)
class Vocabulary:
    """Terms that tags may stand for, in the order of the features.

    Parameters
    ----------
    terms : tuple of str
        The terms.
    """

    terms: tuple[str, ...]

    @functools.cached_property
    def by_stem(self) -> dict[str, list[int]]:
        """Numbers of the terms that have a stem, by the stem."""
        found: dict[str, list[int]] = {}
        # Several terms may share one, as "chair" and "chairs" do: a tag marks them all.
        for i, term in enumerate(self.terms):
            found.setdefault(stem(term.lower()), []).append(i)
        return found


def read_vocabulary(path: Path) -> Vocabulary:
    """Read terms from lines `term` or `term, part of speech, count`."""
    lines = read_text(path).rstrip("\n").split("\n")
    terms: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        term = line.partition(",")[0].strip()
        if not term:
            raise UserError(
                f"{path}, line {number}: empty; expected a term, alone or before a "
                "comma"
            )
        if term in terms:
            raise UserError(
                f"{path}, line {number}: '{term}' is there already, in line "
                f"{terms[term]}"
            )
        terms[term] = number
    return Vocabulary(tuple(terms))


#: From a cleaned tag's words to the one that stands for it; None if none does.
Matcher = Callable[[list[str]], str | None]


def _second(words: list[str]) -> str | None:
    """Return the only word, or of several the second."""
    if not words:
        return None
    return words[min(1, len(words) - 1)]


def _head(words: list[str]) -> str | None:
    """Return the last word, which in English names the thing."""
    if not words:
        return None
    return words[-1]


def _single(words: list[str]) -> str | None:
    """Return the only word; compounds match nothing."""
    if len(words) != 1:
        return None
    return words[0]


#: Ways to match, by name: `dataset.matcher=NAME`. A plugin adds its own with
#: MATCHERS["mine"] = function.
MATCHERS: dict[str, Matcher] = {"second": _second, "head": _head, "single": _single}


def find_matcher(name: str) -> Matcher:
    """Return the way to match of that name."""
    if name not in MATCHERS:
        raise UserError(
            f"dataset.matcher='{name}' is unknown. {did_you_mean(name, MATCHERS)}"
        )
    return MATCHERS[name]


@dataclass(frozen=True)
class Decision:
    """What became of a cleaned tag.

    Parameters
    ----------
    tag : str
        The tag, cleaned.
    count : int
        How often it was typed.
    terms : tuple of str
        The terms that it stands for.
    why : str
        How it was matched, or why it was not.
    typed : tuple of str
        The forms in which it was typed, the most frequent first.
    """

    tag: str
    count: int
    terms: tuple[str, ...]
    why: str
    typed: tuple[str, ...]


class TagMap:
    """The way from tags to terms.

    Parameters
    ----------
    vocabulary : Vocabulary
        The terms.
    matcher : str
        Which word of a tag stands for it; one of MATCHERS.
    """

    def __init__(self, vocabulary: Vocabulary, matcher: str = "second"):
        self.vocabulary = vocabulary
        self._matcher = find_matcher(matcher)
        self._terms: dict[str, list[int]] = {}  # of tags that were asked for already

    def terms(self, tag: str) -> list[int]:
        """Return the numbers of the terms that a tag, as typed, stands for."""
        if tag not in self._terms:
            word = self._matcher(clean(tag).split())
            found: list[int] = []
            if word:
                found = self.vocabulary.by_stem.get(stem(word), [])
            self._terms[tag] = found
        return self._terms[tag]

    def votes(self, tags: Iterable[Iterable[str]]) -> np.ndarray:
        """Return for each sample's tags which terms they mark, (samples, terms)."""
        samples = list(tags)
        Z = np.zeros((len(samples), len(self.vocabulary.terms)), bool)
        for row, marked in zip(Z, samples, strict=True):
            for tag in marked:
                row[self.terms(tag)] = True
        return Z

    def decisions(self, counts: Mapping[str, int]) -> list[Decision]:
        """Return what becomes of each cleaned tag, the most frequent first.

        Parameters
        ----------
        counts : dict of int
            How often each tag was typed.
        """
        forms_of: dict[str, Counter[str]] = {}
        for typed, count in counts.items():
            forms_of.setdefault(clean(typed), Counter())[typed] = count
        decisions = [self._decide(tag, forms) for tag, forms in forms_of.items()]
        return sorted(decisions, key=lambda decision: (-decision.count, decision.tag))

    def _decide(self, tag: str, forms: Counter[str]) -> Decision:
        word = self._matcher(tag.split())
        terms = tuple(self.vocabulary.terms[i] for i in self.terms(tag))
        if word is None:
            why = "no word stands for it"
        elif not terms:
            why = f"no term with the stem '{stem(word)}'"
        elif word == tag:
            why = "same stem"
        else:
            why = f"by '{word}'"
        typed = sorted(forms, key=lambda form: (-forms[form], form))
        return Decision(tag, forms.total(), terms, why, tuple(typed))


@dataclass(frozen=True)
class TaggedImages:
    """The tags of each image, and the way from them to terms.

    Parameters
    ----------
    tags : tuple of tuple of str
        Each image's tags, as typed.
    scenes : int
        How many scenes the images are of.
    mapping : TagMap
        The way to terms.
    left_out : dict of int
        How much was left out, by cause.
    """

    tags: tuple[tuple[str, ...], ...]
    scenes: int
    mapping: TagMap
    left_out: dict[str, int]

    @property
    def counts(self) -> Counter[str]:
        """How often each tag was typed."""
        return Counter(itertools.chain.from_iterable(self.tags))

    def votes(self) -> np.ndarray:
        """Return which terms each image's tags mark, (images, terms)."""
        return self.mapping.votes(self.tags)

    def decisions(self) -> list[Decision]:
        """Return what became of each tag, the most frequent first."""
        return self.mapping.decisions(self.counts)

    def summary(self) -> dict[str, Any]:
        """Return the paper's counts for these tags, and what was left out."""
        matched = []
        terms: set[str] = set()
        decisions = self.decisions()
        for decision in decisions:
            if decision.terms:
                matched.append(decision)
                terms.update(decision.terms)
        counts = self.counts
        summary = {
            "tags_as_typed": len(counts),
            "tags_cleaned": len(decisions),
            "annotations": counts.total(),
            "images": len(self.tags),
            "scenes": self.scenes,
            "median_times_a_tag_is_in_an_image": self._median_repeats(),
            "tags_matched": len(matched),
            "terms_matched": len(terms),
        }
        for cause, count in sorted(self.left_out.items()):
            summary[f"left out, {cause}"] = count
        return summary

    def _median_repeats(self) -> float:
        """Return how often an image has each of its tags, in the median over images."""
        repeats = []
        for tags in self.tags:
            if tags:
                different = {clean(tag) for tag in tags}
                repeats.append(len(tags) / len(different))
        if not repeats:
            return 0.0
        return float(np.median(repeats))
