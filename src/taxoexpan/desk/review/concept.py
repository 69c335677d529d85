"""One concept: its panels, and the searches, trees and reasons that are loaded on demand."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.review.filters import MAX_TEXT, QueueFilter, natural
from taxoexpan.desk.review.pages import Pages
from taxoexpan.desk.review.parents import UsableParents
from taxoexpan.desk.store.decisions import Action, QueuedConcept
from taxoexpan.report.page import Details
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.name_search import fold_name
from taxoexpan.taxonomy.names import normalize_name

PANELS = ("parent", "merge", "insert", "reject", "comment", "edit")
MAX_RESULTS = 12
"""The number of concepts that a search shows at first."""
MORE_RESULTS = 60
"""The number of concepts that it shows on request."""
MAX_RECENT = 8
"""The number of recent parents that are offered before anything is typed."""
SEARCHED_DECISIONS = 50
"""The number of decisions among which recent parents are looked for."""
MAX_CHILDREN = 6
"""The number of children of the parent that are shown at first."""
MAX_SIBLINGS = 3
"""The number of siblings of the parent that are shown at first."""
MAX_BRANCH = 200
"""The number of children that are shown when a branch is opened."""


def panel_values(
    pages: Pages, request: Request, opened: QueuedConcept, filter: QueueFilter
) -> dict[str, Any]:
    """Return the template values of the open panel, if there is one."""
    parameters = request.query_params
    panel = parameters.get("panel", "")
    if panel not in PANELS:
        return {"panel": ""}
    values: dict[str, Any] = {"panel": panel}
    if panel in ("parent", "merge"):
        values["found"] = _search(pages, request, opened)
        fields = [("concept", opened.key), ("panel", panel)]
        fields += [("with", id) for id in parameters.getlist("with")]
        values["search_fields"] = fields + parse_qsl(filter.query)
    if panel == "insert":
        values["insertion"] = _insertion(pages, opened, parameters.get("parent", ""))
    return values


class FoundConcept(NamedTuple):
    """A concept that was searched for, its path, and the synonym that matches, if any."""

    concept: Concept
    path: Sequence[str]
    matched: str = ""


def _search(pages: Pages, request: Request, opened: QueuedConcept | None) -> dict[str, Any]:
    """Search concepts as a request asks; without a text, return the curator's recent parents."""
    parameters = request.query_params
    text = parameters.get("find", "").strip()[:MAX_TEXT]
    limit = MORE_RESULTS if parameters.get("more") else MAX_RESULTS
    found = search_concepts(pages, text, limit + 1, opened)
    if not text:
        found = _recent_parents(pages, pages.curator(request))
    return {
        "text": text,
        "action": "merge" if parameters.get("panel") == "merge" else "accept",
        "concepts": found[:limit],
        "has_more": len(found) > limit,
        "is_limited": limit == MORE_RESULTS,
    }


def search_concepts(
    pages: Pages, text: str, limit: int, opened: QueuedConcept | None = None
) -> list[FoundConcept]:
    """Find possible parents by name and path; those around the proposals come first."""
    desk = pages.desk
    parents = pages.usable_parents
    words = fold_name(text).split()

    def matches(name: str) -> bool:
        return all(word in fold_name(name) for word in words)

    found = []
    near = _around(desk.taxonomy, opened) if opened else set[int]()
    for index in desk.names.search(text, limit + len(parents.unusable_in_search), near):
        concept = desk.taxonomy.concept_at(index)
        if not parents.is_usable(concept.id):
            continue
        synonym = next(filter(matches, concept.synonyms), "")
        matched = "" if matches(concept.label) else synonym
        found.append(FoundConcept(concept, desk.taxonomy.path(concept.id), matched))
    return found[:limit]


def _around(taxonomy: Taxonomy, opened: QueuedConcept) -> set[int]:
    """Return the proposed parents, their ancestors, their children, and their siblings."""
    proposed = [each.parent.id for each in opened.proposals if each.parent.id in taxonomy]
    indices = np.array([taxonomy.index(id) for id in proposed], dtype=np.int64)
    parents = taxonomy.parents_of.of_many(indices)[1]
    below = taxonomy.children_of.of_many(np.concatenate([indices, parents]))[1]
    above = (index for own in indices for index in taxonomy.short_lineage(own).tolist())
    return {*above, *below.tolist()}


