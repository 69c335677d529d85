"""Suggestions for a batch of new concepts that are placed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taxoexpan.placement.joint.joint_placement import mentions_among, place_jointly
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.placement.suggesting.query_assessment import refuse_nonfinite_scores
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy


def suggest_jointly(
    taxonomy: Taxonomy,
    ranker: Ranker,
    embedder: Embedder,
    concepts: Sequence[Concept],
    priors: Sequence[NewParentPrior],
) -> list[Suggestion]:
    """Suggest one parent for each concept; every concept needs an id (see `with_ids`)."""
    mentions = mentions_among(taxonomy, concepts) if embedder.config.uses_mentions else None
    queries = replace(embedder.queries(concepts, None), mentions=mentions)
    placed = place_jointly(ranker, queries, priors)
    expanded = taxonomy.expanded(placed.additions(taxonomy, concepts))
    suggestions = [
        Suggestion(
            query=concept,
            rank=1,
            parent=expanded.concept_at(parent),
            path=expanded.short_path(expanded.ids[parent]),
            score=score,
        )
        for concept, parent, score in zip(
            concepts, placed.parents.tolist(), placed.scores.tolist(), strict=True
        )
    ]
    refuse_nonfinite_scores(suggestions)
    return suggestions
