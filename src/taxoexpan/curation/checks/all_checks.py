"""All checks, of a taxonomy and of a file that should hold one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from taxoexpan.curation.checks.findings import CODES, Finding, found
from taxoexpan.curation.checks.label_index import Names
from taxoexpan.curation.checks.redundant_relations import redundant_relations
from taxoexpan.curation.checks.repeated_labels import labels_as_synonyms, repeated_labels
from taxoexpan.curation.checks.similar_labels import similar_labels
from taxoexpan.curation.checks.structure import (
    deprecated_parents,
    hubs,
    isolated_concepts,
    long_chains,
    orphan_concepts,
)
from taxoexpan.errors import FileCycleError, FormatError, spell_cycle
from taxoexpan.formats.builder import Note
from taxoexpan.formats.taxonomy_file import read
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.taxonomy import Taxonomy

STRUCTURE_CHECKS: tuple[Callable[[Taxonomy], Iterator[Finding]], ...] = (
    isolated_concepts,
    deprecated_parents,
    orphan_concepts,
    redundant_relations,
    long_chains,
    hubs,
)

NAME_CHECKS: tuple[Callable[[Names], Iterator[Finding]], ...] = (
    repeated_labels,
    similar_labels,
    labels_as_synonyms,
)


def lint_file(
    path: Path, format: str | None = None, reading: ReadOptions = DEFAULT_OPTIONS
) -> list[Finding]:
    """Everything that looks wrong in a file; of one that cannot be read, only why."""
    try:
        document = read(path, format, reading)
    except FileCycleError as error:
        return list(_cycles(error))
    except FormatError as error:
        if not (path.is_file() or error.path.is_file()):
            raise
        place = f"line {error.line}" if error.line else str(path)
        return [found("unreadable", place, error.message)]
    notes = [_noted(note, path) for note in document.notes]
    # What the file itself puts at the top is no orphan there.
    meant = {("orphan-concept", id) for id in document.tops}
    return notes + [f for f in lint(document.taxonomy) if (f.code, f.place) not in meant]


def lint(taxonomy: Taxonomy) -> list[Finding]:
    """Everything that looks wrong in a taxonomy that could be read."""
    findings = [finding for check in STRUCTURE_CHECKS for finding in check(taxonomy)]
    # A deprecated concept may well bear the name of the one that took its place.
    names = Names.of(taxonomy.active)
    return findings + [finding for check in NAME_CHECKS for finding in check(names)]


def _cycles(error: FileCycleError) -> Iterator[Finding]:
    """One finding a cycle; of the first, the reader knows a line."""
    for number, cycle in enumerate(error.cycles):
        where = f" (one is on line {error.line})" if error.line and number == 0 else ""
        message = f"a cycle: {spell_cycle(cycle)}; remove one of these relations{where}"
        yield found("cycle", cycle[0], message)


def _noted(note: Note, path: Path) -> Finding:
    """What the reader noticed, as a finding."""
    severity = CODES[note.code].severity if note.code in CODES else "warning"
    return Finding(note.code, severity, note.place or str(path), note.message)
