"""HTML as a tree of elements and texts, so that no text can become markup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

VOID_TAGS = frozenset({"input", "meta"})
"""Tags of elements without an end tag."""
MAX_WORD = 28
"""The length above which a word may be broken anywhere."""
# Characters that UTF-8 cannot encode, or that a browser would drop or misread.
_INVALID = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Element:
    """An HTML element: its tag, attributes and children."""

    tag: str
    attributes: dict[str, str]
    children: tuple[Node, ...]


Node: TypeAlias = Element | str
JsonNode: TypeAlias = str | list[Any]
"""A node as JSON: a text, or a list of the tag, the attributes (0 for none) and the children."""


def element(tag: str, *children: Node, **attributes: str | float | bool | None) -> Element:
    """Create an element.

    `class_` becomes the attribute `class`, `data_kind` becomes `data-kind`. Attributes that are
    None or False are left out.
    """
    present = {
        name.rstrip("_").replace("_", "-"): "" if value is True else str(value)
        for name, value in attributes.items()
        if value is not None and value is not False
    }
    return Element(tag, present, children)


def isolated(label: str) -> Element:
    """Create an element for a label.

    It isolates the text direction of the label, and lets a very long word break anywhere.
    """
    return element("bdi", label, class_="long" if has_long_word(label) else None)


def has_long_word(text: str) -> bool:
    """Return whether a text has a word that may be broken anywhere."""
    return len(text) > MAX_WORD and any(len(word) > MAX_WORD for word in text.split())


def to_html(node: Node) -> str:
    """Convert a node to HTML, with all texts and attributes escaped."""
    parts: list[str] = []
    _write(node, parts)
    return "".join(parts)


def to_json_node(node: Node) -> JsonNode:
    """Convert a node to JSON, from which the script of the page builds the same element."""
    if isinstance(node, str):
        return replace_invalid(node)
    attributes = {name: replace_invalid(value) for name, value in node.attributes.items()} or 0
    return [node.tag, attributes, *[to_json_node(child) for child in node.children]]


def replace_invalid(text: str) -> str:
    """Replace each character that UTF-8 or a browser cannot handle by U+FFFD."""
    return text if text.isprintable() else _INVALID.sub("\ufffd", text)


def _write(node: Node, parts: list[str]) -> None:
    if isinstance(node, str):
        parts.append(escape(replace_invalid(node), quote=False))
        return
    attributes = "".join(
        f' {name}="{escape(replace_invalid(value))}"' for name, value in node.attributes.items()
    )
    parts.append(f"<{node.tag}{attributes}>")
    if node.tag in VOID_TAGS:
        return
    if node.tag == "script":
        # The content is always JSON. Without a "<" nothing in it can end the element.
        parts.extend(str(child).replace("<", "\\u003c") for child in node.children)
    else:
        for child in node.children:
            _write(child, parts)
    parts.append(f"</{node.tag}>")