def _recent_parents(pages: Pages, curator: str) -> list[FoundConcept]:
    """Return the last parents that a curator has accepted, without unusable ones."""
    desk = pages.desk
    recent = desk.store.history(0, SEARCHED_DECISIONS)
    accepted = [each for each in recent if each.action == Action.ACCEPT and each.curator == curator]
    ids = dict.fromkeys(each.parent.id for own in accepted for each in own.suggestions)
    is_usable = pages.usable_parents.is_usable
    known = [id for id in ids if id in desk.taxonomy and is_usable(id)][:MAX_RECENT]
    return [FoundConcept(desk.taxonomy.concept(id), desk.taxonomy.path(id)) for id in known]


def _insertion(pages: Pages, opened: QueuedConcept, wanted: str) -> dict[str, Any] | None:
    """Return the children of the parent that may move; labels in `repeated` are not unique."""
    desk = pages.desk
    proposals = pages.usable_parents.filter_suggestions(opened.proposals or opened.rejected)
    moves = {each.parent.id: each.moves for each in proposals if not each.is_merge}
    id = wanted or next(iter(moves), "")
    if id not in desk.taxonomy:
        return None
    children, more = branch_of(pages.usable_parents, id)
    counts = Counter(each.label for each in children)
    counts.update({id: desk.label_of(id) for id in (id, *moves)}.values())
    return {
        "parent": desk.taxonomy.concept(id),
        "others": [each for each in proposals if each.parent.id != id and not each.is_merge],
        "path": desk.taxonomy.path(id),
        "children": children,
        "more": more,
        "moves": moves.get(id, ()),
        "repeated": {label for label, count in counts.items() if count > 1},
    }


class TreeLevel(NamedTuple):
    """A concept on the path to a parent, with its other children: some of them, and a number."""

    node: Concept | None
    """None is the place above the roots."""
    below: Concept
    others: Sequence[Concept]
    more: int


def tree_around(parents: UsableParents, proposal: Suggestion, new: Concept) -> dict[str, Any]:
    """Return the tree around a parent; children that share words with `new` come first."""
    taxonomy = parents.taxonomy
    parent = taxonomy.index(proposal.parent.id)
    concept_at = taxonomy.concept_at
    lineage = taxonomy.short_lineage(parent).tolist()
    levels = []
    for above, below in zip([None, *lineage[:-1]], lineage, strict=True):
        siblings = parents.children("" if above is None else taxonomy.ids[above], new)
        others = [index for index in siblings if index != below]
        shown = _nearest_first(taxonomy, others, new)[:MAX_SIBLINGS] if below == parent else []
        node = None if above is None else concept_at(above)
        more = len(others) - len(shown)
        levels.append(TreeLevel(node, concept_at(below), list(map(concept_at, shown)), more))
    moved = [taxonomy.index(id) for id in proposal.moves if id in taxonomy]
    others = [i for i in parents.children(proposal.parent.id, new) if i not in moved]
    children = _nearest_first(taxonomy, others, new)
    return {
        "levels": levels,
        "parent": concept_at(parent),
        "children": list(map(concept_at, children[:MAX_CHILDREN])),
        "more_children": max(len(children) - MAX_CHILDREN, 0),
        "moves": list(map(concept_at, moved)),
    }


def branch_of(
    parents: UsableParents,
    id: str,
    new: Concept | None = None,
    without: Collection[str] = (),
    start: int = 0,
) -> tuple[list[Concept], int]:
    """Return some children of a concept, or the roots if `id` is empty, and how many follow.

    If `new` is given, children that share words with it come first.
    """
    taxonomy = parents.taxonomy
    children = parents.children(id, new)
    children = [index for index in children if taxonomy.ids[index] not in without]
    if new is not None:
        children = _nearest_first(taxonomy, children, new)
    end = start + MAX_BRANCH
    return list(map(taxonomy.concept_at, children[start:end])), max(len(children) - end, 0)


