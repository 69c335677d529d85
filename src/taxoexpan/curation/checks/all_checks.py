"""All checks, for a taxonomy and for a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from taxoexpan.curation.checks.finding_lines import locate
from taxoexpan.curation.checks.findings import CODES, Finding, make_finding
from taxoexpan.curation.checks.label_index import FindLines, LabelIndex, no_lines
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
from taxoexpan.errors import FileCycleError, FormatError, cycle_message
from taxoexpan.formats.builder import Note
from taxoexpan.formats.line_lookup import find_unordered_lines
from taxoexpan.formats.taxonomy_file import TaxonomyFile
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
        return list(_cycles(error))
    except FormatError as error:
        if not (path.is_file() or error.path.is_file()):
            raise
        place = f"line {error.line}" if error.line else str(error.path)
        finding = make_finding("unreadable", place, error.message)
        return [replace(finding, path=error.path, line=error.line or 0)]
    file.refuse_unused_options()
    parsed = file.parsed
    notes = [_note_finding(note, path) for note in parsed.notes]
    # A concept that the file itself declares as a top concept is not an orphan.
    declared = {("orphan-concept", id) for id in parsed.tops}
    findings = check_taxonomy(parsed.taxonomy, partial(find_unordered_lines, file))
    return locate(file, notes + [one for one in findings if (one.code, one.place) not in declared])


def check_taxonomy(taxonomy: Taxonomy, find_lines: FindLines = no_lines) -> list[Finding]:
    """All findings in a taxonomy; of two concepts, the one that is later in its file is named."""
    findings = [finding for check in STRUCTURE_CHECKS for finding in check(taxonomy)]
    # A deprecated concept may have the same label as its replacement.
    labels = LabelIndex.of(taxonomy.active, find_lines)
    return findings + [finding for check in LABEL_CHECKS for finding in check(labels)]


def _cycles(error: FileCycleError) -> Iterator[Finding]:
    """One finding per cycle, on the first of its lines."""
    for cycle, lines in zip(error.cycles, error.lines, strict=True):
        finding = make_finding("cycle", cycle[0], cycle_message(cycle, lines))
        yield replace(finding, path=error.path, line=lines[0] if lines else 0)


def _note_finding(note: Note, path: Path) -> Finding:
    """A note of the file reader as a finding."""
    severity = CODES[note.code].severity if note.code in CODES else "warning"
    place = note.place or str(path)
    return Finding(note.code, severity, place, note.message, path=note.path, line=note.line)
