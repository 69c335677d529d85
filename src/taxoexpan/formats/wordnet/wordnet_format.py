"""WordNet: a directory with `data.noun` and `index.noun`, `data.verb` and `index.verb`, or a pair.

A line of a data file is a synset, as wndb(5WN) has it: `offset file pos count (word id)… count
(symbol offset pos words)… | gloss`. The offset is the byte at which the line begins, which changes
from build to build, so a concept's id is `lemma#pos#sense` of its first word; the sense is the
place of the offset in the lemma's line of the index file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.formats.wordnet.synset_lines import (
    EXAMPLE,
    MOST_WORDS,
    SENSE_ID,
    Entry,
    as_gloss,
    as_word,
    data_lines,
    definition_in,
    ids_of,
    index_lines,
    is_blank,
    offsets_of,
    senses_of,
)
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

NAME = "wordnet"
ABOUT = "a directory with WordNet's data.noun and index.noun, data.verb and index.verb"
SUFFIXES: tuple[str, ...] = ()
NOT_INSERTED: tuple[str, ...] = ("pointers from old synsets down to new ones",)

PARTS = {"n": "noun", "v": "verb"}

_ALL_PARTS = ("noun", "verb", "adj", "adv")
_HEADER = "  1 Made by taxoexpan, in the format of wndb(5WN).  \n"
_COMPANY = {
    **{f"{kind}.{part}": _HEADER for kind in ("data", "index") for part in _ALL_PARTS},
    **{f"{part}.exc": "" for part in _ALL_PARTS},
    "sents.vrb": "",
    "sentidx.vrb": "",
}
"""The files of a whole WordNet, with nothing in them."""
_ROOT_FILE = {"n": "03", "v": "29"}
"""The lexicographers' file of a synset without parents: noun.Tops, and the first of the verbs."""


@dataclass(frozen=True, slots=True)
class Synset:
    """A line of a data file; hypernyms are offsets in the same file."""

    line: int
    offset: str
    file: str
    words: tuple[str, ...]
    hypernyms: tuple[str, ...]
    definition: str
    others: int
    """How many pointers lead elsewhere."""


@dataclass(frozen=True)
class Part:
    """One part of speech: its data file and its index file."""

    pos: str
    data: TextFile
    index: TextFile

    @classmethod
    def open(cls, directory: Path, pos: str) -> Part:
        """Load both files."""
        paths = (directory / f"{kind}.{PARTS[pos]}" for kind in ("data", "index"))
        data, index = (TextFile.load(path, may_be_blank=True) for path in paths)
        return cls(pos, data, index)

    def synsets(self, symbols: frozenset[str]) -> Iterator[Synset]:
        """Every synset, with the hypernyms that pointers of these symbols lead to."""
        for number, line in _lines(self.data):
            try:
                yield _synset(number, line, self.pos, symbols)
            except (ValueError, IndexError):
                message = f"not a synset as in wndb(5WN): {line[:60]!r}; mend or remove the line"
                raise FormatError(self.data.path, message, number) from None

    @cached_property
    def lemmas(self) -> dict[str, int]:
        """The line of each lemma in the index."""
        return {line.partition(" ")[0]: number for number, line in _lines(self.index)}

    @cached_property
    def senses(self) -> dict[tuple[str, str], int]:
        """The number of each sense, by lemma and offset."""
        senses: dict[tuple[str, str], int] = {}
        for number, line in _lines(self.index):
            cells = line.split(" ")
            try:
                start = 6 + int(cells[3])
                offsets = cells[start : start + int(cells[2])]
            except (ValueError, IndexError):
                message = f"not an index line as in wndb(5WN): {line[:60]!r}; mend or remove it"
                raise FormatError(self.index.path, message, number) from None
            for sense, offset in enumerate(offsets, start=1):
                senses.setdefault((cells[0], offset), sense)
        return senses

    def id_of(self, synset: Synset) -> str:
        """The id of a synset, from its first word's line in the index."""
        lemma = synset.words[0].lower()
        sense = self.senses.get((lemma, synset.offset))
        if sense is None:
            message = f"{self.index.path.name} has no sense of {lemma!r} at {synset.offset}"
            raise FormatError(self.data.path, f"{message}; add it there", synset.line)
        return f"{lemma}#{self.pos}#{sense}"


def can_read(source: TextFile) -> bool:
    """Whether it is a directory with one of the data files."""
    return bool(_present(source.path))


