"""Taking decisions: the form of a concept, undo, and the curator's name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.desk.review.filters import QueueFilter, natural, queue_url
from taxoexpan.desk.review.pages import Pages, remember_curator, see_other
from taxoexpan.desk.review.parents import OBSOLETE, Redundancy, UsableParents
from taxoexpan.desk.review.queue import show_queue
from taxoexpan.desk.store.decisions import (
    Action,
    BusyError,
    ConflictError,
    LogEntry,
    QueuedConcept,
    Reason,
    StoreError,
)
from taxoexpan.errors import TaxoExpanError
from taxoexpan.taxonomy import Concept, Taxonomy

MAX_COMMENT = 2000
"""The number of characters of a comment."""
MAX_NAME = 1000
"""The number of characters of a label."""
STAYING = (Action.REJECT_PROPOSAL, Action.COMMENT, Action.EDIT)
"""After these decisions, the concept stays open."""


class FormError(TaxoExpanError):
    """An incomplete or contradictory form."""


def take_decision(pages: Pages, request: Request, form: FormData) -> Response:
    """Append the decision of a form to the log, and open the next concept or show the conflict."""
    back = text_of(form, "back")
    key = text_of(form, "concept")
    queued = pages.desk.store.concept(key)
    if queued is None:
        return pages.problem(request, 404, "Not in the queue", "This concept is not in the queue.")
    if text_of(form, "action") == "none":
        return see_other(queue_url(back, concept=key))

    def show_again(status: int, **reason: Any) -> Response:
        return show_queue(pages, request, key, QueueFilter.parse_query(back), status, **reason)

    try:
        done = _repeated(pages, form)
        if done is None:
            decision = read_decision(form, queued, pages.usable_parents)
            chosen = decision.suggestions
            if decision.action == Action.ACCEPT and len(chosen) > 1 and not text_of(form, "keep"):
                redundancy = Redundancy.among(chosen, pages.desk.taxonomy)
                if redundancy is not None:
                    return show_again(422, redundancy=redundancy)
            done = pages.desk.store.append([decision], pages.curator(request))[-1]
    except ConflictError as error:
        return show_again(409, conflict=error.other)
    except (FormError, StoreError) as error:
        status = 503 if isinstance(error, BusyError) else 422
        return show_again(status, problem=_sentence(error))
    if done.action in STAYING:
        at = natural(text_of(form, "at"))
        return see_other(
            queue_url(back, concept=key, **({"at": at} if at else {}), did=done.number)
        )
    following = text_of(form, "next")
    opened = {"concept": following} if following else {}
    return see_other(queue_url(back, **opened, did=done.number))


def _repeated(pages: Pages, form: FormData) -> LogEntry | None:
    """Return the decision that this form has made already, because it was sent twice."""
    request_id = text_of(form, "request")
    key = text_of(form, "concept")
    done = pages.desk.store.requested(request_id) if request_id else []
    return next((each for each in done if each.concept == key), None)


def read_decision(form: FormData, queued: QueuedConcept, parents: UsableParents) -> LogEntry:
    """Turn a form into a decision about a concept.

    The pressed button defines the decision: `accept`, `insert` (move the children that the form
    names), `coarse` (to be refined), `merge` and `drop` have the id of a concept, and `action`
    names another decision.
    """
    version = natural(text_of(form, "version"))
    comment = text_of(form, "comment").strip()
    if version is None:
        raise FormError("the form is incomplete", fix="open the concept again")
    if len(comment) > MAX_COMMENT:
        message = f"the comment has {len(comment):,} characters, but {MAX_COMMENT:,} are allowed"
        raise FormError(message, fix="shorten it")
    action, suggestions = _chosen(form, queued, parents)
    reason = text_of(form, "reason") if action == Action.REJECT else ""
    return LogEntry(
        concept=queued.key,
        action=action,
        version=version,
        suggestions=suggestions,
        reason=Reason(reason) if reason in tuple(Reason) else None,
        comment=comment,
        edited=_edited(form, queued.concept) if action == Action.EDIT else None,
        request_id=text_of(form, "request") or None,
        model=text_of(form, "model") or None,
    )


def _chosen(
    form: FormData, queued: QueuedConcept, parents: UsableParents
) -> tuple[Action, tuple[Suggestion, ...]]:
    """Return the action of a form, and the suggestions that it applies to."""
    action = text_of(form, "action")
    accepted = text_of(form, "accept")
    inserted = text_of(form, "insert")
    if merged := text_of(form, "merge"):
        if form.getlist("with"):
            message = "a concept that is merged has no parents"
            raise FormError(message, fix="clear the marks at “also” first")
        return Action.ACCEPT, (_suggestion(queued, parents, merged, SuggestionKind.MERGE),)
    if level := text_of(form, "coarse"):
        levels = parents.filter_suggestions(queued.coarse_places(parents.taxonomy))
        chosen = tuple(each for each in levels if each.parent.id == level)
        if not chosen:
            raise FormError("this place is no longer shown", fix="look at the concept again")
        return Action.ACCEPT, chosen
    if dropped := text_of(form, "drop"):
        shown = [each for each in queued.proposals if each.parent.id == dropped]
        if not shown:
            raise FormError("this proposal is no longer shown", fix="look at the concept again")
        return Action.REJECT_PROPOSAL, (shown[0],)
    if action == "insert" or accepted or inserted:
        first = _suggestion(queued, parents, inserted or accepted)
        if action == "insert" or inserted:
            moved = form.getlist(f"moves:{inserted}" if inserted else "move")
            moves = _moves(tuple(map(str, moved)), parents.taxonomy, first)
            first = replace(first, kind=SuggestionKind.INSERT, moves=moves)
        marked = dict.fromkeys(str(id) for id in form.getlist("with"))
        marked.pop(first.parent.id, None)
        others = (_suggestion(queued, parents, id) for id in marked)
        also = [replace(each, kind=SuggestionKind.ALSO) for each in others]
        return Action.ACCEPT, (first, *also)
    if action not in (Action.DEFER, Action.COMMENT, Action.REJECT, Action.EDIT):
        raise FormError("no decision was chosen", fix="press one of the buttons")
    return Action(action), ()


def _edited(form: FormData, old: Concept) -> Concept:
    """Return the new concept with the names and the definition of a form."""
    label = " ".join(text_of(form, "label").split())
    lines = (" ".join(line.split()) for line in text_of(form, "synonyms").splitlines())
    synonyms = tuple(dict.fromkeys(line for line in lines if line and line != label))
    if max(map(len, (label, *synonyms))) > MAX_NAME:
        raise FormError(f"a name has more than {MAX_NAME:,} characters", fix="shorten it")
    definition = text_of(form, "definition").strip()
    return replace(old, label=label, synonyms=synonyms, definition=definition)


def _suggestion(
    queued: QueuedConcept,
    parents: UsableParents,
    id: str,
    kind: SuggestionKind = SuggestionKind.ATTACH,
) -> Suggestion:
    """Return the proposal with this concept, or a new suggestion with rank 0; it moves nothing."""
    own = queued.concept
    is_merge = kind == SuggestionKind.MERGE
    taxonomy = parents.taxonomy
    if id == own.id and id in taxonomy and taxonomy.concept(id).label == own.label:
        raise FormError(
            "this is the concept itself, learned from a decision", fix="choose another one"
        )
    _refuse_unusable(parents, id)
    for each in (*queued.proposals, *queued.rejected):
        if each.parent.id == id and each.is_merge == is_merge:
            is_coarse = each.kind == SuggestionKind.COARSE
            return replace(each, kind=each.kind if is_coarse else kind, moves=())
    if id not in taxonomy:
        raise FormError(f"no concept has the id {id[:80]!r}", fix="search for it again")
    return Suggestion.at(taxonomy, own, taxonomy.index(id), kind=kind)


def _refuse_unusable(parents: UsableParents, id: str) -> None:
    """Refuse a parent that is obsolete, or that was learned and is undone."""
    if reason := parents.why_unusable(id):
        label = parents.taxonomy.concept(id).label if id in parents.taxonomy else id
        fix = "accept that concept first"
        if reason == OBSOLETE:
            fix = "choose a concept that is in use"
        raise FormError(f"{label!r} is {reason}, so nothing can be placed below it", fix=fix)


def _moves(moves: tuple[str, ...], taxonomy: Taxonomy, parent: Suggestion) -> tuple[str, ...]:
    """Return the children of a parent that a form moves, or refuse others."""
    if not moves:
        raise FormError("no child was chosen", fix="choose those that belong below the new concept")
    if not set(taxonomy.children(parent.parent.id)).issuperset(moves):
        raise FormError("only children of the parent can move", fix="choose them again")
    return moves


def choose_parent(pages: Pages, request: Request, form: FormData) -> Response:
    """Open the concept again with all chosen parents marked."""
    back = text_of(form, "back")
    key = text_of(form, "concept")
    ids = [str(id) for id in form.getlist("with")]
    try:
        for id in ids:
            _refuse_unusable(pages.usable_parents, id)
    except FormError as error:
        filter = QueueFilter.parse_query(back)
        return show_queue(pages, request, key, filter, 422, problem=_sentence(error))
    return see_other(f"{queue_url(back, concept=key)}&{urlencode([('with', id) for id in ids])}")


def undo(pages: Pages, request: Request, form: FormData) -> Response:
    """Undo the curator's latest decision, a decision by its number, or a batch."""
    batch = text_of(form, "batch")
    wanted = batch or text_of(form, "number")
    number = natural(wanted)
    if wanted and number is None:
        return pages.problem(request, 422, "Nothing undone", "Invalid decision number.")
    try:
        undone = pages.desk.store.undo(
            pages.curator(request), number, bool(batch), text_of(form, "request") or None
        )
    except StoreError as error:
        status = 503 if isinstance(error, BusyError) else 409
        return pages.problem(request, status, "Nothing undone", _sentence(error))
    done = {"did": undone[-1].number if undone else "nothing", "count": len(undone)}
    if text_of(form, "page") == "history":
        return see_other(f"/history?{urlencode(done)}")
    opened = {"concept": undone[0].concept} if len(undone) == 1 else {}
    return see_other(queue_url(text_of(form, "back"), **opened, **done))


def change_curator(pages: Pages, request: Request, form: FormData) -> Response:
    """Use another name for the next decisions of this browser."""
    name = text_of(form, "curator")
    if not name.strip():
        return pages.problem(request, 422, "No name", "The name is empty; write one.")
    response = see_other(queue_url(text_of(form, "back")))
    remember_curator(response, name)
    return response


def text_of(form: FormData, name: str) -> str:
    """Return a field as a string, which is empty for a missing field or a file."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _sentence(error: Exception) -> str:
    """Return the message of an error as a sentence; a file name at its start is not capitalized."""
    text = str(error)
    is_word = text.partition(" ")[0].isalpha()
    return f"{text[:1].upper() if is_word else text[:1]}{text[1:]}."
