"""The main page: the queue next to the open concept."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any
from zlib import crc32

from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.review.concept import branch_of, panel_values, tree_around
from taxoexpan.desk.review.desk import ReviewDesk
from taxoexpan.desk.review.filters import PAGE_SIZE, QueueFilter, natural
from taxoexpan.desk.review.pages import Pages
from taxoexpan.desk.review.parents import Redundancy
from taxoexpan.desk.store.decisions import Action, LogEntry, QueuedConcept, Reason, Status
from taxoexpan.desk.store.queue import QueueOrder, QueueQuery
from taxoexpan.taxonomy import Concept

MAX_BRANCHES = 100
"""The number of branches to choose from."""
RECENT = 20
"""The number of decisions among which the last one, and other curators, are looked for."""
PRESENT_QUERY = QueueQuery(statuses=(Status.TODO, Status.DEFERRED), merge=True)
"""The concepts to do that are probably in the taxonomy already."""
ACTIVE = timedelta(minutes=15)
"""How long curators count as active after a decision."""


def show_queue(
    pages: Pages,
    request: Request,
    key: str | None = None,
    filter: QueueFilter | None = None,
    status: int = 200,
    conflict: LogEntry | None = None,
    problem: str = "",
    redundancy: Redundancy | None = None,
) -> Response:
    """Return the main page; a conflict, a problem or a redundancy is shown with its concept."""
    desk = pages.desk
    if redundancy is not None:
        problem = "Nothing was saved yet: one of the parents is redundant."
    filter = QueueFilter.parse(request.query_params) if filter is None else filter
    found, total = _read_queue(desk, filter)
    lead = min(filter.offset, 1)
    if not found[lead:] and total:  # decided concepts have left the page
        filter = replace(filter, offset=0)
        lead = 0
        found, total = _read_queue(desk, filter)
    share = Share.among(desk, pages.curator(request))
    wanted = key if key is not None else request.query_params.get("concept")
    first = share.first(found[lead : lead + PAGE_SIZE])
    opened = desk.store.concept(wanted) if wanted else first
    at = natural(request.query_params.get("at", ""))
    if opened is not None and at is not None:  # it stays where it was before the decision
        others = [each for each in found if each.key != opened.key]
        place = at - filter.offset + lead - 1
        if 0 <= place <= len(others):
            found = [*others[:place], opened, *others[place:]]
    items = found[lead : lead + PAGE_SIZE]
    is_list = request.query_params.get("view") == "queue" or not wanted
    shown = [*items, *([opened] if opened else [])]
    scores = [each.confidence is None for concept in shown for each in concept.proposals]
    values: dict[str, Any] = {
        "counts": desk.counts(),
        "present": desk.store.count(replace(PRESENT_QUERY, listed=desk.listed)),
        "pace": desk.pace(pages.curator(request)),
        "measure": "score" if scores and all(scores) else "confidence",
        "has_scores": any(scores),
        "has_branches": desk.evidence.has_branches,
        "branches": _branches(pages, filter),
        "groups": _groups(items, filter),
        "items": items,
        "total": total,
        "opened": opened,
        "view": "queue" if is_list and opened and not (conflict or problem) else "concept",
        "conflict": conflict,
        "redundancy": redundancy,
        "request_id": secrets.token_urlsafe(16),
        "undoable_batch": _last_batch(desk, pages.curator(request)),
    }
    headers = None
    if opened is not None:
        values["place"] = _place(opened, filter, found, share)
        values |= _concept_values(pages, request, opened, filter, is_refused=status >= 400)
        headers = {"HX-Push-Url": filter.url(concept=opened.key)} if status >= 400 else None
    return pages.render(request, "desk.html", "Queue", status, problem, filter, headers, **values)


def _read_queue(desk: ReviewDesk, filter: QueueFilter) -> tuple[Sequence[QueuedConcept], int]:
    """Return one page of the queue with one concept before and after it, and the total number."""
    query = filter.to_query(desk.taxonomy, PAGE_SIZE + 2)
    listed = desk.sure if filter.sure else desk.listed
    query = replace(query, offset=max(filter.offset - 1, 0), listed=listed)
    page = desk.store.queue(query)
    return page.concepts, page.total


def _concept_values(
    pages: Pages,
    request: Request,
    opened: QueuedConcept,
    filter: QueueFilter,
    is_refused: bool = False,
) -> dict[str, Any]:
    """Return the template values of the open concept; a refused decision is taken again."""
    desk = pages.desk
    taxonomy = pages.desk.taxonomy
    chosen = [id for id in request.query_params.getlist("with") if id in taxonomy]
    parents = pages.usable_parents
    chosen = [id for id in chosen if parents.is_usable(id)]
    panel = panel_values(pages, request, opened, filter)
    is_open = opened.status in (Status.TODO, Status.DEFERRED)
    again = bool(request.query_params.get("again") or panel["panel"] not in ("", "comment", "edit"))
    is_deciding = is_open or again or is_refused
    proposals = opened.proposals
    if is_deciding and not is_open:
        proposals += opened.rejected
    # The tree is around the parent that the first button accepts, or else the accepted one.
    shown = proposals if is_deciding else opened.accepted or proposals
    first = shown[0] if shown else None
    has_tree = first is not None and first.parent.id in taxonomy
    safe = opened.safe_place(taxonomy, desk.evidence.min_branch)
    return {
        "is_deciding": is_deciding,
        "proposals": proposals,
        "definition": desk.with_definition(opened.concept).definition,
        "namesake": _namesake(desk, opened.concept, shown),
        "reason": _reason(desk, opened),
        "tree": tree_around(parents, first, opened.concept) if first and has_tree else None,
        "roots": None if has_tree else branch_of(parents, "", opened.concept),
        "levels": parents.filter_suggestions(opened.coarse_places(taxonomy)),
        "safe_id": safe.parent.id if safe else None,
        "chosen_ids": chosen,
        "chosen": [
            {"id": id, "label": desk.label_of(id), "path": taxonomy.path(id)}
            for id in dict.fromkeys(chosen)
            if id not in {each.parent.id for each in proposals}
        ],
        **panel,
    }


def _namesake(desk: ReviewDesk, new: Concept, shown: Sequence[Suggestion]) -> Sequence[str] | None:
    """Return the path of an existing concept with the same name, unless a merge with it is shown.

    A curator may have given the new concept this name.
    """
    known = desk.namesake(new)
    if known is None or any(s.is_merge and s.parent.id == known.id for s in shown[:1]):
        return None
    return desk.taxonomy.path(known.id)


def _reason(desk: ReviewDesk, opened: QueuedConcept) -> Reason | None:
    """Return why a concept was rejected, if it is."""
    if opened.status != Status.REJECTED:
        return None
    recent = desk.store.history(0, RECENT, opened.key)
    return next((each.reason for each in recent if each.reason and not each.undone), None)


def _last_batch(desk: ReviewDesk, curator: str) -> LogEntry | None:
    """Return the curator's latest decision that can be undone, if it belongs to a batch."""
    for each in desk.store.history(0, RECENT):
        if each.curator == curator and not each.undone and each.action != Action.UNDO:
            return each if each.batch else None
    return None


