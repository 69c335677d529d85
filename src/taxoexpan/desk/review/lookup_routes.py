"""Parts of pages that are loaded when they are needed: searches, trees and reasons."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.concept_panels import search_concepts
from taxoexpan.desk.review.evidence_cache import Explanation
from taxoexpan.desk.review.page_context import Pages
from taxoexpan.desk.review.proposal_tree import branch_of, rest_of_children, tree_around
from taxoexpan.desk.store.records import QueuedConcept


def show_results(pages: Pages, request: Request) -> Response:
    """Return the concepts that match what is typed."""
    panel = request.query_params.get("panel", "parent")
    found = search_concepts(pages.desk, request.query_params.get("find", ""), panel)
    return _part(pages, request, "results.html", "Search", found=found, opened=None)


def show_reasons(pages: Pages, request: Request) -> Response:
    """Return why a parent is proposed."""
    queued, parent = _requested(pages, request)
    if queued is None:
        return _unknown(pages, request)
    explanation = _explain(pages, queued, parent)
    return _part(pages, request, "why.html", "Why?", explanation=explanation, opened=queued)


def show_surroundings(pages: Pages, request: Request) -> Response:
    """Return the tree around a proposed parent, and why it is proposed."""
    desk = pages.desk
    queued, parent = _requested(pages, request)
    if queued is None or parent not in desk.taxonomy:
        return _unknown(pages, request)
    explanation = _explain(pages, queued, parent)
    moves = next((each.moves for each in queued.proposals if each.parent.id == parent), ())
    tree = tree_around(desk.taxonomy, parent, queued.concept, moves)
    values = {"explanation": explanation, "tree": tree, "opened": queued}
    return _part(pages, request, "around.html", desk.label_of(parent), **values)


def show_branch(pages: Pages, request: Request) -> Response:
    """Return the children of a concept; those that a tree leaves out, if a new one is named."""
    queued, parent = _requested(pages, request)
    taxonomy = pages.desk.taxonomy
    if parent not in taxonomy:
        return _unknown(pages, request)
    if queued is not None:
        nodes, more = rest_of_children(taxonomy, parent, queued.concept)
    else:
        nodes, more = branch_of(taxonomy, parent)
    label = pages.desk.label_of(parent)
    return _part(pages, request, "branch.html", label, nodes=nodes, more=more, opened=None)


def _explain(pages: Pages, queued: QueuedConcept, parent: str) -> Explanation:
    concept = pages.desk.with_definition(queued.concept)
    return pages.desk.evidence.explain(concept, queued.proposals, parent)


def _requested(pages: Pages, request: Request) -> tuple[QueuedConcept | None, str]:
    """Return the concept and the id of the parent that a request is about."""
    key = request.query_params.get("concept", "")
    return pages.desk.store.concept(key), request.query_params.get("parent", "")


def _part(pages: Pages, request: Request, template: str, heading: str, **values: Any) -> Response:
    """Return a part of a page to the script, and a whole page to a browser without it."""
    if request.headers.get("HX-Request") and not request.headers.get("HX-Boosted"):
        return pages.render(request, template, **values)
    return pages.render(request, "fragment_page.html", heading=heading, fragment=template, **values)


def _unknown(pages: Pages, request: Request) -> Response:
    return pages.problem(request, 404, "Not found", "There is no such concept.")
