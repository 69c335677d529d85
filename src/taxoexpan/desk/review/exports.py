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

from taxoexpan.desk.review.desk import ReviewDesk
from taxoexpan.desk.review.pages import Pages
from taxoexpan.desk.store.exports import changes_text, exportable_decisions, planned_changes
from taxoexpan.desk.store.history import history_csv
from taxoexpan.desk.store.queue import UNLISTED
from taxoexpan.errors import TaxoExpanError
from taxoexpan.expansion import apply_suggestions
from taxoexpan.formats.changes.change_set import ChangeFormat
from taxoexpan.formats.compression import SUFFIX
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.phrasing import join_words
from taxoexpan.placement.adding.acceptance import Acceptance
from taxoexpan.placement.adding.additions import child_named
from taxoexpan.placement.suggesting.suggestion_tables import suggestions_csv
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept

CHANGES = {"decisions.kgcl": ChangeFormat.KGCL, "decisions.sssom.tsv": ChangeFormat.SSSOM}
MAX_LEFT_OUT = 20
"""The number of decisions that are named if they cannot be exported."""
MAX_LISTED = 300
"""The number of changes that are listed, and of branches."""


def show_export(pages: Pages, request: Request, status: int = 200, problem: str = "") -> Response:
    """Return the export page."""
    desk = pages.desk
    accepted, omitted = _writable(desk, desk.store.export_suggestions())
    try:
        changes, refused = planned_changes(desk.expanded, accepted)
    except TaxoExpanError as error:  # the file has lost a concept that would move
        changes, refused, problem = [], [], problem or str(error)
    left_out = _with_keys(desk, [*omitted, *(LeftOut(message) for message in refused)])
    return pages.render(
        request,
        "export.html",
        "Export",
        status,
        counts=desk.counts(),
        others=desk.listed.count(UNLISTED) if desk.listed else 0,
        taxonomy_name=next_version(desk.file.path) if desk.file else "",
        command=_command(desk.file, accepted),
        problem=problem,
        left_out=left_out[:MAX_LEFT_OUT],
        more_left_out=max(len(left_out) - MAX_LEFT_OUT, 0),
        known=len(accepted) - len(changes),
        # With a single root, its children are the branches.
        **_summary(changes, 2 if len(desk.expanded.roots) == 1 else 1),
    )


class LeftOut(NamedTuple):
    """A message about a decision that the file has no room for, and its concept, if it is known."""

    message: str
    concept: Concept | None = None
    key: str = ""


def _with_keys(desk: ReviewDesk, left_out: Sequence[LeftOut]) -> list[LeftOut]:
    """Return the messages with the keys of their concepts in the queue."""
    keys = {concept.id: key for key, concept in desk.store.accepted_once().items()}
    return [m._replace(key=keys.get(m.concept.id, "") if m.concept else "") for m in left_out]


def _writable(
    desk: ReviewDesk, decided: Sequence[Suggestion]
) -> tuple[list[Suggestion], list[LeftOut]]:
    """Return the accepted suggestions that the file has room for, and what is left out."""
    accepted, messages = exportable_decisions(desk.expanded, decided)
    single, left_out = _with_one_parent(desk, accepted)
    if left_out:
        # What was accepted below a concept that is left out has no place either.
        accepted, more = exportable_decisions(desk.expanded, single)
        messages += more
    left_out += [LeftOut(message) for message in messages]
    supported = desk.file.supported_changes if desk.file else ("moves", "synonyms")
    kept = []
    for each in accepted:
        label, parent = repr(each.query.label), repr(each.parent.label)
        if each.is_merge and "synonyms" not in supported:
            message = f"{label} is a synonym of {parent}; this file has no synonyms"
            left_out.append(LeftOut(message, each.query))
            continue
        if each.moves and "moves" not in supported:
            message = f"{label} moves no children of {parent}; this file cannot be changed so"
            left_out.append(LeftOut(message, each.query))
            each = replace(each, kind=SuggestionKind.ATTACH, moves=())
        kept.append(each)
    return kept, left_out


def _with_one_parent(
    desk: ReviewDesk, accepted: list[Suggestion]
) -> tuple[list[Suggestion], list[LeftOut]]:
    """Leave out new concepts with several parents if a concept of the file can have only one."""
    parents: dict[str, list[Suggestion]] = {}
    for each in accepted:
        parents.setdefault(each.query.id or each.query.label, []).append(each)

    def is_known(each: Suggestion) -> bool:
        return child_named(desk.expanded, each.parent.id, each.query.label) is not None

    several = [own for own in parents.values() if len(own) > 1 and not any(map(is_known, own))]
    if not several or desk.file is None or not desk.file.has_single_parents:
        return accepted, []
    left_out = []
    for own in several:
        labels = join_words([repr(each.parent.label) for each in own])
        message = f"{own[0].query.label!r} is below {labels}, but a concept of this file has only"
        left_out.append(
            LeftOut(f"{message} one parent; decide again, and choose one", own[0].query)
        )
    gone = {id(each) for own in several for each in own}
    return [each for each in accepted if id(each) not in gone], left_out


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
    merges, parents = kinds[SuggestionKind.MERGE], kinds[SuggestionKind.ALSO]
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
        text = history_csv(reversed(desk.store.log()), desk.keep_formulas)
        return name, "text/csv; charset=utf-8", text.encode()
    decided = desk.store.export_suggestions()
    if name == "taxonomy" and desk.file is not None:
        accepted, _ = _writable(desk, decided)
        return _expanded_file(desk.file, accepted, desk.keep_formulas)
    if name == "decisions.csv":
        text = suggestions_csv(decided, desk.keep_formulas, details=True)
        return name, "text/csv; charset=utf-8", text.encode()
    if name in CHANGES:
        text, _ = changes_text(desk.expanded, desk.file, decided, CHANGES[name])
        return name, "text/plain; charset=utf-8", text.encode()
    return None


def _expanded_file(
    file: TaxonomyFile, accepted: list[Suggestion], keep_formulas: bool
) -> tuple[str, str, bytes]:
    """Return the expanded taxonomy; several files and directories are in a ZIP archive."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / next_version(file.path)
        acceptance = _acceptance(accepted)
        applied = apply_suggestions(file, accepted, output, acceptance, keep_formulas=keep_formulas)
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


def _acceptance(accepted: list[Suggestion]) -> Acceptance:
    """Allow only the moves and merges that a person has accepted."""
    kinds = {each.kind for each in accepted}
    return Acceptance(
        allow_moves=SuggestionKind.INSERT in kinds, allow_merges=SuggestionKind.MERGE in kinds
    )


def _command(file: TaxonomyFile | None, accepted: list[Suggestion]) -> str:
    """Return the command that writes the new taxonomy from the decisions."""
    words = ["taxoexpan", "apply", str(file.path) if file else "TAXONOMY", "decisions.csv"]
    acceptance = _acceptance(accepted)
    words += ["--allow-moves"] * acceptance.allow_moves
    words += ["--allow-merges"] * acceptance.allow_merges
    words += file.read_flags if file else []
    output = next_version(file.path) if file else "NEW"
    return " ".join(map(shlex.quote, [*words, "-o", output]))
