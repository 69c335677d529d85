"""Keys for comparing names: names with the same key count as the same name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from taxoexpan.taxonomy.english import singular

GAPS = re.compile(r"[\s\-_\u00ad\u2010-\u2015\u2212]+")


def normalize_name(name: str) -> str:
    """A name in lower case, with every run of spaces and hyphens as one space."""
    return GAPS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


@lru_cache(maxsize=1 << 16)
def name_key(name: str) -> str:
    """A normalized name with its last word in the singular."""
    return words_key(normalize_name(name).split())


def words_key(words: Sequence[str]) -> str:
    """The `name_key` of a name that is normalized and split into words."""
    return " ".join([*words[:-1], *map(singular, words[-1:])])
