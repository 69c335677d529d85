"""From decisions to additions: concepts, relations, safe moves, new synonyms, and their source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from taxoexpan.decisions.decision import (
    Decision,
    Leave,
    Merge,
    Place,
    Reason,
    Refusal,
)
from taxoexpan.decisions.suggestion import Suggestion, SuggestionError, SuggestionKind
from taxoexpan.errors import TaxonomyError
from taxoexpan.formats.tables.formulas import with_apostrophe
from taxoexpan.formats.taxonomy_file import NOTHING_WRITTEN, WrittenFiles
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.id_assignment import final_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.mappings import ConceptMapping, Justification
from taxoexpan.taxonomy.names import normalize_name

NUM_REFINED = 3
"""Possible parents that the note on a coarse placement names."""
_FOREIGN_FIX = (
    "were the suggestions made for another one? If it is a new concept that is no longer "
    "accepted, remove this row, or decide again"
)


@dataclass(frozen=True)
class AppliedSuggestions:
    """What follows from decisions, why some of them change nothing, and the written files.

    Examples:
        >>> from taxoexpan import expand_file
        >>> files = ("examples/instruments.ttl", "examples/new-instruments.csv", "new.ttl")
        >>> applied = expand_file(*files, preset="fast", quiet=True, min_confidence=0)
        >>> len(applied.additions.concepts)
        11
    """

    decisions: Sequence[Decision]
    """All decisions, with the final ids of the new concepts."""
    additions: Additions
    already_present: Sequence[tuple[Concept, Concept]]
    """The concepts to place that the taxonomy has already, each with the existing one."""
    refused: Sequence[Refusal]
    """The moves and synonyms that are not safe."""
    written: WrittenFiles = NOTHING_WRITTEN
    protected: int = 0
    """The number of new texts that got an apostrophe, because a spreadsheet would compute them."""

    @property
    def merged(self) -> list[Suggestion]:
        """The suggestions of the concepts that became synonyms."""
        new = (name for concept in self.additions.concepts for name in concept.synonyms)
        names = {name for _, name in self.additions.synonyms} | set(new)
        merges = [s for d in self.decisions if isinstance(d, Merge) for s in d.suggestions]
        return [merge for merge in merges if merge.query.label in names]

    @property
    def synonyms(self) -> list[Suggestion]:
        """The suggestions of the concepts that became, or probably are, synonyms, by rank."""
        probable = self.left(Reason.MERGE)
        found = [each for each in self.decisions if isinstance(each, Merge) or each in probable]
        return sorted((s for each in found for s in each.suggestions), key=lambda s: s.rank)

    def left(self, *reasons: Reason) -> list[Leave]:
        """Return the concepts that are left for one of these reasons."""
        return [d for d in self.decisions if isinstance(d, Leave) and d.reason in reasons]

    def namesakes(self, taxonomy: Taxonomy) -> list[tuple[Concept, Concept]]:
        """Return the new concepts with the name of an existing or new one, each with that one.

        Only persons add concepts with the name of an existing one; a policy takes them for it.
        """
        added = self.additions.concepts
        by_person = {concept.id for concept in added} & self.additions.curators.keys()
        names = known_names(taxonomy) if by_person else {}
        first: dict[str, Concept] = {}
        found = []
        for concept in added:
            name = normalize_name(concept.label)
            known = names.get(name) if concept.id in by_person else None
            other = first.setdefault(name, concept)
            if known is not None:
                found.append((concept, taxonomy.concept_at(known)))
            elif other is not concept:
                found.append((concept, other))
        return found

    def mappings(self, own_ids: Collection[str] = ()) -> list[ConceptMapping]:
        """Return one mapping per synonym, without provisional ids (not in `own_ids`)."""
        return [
            ConceptMapping(
                merge.query.id if merge.query.id in own_ids else "",
                merge.query.label,
                merge.parent.id,
                merge.parent.label,
                Justification.COMPOSITE if merge.is_ranked else Justification.MANUAL,
                merge.confidence_or_score if merge.is_ranked else None,
            )
            for merge in self.synonyms
        ]


def namesake_message(new: Concept, known: Concept) -> str:
    """Return a message about a new concept with the name of another one."""
    message = f"{new.label!r} is added, although {known.label!r} ({known.id}) has the same name"
    return f"{message}; if it is the same concept, merge it"


def to_additions(
    taxonomy: Taxonomy, decisions: Sequence[Decision], ids: IdPolicy = DEFAULT_IDS
) -> AppliedSuggestions:
    """Return what decisions add to a taxonomy, with ids for the new concepts."""
    additions, present, refused = safe_additions(taxonomy, decisions)
    new_ids = final_ids(taxonomy, additions.concepts, additions.relations, ids)
    final = [_with_ids(decision, new_ids) for decision in decisions] if new_ids else decisions
    return AppliedSuggestions(final, additions.with_ids(new_ids), present, refused)


def safe_additions(
    taxonomy: Taxonomy, decisions: Sequence[Decision]
) -> tuple[Additions, list[tuple[Concept, Concept]], list[Refusal]]:
    """Return what decisions add, the concepts that exist already, and the changes refused."""
    placed = [decision for decision in decisions if isinstance(decision, Place)]
    present = _present(taxonomy, placed)
    new = [decision for decision in placed if decision.query.id not in present]
    concepts = {decision.query.id: decision.query for decision in new}
    relations = [
        (parent, child)
        for parent, child in _relations(taxonomy, placed, present)
        if child in concepts
    ]
    moves, refused = _safe_moves(taxonomy, concepts, relations, _moves_of(new))
    merged = _merged(taxonomy, concepts, decisions, present)
    synonyms, known = _new_synonyms(taxonomy, concepts, _synonyms_of(merged, present))
    for id, name in synonyms:
        if id in concepts:
            concept = concepts[id]
            concepts[id] = replace(concept, synonyms=(*concept.synonyms, name))
    applied = [each for each in decisions if isinstance(each, Place | Merge)]
    additions = Additions(
        tuple(concepts.values()),
        tuple(relations),
        tuple(moves),
        tuple((id, name) for id, name in synonyms if id not in concepts),
        agent=f"taxoexpan {version('taxoexpan')}",
        reasons=_reasons(applied),
        tasks=_tasks(placed),
        curators={each.query.id: each.curator for each in applied if each.curator},
    )
    existing = [(d.query, present[d.query.id]) for d in placed if d.query.id in present]
    return additions, existing, [*refused, *known]


def _moves_of(placed: Sequence[Place]) -> list[Move]:
    """Return the moves of the inserts, most important first.

    If two inserts claim one child, a person's insert comes first, then the longer and thus more
    specific name (oat milk before milk, for organic oat milk), then the higher confidence.
    """

    def priority(insert: Suggestion) -> tuple[object, ...]:
        name = normalize_name(insert.query.label)
        specificity = (-len(name.split()), -len(name))
        ids = (name, insert.query.id, insert.parent.id)
        return (insert.is_ranked, *specificity, -insert.confidence_or_score, *ids)

    moving = (s for d in placed if d.is_moving for s in d.suggestions)
    inserts = sorted((s for s in moving if s.kind == SuggestionKind.INSERT), key=priority)
    moves = (Move(id, s.parent.id, s.query.id) for s in inserts for id in sorted(s.moves))
    return list(dict.fromkeys(moves))


def _merged(
    taxonomy: Taxonomy,
    new: Mapping[str, Concept],
    decisions: Sequence[Decision],
    present: Mapping[str, Concept],
) -> list[Suggestion]:
    """Return the suggestions of merges, or refuse one with a concept that does not exist."""
    merged = [s for d in decisions if isinstance(d, Merge) for s in d.suggestions]
    for merge in merged:
        id = merge.parent.id
        if id not in taxonomy and id not in new and id not in present:
            name = merge.query.label
            message = f"{id!r}, which would get the synonym {name!r}, is not in the taxonomy"
            raise SuggestionError(merge, message, fix=_FOREIGN_FIX)
    return merged


def _synonyms_of(
    merged: Sequence[Suggestion], present: Mapping[str, Concept]
) -> list[tuple[str, str]]:
    """Return the existing ids and the merged names: a person's own first, then by confidence."""

    def priority(merge: Suggestion) -> tuple[object, ...]:
        label = merge.query.label
        ids = (normalize_name(label), merge.parent.id, label)
        return (merge.is_ranked, -merge.confidence_or_score, *ids)

    ordered = sorted(merged, key=priority)
    names = ((s.parent.id, n) for s in ordered for n in (s.query.label, *s.query.synonyms))
    return list(dict.fromkeys((present[id].id if id in present else id, n) for id, n in names))


