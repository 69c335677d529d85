"""The WordNet format: a directory with data and index files of nouns, verbs or both.

Offsets change from one build to the next, so the id of a concept is `lemma#pos#sense` of its first
word. The sense is the position of the offset in the line of the lemma in the index file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.formats.wordnet.synset_reader import (
    EXAMPLE_START,
    PARTS_OF_SPEECH,
    Synset,
    WordNetFiles,
    definition_in,
    open_parts,
    present_parts,
)
from taxoexpan.formats.wordnet.synset_writer import (
    MAX_WORDS,
    SENSE_ID,
    SynsetEntry,
    SynsetWriter,
    as_gloss,
    as_word,
)
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

_ALL_PARTS = ("noun", "verb", "adj", "adv")
_HEADER = "  1 Made by taxoexpan, in the format of wndb(5WN).  \n"
_EMPTY_FILES = {
    **{f"{kind}.{part}": _HEADER for kind in ("data", "index") for part in _ALL_PARTS},
    **{f"{part}.exc": "" for part in _ALL_PARTS},
    "sents.vrb": "",
    "sentidx.vrb": "",
}
"""All files of a WordNet database, without content."""
_ROOT_FILE = {"n": "03", "v": "29"}
"""The lexicographer file of a synset without parents: noun.Tops, and the first file of verbs."""


class WordNetFormat(Format):
    """A directory with the data and index files of WordNet."""

    # A longer line would change the byte offsets of all later lines.
    changes = frozenset()
    not_inserted = ("pointers from existing synsets down to new ones",)
    is_directory = True

    def can_read(self, source: TextFile) -> bool:
        """Return whether this is a directory with one of the data files."""
        return bool(present_parts(source.path))

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every synset as a concept below its hypernyms, and its classes if requested."""
        files = source.parsed(open_parts)
        if not files:
            message = "WordNet is a directory that contains data.noun or data.verb"
            raise FormatError(source.path, f"{message}; give the path of that directory")
        builders = list(map(_build, files.values()))
        # Relations do not cross files, so each file is checked alone, and errors name it.
        parsed = [builder.finish() for builder in builders if builder.ids]
        if not parsed:
            raise FormatError(source.path, "no synset in the data files; they need at least one")
        taxonomy = parsed[0].taxonomy
        for other in (one.taxonomy for one in parsed[1:]):
            taxonomy = taxonomy.expanded(Additions(list(other.concepts), list(other.relations)))
        notes = tuple(note for one in parsed for note in one.notes)
        ignored = sum((builder.ignored for builder in builders), Counter())
        sources = tuple(source for one in parsed for source in one.sources)
        return ParsedTaxonomy(taxonomy, notes, ignored, sources=sources)

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append a synset to the data file for each new concept, and insert lines into the index.

        Existing lines stay unchanged. Therefore an existing parent gets no pointer to its new
        child: `wn` shows the hypernyms of the child, but not the child as a hyponym. A word that
        is already in the index gets no new sense. A new concept gets the id of its first word.
        """
        by_part: dict[str, list[Concept]] = {}
        for concept in additions.concepts:
            _refuse_unsupported(source, concept)
            by_part.setdefault(_part_of_speech(source, expanded, concept), []).append(concept)
        insertions: Insertions = {}
        for pos, concepts in by_part.items():
            files = source.parsed(open_parts).get(pos) or WordNetFiles.open(source, pos)
            insertions.update(_extend_part(files, expanded, concepts))
        return insertions

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write new files; concepts are nouns unless their WordNet ids say that they are verbs."""
        kinds = _parts_of_speech(taxonomy)
        files: dict[Path, str] = {}
        ids: dict[str, str] = {}
        for pos, part in PARTS_OF_SPEECH.items():
            concepts = [concept for concept in taxonomy.concepts if kinds[concept.id] == pos]
            if not concepts:
                continue
            data, index = (target.path / f"{kind}.{part}" for kind in ("data", "index"))
            entries = {c.id: SynsetEntry.of(c, taxonomy, _ROOT_FILE[pos]) for c in concepts}
            writer = SynsetWriter(entries, pos)
            offsets = writer.offsets(data, len(_HEADER), len("\n"), {})
            files[data] = _HEADER + "".join(f"{line}\n" for line in writer.data_lines(offsets))
            index_lines = writer.index_lines(offsets).values()
            files[index] = _HEADER + "".join(f"{line}\n" for line in index_lines)
            ids.update(writer.ids())
        # `wn` cannot open a database in which one of these files is missing.
        empty = {target.path / name: text for name, text in _EMPTY_FILES.items()}
        return Copy(
            {**files, **{path: text for path, text in empty.items() if path not in files}}, ids
        )


