"""Names and ids: when two names are the same, and ids for concepts that come without one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count, takewhile

from taxoexpan.taxonomy import Concept, Taxonomy

_GAPS = re.compile(r"[\s\-_\u00ad\u2010-\u2015\u2212]+")
_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>\d+)")


def fold_name(name: str) -> str:
    """A name without its case, and with every run of spaces and hyphens as one space."""
    return _GAPS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


def with_ids(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> list[Concept]:
    """The concepts, each with its own id or a new one, in the taxonomy's style, that is free."""
    taken = {*taxonomy, *(concept.id for concept in concepts)}
    candidates = _id_style(taxonomy)
    named = []
    for concept in concepts:
        id = concept.id or next(id for id in candidates(concept.label) if id not in taken)
        taken.add(id)
        named.append(replace(concept, id=id))
    return named


def _id_style(taxonomy: Taxonomy) -> Callable[[str], Iterator[str]]:
    """How ids are made here: from the label, by counting on, or from a slug after a prefix."""
    ids = taxonomy.ids
    # A category path ends in the label; a URI may too, but a bare label would be no URI.
    if all(
        id == label or id.endswith(f"> {label}")
        for id, label in zip(ids, taxonomy.labels, strict=True)
    ):
        return _numbered_apart
    matches = [_NUMBERED.fullmatch(id) for id in ids]
    stems = {match["stem"] if match else None for match in matches}
    if len(stems) == 1 and None not in stems:
        last = max((match["number"] for match in matches if match), key=int)
        numbers = count(int(last) + 1)
        stem = stems.pop()
        return lambda _: (f"{stem}{number:0{len(last)}d}" for number in numbers)
    shared = re.match(r".*[/#:]", _common_start(ids))
    prefix = shared[0] if shared else ""
    return lambda label: _numbered_apart(prefix + slug(label))


def _common_start(texts: Sequence[str]) -> str:
    """The characters with which all texts begin."""
    first, last = min(texts), max(texts)
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    )
    return first[:same]


def slug(label: str) -> str:
    """A label as one word of letters, digits and hyphens."""
    kept = "".join(c if _in_slug(c) else " " for c in fold_name(label))
    return "-".join(kept.split()) or "concept"


def _in_slug(character: str) -> bool:
    """A letter, a digit, or a mark on one, without which Hindi would lose its vowels."""
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _numbered_apart(text: str) -> Iterator[str]:
    return chain([text], (f"{text}-{number}" for number in count(2)))
