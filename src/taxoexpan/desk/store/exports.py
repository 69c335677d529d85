"""Decisions for other programs: suggestions for `apply`, change sets, and training feedback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlalchemy import select

from taxoexpan.decisions.acceptance import Acceptance, select_additions
from taxoexpan.decisions.additions import accept_suggestions, child_named, validate_additions
from taxoexpan.decisions.feedback import Feedback
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Verdict
from taxoexpan.desk.store.decisions import Action, Decision, Reason, pair
from taxoexpan.desk.store.history import read_log
from taxoexpan.desk.store.queue import ConceptState
from taxoexpan.desk.store.tables import Transactions, concepts, read_parts
from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept, Move, Taxonomy
from taxoexpan.taxonomy.difference import compare

ALLOWED = Acceptance(allow_moves=True, allow_merges=True)
"""Everything that a person has accepted is applied."""


def decided_suggestions(reading: Transactions) -> list[Suggestion]:
    """Return the accepted and rejected suggestions, in the order of the queue.

    A parent that the curator searched for has the rank 0. If several concepts have the same id,
    only the first keeps it, because each list of new concepts gets its ids independently.
    """
    suggestions: list[Suggestion] = []
    owners: dict[str, str] = {}
    for key, concept, log in _decided_concepts(reading):
        if owners.setdefault(concept.id, key) != key:
            concept = replace(concept, id="")
        accepts = [each for each in log if each.action == Action.ACCEPT and not each.undone]
        curator = accepts[-1].curator if accepts else ""
        right = [replace(each, curator=curator) for each in ConceptState.after(log).accepted]
        wrong = _rejected(log, any_reason=True)
        suggestions += _judged(concept, right, wrong)
    return suggestions


def read_feedback(reading: Transactions) -> Feedback:
    """Return the decisions that are not undone, as feedback for training."""
    judged: list[Suggestion] = []
    for _, concept, log in _decided_concepts(reading):
        accepted = ConceptState.after(log).accepted
        right = [each for each in accepted if each.kind != SuggestionKind.COARSE]
        accepts = [each for each in log if each.action == Action.ACCEPT and not each.undone]
        passed_over = accepts[-1].passed_over if accepts else ()
        judged += _judged(concept, right, [*_rejected(log), *passed_over])
    return Feedback(
        [each for each in judged if each.decision == Verdict.ACCEPTED],
        [each for each in judged if each.decision == Verdict.REJECTED],
    )


def _decided_concepts(reading: Transactions) -> Iterator[tuple[str, Concept, list[Decision]]]:
    """Yield the key, the concept and all decisions of every concept with decisions."""
    logs: dict[str, list[Decision]] = {}
    for each in read_log(reading):
        logs.setdefault(each.concept, []).append(each)
    for row in read_parts(reading, select(concepts), concepts.c.number):
        if row.key in logs:
            edited = ConceptState.after(logs[row.key]).edited
            concept = edited or Concept(row.id, row.label, row.synonyms, row.definition)
            yield row.key, concept, logs[row.key]


def _rejected(log: Iterable[Decision], any_reason: bool = False) -> list[Suggestion]:
    """Return the suggestions rejected as wrong, or for any reason, except undone rejections."""
    return [
        replace(suggestion, curator=each.curator)
        for each in log
        if not each.undone
        if each.action == Action.REJECT_PROPOSAL
        or each.reason == Reason.WRONG_PARENTS
        or (any_reason and each.action == Action.REJECT)
        for suggestion in each.suggestions
    ]


def _judged(
    query: Concept, right: Sequence[Suggestion], wrong: Iterable[Suggestion]
) -> list[Suggestion]:
    """Return suggestions for a query with their verdicts, without repeated rejections."""
    accepted = set(map(pair, right))
    rejected = {pair(each): each for each in wrong if pair(each) not in accepted}
    return [
        *(replace(each, query=query, decision=Verdict.ACCEPTED) for each in right),
        *(replace(each, query=query, decision=Verdict.REJECTED) for each in rejected.values()),
    ]


def exportable_decisions(
    taxonomy: Taxonomy, decided: Sequence[Suggestion]
) -> tuple[list[Suggestion], list[str]]:
    """Return the accepted suggestions with a valid parent, and a message about each of the others.

    A parent is invalid if it is neither in the taxonomy nor an accepted new concept; the model may
    have learned it from a decision that was undone since.
    """
    accepted = [each for each in decided if each.decision == Verdict.ACCEPTED]
    kept = accepted
    before = -1
    while len(kept) != before:
        before = len(kept)
        placed = {each.query.id for each in kept if not each.is_merge}
        kept = [each for each in kept if each.parent.id in taxonomy or each.parent.id in placed]
    ids = set(map(id, kept))
    left_out = []
    for each in accepted:
        if id(each) not in ids:
            how = "merged with" if each.is_merge else "accepted below"
            parent = f"{each.parent.label!r} ({each.parent.id})"
            message = f"{each.query.label!r} is {how} {parent}, which is not in the taxonomy"
            fix = "undo this decision, or accept that one"
            left_out.append(f"{message} and not accepted as a new concept; {fix}")
    return kept, left_out


def planned_changes(
    taxonomy: Taxonomy, accepted: Sequence[Suggestion]
) -> tuple[list[Suggestion], list[str]]:
    """Return the accepted suggestions that change the taxonomy, and why some moves are refused.

    They have only their possible moves.
    """

    def is_known(each: Suggestion) -> bool:
        if each.is_merge and each.parent.id in taxonomy:
            known = taxonomy.concept(each.parent.id)
            return each.query.label in (known.label, *known.synonyms)
        return child_named(taxonomy, each.parent.id, each.query.label) is not None

    new = [each for each in accepted if not is_known(each)]
    inserts = select_additions([each for each in new if each.moves], ALLOWED)
    safe, refused = validate_additions(taxonomy, inserts)
    possible = set(safe.moves)

    def moved(each: Suggestion) -> tuple[str, ...]:
        ends = each.parent.id, each.query.id
        return tuple(id for id in each.moves if Move(id, *ends) in possible)

    return [replace(each, moves=moved(each)) if each.moves else each for each in new], refused


def changes_text(
    taxonomy: Taxonomy,
    file: TaxonomyFile | None,
    decided: Sequence[Suggestion],
    format: ChangeFormat,
) -> tuple[str, list[str]]:
    """Return the changes that accepted decisions make, and notes about omitted decisions."""
    accepted, left_out = exportable_decisions(taxonomy, decided)
    result = accept_suggestions(taxonomy, accepted, ALLOWED)
    if file is not None:
        changes = ChangeSet.of_additions(file, result.additions, result.mappings())
    else:
        comparison = compare(taxonomy, taxonomy.expanded(result.additions))
        changes = ChangeSet(comparison, result.mappings())
    text, notes = changes.text(format, f"Changes in {file.path.name}" if file else "Changes")
    return text, [*left_out, *result.rejected_changes, *notes]
