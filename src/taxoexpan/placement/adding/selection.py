"""Selecting the suggestions that become additions to a taxonomy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.placement.suggesting.suggestions import Decision, Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name


def select_additions(
    suggestions: Sequence[Suggestion],
    top_k: int = 1,
    min_score: float = 0.0,
    min_confidence: float = 0.0,
    allow_moves: bool = False,
    allow_merges: bool = False,
    undecided: bool = False,
) -> Additions:
    """Return the relations to add: the first `top_k` of each query at or above both thresholds.

    If a person has removed the first rank, the next one counts as the first. If there are decided
    suggestions of a query (accepted, or without a rank), all of these are added, and no others.
    Undecided ones are considered only with `undecided`. Children of a rejected new concept are
    rejected too. Moves and synonyms are returned only if they are allowed. They must be validated
    (`validate_additions`) before they are applied.
    """
    queries = {s.query.id for s in suggestions}
    suggestions = applicable(suggestions, undecided)
    if min_confidence and any(not s.is_decided and s.confidence is None for s in suggestions):
        message = "not all of these suggestions have a confidence"
        cause = "the model could not learn it, or the concepts were placed together"
        raise ConfigurationError(f"{message}: {cause}; use a minimum score instead")
    merging = merges(suggestions, min_score, min_confidence)
    merged = {s.query.id for s in merging}
    good = [
        s
        for s in suggestions
        if s.kind != SuggestionKind.MERGE
        and s.query.id not in merged
        and _is_accepted(s, min_score, min_confidence)
    ]
    ranks: dict[str, set[int]] = {}
    for suggestion in good:
        ranks.setdefault(suggestion.query.id, set()).add(suggestion.rank)
    first = {id: frozenset(sorted(own)[:top_k]) for id, own in ranks.items()}
    selected = _reachable([s for s in good if s.is_decided or s.rank in first[s.query.id]], queries)
    concepts = {s.query.id: s.query for s in selected}
    relations = dict.fromkeys((s.parent.id, s.query.id) for s in selected)
    return Additions(
        tuple(concepts.values()),
        tuple(relations),
        moves=_moves_of(selected) if allow_moves else (),
        synonyms=_synonyms_of(merging) if allow_merges else (),
    )


def applicable(suggestions: Sequence[Suggestion], undecided: bool = False) -> list[Suggestion]:
    """Return the decided suggestions of each query or, if there are none, those that may be chosen.

    Rejected ones may not be chosen, and undecided ones only with `undecided`.
    """
    decided = {s.query.id for s in suggestions if s.is_decided}
    choosable = {Decision.OPEN, Decision.UNDECIDED} if undecided else {Decision.OPEN}
    return [
        s
        for s in suggestions
        if s.is_decided or (s.query.id not in decided and s.decision in choosable)
    ]


def _reachable(selected: Sequence[Suggestion], queries: Collection[str]) -> list[Suggestion]:
    """Remove the suggestions whose parent is a new concept that is not added itself."""
    kept, before = list(selected), -1
    while len(kept) != before:
        before, placed = len(kept), {s.query.id for s in kept}
        kept = [s for s in kept if s.parent.id not in queries or s.parent.id in placed]
    return kept


def _moves_of(selected: Sequence[Suggestion]) -> tuple[Move, ...]:
    """Return the moves of the inserts, most important first.

    If two inserts claim one child, a person's own comes first, then the longer name, since it is
    more specific (of oat milk and milk, the former gets organic oat milk), then the more confident.
    """

    def priority(insert: Suggestion) -> tuple[object, ...]:
        name = normalize_name(insert.query.label)
        specificity = (-len(name.split()), -len(name))
        ids = (name, insert.query.id, insert.parent.id)
        return (bool(insert.rank), *specificity, -insert.confidence_or_score, *ids)

    inserts = sorted((s for s in selected if s.kind == SuggestionKind.INSERT), key=priority)
    moves = (Move(id, s.parent.id, s.query.id) for s in inserts for id in sorted(s.moves))
    return tuple(dict.fromkeys(moves))


def _synonyms_of(merging: Sequence[Suggestion]) -> tuple[tuple[str, str], ...]:
    """Return the names of merged queries, each with the id of the existing concept.

    If two queries have the same name, a person's own comes first, then the more confident.
    """

    def priority(merge: Suggestion) -> tuple[object, ...]:
        label = merge.query.label
        ids = (normalize_name(label), merge.parent.id, label)
        return (bool(merge.rank), -merge.confidence_or_score, *ids)

    ordered = sorted(merging, key=priority)
    names = ((s.parent.id, n) for s in ordered for n in (s.query.label, *s.query.synonyms))
    return tuple(dict.fromkeys(names))


def merges(
    suggestions: Sequence[Suggestion], min_score: float = 0.0, min_confidence: float = 0.0
) -> list[Suggestion]:
    """Return the first suggestions that propose a merge, at or above both thresholds."""
    return [
        s
        for s in _first_of_each(suggestions)
        if s.kind == SuggestionKind.MERGE and _is_accepted(s, min_score, min_confidence)
    ]


def no_suitable_parent(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the first suggestions of the queries that have no suitable parent and no merge."""
    return [
        s
        for s in _first_of_each(suggestions)
        if s.place == Place.NONE and s.kind != SuggestionKind.MERGE
    ]


def _first_of_each(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return each query's suggestion of the lowest rank."""
    first: dict[str, Suggestion] = {}
    for suggestion in sorted(suggestions, key=lambda s: s.rank):
        first.setdefault(suggestion.query.id, suggestion)
    return list(first.values())


def _is_accepted(suggestion: Suggestion, min_score: float, min_confidence: float) -> bool:
    """Return whether a suggestion is decided, or reaches both thresholds."""
    if suggestion.is_decided:
        return True
    confidence = suggestion.confidence or 0.0
    return suggestion.score >= min_score and (not min_confidence or confidence >= min_confidence)


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


def refuse_other_labels(taxonomy: Taxonomy, suggestions: Iterable[Suggestion]) -> None:
    """Refuse a ranked parent with another label than in the taxonomy: it was edited, or is foreign.

    The label of a person's own decision, which has no rank, is ignored: only the id counts.
    """
    for suggestion in suggestions:
        id, given = suggestion.parent.id, suggestion.parent.label
        if suggestion.rank and given and id in taxonomy and taxonomy.concept(id).label != given:
            label = taxonomy.concept(id).label
            raise TaxonomyError(
                f"the parent {id!r} of {suggestion.query.label!r} is {label!r} in the taxonomy, "
                f"but {given!r} in the suggestions; to choose another parent, change the parent_id "
                "and clear the rank"
            )
