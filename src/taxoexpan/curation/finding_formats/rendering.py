"""Findings in one of the formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.finding_formats.findings_markdown import markdown_findings
from taxoexpan.curation.finding_formats.github_annotations import github_annotations
from taxoexpan.curation.finding_formats.gitlab_report import gitlab_report
from taxoexpan.curation.finding_formats.sarif import sarif_log
from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import visible_json


class FindingFormat(StrEnum):
    """The formats of other programs."""

    JSON = "json"
    GITHUB = "github"
    GITLAB = "gitlab"
    MARKDOWN = "markdown"
    SARIF = "sarif"


_SUFFIXES = {
    ".sarif": FindingFormat.SARIF,
    ".sarif.json": FindingFormat.SARIF,
    ".md": FindingFormat.MARKDOWN,
    ".json": FindingFormat.JSON,
}


def finding_format(path: Path) -> FindingFormat:
    """Return the format of a file of findings, by its name."""
    for suffix, format in _SUFFIXES.items():
        if path.name.lower().endswith(suffix):
            return format
    known = ", ".join(f"{suffix} ({format})" for suffix, format in _SUFFIXES.items())
    message = f"the name {path.name} does not say how to write the findings"
    raise ConfigurationError(f"{message}; use a name that ends in one of {known}")


def render(findings: Sequence[Finding], format: FindingFormat, checked: Sequence[Path]) -> str:
    """Return the findings in the checked files as text."""
    if format == FindingFormat.MARKDOWN:
        return markdown_findings(findings, checked)
    writers: dict[FindingFormat, Callable[[Sequence[Finding]], object]] = {
        FindingFormat.JSON: lambda found: [_as_dict(each) for each in found],
        FindingFormat.GITLAB: gitlab_report,
        FindingFormat.SARIF: sarif_log,
    }
    if format == FindingFormat.GITHUB:
        return "".join(f"{line}\n" for line in github_annotations(findings))
    text = json.dumps(writers[format](findings), ensure_ascii=False, indent=2)
    return visible_json(text) + "\n"


def _as_dict(finding: Finding) -> dict[str, str | int | None]:
    """Return a finding for JSON; what is unknown is null."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "place": finding.place,
        "message": finding.message,
        "file": str(finding.path) if finding.path else None,
        "line": finding.line or None,
        "column": finding.column or None,
    }
