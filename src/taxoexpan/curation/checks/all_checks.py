"""All checks, for a taxonomy or for a file with the positions of the findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from taxoexpan.curation.checks.findings import CODES, Finding, make_finding
from taxoexpan.curation.checks.labels import (
    FindLines,
    LabelIndex,
    labels_as_synonyms,
    repeated_labels,
    similar_labels,
)
from taxoexpan.curation.checks.structure import (
    deprecated_parents,
    hubs,
    isolated_concepts,
    long_chains,
    orphan_concepts,
    redundant_relations,
)
from taxoexpan.errors import FileCycleError, FormatError, cycle_fix, describe_cycle
from taxoexpan.formats.builder import Note
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.taxonomy import Taxonomy

_LOCAL_NAME = re.compile(r"[^/#:]+$")

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
    """Return all findings in a file; if the file cannot be read, return only the reason."""
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
    findings = check_taxonomy(parsed.taxonomy, partial(file.format.subject_lines, file.file))
    return _locate(file, notes + [one for one in findings if (one.code, one.place) not in declared])


def check_taxonomy(taxonomy: Taxonomy, find_lines: FindLines = lambda _: {}) -> list[Finding]:
    """Return all findings; of two concepts, the later one in the file gets the finding."""
    findings = [finding for check in STRUCTURE_CHECKS for finding in check(taxonomy)]
    # A deprecated concept may have the same label as its replacement.
    labels = LabelIndex.of(taxonomy.active, find_lines)
    return findings + [finding for check in LABEL_CHECKS for finding in check(labels)]


def _cycles(error: FileCycleError) -> Iterator[Finding]:
    """Yield one finding per cycle, on the first of its lines."""
    for cycle, lines in zip(error.cycles, error.lines, strict=True):
        message = f"{describe_cycle(cycle)}; {cycle_fix(lines)}"
        finding = make_finding("cycle", cycle[0], message)
        yield replace(finding, path=error.path, line=lines[0] if lines else 0)


def _note_finding(note: Note, path: Path) -> Finding:
    """Return a note of the file reader as a finding."""
    severity = CODES[note.code].severity if note.code in CODES else "warning"
    place = note.place or str(path)
    return Finding(note.code, severity, place, note.message, path=note.path, line=note.line)


def _locate(file: TaxonomyFile, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with the known positions of their concepts."""
    keys = [(finding.place, finding.parent) for finding in findings]
    unknown = {key for key, finding in zip(keys, findings, strict=True) if not finding.line}
    positions = file.positions(unknown)
    located = []
    for key, finding in zip(keys, findings, strict=True):
        path, line = positions.get(key, (finding.path, finding.line))
        located.append(_with_column(file, replace(finding, path=path or _main(file), line=line)))
    return located


def _main(file: TaxonomyFile) -> Path:
    """Return the file of the concepts, or the directory if they are in several files."""
    paths = {source.path for source in file.parsed.sources}
    return paths.pop() if len(paths) == 1 else file.path


def _with_column(file: TaxonomyFile, finding: Finding) -> Finding:
    """Add the column of the concept's label or id to a finding."""
    is_sheet = bool(file.file.delimiter)
    if not finding.line or finding.path is None or is_sheet or finding.place not in file.taxonomy:
        return finding
    text = file.file.sibling(finding.path).lines[finding.line - 1 : finding.line]
    local = _LOCAL_NAME.search(finding.place)
    label = file.taxonomy.concept(finding.place).label
    for name in filter(None, (label, finding.place, local and local[0])):
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", "".join(text))
        if found:
            return replace(finding, column=found.start() + 1, end_column=found.end() + 1)
    return finding
