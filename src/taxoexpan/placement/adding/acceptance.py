"""Acceptance of suggestions by thresholds, permissions and a person's decisions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind, Verdict
from taxoexpan.taxonomy import Additions, Move
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.names import normalize_name

DEFAULT_MIN_CONFIDENCE = 0.5
"""Without other thresholds, a placement is accepted if it is more likely right than wrong."""


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Thresholds (None: not given) and permissions for accepting suggestions."""

    top_k: int = 1
    min_score: float | None = None
    min_confidence: float | None = None
    allow_moves: bool = False
    allow_merges: bool = False
    ids: IdPolicy = DEFAULT_IDS

    def __post_init__(self) -> None:
        for name in ("min_score", "min_confidence"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or not 0 <= value <= 1):
                raise ConfigurationError(f"{name} is {value!r}; it must be from 0 to 1")
        for name in ("allow_moves", "allow_merges"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ConfigurationError(f"{name} is {value!r}; it must be True or False")

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
        not s.is_decided and s.confidence is None for s in suggestions
    ):
        message = "not all of these suggestions have a confidence"
        cause = "the model could not learn it, or the concepts were placed together"
        raise ConfigurationError(f"{message}: {cause}; use a minimum score instead")
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
    concepts = {s.query.id: s.query for s in selected}
    relations = dict.fromkeys((s.parent.id, s.query.id) for s in selected)
    return Additions(
        tuple(concepts.values()),
        tuple(relations),
        moves=_moves_of(selected) if acceptance.allow_moves else (),
        synonyms=_synonyms_of(merging) if acceptance.allow_merges else (),
    )


def applicable(suggestions: Sequence[Suggestion], acceptance: Acceptance) -> list[Suggestion]:
    """Return each query's decided suggestions or, if there are none, the selectable ones."""
    decided = {s.query.id for s in suggestions if s.is_decided}
    choosable = {Verdict.OPEN, Verdict.UNDECIDED} if acceptance.has_threshold else {Verdict.OPEN}
    return [
        s
        for s in suggestions
        if s.is_decided or (s.query.id not in decided and s.decision in choosable)
    ]


def _reachable(selected: Sequence[Suggestion], queries: Collection[str]) -> list[Suggestion]:
    """Remove the suggestions whose parent is a new concept that is not added."""
    kept, before = list(selected), -1
    while len(kept) != before:
        before, placed = len(kept), {s.query.id for s in kept}
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


def _first_of_each(
    suggestions: Sequence[Suggestion], wanted: Callable[[Suggestion], bool]
) -> list[Suggestion]:
    """Return the suggestion of the lowest rank of each query, if it is wanted."""
    first: dict[str, Suggestion] = {}
    for suggestion in sorted(suggestions, key=lambda s: s.rank):
        first.setdefault(suggestion.query.id, suggestion)
    return [suggestion for suggestion in first.values() if wanted(suggestion)]


def decide(suggestions: Sequence[Suggestion], acceptance: Acceptance) -> list[Suggestion]:
    """Mark the suggestions to add as accepted, and those for all other concepts as undecided.

    Without a threshold, concepts without a suitable parent are undecided, and a known confidence
    must reach `DEFAULT_MIN_CONFIDENCE`. Merges are not marked: the permission to merge decides
    about them.
    """
    candidates = list(suggestions)
    if not acceptance.has_threshold:
        unsuitable = {s.query.id for s in no_suitable_parent(suggestions)}
        candidates = [s for s in suggestions if s.query.id not in unsuitable]
        if have_confidence(suggestions):
            acceptance = replace(acceptance, min_confidence=DEFAULT_MIN_CONFIDENCE)
    chosen = select_additions(candidates, acceptance)
    relations = set(chosen.relations)
    handled = {concept.id for concept in chosen.concepts}
    handled |= {s.query.id for s in merges(candidates, acceptance)}

    def verdict(s: Suggestion) -> Verdict:
        if (s.parent.id, s.query.id) in relations and not s.is_merge:
            return Verdict.ACCEPTED
        return s.decision if s.query.id in handled else Verdict.UNDECIDED

    return [replace(s, decision=verdict(s)) for s in suggestions]


def have_confidence(suggestions: Sequence[Suggestion]) -> bool:
    """Return whether the confidence of all suggestions is known."""
    return all(s.confidence is not None for s in suggestions)


def leave_undecided(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Mark all suggestions as undecided."""
    return [replace(s, decision=Verdict.UNDECIDED) for s in suggestions]
