"""JSON-LD: what must be known before it is parsed, and how statements are written in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.jsonparts.style import Style
from taxoexpan.formats.jsonparts.text import Array, Object, parse
from taxoexpan.formats.rdf.vocabulary import BOOLEAN, STRING, TYPE
from taxoexpan.formats.source import Insertion, Source

DEEPEST = 64
"""The parser's memory grows with the square of the nesting, and no vocabulary nests so."""

Node = dict[str, Any]

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)
_ENDS_OF_PREFIXES = tuple(":/?#[]@")
_PLAIN_KEYS = {"@id", "@type", "@language", "@container", "@prefix", "@protected"}
_MOST_STEPS = 20
"""How many names may stand for each other before we write what they mean in full."""


def refuse_deep(source: Source) -> None:
    """Refuse a file that nests so deep that parsing it would fill the memory."""
    bare = np.frombuffer(_STRING.sub(b"", source.text.encode("utf-8")), dtype=np.uint8)
    steps = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    if int(np.cumsum(steps).max(initial=0)) > DEEPEST:
        message = f"nested more than {DEEPEST} levels deep; flatten it (JSON-LD has a form for it)"
        raise FormatError(source.path, message)


def insertions(source: Source, triples: list[ox.Triple]) -> list[Insertion]:
    """New node objects at the end of the list of nodes, in the words of the file's context.

    A file that is one node becomes a list of nodes, by brackets around what is there.
    """
    value = parse(source)
    context = value.get("@context") if isinstance(value, Object) else None
    graph = _graph(value, Context(context))
    # Beside the whole of the file, its context does not hold.
    holds = context if graph is not value else None
    nodes = _meant(source, graph, holds, triples)
    style, spread_values = _style(source, value, graph)
    indent = _indent(style, graph)
    texts = [_text(style, node, indent, style.spread_objects, spread_values) for node in nodes]
    if isinstance(graph, Array):
        return [_appended(style, graph, texts)]
    glue = f",{source.newline}{indent}" if style.spread_objects else style.comma
    added = "".join(glue + text for text in texts)
    return [Insertion(graph.start, "["), Insertion(graph.end, f"{added}]")]


def document(triples: list[ox.Triple], prefixes: Mapping[str, str]) -> str:
    """A whole new file: a context of prefixes, and one object for each subject."""
    # A prefix with the name of a scheme, such as urn, would turn a whole IRI into another.
    schemes = {iri.partition(":")[0] for iri in (*_iris(triples), *prefixes.values())}
    context = {
        name: iri
        for name, iri in prefixes.items()
        if name and name not in schemes and iri.endswith(_ENDS_OF_PREFIXES)
    }
    nodes = Context(context, compact_ids=True).nodes(triples)
    return json.dumps({"@context": context, "@graph": nodes}, ensure_ascii=False, indent=2) + "\n"