def _build(files: WordNetFiles) -> TaxonomyBuilder:
    builder, ids = TaxonomyBuilder(files.data.path), dict[str, str]()
    synsets = files.synsets
    for synset in synsets:
        if synset.offset in ids:
            message = f"the offset {synset.offset} occurs twice; remove one of the lines"
            raise FormatError(files.data.path, message, synset.line)
        ids[synset.offset] = files.id_of(synset)
    names = [[word.replace("_", " ") for word in synset.words] for synset in synsets]
    builder.ids = list(ids.values())
    builder.labels = [words[0] for words in names]
    builder.lines = [synset.line for synset in synsets]
    builder.synonyms = {row: tuple(words[1:]) for row, words in enumerate(names) if words[1:]}
    builder.definitions = {
        row: synset.definition for row, synset in enumerate(synsets) if synset.definition
    }
    builder.ignored["pointers other than hypernyms"] = sum(s.other_pointers for s in synsets)
    builder.ignored["examples"] = files.data.text.count(EXAMPLE_START)
    _add_relations(builder, synsets, ids)
    return builder


def _add_relations(
    builder: TaxonomyBuilder, synsets: Sequence[Synset], ids: Mapping[str, str]
) -> None:
    pairs = [(synset, offset) for synset in synsets for offset in synset.hypernyms]
    for synset, offset in pairs:
        if offset not in ids:
            message = f"a pointer to {offset}, but there is no synset; correct or remove it"
            raise FormatError(builder.path, message, synset.line)
    builder.parents = [ids[offset] for _, offset in pairs]
    builder.children = [ids[synset.offset] for synset, _ in pairs]
    builder.relation_lines = [synset.line for synset, _ in pairs]


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


def _part_of_speech(source: TextFile, expanded: Taxonomy, concept: Concept) -> str:
    """Return "n" or "v", from the parents of a concept, or else from its id."""
    own = SENSE_ID.fullmatch(concept.id)
    parents = map(SENSE_ID.fullmatch, expanded.parents(concept.id))
    kinds = {match["pos"] for match in parents if match} or {own["pos"] if own else "n"}
    if len(kinds) > 1:
        message = f"{concept.label!r} was given both a noun and a verb as parents"
        raise FormatError(source.path, f"{message}; choose parents of one part of speech")
    return kinds.pop()


def _parts_of_speech(taxonomy: Taxonomy) -> dict[str, str]:
    """Return "n" or "v" for every concept; all are nouns if a relation joins nouns and verbs."""
    matches = {id: SENSE_ID.fullmatch(id) for id in taxonomy}
    kinds = {id: match["pos"] if match else "n" for id, match in matches.items()}
    if any(kinds[parent] != kinds[child] for parent, child in taxonomy.relations):
        return dict.fromkeys(taxonomy, "n")
    return kinds


def _extend_part(
    files: WordNetFiles, expanded: Taxonomy, concepts: Sequence[Concept]
) -> Insertions:
    """Return the insertions into the two files of one part of speech."""
    synsets = {files.id_of(synset): synset for synset in files.synsets}
    writer = SynsetWriter(_new_entries(files, expanded, concepts, synsets), files.pos)
    old = {id: synset.offset for id, synset in synsets.items()}
    text, newline_length = files.data.text, len(files.data.newline)
    missing_newline = newline_length if text[-1:] not in ("", "\n") else 0
    start = len(files.data.bom + text.encode()) + missing_newline
    offsets = writer.offsets(files.data.path, start, newline_length, old)
    return {
        files.data.path: files.data.append(writer.data_lines(offsets)),
        files.index.path: _insert_sorted(files, writer.index_lines(offsets)),
    }


def _new_entries(
    files: WordNetFiles,
    expanded: Taxonomy,
    concepts: Sequence[Concept],
    synsets: Mapping[str, Synset],
) -> dict[str, SynsetEntry]:
    """Return a synset per concept, in the lexicographer file of its first parent."""
    file_of = {id: synset.file for id, synset in synsets.items()}
    entries = {}
    for concept in sorted(concepts, key=lambda c: int(expanded.levels[expanded.index(c.id)])):
        parents = expanded.parents(concept.id)
        file_of[concept.id] = file_of[parents[0]] if parents else _ROOT_FILE[files.pos]
        entries[concept.id] = SynsetEntry.of(concept, expanded, file_of[concept.id])
        for word in entries[concept.id].words:
            if word.lower() in files.lemmas:
                message = f"{word!r} is already in the index, and a new sense would change its line"
                remedy = f"give {concept.label!r} another word"
                line = files.lemmas[word.lower()]
                raise FormatError(files.index.path, f"{message}; {remedy}", line)
    return entries


def _insert_sorted(files: WordNetFiles, lines: Mapping[str, str]) -> list[Insertion]:
    """Insert index lines in sort order, because `wn` uses binary search."""
    index = files.index
    old = list(files.lemmas.items())
    insertions, last = [], []
    for lemma, line in lines.items():
        next_index = bisect_left(old, (lemma, 0))
        if next_index < len(old):
            offset = index.starts[old[next_index][1] - 1]
            insertions.append(Insertion(offset, line + index.newline))
        else:
            last.append(line)
    return insertions + index.append(last)
