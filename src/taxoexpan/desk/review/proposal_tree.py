"""The tree around a proposed parent: its ancestors, its siblings and its children."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.names import normalize_name

MAX_CHILDREN = 6
"""The number of children of the parent that are shown at first."""
MAX_SIBLINGS = 3
"""The number of siblings of the parent that are shown."""
MAX_BRANCH = 200
"""The number of children that are shown when a branch is opened."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A concept of the taxonomy as it is shown in a tree."""

    id: str
    label: str
    child_count: int


@dataclass(frozen=True, slots=True)
class ProposalTree:
    """A proposed parent with the concepts around it.

    `ancestors` lead from a root to the parent, without it. Children that share words with the new
    concept come first. The counts are of those that are not listed.
    """

    parent: TreeNode
    ancestors: tuple[TreeNode, ...]
    siblings: tuple[TreeNode, ...]
    more_siblings: int
    children: tuple[TreeNode, ...]
    more_children: int
    moves: tuple[TreeNode, ...] = ()
    """Children of the parent that may move below the new concept."""


def tree_around(
    taxonomy: Taxonomy, parent_id: str, new: Concept, moves: Iterable[str] = ()
) -> ProposalTree:
    """Return the tree around a parent that is proposed for a new concept."""
    parent = taxonomy.index(parent_id)
    ancestors = _first_ancestors(taxonomy, parent)
    siblings: list[int] = []
    if ancestors:
        siblings = [i for i in taxonomy.children_of.of(ancestors[-1]).tolist() if i != parent]
    moved = [taxonomy.index(id) for id in moves if id in taxonomy]
    children = _nearest_first(
        taxonomy, [i for i in taxonomy.children_of.of(parent).tolist() if i not in moved], new
    )
    return ProposalTree(
        parent=_node(taxonomy, parent),
        ancestors=_nodes(taxonomy, ancestors),
        siblings=_nodes(taxonomy, siblings[:MAX_SIBLINGS]),
        more_siblings=max(len(siblings) - MAX_SIBLINGS, 0),
        children=_nodes(taxonomy, children[:MAX_CHILDREN]),
        more_children=max(len(children) - MAX_CHILDREN, 0),
        moves=_nodes(taxonomy, moved),
    )


def rest_of_children(
    taxonomy: Taxonomy, parent_id: str, new: Concept
) -> tuple[tuple[TreeNode, ...], int]:
    """Return the children that `tree_around` leaves out, and the number of those left out again."""
    children = taxonomy.children_of.of(taxonomy.index(parent_id)).tolist()
    rest = _nearest_first(taxonomy, children, new)[MAX_CHILDREN:]
    return _nodes(taxonomy, rest[:MAX_BRANCH]), max(len(rest) - MAX_BRANCH, 0)


def branch_of(taxonomy: Taxonomy, parent_id: str) -> tuple[tuple[TreeNode, ...], int]:
    """Return the first children of a concept, and the number of the others."""
    children = taxonomy.children_of.of(taxonomy.index(parent_id)).tolist()
    return _nodes(taxonomy, children[:MAX_BRANCH]), max(len(children) - MAX_BRANCH, 0)


def _first_ancestors(taxonomy: Taxonomy, index: int) -> list[int]:
    """Return the ancestors along the first parent of each concept, a root first."""
    ancestors: list[int] = []
    parents = taxonomy.parents_of.of(index)
    while len(parents):
        ancestors.append(int(parents[0]))
        parents = taxonomy.parents_of.of(ancestors[-1])
    return ancestors[::-1]


def _nearest_first(taxonomy: Taxonomy, children: Sequence[int], new: Concept) -> list[int]:
    """Order children by the number of words that they share with the new concept."""
    words = set(normalize_name(new.label).split())

    def shared(index: int) -> int:
        return len(words.intersection(normalize_name(taxonomy.labels[index]).split()))

    return sorted(children, key=shared, reverse=True)


def _nodes(taxonomy: Taxonomy, indices: Iterable[int]) -> tuple[TreeNode, ...]:
    return tuple(_node(taxonomy, index) for index in indices)


def _node(taxonomy: Taxonomy, index: int) -> TreeNode:
    count = int(taxonomy.children_of.degrees[index])
    return TreeNode(taxonomy.ids[index], taxonomy.labels[index], count)
