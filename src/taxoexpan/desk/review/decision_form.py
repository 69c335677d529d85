"""Decisions as the forms of the review pages send them."""

from __future__ import annotations

from dataclasses import replace

from starlette.datastructures import FormData

from taxoexpan.desk.store.proposal import placement_of
from taxoexpan.desk.store.records import Action, NewDecision, Placement, QueuedConcept, Reason
from taxoexpan.errors import TaxoExpanError
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Taxonomy

MAX_COMMENT = 2000
"""The number of characters of a comment."""


class FormError(TaxoExpanError):
    """A form that does not make a decision."""


def read_decision(form: FormData, queued: QueuedConcept, taxonomy: Taxonomy) -> NewDecision:
    """Turn a form into a decision about a concept.

    The button that was pressed says which: `accept`, `plain` (move nothing), `merge` and `drop`
    have the id of a concept, `action` has the name of another decision.
    """
    empty = NewDecision(
        concept=queued.key,
        action=Action.COMMENT,
        version=_version(form),
        comment=_comment(form),
        request_id=text_of(form, "request") or None,
    )
    action = text_of(form, "action")
    if merged := text_of(form, "merge"):
        if form.getlist("with"):
            message = "a concept that is merged has no parents"
            raise FormError(f"{message}; clear the marks at “also” first")
        placement = _placement(queued, taxonomy, merged, merge=True)
        return replace(empty, action=Action.ACCEPT, placements=(placement,))
    if dropped := text_of(form, "drop"):
        placement = _shown(queued, dropped)
        return replace(empty, action=Action.REJECT_PROPOSAL, placements=(placement,))
    if action == "insert":
        return replace(empty, action=Action.ACCEPT, placements=_insertion(form, taxonomy, queued))
    if text_of(form, "accept") or text_of(form, "plain"):
        return replace(empty, action=Action.ACCEPT, placements=_parents(form, queued, taxonomy))
    return _other(action, form, empty)


def _other(action: str, form: FormData, empty: NewDecision) -> NewDecision:
    """Return a decision without a parent."""
    if action == "defer":
        return replace(empty, action=Action.DEFER)
    if action == "comment" and empty.comment:
        return empty
    if action == "comment":
        raise FormError("the comment is empty; write one")
    if action == "reject":
        reason = text_of(form, "reason")
        if reason not in tuple(Reason):
            raise FormError("a rejection needs a reason; choose one")
        return replace(empty, action=Action.REJECT, reason=Reason(reason))
    raise FormError("no decision was chosen; press one of the buttons")


def _parents(form: FormData, queued: QueuedConcept, taxonomy: Taxonomy) -> tuple[Placement, ...]:
    """Return the parent of the button that was pressed, and all that are marked."""
    first = _placement(queued, taxonomy, text_of(form, "accept") or text_of(form, "plain"))
    if text_of(form, "plain") and first.kind == SuggestionKind.INSERT:
        first = replace(first, kind=SuggestionKind.ATTACH, moves=())
    return _with_marked(form, queued, taxonomy, first)


def _with_marked(
    form: FormData, queued: QueuedConcept, taxonomy: Taxonomy, first: Placement
) -> tuple[Placement, ...]:
    """Return the first parent and the others that are marked, in addition to it."""
    marked = dict.fromkeys(str(id) for id in form.getlist("with"))
    marked.pop(first.parent_id, None)
    others = [_placement(queued, taxonomy, id) for id in marked]
    return (first, *(replace(each, kind=SuggestionKind.ALSO, moves=()) for each in others))


def _insertion(form: FormData, taxonomy: Taxonomy, queued: QueuedConcept) -> tuple[Placement, ...]:
    """Return a parent with the children that are to move, and the marked parents."""
    placement = _placement(queued, taxonomy, text_of(form, "accept"))
    children = set(taxonomy.children(placement.parent_id))
    moves = tuple(str(id) for id in form.getlist("move"))
    if not moves:
        raise FormError("no child was chosen; choose those that belong below the new concept")
    if not children.issuperset(moves):
        raise FormError("only children of the parent can move; choose them again")
    insertion = replace(placement, kind=SuggestionKind.INSERT, moves=moves)
    return _with_marked(form, queued, taxonomy, insertion)


def _placement(
    queued: QueuedConcept, taxonomy: Taxonomy, id: str, merge: bool = False
) -> Placement:
    """Return the proposal with this concept, or a placement that the curator searched for."""
    own = queued.concept
    if id == own.id and id in taxonomy and taxonomy.concept(id).label == own.label:
        raise FormError("this is the concept itself, learned from a decision; choose another one")
    for each in queued.proposals:
        if each.parent.id == id and (each.kind == SuggestionKind.MERGE) == merge:
            placement = placement_of(each)
            kind = each.kind if each.kind != SuggestionKind.ALSO else SuggestionKind.ATTACH
            return replace(placement, kind=kind)
    if id not in taxonomy:
        raise FormError(f"no concept has the id {id[:80]!r}; search for it again")
    kind = SuggestionKind.MERGE if merge else SuggestionKind.ATTACH
    return Placement(id, taxonomy.concept(id).label, taxonomy.path(id), kind)


def _shown(queued: QueuedConcept, id: str) -> Placement:
    """Return a proposal that is shown."""
    for each in queued.proposals:
        if each.parent.id == id:
            return placement_of(each)
    raise FormError("this proposal is no longer shown; look at the concept again")


def _version(form: FormData) -> int:
    text = text_of(form, "version")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise FormError("the form is incomplete; open the concept again")
    return int(text)


def _comment(form: FormData) -> str:
    comment = text_of(form, "comment").strip()
    if len(comment) > MAX_COMMENT:
        message = f"the comment has {len(comment):,} characters, but {MAX_COMMENT:,} are allowed"
        raise FormError(f"{message}; shorten it")
    return comment


def text_of(form: FormData, name: str) -> str:
    """Return a field as text; a missing one is empty, and so is a file."""
    value = form.get(name, "")
    return value if isinstance(value, str) else ""
