"""The taxonomy file with the accepted concepts, as one file to download."""

from __future__ import annotations

import io
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.desk.store.exportable_decisions import exportable_decisions
from taxoexpan.expansion import AppliedSuggestions, apply_suggestions
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.placement.adding.acceptance import Acceptance
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind


@dataclass(frozen=True, slots=True)
class Download:
    """The name and the content of a file."""

    name: str
    content: bytes
    media_type: str = "application/octet-stream"


def review_acceptance(accepted: list[Suggestion]) -> Acceptance:
    """Allow the moves and merges that a person has accepted, and ask the file for no others."""
    kinds = {each.kind for each in accepted}
    return Acceptance(
        allow_moves=SuggestionKind.INSERT in kinds, allow_merges=SuggestionKind.MERGE in kinds
    )


def expand_accepted(
    file: TaxonomyFile, suggestions: list[Suggestion], output: Path, keep_formulas: bool = False
) -> AppliedSuggestions:
    """Write the taxonomy with the accepted suggestions."""
    accepted = exportable_decisions(file.taxonomy, suggestions).accepted
    acceptance = review_acceptance(accepted)
    return apply_suggestions(file, accepted, output, acceptance, keep_formulas=keep_formulas)


def expanded_download(
    file: TaxonomyFile, suggestions: list[Suggestion], keep_formulas: bool = False
) -> Download:
    """Return the expanded file; several files and folders are in a ZIP archive."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / file.path.name
        written = expand_accepted(file, suggestions, output, keep_formulas).written.files
        if len(written) == 1 and written[0].is_file():
            return Download(written[0].name, written[0].read_bytes())
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    opened.write(path, path.relative_to(folder))
        return Download(f"{file.path.stem}.zip", archive.getvalue(), "application/zip")
