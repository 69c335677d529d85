"""Accepted decisions as changes of a taxonomy file, in KGCL, SSSOM and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.changes.kgcl import SUBCLASS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.placement.acceptance import Acceptance, accept_suggestions
from taxoexpan.placement.merge_mappings import merge_mappings
from taxoexpan.placement.suggestions import Suggestion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.concept_matching import compare
from taxoexpan.taxonomy.curies import Prefixes


def changes_text(
    changed: TaxonomyFile | Taxonomy, decided: Sequence[Suggestion], format: ChangeFormat
) -> tuple[str, list[str]]:
    """Return the changes that accepted decisions make, and notes about what they cannot express.

    Moves and merges are included. New concepts get the ids that `apply` gives them. A taxonomy
    without its file has no prefixes, no language, and no title.
    """
    taxonomy = changed if isinstance(changed, Taxonomy) else changed.taxonomy
    accepted = accept_suggestions(
        taxonomy, decided, Acceptance(allow_moves=True, allow_merges=True)
    )
    mappings = merge_mappings(accepted.merged, own_ids=())
    if isinstance(changed, Taxonomy):
        comparison = compare(taxonomy, taxonomy.expanded(accepted.additions))
        changes, title = ChangeSet(comparison, mappings, Prefixes(), "", SUBCLASS), "Changes"
    else:
        changes = ChangeSet.of_additions(changed, accepted.additions, mappings)
        title = f"Changes in {changed.path.name}"
    text, notes = changes.text(format, title)
    return text, [*accepted.rejected_changes, *notes]