def _branches(pages: Pages, filter: QueueFilter) -> list[tuple[str, str]]:
    """Return the branches to choose from: the roots, or the children of the only root."""
    desk = pages.desk
    parents = pages.usable_parents
    taxonomy = pages.desk.taxonomy
    tops = parents.children("")
    if len(tops) == 1:
        tops = parents.children(taxonomy.ids[tops[0]])
    ids = [taxonomy.ids[index] for index in tops[:MAX_BRANCHES]]
    ids.sort(key=lambda id: desk.label_of(id).casefold())
    if filter.branch in taxonomy and filter.branch not in ids:
        ids.insert(0, filter.branch)
    return [(id, desk.label_of(id)) for id in ids]


def _groups(
    concepts: Sequence[QueuedConcept], filter: QueueFilter
) -> list[tuple[Concept | None, Sequence[QueuedConcept]]]:
    """Return the concepts, grouped by their first proposal if the queue is in that order."""
    if filter.order != QueueOrder.PARENT:
        return [(None, concepts)]
    parents = groupby(concepts, lambda c: c.proposals[0].parent if c.proposals else None)
    return [(parent, list(items)) for parent, items in parents]


@dataclass(frozen=True)
class Share:
    """The concepts that are opened for one of several curators, so that two do not meet."""

    number: int
    of: int

    @classmethod
    def among(cls, desk: ReviewDesk, curator: str) -> Share:
        """Divide the queue by the curators who have decided lately."""
        since = datetime.now(UTC) - ACTIVE
        recent = desk.store.history(0, RECENT)
        names = sorted({curator, *(each.curator for each in recent if each.time > since)})
        return cls(names.index(curator), len(names))

    def first(self, concepts: Sequence[QueuedConcept]) -> QueuedConcept | None:
        """Return the first concept of this share, or else the first of all."""
        own = (each for each in concepts if crc32(each.key.encode()) % self.of == self.number)
        return next(own, next(iter(concepts), None))


def _place(
    opened: QueuedConcept, filter: QueueFilter, found: Sequence[QueuedConcept], share: Share
) -> dict[str, Any]:
    """Return the position of the open concept in the queue, and its neighbors on any page.

    The concept after the decision is the next one of the curator's share, if there is one.
    """
    lead = min(filter.offset, 1)
    last = lead + PAGE_SIZE - 1
    keys = [each.key for each in found]

    def url(at: int) -> str:
        if not 0 <= at < len(keys):
            return ""
        page = filter.page(-1 if at < lead else 1 if at > last else 0)
        return page.url(concept=keys[at])

    is_shown = opened.key in keys[lead : last + 1]
    at = keys.index(opened.key, lead) if is_shown else lead - 1
    return {
        "number": filter.offset + at - lead + 1 if is_shown else None,
        "previous_url": url(at - 1) if is_shown else "",
        "next_url": url(at + 1),
        "next": following.key if (following := share.first(found[at + 1 :])) else "",
    }
