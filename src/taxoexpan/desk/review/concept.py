"""One concept: its panels, and the searches, trees and reasons that are loaded on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.desk import ReviewDesk
from taxoexpan.desk.review.filters import MAX_TEXT, QueueFilter
from taxoexpan.desk.review.pages import Pages
from taxoexpan.desk.store.decisions import QueuedConcept
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.report.page import Details
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.name_search import fold_name
from taxoexpan.taxonomy.names import normalize_name

PANELS = ("parent", "merge", "insert", "reject", "comment")
MAX_RESULTS = 12
"""The number of concepts that a search shows."""
MAX_CHILDREN = 6
"""The number of children of the parent that are shown at first."""
MAX_SIBLINGS = 3
"""The number of siblings of the parent that are shown."""
MAX_BRANCH = 200
"""The number of children that are shown when a branch is opened."""


def panel_values(
    desk: ReviewDesk, request: Request, opened: QueuedConcept, filter: QueueFilter
) -> dict[str, Any]:
    """Return the template values of the open panel, if there is one."""
    parameters = request.query_params
    panel = parameters.get("panel", "")
    if panel not in PANELS:
        return {"panel": ""}
    values: dict[str, Any] = {"panel": panel}
    if panel in ("parent", "merge"):
        values["found"] = search_concepts(desk, parameters.get("find", ""), panel)
        fields = [("concept", opened.key), ("panel", panel)]
        fields += [("with", id) for id in parameters.getlist("with")]
        values["search_fields"] = fields + parse_qsl(filter.query)
    if panel == "insert":
        values["insertion"] = _insertion(desk, opened, parameters.get("parent", ""))
    return values


def search_concepts(desk: ReviewDesk, text: str, panel: str) -> dict[str, Any]:
    """Find concepts by name; each comes with its path and the matching synonym, if any."""
    text = text.strip()[:MAX_TEXT]
    words = fold_name(text).split()

    def matches(name: str) -> bool:
        return all(word in fold_name(name) for word in words)

    found = []
    for index in desk.names.search(text, MAX_RESULTS):
        concept = desk.taxonomy.concept_at(index)
        synonym = next(filter(matches, concept.synonyms), "")
        matched = "" if matches(concept.label) else synonym
        found.append((concept, desk.taxonomy.path(concept.id), matched))
    action = "merge" if panel == "merge" else "accept"
    return {"text": text, "action": action, "concepts": found}


class TreeNode(NamedTuple):
    """A concept of the taxonomy as a node of a tree."""

    id: str
    label: str
    child_count: int


def _insertion(desk: ReviewDesk, opened: QueuedConcept, wanted: str) -> dict[str, Any] | None:
    """Return the children of the parent that may move; labels in `repeated` are not unique."""
    moves = {each.parent.id: each.moves for each in opened.proposals if not each.is_merge}
    id = wanted or next(iter(moves), "")
    if id not in desk.taxonomy:
        return None
    children, more = branch_of(desk.taxonomy, id)
    counts = Counter(each.label for each in children)
    counts.update({id: desk.label_of(id) for id in (id, *moves)}.values())
    return {
        "parent": desk.taxonomy.concept(id),
        "path": desk.taxonomy.path(id),
        "children": children,
        "more": more,
        "moves": moves.get(id, ()),
        "repeated": {label for label, count in counts.items() if count > 1},
    }


def tree_around(taxonomy: Taxonomy, proposal: Suggestion, new: Concept) -> dict[str, Any]:
    """Return the tree around a proposed parent; children that share words with `new` come first."""
    parent = taxonomy.index(proposal.parent.id)
    ancestors: list[int] = []  # along the first parent of each concept
    parents = taxonomy.parents_of.of(parent)
    while len(parents):
        ancestors.insert(0, int(parents[0]))
        parents = taxonomy.parents_of.of(ancestors[0])
    siblings: list[int] = []
    if ancestors:
        siblings = [i for i in taxonomy.children_of.of(ancestors[-1]).tolist() if i != parent]
    moved = [taxonomy.index(id) for id in proposal.moves if id in taxonomy]
    others = [i for i in taxonomy.children_of.of(parent).tolist() if i not in moved]
    children = _nearest_first(taxonomy, others, new)
    return {
        "parent": _nodes(taxonomy, [parent])[0],
        "ancestors": _nodes(taxonomy, ancestors),
        "siblings": _nodes(taxonomy, siblings[:MAX_SIBLINGS]),
        "more_siblings": max(len(siblings) - MAX_SIBLINGS, 0),
        "children": _nodes(taxonomy, children[:MAX_CHILDREN]),
        "more_children": max(len(children) - MAX_CHILDREN, 0),
        "moves": _nodes(taxonomy, moved),
    }


def branch_of(
    taxonomy: Taxonomy, id: str, beside: Concept | None = None
) -> tuple[list[TreeNode], int]:
    """Return the first children of a concept, and the number of the others.

    If `beside` is given, return only the children that `tree_around` leaves out.
    """
    children = taxonomy.children_of.of(taxonomy.index(id)).tolist()
    if beside is not None:
        children = _nearest_first(taxonomy, children, beside)[MAX_CHILDREN:]
    return _nodes(taxonomy, children[:MAX_BRANCH]), max(len(children) - MAX_BRANCH, 0)


def _nearest_first(taxonomy: Taxonomy, children: Sequence[int], new: Concept) -> list[int]:
    """Sort children by the number of words that they share with the new concept."""
    words = set(normalize_name(new.label).split())

    def shared(index: int) -> int:
        return len(words.intersection(normalize_name(taxonomy.labels[index]).split()))

    return sorted(children, key=shared, reverse=True)


def _nodes(taxonomy: Taxonomy, indices: Iterable[int]) -> list[TreeNode]:
    counts = taxonomy.children_of.degrees
    return [TreeNode(taxonomy.ids[i], taxonomy.labels[i], int(counts[i])) for i in indices]


def show_results(pages: Pages, request: Request) -> Response:
    """Return the concepts that match the typed text."""
    panel = request.query_params.get("panel", "parent")
    found = search_concepts(pages.desk, request.query_params.get("find", ""), panel)
    return _part(pages, request, "results.html", "Search", found=found, opened=None)


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
    searched = Suggestion(queued.concept, 0, desk.taxonomy.concept(parent))
    proposal = next((each for each in queued.proposals if each.parent.id == parent), searched)
    tree = tree_around(desk.taxonomy, proposal, queued.concept)
    values = {"explanation": _explain(pages, queued, parent), "tree": tree, "opened": queued}
    return _part(pages, request, "around.html", desk.label_of(parent), **values)


def show_branch(pages: Pages, request: Request) -> Response:
    """Return the children of a concept, or only those that the tree of a new concept leaves out."""
    queued, parent = _requested(pages, request)
    if parent not in pages.desk.taxonomy:
        return _unknown(pages, request)
    nodes, more = branch_of(pages.desk.taxonomy, parent, queued.concept if queued else None)
    label = pages.desk.label_of(parent)
    return _part(pages, request, "branch.html", label, nodes=nodes, more=more, opened=None)


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
    return pages.render(request, "fragment_page.html", heading=heading, fragment=template, **values)


def _unknown(pages: Pages, request: Request) -> Response:
    return pages.problem(request, 404, "Not found", "There is no such concept.")
