"""The base class of all file formats, and the results of its methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy
from taxoexpan.formats.compression import compressed, format_suffix
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

Insertions = dict[Path, list[Insertion]]
"""The insertions for each file of a taxonomy."""

Value = TypeVar("Value")

EXCEL_SUFFIX = ".xlsx"
DEFAULT_BASE = "http://example.org/"


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write; for RDF also a base for ids that are not IRIs, and language tags.

    `syntax` is the suffix of the RDF syntax, if the file name does not determine it. `other_tags`
    has the tags of single texts, by concept id and text.
    """

    path: Path
    base: str = DEFAULT_BASE
    language: str = ""
    other_tags: Mapping[tuple[str, str], str] = field(default_factory=dict)
    syntax: str = ""

    def tag(self, id: str, text: str) -> str:
        """Return the language tag of a label, a synonym or a definition."""
        return self.other_tags.get((id, text), self.language)


@dataclass(frozen=True)
class Copy:
    """A taxonomy as new files, with the text of each file and the new ids of the concepts."""

    files: dict[Path, str]
    ids: Mapping[str, str] = field(default_factory=dict)

    def contents(self) -> dict[Path, bytes]:
        """Return the bytes of each file; the name determines Excel and compression."""
        contents = {path: text.encode("utf-8") for path, text in self.files.items()}
        for path in contents:
            if format_suffix(path) == EXCEL_SUFFIX:
                # openpyxl is slow to import.
                from taxoexpan.formats.tables.workbook import new_workbook

                contents[path] = new_workbook(path, self.files[path])
        return {path: compressed(path, content) for path, content in contents.items()}

    def id_of(self, id: str) -> str:
        """Return the id of a concept in the new files."""
        return self.ids.get(id, id)


class Format(ABC):
    """A file format without state; the data of one file is kept by its `TextFile`."""

    fields = frozenset({"ids", "labels", "synonyms", "definitions"})
    """The texts of new concepts that every file of this format can store."""
    changes = frozenset({"moves", "synonyms"})
    """The changes of existing concepts that every file of this format can store."""
    is_written = True
    """Whether files in this format can be written and extended."""
    is_table = False
    """Whether the files may be tables, of which the user can choose the columns."""
    is_rdf = False
    """Whether the files hold RDF statements, which can be written in another syntax."""
    movable_suffix = ".json"
    """A suffix whose format holds the same content, and allows moves."""
    usual_suffix = ".csv"
    """The suffix of new files, if the format owns no suffix."""
    parent_predicate = "rdfs:subClassOf"
    """The RDF predicate from a child to its parent."""
    base = DEFAULT_BASE
    """The beginning of the IRIs of concepts without one, when they are converted to RDF."""

    def __init__(self, name: str, about: str, suffixes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.about = about
        self.suffixes = suffixes
        """Files with these suffixes are written in this format, unless another one is given."""

    @abstractmethod
    def can_read(self, file: TextFile) -> bool:
        """Return whether the file looks like this format."""

    @abstractmethod
    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read the taxonomy in the file."""

    @abstractmethod
    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Return the insertions that add the additions to each file."""

    @abstractmethod
    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write the taxonomy as new files; texts that the format cannot store are adapted."""

    def parts(self, path: Path) -> list[Path]:
        """Return the paths of the files of a taxonomy with this name."""
        return [path]

    def supported_fields(self, file: TextFile) -> frozenset[str]:
        """Return which of ids, labels, synonyms and definitions the file can store."""
        return self.fields

    def supported_changes(self, file: TextFile) -> frozenset[str]:
        """Return which of moves and synonyms of existing concepts the file can store."""
        return self.changes

    def read_with_lines(self, file: TextFile) -> ParsedTaxonomy:
        """Read the taxonomy with the line of every concept, even if this is slower."""
        return self.read(file)

    def subject_lines(self, file: TextFile, ids: Collection[str]) -> dict[str, int]:
        """Return the lines of concepts that are not read in the order of the file."""
        return {}


def clean_ids(taxonomy: Taxonomy, clean: Callable[[str], str]) -> dict[str, str]:
    """Return a cleaned id for each old id; equal ids get numbers."""
    cleaned = [clean(id) or "concept" for id in taxonomy.ids]
    return dict(zip(taxonomy.ids, make_distinct(cleaned), strict=True))


def labels_as_ids(file: TextFile, expanded: Taxonomy, additions: Additions) -> dict[str, str]:
    """Return the label of each new concept by id, for files in which labels are ids."""
    names = {concept.id: concept.label for concept in additions.concepts}
    seen: set[str] = set()
    for id, name in names.items():
        if name in seen or (id != name and name in expanded):
            message = f"the label {name!r} is already used, and labels are ids in this file"
            raise FormatError(file.path, message, fix="give the new concept another label")
        seen.add(name)
    return names


def inherited(
    known: Mapping[str, Sequence[Value]],
    expanded: Taxonomy,
    additions: Additions,
    default: Sequence[Value] = (),
) -> dict[str, Sequence[Value]]:
    """Return the values of each concept; new concepts get the first values among their parents."""
    values = dict(known)
    new = [concept.id for concept in additions.concepts]
    for id in sorted(new, key=lambda id: int(expanded.levels[expanded.index(id)])):
        from_parents = (values[parent] for parent in expanded.parents(id) if values.get(parent))
        values[id] = next(from_parents, default)
    return values