def _nearest_first(taxonomy: Taxonomy, children: Sequence[int], new: Concept) -> list[int]:
    """Sort children by the number of words that they share with the new concept."""
    words = set(normalize_name(new.label).split())

    def shared(index: int) -> int:
        return len(words.intersection(normalize_name(taxonomy.labels[index]).split()))

    return sorted(children, key=shared, reverse=True)


def show_results(pages: Pages, request: Request) -> Response:
    """Return the concepts that match the typed text."""
    queued, _ = _requested(pages, request)
    found = _search(pages, request, queued)
    return _part(pages, request, "results.html", "Search", found=found, opened=queued)


def show_reasons(pages: Pages, request: Request) -> Response:
    """Return the reasons for a proposed parent."""
    queued, parent = _requested(pages, request)
    if queued is None:
        return _unknown(pages, request)
    explanation = _explain(pages, queued, parent)
    return _part(pages, request, "why.html", "Why?", explanation=explanation, opened=queued)


def show_surroundings(pages: Pages, request: Request) -> Response:
    """Return the tree around a proposed parent, and the reasons for it."""
    desk = pages.desk
    queued, parent = _requested(pages, request)
    if queued is None or parent not in desk.taxonomy:
        return _unknown(pages, request)
    searched = Suggestion.at(desk.taxonomy, queued.concept, desk.taxonomy.index(parent))
    proposed = *queued.proposals, *queued.rejected
    proposal = next((each for each in proposed if each.parent.id == parent), searched)
    tree = tree_around(pages.usable_parents, proposal, queued.concept)
    values = {"explanation": _explain(pages, queued, parent), "tree": tree, "opened": queued}
    label = desk.label_of(parent)
    return _part(pages, request, "around.html", label, is_deciding=True, **values)


def show_branch(pages: Pages, request: Request) -> Response:
    """Return the children of a concept, or the roots."""
    queued, parent = _requested(pages, request)
    desk = pages.desk
    without = request.query_params.getlist("without")
    if parent and parent not in desk.taxonomy:
        return _unknown(pages, request)
    start = natural(request.query_params.get("start", "")) or 0
    new = queued.concept if queued else None
    nodes, more = branch_of(pages.usable_parents, parent, new, without, start)
    values = {
        "nodes": nodes,
        "more": more,
        "parent": parent,
        "without": without,
        "start": start + len(nodes),
    }
    heading = desk.label_of(parent) if parent else "Taxonomy"
    return _part(pages, request, "branch.html", heading, opened=queued, **values)


def show_change(pages: Pages, request: Request) -> Response:
    """Return a notice if another decision about the open concept was taken, or else nothing."""
    queued, _ = _requested(pages, request)
    seen = natural(request.query_params.get("version", ""))
    if queued is None or seen is None or queued.version <= seen:
        return Response(status_code=204)
    (latest,) = pages.desk.store.history(0, 1, queued.key)
    return pages.render(request, "change.html", latest=latest, opened=queued)


def _explain(pages: Pages, queued: QueuedConcept, parent: str) -> Details:
    concept = pages.desk.with_definition(queued.concept)
    return pages.desk.evidence.explain(concept, queued.proposals, parent)


def _requested(pages: Pages, request: Request) -> tuple[QueuedConcept | None, str]:
    """Return the queued concept and the id of the parent in a request."""
    key = request.query_params.get("concept", "")
    return pages.desk.store.concept(key), request.query_params.get("parent", "")


def _part(pages: Pages, request: Request, template: str, heading: str, **values: Any) -> Response:
    """Return a part of a page to the script, and a whole page to a browser without scripts."""
    if request.headers.get("HX-Request") and not request.headers.get("HX-Boosted"):
        return pages.render(request, template, **values)
    values |= {"request_id": secrets.token_urlsafe(16), "place": {"next": "", "number": None}}
    return pages.render(request, "fragment_page.html", heading=heading, fragment=template, **values)


def _unknown(pages: Pages, request: Request) -> Response:
    return pages.problem(request, 404, "Not found", "There is no such concept.")
