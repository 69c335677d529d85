"""Findings as SARIF 2.1.0, the Static Analysis Results Interchange Format of OASIS."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from taxoexpan.curation.checks import CODES, Finding
from taxoexpan.curation.finding_formats.annotated_paths import annotated_paths

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS = 25_000
"""GitHub refuses files with more results."""
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"
"""The name by which viewers know the root of the repository."""


def sarif_log(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a log with one run; the first findings if there are more than GitHub accepts."""
    paths = annotated_paths(findings)
    run = {
        "tool": {
            "driver": {"name": "taxoexpan", "version": version("taxoexpan"), "rules": _rules()}
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [_result(each, paths[each.path]) for each in findings[:MAX_RESULTS]],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules() -> list[dict[str, Any]]:
    """Return every code with its meaning."""
    return [
        {
            "id": name,
            "shortDescription": {"text": code.meaning},
            "defaultConfiguration": {"level": _LEVELS[code.severity]},
        }
        for name, code in CODES.items()
    ]


def _result(finding: Finding, path: PurePath | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        # A bracket before a parenthesis would make a link.
        "message": {"text": finding.text.replace("](", "] (")},
    }
    if finding.code in CODES:
        result["ruleIndex"] = list(CODES).index(finding.code)
    if path is not None:
        location = {"artifactLocation": _artifact(path), "region": _region(finding)}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _artifact(path: PurePath) -> dict[str, str]:
    """Return a URI from the root of the repository, or an absolute one outside of it."""
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": _ROOT}


def _region(finding: Finding) -> dict[str, int]:
    """Return the place in the file; GitHub needs a line, so an unknown one is the first."""
    region = {"startLine": finding.line or 1}
    if finding.column:
        region |= {"startColumn": finding.column, "endColumn": finding.end_column}
    return region
