"""The blocks of an Open Food Facts taxonomy: entries with parents, names and descriptions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.openfoodfacts.tag_ids import (
    plain_numerals,
    reduced_tag_id,
    split_names,
    split_tag_ids,
    tag_id,
)
from taxoexpan.formats.text_file import TextFile

_OTHER_LANGUAGE = r"[a-z]{2,3}(?:[-_][A-Za-z]{2,8})*"
NAMES = re.compile(r"([A-Za-z]{2}):\s*(.*)")
OTHER_NAMES = re.compile(rf"({_OTHER_LANGUAGE}):\s*(.*)")
"""Open Food Facts ignores languages with longer codes; here they are names in other languages."""
PARENT = re.compile(r"<\s*([A-Za-z]{2}):\s*(.*)")
PROPERTY = re.compile(rf"([A-Za-z0-9_.-]+):({_OTHER_LANGUAGE}):\s*(.*)")
DESCRIPTION = "description"


@dataclass(frozen=True, slots=True)
class NameLine:
    """The names in one language: the label and its synonyms, each with the key derived from it."""

    line: int
    language: str
    names: list[str]
    keys: list[str]


@dataclass(frozen=True, slots=True)
class ParentLine:
    """A reference to a parent, by any of its names."""

    line: int
    language: str
    name: str
    key: str


@dataclass
class Block:
    """The lines between two blank lines; `last_line` is the last one of them."""

    line: int
    last_line: int = 0
    parents: list[ParentLine] = field(default_factory=list)
    names: list[NameLine] = field(default_factory=list)
    descriptions: list[tuple[str, str]] = field(default_factory=list)
    """Language and text."""

    @cached_property
    def id(self) -> str:
        """The id of the entry, from its first name."""
        first = next((names for names in self.names if len(names.language) == 2), self.names[0])
        return f"{first.language}:{first.keys[0]}"


@dataclass
class Blocks:
    """The entries of a file, in file order; several blocks may describe one entry."""

    source: TextFile
    entries: list[Block] = field(default_factory=list)
    stopwords: dict[str, set[str]] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def parse(cls, source: TextFile) -> Blocks:
        """Parse every line of a file."""
        blocks = cls(source)
        for block, lines in _split_blocks(source.lines):
            for number, line in lines:
                blocks._parse_line(block, number, line)
            if block.names:
                blocks.entries.append(block)
            elif block.parents:
                message = "parents without a name below them; this block is ignored"
                blocks.notes.append(Note(block.line, message))
        return blocks

    def find(self, language: str, key: str) -> str | None:
        """Return the id of the entry that a parent line names, without regard to plurals."""
        found = self.find_exact(language, key)
        if found is not None:
            return found
        reduced = reduced_tag_id(language, key, self.stopwords.get(language, ()))
        return self._by_reduced_name.get((language, reduced))

    def find_exact(self, language: str, key: str) -> str | None:
        """Return the id of the entry with this name in a language: a label before a synonym."""
        return self._by_label.get((language, key)) or self._by_synonym.get((language, key))

    def parent_id(self, parent: ParentLine) -> str:
        """Return the id of a parent; one that has no block gets the id of its name."""
        return self.find(parent.language, parent.key) or f"{parent.language}:{parent.key}"

    def names_of(self, id: str) -> list[tuple[str, str]]:
        """Return language and name of all labels and synonyms of an entry."""
        return [
            (line.language, name)
            for block in self.by_id.get(id, ())
            for line in block.names
            if len(line.language) == 2
            for name in line.names
        ]

    @cached_property
    def by_id(self) -> dict[str, list[Block]]:
        """The blocks of each entry."""
        by_id: dict[str, list[Block]] = {}
        for block in self.entries:
            by_id.setdefault(block.id, []).append(block)
        return by_id

    @cached_property
    def _by_label(self) -> dict[tuple[str, str], str]:
        table: dict[tuple[str, str], str] = {}
        for block in self.entries:
            table.setdefault((block.id[:2], block.id[3:]), block.id)
        for block in self.entries:
            for line in block.names:
                table.setdefault((line.language, line.keys[0]), block.id)
        return table

    @cached_property
    def _by_synonym(self) -> dict[tuple[str, str], str]:
        table: dict[tuple[str, str], str] = {}
        for block in self.entries:
            for line in block.names:
                for key in line.keys:
                    table.setdefault((line.language, key), block.id)
        return table

    @cached_property
    def _by_reduced_name(self) -> dict[tuple[str, str], str]:
        table: dict[tuple[str, str], str] = {}
        for (language, key), id in self._by_synonym.items():
            reduced = reduced_tag_id(language, key, self.stopwords.get(language, ()))
            table.setdefault((language, reduced), id)
        return table

    def _parse_line(self, block: Block, number: int, line: str) -> None:
        """Add one line to its block; count or note it if it is not part of a taxonomy."""
        if line.startswith("#"):
            self.ignored["comments"] += 1
        elif parent := PARENT.match(line):
            language, name = parent[1], parent[2].rstrip()
            key = tag_id(language, plain_numerals(name))
            block.parents.append(ParentLine(number, language, name, key))
        elif names := NAMES.match(line):
            self._add_names(block, number, names)
        elif line_property := PROPERTY.match(line):
            self._add_property(block, line_property)
        elif names := OTHER_NAMES.match(line):
            self._add_names(block, number, names)
        else:
            message = f"{line[:60]!r} is neither a parent, a name nor a property; it is ignored"
            self.notes.append(Note(number, message))

    def _add_names(self, block: Block, number: int, match: re.Match[str]) -> None:
        language, text = match[1], match[2].rstrip()
        names, keys = split_names(text), split_tag_ids(language, text)
        if not keys[0]:
            message = f"{match[0][:60]!r} starts with no name that has a letter or a digit"
            raise FormatError(
                self.source.path, f"{message}; add a name, or remove the line", number
            )
        block.names.append(NameLine(number, language, names, keys))

    def _add_property(self, block: Block, match: re.Match[str]) -> None:
        name, language, value = match[1], match[2], match[3].rstrip()
        if name == "stopwords":
            self.stopwords.setdefault(language, set()).update(split_tag_ids(language, value))
        if name == DESCRIPTION:
            block.descriptions.append((language, value))
        else:
            self.ignored[name] += 1


def is_understood(line: str) -> bool:
    """Return whether a line is a comment, a parent, names or a property."""
    patterns = (PARENT, NAMES, PROPERTY, OTHER_NAMES)
    return line.startswith("#") or any(pattern.match(line) for pattern in patterns)


def _split_blocks(lines: Sequence[str]) -> Iterator[tuple[Block, list[tuple[int, str]]]]:
    """Yield the blocks between blank lines, with their numbered lines."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line and not line.isspace():
            block.append((number, line))
        elif block:
            yield Block(block[0][0], block[-1][0]), block
            block = []
