"""Reading WordNet's data and index files, as wndb(5WN) describes them.

A line of a data file is a synset: `offset file pos count (word id)… count (symbol offset pos
words)… | gloss`. The offset is the byte at which the line begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile

PARTS_OF_SPEECH = {"n": "noun", "v": "verb"}
EXAMPLE_START = '; "'


@dataclass(frozen=True, slots=True)
class Synset:
    """One line of a data file.

    `hypernyms` are offsets in the same file; `file` is the number of the lexicographer file.
    """

    line: int
    offset: str
    file: str
    words: tuple[str, ...]
    hypernyms: tuple[str, ...]
    definition: str
    other_pointers: int
    """The number of pointers that are neither hypernyms nor hyponyms."""


@dataclass(frozen=True)
class WordNetFiles:
    """The data file and the index file of one part of speech."""

    pos: str
    data: TextFile
    index: TextFile

    @classmethod
    def open(cls, directory: TextFile, pos: str) -> WordNetFiles:
        """Load both files of a directory."""
        paths = (directory.path / f"{kind}.{PARTS_OF_SPEECH[pos]}" for kind in ("data", "index"))
        data, index = (directory.sibling(path, optional=True) for path in paths)
        return cls(pos, data, index)

    @cached_property
    def synsets(self) -> list[Synset]:
        """All synsets; the classes of an instance are hypernyms if the options say so."""
        symbols = frozenset({"@", "@i"} if self.data.options.instances else {"@"})
        synsets = []
        for number, line in _numbered_lines(self.data):
            try:
                synsets.append(_parse_synset(number, line, self.pos, symbols))
            except (ValueError, IndexError):
                raise _invalid(self.data, number, "a synset") from None
        return synsets

    @cached_property
    def lemmas(self) -> dict[str, int]:
        """The line number of each lemma in the index."""
        return {line.partition(" ")[0]: number for number, line in _numbered_lines(self.index)}

    @cached_property
    def senses(self) -> dict[tuple[str, str], int]:
        """The sense number of each pair of lemma and offset."""
        senses: dict[tuple[str, str], int] = {}
        for number, line in _numbered_lines(self.index):
            cells = line.split(" ")
            try:
                start = 6 + int(cells[3])
                offsets = cells[start : start + int(cells[2])]
            except (ValueError, IndexError):
                raise _invalid(self.index, number, "an index") from None
            for sense, offset in enumerate(offsets, start=1):
                senses.setdefault((cells[0], offset), sense)
        return senses

    def id_of(self, synset: Synset) -> str:
        """Return `lemma#pos#sense` of the first word of a synset."""
        lemma = synset.words[0].lower()
        sense = self.senses.get((lemma, synset.offset))
        if sense is None:
            message = f"{self.index.path.name} has no sense of {lemma!r} at {synset.offset}"
            raise FormatError(self.data.path, f"{message}; add it there", synset.line)
        return f"{lemma}#{self.pos}#{sense}"


def open_parts(directory: TextFile) -> dict[str, WordNetFiles]:
    """Load the files of all parts of speech in a directory that have a data file."""
    names = {pos: directory.path / f"data.{part}" for pos, part in PARTS_OF_SPEECH.items()}
    return {pos: WordNetFiles.open(directory, pos) for pos, p in names.items() if directory.has(p)}


def definition_in(gloss: str) -> str:
    """Return a gloss without its examples."""
    return gloss.partition(EXAMPLE_START)[0].strip()


def is_blank(word: str) -> bool:
    """Return whether a word consists of spaces only."""
    return not word.replace("_", " ").strip()


def _numbered_lines(source: TextFile) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, without blank lines and the license, which is indented."""
    for number, line in enumerate(source.lines, start=1):
        if line and not line.startswith("  ") and not line.isspace():
            yield number, line


def _invalid(file: TextFile, number: int, kind: str) -> FormatError:
    message = f"not {kind} line as in wndb(5WN): {file.lines[number - 1][:60]!r}"
    return FormatError(file.path, f"{message}; correct or remove the line", number)


def _parse_synset(number: int, line: str, pos: str, symbols: frozenset[str]) -> Synset:
    """Parse one line; an invalid one raises a ValueError or an IndexError."""
    head, _, gloss = line.partition(" | ")
    cells = head.split(" ")
    words_end = 4 + 2 * int(cells[3], 16)
    words = cells[4:words_end:2]
    start, end = words_end + 1, words_end + 1 + 4 * int(cells[words_end])
    counts_match = bool(words) and start <= end <= len(cells)
    if not counts_match or cells[2] != pos or any(map(is_blank, words)):
        raise ValueError
    pointers, offsets, targets = (cells[start + k : end : 4] for k in range(3))
    hypernyms = tuple(
        offset
        for symbol, offset, target in zip(pointers, offsets, targets, strict=True)
        if symbol in symbols and target == pos
    )
    # Pointers to hyponyms repeat the pointers to hypernyms.
    others = len(pointers) - len(hypernyms) - pointers.count("~") - pointers.count("~i")
    return Synset(number, cells[0], cells[1], tuple(words), hypernyms, definition_in(gloss), others)
