"""Which suggestions become additions to a taxonomy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.placement.suggestions import INSERT, MERGE, NO_PLACE, Suggestion
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.ids import with_ids
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name


def choose(
    suggestions: Sequence[Suggestion],
    top_k: int = 1,
    min_score: float = 0.0,
    min_confidence: float = 0.0,
    allow_moves: bool = False,
    allow_merges: bool = False,
) -> Additions:
    """The relations to add: for each query its first `top_k`, none below either minimum.

    Where a person has removed the first rank, the next that is there counts as the first. Rows
    with a blank rank (0 here) are a person's own: all of them come first. Under a new concept that
    is not chosen nothing is. What the chosen inserts
    would move, and what merges would add to the names that are there, is told only if allowed, and
    is to be settled with the taxonomy (`settle`) before it is applied.
    """
    if min_confidence and any(s.rank and s.confidence is None for s in suggestions):
        message = "not all of these suggestions tell how sure they are"
        cause = "the model could not learn it, or they were placed together"
        raise ConfigurationError(f"{message}: {cause}; choose by the score")
    alike = merges(suggestions, min_confidence, min_score)
    merged = {s.query.id for s in alike}
    good = [
        s
        for s in suggestions
        if s.kind != MERGE
        and s.query.id not in merged
        and s.score >= min_score
        and _is_sure(s, min_confidence)
    ]
    ranks: dict[str, set[int]] = {}
    for suggestion in good:
        ranks.setdefault(suggestion.query.id, set()).add(suggestion.rank)
    first = {id: frozenset(sorted(left)[:top_k]) for id, left in ranks.items()}
    asked = {s.query.id for s in suggestions}
    chosen = _rooted([s for s in good if s.rank in first[s.query.id]], asked)
    concepts = {s.query.id: s.query for s in chosen}
    relations = dict.fromkeys((s.parent.id, s.query.id) for s in chosen)
    return Additions(
        tuple(concepts.values()),
        tuple(relations),
        moves=_moves_of(chosen) if allow_moves else (),
        synonyms=_names_of(alike) if allow_merges else (),
    )


def _rooted(chosen: Sequence[Suggestion], asked: Collection[str]) -> list[Suggestion]:
    """Without those under a new concept of which nothing is left: they have no place either."""
    left, before = list(chosen), -1
    while len(left) != before:
        before, placed = len(left), {s.query.id for s in left}
        left = [s for s in left if s.parent.id not in asked or s.parent.id in placed]
    return left


def _moves_of(chosen: Sequence[Suggestion]) -> tuple[Move, ...]:
    """What the inserts would move, in the order in which it is to be considered.

    Where two claim one child, a person's own comes first, then the longer name, since it says
    more (of oat milk and milk the former has organic oat milk), then what is surer.
    """

    def urgency(insert: Suggestion) -> tuple[object, ...]:
        name = normalize_name(insert.query.label)
        ids = (name, insert.query.id, insert.parent.id)
        return (
            bool(insert.rank),
            -len(name.split()),
            -len(name),
            -insert.confidence_or_score,
            *ids,
        )

    inserts = sorted((s for s in chosen if s.kind == INSERT), key=urgency)
    shifts = (Move(id, s.parent.id, s.query.id) for s in inserts for id in sorted(s.moves))
    return tuple(dict.fromkeys(shifts))


def _names_of(alike: Sequence[Suggestion]) -> tuple[tuple[str, str], ...]:
    """The names of what is merged, each with the id of what it is another name of.

    Where two have one name, a person's own comes first, then what is surer.
    """

    def urgency(merge: Suggestion) -> tuple[object, ...]:
        name = merge.query.label
        return (
            bool(merge.rank),
            -merge.confidence_or_score,
            normalize_name(name),
            merge.parent.id,
            name,
        )

    ordered = sorted(alike, key=urgency)
    names = ((s.parent.id, n) for s in ordered for n in (s.query.label, *s.query.synonyms))
    return tuple(dict.fromkeys(names))


def merges(
    suggestions: Sequence[Suggestion], min_confidence: float = 0.0, min_score: float = 0.0
) -> list[Suggestion]:
    """Those that say first of all that a query is another name of what is there."""
    return [
        s
        for s in _first_of_each(suggestions)
        if s.kind == MERGE and s.score >= min_score and _is_sure(s, min_confidence)
    ]


def without_place(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """The first of those queries that have no good place, and are no other names either."""
    return [s for s in _first_of_each(suggestions) if s.place == NO_PLACE and s.kind != MERGE]


def _first_of_each(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Each query's suggestion of the lowest rank."""
    first: dict[str, Suggestion] = {}
    for suggestion in sorted(suggestions, key=lambda s: s.rank):
        first.setdefault(suggestion.query.id, suggestion)
    return list(first.values())


def _is_sure(suggestion: Suggestion, least: float) -> bool:
    """Whether a suggestion is sure enough; a person's own always is."""
    return not suggestion.rank or not least or (suggestion.confidence or 0.0) >= least


