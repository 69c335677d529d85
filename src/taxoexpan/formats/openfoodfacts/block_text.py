"""The text of new blocks of an Open Food Facts taxonomy, in the style of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from taxoexpan.formats.openfoodfacts.blocks import DESCRIPTION, Blocks
from taxoexpan.formats.openfoodfacts.tag_ids import escape_commas, plain_numerals, tag_id
from taxoexpan.taxonomy import Taxonomy

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


def label_key(language: str, label: str) -> str:
    """Return the id of a label that is the first name on its line, without the language code."""
    return tag_id(language, plain_numerals(label))


def distinct_names(taxonomy: Taxonomy, language: str) -> dict[str, tuple[str, str]]:
    """Return a name and an id for every concept; names with the same id get numbers."""
    names: dict[str, tuple[str, str]] = {}
    taken: set[str] = set()
    repeated: list[tuple[str, str, str]] = []
    for concept in taxonomy.concepts:
        name, key = _first_usable(language, concept.label, concept.id)
        if key in taken:
            repeated.append((concept.id, name, key))
        else:
            taken.add(key)
            names[concept.id] = name, f"{language}:{key}"
    numbers: dict[str, Iterator[int]] = {}
    for id, name, key in repeated:
        for number in numbers.setdefault(key, count(2)):
            new = label_key(language, f"{name} {number}")
            if new not in taken:
                taken.add(new)
                names[id] = f"{name} {number}", f"{language}:{new}"
                break
    return names


def writable(name: str) -> str:
    """Return a name without line breaks and without a backslash before the next comma."""
    return single_line(name).rstrip("\\ ")


def _first_usable(language: str, *names: str) -> tuple[str, str]:
    """Return the first name that gives an id, and that id."""
    for name in (*map(writable, names), "concept"):
        key = label_key(language, name)
        if key:
            break
    return name, key
