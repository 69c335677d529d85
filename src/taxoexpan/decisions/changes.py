"""Decisions as a list of changes: KGCL, Markdown or SSSOM."""

from __future__ import annotations

from collections.abc import Iterable

from taxoexpan.decisions.additions import to_additions
from taxoexpan.decisions.decide import accepted_decisions
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import compare


def changes_text(
    taxonomy: Taxonomy,
    file: TaxonomyFile | None,
    decided: Iterable[Suggestion],
    format: ChangeFormat,
) -> tuple[str, list[str]]:
    """Return the changes that accepted decisions make, and notes about omitted decisions."""
    decisions, refused = accepted_decisions(taxonomy, decided)
    outcome = to_additions(taxonomy, decisions)
    if file is not None:
        changes = ChangeSet.of_additions(file, outcome.additions, outcome.mappings())
    else:
        comparison = compare(taxonomy, taxonomy.expanded(outcome.additions))
        changes = ChangeSet(comparison, outcome.mappings())
    text, notes = changes.text(format, f"Changes in {file.path.name}" if file else "Changes")
    return text, [*(refusal.message for refusal in refused), *outcome.refused, *notes]
