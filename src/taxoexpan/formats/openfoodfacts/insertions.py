"""Additions to an Open Food Facts taxonomy: new blocks, changed parents and added synonyms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from taxoexpan.errors import FormatError
from taxoexpan.formats.openfoodfacts.blocks import DESCRIPTION, NO_LANGUAGE, PARENT, Blocks
from taxoexpan.formats.openfoodfacts.tag_ids import escape_commas, label_key, tag_id
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

Reference = tuple[str, str]
"""A language code and a name, by which an entry is known as a parent."""

_BREAKS = re.compile(r"[\t\n\v\f\r\0]+")


@dataclass(frozen=True, slots=True)
class BlockStyle:
    """Whether a file writes `< en: name` or `<en:name`."""

    after_sign: str = " "
    after_colon: str = " "

    @classmethod
    def of(cls, blocks: Blocks) -> BlockStyle:
        """Return the style of most lines."""
        lines = blocks.source.lines
        parents = [lines[p.line - 1] for block in blocks.entries for p in block.parents]
        names = [lines[n.line - 1] for block in blocks.entries for n in block.names]
        spaced = sum(line[1:2].isspace() for line in parents)
        after_colon = sum(line.partition(":")[2][:1].isspace() for line in [*parents, *names])
        return cls(
            " " if spaced * 2 >= len(parents) else "",
            " " if after_colon * 2 >= len(parents) + len(names) else "",
        )

    def reference(self, parent: Reference) -> str:
        """Format a parent without the sign in front of it."""
        return f"{parent[0]}:{self.after_colon}{escape_commas(parent[1])}"

    def block(
        self, language: str, parents: Sequence[Reference], names: Sequence[str], definition: str
    ) -> list[str]:
        """Return the lines of an entry."""
        lines = [f"<{self.after_sign}{self.reference(parent)}" for parent in parents]
        lines.append(f"{language}:{self.after_colon}{', '.join(map(escape_commas, names))}")
        text = single_line(definition)
        return [*lines, f"{DESCRIPTION}:{language}:{self.after_colon}{text}"] if text else lines


def single_line(text: str) -> str:
    """Return a text with spaces instead of line breaks."""
    return _BREAKS.sub(" ", text).strip()


@dataclass(frozen=True)
class BlockInserter:
    """Formats the additions in the language of the labels and in the style of the file."""

    blocks: Blocks
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
        tag = self.blocks.languages.tag or NO_LANGUAGE
        if len(tag) != 2:
            message = f"Open Food Facts has no entries in the language {tag!r}"
            raise FormatError(self.source.path, f"{message}; choose another language")
        return tag

    def new_blocks(self) -> Iterator[Insertion]:
        """Insert each new entry after the last child of its first parent, and roots at the end."""
        new = {concept.id: concept for concept in self.additions.concepts}
        self._refuse_known_names()
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
                texts.setdefault(last_lines[id], []).append(self._block(new[id]))
        for line, added in texts.items():
            offset = min(self.source.starts[line], len(self.source.text))
            start = "" if self.source.text[:offset].endswith("\n") else self.source.newline
            yield Insertion(offset, start + "".join(added))

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
                raise FormatError(self.source.path, f"{message}; leave them out")
            label = self.blocks.by_id[id].label
            for name in names:
                self._refuse_known(label.language, name, tag_id(label.language, name), id)
            line = self.source.lines[label.line - 1].rstrip()
            end = self.source.starts[label.line - 1] + len(line)
            yield Insertion(end, "".join(f", {escape_commas(name)}" for name in names))

    def _block(self, concept: Concept) -> str:
        """Format a new entry after a blank line; refuse one that would not be read back."""
        parents = [self._reference(id) for id in self.expanded.parents(concept.id)]
        names = [concept.label, *concept.synonyms]
        lines = self.style.block(self.language, parents, names, concept.definition)
        found = Blocks.parse(TextFile(self.source.path, "\n".join(lines))).entries
        text = single_line(concept.definition)
        if (
            [line.names for block in found for line in block.names] != [names]
            or [text for block in found for _, text in block.descriptions] != [text][: bool(text)]
            or len(found[0].parents) != len(parents)
        ):
            message = f"{concept.label!r} would not be read back unchanged"
            remedy = "remove line breaks, outer spaces and final backslashes from its texts"
            raise FormatError(self.source.path, f"{message}; {remedy}")
        newline = self.source.newline
        return newline + "".join(line + newline for line in lines)

    def _reference(self, id: str) -> Reference:
        """Return a name that identifies an entry as a parent, its own label first."""
        if id not in self.blocks.by_id:
            is_new = any(concept.id == id for concept in self.additions.concepts)
            return self.language if is_new else id[:2], self.expanded.concept(id).label
        entry = self.blocks.by_id[id]
        for line in entry.lines:
            for name in line.names if len(line.language) == 2 else ():
                if self.blocks.find(line.language, label_key(line.language, name)) == id:
                    return line.language, name
        message = f"every name of {id!r} also belongs to another entry; give it a name of its own"
        raise FormatError(self.source.path, message, entry.blocks[0].line)

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
        for label, concept in added.items():
            self._refuse_known(self.language, concept.label, label, concept.id)
            for name in concept.synonyms:
                key = tag_id(self.language, name)
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
