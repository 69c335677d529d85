"""Accepted decisions that the taxonomy file cannot hold, which are left out of the new taxonomy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from taxoexpan.decisions.additions import child_named
from taxoexpan.decisions.applying import apply_decisions, supported
from taxoexpan.decisions.decide import accepted_decisions, with_existing_parents
from taxoexpan.decisions.decision import Decision, Merge, Place, Refusal
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.review.desk import ReviewDesk, Trial
from taxoexpan.errors import TaxoExpanError
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept

# Ordinary texts have no signs that separate or begin something in any format.
_ORDINARY_NAME = re.compile(r"[^\W_](?:[^\W_]|[ '-])*")
_ORDINARY_DEFINITION = re.compile(r"(?:[^\W_](?:[^\W_]|[ .,;:'\"()/&%-])*)?")


def writable(
    desk: ReviewDesk, decided: Sequence[Suggestion]
) -> tuple[list[Decision], list[Refusal]]:
    """Return the accepted decisions that the file has room for, and what is left out."""
    decisions, missing = accepted_decisions(desk.expanded, decided)
    if desk.file is None:
        return decisions, missing
    decisions, unsupported = supported(desk.file, decisions)
    decisions, with_many = _with_one_parent(desk, desk.file, decisions)
    decisions, refused = _with_writable_texts(desk, desk.file, decisions)
    # What was accepted below a concept that is left out has no place either.
    decisions, more = with_existing_parents(desk.expanded, decisions)
    return decisions, [*with_many, *refused, *missing, *more, *unsupported]


def _with_one_parent(
    desk: ReviewDesk, file: TaxonomyFile, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Leave out new concepts with several parents if a concept of the file can have only one."""

    def is_known(decision: Decision) -> bool:
        label = decision.query.label
        parents = (s.parent.id for s in decision.suggestions)
        return any(child_named(desk.expanded, parent, label) is not None for parent in parents)

    placed = [d for d in decisions if isinstance(d, Place) and len(d.suggestions) > 1]
    several = [decision for decision in placed if not is_known(decision)]
    if not several or not file.has_single_parents:
        return list(decisions), []
    refused = []
    for decision in several:
        labels = join_words([repr(s.parent.label) for s in decision.suggestions])
        message = f"{decision.query.label!r} is below {labels}, but a concept of this file has only"
        fix = "one parent; decide again, and choose one"
        refused.append(Refusal(f"{message} {fix}", decision.query))
    gone = {decision.query.id for decision in several}
    return [each for each in decisions if each.query.id not in gone], refused


def _with_writable_texts(
    desk: ReviewDesk, file: TaxonomyFile, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Leave out concepts with a text that the file cannot hold; every text is tried once.

    A trial takes as long as writing the file, so ordinary texts are not tried.
    """
    doubtful = [
        each
        for each in decisions
        if isinstance(each, Place | Merge) and not _is_ordinary(each.query)
    ]
    untried = [each for each in doubtful if _trial(each) not in desk.tried]
    refused = _refusals(file, untried)
    desk.tried.update({_trial(each): refused.get(each.query.id, "") for each in untried})
    left_out = [
        Refusal(desk.tried[_trial(each)], each.query)
        for each in doubtful
        if desk.tried[_trial(each)]
    ]
    gone = {each.query.id for each in left_out if each.query}
    return [each for each in decisions if each.query.id not in gone], left_out


def _is_ordinary(concept: Concept) -> bool:
    names = (concept.label, *concept.synonyms)
    is_defined = _ORDINARY_DEFINITION.fullmatch(concept.definition) is not None
    return is_defined and all(map(_ORDINARY_NAME.fullmatch, names))


def _trial(decision: Decision) -> Trial:
    """Return what matters for the texts of a new concept, or of a synonym."""
    return decision.query, isinstance(decision, Merge), decision.suggestions[0].parent.id


def _refusals(file: TaxonomyFile, trials: Sequence[Decision]) -> dict[str, str]:
    """Return why the file cannot be written with some of the decisions, by the concept's id.

    A concept of the file stands for a parent that is new itself.
    """
    if not trials:
        return {}
    known = file.taxonomy.concept(file.taxonomy.ids[0])

    def alone(decision: Decision) -> Decision:
        first = replace(decision.suggestions[0], moves=())
        if first.parent.id not in file.taxonomy:
            first = replace(first, parent=known)
        return replace(decision, suggestions=[first])

    try:
        apply_decisions(file, list(map(alone, trials)), None)
    except TaxoExpanError as error:
        message = error.message
        named = [each for each in trials if repr(each.query.label) in message]
        if len(trials) == 1:
            (only,) = trials
            about = message if named else f"{only.query.label!r}: {message}"
            return {only.query.id: about}
        # Most messages name the concept; else it is found with few trials.
        first = named if 0 < len(named) < len(trials) else trials[: len(trials) // 2]
        ids = {each.query.id for each in first}
        others = [each for each in trials if each.query.id not in ids]
        return _refusals(file, first) | _refusals(file, others)
    return {}
