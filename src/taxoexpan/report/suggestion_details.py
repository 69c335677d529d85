"""What opens below a new concept: the reasons in words and figures, and the places as a tree."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from taxoexpan.explain import Evidence, describe
from taxoexpan.explain.evidence import ScoreParts, SuggestionEvidence
from taxoexpan.phrasing import join_words, percent, signed
from taxoexpan.placement.abstention import nearest_region
from taxoexpan.placement.suggestions import ALSO, MERGE
from taxoexpan.report.concept_proposals import Proposal
from taxoexpan.report.html import Details, Neighbour, Place, Tree
from taxoexpan.taxonomy import Concept, Taxonomy

Fact: TypeAlias = tuple[str, str | Sequence[str]]

BESIDE = 2
"""Siblings that are shown at the runner-up's place."""
MOVED = 5
"""Children that might move of which the names are told."""


def details_of(taxonomy: Taxonomy, proposal: Proposal) -> Details:
    """The reasons, some facts, all other suggestions, and the small tree."""
    evidence = proposal.evidence
    if evidence is None:
        facts = [*about(proposal.query), *_others(proposal)]
        return Details(list(_paragraphs(taxonomy, proposal)), facts)
    facts = [
        *about(proposal.query),
        *likeness(evidence.first),
        *_others(proposal),
        *inside(evidence),
    ]
    tree = tree_of(taxonomy, proposal, evidence)
    return Details(list(_paragraphs(taxonomy, proposal)), facts, tree)


def _paragraphs(taxonomy: Taxonomy, proposal: Proposal) -> Iterator[str]:
    first, parents = proposal.first, proposal.parents
    if proposal.is_merge:
        told = f"Likely another name of {first.parent.label} ({first.confidence_or_score:.2f})"
        if parents:
            told += f"; as a concept of its own it would go under {parents[0].parent.label}"
        yield f"{told}."
    if proposal.evidence is not None:
        yield describe(proposal.evidence)
    if proposal.further:
        names = [
            f"{each.parent.label} ({each.confidence_or_score:.2f})" for each in proposal.further
        ]
        yield f"It belongs under {join_words(names)} as well."
    if proposal.moved:
        moved = [id for id in proposal.moves if id in proposal.moved]
        yield f"Named after it, and moved below it: {_some(taxonomy, moved)}."
    left = [id for id in proposal.moves if id not in proposal.moved]
    if left:
        told = f"Named after it, and perhaps to be moved below it: {_some(taxonomy, left)}"
        yield f"{told}. {'These were not' if proposal.moved else 'Nothing is'} moved."
    if proposal.is_homeless:
        yield region_in_words(taxonomy, [each.parent.id for each in parents])


def _some(taxonomy: Taxonomy, ids: Sequence[str]) -> str:
    """The names of the first, and how many more there are."""
    names = [taxonomy.concept(id).label for id in ids]
    return join_words(names[:MOVED]) + (f" and {len(names) - MOVED:,} more" * (len(names) > MOVED))


def region_in_words(taxonomy: Taxonomy, anchors: Sequence[str]) -> str:
    """Where a concept without a good place comes nearest."""
    told, found = "Nothing in the taxonomy is a good place for it", None
    if len(anchors) > 1:
        found = nearest_region(taxonomy, anchors)
    if found is None or found in taxonomy.roots:
        return f"{told}, and its suggestions are of no one region."
    inside = sum(found in (id, *taxonomy.ancestors(id)) for id in anchors)
    where = " › ".join(taxonomy.path(found))
    return f"{told}; {inside} of its {len(anchors)} suggestions lie in the region {where}."


def about(concept: Concept) -> Iterator[Fact]:
    """What the list of new concepts says of one."""
    if concept.definition:
        yield "definition", concept.definition
    if concept.synonyms:
        yield "synonyms", ", ".join(concept.synonyms)


