"""Accepted decisions as changes of a taxonomy, in KGCL, SSSOM and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from taxoexpan.desk.store.exportable_decisions import exportable_decisions
from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.placement.adding.acceptance import Acceptance
from taxoexpan.placement.adding.additions import accept_suggestions
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import compare


def changes_text(
    taxonomy: Taxonomy,
    file: TaxonomyFile | None,
    decided: Sequence[Suggestion],
    format: ChangeFormat,
) -> tuple[str, list[str]]:
    """Return the changes that accepted decisions make, and notes about what is not in them.

    They are changes of the file, if there is one, and in its style. Moves and merges are included.
    New concepts get the ids that `apply` gives them.
    """
    exported = exportable_decisions(taxonomy, decided)
    allowed = Acceptance(allow_moves=True, allow_merges=True)
    result = accept_suggestions(taxonomy, exported.accepted, allowed)
    mappings = result.mappings()
    if file is not None:
        changes = ChangeSet.of_additions(file, result.additions, mappings)
    else:
        comparison = compare(taxonomy, taxonomy.expanded(result.additions))
        changes = ChangeSet(comparison, mappings)
    text, notes = changes.text(format, f"Changes in {file.path.name}" if file else "Changes")
    return text, [*exported.left_out, *result.rejected_changes, *notes]
