"""Writing the lines of WordNet's data and index files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.wordnet.synset_reader import is_blank
from taxoexpan.taxonomy import Concept, Taxonomy

MAX_WORDS = 0xFF
SENSE_ID = re.compile(r"(?P<lemma>.+)#(?P<pos>[nv])#(?P<sense>[1-9][0-9]{0,5})", re.DOTALL)
_MAX_POINTERS = 999
_MAX_OFFSET = 99_999_999
_EMPTY_OFFSET = "0" * 8
_BREAKS = re.compile(r"[ \r\n]")


@dataclass(frozen=True, slots=True)
class SynsetEntry:
    """A synset to write; a pointer is a symbol and the id of a concept."""

    file: str
    words: Sequence[str]
    pointers: Sequence[tuple[str, str]]
    gloss: str

    @classmethod
    def of(cls, concept: Concept, taxonomy: Taxonomy, file: str) -> SynsetEntry:
        """Return the parts of a concept that a synset can hold; hypernyms precede hyponyms."""
        words = [as_word(concept.label) or "concept", *filter(None, map(as_word, concept.synonyms))]
        pointers = [("@", id) for id in taxonomy.parents(concept.id)]
        pointers += [("~", id) for id in taxonomy.children(concept.id)]
        gloss = as_gloss(concept.definition)
        return cls(file, words[:MAX_WORDS], pointers[:_MAX_POINTERS], gloss)


class SynsetWriter:
    """Formats synsets of one part of speech, given by concept id.

    `senses` has, for each lemma, the concepts with that lemma in the order of their senses.
    """

    def __init__(self, entries: Mapping[str, SynsetEntry], pos: str) -> None:
        self.entries, self.pos = entries, pos
        concepts: dict[str, list[str]] = {}
        for id, entry in entries.items():
            for lemma in dict.fromkeys(word.lower() for word in entry.words):
                concepts.setdefault(lemma, []).append(id)
        self.senses = {lemma: _order_senses(lemma, ids) for lemma, ids in concepts.items()}

    def ids(self) -> dict[str, str]:
        """Return the id that each concept will have when it is read back."""
        return {
            id: f"{lemma}#{self.pos}#{sense}"
            for lemma, ids in self.senses.items()
            for sense, id in enumerate(ids, start=1)
            if self.entries[id].words[0].lower() == lemma
        }

    def offsets(
        self, path: Path, start: int, newline_length: int, old: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the offset of every synset, old and new; new lines begin at byte `start`."""
        # The length of a line does not depend on the offsets in it.
        preliminary = {**old, **dict.fromkeys(self.entries, _EMPTY_OFFSET)}
        sizes = [len(line.encode()) + newline_length for line in self.data_lines(preliminary)]
        positions = list(accumulate(sizes, initial=start))
        if positions[-1] > _MAX_OFFSET:
            message = "the file would become too large for offsets of eight digits"
            raise FormatError(path, f"{message}; choose another format")
        new = {id: f"{position:08d}" for id, position in zip(self.entries, positions, strict=False)}
        if not set(old.values()).isdisjoint(new.values()):
            message = "the offsets are not the byte positions of the lines; rebuild the file"
            raise FormatError(path, message)
        return {**old, **new}

    def data_lines(self, offsets: Mapping[str, str]) -> list[str]:
        """Return the line of each synset."""
        # A verb has a count of sentence frames before its gloss; new verbs have none.
        frames = " 00" if self.pos == "v" else ""
        lines = []
        for id, entry in self.entries.items():
            words = "".join(f" {word} 0" for word in entry.words)
            pointers = "".join(
                f" {symbol} {offsets[other]} {self.pos} 0000" for symbol, other in entry.pointers
            )
            body = f"{len(entry.words):02x}{words} {len(entry.pointers):03d}{pointers}{frames}"
            lines.append(f"{offsets[id]} {entry.file} {self.pos} {body} | {entry.gloss}  ")
        return lines

    def index_lines(self, offsets: Mapping[str, str]) -> dict[str, str]:
        """Return the line of each lemma, sorted by lemma."""
        lines = {}
        for lemma, ids in sorted(self.senses.items()):
            symbols = sorted({symbol for id in ids for symbol, _ in self.entries[id].pointers})
            counted = " ".join([str(len(symbols)), *symbols])
            positions = " ".join(offsets[id] for id in ids)
            lines[lemma] = f"{lemma} {self.pos} {len(ids)} {counted} {len(ids)} 0 {positions}  "
        return lines


def as_word(name: str) -> str:
    """Return a name as WordNet spells it, or "" if nothing is left."""
    word = _BREAKS.sub("_", name)
    if is_blank(word):
        return ""
    # A single bar would start the gloss.
    return "¦" if word == "|" else word


def as_gloss(definition: str) -> str:
    """Return a definition as one line."""
    return _BREAKS.sub(" ", definition).strip()


def _order_senses(lemma: str, ids: Sequence[str]) -> list[str]:
    """Return the concepts of a lemma; an id that names a sense of the lemma keeps that number."""
    by_sense: dict[int, str] = {}
    for id in ids:
        match = SENSE_ID.fullmatch(id)
        if match and match["lemma"] == lemma and int(match["sense"]) <= len(ids):
            by_sense.setdefault(int(match["sense"]), id)
    numbered = set(by_sense.values())
    others = (id for id in ids if id not in numbered)
    return [by_sense[k] if k in by_sense else next(others) for k in range(1, len(ids) + 1)]
