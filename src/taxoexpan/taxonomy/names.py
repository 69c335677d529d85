"""Keys for comparing names, English word forms, and an index of children by label endings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from taxoexpan.taxonomy.adjacency import Adjacency

MIN_PLURAL_LENGTH = 4


def singular(word: str) -> str:
    """Return a lower-case English word without its plural ending, maybe not a real word."""
    if len(word) < MIN_PLURAL_LENGTH:
        return word
    if word.endswith(("ies", "ie")):  # berries and berry, cookies and cookie
        return word[: word.rindex("ie")] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_WORDS = {
    "pointing": """
        this that these those our their its his her my your
    """,
    "articles": """
        a an the each every some any no both all such another either neither several many few
        much more most less least other various same own
    """,
    "verbal": """
        we they i you he she it who which to not can could may might must shall should will
        would cannot do does did let also have has had having
    """,
    "being": """
        is are was were be been being am
    """,
    "others": """
        of in on for with from by at as into onto through between among across over under within
        without via using upon about against toward towards per during before after since until
        than like beyond despite versus vs besides along around behind below above and or but
        nor if then so because while whereas although though however therefore thus hence
        moreover furthermore when where why how what whose whom there here yet still only even
        just very too rather quite well almost already again further e.g i.e etc et al cf based
        used use uses one two three four five six seven eight nine ten first second third last
        next new novel different existing previous recent current proposed given able due us
        them him me itself themselves ourselves himself herself better best good out up down off
        back away together once ever never now often sometimes always far instead whether unless
        except including include includes regarding according namely
    """,
}
_SETS = {name: frozenset(words.split()) for name, words in _WORDS.items()}

POINTING = _SETS["pointing"]
"""Words before a phrase that refers to something in the same text: our method, these results."""

ARTICLES = _SETS["articles"]
"""Articles and other determiners."""

VERBAL = _SETS["verbal"]
"""Words that are usually followed by a verb."""

BEING = _SETS["being"]
"""Forms of "to be"."""

STOP_WORDS = frozenset[str]().union(*_SETS.values())
"""Words that separate phrases and never occur in one."""


GAPS = re.compile(r"[\s\-_\u00ad\u2010-\u2015\u2212]+")


def normalize_name(name: str) -> str:
    """Return a name in lower case, with every run of spaces and hyphens as one space."""
    return GAPS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


@lru_cache(maxsize=1 << 16)
def name_key(name: str) -> str:
    """Return a normalized name with its last word in the singular."""
    return words_key(normalize_name(name).split())


def words_key(words: Sequence[str]) -> str:
    """Return the `name_key` of a name that is normalized and split into words."""
    return " ".join([*words[:-1], *map(singular, words[-1:])])


class LabelEndings:
    """An index of children by the last words of their labels; it stores hashes to save memory."""

    def __init__(self, labels: Sequence[str], children_of: Adjacency) -> None:
        self._labels, self._children_of = labels, children_of
        concepts: list[int] = []
        hashes: list[int] = []
        for concept, label in enumerate(labels):
            words = words_key(normalize_name(label).split()).split(" ")
            hashes += [hash(" ".join(words[start:])) for start in range(1, len(words))]
            concepts += [concept] * (len(words) - 1)
        owners = np.argsort(children_of.targets, kind="stable")
        counts = np.bincount(children_of.targets, minlength=len(labels))
        of_concept = Adjacency(np.concatenate([[0], np.cumsum(counts)]), owners)
        rows, relations = of_concept.of_many(np.array(concepts, dtype=np.int64))
        hashed = np.array(hashes, dtype=np.int64)[rows]
        order = np.lexsort((relations, hashed))
        self._hashes, self._relations = hashed[order], relations[order]

    def children(self, parent: int, names: set[str]) -> list[int]:
        """Return a concept's children whose labels end with one of these name keys."""
        first, last = self._children_of.offsets[parent : parent + 2]
        found: set[int] = set()
        for name in names:
            start = np.searchsorted(self._hashes, hash(name), side="left")
            stop = np.searchsorted(self._hashes, hash(name), side="right")
            relations = self._relations[start:stop]
            found.update(relations[slice(*np.searchsorted(relations, (first, last)))].tolist())
        endings = tuple(f" {name}" for name in names)
        children = self._children_of.targets[sorted(found)].tolist()
        return [child for child in children if name_key(self._labels[child]).endswith(endings)]
