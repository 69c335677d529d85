"""All checks, for a taxonomy and for a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from taxoexpan.curation.checks.finding_lines import locate
from taxoexpan.curation.checks.findings import CODES, Finding, make_finding
from taxoexpan.curation.checks.label_index import LabelIndex
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
from taxoexpan.files import STANDARD_STREAM
from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf.subject_lines import subject_lines
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions, TextFile
from taxoexpan.taxonomy import Taxonomy

STRUCTURE_CHECKS: tuple[Callable[[Taxonomy], Iterator[Finding]], ...] = (
    isolated_concepts,
    deprecated_parents,
    orphan_concepts,
    redundant_relations,
    long_chains,
    hubs,
)

LABEL_CHECKS: tuple[Callable[[LabelIndex], Iterator[Finding]], ...] = (
    repeated_labels,
    similar_labels,
    labels_as_synonyms,
)


def check_file(
    path: Path, format: str | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> list[Finding]:
    """All findings in a file; if the file cannot be read, only the reason why."""
    try:
        file = TaxonomyFile.open(path, format, options)
    except FileCycleError as error:
        return list(_cycles(error, path, options))
    except FormatError as error:
        if not (path.is_file() or error.path.is_file()):
            raise
        place = f"line {error.line}" if error.line else str(path)
        finding = make_finding("unreadable", place, error.message)
        return [replace(finding, path=error.path, line=error.line or 0)]
    file.refuse_unused_options()
    parsed = file.parsed
    notes = [_note_finding(note, path) for note in parsed.notes]
    # A concept that the file itself declares as a top concept is not an orphan.
    declared = {("orphan-concept", id) for id in parsed.tops}
    findings = check_taxonomy(parsed.taxonomy)
    return locate(file, notes + [one for one in findings if (one.code, one.place) not in declared])


def check_taxonomy(taxonomy: Taxonomy) -> list[Finding]:
    """All findings in a taxonomy."""
    findings = [finding for check in STRUCTURE_CHECKS for finding in check(taxonomy)]
    # A deprecated concept may have the same label as its replacement.
    labels = LabelIndex.of(taxonomy.active)
    return findings + [finding for check in LABEL_CHECKS for finding in check(labels)]


def _cycles(error: FileCycleError, path: Path, options: ReadOptions) -> Iterator[Finding]:
    """One finding per cycle, with one of its lines."""
    lines = error.lines
    if not any(lines) and path != STANDARD_STREAM:  # RDF, which is read without lines
        described = subject_lines(TextFile.open(path, options), [each[0] for each in error.cycles])
        lines = [described.get(each[0]) for each in error.cycles]
    for cycle, line in zip(error.cycles, lines, strict=True):
        where = f" (one is on line {line})" if line else ""
        message = f"a cycle: {spell_cycle(cycle)}; remove one of these relations{where}"
        yield replace(make_finding("cycle", cycle[0], message), path=error.path, line=line or 0)


def _note_finding(note: Note, path: Path) -> Finding:
    """A note of the file reader as a finding."""
    severity = CODES[note.code].severity if note.code in CODES else "warning"
    place = note.place or str(path)
    return Finding(note.code, severity, place, note.message, path=note.path, line=note.line)
