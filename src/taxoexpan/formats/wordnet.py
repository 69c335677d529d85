"""WordNet: a directory of data and index files, as described in wndb(5WN).

A line of a data file is a synset: `offset file pos count (word id)… count (symbol offset pos
words)… | gloss`. Byte offsets change with each build, so the id of a concept is `lemma#pos#sense`
of its first word; the sense is the position of the offset in the index line of the lemma.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

PARTS_OF_SPEECH = {"n": "noun", "v": "verb"}
EXAMPLE_START = '; "'
MAX_WORDS = 0xFF
_MAX_POINTERS = 999
_MAX_OFFSET = 99_999_999
_EMPTY_OFFSET = "0" * 8
_SENSE_ID = re.compile(r"(?P<lemma>.+)#(?P<pos>[nv])#(?P<sense>[1-9][0-9]{0,5})", re.DOTALL)
_BREAKS = re.compile(r"[ \r\n]")
_ALL_PARTS = ("noun", "verb", "adj", "adv")
_HEADER = "  1 Made by taxoexpan, in the format of wndb(5WN).  \n"
_EMPTY_FILES = {
    **{f"{kind}.{part}": _HEADER for kind in ("data", "index") for part in _ALL_PARTS},
    **{f"{part}.exc": "" for part in _ALL_PARTS},
    **dict.fromkeys(("sents.vrb", "sentidx.vrb"), ""),
}
"""All files of a WordNet database, without content; `wn` cannot open one that lacks any of them."""
_ROOT_FILE = {"n": "03", "v": "29"}
"""The lexicographer file of a synset without parents: noun.Tops, and the first file of verbs."""


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
            raise FormatError(self.data.path, f"{message}; add it there", synset.line)
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
    return FormatError(file.path, f"{message}; correct or remove the line", number)


def _parse_synset(number: int, line: str, pos: str, symbols: frozenset[str]) -> Synset:
    """Parse one line, or raise a ValueError or an IndexError if it is invalid."""
    head, _, gloss = line.partition(" | ")
    cells = head.split(" ")
    words_end = 4 + 2 * int(cells[3], 16)
    words = cells[4:words_end:2]
    start, end = words_end + 1, words_end + 1 + 4 * int(cells[words_end])
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

    # A longer line would change the byte offsets of all later lines.
    changes = frozenset()
    not_inserted = ("pointers from existing synsets down to new ones",)
    is_directory = True

    def can_read(self, source: TextFile) -> bool:
        """Return whether this is a directory with one of the data files."""
        return any(source.has(source.path / f"data.{part}") for part in PARTS_OF_SPEECH.values())

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every synset as a concept below its hypernyms, and its classes if requested."""
        if not self.can_read(source):
            message = "WordNet is a directory that contains data.noun or data.verb"
            raise FormatError(source.path, f"{message}; give the path of that directory")
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
        """Append a synset to the data file for each new concept, and insert lines into the index.

        Existing lines stay unchanged: they get neither pointers to new children nor new senses.
        """
        by_part: dict[str, list[Concept]] = {}
        for concept in additions.concepts:
            _refuse_unsupported(source, concept)
            kinds = _kinds(expanded.parents(concept.id)) or _kinds([concept.id]) or {"n"}
            if len(kinds) > 1:
                message = f"{concept.label!r} was given both a noun and a verb as parents"
                raise FormatError(source.path, f"{message}; choose parents of one part of speech")
            by_part.setdefault(kinds.pop(), []).append(concept)
        files, insertions = source.parsed(open_parts), Insertions()
        for pos, concepts in by_part.items():
            insertions |= _extend_part(files[pos], expanded, concepts)
        return insertions

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write new files; concepts are nouns unless their WordNet ids are ids of verbs."""
        parts = {id: next(iter(_kinds([id])), "n") for id in taxonomy}
        if any(parts[parent] != parts[child] for parent, child in taxonomy.relations):
            parts = dict.fromkeys(taxonomy, "n")
        files = {target.path / name: text for name, text in _EMPTY_FILES.items()}
        ids: dict[str, str] = {}
        for pos, part in PARTS_OF_SPEECH.items():
            concepts = {c: _ROOT_FILE[pos] for c in taxonomy.concepts if parts[c.id] == pos}
            if concepts:
                writer = SynsetWriter(pos, concepts, taxonomy)
                data, index = (target.path / f"{kind}.{part}" for kind in ("data", "index"))
                offsets = writer.offsets(data, len(_HEADER), len("\n"), {})
                files[data] += "".join(f"{line}\n" for line in writer.data_lines(offsets))
                files[index] += "".join(f"{s}\n" for s in writer.index_lines(offsets).values())
                ids.update(writer.ids())
        return Copy(files, ids)


def _build(files: WordNetFiles) -> TaxonomyBuilder:
    builder, ids = TaxonomyBuilder(files.data.path), dict[str, str]()
    for synset in files.synsets:
        if synset.offset in ids:
            message = f"the offset {synset.offset} occurs twice; remove one of the lines"
            raise FormatError(files.data.path, message, synset.line)
        ids[synset.offset] = files.id_of(synset)
        label, *synonyms = (word.replace("_", " ") for word in synset.words)
        builder.add(ids[synset.offset], label, synset.line, synonyms, synset.definition)
        builder.ignored["pointers other than hypernyms"] += synset.other_pointers
    builder.ignored["examples"] = files.data.text.count(EXAMPLE_START)
    for synset in files.synsets:
        for offset in synset.hypernyms:
            builder.relate(ids.get(offset, offset), ids[synset.offset], synset.line)
    return builder


def _kinds(ids: Iterable[str]) -> set[str]:
    """Return the parts of speech in ids of senses."""
    return {match["pos"] for match in map(_SENSE_ID.fullmatch, ids) if match}


def _refuse_unsupported(source: TextFile, concept: Concept) -> None:
    """Refuse a concept that would not be read back unchanged."""
    for name in (concept.label, *concept.synonyms):
        if not name or as_word(name).replace("_", " ") != name:
            message = f"{name!r} would not be read back unchanged"
            remedy = "a word must not be blank, '|', or contain underscores or line breaks"
            raise FormatError(source.path, f"{message}; {remedy}; rename it")
    if len(concept.synonyms) >= MAX_WORDS:
        message = f"{concept.label!r} has {len(concept.synonyms)} synonyms"
        raise FormatError(source.path, f"{message}; remove all but {MAX_WORDS - 1}")
    if definition_in(as_gloss(concept.definition)) != concept.definition:
        message = f"the definition of {concept.label!r} would not be read back unchanged"
        remedy = f"remove line breaks, outer spaces, and the text after {EXAMPLE_START}"
        raise FormatError(source.path, f"{message}; {remedy}")


def _extend_part(
    files: WordNetFiles, expanded: Taxonomy, concepts: Sequence[Concept]
) -> Insertions:
    """Return the insertions into the two files of one part of speech."""
    synsets = {files.id_of(synset): synset for synset in files.synsets}
    # A new synset is in the lexicographer file of its first parent.
    file_of = {id: synset.file for id, synset in synsets.items()}
    ordered = sorted(concepts, key=lambda c: int(expanded.levels[expanded.index(c.id)]))
    for concept in ordered:
        parents = expanded.parents(concept.id)
        file_of[concept.id] = file_of[parents[0]] if parents else _ROOT_FILE[files.pos]
    writer = SynsetWriter(files.pos, {c: file_of[c.id] for c in ordered}, expanded)
    for lemma, ids in writer.senses.items():
        if lemma in files.lemmas:
            message = f"{lemma!r} is already in the index, and a new sense would change its line"
            remedy = f"give {expanded.concept(ids[0]).label!r} another word"
            raise FormatError(files.index.path, f"{message}; {remedy}", files.lemmas[lemma][0])
    newline_length = len(files.data.newline)
    start = len(files.data.apply(files.data.append([""]))) - newline_length
    old = {id: synset.offset for id, synset in synsets.items()}
    offsets = writer.offsets(files.data.path, start, newline_length, old)
    return {
        files.data.path: files.data.append(writer.data_lines(offsets)),
        files.index.path: _insert_sorted(files, writer.index_lines(offsets)),
    }


def _insert_sorted(files: WordNetFiles, lines: Mapping[str, str]) -> list[Insertion]:
    """Insert index lines in sort order, because `wn` uses binary search."""
    index, old = files.index, list(files.lemmas)
    offsets = [*(index.starts[files.lemmas[lemma][0] - 1] for lemma in old), len(index.text)]
    added: dict[int, list[str]] = {}
    for lemma, line in lines.items():
        added.setdefault(offsets[bisect_left(old, lemma)], []).append(line)
    return [index.insert_lines(offset, group) for offset, group in added.items()]


class SynsetWriter:
    """A writer of synsets of one part of speech; `senses` has the ordered concepts per lemma."""

    def __init__(self, pos: str, concepts: Mapping[Concept, str], taxonomy: Taxonomy) -> None:
        self.pos, self.taxonomy = pos, taxonomy
        self.files = {concept.id: file for concept, file in concepts.items()}
        self.words: dict[str, list[str]] = {}
        by_lemma: dict[str, list[str]] = {}
        for concept in concepts:
            synonyms = filter(None, map(as_word, concept.synonyms))
            words = [as_word(concept.label) or "concept", *synonyms][:MAX_WORDS]
            self.words[concept.id] = words
            for lemma in dict.fromkeys(word.lower() for word in words):
                by_lemma.setdefault(lemma, []).append(concept.id)
        self.senses = {lemma: _order_senses(lemma, ids) for lemma, ids in by_lemma.items()}

    def ids(self) -> dict[str, str]:
        """Return the id that each concept will have when it is read back."""
        return {
            id: f"{lemma}#{self.pos}#{sense}"
            for lemma, ids in self.senses.items()
            for sense, id in enumerate(ids, start=1)
            if self.words[id][0].lower() == lemma
        }

    def offsets(
        self, path: Path, start: int, newline_length: int, old: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the offsets of all old and new synsets; new lines begin at byte `start`."""
        # The length of a line does not depend on the offsets in it.
        preliminary = {**old, **dict.fromkeys(self.words, _EMPTY_OFFSET)}
        sizes = [len(line.encode()) + newline_length for line in self.data_lines(preliminary)]
        positions = list(accumulate(sizes, initial=start))
        if positions[-1] > _MAX_OFFSET:
            message = "the file would become too large for offsets of eight digits"
            raise FormatError(path, f"{message}; choose another format")
        new = {id: f"{position:08d}" for id, position in zip(self.words, positions, strict=False)}
        return {**old, **new}

    def data_lines(self, offsets: Mapping[str, str]) -> list[str]:
        """Return the line of each synset."""
        # A verb has a count of sentence frames before its gloss; new verbs have none.
        frames = " 00" if self.pos == "v" else ""
        lines = []
        for id, words in self.words.items():
            spelled = "".join(f" {word} 0" for word in words)
            pointers = self._pointers(id)
            targets = "".join(f" {s} {offsets[other]} {self.pos} 0000" for s, other in pointers)
            body = f"{len(words):02x}{spelled} {len(pointers):03d}{targets}{frames}"
            gloss = as_gloss(self.taxonomy.concept(id).definition)
            lines.append(f"{offsets[id]} {self.files[id]} {self.pos} {body} | {gloss}  ")
        return lines

    def index_lines(self, offsets: Mapping[str, str]) -> dict[str, str]:
        """Return the line of each lemma, sorted by lemma."""
        lines = {}
        for lemma, ids in sorted(self.senses.items()):
            symbols = sorted({symbol for id in ids for symbol, _ in self._pointers(id)})
            counted = " ".join([str(len(symbols)), *symbols])
            positions = " ".join(offsets[id] for id in ids)
            lines[lemma] = f"{lemma} {self.pos} {len(ids)} {counted} {len(ids)} 0 {positions}  "
        return lines

    def _pointers(self, id: str) -> list[tuple[str, str]]:
        """Return pairs of symbol and id, with hypernyms before hyponyms."""
        pointers = [("@", other) for other in self.taxonomy.parents(id)]
        return [*pointers, *(("~", other) for other in self.taxonomy.children(id))][:_MAX_POINTERS]


def as_word(name: str) -> str:
    """Return a name in WordNet spelling, or "" if nothing is left."""
    word = _BREAKS.sub("_", name)
    if not word.replace("_", " ").strip():
        return ""
    # A single bar would start the gloss.
    return "¦" if word == "|" else word


def as_gloss(definition: str) -> str:
    """Return a definition as one line."""
    return _BREAKS.sub(" ", definition).strip()


def _order_senses(lemma: str, ids: Sequence[str]) -> list[str]:
    """Return the concepts of a lemma; an id that names a sense of the lemma keeps its number."""
    by_sense: dict[int, str] = {}
    for id in ids:
        match = _SENSE_ID.fullmatch(id)
        if match and match["lemma"] == lemma and int(match["sense"]) <= len(ids):
            by_sense.setdefault(int(match["sense"]), id)
    numbered = set(by_sense.values())
    others = (id for id in ids if id not in numbered)
    return [by_sense[k] if k in by_sense else next(others) for k in range(1, len(ids) + 1)]
