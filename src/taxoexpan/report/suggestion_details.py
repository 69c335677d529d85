"""The suggestions for one new concept, with reasons, facts and the tree around the concept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Suitability
from taxoexpan.explain import Evidence, describe
from taxoexpan.explain.evidence import Part, ScoreParts, SuggestionEvidence
from taxoexpan.phrasing import join_words, pluralize, ranked_numbers, signed
from taxoexpan.placement.learned.abstention import nearest_region
from taxoexpan.report.page import Details, Neighbor, Tree, TreePosition, shorten
from taxoexpan.taxonomy import Concept, Move, Taxonomy
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals

Fact: TypeAlias = tuple[str, str | Sequence[str]]
"""A name, and a text or a path from the root."""

MAX_RUNNER_UP_SIBLINGS = 2
"""The number of siblings shown at the position of the runner-up."""
PART_NAMES = {
    Part.MATCH: "neighbors",
    Part.TOWER: "text encoder",
}
"""Names of the parts of a score that differ from their names in JSON."""
MAX_MOVES = 5
"""The number of children that may move whose labels are shown."""
MAX_TEXT = 160
MAX_NAMES = 3
"""The length of a parent's definition, and the number of its synonyms."""


@dataclass(frozen=True)
class ConceptProposal:
    """The suggestions for one new concept, best first; `moved` are ids moved under the concept."""

    suggestions: Sequence[Suggestion]
    evidence: Evidence | None
    moved: Collection[str] = ()

    @property
    def first(self) -> Suggestion:
        """The first suggestion."""
        return self.suggestions[0]

    @property
    def numbers(self) -> list[str]:
        """The confidences or scores, formatted so that their order is visible."""
        shown = self.suggestions
        return ranked_numbers([s.confidence_or_score for s in shown], [s.score for s in shown])

    @property
    def has_no_suitable_parent(self) -> bool:
        """Whether no parent is suitable and the concept is not a likely synonym."""
        return self.first.place == Suitability.NONE and not self.first.is_merge

    @property
    def moves(self) -> tuple[str, ...]:
        """The ids of the parent's children that may move under the new concept."""
        inserts = (each for each in self.suggestions if each.kind == SuggestionKind.INSERT)
        return next((each.moves for each in inserts), ())

    @property
    def additional_parents(self) -> list[Suggestion]:
        """The parents that the concept should have in addition to the first parent."""
        return [each for each in self.suggestions if each.kind == SuggestionKind.ALSO]


def group_by_query(
    suggestions: Iterable[Suggestion], evidence: Iterable[Evidence], moves: Iterable[Move] = ()
) -> list[ConceptProposal]:
    """Return one proposal per query, in the order of the queries."""
    by_query: dict[str, list[Suggestion]] = {}
    for suggestion in suggestions:
        by_query.setdefault(suggestion.query.id, []).append(suggestion)
    evidence_of = {each.query.id: each for each in evidence}
    moved: dict[str, set[str]] = {}
    for move in moves:
        moved.setdefault(move.new_parent, set()).add(move.child)
    return [
        ConceptProposal(group, evidence_of.get(id), moved.get(id, ()))
        for id, group in by_query.items()
    ]


def proposal_details(taxonomy: Taxonomy, proposal: ConceptProposal) -> Details:
    """Return the reasons, the facts, all other suggestions and the tree of a proposal."""
    paragraphs = list(_paragraphs(taxonomy, proposal))
    evidence = proposal.evidence
    facts = list(concept_facts(proposal.first.query))
    facts.append(_about(taxonomy, proposal.first))
    if evidence is None:
        return Details(paragraphs, [*facts, *_other_suggestions(taxonomy, proposal)])
    facts += similarity_facts(evidence.first)
    facts += _other_suggestions(taxonomy, proposal)
    facts += network_facts(evidence)
    return Details(paragraphs, facts, _tree(taxonomy, proposal, evidence))


