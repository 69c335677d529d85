"""The main page: the queue on one side, one concept on the other."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.concept_panels import PANELS, panel_values
from taxoexpan.desk.review.page_context import Pages
from taxoexpan.desk.review.page_templates import STATUS_NAMES
from taxoexpan.desk.review.proposal_tree import tree_around
from taxoexpan.desk.review.queue_filter import ALL, PAGE_SIZE, QueueFilter
from taxoexpan.desk.review.queue_measure import QueueMeasure
from taxoexpan.desk.review.review_desk import ReviewDesk
from taxoexpan.desk.store.queue_query import QueueOrder
from taxoexpan.desk.store.records import Action, LoggedDecision, QueuedConcept, Status
from taxoexpan.taxonomy import Concept

MAX_BRANCHES = 100
"""The number of branches to choose from."""
RECENT = 20
"""The number of decisions among which the curator's last one is looked for."""


@dataclass(frozen=True, slots=True)
class StatusTab:
    """A link to the concepts of one status."""

    text: str
    count: int
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class ProgressPart:
    """A part of the bar of progress, in thousandths."""

    status: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of the queue is decided."""

    parts: tuple[ProgressPart, ...]
    total: int
    left: int
    text: str


@dataclass(frozen=True, slots=True)
class ConceptGroup:
    """Concepts that are shown together; in groups by parent, with their parent."""

    parent: Concept | None
    items: Sequence[QueuedConcept]


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """The number of a concept in the queue, and its neighbors."""

    number: int | None = None
    previous_url: str = ""
    next_url: str = ""
    next: str = ""
    """The key of the next concept."""


@dataclass(frozen=True, slots=True)
class QueueWindow:
    """One page of the queue, and the concepts just before and after it."""

    concepts: Sequence[QueuedConcept]
    total: int
    before: QueuedConcept | None
    after: QueuedConcept | None


def read_window(desk: ReviewDesk, filter: QueueFilter) -> QueueWindow:
    """Read one page of the queue."""
    lead = min(filter.offset, 1)
    query = replace(
        filter.to_query(desk.taxonomy),
        offset=filter.offset - lead,
        limit=PAGE_SIZE + 2,
        listed=desk.listed,
    )
    page = desk.store.queue(query)
    shown = page.concepts[lead : lead + PAGE_SIZE]
    after = page.concepts[lead + PAGE_SIZE : lead + PAGE_SIZE + 1]
    before = page.concepts[:lead]
    return QueueWindow(shown, page.total, next(iter(before), None), next(iter(after), None))


def show_queue(
    pages: Pages,
    request: Request,
    key: str | None = None,
    filter: QueueFilter | None = None,
    status: int = 200,
    conflict: LoggedDecision | None = None,
    problem: str = "",
) -> Response:
    """Return the main page; a conflict or a problem is shown with the concept that it is about."""
    desk = pages.desk
    filter = QueueFilter.parse(request.query_params) if filter is None else filter
    page = read_window(desk, filter)
    if not page.concepts and page.total:  # decided concepts have left the page
        filter = replace(filter, offset=0)
        page = read_window(desk, filter)
    wanted = key if key is not None else request.query_params.get("concept")
    opened = desk.store.concept(wanted) if wanted else next(iter(page.concepts), None)
    is_list = request.query_params.get("view") == "queue" or not wanted
    counts = desk.counts()
    values: dict[str, Any] = {
        "progress": progress_of(counts),
        "tabs": _tabs(filter, counts),
        "measure": QueueMeasure.of([*page.concepts, *([opened] if opened else [])]),
        "branches": _branches(desk, filter),
        "groups": _groups(page.concepts, filter),
        "items": page.concepts,
        "total": page.total,
        "opened": opened,
        "view": "queue" if is_list and opened and not (conflict or problem) else "concept",
        "conflict": conflict,
    }
    headers = None
    if opened is not None:
        values |= _concept_values(pages, request, opened, filter, page)
        headers = {"HX-Push-Url": filter.url(concept=opened.key)} if status >= 400 else None
    return pages.render(request, "desk.html", "Queue", status, problem, filter, headers, **values)


def _concept_values(
    pages: Pages,
    request: Request,
    opened: QueuedConcept,
    filter: QueueFilter,
    page: QueueWindow,
) -> dict[str, Any]:
    """Return what the page of one concept shows."""
    desk, taxonomy = pages.desk, pages.desk.taxonomy
    chosen = [id for id in request.query_params.getlist("with") if id in taxonomy]
    proposed = {each.parent.id for each in opened.proposals}
    first = opened.proposals[0] if opened.proposals else None
    has_tree = first is not None and first.parent.id in taxonomy
    tree = None
    if first is not None and has_tree:
        tree = tree_around(taxonomy, first.parent.id, opened.concept, first.moves)
    return {
        "place": _place(opened, filter, page),
        "definition": desk.with_definition(opened.concept).definition,
        "tree": tree,
        "panels": PANELS,
        "chosen_ids": chosen,
        "chosen": [
            {"id": id, "label": desk.label_of(id), "path": taxonomy.path(id)}
            for id in dict.fromkeys(chosen)
            if id not in proposed
        ],
        "request_id": secrets.token_urlsafe(16),
        "undoable_batch": _last_batch(desk, pages.curator(request)),
        **panel_values(desk, request, opened, filter),
    }


def _last_batch(desk: ReviewDesk, curator: str) -> LoggedDecision | None:
    """Return the curator's latest decision that can be undone, if it is one of a batch."""
    for logged in desk.store.history(0, RECENT):
        is_own = logged.curator == curator and not logged.undone
        if is_own and logged.decision.action != Action.UNDO:
            return logged if logged.decision.batch else None
    return None


