"""Explanations of suggested parents.

`explain` collects the `Evidence` for suggestions, `describe` and `describe_move` turn it into
sentences, and `with_reasons` adds these to suggestions. `explanation` calls the other modules:
`similarity` compares a query with an anchor and its children.
"""

from taxoexpan.explain.evidence import Evidence
from taxoexpan.explain.explanation import explain, with_reasons
from taxoexpan.explain.sentences import describe, describe_move

__all__ = ["Evidence", "describe", "describe_move", "explain", "with_reasons"]
