"""The Open Food Facts format: blocks of parents, names in several languages, and properties."""

from __future__ import annotations

from itertools import islice

from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.openfoodfacts.block_insertions import BlockInserter
from taxoexpan.formats.openfoodfacts.block_text import BlockStyle, distinct_names, writable
from taxoexpan.formats.openfoodfacts.blocks import NAMES, PROPERTY, Block, Blocks, is_understood
from taxoexpan.formats.openfoodfacts.entry_texts import (
    choose_language,
    definition,
    label_line,
    other_names,
    text_tags,
)
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.rdf.languages import Languages
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy

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
        understood = sum(map(is_understood, lines))
        return any(map(NAMES.match, lines)) and understood >= _MIN_UNDERSTOOD * len(lines)

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every entry; a parent that is not in the file is added as a concept.

        The label is the first name in the chosen language, and the other names on its line are
        synonyms.
        """
        blocks = source.parsed(Blocks.parse)
        languages = source.parsed(choose_language)
        builder = TaxonomyBuilder(source.path, notes=list(blocks.notes))
        lines: list[int] = []
        for id, same in blocks.by_id.items():
            _add_concept(builder, languages, id, same)
            lines.append(same[0].line)
            for other in same[1:]:
                message = f"a second block for {id!r}; it is read as one entry with the first"
                builder.notes.append(Note(other.line, message, id=id))
        _add_relations(builder, blocks, lines)
        builder.lines, builder.language = lines, languages.chosen
        builder.ignored.update(blocks.ignored)
        return builder.finish()

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add a block for each new concept after the last child of its first parent.

        A move replaces the name in a parent line; a synonym is added to the line of the label.
        """
        blocks, languages = source.parsed(Blocks.parse), source.parsed(choose_language)
        inserter = BlockInserter(blocks, languages, expanded, additions)
        return {source.path: [*inserter.new_blocks(), *inserter.moves(), *inserter.synonyms()]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new file; labels that would get the same id are numbered."""
        language = target.language.lower() if len(target.language) == 2 else "en"
        style, names = BlockStyle(), distinct_names(taxonomy, language)
        blocks = (
            style.block(
                language,
                [(language, names[parent][0]) for parent in taxonomy.parents(concept.id)],
                (names[concept.id][0], *filter(None, map(writable, concept.synonyms))),
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


def _add_concept(
    builder: TaxonomyBuilder, languages: Languages, id: str, blocks: list[Block]
) -> None:
    """Add the texts of an entry in the next row."""
    row, label = len(builder.ids), label_line(languages, blocks)
    synonyms, foreign_names = other_names(languages, label, blocks)
    text = definition(languages, label, blocks)
    builder.ids.append(id)
    builder.labels.append(label.names[0])
    builder.synonyms.update({row: synonyms} if synonyms else {})
    builder.foreign_names.update({row: foreign_names} if foreign_names else {})
    builder.definitions.update({row: text} if text else {})
    others = sum(bool(each) for block in blocks for _, each in block.descriptions) - bool(text)
    builder.ignored.update(
        {"names in other languages": len(foreign_names), "descriptions in other languages": others}
    )
    tags = text_tags(label, blocks)
    for each in filter(None, (label.names[0], *synonyms, text)):
        if tags[each] != languages.chosen:
            builder.other_tags[id, each] = tags[each]


def _add_relations(builder: TaxonomyBuilder, blocks: Blocks, lines: list[int]) -> None:
    """Add every parent line as a relation, and the parents that have no block as concepts."""
    known, relation_lines = set(builder.ids), []
    for block in blocks.entries:
        for parent in block.parents:
            id = blocks.parent_id(parent)
            builder.parents.append(id)
            builder.children.append(block.id)
            relation_lines.append(parent.line)
            if id not in known:
                known.add(id)
                builder.ids.append(id)
                builder.labels.append(parent.name)
                lines.append(parent.line)
                message = f"the parent {parent.name!r} has no block; it is added as a concept"
                builder.notes.append(Note(parent.line, message, id=id))
    builder.relation_lines = relation_lines
