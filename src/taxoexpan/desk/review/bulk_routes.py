"""Accepting many concepts at once: the preview, and the batch of decisions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.bulk_preview import LOW_CONFIDENCE, BulkPreview, preview_bulk
from taxoexpan.desk.review.decision_form import text_of
from taxoexpan.desk.review.page_context import Pages, see_other
from taxoexpan.desk.review.queue_filter import QueueFilter
from taxoexpan.desk.store.records import Status
from taxoexpan.desk.store.store_errors import ConflictError

DEFAULT_THRESHOLD = 0.9
"""The threshold at first, if any concept reaches it."""
FIELDS = ("parent", "branch", "q")
"""The parameters that narrow the concepts."""


def show_bulk(
    pages: Pages,
    request: Request,
    values: Mapping[str, str] | None = None,
    status: int = 200,
    problem: str = "",
) -> Response:
    """Return the preview."""
    values = request.query_params if values is None else values
    taxonomy = pages.desk.taxonomy
    parent, branch = values.get("parent", ""), values.get("branch", "")
    return pages.render(
        request,
        "bulk.html",
        "Bulk accept",
        status,
        filter=QueueFilter.parse({"q": values.get("q", ""), "branch": branch}),
        preview=_preview(pages, values),
        parent={"path": taxonomy.path(parent)} if parent in taxonomy else None,
        branch=taxonomy.path(branch) if branch in taxonomy else None,
        bulk_fields=_fields(values),
        problem=problem,
        request_id=secrets.token_urlsafe(16),
    )


def accept_bulk(pages: Pages, request: Request, form: FormData) -> Response:
    """Accept all concepts of the preview as one batch, if they are still those."""
    values = {name: value for name, value in form.items() if isinstance(value, str)}
    request_id = text_of(form, "request") or None
    if request_id and (logged := pages.desk.store.requested(request_id)):
        return see_other(QueueFilter().url(did=logged[-1].number, count=len(logged)))
    preview = _preview(pages, values)
    if preview.digest != text_of(form, "seen"):
        problem = "The queue has changed since the preview. Nothing was accepted; look again."
        return show_bulk(pages, request, values, 409, problem)
    if preview.needs_confirmation and text_of(form, "confirmed") != "1":
        problem = "Nothing was accepted: confirm that proposals of low confidence are accepted too."
        return show_bulk(pages, request, values, 422, problem)
    if not preview.accepted:
        return show_bulk(pages, request, values, 422, "There is nothing to accept.")
    decisions = preview.decisions(batch=secrets.token_hex(16))
    decisions = [replace(each, request_id=request_id) for each in decisions]
    try:
        logged = pages.desk.store.append(decisions, pages.curator(request))
    except ConflictError as error:
        problem = (
            f"{error.other.curator} was faster with a concept. Nothing was accepted; look again."
        )
        return show_bulk(pages, request, values, 409, problem)
    return see_other(QueueFilter().url(did=logged[-1].number, count=len(logged)))


def _preview(pages: Pages, values: Mapping[str, str]) -> BulkPreview:
    """Return what would be accepted: concepts that are deferred wait for a person."""
    desk = pages.desk
    filter = QueueFilter.parse({"q": values.get("q", ""), "branch": values.get("branch", "")})
    query = filter.to_query(desk.taxonomy, limit=None)
    query = replace(query, statuses=(Status.TODO,), listed=desk.listed)
    if parent := values.get("parent", ""):
        query = replace(query, parent_id=parent)
    given = QueueFilter.parse({"low": values.get("min", "")}).low
    lowest = LOW_CONFIDENCE if given is None else min(given, LOW_CONFIDENCE)
    concepts = desk.store.first_proposals(replace(query, min_confidence=lowest))
    total = desk.store.queue(replace(query, limit=1)).total
    arguments = total, bool(values.get("unsuitable")), _fields(values)
    if given is not None or parent:
        return preview_bulk(concepts, LOW_CONFIDENCE if given is None else given, *arguments)
    preview = preview_bulk(concepts, DEFAULT_THRESHOLD, *arguments)
    reached = (step.threshold for step in preview.steps if step.count)
    threshold = min(DEFAULT_THRESHOLD, next(reached, DEFAULT_THRESHOLD))
    return preview_bulk(concepts, threshold, *arguments)


def _fields(values: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, values[name]) for name in FIELDS if values.get(name)]