class Context:
    """What an inline context calls things, and how statements are said with it.

    Without one, they are in the expanded form that many tools write: whole IRIs, every value an
    object in a list.
    """

    def __init__(self, context: Any = None, compact_ids: bool = False) -> None:
        merged: dict[str, Any] = {}
        for part in context if isinstance(context, list) else [context]:
            merged = {**merged, **part} if isinstance(part, dict) else {}
        self.is_given, self.compact_ids = context is not None, compact_ids
        self.vocabulary, self.language = merged.get("@vocab"), merged.get("@language")
        self.definitions: dict[str, dict[str, Any]] = {
            name: definition if isinstance(definition, dict) else {"@id": definition}
            for name, definition in merged.items()
            if name and not name.startswith("@")
        }
        self.names: dict[str, list[str]] = {}
        for name, definition in self.definitions.items():
            if definition.keys() <= _PLAIN_KEYS:
                self.names.setdefault(self.expanded(name), []).append(name)
        self._prefixes = [
            (iri, name)
            for iri, names in sorted(self.names.items(), key=lambda item: -len(item[0]))
            for name in names
            if ":" not in name and _is_prefix(merged[name], iri)
        ]

    def expanded(self, name: str, steps: int = 0) -> str:
        """The IRI or the keyword that a name stands for; blank where it stands for nothing."""
        if name.startswith("@"):
            return name
        known = self.definitions.get(name, {}).get("@id", name)
        if not isinstance(known, str) or steps > _MOST_STEPS:
            return ""
        if known != name:
            return self.expanded(known, steps + 1)
        prefix, colon, local = name.partition(":")
        if not colon:
            return f"{self.vocabulary or ''}{name}"
        if local.startswith("//") or prefix not in self.definitions:
            return name
        return self.expanded(prefix, steps + 1) + local

    def keyword(self, word: str) -> str:
        """The alias of a keyword, or itself."""
        return self.names.get(word, [word])[0]

    def is_compact(self, id: object) -> bool:
        """Whether an id is written with a prefix."""
        prefix, _, local = str(id).partition(":")
        return bool(local) and not local.startswith("//") and prefix in self.definitions

    def nodes(self, triples: Iterable[ox.Triple]) -> list[Node]:
        """One object for each subject."""
        nodes: dict[object, Node] = {}
        for triple in dict.fromkeys(triples):
            subject = triple.subject
            if subject not in nodes:
                nodes[subject] = {self.keyword("@id"): self._id(subject)}
            self._put(nodes[subject], triple.predicate.value, triple.object)
        return list(nodes.values())

    def _put(self, node: Node, predicate: str, value: Any) -> None:
        """Say one thing about a node, under the first name that has a short way for it."""
        if predicate == TYPE and not isinstance(value, ox.Literal):
            name = self.keyword("@type")
            return self._add(node, name, self._word(value.value) if _named(value) else str(value))
        terms = []
        for name in self.names.get(predicate, []):
            containers = self._containers(name) - {"@set"}
            if containers == {"@language"} and _is_plain(value) and value.language:
                return self._add(node.setdefault(name, {}), value.language, value.value, name)
            if not containers:
                terms.append(name)
        for name in terms:
            if (short := self._short(self.definitions[name], value)) is not None:
                return self._add(node, name, short)
        if terms:
            return self._add(node, terms[0], self._long(value))
        short = self._short({}, value)
        return self._add(node, self._name(predicate), self._long(value) if short is None else short)

    def _add(self, node: Node, key: str, value: Any, term: str | None = None) -> None:
        """A value beside those that are there, in a list where there may be several."""
        if key not in node:
            many = not self.is_given or "@set" in self._containers(term or key)
            node[key] = [value] if many else value
        elif isinstance(node[key], list):
            node[key].append(value)
        else:
            node[key] = [node[key], value]

    def _containers(self, name: str) -> set[str]:
        container = self.definitions.get(name, {}).get("@container") or []
        return {container} if isinstance(container, str) else set(map(str, container))

    def _short(self, definition: Mapping[str, Any], value: Any) -> str | bool | None:
        """A value in a single word, under a term; None where there is none for it."""
        kind = definition.get("@type")
        if not self.is_given:
            return None
        if not isinstance(value, ox.Literal):
            return self._id(value) if kind in ("@id", "@vocab") else None
        if not _is_plain(value):
            return None
        if kind is not None:
            same = not value.language and self.expanded(str(kind)) == value.datatype.value
            return value.value if same else None
        language = definition.get("@language", self.language)
        if value.language:
            return value.value if str(language).lower() == value.language.lower() else None
        if value.datatype.value == BOOLEAN and value.value in ("true", "false"):
            return value.value == "true"
        return value.value if value.datatype.value == STRING and not language else None

    def _long(self, value: Any) -> Node:
        """A value as an object, which means the same under every term."""
        if not isinstance(value, ox.Literal):
            return {self.keyword("@id"): self._id(value)}
        about = {}
        if value.language:
            about[self.keyword("@language")] = value.language
        elif value.datatype.value != STRING:
            about[self.keyword("@type")] = self._word(value.datatype.value)
        if value.direction is not None:
            about[self.keyword("@direction")] = value.direction.value
        return {**about, self.keyword("@value"): value.value}

    def _id(self, node: Any) -> str:
        if not _named(node):
            return str(node)
        return self._compact(node.value) if self.compact_ids else str(node.value)

    def _word(self, iri: str) -> str:
        """What a type is called."""
        return next(iter(self.names.get(iri, [])), "") or self._name(iri)

    def _name(self, iri: str) -> str:
        """A name for what no term stands for: one in the vocabulary, or a compact IRI."""
        if isinstance(self.vocabulary, str) and iri.startswith(self.vocabulary):
            local = iri.removeprefix(self.vocabulary)
            if local and ":" not in local and local[0] != "@" and local not in self.definitions:
                return local
        return self._compact(iri)

    def _compact(self, iri: str) -> str:
        for space, name in self._prefixes:
            local = iri.removeprefix(space)
            short = f"{name}:{local}"
            if local not in ("", iri) and local[:2] != "//" and short not in self.definitions:
                return short
        return iri


