"""Why a parent was suggested.

`explain` collects the `Evidence` for suggestions: similar children, shared words, the parts of the
score, and the relation that decided against the runner-up. `describe` and `describe_move` turn it
into text; `with_reasons` adds it to suggestions. `explanation` calls the other modules:
`neighborhood` and `similarity` compare a query with what is around an anchor, `egonet_weights`
reads the network, `pair_scores` splits a score into parts, and `counterfactuals` (with
`removal_inputs`) scores again without one relation.
"""

from taxoexpan.explain.evidence import Evidence
from taxoexpan.explain.explained_suggestions import with_reasons
from taxoexpan.explain.explanation import explain
from taxoexpan.explain.sentences import describe, describe_move

__all__ = ["Evidence", "describe", "describe_move", "explain", "with_reasons"]
