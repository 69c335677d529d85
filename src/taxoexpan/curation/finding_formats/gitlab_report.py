"""Findings as a code quality report of GitLab, which a merge request shows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.finding_formats.annotated_paths import annotated_paths

_SEVERITIES = {"error": "blocker", "warning": "major", "info": "info"}


def gitlab_report(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Return one entry per finding; GitLab needs a path, a line and a unique fingerprint."""
    repeated: Counter[tuple[str, ...]] = Counter()
    report: list[dict[str, object]] = []
    paths = annotated_paths(findings)
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
                "severity": _SEVERITIES[finding.severity],
                "location": {"path": name, "lines": {"begin": finding.line or 1}},
            }
        )
    return report
