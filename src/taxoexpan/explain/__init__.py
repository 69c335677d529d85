"""Why a parent was suggested.

`explain` collects the `Evidence` for suggestions: similar children, shared words, the parts of the
score, and the relation that decided against the runner-up. `describe` and `describe_move` turn it
into text; `with_reasons` adds it to suggestions. `explanation` calls the other modules:
`similarity` compares a query with what is around an anchor, and `removals` splits a score into
parts and scores again without one relation.
"""

from taxoexpan.explain.evidence import Evidence
from taxoexpan.explain.explanation import explain, with_reasons
from taxoexpan.explain.sentences import describe, describe_move

__all__ = ["Evidence", "describe", "describe_move", "explain", "with_reasons"]
