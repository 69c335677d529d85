"""The export page, and the files to download from it."""

from __future__ import annotations

import io
import re
import shlex
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.decisions.additions import to_additions
from taxoexpan.decisions.applying import (
    accepted_decisions,
    apply_decisions,
    changes_text,
    writable,
)
from taxoexpan.decisions.decision import Decision, Refusal
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Verdict
from taxoexpan.decisions.suggestion_tables import suggestions_csv
from taxoexpan.desk.review.desk import ReviewDesk
from taxoexpan.desk.review.pages import Pages
from taxoexpan.desk.store.log import history_csv
from taxoexpan.desk.store.queue import UNLISTED
from taxoexpan.errors import TaxoExpanError
from taxoexpan.formats.changes.change_set import ChangeFormat
from taxoexpan.formats.compression import SUFFIX
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Move, Taxonomy

CHANGES = {"decisions.kgcl": ChangeFormat.KGCL, "decisions.sssom.tsv": ChangeFormat.SSSOM}
MAX_LEFT_OUT = 20
"""The number of decisions that are named if they cannot be exported."""
MAX_LISTED = 300
"""The number of changes that are listed, and of branches."""


def show_export(pages: Pages, request: Request, status: int = 200, problem: str = "") -> Response:
    """Return the export page."""
    desk = pages.desk
    decided = desk.store.export_suggestions()
    accepted = sum(each.decision == Verdict.ACCEPTED for each in decided)
    changes: list[Suggestion] = []
    left_out: list[LeftOut] = []
    present: list[LeftOut] = []
    try:
        decisions, refused = (
            writable(desk.file, decided, desk.tried)
            if desk.file
            else accepted_decisions(desk.taxonomy, decided)
        )
        accepted = sum(len(each.suggestions) for each in decisions)
        changes, unsafe, known = planned_changes(desk.expanded, decisions)
        left_out = _with_keys(desk, [*refused, *unsafe])
        present = _with_keys(desk, known)
    except TaxoExpanError as error:  # the file has lost or renamed a concept
        problem = problem or str(error)
    new = [each.query for each in changes if not each.is_merge]
    labeled = {each.label: each for each in new}
    return pages.render(
        request,
        "export.html",
        "Export",
        status,
        counts=desk.counts(),
        others=desk.listed.count(UNLISTED) if desk.listed else 0,
        taxonomy_name=next_version(desk.file.path) if desk.file else "",
        command=_command(desk.file),
        problem=problem,
        left_out=left_out[:MAX_LEFT_OUT],
        more_left_out=max(len(left_out) - MAX_LEFT_OUT, 0),
        known=accepted - len(changes),
        present=present[:MAX_LEFT_OUT],
        namesakes=[label for label, c in labeled.items() if desk.namesake(c)][:MAX_LEFT_OUT],
        lost=desk.file.unsupported_texts(new) if desk.file else (),
        # With a single root, its children are the branches.
        **_summary(changes, 2 if len(desk.expanded.roots) == 1 else 1),
    )


class LeftOut(NamedTuple):
    """A message about a decision that is not written, and the key of the concept in the queue."""

    message: str
    label: str = ""
    key: str = ""


def _with_keys(desk: ReviewDesk, refused: Sequence[Refusal]) -> list[LeftOut]:
    """Return the messages with the keys of their concepts in the queue."""
    keys = {concept.id: key for key, concept in desk.store.accepted_once().items()}
    return [
        LeftOut(each.message, each.query.label, keys.get(each.query.id, ""))
        if each.query
        else LeftOut(each.message)
        for each in refused
    ]


def planned_changes(
    taxonomy: Taxonomy, decisions: Sequence[Decision]
) -> tuple[list[Suggestion], list[Refusal], list[Refusal]]:
    """Return the accepted suggestions that change the taxonomy, with their possible moves.

    Also return the moves that are refused, and the concepts that are another concept of the same
    name already.
    """
    applied = to_additions(taxonomy, decisions)
    possible = set(applied.additions.moves)
    present = {new.id for new, _ in applied.already_present}
    changes = []
    for decision in applied.decisions:
        id = decision.query.id
        for each in decision.suggestions:
            if each.is_merge and each.parent.id in taxonomy:
                known = taxonomy.concept(each.parent.id)
                if each.query.label in (known.label, *known.synonyms):
                    continue
            if id in present and not each.is_merge:
                continue
            ends = each.parent.id, id
            moved = tuple(child for child in each.moves if Move(child, *ends) in possible)
            changes.append(replace(each, moves=moved))
    same = [
        Refusal(f"{new.label!r} is {known.label!r} ({known.id}), below the same parent", new)
        for new, known in applied.already_present
        if new.id != known.id
    ]
    return changes, list(applied.refused), same


