"""The taxonomy file with the accepted concepts, as one file to download."""

from __future__ import annotations

import io
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.expansion import AppliedSuggestions, apply_suggestions
from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet
from taxoexpan.formats.changes.kgcl import SUBCLASS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.placement.acceptance import Acceptance, accept_suggestions
from taxoexpan.placement.merge_mappings import merge_mappings
from taxoexpan.placement.suggestions import Decision, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.concept_matching import compare
from taxoexpan.taxonomy.curies import Prefixes


@dataclass(frozen=True, slots=True)
class Download:
    """The name and the content of a file."""

    name: str
    content: bytes
    media_type: str = "application/octet-stream"


def accepted_only(suggestions: list[Suggestion]) -> list[Suggestion]:
    """Return the suggestions that were accepted; only these change the taxonomy."""
    return [each for each in suggestions if each.decision == Decision.ACCEPTED]


def review_acceptance(accepted: list[Suggestion]) -> Acceptance:
    """Allow the moves and merges that a person has accepted, and ask the file for no others."""
    kinds = {each.kind for each in accepted}
    return Acceptance(
        allow_moves=SuggestionKind.INSERT in kinds, allow_merges=SuggestionKind.MERGE in kinds
    )


def expand_accepted(
    file: TaxonomyFile, suggestions: list[Suggestion], output: Path
) -> AppliedSuggestions:
    """Write the taxonomy with the accepted suggestions."""
    accepted = accepted_only(suggestions)
    return apply_suggestions(file, accepted, output, review_acceptance(accepted))


def expanded_download(file: TaxonomyFile, suggestions: list[Suggestion]) -> Download:
    """Return the expanded file; several files and folders are in a ZIP archive."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / file.path.name
        written = expand_accepted(file, suggestions, output).written.files
        if len(written) == 1 and written[0].is_file():
            return Download(written[0].name, written[0].read_bytes())
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    opened.write(path, path.relative_to(folder))
        return Download(f"{file.path.stem}.zip", archive.getvalue(), "application/zip")


def changes_text(
    taxonomy: Taxonomy,
    file: TaxonomyFile | None,
    suggestions: list[Suggestion],
    format: ChangeFormat,
) -> str:
    """Return the changes that the accepted suggestions make, in the style of the file if any."""
    accepted = accepted_only(suggestions)
    result = accept_suggestions(taxonomy, accepted, review_acceptance(accepted))
    mappings = merge_mappings(result.merged, ())
    if file is not None:
        changes = ChangeSet.of_additions(file, result.additions, mappings)
    else:
        comparison = compare(taxonomy, taxonomy.expanded(result.additions))
        changes = ChangeSet(comparison, mappings, Prefixes({}), "", SUBCLASS)
    return changes.text(format, "Changes")[0]