def with_query_ids(taxonomy: Taxonomy, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """The suggestions, each query with an id: one for all rows of a name that have none."""
    nameless = {s.query.label: s.query for s in suggestions if not s.query.id}
    # Ids that other rows bring are taken as well.
    others = list({s.query.id: s.query for s in suggestions if s.query.id}.values())
    named = with_ids(taxonomy, [*others, *nameless.values()])[len(others) :]
    ids = {query.label: query for query in named}
    return [s if s.query.id else replace(s, query=ids[s.query.label]) for s in suggestions]


def keep_new(
    taxonomy: Taxonomy, additions: Additions
) -> tuple[Additions, list[tuple[Concept, Concept]]]:
    """The additions without what the taxonomy holds already, and that beside what it is there.

    The old taxonomy is never changed, so an existing concept gets no further parent.
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
    for parent, child in additions.relations:
        if parent not in taxonomy and parent not in ids:
            raise TaxonomyError(
                f"{parent!r}, the parent of {child!r}, is not in the taxonomy; were the "
                "suggestions made for another one? If its row was taken out, take this out too"
            )
    relations = [(parent, child) for parent, child in additions.relations if child in ids]
    moves = [shift for shift in additions.moves if shift.new_parent in ids]
    kept = replace(additions, concepts=tuple(new), relations=tuple(relations), moves=tuple(moves))
    return kept, present


def refuse_other_labels(taxonomy: Taxonomy, suggestions: Iterable[Suggestion]) -> None:
    """A parent's label must be the taxonomy's: else it was edited, or is of another taxonomy."""
    for suggestion in suggestions:
        id, told = suggestion.parent.id, suggestion.parent.label
        if told and id in taxonomy and taxonomy.concept(id).label != told:
            label = taxonomy.concept(id).label
            raise TaxonomyError(
                f"the parent {id!r} of {suggestion.query.label!r} is {label!r} in the taxonomy "
                f"and {told!r} in the suggestions; to choose another parent change the parent_id"
            )


_OTHER = "is not in the taxonomy; were the suggestions made for another one?"


@dataclass(frozen=True, slots=True)
class ValidatedAdditions:
    """What is added and moved, and in words what of it is not."""

    additions: Additions
    left_out: list[str]


def validate_additions(taxonomy: Taxonomy, additions: Additions) -> ValidatedAdditions:
    """Keep of the moves those that are safe, and of the further names those that are new.

    The moves come in the order in which they are to be considered. A child moves once; it must be
    under the parent still; and it must not be above the concept that it would go below.
    """
    labels = {concept.id: concept.label for concept in additions.concepts}
    moves, refused = _settle_moves(taxonomy, additions, labels)
    left_out = []
    for (child, left, joined), reason in refused:
        name, parent, new = (
            labels[id] if id in labels else taxonomy.concept(id).label
            for id in (child, left, joined)
        )
        left_out.append(f"{name!r} is not moved from {parent!r} below {new!r}: {reason}")
    synonyms, known = _settle_names(taxonomy, additions)
    settled = replace(additions, moves=tuple(moves), synonyms=tuple(synonyms))
    return ValidatedAdditions(settled, [*left_out, *known])


def _settle_moves(
    taxonomy: Taxonomy, additions: Additions, labels: Mapping[str, str]
) -> tuple[list[Move], list[tuple[Move, str]]]:
    """The moves that are safe one after the other, and the others with a reason."""
    above: dict[str, list[str]] = {concept.id: [] for concept in additions.concepts}
    for parent, child in additions.relations:
        above.setdefault(child, []).append(parent)
    moves: dict[str, Move] = {}
    refused = []
    for shift in additions.moves:
        child, left, joined = shift
        if child not in taxonomy:
            raise TaxonomyError(f"{child!r}, which is to move below {joined!r}, {_OTHER}")
        if left not in taxonomy.parents(child):
            refused.append((shift, "it is not under that"))
        elif child in moves:
            other = moves[child].new_parent
            kept = ", and keeps this parent; take that relation out by hand" * (other == joined)
            refused.append((shift, f"it moves below {labels.get(other, other)!r} already{kept}"))
        elif child in _ancestors(taxonomy, above, joined):
            refused.append((shift, "that would be below it"))
        else:
            moves[child] = shift
            parents = taxonomy.parents(child)
            above[child] = [joined if parent == left else parent for parent in parents]
    return list(moves.values()), refused


def _ancestors(taxonomy: Taxonomy, changed: Mapping[str, Sequence[str]], id: str) -> set[str]:
    """All that is above a concept, by the parents that changed and those that did not."""
    found: set[str] = set()
    waiting = [id]
    while waiting:
        here = waiting.pop()
        parents = changed[here] if here in changed else taxonomy.parents(here)
        waiting += [parent for parent in parents if parent not in found]
        found.update(parents)
    return found


def _settle_names(
    taxonomy: Taxonomy, additions: Additions
) -> tuple[list[tuple[str, str]], list[str]]:
    """A name that anything has already is no further name, of whatever it is."""
    if not additions.synonyms:
        return [], []
    owners = {name: taxonomy.labels[index] for name, index in known_names(taxonomy).items()}
    for concept in additions.concepts:
        owners |= {
            normalize_name(name): concept.label for name in (concept.label, *concept.synonyms)
        }
    synonyms, left_out = [], []
    for id, name in additions.synonyms:
        if id not in taxonomy:
            raise TaxonomyError(f"{id!r}, of which {name!r} is to be another name, {_OTHER}")
        if normalize_name(name) in owners:
            owner = owners[normalize_name(name)]
            left_out.append(f"{name!r} is not added as another name: it is one of {owner!r}")
        else:
            owners[normalize_name(name)] = taxonomy.concept(id).label
            synonyms.append((id, name))
    return synonyms, left_out
