"""The Open Food Facts format: blocks of parents, names in several languages, and properties."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.openfoodfacts.blocks import (
    DESCRIPTION,
    NAMES,
    NO_LANGUAGE,
    OTHER_NAMES,
    PARENT,
    PROPERTY,
    Blocks,
    Entry,
    escape_commas,
    label_key,
)
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

Reference = tuple[str, str]
"""A language code and a name, by which an entry is known as a parent."""

_BREAKS = re.compile(r"[\t\n\v\f\r\0]+")
_AFTER_SIGN = re.compile(r"^<( ?)", re.MULTILINE)
_AFTER_COLON = re.compile(r"^(?:<\s*)?[a-z]{2}:( ?)", re.MULTILINE)
_PLAIN_SUFFIXES = frozenset({".txt", ""})
_LINES_TO_CHECK = 2_000
_MIN_UNDERSTOOD = 0.98
"""The share of lines that must be understood; real files have a few others."""


class OpenFoodFactsFormat(Format):
    """Blocks of lines with parents, names and properties."""

    # Ids are derived from the labels.
    fields = frozenset({"labels", "synonyms", "definitions"})
    usual_suffix = ".txt"

    def can_read(self, source: TextFile) -> bool:
        """Return whether almost all of the first lines belong to blocks."""
        if source.suffix not in _PLAIN_SUFFIXES:
            return False
        lines = [line for line in islice(source.lines, _LINES_TO_CHECK) if line.strip()]
        patterns = (PARENT, NAMES, PROPERTY, OTHER_NAMES)
        known = [line.startswith("#") or any(p.match(line) for p in patterns) for line in lines]
        return any(map(NAMES.match, lines)) and sum(known) >= _MIN_UNDERSTOOD * len(lines)

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every entry in the chosen language, and add parents that are not in the file."""
        blocks = source.parsed(Blocks.parse)
        builder = TaxonomyBuilder(source.path, notes=list(blocks.notes))
        builder.language = blocks.languages.chosen
        builder.languages = blocks.languages
        for id, entry in blocks.by_id.items():
            _add_concept(builder, id, entry)
        builder.ignored.update(blocks.ignored)
        known = set(builder.ids)
        for block in blocks.entries:
            for parent in block.parents:
                id = blocks.parent_id(parent)
                name = parent.names[0]
                builder.relate(id, block.id, parent.line)
                if id not in known:
                    known.add(id)
                    builder.add(id, name, parent.line)
                    message = f"the parent {name!r} has no block; it is added as a concept"
                    builder.note(parent.line, message, id)
        return builder.finish()

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add a block for each new concept after the last child of its first parent."""
        inserter = BlockInserter(source, expanded, additions)
        return {source.path: [*inserter.new_blocks(), *inserter.moves(), *inserter.synonyms()]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new file; labels that would get the same id are numbered."""
        language = target.language.lower() if len(target.language) == 2 else "en"
        style = BlockStyle()
        names = _distinct_names(taxonomy, language)
        blocks = []
        for concept in taxonomy.concepts:
            parents = [(language, names[parent][0]) for parent in taxonomy.parents(concept.id)]
            own = (names[concept.id][0], *concept.synonyms)
            lines = style.block(language, parents, own, concept.definition)
            blocks.append("".join(f"{line}\n" for line in lines))
        text = "\n".join(blocks)
        return Copy({target.path: text}, {id: new for id, (_, new) in names.items()})


def _add_concept(builder: TaxonomyBuilder, id: str, entry: Entry) -> None:
    row = len(builder.ids)
    label = entry.label.names[0]
    definition = entry.definition
    synonyms, foreign_names = entry.other_names()
    builder.add(id, label, entry.blocks[0].line, synonyms, definition)
    if foreign_names:
        builder.foreign_names[row] = foreign_names
    descriptions = sum(bool(text) for block in entry.blocks for _, text in block.descriptions)
    builder.ignored["names in other languages"] += len(foreign_names)
    builder.ignored["descriptions in other languages"] += descriptions - bool(definition)
    tags = entry.tags()
    for text in filter(None, (label, *synonyms, definition)):
        if tags[text] != builder.language:
            builder.other_tags[id, text] = tags[text]
    for other in entry.blocks[1:]:
        message = f"a second block for {id!r}; it is read as one entry with the first"
        builder.note(other.line, message, id)


def _distinct_names(taxonomy: Taxonomy, language: str) -> dict[str, tuple[str, str]]:
    """Return a name and an id for every concept; names with the same id get numbers."""
    usable = []
    for concept in taxonomy.concepts:
        names = map(_writable, (concept.label, concept.id, "concept"))
        usable.append(next((n, key) for n in names if (key := label_key(language, n))))
    distinct = make_distinct([key for _, key in usable])
    return {
        id: (name + new[len(key) :].replace("-", " "), f"{language}:{new}")
        for id, (name, key), new in zip(taxonomy.ids, usable, distinct, strict=True)
    }