def _paragraphs(taxonomy: Taxonomy, proposal: ConceptProposal) -> Iterator[str]:
    first = proposal.first
    parents = [each for each in proposal.suggestions if not each.is_merge]
    if first.is_merge:
        similar = f"{first.why}." if first.why else ""
        yield similar or f"It is likely a synonym of {_with_confidence(first)}."
        if parents:
            yield f"As a separate concept, it would go under '{parents[0].parent.label}'."
    if proposal.evidence is not None:
        yield describe(proposal.evidence)
    if proposal.additional_parents:
        names = [_with_confidence(each) for each in proposal.additional_parents]
        yield f"It also belongs under {join_words(names)}."
    moved = [id for id in proposal.moves if id in proposal.moved]
    if moved:
        yield f"Named after it and moved under it: {_labels(taxonomy, moved)}."
    not_moved = [id for id in proposal.moves if id not in proposal.moved]
    if not_moved:
        labels = _labels(taxonomy, not_moved)
        yield f"Named after it, and may belong under it: {labels}. These were not moved."
    if proposal.has_no_suitable_parent:
        yield describe_region(taxonomy, [each.parent.id for each in parents])


def _with_confidence(suggestion: Suggestion) -> str:
    return f"'{suggestion.parent.label}' ({suggestion.confidence_or_score:.2f})"


def _labels(taxonomy: Taxonomy, ids: Sequence[str]) -> str:
    """Return the first labels and the number of other labels."""
    labels = [taxonomy.concept(id).label for id in ids[:MAX_MOVES]]
    if len(ids) > MAX_MOVES:
        labels.append(f"{len(ids) - MAX_MOVES:,} more")
    return join_words(labels)


def describe_region(taxonomy: Taxonomy, parents: Sequence[str]) -> str:
    """Describe the branch that a concept without a suitable parent is closest to."""
    sentence = "No concept of the taxonomy is a suitable parent"
    region = nearest_region(taxonomy, parents) if len(parents) > 1 else None
    if region is None or region in taxonomy.roots:
        return f"{sentence}, and the suggestions have no branch in common."
    top = taxonomy.index(region)
    own = np.array([taxonomy.index(id) for id in parents])
    _, ancestors = AncestorIntervals(taxonomy.parents_of, own).pairs(own)
    count = np.count_nonzero(ancestors == top)
    path = " › ".join(taxonomy.short_path(region))
    return f"{sentence}; {count} of the {len(parents)} suggestions are in the branch {path}."


def concept_facts(concept: Concept) -> Iterator[Fact]:
    """Yield the definition and the synonyms of a concept, if it has any."""
    if concept.definition:
        yield "definition", concept.definition
    if concept.synonyms:
        yield "synonyms", ", ".join(concept.synonyms)


def similarity_facts(suggestion: SuggestionEvidence) -> Iterator[Fact]:
    """Yield the similarities between a concept and a suggested parent."""
    cosine = signed(suggestion.cosine)
    head_cosine = signed(suggestion.head_cosine)
    yield "cosine", f"{cosine} with {suggestion.parent.label}; head words only: {head_cosine}"
    yield "shared words", ", ".join(suggestion.shared_words) or "none"
    for mention in suggestion.mentions:
        yield "mention", mention.kind.description


def _about(taxonomy: Taxonomy, suggestion: Suggestion) -> Fact:
    return f"about rank {suggestion.rank}", describe_parent(taxonomy, suggestion.parent)


def describe_parent(taxonomy: Taxonomy, parent: Concept) -> str:
    """Say who a parent is: its definition, a few synonyms, and the number of its children."""
    more = ["…"] * (len(parent.synonyms) > MAX_NAMES)
    names = shorten(", ".join([*parent.synonyms[:MAX_NAMES], *more]), MAX_TEXT)
    count = len(taxonomy.children(parent.id)) if parent.id in taxonomy else 0
    children = pluralize(count, "child", "children") if count else "no children"
    known = (shorten(parent.definition, MAX_TEXT), names and f"also called {names}", children)
    return f"{shorten(parent.label, MAX_TEXT)}: {'; '.join(filter(None, known))}"


