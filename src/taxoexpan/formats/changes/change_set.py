"""The changes between two versions of a file, in one of the exchange formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

from taxoexpan.errors import ConfigurationError
from taxoexpan.formats.changes.kgcl import SUBCLASS, KgclWriter
from taxoexpan.formats.changes.markdown import changes_markdown
from taxoexpan.formats.changes.sssom import comparison_mappings, sssom_table
from taxoexpan.formats.format import DEFAULT_BASE
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.taxonomy import Additions
from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.difference import Comparison, compare
from taxoexpan.taxonomy.mappings import ConceptMapping


class ChangeFormat(StrEnum):
    """The formats in which changes are exchanged."""

    KGCL = "kgcl"
    MARKDOWN = "markdown"
    SSSOM = "sssom"


_SUFFIXES = {
    ".kgcl": ChangeFormat.KGCL,
    ".md": ChangeFormat.MARKDOWN,
    ".sssom.tsv": ChangeFormat.SSSOM,
}


def change_format(path: Path) -> ChangeFormat:
    """Return the format of a file of changes from its name."""
    for suffix, format in _SUFFIXES.items():
        if path.name.lower().endswith(suffix):
            return format
    known = ", ".join(f"{suffix} ({format})" for suffix, format in _SUFFIXES.items())
    message = f"the name {path.name} does not say how to write the changes"
    raise ConfigurationError(message, fix=f"use a name that ends in one of {known}")


@dataclass(frozen=True)
class ChangeSet:
    """A comparison, mappings between equal concepts, and the conventions of the file."""

    comparison: Comparison
    mappings: Sequence[ConceptMapping]
    prefixes: Prefixes = field(default_factory=Prefixes)
    language: str = ""
    predicate: str = SUBCLASS
    notes: Sequence[str] = ()
    """What could not be compared."""

    @classmethod
    def between(cls, old: TaxonomyFile, new: TaxonomyFile) -> ChangeSet:
        """Compare two files."""
        first = Prefixes(old.parsed.prefixes)
        second = Prefixes(new.parsed.prefixes)
        fields, notes = _not_comparable(old, new)
        comparison = compare(old.taxonomy, new.taxonomy, first, second).without(fields)
        mappings = comparison_mappings(comparison)
        style = old.parsed.language, old.format.parent_predicate
        return cls(comparison, mappings, first | second, *style, notes)

    @classmethod
    def of_additions(
        cls, file: TaxonomyFile, additions: Additions, mappings: Sequence[ConceptMapping]
    ) -> ChangeSet:
        """Describe the additions to a file."""
        comparison = compare(file.taxonomy, file.taxonomy.expanded(additions))
        style = file.parsed.language, file.format.parent_predicate
        return cls(comparison, mappings, Prefixes(file.parsed.prefixes), *style)

    def text(self, format: ChangeFormat, title: str) -> tuple[str, list[str]]:
        """Return the formatted changes, and notes about values that had to be adapted."""
        if format == ChangeFormat.KGCL:
            writer = KgclWriter(self.prefixes, self.language, self.predicate)
            commands = writer.commands(self.comparison.difference_by_id)
            note = "KGCL cannot express apostrophes and line ends"
            note += f"; {pluralize(writer.adapted, 'text')} written with ’ or a space"
            return "".join(f"{line}\n" for line in commands), [note] if writer.adapted else []
        if format == ChangeFormat.MARKDOWN:
            changed = self.comparison.difference
            ids = self.comparison.changed_ids
            return changes_markdown(changed, ids, self.prefixes, title), []
        table = sssom_table(self.mappings, self.prefixes, version("taxoexpan"), date.today())
        invented = f" {DEFAULT_BASE}\n" in table
        note = f"SSSOM needs IRIs: ids that are not IRIs are written below {DEFAULT_BASE}"
        return table, [f"{note}; change its curie_map to your own"] if invented else []


def _not_comparable(old: TaxonomyFile, new: TaxonomyFile) -> tuple[list[str], list[str]]:
    """Return the fields that one file has and the other cannot store, and notes about them."""
    fields = []
    notes = []
    for file, other in ((old, new), (new, old)):
        supported = file.format.supported_fields(file.file)
        used = {
            "definition": ("definitions", any(c.definition for c in other.taxonomy.concepts)),
            "synonyms": ("synonyms", any(c.synonyms for c in other.taxonomy.concepts)),
        }
        missing = [name for name, (kind, has) in used.items() if has and kind not in supported]
        if missing:
            kinds = join_words([used[name][0] for name in missing])
            notes.append(f"{kinds} are not compared: {file.file.path.name} has no place for them")
        fields += missing
    return fields, notes
