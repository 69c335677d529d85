"""What a format gives back when it writes: insertions into old files, or files made anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

Insertions = dict[Path, list[Insertion]]
"""What goes into each of the files that a taxonomy lies in."""


BASE = "http://example.org/"


@dataclass(frozen=True, slots=True)
class Target:
    """A file to be made: in RDF, the base of ids that are no IRIs, and the labels' language."""

    path: Path
    base: str = BASE
    language: str = ""


@dataclass(frozen=True)
class Copy:
    """A taxonomy written anew: the text of each file, and the id there of each concept."""

    files: dict[Path, str]
    ids: Mapping[str, str] = field(default_factory=dict)

    def id_of(self, id: str) -> str:
        """What a concept's id is in the copy."""
        return self.ids.get(id, id)


def renamed(taxonomy: Taxonomy, clean: Callable[[str], str]) -> dict[str, str]:
    """A new id for every old one: cleaned, and told apart where two become one."""
    cleaned = [clean(id) or "concept" for id in taxonomy.ids]
    return dict(zip(taxonomy.ids, make_distinct(cleaned), strict=True))