def likeness(support: SuggestionEvidence) -> Iterator[Fact]:
    """What a concept and a suggested parent have in common."""
    names, heads = signed(support.cosine), signed(support.head_cosine)
    yield "cosine", f"{names} with {support.parent.label}; last words alone {heads}"
    yield "shared words", ", ".join(support.shared_words) or "none"
    for mention in support.mentions:
        yield "mentioned", mention.kind.description


def _others(proposal: Proposal) -> Iterator[Fact]:
    """Every suggestion after the first, with its path."""
    kinds = {MERGE: "other name", ALSO: "also under"}
    for suggestion in proposal.ranked[1:]:
        name = kinds.get(suggestion.kind, f"no. {suggestion.rank}")
        yield f"{name}, {suggestion.confidence_or_score:.2f}", suggestion.path


def inside(evidence: Evidence, other: str = "runner-up's") -> Iterator[Fact]:
    """What the network made of it: whom the readout heeds, and what the raw score adds up to."""
    weighing, contest = evidence.egonet_weights, evidence.comparison
    shares = {
        "siblings": weighing.siblings,
        "parent": weighing.anchor,
        "above": weighing.grandparents,
    }
    heeded = [f"{name} {percent(share)}" for name, share in shares.items() if share >= 0.005]
    yield "looked at", ", ".join(heeded)
    yield "raw score", _added_up(evidence.first.parent, evidence.score_parts)
    if contest is not None:
        yield other, _added_up(contest.runner_up, contest.score_parts)


def _added_up(parent: Concept, parts: ScoreParts) -> str:
    """A parent's raw score and what it adds up to."""
    terms = {
        "neighbours": parts.match,
        "likeness": parts.fusion,
        "mentions": parts.mentions,
        "no child yet": parts.leaf_bonus,
    }
    told = [f"{name} {signed(value)}" for name, value in terms.items() if round(value, 2)]
    return f"{signed(parts.total)} for {parent.label}: {', '.join(told)}"


def tree_of(taxonomy: Taxonomy, proposal: Proposal, evidence: Evidence) -> Tree:
    """The first parent's place and the runner-up's, each with the siblings that are nearest."""
    sure = {each.parent.id: each.confidence_or_score for each in proposal.parents}
    first, second = (
        evidence.first,
        evidence.suggestions[1] if len(evidence.suggestions) > 1 else None,
    )
    above = second.path if second is not None else ()
    place = place_of(first, sure.get(first.parent.id), above)
    if proposal.moves:
        labels = {id: taxonomy.concept(id).label for id in proposal.moves}
        place = with_moves(place, list(labels.values()), {labels[id] for id in proposal.moved})
    if second is None:
        return Tree(proposal.query.label, place)
    other = place_of(second, sure.get(second.parent.id), first.path, BESIDE)
    return Tree(proposal.query.label, place, other)


def place_of(
    support: SuggestionEvidence, figure: float | None, other: Sequence[str], most: int | None = None
) -> Place:
    """A parent with its nearest children, but without one that leads on to the other place."""
    path = support.path
    leads_on = len(other) > len(path) and tuple(other[: len(path)]) == path
    onward = other[len(path)] if leads_on else None
    near = [each for each in support.nearest_children if each.concept.label != onward][:most]
    siblings = [Neighbour(each.concept.label, each.cosine) for each in near]
    more = support.child_count - len(siblings) - leads_on
    return Place(path, siblings, more, figure=figure)


def with_moves(place: Place, moved: Sequence[str], done: Collection[str] = ()) -> Place:
    """The place with some of its children below the new concept, where they might go, or went."""
    siblings = [each for each in place.siblings if each.label not in moved]
    marks = {True: "moved here", False: "might move here"}
    shown = [Neighbour(label, mark=marks[label in done]) for label in moved[:MOVED]]
    more = place.more + len(place.siblings) - len(siblings) - len(moved)
    return replace(place, siblings=siblings, more=max(more, 0), children=shown)
