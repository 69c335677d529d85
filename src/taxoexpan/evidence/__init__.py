"""Why a parent was suggested: what is like the query there, and what decided."""

from taxoexpan.evidence.explaining import explain
from taxoexpan.evidence.parts import Evidence
from taxoexpan.evidence.wording import in_words

__all__ = ["Evidence", "explain", "in_words"]
