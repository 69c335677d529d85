"""Findings as GitHub workflow commands, which GitHub shows next to the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.finding_formats.annotated_paths import annotated_paths

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def github_annotations(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield one command per finding; a finding without a line is about the whole file."""
    paths = annotated_paths(findings)
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
