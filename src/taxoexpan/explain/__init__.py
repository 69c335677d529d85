"""Why a parent was suggested: what is like the query there, and what decided."""

from taxoexpan.explain.evidence import Evidence
from taxoexpan.explain.evidence_json import read_evidence
from taxoexpan.explain.explanation import explain
from taxoexpan.explain.move_sentences import moved_in_words
from taxoexpan.explain.sentences import in_words

__all__ = ["Evidence", "explain", "in_words", "moved_in_words", "read_evidence"]
