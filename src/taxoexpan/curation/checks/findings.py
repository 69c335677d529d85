"""A finding, and the table of all codes that one can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from taxoexpan.taxonomy import Taxonomy


Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the worst to the least."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at; `place` is a concept's id, a line of the file, or the file."""

    code: str
    severity: Severity
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Code:
    """How bad a finding of this code is at least, and what it means."""

    severity: Severity
    meaning: str


CODES: dict[str, Code] = {
    "unreadable": Code("error", "the file cannot be read, and nothing else was checked"),
    "cycle": Code("error", "relations run in a circle, and nothing else was checked"),
    "file": Code("warning", "the reader set something right that may be a mistake"),
    "isolated-concept": Code("warning", "a concept has neither parent nor child"),
    "deprecated-parent": Code("warning", "a concept in force has only deprecated parents"),
    "repeated-sibling": Code("warning", "two children of one parent have the same label"),
    "repeated-label": Code("info", "concepts elsewhere have the same label"),
    "similar-label": Code(
        "info", "labels are nearly the same (warning: two forms of one name among siblings)"
    ),
    "label-is-synonym": Code(
        "info", "a label is another concept's synonym (warning: a sibling's, parent's or child's)"
    ),
    "preferred-labels": Code("warning", "a concept has several preferred labels in one language"),
    "undescribed-concept": Code("warning", "a parent or child is named, but not described"),
    "blank-node": Code("warning", "a concept without an IRI is passed over"),
    "missing-label": Code("info", "a concept has no label, or none in the language of the others"),
    "orphan-concept": Code("info", "a branch lies outside the main root"),
    "redundant-relation": Code("info", "a parent is an ancestor through another parent anyway"),
    "long-chain": Code("info", "a chain from a root downwards is very long"),
    "hub": Code("info", "a concept has very many children"),
}


def found(code: str, place: str, message: str, grave: bool = False) -> Finding:
    """A finding with the severity of its code, or a warning where it is graver than most."""
    return Finding(code, "warning" if grave else CODES[code].severity, place, message)


def spelled(taxonomy: Taxonomy, index: int) -> str:
    """A concept as messages name it: its label and its id."""
    return f"{taxonomy.labels[index]!r} ({taxonomy.ids[index]})"
