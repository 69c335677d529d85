"""Synsets as lines: what WordNet's data and index files hold of concepts that are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.taxonomy import Concept, Taxonomy

MOST_WORDS, _MOST_POINTERS, _LAST_OFFSET = 0xFF, 999, 99_999_999
EXAMPLE = '; "'
SENSE_ID = re.compile(r"(?P<lemma>.+)#(?P<pos>[nv])#(?P<sense>[1-9][0-9]{0,5})", re.DOTALL)

_BREAKS = re.compile(r"[ \r\n]")
_BLANK_OFFSET = "0" * 8


@dataclass(frozen=True, slots=True)
class Entry:
    """A synset to be written; its pointers are symbols and the ids of concepts."""

    file: str
    words: Sequence[str]
    pointers: Sequence[tuple[str, str]]
    gloss: str

    @classmethod
    def of(cls, concept: Concept, taxonomy: Taxonomy, file: str) -> Entry:
        """What a synset can hold of a concept; hypernyms come before hyponyms."""
        words = [as_word(concept.label) or "concept", *filter(None, map(as_word, concept.synonyms))]
        pointers = [("@", id) for id in taxonomy.parents(concept.id)]
        pointers += [("~", id) for id in taxonomy.children(concept.id)]
        gloss = as_gloss(concept.definition)
        return cls(file, words[:MOST_WORDS], pointers[:_MOST_POINTERS], gloss)


def definition_in(gloss: str) -> str:
    """A gloss without its examples."""
    return gloss.partition(EXAMPLE)[0].strip()


def as_word(name: str) -> str:
    """A name as WordNet writes it, if anything is left; a bar alone would begin the gloss."""
    word = _BREAKS.sub("_", name)
    if is_blank(word):
        return ""
    return "¦" if word == "|" else word


def is_blank(word: str) -> bool:
    """Whether a word has nothing but spaces."""
    return not word.replace("_", " ").strip()


def as_gloss(definition: str) -> str:
    """A definition in one line."""
    return _BREAKS.sub(" ", definition).strip()


def senses_of(entries: Mapping[str, Entry]) -> dict[str, list[str]]:
    """The concepts that have each lemma, sense by sense."""
    holders: dict[str, list[str]] = {}
    for id, entry in entries.items():
        for lemma in dict.fromkeys(word.lower() for word in entry.words):
            holders.setdefault(lemma, []).append(id)
    return {lemma: _arranged(lemma, ids) for lemma, ids in holders.items()}


def _arranged(lemma: str, ids: Sequence[str]) -> list[str]:
    """The concepts of a lemma, those whose id names a sense of it in that place."""
    named: dict[int, str] = {}
    for id in ids:
        match = SENSE_ID.fullmatch(id)
        if match and match["lemma"] == lemma and int(match["sense"]) <= len(ids):
            named.setdefault(int(match["sense"]), id)
    placed = set(named.values())
    others = (id for id in ids if id not in placed)
    return [named[k] if k in named else next(others) for k in range(1, len(ids) + 1)]


def ids_of(
    entries: Mapping[str, Entry], senses: Mapping[str, list[str]], pos: str
) -> dict[str, str]:
    """The id with which each concept will be read back."""
    ids = {}
    for lemma, holders in senses.items():
        for sense, id in enumerate(holders, start=1):
            if entries[id].words[0].lower() == lemma:
                ids[id] = f"{lemma}#{pos}#{sense}"
    return ids


def offsets_of(
    path: Path, entries: Mapping[str, Entry], pos: str, start: int, end: int, old: Mapping[str, str]
) -> dict[str, str]:
    """The offset of every synset, old and new; a line's length does not depend on them."""
    blank = {**old, **dict.fromkeys(entries, _BLANK_OFFSET)}
    sizes = [len(line.encode()) + end for line in data_lines(entries, pos, blank)]
    places = list(accumulate(sizes, initial=start))
    if places[-1] > _LAST_OFFSET:
        message = "the file would become larger than offsets of eight digits can tell"
        raise FormatError(path, f"{message}; choose another format")
    new = {id: f"{place:08d}" for id, place in zip(entries, places, strict=False)}
    if not set(old.values()).isdisjoint(new.values()):
        message = "its offsets are not the bytes at which lines begin; build the file anew"
        raise FormatError(path, message)
    return {**old, **new}


def data_lines(entries: Mapping[str, Entry], pos: str, offsets: Mapping[str, str]) -> list[str]:
    """The line of each synset."""
    # Between a verb's pointers and its gloss stands the count of its frames, of which we know none.
    frames = " 00" if pos == "v" else ""
    lines = []
    for id, entry in entries.items():
        words = "".join(f" {word} 0" for word in entry.words)
        to = "".join(f" {symbol} {offsets[other]} {pos} 0000" for symbol, other in entry.pointers)
        counted = f"{len(entry.words):02x}{words} {len(entry.pointers):03d}{to}{frames}"
        lines.append(f"{offsets[id]} {entry.file} {pos} {counted} | {entry.gloss}  ")
    return lines


def index_lines(
    entries: Mapping[str, Entry],
    senses: Mapping[str, list[str]],
    pos: str,
    offsets: Mapping[str, str],
) -> dict[str, str]:
    """The line of each lemma."""
    lines = {}
    for lemma, ids in senses.items():
        symbols = sorted({symbol for id in ids for symbol, _ in entries[id].pointers})
        counted = " ".join([str(len(symbols)), *symbols])
        places = " ".join(offsets[id] for id in ids)
        lines[lemma] = f"{lemma} {pos} {len(ids)} {counted} {len(ids)} 0 {places}  "
    return lines
