"""Findings of `check` in the formats of other programs: GitHub, GitLab, SARIF, Markdown, JSON."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from taxoexpan.curation.checks import CODES, SEVERITIES, Finding, count_findings
from taxoexpan.errors import ConfigurationError
from taxoexpan.files import STANDARD_STREAM
from taxoexpan.formats.changes.markdown import code, document, escape
from taxoexpan.phrasing import join_words, visible_json

MAX_NAMED = 3
"""Files that the title names."""
MAX_RESULTS = 25_000
"""GitHub refuses SARIF files with more results."""


class FindingFormat(StrEnum):
    """The formats for other programs."""

    JSON = "json"
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
    """Return the format of a findings file by its name."""
    for suffix, format in _SUFFIXES.items():
        if path.name.lower().endswith(suffix):
            return format
    known = ", ".join(f"{suffix} ({format})" for suffix, format in _SUFFIXES.items())
    message = f"the name {path.name} does not say how to write the findings"
    raise ConfigurationError(message, fix=f"use a name that ends in one of {known}")


def render(findings: Sequence[Finding], format: FindingFormat, checked: Sequence[Path]) -> str:
    """Return the findings in the checked files as a string."""
    if format == FindingFormat.MARKDOWN:
        return markdown_findings(findings, checked)
    content: object = [_as_dict(finding) for finding in findings]
    if format == FindingFormat.GITLAB:
        content = gitlab_report(findings)
    elif format == FindingFormat.SARIF:
        content = sarif_log(findings)
    return visible_json(json.dumps(content, ensure_ascii=False, indent=2)) + "\n"


def _as_dict(finding: Finding) -> dict[str, str | int | None]:
    """Return a finding for JSON, with null for unknown values."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "place": finding.place,
        "message": finding.message,
        "file": str(finding.path) if finding.path else None,
        "line": finding.line or None,
        "column": finding.column or None,
    }


WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""The variables in which GitHub and GitLab give the folder of the repository."""


def annotated_path(path: Path | None) -> PurePath | None:
    """Return the path relative to the repository or the current directory, or an absolute path."""
    if path is None or path == STANDARD_STREAM:
        return None
    roots = [Path(os.environ[name]) for name in WORKSPACES if os.environ.get(name)]
    absolute = path.absolute()
    for root in (*roots, Path.cwd()):
        for base in (root, root.resolve()):
            if absolute.is_relative_to(base):
                return absolute.relative_to(base)
    return absolute


def _annotated_paths(findings: Iterable[Finding]) -> dict[Path | None, PurePath | None]:
    """Return the annotated path of every file with a finding."""
    return {path: annotated_path(path) for path in {finding.path for finding in findings}}


_HEADINGS = {"error": "Errors", "warning": "Warnings", "info": "For information"}


def markdown_findings(findings: Sequence[Finding], checked: Sequence[Path]) -> str:
    """Return the findings below a title, worst first, for a comment or a summary."""
    names = [path.name for path in checked]
    if len(names) > MAX_NAMED:
        names = [*names[:MAX_NAMED], f"{len(names) - MAX_NAMED:,} more"]
    paths = _annotated_paths(findings)
    sections: dict[str, list[str]] = {_HEADINGS[severity]: [] for severity in SEVERITIES}
    for finding in findings:
        path = paths[finding.path]
        line = f":{finding.line}" if finding.line else ""
        place = f"{code(f'{path.as_posix()}{line}')} " if path else ""
        entry = f"{place}**{finding.code}** {escape(finding.text)}"
        sections[_HEADINGS[finding.severity]].append(entry)
    return document(f"Findings in {join_words(names)}", f"{count_findings(findings)}.", sections)


_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def github_annotations(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield one workflow command per finding, which GitHub shows next to the line or the file."""
    paths = _annotated_paths(findings)
    for finding in findings:
        path = paths[finding.path]
        properties: dict[str, object] = {
            "file": path.as_posix() if path else "",
            "line": finding.line,
            "col": finding.column,
            "endColumn": finding.end_column,
            "title": finding.code,
        }
        given = ",".join(
            f"{name}={str(value).translate(_IN_PROPERTY)}"
            for name, value in properties.items()
            if value
        )
        yield f"::{_COMMANDS[finding.severity]} {given}::{finding.text.translate(_IN_MESSAGE)}"


_GITLAB_SEVERITIES = {"error": "blocker", "warning": "major", "info": "info"}


def gitlab_report(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Return a code quality report with the path, line and unique fingerprint that GitLab needs."""
    repeated: Counter[tuple[str, ...]] = Counter()
    report: list[dict[str, object]] = []
    paths = _annotated_paths(findings)
    for finding in findings:
        path = paths[finding.path]
        name = path.as_posix() if path else "-"
        # Without the line, so that a finding stays the same if lines are added above it.
        identity = (name, finding.code, finding.text)
        text = "\0".join((*identity, str(repeated[identity])))
        repeated[identity] += 1
        report.append(
            {
                "description": finding.text,
                "check_name": finding.code,
                "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
                "severity": _GITLAB_SEVERITIES[finding.severity],
                "location": {"path": name, "lines": {"begin": finding.line or 1}},
            }
        )
    return report


SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"
"""The name by which viewers know the root of the repository."""


def sarif_log(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log with as many findings as GitHub accepts."""
    rules = [
        {
            "id": name,
            "shortDescription": {"text": code.meaning},
            "defaultConfiguration": {"level": _LEVELS[code.severity]},
        }
        for name, code in CODES.items()
    ]
    paths = _annotated_paths(findings)
    run = {
        "tool": {"driver": {"name": "taxoexpan", "version": version("taxoexpan"), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [_sarif_result(each, paths[each.path]) for each in findings[:MAX_RESULTS]],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(finding: Finding, path: PurePath | None) -> dict[str, Any]:
    """Return a finding for SARIF; GitHub needs a line, so an unknown line becomes 1."""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        # A bracket before a parenthesis would make a link.
        "message": {"text": finding.text.replace("](", "] (")},
    }
    if finding.code in CODES:
        result["ruleIndex"] = list(CODES).index(finding.code)
    if path is not None:
        artifact = {"uri": quote(path.as_posix()), "uriBaseId": _ROOT}
        region = {"startLine": finding.line or 1}
        if path.is_absolute():
            artifact = {"uri": path.as_uri()}
        if finding.column:
            region |= {"startColumn": finding.column, "endColumn": finding.end_column}
        location = {"artifactLocation": artifact, "region": region}
        result["locations"] = [{"physicalLocation": location}]
    return result