def read(source: TextFile) -> ParsedTaxonomy:
    """Every synset is a concept under its hypernyms; those of instances count if asked for."""
    symbols = frozenset({"@", "@i"} if source.options.instances else {"@"})
    present = _present(source.path)
    if not present:
        message = "WordNet is a directory that holds data.noun or data.verb; give that directory"
        raise FormatError(source.path, message)
    drafts = [_draft(Part.open(source.path, pos), symbols) for pos in present]
    # Each file is checked by itself, so that an error names it; no relation leads out of it.
    documents = [draft.finish() for draft in drafts if draft.ids]
    if not documents:
        raise FormatError(source.path, "no synset in the data files; they need at least one")
    taxonomy = documents[0].taxonomy
    for other in (document.taxonomy for document in documents[1:]):
        taxonomy = taxonomy.expanded(Additions(list(other.concepts), list(other.relations)))
    notes = tuple(note for document in documents for note in document.notes)
    return ParsedTaxonomy(taxonomy, notes, sum((draft.ignored for draft in drafts), Counter()))


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """A synset at the end of the data file for each new concept, and lines in the index.

    Old lines stay as they are. So an old parent gets no pointer down to its new child: `wn` shows
    what is above the child, but not the child below its parent. And a word that the index has
    gets no further sense. A new concept's id becomes that of its first word.
    """
    groups: dict[str, list[Concept]] = {}
    for concept in additions.concepts:
        _refuse_unholdable(source, concept)
        groups.setdefault(_part_of(source, expanded, concept), []).append(concept)
    insertions: Insertions = {}
    for pos, concepts in groups.items():
        insertions.update(_extended(Part.open(source.path, pos), expanded, concepts))
    return insertions


def supported_fields(source: TextFile) -> frozenset[str]:
    """Everything; an id is made of the first word, whatever it was."""
    return frozenset({"ids", "labels", "synonyms", "definitions"})


def supported_changes(source: TextFile) -> frozenset[str]:
    """Nothing: a line knows at which byte it stands, and a longer one would shift all others."""
    return frozenset()


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """Data and index files anew; all are nouns but what WordNet's own ids say are verbs."""
    kinds = _parts_of_speech(taxonomy)
    files: dict[Path, str] = {}
    ids: dict[str, str] = {}
    for pos, part in PARTS.items():
        own = [concept for concept in taxonomy.concepts if kinds[concept.id] == pos]
        entries = {c.id: Entry.of(c, taxonomy, _ROOT_FILE[pos]) for c in own}
        if entries:
            data, index = (target.path / f"{kind}.{part}" for kind in ("data", "index"))
            senses = senses_of(entries)
            offsets = offsets_of(data, entries, pos, len(_HEADER), len("\n"), {})
            lines = data_lines(entries, pos, offsets)
            entered = index_lines(entries, senses, pos, offsets)
            files[data] = _HEADER + "".join(f"{line}\n" for line in lines)
            files[index] = _HEADER + "".join(f"{entered[lemma]}\n" for lemma in sorted(entered))
            ids.update(ids_of(entries, senses, pos))
    # `wn` opens no WordNet in which one of these is missing.
    blank = {target.path / name: text for name, text in _COMPANY.items()}
    return Copy({**files, **{path: text for path, text in blank.items() if path not in files}}, ids)


def _present(directory: Path) -> list[str]:
    return [pos for pos, part in PARTS.items() if (directory / f"data.{part}").is_file()]


def _lines(source: TextFile) -> Iterator[tuple[int, str]]:
    """Every line with its number, but for the licence, which is indented, and blank ones."""
    for number, line in enumerate(source.lines, start=1):
        if line and not line.startswith("  ") and not line.isspace():
            yield number, line


def _synset(number: int, line: str, pos: str, symbols: frozenset[str]) -> Synset:
    """One line taken apart; a wrong one is a ValueError or an IndexError."""
    head, _, gloss = line.partition(" | ")
    cells = head.split(" ")
    behind = 4 + 2 * int(cells[3], 16)
    words = cells[4:behind:2]
    start, end = behind + 1, behind + 1 + 4 * int(cells[behind])
    counted = bool(words) and start <= end <= len(cells)
    if not counted or cells[2] != pos or any(map(is_blank, words)):
        raise ValueError
    marks, offsets, kinds = (cells[start + k : end : 4] for k in range(3))
    above = tuple(
        offset
        for mark, offset, kind in zip(marks, offsets, kinds, strict=True)
        if mark in symbols and kind == pos
    )
    # Pointers down to hyponyms say what those up to hypernyms say.
    others = len(marks) - len(above) - marks.count("~") - marks.count("~i")
    return Synset(number, cells[0], cells[1], tuple(words), above, definition_in(gloss), others)


def _draft(part: Part, symbols: frozenset[str]) -> TaxonomyBuilder:
    draft, ids = TaxonomyBuilder(part.data.path), dict[str, str]()
    synsets = list(part.synsets(symbols))
    for synset in synsets:
        if synset.offset in ids:
            message = f"the offset {synset.offset} is there twice; remove one of the lines"
            raise FormatError(part.data.path, message, synset.line)
        ids[synset.offset] = part.id_of(synset)
    names = [[word.replace("_", " ") for word in synset.words] for synset in synsets]
    glosses = [synset.definition for synset in synsets]
    draft.ids = list(ids.values())
    draft.labels = [words[0] for words in names]
    draft.lines = [synset.line for synset in synsets]
    draft.synonyms = {place: tuple(words[1:]) for place, words in enumerate(names) if words[1:]}
    draft.definitions = {place: gloss for place, gloss in enumerate(glosses) if gloss}
    draft.ignored["pointers that are no hypernyms"] = sum(synset.others for synset in synsets)
    draft.ignored["examples"] = part.data.text.count(EXAMPLE)
    _relate(draft, synsets, ids)
    return draft


