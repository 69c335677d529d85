"""A page as a tree of elements and texts, so that no text can ever become a tag."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

VOID = frozenset({"input", "meta"})
"""Elements that have no end tag."""
LONG = 28
"""Letters of a word from which on it may be broken anywhere."""
# What UTF-8 cannot hold, and what a browser would drop or mistake.
_UNWRITABLE = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with its attributes and with what it holds."""

    tag: str
    attributes: dict[str, str]
    children: tuple[Node, ...]


Node: TypeAlias = Element | str
Compact: TypeAlias = str | list[Any]
"""A node as JSON: a text, or a tag, its attributes (0 for none), and what it holds."""


def element(tag: str, *children: Node, **attributes: str | float | bool | None) -> Element:
    """An element; `class_` is its class, `data_kind` its data-kind, and None and False are none."""
    told = {
        name.rstrip("_").replace("_", "-"): "" if value is True else str(value)
        for name, value in attributes.items()
        if value is not None and value is not False
    }
    return Element(tag, told, children)


def name(label: str) -> Element:
    """A name, which must not turn round what stands beside it, nor widen what it stands in."""
    long = len(label) > LONG and any(len(word) > LONG for word in label.split())
    return element("bdi", label, class_="long" if long else None)


def as_html(node: Node) -> str:
    """A node as HTML, with every text and every attribute escaped."""
    parts: list[str] = []
    _write(node, parts)
    return "".join(parts)


def as_compact(node: Node) -> Compact:
    """A node as JSON, from which the page's script builds the same element."""
    if isinstance(node, str):
        return writable(node)
    attributes = {name: writable(value) for name, value in node.attributes.items()} or 0
    return [node.tag, attributes, *[as_compact(child) for child in node.children]]


def writable(text: str) -> str:
    """The text with a � for each character that no UTF-8 file or no browser takes."""
    return text if text.isprintable() else _UNWRITABLE.sub("\ufffd", text)


def _write(node: Node, parts: list[str]) -> None:
    if isinstance(node, str):
        parts.append(escape(writable(node), quote=False))
        return
    told = "".join(
        f' {name}="{escape(writable(value))}"' for name, value in node.attributes.items()
    )
    parts.append(f"<{node.tag}{told}>")
    if node.tag in VOID:
        return
    if node.tag == "script":
        # Only JSON is ever put here; without a < nothing in it can end the element.
        parts.extend(str(child).replace("<", "\\u003c") for child in node.children)
    else:
        for child in node.children:
            _write(child, parts)
    parts.append(f"</{node.tag}>")
