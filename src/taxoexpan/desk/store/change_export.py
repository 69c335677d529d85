"""Accepted decisions as changes of a taxonomy file, in KGCL, SSSOM and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.placement.acceptance import Acceptance, accept_suggestions
from taxoexpan.placement.merge_mappings import merge_mappings
from taxoexpan.placement.suggestions import Suggestion


def changes_text(
    file: TaxonomyFile, decided: Sequence[Suggestion], format: ChangeFormat
) -> tuple[str, list[str]]:
    """Return the changes that accepted decisions make, and notes about what they cannot express.

    Moves and merges are included. New concepts get the ids that `apply` gives them.
    """
    accepted = accept_suggestions(
        file.taxonomy, decided, Acceptance(allow_moves=True, allow_merges=True)
    )
    mappings = merge_mappings(accepted.merged, own_ids=())
    changes = ChangeSet.of_additions(file, accepted.additions, mappings)
    text, notes = changes.text(format, f"Changes in {file.path.name}")
    return text, [*accepted.rejected_changes, *notes]
