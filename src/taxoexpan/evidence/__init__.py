"""Why a parent was suggested: what is like the query there, and what decided."""

from taxoexpan.evidence.explaining import explain
from taxoexpan.evidence.moving import moved_in_words
from taxoexpan.evidence.parts import Evidence
from taxoexpan.evidence.reading import read_evidence
from taxoexpan.evidence.wording import in_words

__all__ = ["Evidence", "explain", "in_words", "moved_in_words", "read_evidence"]
