"""Keys that tell whether two names are the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from taxoexpan.taxonomy.english import singular

_GAPS = re.compile(r"[\s\-_\u00ad\u2010-\u2015\u2212]+")


def normalize_name(name: str) -> str:
    """A name without its case, and with every run of spaces and hyphens as one space."""
    return _GAPS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


def name_key(name: str) -> str:
    """What names are found by: without case, and without the plural of the last word."""
    return _joined(normalize_name(name).split())


def _joined(words: Sequence[str]) -> str:
    return " ".join([*words[:-1], *map(singular, words[-1:])])
