"""Mappings between concepts that are the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Justification(StrEnum):
    """The reasons why two concepts are the same, as terms of the Semantic Mapping Vocabulary."""

    MANUAL = "semapv:ManualMappingCuration"
    LEXICAL = "semapv:LexicalMatching"
    COMPOSITE = "semapv:CompositeMatching"
    """A model that combines several signals."""


@dataclass(frozen=True, slots=True)
class ConceptMapping:
    """Two equal concepts; the subject is only a name if it has no `subject_id`."""

    subject_id: str
    subject_label: str
    object_id: str
    object_label: str
    justification: Justification
    confidence: float | None = None
