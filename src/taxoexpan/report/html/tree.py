"""The small tree around a suggestion: the new concept among its possible parents and siblings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taxoexpan.report.html.element import Element, Node, element, isolated

MAX_PATH = 8
"""The number of concepts shown of a path; the middle of a longer path is left out."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A sibling or child of the new concept; `cosine` compares the two concepts, if it is known."""

    label: str
    cosine: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class TreePosition:
    """A possible position of the new concept: the path to its parent, and its neighbors."""

    path: Sequence[str]
    siblings: Sequence[Neighbor] = ()
    more_siblings: int = 0
    """The number of siblings that are not listed."""
    children: Sequence[Neighbor] = ()
    """Concepts under the new one, or concepts that may move there."""
    number: str = ""
    """The confidence or the score of the position, as text."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A new concept at its suggested position and, if there is one, at the runner-up's."""

    concept: str
    suggested: TreePosition
    runner_up: TreePosition | None = None
    notes: tuple[str, str] = ("new", "runner-up")
    """The notes next to the concept at both positions."""


def tree_element(tree: Tree) -> Element:
    """Convert a tree to a nested list; the common start of both paths is drawn once."""
    first, second = tree.suggested, tree.runner_up
    if second is None:
        return _list(_nested(first.path, _family(tree, first, "new")), "tree")
    shared = _common_length(first.path, second.path)
    below = [
        *_nested(first.path[shared:], _family(tree, first, "new")),
        *_nested(second.path[shared:], _family(tree, second, "runner-up")),
    ]
    return _list(_nested(first.path[:shared], below), "tree")


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the common start; equal paths belong to two concepts of one label."""
    limit = min(len(first), len(second)) - (tuple(first) == tuple(second))
    return next((index for index in range(limit) if first[index] != second[index]), limit)


def _nested(path: Sequence[str], below: list[Element]) -> list[Element]:
    """Nest the list items of a path, with `below` in the last one."""
    items = below
    for label in reversed(shortened_path(path)):
        content = _omitted(len(path)) if label is None else isolated(label)
        items = [element("li", content, _list(items))]
    return items


def shortened_path(path: Sequence[str]) -> list[str | None]:
    """Return the path, with None in place of the middle of a long one."""
    if len(path) <= MAX_PATH:
        return list(path)
    return [*path[: MAX_PATH // 2 - 1], None, *path[-MAX_PATH // 2 :]]


def _omitted(length: int) -> Element:
    return element("span", f"… {length - MAX_PATH + 1:,} more levels …", class_="more")


def _family(tree: Tree, position: TreePosition, css_class: str) -> list[Element]:
    """Return the items of the new concept, its children and its siblings."""
    note = tree.notes[css_class != "new"]
    if position.number:
        note += f", {position.number}"
    content: list[Node] = [isolated(tree.concept), " ", element("span", note, class_="note")]
    if position.children:
        content.append(_list(_neighbor_items(position.children, "moves")))
    items = [element("li", *content, class_=css_class)]
    items += _neighbor_items(position.siblings)
    if position.more_siblings:
        items.append(element("li", f"and {position.more_siblings:,} more", class_="more"))
    return items


def _neighbor_items(neighbors: Sequence[Neighbor], css_class: str | None = None) -> list[Element]:
    """Return an item per neighbor; the first number is called a cosine."""
    items = []
    for index, each in enumerate(neighbors):
        content: list[Node] = [isolated(each.label)]
        if each.cosine is not None:
            text = f"{each.cosine:.2f}" if index else f"cosine {each.cosine:.2f}"
            content += [" ", element("span", text, class_="cosine")]
        if each.note:
            content += [" ", element("span", each.note, class_="note")]
        items.append(element("li", *content, class_=css_class))
    return items


def _list(items: Sequence[Element], css_class: str | None = None) -> Element:
    return element("ul", *items, class_=css_class)