def _present(taxonomy: Taxonomy, placed: Sequence[Place]) -> dict[str, Concept]:
    """Return the existing concepts by the ids of the new ones that they are.

    A concept that a person has placed exists only if its parent has a child of this name.
    """
    names: dict[str, int] = {}
    present = {}
    for decision in placed:
        concept = decision.query
        known = concept.id in taxonomy
        label = taxonomy.concept(concept.id).label if known else concept.label
        if label not in (concept.label, with_apostrophe(concept.label)):
            raise SuggestionError(
                decision.suggestions[0],
                f"the id {concept.id!r} of the new concept {concept.label!r} belongs to "
                f"{label!r} in the taxonomy",
                fix="suggest again, or change the query_id",
            )
        if known:
            index: int | None = taxonomy.index(concept.id)
        elif decision.curator:
            parents = (s.parent.id for s in decision.suggestions)
            own = (child_named(taxonomy, parent, concept.label) for parent in parents)
            index = next((child for child in own if child is not None), None)
        else:
            names = names or known_names(taxonomy)
            same = (names[name] for name in _names_in_files(concept.label) if name in names)
            index = next(same, None)
        if index is not None:
            present[concept.id] = taxonomy.concept_at(index)
        elif concept.id in taxonomy.reserved:
            raise SuggestionError(
                decision.suggestions[0],
                f"the taxonomy uses the id {concept.id!r} of the new concept {concept.label!r} "
                "for something else",
                fix="change the query_id",
            )
    return present


