"""JSON-LD: what must be known before it is parsed, and how statements are put into it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np
import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.jsonparts.text import Array, Object, parse
from taxoexpan.formats.rdf.vocabulary import Triple
from taxoexpan.formats.source import Insertion, Source

DEEPEST = 64
"""The parser's memory grows with the square of the nesting, and no vocabulary nests so."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)


def refuse_deep(source: Source) -> None:
    """Refuse a file that nests so deep that parsing it would fill the memory."""
    bare = np.frombuffer(_STRING.sub(b"", source.text.encode("utf-8")), dtype=np.uint8)
    steps = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    if int(np.cumsum(steps).max(initial=0)) > DEEPEST:
        message = f"nested more than {DEEPEST} levels deep; flatten it (JSON-LD has a form for it)"
        raise FormatError(source.path, message)


def insertions(source: Source, triples: list[Triple]) -> list[Insertion]:
    """New node objects at the end of the list of nodes.

    They are in expanded form, which means the same under every context. A file that is one node
    becomes a list of nodes, by brackets around what is there.
    """
    by_subject = groupby(triples, key=lambda triple: triple.subject)
    added = [_node(subject, about) for subject, about in by_subject]
    value = parse(source)
    graph = value.get("@graph") if isinstance(value, Object) and "@id" not in value else value
    lines = [json.dumps(node, ensure_ascii=source.text.isascii()) for node in added]
    text = f",{source.newline}".join(lines)
    if isinstance(graph, Array):
        start = f",{source.newline}" if graph else source.newline
        end = len(source.text[: graph.end - 1].rstrip())
        return [Insertion(end, start + text)]
    return [Insertion(value.start, "["), Insertion(value.end, f",{source.newline}{text}]")]


def _node(subject: str, triples: Iterable[Triple]) -> dict[str, Any]:
    node: dict[str, Any] = {"@id": subject}
    for triple in triples:
        node.setdefault(triple.predicate, []).append(_value(triple.object))
    return node


def _value(value: ox.NamedNode | ox.Literal) -> dict[str, str]:
    if isinstance(value, ox.NamedNode):
        return {"@id": value.value}
    if value.language:
        return {"@value": value.value, "@language": value.language}
    return {"@value": value.value, "@type": value.datatype.value}
