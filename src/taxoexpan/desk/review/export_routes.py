"""The export page, and the files to download from it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.expanded_taxonomy import (
    Download,
    expanded_download,
    review_acceptance,
)
from taxoexpan.desk.review.page_context import Pages
from taxoexpan.desk.review.queue_routes import progress_of
from taxoexpan.desk.review.review_desk import ReviewDesk
from taxoexpan.desk.store.change_export import changes_text
from taxoexpan.desk.store.exportable_decisions import exportable_decisions
from taxoexpan.errors import TaxoExpanError
from taxoexpan.formats.changes.change_set import ChangeFormat
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.placement.suggesting.tables import suggestions_csv

DECISIONS_CSV = "decisions.csv"
MAX_LEFT_OUT = 20
"""The number of decisions that are named if they cannot be exported."""
CHANGES = {"decisions.kgcl": ChangeFormat.KGCL, "decisions.sssom.tsv": ChangeFormat.SSSOM}


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file on the export page."""

    name: str
    about: str


FILES = (
    ExportedFile(
        DECISIONS_CSV,
        "The accepted and the rejected proposals, for taxoexpan apply and for spreadsheets. "
        "It has neither comments nor concepts that you were not sure about.",
    ),
    ExportedFile("decisions.kgcl", "The changes in the Knowledge Graph Change Language."),
    ExportedFile("decisions.sssom.tsv", "The accepted merges as mappings (SSSOM)."),
)


def show_export(pages: Pages, request: Request, status: int = 200, problem: str = "") -> Response:
    """Return the page with the files."""
    desk = pages.desk
    taxonomy = desk.file.taxonomy if desk.file else desk.taxonomy
    exported = exportable_decisions(taxonomy, desk.store.export_suggestions())
    return pages.render(
        request,
        "export.html",
        "Export",
        status,
        progress=progress_of(desk.counts()),
        others=desk.count_others(),
        files=FILES,
        taxonomy_name=desk.file.path.name if desk.file else "",
        command=_command(desk, exported.accepted),
        problem=problem,
        left_out=exported.left_out[:MAX_LEFT_OUT],
        more_left_out=max(len(exported.left_out) - MAX_LEFT_OUT, 0),
    )


def download(pages: Pages, request: Request, name: str) -> Response:
    """Return one of the files; an error is shown on the page."""
    try:
        made = _download(pages.desk, name)
    except TaxoExpanError as error:
        return show_export(pages, request, 409, str(error))
    if made is None:
        return pages.problem(request, 404, "Not found", "There is no such file.")
    disposition = f"attachment; filename*=UTF-8''{quote(made.name)}"
    headers = {"Content-Disposition": disposition}
    return Response(made.content, media_type=made.media_type, headers=headers)


def _download(desk: ReviewDesk, name: str) -> Download | None:
    if name == "taxonomy" and desk.file is not None:
        return expanded_download(desk.file, desk.store.export_suggestions(), desk.keep_formulas)
    if name == DECISIONS_CSV:
        text = suggestions_csv(desk.store.export_suggestions(), desk.keep_formulas, details=True)
        return Download(name, text.encode(), "text/csv; charset=utf-8")
    if name in CHANGES:
        decided = desk.store.export_suggestions()
        # The model's taxonomy may have accepted concepts already, which the file does not have.
        taxonomy = desk.file.taxonomy if desk.file else desk.taxonomy
        text, _ = changes_text(taxonomy, desk.file, decided, CHANGES[name])
        return Download(name, text.encode(), "text/plain; charset=utf-8")
    return None


def _command(desk: ReviewDesk, accepted: list[Suggestion]) -> str:
    """Return the command that writes the new taxonomy from the decisions, with what it needs."""
    taxonomy = str(desk.file.path) if desk.file else "TAXONOMY"
    words = ["taxoexpan", "apply", taxonomy, DECISIONS_CSV]
    suffix = "".join(desk.file.path.suffixes) if desk.file else ""
    acceptance = review_acceptance(accepted)
    changes = {"--allow-moves": acceptance.allow_moves, "--allow-merges": acceptance.allow_merges}
    words += [flag for flag, is_needed in changes.items() if is_needed]
    words += desk.file.read_flags if desk.file else []
    return " ".join(map(shlex.quote, [*words, "-o", f"NEW{suffix}"]))
