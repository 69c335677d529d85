"""Applying decisions: to a taxonomy file, or as a list of changes (KGCL, Markdown or SSSOM)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from taxoexpan.decisions.additions import AppliedSuggestions, to_additions
from taxoexpan.decisions.decide import accepted_decisions
from taxoexpan.decisions.decision import (
    Decision,
    Leave,
    Merge,
    Place,
    Reason,
    Refusal,
)
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.tables.formulas import is_computed_file, protect_additions
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import compare
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy


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
    if is_computed_file(file.format, file.path):
        additions, protected = protect_additions(file.taxonomy, applied.additions)
        applied = replace(applied, additions=additions, protected=protected)
    return replace(applied, written=file.write(applied.additions, output, force))


def supported(
    file: TaxonomyFile, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Leave the merges, and do without the moves, that a file cannot store."""
    changes = file.supported_changes
    kept: list[Decision] = []
    refused = []
    for decision in decisions:
        label = repr(decision.query.label)
        parents = join_words([repr(s.parent.label) for s in decision.suggestions])
        if isinstance(decision, Merge) and "synonyms" not in changes:
            message = f"{label} is a synonym of {parents}; this file has no synonyms"
            refused.append(Refusal(message, decision.query))
            decision = Leave(decision.query, decision.by, decision.suggestions, Reason.REFUSED)
        elif isinstance(decision, Place) and decision.has_moves and "moves" not in changes:
            message = f"{label} moves no children of {parents}; this file cannot be changed so"
            refused.append(Refusal(message, decision.query))
            decision = replace(decision, is_moving=False)
        kept.append(decision)
    return kept, refused


def changes_text(
    taxonomy: Taxonomy,
    file: TaxonomyFile | None,
    decided: Iterable[Suggestion],
    format: ChangeFormat,
) -> tuple[str, list[str]]:
    """Return the changes that accepted decisions make, and notes about omitted decisions."""
    decisions, refused = accepted_decisions(taxonomy, decided)
    applied = to_additions(taxonomy, decisions)
    if file is not None:
        changes = ChangeSet.of_additions(file, applied.additions, applied.mappings())
    else:
        comparison = compare(taxonomy, taxonomy.expanded(applied.additions))
        changes = ChangeSet(comparison, applied.mappings())
    text, notes = changes.text(format, f"Changes in {file.path.name}" if file else "Changes")
    return text, [*(each.message for each in [*refused, *applied.refused]), *notes]
