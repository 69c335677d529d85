"""Why a parent was suggested.

`explain` collects the `Evidence` for suggestions: similar children, shared words, the parts of the
score, and the relation that decided against the runner-up. `describe` and `describe_move` turn it
into text; `with_reasons` adds it to suggestions.
"""

from taxoexpan.explain.evidence import Evidence
from taxoexpan.explain.explained_suggestions import with_reasons
from taxoexpan.explain.explanation import explain
from taxoexpan.explain.sentences import describe, describe_move

__all__ = ["Evidence", "describe", "describe_move", "explain", "with_reasons"]
