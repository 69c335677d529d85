"""Applying decisions: to a taxonomy file, as far as it can hold them, or as a list of changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from taxoexpan.decisions.additions import (
    AppliedSuggestions,
    child_named,
    namesake_message,
    to_additions,
)
from taxoexpan.decisions.decision import (
    Decision,
    Merge,
    Place,
    Reason,
    Refusal,
    accepted_decision,
    by_concept,
    left_out,
    reachable,
    without_missing,
)
from taxoexpan.decisions.suggestion import Suggestion, SuggestionError, Verdict, prepared
from taxoexpan.errors import FormatError, TaxoExpanError
from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.tables.formulas import is_computed_file, protect_additions
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.difference import compare
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy

Trial = tuple[Concept, bool, str]
"""A new concept, whether it is merged, and the id of its parent."""
# Ordinary texts have no signs that separate or begin something in any format.
_ORDINARY_NAME = re.compile(r"[^\W_](?:[^\W_]|[ '-])*")
_ORDINARY_DEFINITION = re.compile(r"(?:[^\W_](?:[^\W_]|[ .,;:'\"()/&%-])*)?")


def apply_decisions(
    file: TaxonomyFile,
    decisions: Sequence[Decision],
    output: Path | None,
    ids: IdPolicy = DEFAULT_IDS,
    force: bool = False,
) -> AppliedSuggestions:
    """Carry out decisions in a taxonomy file; without an output, only return the insertions.

    In CSV files, new formulas get an apostrophe.
    """
    applied = to_additions(file.taxonomy, decisions, ids)
    additions = applied.additions
    if is_computed_file(file.format, file.path):
        additions, protected = protect_additions(file.taxonomy, additions)
        applied = replace(applied, protected=protected)
    return replace(applied, written=file.write(additions, output, force))


def apply_writable(
    file: TaxonomyFile,
    decisions: Sequence[Decision],
    output: Path,
    ids: IdPolicy = DEFAULT_IDS,
    force: bool = False,
) -> tuple[AppliedSuggestions, list[SuggestionError], list[Refusal]]:
    """Carry out decisions in a taxonomy file, without those that it cannot hold.

    Return why these are left out, and those below them. If nothing is left, the first is an error.
    """
    try:
        return apply_decisions(file, decisions, output, ids, force), [], []
    except FormatError:
        trials = [each for each in decisions if isinstance(each, Place | Merge)]
        refused = _refusals(file, trials, ids)
        if not refused:  # it is not about the new concepts
            raise
    wrong = [
        SuggestionError(each.suggestions[0], refused[each.query.id], fix="this row is left out")
        for each in trials
        if each.query.id in refused
    ]
    if len(wrong) == len(trials):
        raise SuggestionError(wrong[0].suggestion, wrong[0].problem, fix="change this row")
    kept = [each for each in decisions if each.query.id not in refused]
    kept, missing = _with_existing_parents(file.taxonomy, kept)
    return apply_decisions(file, kept, output, ids, force), wrong, missing


def accepted_decisions(
    taxonomy: Taxonomy, suggestions: Iterable[Suggestion]
) -> tuple[list[Decision], list[Refusal]]:
    """Return what persons have accepted, and refuse parents that do not exist.

    Such a parent is neither in the taxonomy nor an accepted new concept; the model may have learned
    it from a decision that was undone since.
    """
    accepted = prepared(taxonomy, [s for s in suggestions if s.decision == Verdict.ACCEPTED])
    decided = [accepted_decision(rows, rows) for rows in by_concept(accepted)]
    return _with_existing_parents(taxonomy, reachable(decided))


def _with_existing_parents(
    taxonomy: Taxonomy, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Refuse the parents of decisions that are neither in the taxonomy nor added."""

    def exists(suggestion: Suggestion, placed: Collection[str]) -> bool:
        return suggestion.parent.id in taxonomy or suggestion.parent.id in placed

    kept, missing = without_missing(decisions, exists)
    return [each for each in kept if each.suggestions], list(map(_missing, missing))


def _missing(suggestion: Suggestion) -> Refusal:
    """Return the message about a parent that does not exist."""
    how = "merged with" if suggestion.is_merge else "accepted below"
    parent = f"{suggestion.parent.label!r} ({suggestion.parent.id})"
    message = f"{suggestion.query.label!r} is {how} {parent}, which is not in the taxonomy"
    fix = "undo this decision, or accept that one"
    return Refusal(f"{message} and not accepted as a new concept; {fix}", suggestion.query)


