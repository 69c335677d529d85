"""Findings, and the table of all codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from taxoexpan.phrasing import pluralize

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The severities, worst first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A likely mistake; `place` is a concept's id, a line of the file, or the file.

    Lines and columns count from 1 (0 if unknown), and `end_column` is exclusive.
    """

    code: str
    severity: Severity
    place: str
    message: str
    parent: str = ""
    path: Path | None = None
    line: int = 0
    column: int = 0
    end_column: int = 0

    @property
    def text(self) -> str:
        """The message, after the id of the concept if there is one."""
        is_id = self.place != str(self.path) and self.place != f"line {self.line}"
        return f"{self.place}: {self.message}" if is_id else self.message


@dataclass(frozen=True, slots=True)
class Code:
    """The usual severity of a code, and its meaning."""

    severity: Severity
    meaning: str


CODES: dict[str, Code] = {
    "unreadable": Code("error", "the file cannot be read; no other checks are run"),
    "cycle": Code("error", "relations form a cycle; no other checks are run"),
    "file": Code("warning", "the file can be read but probably contains a mistake"),
    "isolated-concept": Code("warning", "a concept has neither parent nor child"),
    "deprecated-parent": Code(
        "warning", "all parents of a concept are deprecated, but the concept is not"
    ),
    "repeated-sibling": Code("warning", "two children of one parent have the same label"),
    "repeated-label": Code("info", "concepts with different parents have the same label"),
    "similar-label": Code(
        "info",
        "two labels are nearly identical (a warning if the concepts are siblings)",
    ),
    "label-is-synonym": Code(
        "info",
        "the label of a concept is also a synonym of another concept (a warning if that concept "
        "is a sibling, parent or child)",
    ),
    "preferred-labels": Code("warning", "a concept has several preferred labels in one language"),
    "undescribed-concept": Code(
        "warning", "a parent or child is referenced but not defined in the file"
    ),
    "external-concept": Code(
        "info", "a superclass or subclass belongs to another ontology and has no label in this file"
    ),
    "other-vocabulary": Code(
        "info", "the file is read as OWL and also contains SKOS concepts, which are ignored"
    ),
    "blank-node": Code("warning", "a concept is a blank node (it has no IRI) and is skipped"),
    "missing-label": Code("info", "a concept has no label, or none in the taxonomy's language"),
    "orphan-concept": Code(
        "info",
        "a concept has children but no parent, although most concepts are below another root",
    ),
    "redundant-relation": Code(
        "info", "a concept has two parents A and B, and A is already an ancestor of B"
    ),
    "long-chain": Code("info", "a chain of relations from a root is very long"),
    "hub": Code("info", "a concept has very many children"),
}


ALWAYS_SHOWN = frozenset({"unreadable", "cycle"})
"""Codes that a choice of codes does not hide, because nothing else could be checked."""


def make_finding(
    code: str, place: str, message: str, as_warning: bool = False, parent: str = ""
) -> Finding:
    """Return a finding with the severity of its code, or with severity `warning`."""
    severity = "warning" if as_warning else CODES[code].severity
    return Finding(code, severity, place, message, parent)


def count_findings(findings: Sequence[Finding]) -> str:
    """Describe the number of findings of each severity."""
    if not findings:
        return "0 findings"
    counts = Counter(finding.severity for finding in findings)
    return (
        f"{pluralize(len(findings), 'finding')}: {pluralize(counts['error'], 'error')}, "
        f"{pluralize(counts['warning'], 'warning')}, {counts['info']:,} for information"
    )
