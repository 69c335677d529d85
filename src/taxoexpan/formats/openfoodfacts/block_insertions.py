"""Additions to an Open Food Facts taxonomy: new blocks, changed parents and added synonyms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from taxoexpan.errors import FormatError
from taxoexpan.formats.openfoodfacts.block_text import (
    BlockStyle,
    Reference,
    label_key,
    single_line,
)
from taxoexpan.formats.openfoodfacts.blocks import PARENT, Blocks
from taxoexpan.formats.openfoodfacts.entry_texts import NO_LANGUAGE, label_line
from taxoexpan.formats.openfoodfacts.tag_ids import escape_commas, tag_id
from taxoexpan.formats.rdf.languages import Languages
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy


@dataclass(frozen=True)
class BlockInserter:
    """Formats the additions in the language of the labels and in the style of the file."""

    blocks: Blocks
    languages: Languages
    expanded: Taxonomy
    additions: Additions

    @cached_property
    def style(self) -> BlockStyle:
        """The style of the file."""
        return BlockStyle.of(self.blocks)

    @cached_property
    def source(self) -> TextFile:
        """The file."""
        return self.blocks.source

    @cached_property
    def language(self) -> str:
        """The language code of new entries."""
        tag = self.languages.tag or NO_LANGUAGE
        if len(tag) != 2:
            message = f"Open Food Facts has no entries in the language {tag!r}"
            raise FormatError(self.source.path, f"{message}; choose another language")
        return tag

    def new_blocks(self) -> Iterator[Insertion]:
        """Insert each new entry after the last child of its first parent, and roots at the end."""
        new = {concept.id: concept for concept in self.additions.concepts}
        self._refuse_known_names()
        end = self.blocks.entries[-1].last_line
        places: dict[str, int] = {}
        texts: dict[int, list[str]] = {}
        order = (self.expanded.ids[index] for index in self.expanded.topological_order.tolist())
        for id in order:
            if id in new:
                first = next(iter(self.expanded.parents(id)), None)
                places[id] = places.get(first) or self._last_lines.get(first, end) if first else end
                texts.setdefault(places[id], []).append(self._block(new[id]))
        for line, added in texts.items():
            offset = min(self.source.starts[line], len(self.source.text))
            start = "" if self.source.text[:offset].endswith("\n") else self.source.newline
            yield Insertion(offset, start + "".join(added))

    def moves(self) -> Iterator[Insertion]:
        """Replace the old parent in the lines that name it."""
        new_parents = {(m.old_parent, m.child): m.new_parent for m in self.additions.moves}
        for (old, child), new in new_parents.items():
            for block in self.blocks.by_id[child]:
                for parent in block.parents:
                    if self.blocks.parent_id(parent) == old:
                        yield self._replace_parent(parent.line, self._reference(new))

    def synonyms(self) -> Iterator[Insertion]:
        """Add synonyms of existing entries to the line of their label."""
        for id, names in self.additions.names.items():
            if id not in self.blocks.by_id:
                message = f"{id!r} has no block in this file, so it cannot get synonyms"
                raise FormatError(self.source.path, f"{message}; leave them out")
            line = label_line(self.languages, self.blocks.by_id[id])
            for name in names:
                self._refuse_known(line.language, name, tag_id(line.language, name), id)
            end = self.source.starts[line.line - 1] + len(self.source.lines[line.line - 1].rstrip())
            yield Insertion(end, "".join(f", {escape_commas(name)}" for name in names))

    @cached_property
    def _last_lines(self) -> dict[str, int]:
        """The last line of the last child of each entry, or of the entry itself."""
        lines = {id: same[-1].last_line for id, same in self.blocks.by_id.items()}
        for block in self.blocks.entries:
            if block.parents:
                lines[self.blocks.parent_id(block.parents[0])] = block.last_line
        return lines

    def _block(self, concept: Concept) -> str:
        """Format a new entry after a blank line; refuse one that would not be read back."""
        parents = [self._reference(id) for id in self.expanded.parents(concept.id)]
        names = [concept.label, *concept.synonyms]
        lines = self.style.block(self.language, parents, names, concept.definition)
        found = Blocks.parse(TextFile(self.source.path, "\n".join(lines))).entries
        text = single_line(concept.definition)
        if (
            [line.names for block in found for line in block.names] != [names]
            or [block.descriptions for block in found] != [[(self.language, text)] if text else []]
            or len(found[0].parents) != len(parents)
        ):
            message = f"{concept.label!r} would not be read back unchanged"
            remedy = "remove line breaks, outer spaces and final backslashes from its texts"
            raise FormatError(self.source.path, f"{message}; {remedy}")
        newline = self.source.newline
        return newline + "".join(line + newline for line in lines)

    def _reference(self, id: str) -> Reference:
        """Return a name that identifies an entry as a parent, its own label first."""
        concept = self.expanded.concept(id)
        if id not in self.blocks.by_id:
            is_new = any(concept.id == id for concept in self.additions.concepts)
            return self.language if is_new else id[:2], concept.label
        for language, name in self.blocks.names_of(id):
            if self.blocks.find(language, label_key(language, name)) == id:
                return language, name
        message = f"every name of {id!r} also belongs to another entry; give it a name of its own"
        raise FormatError(self.source.path, message, self.blocks.by_id[id][0].line)

    def _replace_parent(self, number: int, new: Reference) -> Insertion:
        line = self.source.lines[number - 1]
        match = PARENT.match(line)
        assert match is not None
        start, old = match.start(1), line[match.start(1) :].rstrip()
        text = self.style.reference(new)
        return Insertion(self.source.starts[number - 1] + start, text, old)

    def _refuse_known_names(self) -> None:
        """Refuse names that Open Food Facts would read as names of another entry."""
        added: dict[str, Concept] = {}
        for concept in self.additions.concepts:
            label = label_key(self.language, concept.label)
            if not label:
                message = f"{concept.label!r} has no letter or digit; give it another label"
                raise FormatError(self.source.path, message)
            if label in added:
                self._refuse(concept.label, label, added[label].label)
            added[label] = concept
        for concept in self.additions.concepts:
            for name in (concept.label, *concept.synonyms):
                is_label = name == concept.label
                key = label_key(self.language, name) if is_label else tag_id(self.language, name)
                self._refuse_known(self.language, name, key, concept.id)
                if key in added and added[key] != concept:
                    self._refuse(name, key, added[key].label)

    def _refuse_known(self, language: str, name: str, key: str, id: str) -> None:
        owner = self.blocks.find_exact(language, key)
        if owner is not None and owner != id:
            self._refuse(name, key, owner)

    def _refuse(self, name: str, key: str, other: str) -> NoReturn:
        message = f"the new name {name!r} is the same as a name of {other!r} ({key})"
        raise FormatError(self.source.path, f"{message}; rename it, or leave it out")
