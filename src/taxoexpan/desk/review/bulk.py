"""Accepting many concepts at once: a preview with the expected errors, and the batch."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.decisions.suggestion import SuggestionKind, Suitability
from taxoexpan.desk.review.decision_form import text_of
from taxoexpan.desk.review.filters import QueueFilter, fraction
from taxoexpan.desk.review.pages import Pages, see_other
from taxoexpan.desk.store.decisions import Action, ConflictError, LogEntry, QueuedConcept, Status
from taxoexpan.thresholds import DEFAULT_TRUTH, LIKELY

THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
MAX_SHOWN = 200
"""The number of concepts that can be left out one by one, the least confident of all."""
FIELDS = ("parent", "branch", "q", "rule")
"""The parameters that choose the rule and narrow the concepts."""
SAFE = "safe"
"""The rule that accepts each concept as deep as is sure, instead of its first proposal."""


@dataclass(frozen=True)
class BulkPreview:
    """A preview of accepting all first proposals at or above a threshold, except duplicates."""

    concepts: Sequence[QueuedConcept]
    threshold: float
    total: int
    with_unsuitable: bool = False
    is_safe: bool = False
    """Whether the confidence is that of the branch."""
    unusable: int = 0
    """The number of concepts that are left out because their parent is obsolete or undone."""

    def number(self, concept: QueuedConcept) -> float:
        """Return the number that the threshold applies to."""
        first = concept.proposals[0]
        return (first.branch_confidence or 0.0) if self.is_safe else first.confidence_or_score

    def errors(self, concepts: Iterable[QueuedConcept]) -> float | None:
        """Return the expected number of wrong placements; None if a confidence is unknown."""
        concepts = list(concepts)
        if any(each.proposals[0].confidence is None for each in concepts):
            return None
        return sum(1 - self.number(each) for each in concepts)

    @cached_property
    def accepted(self) -> list[QueuedConcept]:
        """The concepts that would be accepted."""
        return self.accepted_from(self.threshold)

    def accepted_from(self, threshold: float) -> list[QueuedConcept]:
        """Return the concepts that would be accepted with another threshold."""
        return [
            each
            for each in self.concepts
            if self.number(each) >= threshold
            and not each.proposals[0].is_merge
            and (self.with_unsuitable or each.proposals[0].place != Suitability.NONE)
        ]

    @cached_property
    def merges(self) -> int:
        """The number of likely duplicates, which a curator must decide one by one."""
        reached = (each for each in self.concepts if self.number(each) >= self.threshold)
        return sum(each.proposals[0].is_merge for each in reached)

    @cached_property
    def unsuitable(self) -> int:
        """The number of concepts without a suitable parent."""
        with_all = replace(self, with_unsuitable=True).accepted
        return sum(each.proposals[0].place == Suitability.NONE for each in with_all)

    @cached_property
    def inserts(self) -> int:
        """The number of proposals that also move existing concepts, which a batch does not do."""
        return sum(bool(each.proposals[0].moves) for each in self.accepted)

    @cached_property
    def expected_errors(self) -> float | None:
        """The sum of 1 - confidence; None if a confidence is unknown."""
        return self.errors(self.accepted)

    @property
    def measure(self) -> str:
        """The number that the threshold applies to: confidence or score."""
        is_known = self.errors(self.accepted or self.concepts) is not None
        return "confidence" if is_known else "score"

    @cached_property
    def low_count(self) -> int:
        """The number of concepts whose proposal is more likely wrong than right."""
        return sum(self.number(each) < LIKELY for each in self.accepted)

    @property
    def needs_confirmation(self) -> bool:
        """Whether the curator must confirm low or unknown confidence, or unsuitable parents."""
        is_unsuitable = self.with_unsuitable and self.unsuitable
        return bool(self.low_count or self.expected_errors is None or is_unsuitable)

    @cached_property
    def shown(self) -> list[QueuedConcept]:
        """The accepted concepts with the lowest confidence, which can be left out."""
        return sorted(self.accepted, key=self.number)[:MAX_SHOWN]

    @property
    def steps(self) -> list[tuple[float, int, float | None]]:
        """Other thresholds, with their numbers of accepted concepts and expected errors."""
        parts = [(threshold, self.accepted_from(threshold)) for threshold in THRESHOLDS]
        return [(threshold, len(each), self.errors(each)) for threshold, each in parts if each]

    @property
    def digest(self) -> str:
        """A digest of the accepted concepts, their versions and their parents."""
        rows = [f"{c.key}\0{c.version}\0{c.proposals[0].parent.id}" for c in self.accepted]
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:32]

    def decisions(
        self, batch: str, request_id: str | None = None, left_out: Collection[str] = ()
    ) -> list[LogEntry]:
        """Return decisions that attach each concept to its first proposal and move no children."""
        decisions = []
        for each in self.accepted:
            first = each.proposals[0]
            if first.kind != SuggestionKind.COARSE:
                first = replace(first, kind=SuggestionKind.ATTACH, moves=())
            if each.key not in left_out:
                accepted = LogEntry(each.key, Action.ACCEPT, each.version, (first,))
                decisions.append(replace(accepted, batch=batch, request_id=request_id))
        return decisions


def show_bulk(
    pages: Pages,
    request: Request,
    values: Mapping[str, str] | None = None,
    status: int = 200,
    problem: str = "",
) -> Response:
    """Return the page with the preview."""
    values = request.query_params if values is None else values
    taxonomy = pages.desk.taxonomy
    parent = values.get("parent", "")
    branch = values.get("branch", "")
    return pages.render(
        request,
        "bulk.html",
        "Bulk accept",
        status,
        filter=QueueFilter.parse({"q": values.get("q", ""), "branch": branch}),
        preview=_preview(pages, values),
        parent=taxonomy.path(parent) if parent in taxonomy else None,
        branch=taxonomy.path(branch) if branch in taxonomy else None,
        rule=SAFE if values.get("rule") == SAFE else "",
        bulk_fields=[(name, values[name]) for name in FIELDS if values.get(name)],
        problem=problem,
        request_id=secrets.token_urlsafe(16),
    )


def accept_bulk(pages: Pages, request: Request, form: FormData) -> Response:
    """Accept all concepts of the preview as one batch, if the preview has not changed."""
    store = pages.desk.store
    request_id = text_of(form, "request") or None
    values = {name: value for name, value in form.items() if isinstance(value, str)}
    done = store.requested(request_id) if request_id else []
    if not done:
        preview = _preview(pages, values)
        if preview.digest != text_of(form, "seen"):
            problem = "The queue has changed since the preview. Nothing was accepted; look again."
            return show_bulk(pages, request, values, 409, problem)
        if preview.needs_confirmation and text_of(form, "confirmed") != "1":
            problem = "Nothing was accepted: confirm that proposals of low confidence are accepted"
            return show_bulk(pages, request, values, 422, f"{problem} too.")
        taken = set(map(str, form.getlist("take")))
        left_out = {c.key for c in preview.shown} - taken if text_of(form, "boxes") else ()
        decisions = preview.decisions(secrets.token_hex(16), request_id, left_out)
        if not decisions:
            return show_bulk(pages, request, values, 422, "There is nothing to accept.")
        try:
            done = store.append(decisions, pages.curator(request))
        except ConflictError as error:
            problem = f"{error.other.curator} was faster with a concept. Nothing was accepted"
            return show_bulk(pages, request, values, 409, f"{problem}; look again.")
    return see_other(QueueFilter().url(did=done[-1].number, count=len(done)))


def _preview(pages: Pages, values: Mapping[str, str]) -> BulkPreview:
    """Return the preview; deferred concepts are left out, because a person has to decide them."""
    desk = pages.desk
    given = fraction(values.get("min", ""))
    filter = QueueFilter.parse({"q": values.get("q", ""), "branch": values.get("branch", "")})
    query = filter.to_query(desk.taxonomy, limit=None)
    parent = values.get("parent") or None
    query = replace(query, statuses=(Status.TODO,), merge=None)
    query = replace(query, listed=desk.listed, parent_id=parent)
    is_safe = values.get("rule") == SAFE
    lowest = min(LIKELY, 1.0 if given is None else given)
    lowest = 0.0 if is_safe or parent else lowest
    concepts = desk.store.first_proposals(replace(query, min_confidence=lowest))
    total = desk.store.queue(replace(query, limit=1)).total
    if is_safe:
        lowest = desk.evidence.min_branch if given is None else given
        # The safe placement becomes the only proposal of a concept.
        placed = ((c, c.safe_place(desk.taxonomy, lowest)) for c in concepts)
        concepts = [replace(c, proposals=(safe,)) for c, safe in placed if safe]
        given = lowest
    usable = [each for each in concepts if pages.usable_parents.filter_suggestions(each.proposals)]
    unusable = len(concepts) - len(usable)
    with_unsuitable = bool(values.get("unsuitable"))
    preview = BulkPreview(usable, DEFAULT_TRUTH, total, with_unsuitable, is_safe, unusable)
    if given is not None:
        return replace(preview, threshold=given)
    reached = next((step[0] for step in preview.steps), 1.0)
    if parent:  # the whole group, so that nothing of it is hidden
        reached = math.floor(1e4 * min(map(preview.number, usable), default=1.0)) / 1e4
    return replace(preview, threshold=min(DEFAULT_TRUTH, reached))
