"""The Open Food Facts format: blocks of parents, names in several languages, and properties."""

from __future__ import annotations

from itertools import islice

from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.openfoodfacts.blocks import (
    NAMES,
    OTHER_NAMES,
    PARENT,
    PROPERTY,
    Blocks,
    Entry,
)
from taxoexpan.formats.openfoodfacts.insertions import BlockInserter, BlockStyle, single_line
from taxoexpan.formats.openfoodfacts.tag_ids import label_key
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

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
        understood = sum(
            line.startswith("#") or any(pattern.match(line) for pattern in patterns)
            for line in lines
        )
        return any(map(NAMES.match, lines)) and understood >= _MIN_UNDERSTOOD * len(lines)

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every entry; a parent that is not in the file is added as a concept.

        The label is the first name in the chosen language, and the other names on its line are
        synonyms.
        """
        blocks = source.parsed(Blocks.parse)
        builder = TaxonomyBuilder(source.path, notes=list(blocks.notes))
        builder.language = blocks.languages.chosen
        for id, entry in blocks.by_id.items():
            _add_concept(builder, id, entry)
        builder.ignored.update(blocks.ignored)
        known = set(builder.ids)
        for block in blocks.entries:
            for parent in block.parents:
                id, name = blocks.parent_id(parent), parent.names[0]
                builder.relate(id, block.id, parent.line)
                if id not in known:
                    known.add(id)
                    builder.add(id, name, parent.line)
                    message = f"the parent {name!r} has no block; it is added as a concept"
                    builder.note(parent.line, message, id)
        return builder.finish()

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add a block for each new concept after the last child of its first parent.

        A move replaces the name in a parent line; a synonym is added to the line of the label.
        """
        inserter = BlockInserter(source.parsed(Blocks.parse), expanded, additions)
        return {source.path: [*inserter.new_blocks(), *inserter.moves(), *inserter.synonyms()]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new file; labels that would get the same id are numbered."""
        language = target.language.lower() if len(target.language) == 2 else "en"
        style, names = BlockStyle(), _distinct_names(taxonomy, language)
        blocks = (
            style.block(
                language,
                [(language, names[parent][0]) for parent in taxonomy.parents(concept.id)],
                (names[concept.id][0], *filter(None, map(_writable, concept.synonyms))),
                concept.definition,
            )
            for concept in taxonomy.concepts
        )
        text = "\n".join("".join(f"{line}\n" for line in lines) for lines in blocks)
        return Copy({target.path: text}, {id: new for id, (_, new) in names.items()})

    def index_properties(self, source: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
        """Return which properties the entries of a file have, and the languages of their names."""
        index = PropertyIndex(set(taxonomy))
        for block in source.parsed(Blocks.parse).entries:
            index.add(block.id, (f"names in {names.language}" for names in block.names))
            lines = source.lines[block.line - 1 : block.last_line]
            found = (PROPERTY.match(line.strip()) for line in lines)
            index.add(block.id, (f"{match[1]}:{match[2]}" for match in found if match))
        return index


def _add_concept(builder: TaxonomyBuilder, id: str, entry: Entry) -> None:
    row, label, definition = len(builder.ids), entry.label.names[0], entry.definition
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


def _writable(name: str) -> str:
    """Return a name without line breaks and without a backslash before the next comma."""
    return single_line(name).rstrip("\\ ")
