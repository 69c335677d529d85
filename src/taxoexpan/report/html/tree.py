"""The small tree around a proposal: where a new concept would hang, and what hangs there now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taxoexpan.report.html.element import Element, Node, element, name

MOST_ABOVE = 8
"""How many concepts of a stretch of a path are shown; of a longer one the middle is left out."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A concept that is there already, with a figure where there is one."""

    label: str
    figure: float | None = None
    mark: str = ""
    """What is said of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place for the new concept: the path from the root to the parent, and what is around it."""

    path: Sequence[str]
    siblings: Sequence[Neighbour] = ()
    more: int = 0
    """How many siblings there are besides those that are given."""
    children: Sequence[Neighbour] = ()
    """Concepts below the new one, or that might move there."""
    figure: float | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A new concept at its place and, where there is one, at the runner-up's."""

    concept: str
    place: Place
    runner_up: Place | None = None
    figure: str = "cosine"
    """What the figures of neighbours are."""
    marks: tuple[str, str] = ("new", "or here")
    """What is said of the concept at either place."""


def tree_element(tree: Tree) -> Element:
    """The tree as a nested list; what both paths have in common is drawn once."""
    first = tree.place
    if tree.runner_up is None:
        return _list(_downwards(first.path, _around(tree, first, "new")), "tree")
    second = tree.runner_up
    shared = _shared(first.path, second.path)
    below = [
        *_downwards(first.path[shared:], _around(tree, first, "new")),
        *_downwards(second.path[shared:], _around(tree, second, "runner-up")),
    ]
    return _list(_downwards(first.path[:shared], below), "tree")


def _shared(first: Sequence[str], second: Sequence[str]) -> int:
    """How many concepts both paths begin with; the same path twice is of two namesakes."""
    most = min(len(first), len(second)) - (tuple(first) == tuple(second))
    return next((place for place in range(most) if first[place] != second[place]), most)


def _downwards(path: Sequence[str], below: list[Element]) -> list[Element]:
    """The list items of a path, each in the one before it, and `below` in the last."""
    items = below
    for label in reversed(_shortened(path)):
        told = _left_out(len(path)) if label is None else name(label)
        items = [element("li", told, _list(items))]
    return items


def _shortened(path: Sequence[str]) -> list[str | None]:
    """The path, with None for its middle where it is long."""
    if len(path) <= MOST_ABOVE:
        return list(path)
    return [*path[: MOST_ABOVE // 2 - 1], None, *path[-MOST_ABOVE // 2 :]]


def _left_out(length: int) -> Element:
    return element("span", f"… {length - MOST_ABOVE + 1:,} more above …", class_="more")


def _around(tree: Tree, place: Place, kind: str) -> list[Element]:
    """The new concept, with what might move below it, and its siblings to be."""
    mark = tree.marks[kind != "new"]
    if place.figure is not None:
        mark += f", {place.figure:.2f}"
    inside: list[Node] = [name(tree.concept), " ", element("span", mark, class_="mark")]
    if place.children:
        inside.append(_list(_neighbours(tree, place.children, "moves")))
    items = [element("li", *inside, class_=kind)]
    items += _neighbours(tree, place.siblings)
    if place.more:
        items.append(element("li", f"and {place.more:,} more", class_="more"))
    return items


def _neighbours(
    tree: Tree, neighbours: Sequence[Neighbour], kind: str | None = None
) -> list[Element]:
    """Concepts that are there; what their figures are is said once."""
    items = []
    for place, each in enumerate(neighbours):
        inside: list[Node] = [name(each.label)]
        if each.figure is not None:
            told = f"{each.figure:.2f}" if place else f"{tree.figure} {each.figure:.2f}"
            inside += [" ", element("span", told, class_="figure")]
        if each.mark:
            inside += [" ", element("span", each.mark, class_="mark")]
        items.append(element("li", *inside, class_=kind))
    return items


def _list(items: Sequence[Element], kind: str | None = None) -> Element:
    return element("ul", *items, class_=kind)