def _summary(changes: Sequence[Suggestion], depth: int) -> dict[str, Any]:
    """Return counts in all and per curator, and as many changes of each branch as are listed."""
    branches: dict[tuple[str, ...], list[Suggestion]] = {}
    curators: dict[str, list[Suggestion]] = {}
    for each in changes:
        branches.setdefault(each.path[:depth], []).append(each)
        curators.setdefault(each.curator, []).append(each)
    listed = sorted(branches.items())[:MAX_LISTED]
    share = MAX_LISTED // max(len(listed), 1)
    return {
        "totals": _counts(changes),
        "curators": [(name, _counts(own)) for name, own in sorted(curators.items())],
        "branches": [(path, own[:share], len(own[share:])) for path, own in listed],
        "more_branches": len(branches) - len(listed),
    }


def _counts(changes: Sequence[Suggestion]) -> dict[str, int]:
    """Count additions (a further parent is none), coarse ones among them, moves and merges."""
    kinds = Counter(each.kind for each in changes)
    merges = kinds[SuggestionKind.MERGE]
    parents = kinds[SuggestionKind.ALSO]
    return {
        "Additions": len(changes) - merges - parents,
        "To refine": kinds[SuggestionKind.COARSE],
        "Moves": sum(len(each.moves) for each in changes),
        "Merges": merges,
    }


def download(pages: Pages, request: Request) -> Response:
    """Return a file to download, or the export page with an error."""
    try:
        made = _download(pages.desk, request.path_params["name"])
    except TaxoExpanError as error:
        return show_export(pages, request, 409, str(error))
    if made is None:
        return pages.problem(request, 404, "Not found", "There is no such file.")
    name, media_type, content = made
    disposition = f"attachment; filename*=UTF-8''{quote(name)}"
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})


def _download(desk: ReviewDesk, name: str) -> tuple[str, str, bytes] | None:
    """Return the name, the media type and the content of a file, or None if the file is unknown."""
    if name == "history.csv":
        text = history_csv(reversed(desk.store.log()))
        return name, "text/csv; charset=utf-8", text.encode()
    decided = desk.store.export_suggestions()
    if name == "taxonomy" and desk.file is not None:
        decisions, _ = writable(desk.file, decided, desk.tried)
        return _expanded_file(desk.file, decisions)
    if name == "decisions.csv":
        text = suggestions_csv(decided, details=True)
        return name, "text/csv; charset=utf-8", text.encode()
    if name in CHANGES:
        text, _, _ = changes_text(desk.expanded, desk.file, decided, CHANGES[name])
        return name, "text/plain; charset=utf-8", text.encode()
    return None


def _expanded_file(file: TaxonomyFile, decisions: Sequence[Decision]) -> tuple[str, str, bytes]:
    """Return the expanded taxonomy; several files and directories are in a ZIP archive."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / next_version(file.path)
        applied = apply_decisions(file, decisions, output)
        written = applied.written.files
        if len(written) == 1 and written[0].is_file():
            return written[0].name, "application/octet-stream", written[0].read_bytes()
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    opened.write(path, path.relative_to(folder))
        name = output.name if output.is_dir() else output.stem
        return f"{name}.zip", "application/zip", archive.getvalue()


def next_version(path: Path) -> str:
    """Return the name of the next version of a file: `a-v2.ttl` for `a.ttl`, then `a-v3.ttl`."""
    suffix = "" if path.is_dir() else path.suffix
    if suffix.lower() == SUFFIX:
        suffix = Path(path.stem).suffix + suffix
    stem = path.name.removesuffix(suffix)
    numbered = re.fullmatch(r"(.+)-v([0-9]+)", stem)
    name, number = (numbered[1], int(numbered[2])) if numbered else (stem, 1)
    return f"{name}-v{number + 1}{suffix}"


def _command(file: TaxonomyFile | None) -> str:
    """Return the command that writes the new taxonomy from the decisions."""
    words = ["taxoexpan", "apply", str(file.path) if file else "TAXONOMY", "decisions.csv"]
    words += file.read_flags if file else []
    output = next_version(file.path) if file else "NEW"
    return " ".join(map(shlex.quote, [*words, "-o", output]))