def supported(
    file: TaxonomyFile, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Leave the merges, and do without the moves, that a file cannot store."""
    changes = file.supported_changes
    kept: list[Decision] = []
    refused = []
    for decision in decisions:
        if isinstance(decision, Merge) and "synonyms" not in changes:
            refused.append(_unsupported(decision, "is a synonym of", "this file has no synonyms"))
            decision = left_out(decision, decision.suggestions, Reason.REFUSED)
        elif isinstance(decision, Place) and decision.has_moves and "moves" not in changes:
            reason = "this file cannot be changed so"
            refused.append(_unsupported(decision, "moves no children of", reason))
            decision = replace(decision, is_moving=False)
        kept.append(decision)
    return kept, refused


def _unsupported(decision: Decision, done: str, reason: str) -> Refusal:
    """Return the message about a change that a file cannot store."""
    parents = join_words([repr(s.parent.label) for s in decision.suggestions])
    return Refusal(f"{decision.query.label!r} {done} {parents}; {reason}", decision.query)


def writable(
    file: TaxonomyFile, decided: Iterable[Suggestion], tried: dict[Trial, str]
) -> tuple[list[Decision], list[Refusal]]:
    """Return the accepted decisions that a file has room for, and what is left out.

    `tried` gets why the file cannot hold a text; an empty string if it can.
    """
    decisions, missing = accepted_decisions(file.taxonomy, decided)
    decisions, unsupported = supported(file, decisions)
    decisions, with_many = _with_one_parent(file, decisions)
    decisions, refused = _with_writable_texts(file, decisions, tried)
    # What was accepted below a concept that is left out has no place either.
    decisions, more = _with_existing_parents(file.taxonomy, decisions)
    return decisions, [*with_many, *refused, *missing, *more, *unsupported]


def _with_one_parent(
    file: TaxonomyFile, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Leave out new concepts with several parents if a concept of the file can have only one."""

    def is_known(decision: Decision) -> bool:
        label = decision.query.label
        parents = (s.parent.id for s in decision.suggestions)
        return any(child_named(file.taxonomy, parent, label) is not None for parent in parents)

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
    file: TaxonomyFile, decisions: Sequence[Decision], tried: dict[Trial, str]
) -> tuple[list[Decision], list[Refusal]]:
    """Leave out concepts with a text that the file cannot hold; every text is tried once.

    A trial takes as long as writing the file, so ordinary texts are not tried.
    """
    doubtful = [
        each
        for each in decisions
        if isinstance(each, Place | Merge) and not _is_ordinary(each.query)
    ]
    untried = [each for each in doubtful if _trial(each) not in tried]
    refused = _refusals(file, untried)
    tried.update({_trial(each): refused.get(each.query.id, "") for each in untried})
    left_out = [
        Refusal(tried[_trial(each)], each.query) for each in doubtful if tried[_trial(each)]
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


def _refusals(
    file: TaxonomyFile, trials: Sequence[Decision], id_policy: IdPolicy = DEFAULT_IDS
) -> dict[str, str]:
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
        apply_decisions(file, list(map(alone, trials)), None, id_policy)
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
        return _refusals(file, first, id_policy) | _refusals(file, others, id_policy)
    return {}


def changes_text(
    taxonomy: Taxonomy,
    file: TaxonomyFile | None,
    decided: Iterable[Suggestion],
    format: ChangeFormat,
) -> tuple[str, list[str], str]:
    """Return the changes that accepted decisions make, notes about decisions, and a summary."""
    decisions, refused = accepted_decisions(taxonomy, decided)
    applied = to_additions(taxonomy, decisions)
    if file is not None:
        changes = ChangeSet.of_additions(file, applied.additions, applied.mappings())
    else:
        comparison = compare(taxonomy, taxonomy.expanded(applied.additions))
        changes = ChangeSet(comparison, applied.mappings())
    text, notes = changes.text(format, f"Changes in {file.path.name}" if file else "Changes")
    namesakes = [namesake_message(*pair) for pair in applied.namesakes(taxonomy)]
    messages = [each.message for each in [*refused, *applied.refused]]
    additions = applied.additions
    counts = [
        (pluralize(len(additions.concepts), "new concept"), additions.concepts),
        (pluralize(len(additions.synonyms), "new synonym"), additions.synonyms),
        (pluralize(len(additions.moves), "move"), additions.moves),
    ]
    summary = join_words([count for count, changed in counts if changed]) or "no changes"
    if format == ChangeFormat.SSSOM:
        summary = pluralize(len(applied.mappings()), "mapping")
    return text, [*messages, *namesakes, *notes], summary