def _relate(draft: TaxonomyBuilder, synsets: Sequence[Synset], ids: Mapping[str, str]) -> None:
    pairs = [(synset, offset) for synset in synsets for offset in synset.hypernyms]
    for synset, offset in pairs:
        if offset not in ids:
            message = f"a pointer to {offset}, where no synset is; correct or remove it"
            raise FormatError(draft.path, message, synset.line)
    draft.parents = [ids[offset] for _, offset in pairs]
    draft.children = [ids[synset.offset] for synset, _ in pairs]
    draft.relation_lines = [synset.line for synset, _ in pairs]


def _refuse_unholdable(source: TextFile, concept: Concept) -> None:
    for name in (concept.label, *concept.synonyms):
        if not name or as_word(name).replace("_", " ") != name:
            message = f"{name!r} would not be read back as it is given"
            mend = "a word is not blank or | alone, and has no underscore or line break; rename it"
            raise FormatError(source.path, f"{message}; {mend}")
    if len(concept.synonyms) >= MOST_WORDS:
        message = f"{concept.label!r} has {len(concept.synonyms)} synonyms"
        raise FormatError(source.path, f"{message}; leave out all but {MOST_WORDS - 1}")
    if definition_in(as_gloss(concept.definition)) != concept.definition:
        message = f"the definition of {concept.label!r} would not be read back as it is given"
        mend = f"take line breaks, outer spaces and what comes after {EXAMPLE} out"
        raise FormatError(source.path, f"{message}; {mend}")


def _part_of(source: TextFile, expanded: Taxonomy, concept: Concept) -> str:
    """Noun or verb, as its parents are; without parents, as its id says."""
    own = SENSE_ID.fullmatch(concept.id)
    above = map(SENSE_ID.fullmatch, expanded.parents(concept.id))
    kinds = {match["pos"] for match in above if match} or {own["pos"] if own else "n"}
    if len(kinds) > 1:
        message = f"{concept.label!r} was given a noun and a verb as parents"
        raise FormatError(source.path, f"{message}; choose parents of one kind")
    return kinds.pop()


def _extended(part: Part, expanded: Taxonomy, concepts: Sequence[Concept]) -> Insertions:
    """What goes into the two files of a part of speech."""
    synsets = {part.id_of(synset): synset for synset in part.synsets(frozenset())}
    entries = _new_entries(part, expanded, concepts, synsets)
    senses = senses_of(entries)
    old = {id: synset.offset for id, synset in synsets.items()}
    text, end = part.data.text, len(part.data.newline)
    start = len(part.data.bom + text.encode()) + (end if text[-1:] not in ("", "\n") else 0)
    offsets = offsets_of(part.data.path, entries, part.pos, start, end, old)
    entered = index_lines(entries, senses, part.pos, offsets)
    return {
        part.data.path: part.data.append(data_lines(entries, part.pos, offsets)),
        part.index.path: _inserted(part, entered),
    }


def _new_entries(
    part: Part, expanded: Taxonomy, concepts: Sequence[Concept], synsets: Mapping[str, Synset]
) -> dict[str, Entry]:
    """Each in the lexicographers' file of its first parent, and none with a word that is taken."""
    files = {id: synset.file for id, synset in synsets.items()}
    entries = {}
    for concept in sorted(concepts, key=lambda c: int(expanded.levels[expanded.index(c.id)])):
        above = expanded.parents(concept.id)
        files[concept.id] = files[above[0]] if above else _ROOT_FILE[part.pos]
        entries[concept.id] = Entry.of(concept, expanded, files[concept.id])
        for word in entries[concept.id].words:
            if word.lower() in part.lemmas:
                message = f"{word!r} has this line, which a sense more would change"
                mend = f"give {concept.label!r} another word"
                line = part.lemmas[word.lower()]
                raise FormatError(part.index.path, f"{message}; {mend}", line)
    return entries


def _parts_of_speech(taxonomy: Taxonomy) -> dict[str, str]:
    """Noun or verb for every concept; all are nouns where a relation would join the two."""
    found = {id: SENSE_ID.fullmatch(id) for id in taxonomy}
    kinds = {id: match["pos"] if match else "n" for id, match in found.items()}
    if any(kinds[parent] != kinds[child] for parent, child in taxonomy.relations):
        return dict.fromkeys(taxonomy, "n")
    return kinds


def _inserted(part: Part, entered: Mapping[str, str]) -> list[Insertion]:
    """Each line before the first lemma that sorts behind it, since `wn` searches by halving."""
    starts, end = part.index.starts, part.index.newline
    old = list(part.lemmas.items())
    insertions, last = [], []
    for lemma in sorted(entered):
        behind = bisect_left(old, (lemma, 0))
        if behind < len(old):
            offset = starts[old[behind][1] - 1]
            insertions.append(Insertion(offset, entered[lemma] + end))
        else:
            last.append(entered[lemma])
    return insertions + part.index.append(last)