@dataclass(frozen=True, slots=True)
class BlockStyle:
    """The spaces in a file: `< en: name` or `<en:name`."""

    after_sign: str = " "
    after_colon: str = " "

    @classmethod
    def of(cls, source: TextFile) -> BlockStyle:
        """Return the style of most lines."""
        found = (Counter(places.findall(source.text)) for places in (_AFTER_SIGN, _AFTER_COLON))
        return cls(*(" " if counts[" "] >= counts[""] else "" for counts in found))

    def reference(self, parent: Reference) -> str:
        """Format a parent without the `<` in front of it."""
        return f"{parent[0]}:{self.after_colon}{escape_commas(parent[1])}"

    def block(
        self, language: str, parents: Sequence[Reference], names: Sequence[str], definition: str
    ) -> list[str]:
        """Return the lines of an entry."""
        lines = [f"<{self.after_sign}{self.reference(parent)}" for parent in parents]
        written = map(escape_commas, filter(None, map(_writable, names)))
        lines.append(f"{language}:{self.after_colon}{', '.join(written)}")
        text = _single_line(definition)
        return [*lines, f"{DESCRIPTION}:{language}:{self.after_colon}{text}"] if text else lines


class BlockInserter:
    """The additions in the language of the labels and in the style of the file."""

    def __init__(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> None:
        self.source = source
        self.expanded = expanded
        self.additions = additions
        self.blocks = source.parsed(Blocks.parse)
        self.style = BlockStyle.of(source)

    @cached_property
    def language(self) -> str:
        """The language code of new entries."""
        tag = self.blocks.languages.tag or NO_LANGUAGE
        if len(tag) != 2:
            message = f"Open Food Facts has no entries in the language {tag!r}"
            raise FormatError(self.source.path, message, fix="choose another language")
        return tag

    def new_blocks(self) -> Iterator[Insertion]:
        """Insert each new entry after the last child of its first parent, or at the end."""
        new = {concept.id: concept for concept in self.additions.concepts}
        for concept in new.values():
            self._refuse_known(concept.id, (concept.label, *concept.synonyms), self.language)
        last_lines = {id: entry.blocks[-1].last_line for id, entry in self.blocks.by_id.items()}
        for block in self.blocks.entries:
            if block.parents:
                last_lines[self.blocks.parent_id(block.parents[0])] = block.last_line
        end = self.blocks.entries[-1].last_line
        texts: dict[int, list[str]] = {}
        for index in self.expanded.topological_order.tolist() if new else ():
            id = self.expanded.ids[index]
            if id in new:
                first = next(iter(self.expanded.parents(id)), "")
                last_lines[id] = last_lines.get(first, end)
                texts.setdefault(last_lines[id], []).extend(["", *self._block(new[id])])
        for line, added in texts.items():
            yield self.source.insert_lines(self.source.starts[line], added)

    def moves(self) -> Iterator[Insertion]:
        """Replace the old parent in the lines that name it."""
        for child, old, new in self.additions.moves:
            text = self.style.reference(self._reference(new))
            for parent in (p for block in self.blocks.by_id[child].blocks for p in block.parents):
                match = PARENT.match(self.source.lines[parent.line - 1])
                if match and self.blocks.parent_id(parent) == old:
                    start = self.source.starts[parent.line - 1] + match.start(1)
                    yield Insertion(start, text, match.string[match.start(1) :].rstrip())

    def synonyms(self) -> Iterator[Insertion]:
        """Add synonyms of existing entries to the line of their label."""
        for id, names in self.additions.names.items():
            if id not in self.blocks.by_id:
                message = f"{id!r} has no block in this file, so it cannot get synonyms"
                raise FormatError(self.source.path, message, fix="leave them out")
            label = self.blocks.by_id[id].label
            self._refuse_known(id, names, label.language)
            line = self.source.lines[label.line - 1].rstrip()
            end = self.source.starts[label.line - 1] + len(line)
            yield Insertion(end, "".join(f", {escape_commas(name)}" for name in names))

    def _block(self, concept: Concept) -> list[str]:
        """Return the lines of a new entry."""
        parents = [self._reference(id) for id in self.expanded.parents(concept.id)]
        names = [concept.label, *concept.synonyms]
        return self.style.block(self.language, parents, names, concept.definition)

    def _reference(self, id: str) -> Reference:
        """Return a name that identifies an entry as a parent, preferably the label."""
        if id not in self.blocks.by_id:
            is_new = any(concept.id == id for concept in self.additions.concepts)
            return self.language if is_new else id[:2], self.expanded.concept(id).label
        entry = self.blocks.by_id[id]
        for line in entry.lines:
            for name in line.names if len(line.language) == 2 else ():
                if self.blocks.find(line.language, label_key(line.language, name)) == id:
                    return line.language, name
        message = f"every name of {id!r} also belongs to another entry"
        raise FormatError(
            self.source.path, message, fix="give it a name of its own", line=entry.blocks[0].line
        )

    @cached_property
    def _new_labels(self) -> dict[str, str]:
        """The first new concept of each new label."""
        concepts = reversed(self.additions.concepts)
        return {label_key(self.language, concept.label): concept.id for concept in concepts}

    def _refuse_known(self, id: str, names: Iterable[str], language: str) -> None:
        """Refuse names that Open Food Facts would read as names of another entry."""
        for name in names:
            key = label_key(language, name)
            owner = self.blocks.owners.get((language, key)) or self._new_labels.get(key, id)
            if owner != id:
                message = f"the new name {name!r} is the same as a name of {owner!r} ({key})"
                raise FormatError(self.source.path, message, fix="rename it, or leave it out")


def _single_line(text: str) -> str:
    """Return a string with spaces instead of line breaks."""
    return _BREAKS.sub(" ", text).strip()


def _writable(name: str) -> str:
    """Return a name without line breaks and final backslashes, which would escape a comma."""
    return _single_line(name).rstrip("\\ ")
