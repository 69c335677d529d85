"""Accepted decisions that the taxonomy file cannot hold, which are left out of the new taxonomy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from taxoexpan.decisions.acceptance import Acceptance
from taxoexpan.decisions.additions import child_named
from taxoexpan.decisions.applying import apply_suggestions
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.desk.review.desk import ReviewDesk
from taxoexpan.desk.store.exports import exportable_decisions
from taxoexpan.errors import TaxoExpanError
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept

# Ordinary texts have no signs that separate or begin something in any format.
_ORDINARY_NAME = re.compile(r"[^\W_](?:[^\W_]|[ '-])*")
_ORDINARY_DEFINITION = re.compile(r"(?:[^\W_](?:[^\W_]|[ .,;:'\"()/&%-])*)?")


class LeftOut(NamedTuple):
    """A message about a decision that the file has no room for, and its concept, if it is known."""

    message: str
    concept: Concept | None = None
    key: str = ""


def writable(
    desk: ReviewDesk, decided: Sequence[Suggestion]
) -> tuple[list[Suggestion], list[LeftOut]]:
    """Return the accepted suggestions that the file has room for, and what is left out."""
    accepted, messages = exportable_decisions(desk.expanded, decided)
    accepted, left_out = _with_supported_changes(desk, accepted)
    accepted, with_many = _with_one_parent(desk, accepted)
    accepted, refused = _with_writable_texts(desk, accepted)
    if with_many or refused:
        # What was accepted below a concept that is left out has no place either.
        accepted, more = exportable_decisions(desk.expanded, accepted)
        messages += more
    return accepted, [*with_many, *refused, *map(LeftOut, messages), *left_out]


def accepted_kinds(accepted: Sequence[Suggestion]) -> Acceptance:
    """Allow only the moves and merges that a person has accepted."""
    kinds = {each.kind for each in accepted}
    return Acceptance(
        allow_moves=SuggestionKind.INSERT in kinds, allow_merges=SuggestionKind.MERGE in kinds
    )


def _with_supported_changes(
    desk: ReviewDesk, accepted: Sequence[Suggestion]
) -> tuple[list[Suggestion], list[LeftOut]]:
    """Leave out moves and merges if the file cannot store them."""
    supported = desk.file.supported_changes if desk.file else ("moves", "synonyms")
    kept = []
    left_out = []
    for each in accepted:
        label = repr(each.query.label)
        parent = repr(each.parent.label)
        if each.is_merge and "synonyms" not in supported:
            message = f"{label} is a synonym of {parent}; this file has no synonyms"
            left_out.append(LeftOut(message, each.query))
            continue
        if each.moves and "moves" not in supported:
            message = f"{label} moves no children of {parent}; this file cannot be changed so"
            left_out.append(LeftOut(message, each.query))
            each = replace(each, kind=SuggestionKind.ATTACH, moves=())
        kept.append(each)
    return kept, left_out


def _with_one_parent(
    desk: ReviewDesk, accepted: list[Suggestion]
) -> tuple[list[Suggestion], list[LeftOut]]:
    """Leave out new concepts with several parents if a concept of the file can have only one."""
    parents: dict[str, list[Suggestion]] = {}
    for each in accepted:
        parents.setdefault(each.query.id or each.query.label, []).append(each)

    def is_known(each: Suggestion) -> bool:
        return child_named(desk.expanded, each.parent.id, each.query.label) is not None

    several = [own for own in parents.values() if len(own) > 1 and not any(map(is_known, own))]
    if not several or desk.file is None or not desk.file.has_single_parents:
        return accepted, []
    left_out = []
    for own in several:
        labels = join_words([repr(each.parent.label) for each in own])
        message = f"{own[0].query.label!r} is below {labels}, but a concept of this file has only"
        left_out.append(
            LeftOut(f"{message} one parent; decide again, and choose one", own[0].query)
        )
    gone = {id(each) for own in several for each in own}
    return [each for each in accepted if id(each) not in gone], left_out


def _with_writable_texts(
    desk: ReviewDesk, accepted: list[Suggestion]
) -> tuple[list[Suggestion], list[LeftOut]]:
    """Leave out concepts with a text that the file cannot hold; every text is tried once.

    A trial takes as long as writing the file, so ordinary texts are not tried.
    """
    if desk.file is None:
        return accepted, []
    doubtful = {_trial(each): each for each in accepted if not _is_ordinary(each.query)}
    untried = [trial for trial in doubtful if trial not in desk.tried]
    refused = _refusals(desk.file, untried)
    desk.tried.update({trial: refused.get(trial, "") for trial in untried})
    left_out = [
        LeftOut(desk.tried[trial], each.query)
        for trial, each in doubtful.items()
        if desk.tried[trial]
    ]
    gone = [each.concept for each in left_out]
    return [each for each in accepted if each.query not in gone], left_out


def _is_ordinary(concept: Concept) -> bool:
    names = (concept.label, *concept.synonyms)
    is_defined = _ORDINARY_DEFINITION.fullmatch(concept.definition) is not None
    return is_defined and all(map(_ORDINARY_NAME.fullmatch, names))


def _trial(each: Suggestion) -> Suggestion:
    """Return what matters for the texts of a new concept, or of a synonym."""
    kind = SuggestionKind.MERGE if each.is_merge else SuggestionKind.ATTACH
    return Suggestion(
        each.query, 0, each.parent, kind=kind, decision=each.decision, curator=each.curator
    )


def _refusals(file: TaxonomyFile, trials: list[Suggestion]) -> dict[Suggestion, str]:
    """Return why the file cannot be written with some of the suggestions.

    A concept of the file stands for a parent that is new itself.
    """
    if not trials:
        return {}
    known = file.taxonomy.concept(file.taxonomy.ids[0])
    placed = [e if e.parent.id in file.taxonomy else replace(e, parent=known) for e in trials]
    try:
        apply_suggestions(file, placed, None, accepted_kinds(placed))
    except TaxoExpanError as error:
        message = error.message
        named = [each for each in trials if repr(each.query.label) in message]
        if len(trials) == 1:
            return {trials[0]: message if named else f"{trials[0].query.label!r}: {message}"}
        # Most messages name the concept; else it is found with few trials.
        first = named if 0 < len(named) < len(trials) else trials[: len(trials) // 2]
        parts = first, [each for each in trials if each not in first]
        return {trial: reason for part in parts for trial, reason in _refusals(file, part).items()}
    return {}
