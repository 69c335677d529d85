"""Accepted suggestions as additions that a taxonomy can take."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from taxoexpan.errors import TaxonomyError
from taxoexpan.formats.changes.sssom import ConceptMapping, Justification
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.adding.acceptance import (
    Acceptance,
    applicable,
    decide,
    merges,
    select_additions,
)
from taxoexpan.placement.adding.change_validation import validate_additions
from taxoexpan.placement.suggesting.suggestions import Suggestion, Verdict
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import resolve_ids, with_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True)
class AcceptedSuggestions:
    """The additions from accepted suggestions, and what was not added.

    `already_present` pairs a new concept with the existing one, `merged` are the suggestions whose
    concept is a synonym of an existing one, `rejected_changes` has one sentence per move or synonym
    that the taxonomy cannot take, `left_out` counts concepts without an accepted parent, and
    `undecided` the concepts that were left for review. The `suggestions` are all of them, with the
    ids that were filled in.
    """

    suggestions: list[Suggestion]
    additions: Additions
    already_present: list[tuple[Concept, Concept]]
    merged: list[Suggestion]
    rejected_changes: list[str]
    left_out: int
    undecided: int

    def mappings(self, own_ids: Collection[str] = ()) -> list[ConceptMapping]:
        """Return one mapping per merge.

        Only a query in `own_ids` had an id before it was placed. The id of another one was proposed
        for it, and is free again; it is only a name.
        """
        return [
            ConceptMapping(
                merge.query.id if merge.query.id in own_ids else "",
                merge.query.label,
                merge.parent.id,
                merge.parent.label,
                Justification.COMPOSITE if merge.rank else Justification.MANUAL,
                merge.confidence_or_score if merge.rank else None,
            )
            for merge in self.merged
        ]


def accept_suggestions(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], acceptance: Acceptance
) -> AcceptedSuggestions:
    """Turn suggestions into additions that the taxonomy can take.

    Suggestions may have been edited: a missing query id is filled in, and a parent's label must be
    the one in the taxonomy.
    """
    named = with_query_ids(taxonomy, suggestions, acceptance.ids)
    suggestions = [_with_known_parent(taxonomy, suggestion) for suggestion in named]
    additions, present = drop_existing(taxonomy, select_additions(suggestions, acceptance))
    validated = validate_additions(taxonomy, additions)
    considered = applicable(suggestions, acceptance)
    merged = merges(considered, acceptance)
    queries = {s.query.id for s in considered}
    undecided = {s.query.id for s in suggestions if s.decision == Verdict.UNDECIDED} - queries
    resolved, new_ids = resolve_ids(taxonomy, validated.additions, acceptance.ids)
    return AcceptedSuggestions(
        [_with_ids(suggestion, new_ids) for suggestion in suggestions],
        resolved,
        present,
        [_with_ids(merge, new_ids) for merge in merged],
        validated.rejected,
        len(queries) - len(additions.concepts) - len(present) - len(merged),
        len(undecided),
    )


def with_query_ids(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], ids: IdPolicy = DEFAULT_IDS
) -> list[Suggestion]:
    """Give every query an id; all rows with the same label and no id share one."""
    without_id = {s.query.label: s.query for s in suggestions if not s.query.id}
    # The ids of other rows are taken as well.
    others = list({s.query.id: s.query for s in suggestions if s.query.id}.values())
    named = with_ids(taxonomy, [*others, *without_id.values()], ids)[len(others) :]
    queries = {query.label: query for query in named}
    return [s if s.query.id else replace(s, query=queries[s.query.label]) for s in suggestions]


def _with_known_parent(taxonomy: Taxonomy, suggestion: Suggestion) -> Suggestion:
    """Return a suggestion with its parent as the taxonomy has it.

    A ranked parent with another label than in the taxonomy was edited, or is foreign. The label of
    a person's own decision, which has no rank, is ignored: only the id counts.
    """
    id, given = suggestion.parent.id, suggestion.parent.label
    if id not in taxonomy:
        return suggestion
    parent = taxonomy.concept(id)
    if suggestion.rank and given and given != parent.label:
        raise TaxonomyError(
            f"the parent {id!r} of {suggestion.query.label!r} is {parent.label!r} in the taxonomy, "
            f"but {given!r} in the suggestions; to choose another parent, change the parent_id "
            "and clear the rank"
        )
    return replace(suggestion, parent=parent)


def drop_existing(
    taxonomy: Taxonomy, additions: Additions
) -> tuple[Additions, list[tuple[Concept, Concept]]]:
    """Remove the concepts that the taxonomy already has; return them with the existing ones.

    An existing concept gets no further parent, because the old taxonomy is never changed.
    """
    names = known_names(taxonomy)
    present = []
    new = []
    for concept in additions.concepts:
        known = concept.id in taxonomy
        if known and taxonomy.concept(concept.id).label != concept.label:
            label = taxonomy.concept(concept.id).label
            raise TaxonomyError(
                f"the id {concept.id!r} of the new concept {concept.label!r} belongs to {label!r} "
                "in the taxonomy; suggest again, or change the query_id"
            )
        index = taxonomy.index(concept.id) if known else names.get(normalize_name(concept.label))
        if index is None:
            new.append(concept)
        else:
            present.append((concept, taxonomy.concept_at(index)))
    ids = {concept.id for concept in new}
    # A parent that was new when it was decided about may have another id in the taxonomy now.
    existing = {concept.id: known.id for concept, known in present}
    decided = [(existing.get(parent, parent), child) for parent, child in additions.relations]
    for parent, child in decided:
        if parent not in taxonomy and parent not in ids:
            raise TaxonomyError(
                f"{parent!r}, the parent of {child!r}, is not in the taxonomy; were the "
                "suggestions made for another one? If its row was removed, remove this one too"
            )
    kept = replace(
        additions,
        concepts=tuple(new),
        relations=tuple((parent, child) for parent, child in decided if child in ids),
        moves=tuple(move for move in additions.moves if move.new_parent in ids),
        synonyms=tuple((existing.get(id, id), name) for id, name in additions.synonyms),
    )
    return kept, present


def _with_ids(suggestion: Suggestion, new_ids: Mapping[str, str]) -> Suggestion:
    """Return a suggestion with the final ids of new concepts."""
    query, parent = suggestion.query, suggestion.parent
    if query.id not in new_ids and parent.id not in new_ids:
        return suggestion
    return replace(
        suggestion,
        query=replace(query, id=new_ids.get(query.id, query.id)),
        parent=replace(parent, id=new_ids.get(parent.id, parent.id)),
    )


def expanded_taxonomy(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], acceptance: Acceptance
) -> Taxonomy:
    """Return the taxonomy with the concepts of accepted suggestions, and warn about the others."""
    decided = replace(acceptance, min_score=None, min_confidence=None)
    accepted = accept_suggestions(taxonomy, decide(suggestions, acceptance), decided)
    if accepted.undecided:
        message = f"{pluralize(accepted.undecided, 'concept')} left out"
        reason = "below the threshold, or without a suitable parent"
        warnings.warn(f"{message}: {reason}; min_confidence=0 adds all", stacklevel=3)
    return taxonomy.expanded(accepted.additions)