def _relations(
    taxonomy: Taxonomy, placed: Sequence[Place], present: Mapping[str, Concept]
) -> list[tuple[str, str]]:
    """Return the relations that decisions ask for, or refuse a parent that does not exist.

    A parent that was new when it was decided about may have another id in the taxonomy now.
    """
    new = {decision.query.id for decision in placed} - present.keys()
    relations: dict[tuple[str, str], None] = {}
    for decision in placed:
        child = decision.query.id
        for suggestion in decision.suggestions:
            parent = suggestion.parent.id
            parent = present[parent].id if parent in present else parent
            if parent not in taxonomy and parent not in new:
                raise SuggestionError(
                    suggestion,
                    f"{parent!r}, the parent of {child!r}, is not in the taxonomy",
                    fix="were the suggestions made for another one? If its row was removed, "
                    "remove this one too",
                )
            relations[parent, child] = None
    return list(relations)


def child_named(taxonomy: Taxonomy, parent: str, label: str) -> int | None:
    """Return the index of the child of a parent with this name, if there is one."""
    names = _names_in_files(label)
    children = taxonomy.children(parent) if parent in taxonomy else ()
    same = (id for id in children if normalize_name(taxonomy.concept(id).label) in names)
    return next(map(taxonomy.index, same), None)


def _names_in_files(name: str) -> list[str]:
    """Return the normalized name, and that with the apostrophe that protects a table."""
    return [normalize_name(name), normalize_name(with_apostrophe(name))]


def _with_ids(decision: Decision, new_ids: Mapping[str, str]) -> Decision:
    """Return a decision with the final ids of new concepts."""

    def final(concept: Concept) -> Concept:
        id = new_ids.get(concept.id)
        return concept if id is None else replace(concept, id=id)

    suggestions = [
        replace(s, query=final(s.query), parent=final(s.parent)) for s in decision.suggestions
    ]
    return replace(decision, query=final(decision.query), suggestions=suggestions)


