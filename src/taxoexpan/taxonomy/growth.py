"""What a taxonomy has grown by: the additions that turn an old version into a new one."""

from __future__ import annotations

from collections.abc import Sequence

from taxoexpan.errors import TaxonomyError
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy.additions import Additions, Move
from taxoexpan.taxonomy.difference import Change, Difference


def additions_between(difference: Difference) -> Additions:
    """Return the additions that turn the old taxonomy into the new one; refuse other changes.

    Definitions that old concepts have gained are left out (see `Difference.defined`).
    """
    old = difference.old
    new_ids = {concept.id for concept in difference.added}
    removed = set(difference.relations_removed)
    relations = [pair for pair in difference.relations_added if pair[1] in new_ids]
    moves = []
    for parent, child in difference.relations_added:
        if child in new_ids:
            continue
        above = [
            up for up in old.parents(child) if (up, child) in removed and (up, parent) in relations
        ]
        moves += [Move(child, up, parent) for up in above[:1]]
        if not above:
            _refuse("new parent of an old concept", [old.concept(child).label])
        removed.discard((above[0], child))
    _refuse("removed concept", [concept.label for concept in difference.removed])
    _refuse("removed relation", [old.concept(child).label for _, child in removed])
    changed = difference.changed
    _refuse("changed concept", [change.old.label for change in changed if _is_rewritten(change)])
    synonyms = [
        (change.old.id, name)
        for change in changed
        for name in change.new.synonyms
        if name not in change.old.synonyms
    ]
    return Additions(difference.added, relations, moves=moves, synonyms=synonyms)


def _is_rewritten(change: Change) -> bool:
    """Return whether a text of a concept was changed or removed."""
    old = change.old
    new = change.new
    return (
        old.label != new.label
        or old.deprecated != new.deprecated
        or bool(old.definition and old.definition != new.definition)
        or not {*old.synonyms} <= {*new.synonyms}
    )


def _refuse(what: str, labels: Sequence[str]) -> None:
    if labels:
        problem = f"{pluralize(len(labels), what)} (such as {labels[0]!r}) cannot be written"
        raise TaxonomyError(f"{problem} without rewriting the file")
