"""Findings as Markdown, for a comment or a summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from taxoexpan.curation.checks import SEVERITIES, Finding, count_findings
from taxoexpan.curation.finding_formats.annotated_paths import annotated_paths
from taxoexpan.formats.changes.markdown_document import code, document, escape
from taxoexpan.phrasing import join_words

_HEADINGS = {"error": "Errors", "warning": "Warnings", "info": "For information"}
MAX_NAMED = 3
"""Files that the title names."""


def markdown_findings(findings: Sequence[Finding], checked: Sequence[Path]) -> str:
    """Return the findings below a title, worst first."""
    names = [path.name for path in checked]
    if len(names) > MAX_NAMED:
        names = [*names[:MAX_NAMED], f"{len(names) - MAX_NAMED:,} more"]
    paths = annotated_paths(findings)
    sections = {
        _HEADINGS[severity]: [
            _entry(each, paths[each.path]) for each in findings if each.severity == severity
        ]
        for severity in SEVERITIES
    }
    return document(f"Findings in {join_words(names)}", f"{count_findings(findings)}.", sections)


def _entry(finding: Finding, path: PurePath | None) -> str:
    line = f":{finding.line}" if finding.line else ""
    place = f"{code(f'{path.as_posix()}{line}')} " if path else ""
    return f"{place}**{finding.code}** {escape(finding.text)}"
