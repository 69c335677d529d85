"""A builder for taxonomies from files, with the checks that all formats share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import CycleError, FileCycleError, FormatError, started_at
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

if TYPE_CHECKING:
    from taxoexpan.formats.rdf.languages import Languages

LANGUAGE_TAGS = "language tags"
"""The kind of ignored content that is counted for labels with a language tag."""

_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Note:
    """A problem corrected while reading, located by line (in `path`, if set) or by concept id."""

    line: int
    message: str
    code: str = "file"
    id: str = ""
    path: Path | None = None

    @property
    def place(self) -> str:
        """The line, or the id of the concept if the line is unknown."""
        return f"line {self.line}" if self.line else self.id


@dataclass(frozen=True)
class SourceLines:
    """The lines of concepts and relations (0 if unknown); `parents` and `children` index `ids`."""

    path: Path
    ids: Sequence[str]
    lines: NDArray[np.int32]
    relation_path: Path
    parents: NDArray[np.int32]
    children: NDArray[np.int32]
    relation_lines: NDArray[np.int32]

    def find(self, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[Path, int]]:
        """Return the file and line of pairs (concept, parent), as far as they are known.

        A blank parent stands for the concept itself. A repeated relation is on its first line.
        """
        names = {name for pair in wanted for name in pair}
        rows = {id: row for row, id in enumerate(self.ids) if id in names}
        relations: dict[tuple[int, int], int] = {}
        if any(parent for _, parent in wanted):
            ends = zip(self.children.tolist(), self.parents.tolist(), strict=True)
            relations = dict(reversed([*zip(ends, self.relation_lines.tolist(), strict=True)]))
        found = {}
        for id, parent in wanted:
            if parent:
                line = relations.get((rows.get(id, -1), rows.get(parent, -1)), 0)
            else:
                line = int(self.lines[rows[id]]) if id in rows else 0
            if line:
                found[id, parent] = (self.relation_path if parent else self.path), line
        return found


@dataclass(frozen=True)
class ParsedTaxonomy:
    """A taxonomy, with notes and metadata from its file.

    `ignored` counts content that a taxonomy does not represent, by kind. `tops` are concepts that
    the file marks as top concepts. `other_tags` has the tags of texts that are not in `language`,
    by concept id and text.
    """

    taxonomy: Taxonomy
    notes: tuple[Note, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    tops: frozenset[str] = frozenset()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    language: str = ""
    other_tags: Mapping[tuple[str, str], str] = field(default_factory=dict)
    sources: tuple[SourceLines, ...] = ()
    languages: Languages | None = None


@dataclass
class TaxonomyBuilder:
    """Columns of concepts and relations in file order; line 0 means that the line is unknown."""

    path: Path
    ids: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    synonyms: dict[int, tuple[str, ...]] = field(default_factory=dict)
    definitions: dict[int, str] = field(default_factory=dict)
    deprecated: list[int] = field(default_factory=list)
    foreign_names: dict[int, tuple[str, ...]] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    tops: set[str] = field(default_factory=set)
    prefixes: dict[str, str] = field(default_factory=dict)
    language: str = ""
    languages: Languages | None = None
    other_tags: dict[tuple[str, str], str] = field(default_factory=dict)
    parents: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    relation_lines: list[int] = field(default_factory=list)
    relation_path: Path | None = None
    notes: list[Note] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        id: str,
        label: str,
        line: int = 0,
        synonyms: Iterable[str] = (),
        definition: str = "",
        deprecated: bool = False,
    ) -> None:
        """Add a concept."""
        row = len(self.ids)
        self.ids.append(id)
        self.labels.append(label)
        self.lines.append(line)
        if synonyms:
            self.synonyms[row] = tuple(synonyms)
        if definition:
            self.definitions[row] = definition
        if deprecated:
            self.deprecated.append(row)

    def relate(self, parent: str, child: str, line: int = 0) -> None:
        """Add a relation."""
        self.parents.append(parent)
        self.children.append(child)
        self.relation_lines.append(line)

    def note(self, line: int, message: str, id: str = "") -> None:
        """Add a note about a line."""
        self.notes.append(Note(line, message, id=id))

    def finish(self) -> ParsedTaxonomy:
        """Check the columns and build the taxonomy."""
        if not self.ids:
            raise FormatError(self.path, "the file has no concept", fix="it needs at least one")
        self._refuse_unwritable()
        index = {id: i for i, id in enumerate(self.ids)}
        if len(index) < len(self.ids):
            self._refuse_repeated_id()
        parents = self._indices(self.parents, index)
        children = self._indices(self.children, index)
        for own in np.flatnonzero(parents == children).tolist():
            message = f"{self.children[own]!r} is its own parent"
            raise FormatError(
                self._relation_file,
                message,
                fix="correct or remove this relation",
                line=self.relation_lines[own] or None,
            )
        self._note_repeated_relations(parents, children)
        source = SourceLines(
            self.path,
            self.ids,
            np.asarray(self.lines, np.int32),
            self._relation_file,
            parents.astype(np.int32),
            children.astype(np.int32),
            np.asarray(self.relation_lines, np.int32),
        )
        try:
            taxonomy = Taxonomy.from_columns(
                self.ids,
                self.labels,
                parents,
                children,
                self.synonyms,
                self.definitions,
                self.deprecated,
                self.foreign_names,
                self.reserved - index.keys(),
            )
        except CycleError as error:
            cycles, lines = self._locate(source, error.cycles)
            raise FileCycleError(self._relation_file, cycles, lines) from None
        notes = sorted(self.notes, key=lambda note: note.line)
        return ParsedTaxonomy(
            taxonomy,
            tuple(notes),
            +self.ignored,
            frozenset(self.tops),
            self.prefixes,
            self.language,
            self.other_tags,
            (source,),
            self.languages,
        )

    @property
    def _relation_file(self) -> Path:
        return self.relation_path or self.path

    def _refuse_unwritable(self) -> None:
        """Refuse NUL and lone surrogates, which escape sequences may produce."""
        texts = [*self.ids, *self.labels, *self.definitions.values()]
        texts += [name for names in self.synonyms.values() for name in names]
        try:
            is_writable = b"\0" not in "".join(texts).encode()
        except UnicodeEncodeError:
            is_writable = False
        if not is_writable:
            first = next(filter(_UNWRITABLE.search, texts))
            message = f"{first[:100]!r} contains an invalid character"
            raise FormatError(self.path, message, fix="remove it")

    def _indices(self, ids: list[str], index: dict[str, int]) -> Indices:
        try:
            return np.fromiter((index[id] for id in ids), np.int64, count=len(ids))
        except KeyError:
            pass
        relation, unknown = next((k, id) for k, id in enumerate(ids) if id not in index)
        fix = f"add it to {self.path.name}" if self.relation_path else "add the concept"
        fix += ", or correct the id"
        if unknown in self.labels:
            id = self.ids[self.labels.index(unknown)]
            fix = f"it is the label of {id!r}; relations need ids, so write that id"
        message = f"no concept has the id {unknown!r}"
        raise FormatError(
            self._relation_file, message, fix=fix, line=self.relation_lines[relation] or None
        )

    def _refuse_repeated_id(self) -> None:
        seen: dict[str, int] = {}
        for id, line in zip(self.ids, self.lines, strict=True):
            if id in seen:
                where = f"already used on line {seen[id]}" if seen[id] else "used twice"
                message = f"the id {id!r} is {where}"
                raise FormatError(
                    self.path,
                    message,
                    fix="ids must be unique, so change or remove one",
                    line=line or None,
                )
            seen[id] = line

    def _note_repeated_relations(self, parents: Indices, children: Indices) -> None:
        keys = parents * len(self.ids) + children
        _, first = np.unique(keys, return_index=True)
        for k in np.delete(np.arange(len(keys)), first).tolist():
            message = f"{self.children[k]!r} under {self.parents[k]!r} occurs more than once"
            line = self.relation_lines[k]
            id = self.children[k]
            path = self.relation_path
            self.notes.append(Note(line, message, id=id, path=path))

    def _locate(
        self, source: SourceLines, cycles: list[list[str]]
    ) -> tuple[list[list[str]], list[list[int]]]:
        """Find the lines of each cycle, which then starts with the child on its first line."""
        steps = [list(zip([*cycle[1:], cycle[0]], cycle, strict=True)) for cycle in cycles]
        found = source.find({step for cycle in steps for step in cycle})
        located = []
        lines = []
        for cycle, own in zip(cycles, steps, strict=True):
            places = sorted((found[step][1], step[0]) for step in own if step in found)
            located.append(started_at(cycle, places[0][1] if places else cycle[0]))
            lines.append([line for line, _ in places])
        return located, lines
