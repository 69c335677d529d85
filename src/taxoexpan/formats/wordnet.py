"""WordNet: a directory of data and index files, as described in wndb(5WN), which is only read.

A line of a data file is a synset: `offset file pos count (word id)… count (symbol offset pos
words)… | gloss`. Byte offsets change with each build, so the id of a concept is `lemma#pos#sense`
of its first word; the sense is the position of the offset in the index line of the lemma.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy

PARTS_OF_SPEECH = {"n": "noun", "v": "verb"}
EXAMPLE_START = '; "'


@dataclass(frozen=True, slots=True)
class Synset:
    """One line of a data file; `hypernyms` are offsets, `file` is the lexicographer file number."""

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

    @cached_property
    def synsets(self) -> list[Synset]:
        """All synsets; the classes of instances are hypernyms if the options request instances."""
        symbols = frozenset({"@", "@i"} if self.data.options.instances else {"@"})
        synsets = []
        for number, line in _numbered_lines(self.data):
            try:
                synsets.append(_parse_synset(number, line, self.pos, symbols))
            except (ValueError, IndexError):
                raise _invalid(self.data, number, "a synset") from None
        return synsets

    @cached_property
    def lemmas(self) -> dict[str, tuple[int, list[str]]]:
        """The line number of each lemma in the index, and the offsets of its senses in order."""
        lemmas = {}
        for number, line in _numbered_lines(self.index):
            cells = line.split(" ")
            try:
                start = 6 + int(cells[3])
                lemmas[cells[0]] = number, cells[start : start + int(cells[2])]
            except (ValueError, IndexError):
                raise _invalid(self.index, number, "an index") from None
        return lemmas

    def id_of(self, synset: Synset) -> str:
        """Return `lemma#pos#sense` of the first word of a synset."""
        lemma = synset.words[0].lower()
        _, offsets = self.lemmas.get(lemma, (0, []))
        if synset.offset not in offsets:
            message = f"{self.index.path.name} has no sense of {lemma!r} at {synset.offset}"
            raise FormatError(self.data.path, message, fix="add it there", line=synset.line)
        return f"{lemma}#{self.pos}#{offsets.index(synset.offset) + 1}"


def open_parts(directory: TextFile) -> dict[str, WordNetFiles]:
    """Load the files of all parts of speech; a missing file is empty."""
    parts = {}
    for pos, part in PARTS_OF_SPEECH.items():
        names = (f"data.{part}", f"index.{part}")
        files = (directory.sibling(directory.path / name, optional=True) for name in names)
        parts[pos] = WordNetFiles(pos, *files)
    return parts


def definition_in(gloss: str) -> str:
    """Return a gloss without its examples."""
    return gloss.partition(EXAMPLE_START)[0].strip()


def _numbered_lines(source: TextFile) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines, except blank lines and the license, which is indented."""
    for number, line in enumerate(source.lines, start=1):
        if line and not line.startswith("  ") and not line.isspace():
            yield number, line


def _invalid(file: TextFile, number: int, kind: str) -> FormatError:
    message = f"not {kind} line as in wndb(5WN): {file.lines[number - 1][:60]!r}"
    return FormatError(file.path, message, fix="correct or remove the line", line=number)


def _parse_synset(number: int, line: str, pos: str, symbols: frozenset[str]) -> Synset:
    """Parse one line, or raise a ValueError or an IndexError if it is invalid."""
    head, _, gloss = line.partition(" | ")
    cells = head.split(" ")
    words_end = 4 + 2 * int(cells[3], 16)
    words = cells[4:words_end:2]
    start = words_end + 1
    end = words_end + 1 + 4 * int(cells[words_end])
    counts_match = bool(words) and start <= end <= len(cells)
    if not counts_match or cells[2] != pos or not all(w.replace("_", " ").strip() for w in words):
        raise ValueError
    pointers, offsets, targets = (cells[start + k : end : 4] for k in range(3))
    linked = zip(pointers, offsets, targets, strict=True)
    hypernyms = tuple(offset for sign, offset, to in linked if sign in symbols and to == pos)
    # Pointers to hyponyms repeat the pointers to hypernyms.
    others = len(pointers) - len(hypernyms) - pointers.count("~") - pointers.count("~i")
    return Synset(number, cells[0], cells[1], tuple(words), hypernyms, definition_in(gloss), others)


class WordNetFormat(Format):
    """A directory with the data and index files of WordNet."""

    changes = frozenset()
    is_written = False

    def can_read(self, source: TextFile) -> bool:
        """Return whether this is a directory with one of the data files."""
        return any(source.has(source.path / f"data.{part}") for part in PARTS_OF_SPEECH.values())

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every synset as a concept below its hypernyms, and its classes if requested."""
        if not self.can_read(source):
            message = "WordNet is a directory that contains data.noun or data.verb"
            raise FormatError(source.path, message, fix="give the path of that directory")
        # Relations do not cross files, so each file is checked alone, and errors name it.
        files = [*source.parsed(open_parts).values()]
        parsed = [_build(part).finish() for part in [f for f in files if f.synsets] or files]
        taxonomy = parsed[0].taxonomy
        for other in (one.taxonomy for one in parsed[1:]):
            taxonomy = taxonomy.expanded(Additions(list(other.concepts), list(other.relations)))
        notes = tuple(note for one in parsed for note in one.notes)
        ignored = sum((Counter(one.ignored) for one in parsed), Counter[str]())
        sources = tuple(source for one in parsed for source in one.sources)
        return ParsedTaxonomy(taxonomy, notes, ignored, sources=sources)

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Refuse additions: a new sense changes the lines and byte offsets of other synsets."""
        message = "the database files of WordNet are read, but not changed"
        fix = f"first run taxoexpan convert {source.path} wordnet.ttl, and work on that file"
        raise FormatError(source.path, message, fix=fix)

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Refuse to write new database files."""
        raise FormatError(
            target.path, "WordNet is not a format to write", fix="choose another format"
        )


def _build(files: WordNetFiles) -> TaxonomyBuilder:
    builder = TaxonomyBuilder(files.data.path)
    ids = dict[str, str]()
    for synset in files.synsets:
        if synset.offset in ids:
            message = f"the offset {synset.offset} occurs twice"
            raise FormatError(
                files.data.path, message, fix="remove one of the lines", line=synset.line
            )
        ids[synset.offset] = files.id_of(synset)
        label, *synonyms = (word.replace("_", " ") for word in synset.words)
        builder.add(ids[synset.offset], label, synset.line, synonyms, synset.definition)
        builder.ignored["pointers other than hypernyms"] += synset.other_pointers
    builder.ignored["examples"] = files.data.text.count(EXAMPLE_START)
    for synset in files.synsets:
        for offset in synset.hypernyms:
            builder.relate(ids.get(offset, offset), ids[synset.offset], synset.line)
    return builder