def progress_of(counts: dict[Status, int]) -> Progress:
    """Return how much of the queue is decided."""
    total, start = sum(counts.values()), 0.0
    parts = []
    for status in (Status.ACCEPTED, Status.REJECTED, Status.DEFERRED):
        width = round(1000 * counts[status] / total, 2) if total else 0.0
        parts.append(ProgressPart(status.value, round(start, 2), width))
        start += width
    left = counts[Status.TODO] + counts[Status.DEFERRED]
    decided = total - left
    names = {Status.ACCEPTED: "accepted", Status.REJECTED: "rejected"}
    shown = [f"{counts[status]:,} {name}" for status, name in names.items() if counts[status]]
    text = f"{decided:,} of {total:,} decided" + (f": {', '.join(shown)}" if shown else "")
    if counts[Status.DEFERRED]:
        text += f"; {counts[Status.DEFERRED]:,} not sure"
    return Progress(tuple(parts), total, left, text)


def _tabs(filter: QueueFilter, counts: dict[Status, int]) -> list[StatusTab]:
    """Return the links to the statuses; to do are also the concepts that come back later."""
    texts = [(status.value, name, counts[status]) for status, name in STATUS_NAMES.items()]
    texts[0] = (Status.TODO.value, "To do", counts[Status.TODO] + counts[Status.DEFERRED])
    texts.append((ALL, "All", sum(counts.values())))
    return [
        StatusTab(text, count, filter.with_status(value).url(view="queue"), value == filter.status)
        for value, text, count in texts
    ]


def _branches(desk: ReviewDesk, filter: QueueFilter) -> list[tuple[str, str]]:
    """Return the branches to choose from: roots or, if there is only one, its children."""
    taxonomy = desk.taxonomy
    tops = taxonomy.roots
    if len(tops) == 1:
        tops = taxonomy.children(tops[0])
    ids = sorted(tops[:MAX_BRANCHES], key=lambda id: desk.label_of(id).casefold())
    if filter.branch in taxonomy and filter.branch not in ids:
        ids.insert(0, filter.branch)
    return [(id, desk.label_of(id)) for id in ids]


def _groups(concepts: Sequence[QueuedConcept], filter: QueueFilter) -> list[ConceptGroup]:
    """Return the concepts, grouped by their first proposal if that is the order."""
    if filter.order != QueueOrder.PARENT:
        return [ConceptGroup(None, concepts)]

    def parent(each: QueuedConcept) -> Concept | None:
        return each.proposals[0].parent if each.proposals else None

    return [ConceptGroup(found, list(items)) for found, items in groupby(concepts, parent)]


def _place(opened: QueuedConcept, filter: QueueFilter, page: QueueWindow) -> QueuePlace:
    """Return where the open concept is in the queue; its neighbors may be on other pages."""
    keys = [each.key for each in page.concepts]
    if opened.key not in keys:
        return (
            QueuePlace(next=keys[0], next_url=filter.url(concept=keys[0])) if keys else QueuePlace()
        )
    at = keys.index(opened.key)
    previous_url = filter.url(concept=keys[at - 1]) if at else ""
    if not at and page.before:
        previous_url = filter.page(-1).url(concept=page.before.key)
    next_key = keys[at + 1] if at + 1 < len(keys) else ""
    next_url = filter.url(concept=next_key) if next_key else ""
    if not next_key and page.after:
        next_key, next_url = page.after.key, filter.page(1).url(concept=page.after.key)
    return QueuePlace(filter.offset + at + 1, previous_url, next_url, next_key)