def _other_suggestions(taxonomy: Taxonomy, proposal: ConceptProposal) -> Iterator[Fact]:
    """Yield every suggestion after the first, with its path, and who each other parent is."""
    described = {proposal.first.parent.id}
    kinds = SuggestionKind
    names = {kinds.MERGE: "synonym of", kinds.SIMILAR: "similar to", kinds.ALSO: "also under"}
    ranked = zip(proposal.suggestions, proposal.numbers, strict=True)
    for suggestion, number in islice(ranked, 1, None):
        name = names.get(suggestion.kind, f"rank {suggestion.rank}")
        yield f"{name}: {number}", suggestion.path
        if suggestion.parent.id not in described:
            described.add(suggestion.parent.id)
            yield _about(taxonomy, suggestion)


def network_facts(evidence: Evidence, other: str = "runner-up's score") -> Iterator[Fact]:
    """Yield the terms of the raw scores of both suggestions."""
    comparison = evidence.comparison
    yield "raw score", _describe_score(evidence.first.parent, evidence.score_parts)
    if comparison is not None:
        yield other, _describe_score(comparison.runner_up, comparison.score_parts)


def _describe_score(parent: Concept, parts: ScoreParts) -> str:
    """Return the raw score of a parent and its terms."""
    named = {PART_NAMES.get(part, part.replace("_", " ")): value for part, value in parts.items()}
    shown = [f"{name} {signed(value)}" for name, value in named.items() if round(value, 2)]
    return f"{signed(sum(parts.values()))} for {parent.label}: {', '.join(shown)}"


def _tree(taxonomy: Taxonomy, proposal: ConceptProposal, evidence: Evidence) -> Tree:
    """Return the tree with the first parent and the runner-up, each with the nearest siblings."""
    ranked = zip(proposal.suggestions, proposal.numbers, strict=True)
    numbers = {s.parent.id: text for s, text in ranked if not s.is_merge}
    first, *others = evidence.suggestions
    other_path = others[0].path if others else ()
    suggested = tree_position(first, numbers.get(first.parent.id, ""), other_path)
    if proposal.moves:
        labels = {id: taxonomy.concept(id).label for id in proposal.moves}
        moved = {labels[id] for id in proposal.moved}
        suggested = with_moves(suggested, list(labels.values()), moved)
    runner_up = None
    if others:
        number = numbers.get(others[0].parent.id, "")
        runner_up = tree_position(others[0], number, first.path, MAX_RUNNER_UP_SIBLINGS)
    return Tree(proposal.first.query.label, suggested, runner_up)


def tree_position(
    suggestion: SuggestionEvidence,
    number: str,
    other_path: Sequence[str],
    limit: int | None = None,
) -> TreePosition:
    """Return a parent with its nearest children, except one on the path to the other position."""
    path = suggestion.path
    is_above = len(other_path) > len(path) and tuple(other_path[: len(path)]) == path
    next_label = other_path[len(path)] if is_above else None
    near = [each for each in suggestion.nearest_children if each.concept.label != next_label]
    siblings = [Neighbor(each.concept.label, each.cosine) for each in near[:limit]]
    more = suggestion.child_count - len(siblings) - is_above
    return TreePosition(path, siblings, more, number=number)


def with_moves(
    position: TreePosition, labels: Sequence[str], moved: Collection[str] = ()
) -> TreePosition:
    """Put the siblings with these labels, which were moved or may move, under the new concept."""
    siblings = [each for each in position.siblings if each.label not in labels]
    children = [
        Neighbor(label, note="moved here" if label in moved else "may move here")
        for label in labels[:MAX_MOVES]
    ]
    removed = len(labels) - (len(position.siblings) - len(siblings))
    more = max(position.more_siblings - removed, 0)
    return replace(position, siblings=siblings, more_siblings=more, children=children)
