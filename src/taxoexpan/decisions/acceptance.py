"""Acceptance of suggestions by thresholds, permissions and a person's decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from taxoexpan.decisions.suggestion import Place, Suggestion, SuggestionKind, Verdict
from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Additions, Move, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.informative_places import is_informative
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.taxonomy.taxonomy import SKIPPED
from taxoexpan.thresholds import DEFAULT_TRUTH, LIKELY


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Thresholds (None: not given) and permissions for accepting suggestions.

    Without a threshold, a concept is placed as deep as the branch confidence reaches `min_branch`,
    or with `exact_only` below its first suggestion if that is more likely right than wrong.
    """

    top_k: int = 1
    min_score: float | None = None
    min_confidence: float | None = None
    min_branch: float = DEFAULT_TRUTH
    exact_only: bool = False
    allow_moves: bool = False
    allow_merges: bool = False
    ids: IdPolicy = DEFAULT_IDS

    def __post_init__(self) -> None:
        for name in ("min_score", "min_confidence", "min_branch"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or not 0 <= value <= 1):
                raise ConfigurationError(f"{name} is {value!r}", fix="it must be from 0 to 1")
        for name in ("exact_only", "allow_moves", "allow_merges"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ConfigurationError(f"{name} is {value!r}", fix="it must be True or False")

    @property
    def has_threshold(self) -> bool:
        """Whether a threshold is given; a threshold of 0 accepts everything."""
        return self.min_score is not None or self.min_confidence is not None

    @property
    def allowed_changes(self) -> list[str]:
        """The allowed changes to existing concepts: moves and synonyms."""
        return ["moves"] * self.allow_moves + ["synonyms"] * self.allow_merges

    def admits(self, suggestion: Suggestion) -> bool:
        """Return whether a suggestion is decided or reaches both thresholds."""
        if suggestion.is_decided:
            return True
        is_sure = not self.min_confidence or (suggestion.confidence or 0.0) >= self.min_confidence
        return is_sure and suggestion.score >= (self.min_score or 0.0)


DEFAULT_ACCEPTANCE = Acceptance()


def select_additions(
    suggestions: Sequence[Suggestion], acceptance: Acceptance = DEFAULT_ACCEPTANCE
) -> Additions:
    """Return the relations to add: the first `top_k` of each query at or above both thresholds.

    Decided suggestions of a query replace its other ones. Children of a rejected new concept are
    rejected too. Call `validate_additions` before the moves and synonyms are applied.
    """
    queries = {s.query.id for s in suggestions}
    suggestions = applicable(suggestions, acceptance)
    if acceptance.min_confidence and any(
        not (s.is_decided or s.is_merge) and s.confidence is None for s in suggestions
    ):
        message = "not all of these suggestions have a confidence"
        cause = "the model could not learn it, or the concepts were placed together"
        raise ConfigurationError(f"{message}: {cause}", fix="use a minimum score instead")
    merging = merges(suggestions, acceptance)
    merged = {s.query.id for s in merging}
    good = [
        s
        for s in suggestions
        if not s.is_merge and s.query.id not in merged and acceptance.admits(s)
    ]
    ranks: dict[str, set[int]] = {}
    for suggestion in good:
        ranks.setdefault(suggestion.query.id, set()).add(suggestion.rank)
    first = {id: frozenset(sorted(own)[: acceptance.top_k]) for id, own in ranks.items()}
    selected = _reachable([s for s in good if s.is_decided or s.rank in first[s.query.id]], queries)
    additions = additions_of(selected, merging if acceptance.allow_merges else ())
    return additions if acceptance.allow_moves else replace(additions, moves=())


def additions_of(selected: Sequence[Suggestion], merging: Sequence[Suggestion]) -> Additions:
    """Return all that is to be added for some placements and merges."""
    concepts = {s.query.id: s.query for s in selected}
    relations = dict.fromkeys((s.parent.id, s.query.id) for s in selected)
    moves = _moves_of(selected)
    synonyms = _synonyms_of(merging)
    return Additions(tuple(concepts.values()), tuple(relations), moves=moves, synonyms=synonyms)


def applicable(suggestions: Sequence[Suggestion], acceptance: Acceptance) -> list[Suggestion]:
    """Return each query's decided suggestions or, if there are none, the selectable ones.

    A person must decide about a query whose name is similar to an existing one.
    """
    decided = {s.query.id for s in suggestions if s.is_decided}
    left = {s.query.id for s in similar(suggestions)}
    choosable = {Verdict.OPEN, Verdict.UNDECIDED} if acceptance.has_threshold else {Verdict.OPEN}
    # A finer suggestion that a person has accepted replaces the coarse one.
    finer = {s.query.id for s in suggestions if s.is_decided and s.kind != SuggestionKind.COARSE}
    return [
        s
        for s in suggestions
        if s.query.id not in left
        and (s.is_decided or (s.query.id not in decided and s.decision in choosable))
        and not (s.kind == SuggestionKind.COARSE and s.query.id in finer)
    ]


def _reachable(selected: Sequence[Suggestion], queries: Collection[str]) -> list[Suggestion]:
    """Remove the suggestions whose parent is a new concept that is not added."""
    kept = list(selected)
    before = -1
    while len(kept) != before:
        before = len(kept)
        placed = {s.query.id for s in kept}
        kept = [s for s in kept if s.parent.id not in queries or s.parent.id in placed]
    return kept


def _moves_of(selected: Sequence[Suggestion]) -> tuple[Move, ...]:
    """Return the moves of the inserts, most important first.

    If two inserts claim one child, a person's insert comes first, then the longer and thus more
    specific name (oat milk before milk, for organic oat milk), then the higher confidence.
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
    """Return the merged names and the existing ids: a person's own first, then by confidence."""

    def priority(merge: Suggestion) -> tuple[object, ...]:
        label = merge.query.label
        ids = (normalize_name(label), merge.parent.id, label)
        return (bool(merge.rank), -merge.confidence_or_score, *ids)

    ordered = sorted(merging, key=priority)
    names = ((s.parent.id, n) for s in ordered for n in (s.query.label, *s.query.synonyms))
    return tuple(dict.fromkeys(names))


def merges(
    suggestions: Sequence[Suggestion], acceptance: Acceptance = DEFAULT_ACCEPTANCE
) -> list[Suggestion]:
    """Return the first suggestions of queries that are merges at or above both thresholds."""
    return _first_of_each(suggestions, lambda s: s.is_merge and acceptance.admits(s))


def no_suitable_parent(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the first suggestions of the queries that have no suitable parent and no merge."""
    return _first_of_each(suggestions, lambda s: s.place == Place.NONE and not s.is_merge)


def similar(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the first suggestions of undecided queries that have a similar name."""
    decided = {s.query.id for s in suggestions if s.is_decided}
    kept = [s for s in suggestions if s.decision != Verdict.REJECTED and s.query.id not in decided]
    return _first_of_each(kept, lambda s: s.kind == SuggestionKind.SIMILAR)


def _first_of_each(
    suggestions: Sequence[Suggestion], wanted: Callable[[Suggestion], bool]
) -> list[Suggestion]:
    """Return the suggestion of the lowest rank of each query, if it is wanted."""
    first: dict[str, Suggestion] = {}
    for suggestion in sorted(suggestions, key=lambda s: s.rank):
        first.setdefault(suggestion.query.id, suggestion)
    return [suggestion for suggestion in first.values() if wanted(suggestion)]


def decide(
    suggestions: Sequence[Suggestion], acceptance: Acceptance, taxonomy: Taxonomy
) -> list[Suggestion]:
    """Mark the suggestions to add as accepted, and those for all other concepts as undecided.

    Without a threshold, concepts without a suitable parent are undecided, and the others are
    placed safely (`place_safely`), or with exact parents only if they are likely. Merges are not
    marked: the permission to merge decides about them. Concepts that are decided or undecided
    already, or whose first suggestion a person has removed, stay as they are.
    """
    candidates = open_suggestions(suggestions)
    open_ids = {s.query.id for s in candidates}
    coarse = set[str]()
    if not acceptance.has_threshold:
        ranked = candidates
        unsuitable = {s.query.id for s in no_suitable_parent(ranked)}
        candidates = [s for s in ranked if s.query.id not in unsuitable]
        if places_safely(acceptance, ranked):
            rejected = {
                (s.query.id, s.parent.id) for s in suggestions if s.decision == Verdict.REJECTED
            }
            placed = place_safely(candidates, acceptance.min_branch, taxonomy, rejected)
            suggestions = _with_coarse(suggestions, placed)
            sure = {(s.query.id, s.rank) for s in placed}
            added = [s for s in placed if s.kind == SuggestionKind.COARSE]
            candidates = [s for s in ranked if s.is_merge or (s.query.id, s.rank) in sure] + added
            coarse = {s.query.id for s in added}
        elif have_confidence(ranked):
            acceptance = replace(acceptance, min_confidence=LIKELY)
    chosen = select_additions(candidates, acceptance)
    relations = set(chosen.relations)
    handled = {concept.id for concept in chosen.concepts}
    handled |= {s.query.id for s in merges(applicable(candidates, acceptance), acceptance)}

    def verdict(s: Suggestion) -> Verdict:
        if s.decision or s.query.id not in open_ids:
            return s.decision
        # A finer suggestion may have the same parent as a coarse placement.
        is_other = s.query.id in coarse and s.kind != SuggestionKind.COARSE
        if (s.parent.id, s.query.id) in relations and not s.is_merge and not is_other:
            return Verdict.ACCEPTED
        return s.decision if s.query.id in handled else Verdict.UNDECIDED

    return [replace(s, decision=verdict(s)) for s in suggestions]


def open_suggestions(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the suggestions that a rule may choose from, because nobody has decided."""
    by_person = {s.query.id for s in suggestions if s.is_decided or s.curator}
    decided = by_person | {s.query.id for s in suggestions if s.decision == Verdict.UNDECIDED}
    open_ids = {s.query.id for s in suggestions if s.rank == 1} - decided
    return [s for s in suggestions if s.query.id in open_ids and not s.decision]


def places_safely(acceptance: Acceptance, suggestions: Sequence[Suggestion]) -> bool:
    """Return whether concepts are placed as deep as is sure: one parent each, known branches."""
    if acceptance.has_threshold or acceptance.exact_only or acceptance.top_k > 1:
        return False
    return bool(suggestions) and all(s.levels for s in suggestions if not s.is_merge)


def place_safely(
    suggestions: Sequence[Suggestion],
    min_branch: float,
    taxonomy: Taxonomy,
    rejected: Collection[tuple[str, str]] = (),
) -> list[Suggestion]:
    """Return each query's first suggestion, or the deepest concept above it that is sure enough.

    The branch of the concept must contain the true parent with this confidence, and be informative
    (`is_informative`). A query whose first suggestion is a merge is left out. `rejected` has pairs
    of query and parent that a person has rejected.
    """
    placed = []
    last = {s.query.id: s.rank for s in sorted(suggestions, key=lambda s: s.rank)}
    for first in _first_of_each(suggestions, lambda s: not s.is_merge):
        lineage = _lineage(first, taxonomy)
        if lineage is None:
            continue
        if first.levels[-1] >= min_branch and is_informative(*lineage)[-1]:
            placed.append(first)
            continue
        above = [
            s
            for s in coarse_places(first, taxonomy)
            if (s.confidence or 0.0) >= min_branch and (s.query.id, s.parent.id) not in rejected
        ]
        placed += [replace(s, rank=last[first.query.id] + 1) for s in above[-1:]]
    return placed


def _lineage(first: Suggestion, taxonomy: Taxonomy) -> tuple[Taxonomy, Indices] | None:
    """Return the concepts on the path of a suggestion, and the taxonomy that has this path.

    Return None if the branches are not known, or if the taxonomy has changed.
    """
    if not first.levels or first.parent.id not in taxonomy:
        return None
    # The model that made the suggestion has the concepts in this order.
    active = taxonomy.canonical.without_deprecated_relations
    lineage = active.short_lineage(active.index(first.parent.id))
    return (active, lineage) if len(lineage) == len(first.levels) else None


def coarse_places(first: Suggestion, taxonomy: Taxonomy) -> list[Suggestion]:
    """Return the placements above a suggestion that are informative, from the top down."""
    known = _lineage(first, taxonomy)
    if known is None:
        return []
    active, lineage = known
    is_place = is_informative(active, lineage)
    return [
        replace(
            first,
            rank=0,
            parent=active.concept_at(int(lineage[depth])),
            path=first.path[: depth + 1],
            levels=first.levels[: depth + 1],
            score=first.levels[depth],
            confidence=first.levels[depth],
            kind=SuggestionKind.COARSE,
            moves=(),
            why="",
        )
        for depth in range(1, len(lineage) - 1)
        if is_place[depth] and first.path[depth] != SKIPPED
    ]


def _with_coarse(
    suggestions: Sequence[Suggestion], placed: Sequence[Suggestion]
) -> list[Suggestion]:
    """Insert the coarse placements after the other suggestions of their queries."""
    last = {s.query.id: position for position, s in enumerate(suggestions)}
    coarse = [(last[s.query.id], s) for s in placed if s.kind == SuggestionKind.COARSE]
    ordered = sorted([*enumerate(suggestions), *coarse], key=itemgetter(0))  # stable
    return [suggestion for _, suggestion in ordered]


def have_confidence(suggestions: Sequence[Suggestion]) -> bool:
    """Return whether the confidence of all suggestions is known."""
    return all(s.confidence is not None for s in suggestions if not s.is_merge)


def undecided_reasons(suggestions: Sequence[Suggestion], ids: Collection[str]) -> Counter[str]:
    """Count the queries with these ids by the reason why they are undecided."""
    similar_ids = {s.query.id for s in similar(suggestions)}

    def reason(first: Suggestion) -> str:
        if first.query.id in similar_ids:
            return "similar to an existing concept"
        return "without a suitable parent" if first.place == Place.NONE else "not sure enough"

    return Counter(map(reason, _first_of_each(suggestions, lambda s: s.query.id in ids)))


def leave_undecided(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Mark all suggestions as undecided."""
    return [replace(s, decision=Verdict.UNDECIDED) for s in suggestions]
