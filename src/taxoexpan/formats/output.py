"""The results of a format's `extend` and `write`: insertions, or the text of new files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from taxoexpan.formats.compression import compressed, format_suffix
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

Insertions = dict[Path, list[Insertion]]
"""The insertions for each file of a taxonomy."""

EXCEL_SUFFIX = ".xlsx"
DEFAULT_BASE = "http://example.org/"


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write; for RDF also a base for ids that are not IRIs, and language tags.

    `syntax` is the suffix of the RDF syntax, if the name of the file does not decide about it.
    `other_tags` has the language tags of single texts, by the id of the concept and the text.
    """

    path: Path
    base: str = DEFAULT_BASE
    language: str = ""
    other_tags: Mapping[tuple[str, str], str] = field(default_factory=dict)
    syntax: str = ""

    def tag(self, id: str, text: str) -> str:
        """The language tag of a label, a synonym or a definition."""
        return self.other_tags.get((id, text), self.language)


@dataclass(frozen=True)
class Copy:
    """A taxonomy as new files: the text of each, and the new ids of the concepts."""

    files: dict[Path, str]
    ids: Mapping[str, str] = field(default_factory=dict)

    def contents(self) -> dict[Path, bytes]:
        """The bytes of each file, which its name determines: text, Excel, or compressed."""
        return {path: compressed(path, _encode(path, text)) for path, text in self.files.items()}

    def id_of(self, id: str) -> str:
        """The id of a concept in the new files."""
        return self.ids.get(id, id)


def _encode(path: Path, text: str) -> bytes:
    if format_suffix(path) != EXCEL_SUFFIX:
        return text.encode("utf-8")
    # openpyxl is an optional dependency.
    from taxoexpan.formats.tables.workbook import new_workbook

    return new_workbook(path, text)


def clean_ids(taxonomy: Taxonomy, clean: Callable[[str], str]) -> dict[str, str]:
    """A new id for every old one: cleaned, and numbered if two become equal."""
    cleaned = [clean(id) or "concept" for id in taxonomy.ids]
    return dict(zip(taxonomy.ids, make_distinct(cleaned), strict=True))
