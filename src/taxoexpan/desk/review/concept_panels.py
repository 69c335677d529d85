"""The panels below a concept: search for a parent, merge, insert, reject, comment."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from taxoexpan.desk.review.proposal_tree import TreeNode, branch_of
from taxoexpan.desk.review.queue_filter import MAX_TEXT, QueueFilter
from taxoexpan.desk.review.review_desk import ReviewDesk
from taxoexpan.desk.store.records import QueuedConcept, Reason
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy.name_search import fold_name

PANELS = (
    ("parent", "Other parent", "/"),
    ("merge", "Merge", "m"),
    ("insert", "Insert", "i"),
    ("reject", "Reject", "r"),
    ("comment", "Comment", "c"),
)
"""The name, the button and the key of every panel."""
TITLES = {
    "parent": "Place it below another concept",
    "merge": "It is the same as an existing concept",
    "insert": "Insert it above existing concepts",
    "reject": "Reject this concept",
    "comment": "Comment",
}
REASONS = (
    (Reason.WRONG_PARENTS, "No proposal is right", "a later model may propose other parents"),
    (Reason.OUT_OF_SCOPE, "It does not belong in the taxonomy", "it is not asked again"),
    (Reason.OTHER, "Another reason", "say which in the comment; it is not asked again"),
)
MAX_RESULTS = 12
"""The number of concepts that a search shows."""


@dataclass(frozen=True, slots=True)
class FoundConcept:
    """A concept that a search has found; `matched` is the synonym that matches, if none else."""

    id: str
    label: str
    path: tuple[str, ...]
    matched: str = ""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Concepts of the taxonomy with a name like the text; `action` says what to do with one."""

    text: str
    action: str
    nodes: tuple[FoundConcept, ...]

    @property
    def hint(self) -> str:
        """What to type."""
        return "Any concept of the taxonomy: words in any order, or how they begin."

    @property
    def summary(self) -> str:
        """The number of results, for a screen reader."""
        count = len(self.nodes)
        some = f"{count} concepts found" if count != 1 else "1 concept found"
        return some if self.text else ""


@dataclass(frozen=True, slots=True)
class Insertion:
    """A parent, and its children that could move below the new concept."""

    parent: TreeNode
    path: tuple[str, ...]
    children: tuple[TreeNode, ...]
    more: int
    moves: tuple[str, ...]
    repeated: frozenset[str]
    """Labels that several of the children, or of the proposed parents, have."""


def panel_values(
    desk: ReviewDesk, request: Request, opened: QueuedConcept, filter: QueueFilter
) -> dict[str, Any]:
    """Return what the open panel shows; without one, only that there is none."""
    panel = request.query_params.get("panel", "")
    if panel not in TITLES:
        return {"panel": ""}
    values: dict[str, Any] = {"panel": panel, "panel_title": TITLES[panel], "reasons": REASONS}
    if panel in ("parent", "merge"):
        text = request.query_params.get("find", "")
        values["found"] = search_concepts(desk, text, panel)
        fields = [("concept", opened.key), ("panel", panel)]
        fields += [("with", id) for id in request.query_params.getlist("with")]
        values["search_fields"] = fields + filter_fields(filter)
    if panel == "insert":
        values["insertion"] = _insertion(desk, opened, request.query_params.get("parent", ""))
    return values


def filter_fields(filter: QueueFilter) -> list[tuple[str, str]]:
    """Return a filter as the hidden fields of a form."""
    return parse_qsl(filter.query)


def search_concepts(desk: ReviewDesk, text: str, panel: str) -> SearchResults:
    """Find concepts of the taxonomy by their names."""
    text = text.strip()[:MAX_TEXT]
    taxonomy = desk.taxonomy
    nodes = []
    for index in desk.names.search(text, MAX_RESULTS):
        concept = taxonomy.concept_at(index)
        words = fold_name(text).split()
        is_label = all(word in fold_name(concept.label) for word in words)
        matched = "" if is_label else _matching_synonym(concept.synonyms, words)
        nodes.append(FoundConcept(concept.id, concept.label, taxonomy.path(concept.id), matched))
    action = "merge" if panel == "merge" else "accept"
    return SearchResults(text, action, tuple(nodes))


def _matching_synonym(synonyms: tuple[str, ...], words: list[str]) -> str:
    """Return the first synonym that has all words."""
    found = (name for name in synonyms if all(word in fold_name(name) for word in words))
    return next(found, "")


def _insertion(desk: ReviewDesk, opened: QueuedConcept, wanted: str) -> Insertion | None:
    """Return the children of the wanted parent, or of the first proposal."""
    parents = [each for each in opened.proposals if each.kind != SuggestionKind.MERGE]
    moves = {each.parent.id: each.moves for each in parents}
    id = wanted or (parents[0].parent.id if parents else "")
    if id not in desk.taxonomy:
        return None
    children, more = branch_of(desk.taxonomy, id)
    node = TreeNode(id, desk.label_of(id), len(children) + more)
    path = desk.taxonomy.path(id)
    counts = Counter(each.label for each in children)
    counts.update({id: desk.label_of(id) for id in (id, *moves)}.values())
    repeated = frozenset(label for label, count in counts.items() if count > 1)
    return Insertion(node, path, children, more, moves.get(id, ()), repeated)