def _safe_moves(
    taxonomy: Taxonomy,
    new: Mapping[str, Concept],
    relations: Sequence[tuple[str, str]],
    moves: Sequence[Move],
) -> tuple[list[Move], list[Refusal]]:
    """Return the moves that are safe one after the other, and why the others are refused.

    A child moves once, from a parent that it still has, and never below its own descendant.
    """
    above: dict[str, list[str]] = {id: [] for id in new}
    for parent, child in relations:
        above.setdefault(child, []).append(parent)
    safe: dict[str, Move] = {}
    refused = []

    def label_of(id: str) -> str:
        return new[id].label if id in new else taxonomy.concept(id).label

    def refuse(move: Move, reason: str) -> None:
        child, old, below = map(label_of, move)
        message = f"{child!r} is not moved from {old!r} below {below!r}: {reason}"
        refused.append(Refusal(message, new.get(move.new_parent)))

    for move in moves:
        child, old, below = move
        if child in new:
            refuse(move, "it is new, too; move it after it has been added")
        elif child not in taxonomy:
            message = f"{child!r}, which would move below {below!r}, is not in the taxonomy"
            raise TaxonomyError(message, fix=_FOREIGN_FIX)
        elif old not in taxonomy.parents(child):
            refuse(move, "it is not below that parent")
        elif child in safe:
            other = safe[child].new_parent
            kept = ", and keeps this parent; remove that relation by hand" * (other == below)
            refuse(move, f"it already moves below {label_of(other)!r}{kept}")
        elif child in _ancestors(taxonomy, above, below):
            refuse(move, "the new parent would be below it")
        else:
            safe[child] = move
            parents = taxonomy.parents(child)
            above[child] = [below if parent == old else parent for parent in parents]
    return list(safe.values()), refused


def _ancestors(taxonomy: Taxonomy, changed: Mapping[str, Sequence[str]], id: str) -> set[str]:
    """Return all ancestors of a concept, given the changed parents of some concepts."""
    ancestors: set[str] = set()
    waiting = [id]
    while waiting:
        current = waiting.pop()
        parents = changed[current] if current in changed else taxonomy.parents(current)
        waiting += [parent for parent in parents if parent not in ancestors]
        ancestors.update(parents)
    return ancestors


def _new_synonyms(
    taxonomy: Taxonomy, new: Mapping[str, Concept], synonyms: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, str]], list[Refusal]]:
    """Return the synonyms that are not yet a name, and why the others are refused."""
    if not synonyms:
        return [], []
    owners = {name: taxonomy.labels[index] for name, index in known_names(taxonomy).items()}
    for concept in new.values():
        for name in (concept.label, *concept.synonyms):
            owners[normalize_name(name)] = concept.label
    added = []
    refused = []
    for id, name in synonyms:
        known = next((owners[key] for key in _names_in_files(name) if key in owners), None)
        if known is not None:
            message = f"{name!r} is not added as a synonym: it is already a name of {known!r}"
            refused.append(Refusal(message))
        else:
            owners[normalize_name(name)] = (
                new[id].label if id in new else taxonomy.concept(id).label
            )
            added.append((id, name))
    return added, refused


def _reasons(decisions: Iterable[Place | Merge]) -> dict[tuple[str, str], str]:
    """Return the confidence or score of each suggestion that a model has ranked."""
    return {
        (s.parent.id, each.query.id): f"{s.measure} {s.confidence_or_score:.2f}"
        for each in decisions
        for s in each.suggestions
        if s.is_ranked
    }


def _tasks(placed: Iterable[Place]) -> dict[str, str]:
    """Return what is to be done about the coarse placements."""
    return {
        each.query.id: _task(s, each.finer)
        for each in placed
        for s in each.suggestions
        if s.kind == SuggestionKind.COARSE
    }


def _task(coarse: Suggestion, others: Sequence[Suggestion]) -> str:
    """Return what to do about a coarse placement: the best suggestions below it."""
    depth = len(coarse.path)
    below = [s for s in others if len(s.path) > depth and s.path[:depth] == coarse.path]
    names = [f"{s.parent.label} {s.confidence_or_score:.2f}" for s in below[:NUM_REFINED]]
    return "to be refined" + (f": {', '.join(names)}" if names else "")
