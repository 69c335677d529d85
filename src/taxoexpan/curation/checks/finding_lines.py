"""Adds the file, the line and the column to findings about concepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from taxoexpan.curation.checks.findings import Finding
from taxoexpan.formats.line_lookup import find_positions
from taxoexpan.formats.source_lines import Described
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile

_LOCAL_NAME = re.compile(r"[^/#:]+$")


def locate(file: TaxonomyFile, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with the positions of their concepts, as far as they are known."""
    keys = [Described(finding.place, finding.parent) for finding in findings]
    unknown = {key for key, finding in zip(keys, findings, strict=True) if not finding.line}
    positions = find_positions(file, unknown)
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
    """Add where on its line the label or the id of the concept is."""
    is_sheet = bool(file.file.delimiter)
    if not finding.line or finding.path is None or is_sheet or finding.place not in file.taxonomy:
        return finding
    text = _line(file.file.sibling(finding.path), finding.line)
    for name in _names(file, finding.place):
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if found:
            return replace(finding, column=found.start() + 1, end_column=found.end() + 1)
    return finding


def _line(file: TextFile, number: int) -> str:
    return file.lines[number - 1] if number <= len(file.lines) else ""


def _names(file: TaxonomyFile, id: str) -> list[str]:
    """Return what may stand for a concept on its line."""
    local = _LOCAL_NAME.search(id)
    return [
        name for name in (file.taxonomy.concept(id).label, id, local[0] if local else "") if name
    ]