def _is_prefix(definition: Any, iri: str) -> bool:
    """Whether JSON-LD lets a term stand at the beginning of a compact IRI."""
    if isinstance(definition, dict):
        return definition.get("@prefix") is True
    return not iri.startswith("@") and iri.endswith(_ENDS_OF_PREFIXES)


def _named(node: object) -> bool:
    return isinstance(node, ox.NamedNode)


def _is_plain(value: object) -> bool:
    return isinstance(value, ox.Literal) and value.direction is None


def _iris(triples: Iterable[ox.Triple]) -> Iterator[str]:
    for triple in triples:
        for part in (triple.subject, triple.predicate, triple.object):
            named = part.datatype if isinstance(part, ox.Literal) else part
            if isinstance(named, ox.NamedNode):
                yield named.value


def _graph(value: Any, context: Context) -> Any:
    """Where nodes lie: under `@graph` or its alias, else the whole; a named graph is left alone."""
    if isinstance(value, Object) and not {"@id", *context.names.get("@id", [])} & value.keys():
        for key in ("@graph", *context.names.get("@graph", [])):
            if isinstance(value.get(key), Array | Object):
                return value[key]
    return value


def _meant(source: Source, graph: Any, context: Any, triples: list[ox.Triple]) -> list[Node]:
    """Nodes in the shortest form that means these triples under the context, and nothing else."""
    if context is None:
        return Context().nodes(triples)
    known, wanted = Context(context), set(triples)
    ids = (node[key] for node in _objects(graph) for key in node if known.expanded(key) == "@id")
    known.compact_ids = known.is_compact(next(ids, ""))
    written = source.text[context.start : context.end]
    for form in (known, Context()):
        nodes = form.nodes(triples)
        text = f'{{"@context": {written}, "@graph": {json.dumps(nodes)}}}'
        try:
            if {quad.triple for quad in ox.parse(text, format=ox.RdfFormat.JSON_LD)} == wanted:
                return nodes
        except (SyntaxError, ValueError):
            continue
    return [{"@context": None, **node} for node in nodes]


def _style(source: Source, value: Any, graph: Any) -> tuple[Style, bool]:
    """How the nodes of a file are set, and whether objects inside of them are spread."""
    nodes = graph if isinstance(graph, Array) else [graph]
    within = (part for node in _objects(graph) for part in node.values())
    words = next((part for part in within if isinstance(part, Array) and part), None)
    rows = graph if isinstance(graph, Array) and graph else None
    style = Style(source, next(_objects(graph), value), rows, words)
    inner = next((part for node in nodes for part in islice(_objects(node), 1, None)), None)
    return style, style.spread_objects if inner is None else style.is_spread(inner)


def _objects(value: Any) -> Iterator[Object]:
    """Objects that are not blank, from the outside in."""
    if isinstance(value, Object) and value:
        yield value
    if isinstance(value, Object | Array):
        for part in value.values() if isinstance(value, Object) else value:
            yield from _objects(part)


def _glue(style: Style, graph: Any) -> str:
    """What lies between two nodes; blank where nothing tells."""
    if isinstance(graph, Array) and len(graph) > 1:
        first, second = graph[:2]
        if isinstance(first, Object) and isinstance(second, Object):
            return style.text[first.end : second.start]
    return ""


def _indent(style: Style, graph: Any) -> str:
    """The indentation of a node."""
    _, broken, margin = _glue(style, graph).rpartition("\n")
    if broken:
        return margin
    return style.inside(graph) if isinstance(graph, Array) else style.margin(graph.start)


def _text(style: Style, value: Any, indent: str, spread: bool, spread_values: bool) -> str:
    """A value set like those of the file; `indent` is that of the line on which it opens."""
    if isinstance(value, dict):
        inner = style.deeper(indent, spread)
        members = [
            (key, _text(style, part, inner, spread_values, spread_values))
            for key, part in value.items()
        ]
        return style.object(members, indent, spread)
    if isinstance(value, list):
        inner = style.deeper(indent, style.spread_words)
        parts = [_text(style, part, inner, spread_values, spread_values) for part in value]
        return style.enclosed("[]", parts, indent, style.spread_words)
    return style.scalar(value)


def _appended(style: Style, graph: Array, texts: list[str]) -> Insertion:
    """Nodes after the last one, with what lies between the others."""
    glue = _glue(style, graph)
    if not glue:
        return style.appended(graph, texts, style.spread_objects)
    end = len(style.text[: graph.end - 1].rstrip(" \t\r\n"))
    return Insertion(end, "".join(glue + text for text in texts))
