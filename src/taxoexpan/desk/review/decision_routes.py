"""Taking decisions: one concept, undo, and the curator's name."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.decision_form import FormError, read_decision, text_of
from taxoexpan.desk.review.page_context import Pages, remember_curator, see_other
from taxoexpan.desk.review.queue_filter import QueueFilter
from taxoexpan.desk.review.queue_routes import show_queue
from taxoexpan.desk.store.records import Action
from taxoexpan.desk.store.store_errors import BusyError, ConflictError, StoreError

STAYING = (Action.REJECT_PROPOSAL, Action.COMMENT)
"""After these decisions, the concept stays open."""


def take_decision(pages: Pages, request: Request, form: FormData) -> Response:
    """Append the decision of a form to the log, and open the next concept.

    If another curator was faster, the concept is shown again, with the other's decision.
    """
    filter = QueueFilter.parse_query(text_of(form, "back"))
    key = text_of(form, "concept")
    queued = pages.desk.store.concept(key)
    if queued is None:
        return pages.problem(request, 404, "Not in the queue", "This concept is not in the queue.")
    if text_of(form, "action") == "none":
        return see_other(filter.url(concept=key))
    try:
        decision = read_decision(form, queued, pages.desk.taxonomy)
        logged = pages.desk.store.append([decision], pages.curator(request))
    except ConflictError as error:
        return show_queue(pages, request, key, filter, 409, conflict=error.other)
    except (FormError, StoreError) as error:
        status = 503 if isinstance(error, BusyError) else 422
        return show_queue(pages, request, key, filter, status, problem=_sentence(error))
    done = logged[-1].number
    following = key if decision.action in STAYING else text_of(form, "next")
    if following:
        return see_other(filter.url(concept=following, did=done))
    return see_other(filter.url(did=done))


def choose_parent(form: FormData) -> Response:
    """Open the concept again with all chosen parents marked."""
    filter = QueueFilter.parse_query(text_of(form, "back"))
    chosen = urlencode([("with", str(id)) for id in form.getlist("with")])
    return see_other(f"{filter.url(concept=text_of(form, 'concept'))}&{chosen}")


def undo(pages: Pages, request: Request, form: FormData) -> Response:
    """Undo the curator's latest decision, one by its number, or a batch."""
    filter = QueueFilter.parse_query(text_of(form, "back"))
    batch, number = text_of(form, "batch"), text_of(form, "number")
    wanted = batch or number
    if wanted and not (wanted.isascii() and wanted.isdigit() and len(wanted) < 12):
        return pages.problem(request, 422, "Nothing undone", "This is no number of a decision.")
    try:
        logged = pages.desk.store.undo(
            pages.curator(request),
            int(wanted) if wanted else None,
            whole_batch=bool(batch),
            request_id=text_of(form, "request") or None,
        )
    except StoreError as error:
        status = 503 if isinstance(error, BusyError) else 409
        return pages.problem(request, status, "Nothing undone", _sentence(error))
    done = {"did": logged[-1].number if logged else "nothing", "count": len(logged)}
    if text_of(form, "page") == "history":
        return see_other(f"/history?{urlencode(done)}")
    if len(logged) == 1:
        return see_other(filter.url(concept=logged[0].decision.concept, **done))
    return see_other(filter.url(**done))


def change_curator(pages: Pages, request: Request, form: FormData) -> Response:
    """Use another name for the next decisions of this browser."""
    name = " ".join(text_of(form, "curator").split())
    if not name:
        return pages.problem(request, 422, "No name", "The name is empty; write one.")
    response = see_other(QueueFilter.parse_query(text_of(form, "back")).url())
    remember_curator(response, name)
    return response


def _sentence(error: Exception) -> str:
    """Return the message of an error as a sentence; the name of a file stays as it is."""
    text = str(error)
    is_word = text.partition(" ")[0].isalpha()
    return f"{text[:1].upper() if is_word else text[:1]}{text[1:]}."
