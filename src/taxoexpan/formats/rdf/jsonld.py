"""JSON-LD: a check before parsing, insertion of nodes, and new documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.editor import JsonEditor
from taxoexpan.formats.json.parser import Array, Object, objects_in, parse
from taxoexpan.formats.rdf.vocabulary import BOOLEAN, STRING, TYPE, by_subject
from taxoexpan.formats.text_file import Insertion, TextFile

Node = dict[str, Any]

_MAX_DEPTH = 64
"""The memory of the parser grows with the square of the depth; no vocabulary is that deep."""

_PREFIX_ENDS = tuple(":/?#[]@")
"""JSON-LD allows an IRI as a prefix only if it ends in one of these characters."""
_SIMPLE_KEYS = {"@id", "@type", "@language", "@container", "@prefix", "@protected"}
_MAX_STEPS = 20
"""How many terms may be defined by each other before an IRI is written in full."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)


def refuse_deep_nesting(source: TextFile) -> None:
    """Refuse a file that is nested so deeply that parsing it would need too much memory."""
    bare = np.frombuffer(_STRING.sub(b"", source.text.encode("utf-8")), dtype=np.uint8)
    steps = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    if int(np.cumsum(steps).max(initial=0)) > _MAX_DEPTH:
        message = f"nested more than {_MAX_DEPTH} levels deep; use the flattened form of JSON-LD"
        raise FormatError(source.path, message)


def insert_nodes(source: TextFile, triples: list[ox.Triple]) -> list[Insertion]:
    """Append node objects to the list of nodes, with the terms of the file's context.

    A file that is a single node becomes a list of nodes.
    """
    value = source.parsed(parse)
    context = value.get("@context") if isinstance(value, Object) else None
    graph = _node_list(value, Context(context))
    # Next to the root object, its context does not apply.
    nodes = _compact_nodes(source, graph, context if graph is not value else None, triples)
    if isinstance(graph, Array):
        return JsonEditor(source, [graph or value], {"": graph}).append(graph, nodes)
    return JsonEditor(source, [graph], {}).enlist((graph.start, graph.end), graph, nodes)


def write_document(triples: list[ox.Triple], prefixes: Mapping[str, str]) -> str:
    """Return the text of a new file: a context with prefixes, and one object per subject."""
    # A prefix that equals a scheme, such as urn, would change the meaning of whole IRIs.
    schemes = {iri.partition(":")[0] for iri in (*_iris(triples), *prefixes.values())}
    context = {
        name: iri
        for name, iri in prefixes.items()
        if name and name not in schemes and iri.endswith(_PREFIX_ENDS)
    }
    nodes = Context(context, compact_ids=True).nodes(triples)
    return json.dumps({"@context": context, "@graph": nodes}, ensure_ascii=False, indent=2) + "\n"


def _iris(triples: Iterable[ox.Triple]) -> Iterator[str]:
    for triple in triples:
        for part in (triple.subject, triple.predicate, triple.object):
            node = part.datatype if isinstance(part, ox.Literal) else part
            if isinstance(node, ox.NamedNode):
                yield node.value


def _node_list(value: Any, context: Context) -> Any:
    """Return the value of `@graph` or its alias, or the whole file; named graphs are ignored."""
    if isinstance(value, Object) and not {"@id", *context.names.get("@id", [])} & value.keys():
        for key in ("@graph", *context.names.get("@graph", [])):
            if isinstance(value.get(key), Array | Object):
                return value[key]
    return value


def _compact_nodes(
    source: TextFile, graph: Any, context: Any, triples: list[ox.Triple]
) -> list[Node]:
    """Return nodes in the shortest form that means exactly these triples in the context."""
    if context is None:
        return Context().nodes(triples)
    known, expected = Context(context), set(triples)
    keys = (
        node[key] for node, _ in objects_in(graph) for key in node if known.expand(key) == "@id"
    )
    known.compact_ids = known.is_compact(next(keys, ""))
    context_text = source.text[context.start : context.end]
    for form in (known, Context()):
        nodes = form.nodes(triples)
        text = f'{{"@context": {context_text}, "@graph": {json.dumps(nodes)}}}'
        try:
            if {quad.triple for quad in ox.parse(text, format=ox.RdfFormat.JSON_LD)} == expected:
                return nodes
        except (SyntaxError, ValueError):
            continue
    return [{"@context": None, **node} for node in nodes]


class Context:
    """The terms of an inline context, for writing triples as node objects.

    Without a context, nodes are in the expanded form that many tools write: IRIs in full, and
    every value as an object in a list.
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
            if definition.keys() <= _SIMPLE_KEYS:
                self.names.setdefault(self.expand(name), []).append(name)
        self._prefixes = [
            (iri, name)
            for iri, names in sorted(self.names.items(), key=lambda item: -len(item[0]))
            for name in names
            if ":" not in name and _is_prefix(merged[name], iri)
        ]

    def expand(self, name: str, steps: int = 0) -> str:
        """Return the IRI or keyword of a name, or "" if it has none."""
        if name.startswith("@"):
            return name
        known = self.definitions.get(name, {}).get("@id", name)
        if not isinstance(known, str) or steps > _MAX_STEPS:
            return ""
        if known != name:
            return self.expand(known, steps + 1)
        prefix, colon, local = name.partition(":")
        if not colon:
            return f"{self.vocabulary or ''}{name}"
        if local.startswith("//") or prefix not in self.definitions:
            return name
        return self.expand(prefix, steps + 1) + local

    def is_compact(self, id: object) -> bool:
        """Return whether an id has a prefix of the context."""
        prefix, _, local = str(id).partition(":")
        return bool(local) and not local.startswith("//") and prefix in self.definitions

    def nodes(self, triples: Iterable[ox.Triple]) -> list[Node]:
        """Return one object per subject."""
        nodes = []
        for group in by_subject(triples):
            node = {self._keyword("@id"): self._id(group[0].subject)}
            for triple in group:
                self._add_value(node, triple.predicate.value, triple.object)
            nodes.append(node)
        return nodes

    def _add_value(self, node: Node, predicate: str, value: Any) -> None:
        """Add a value to a node, under the first term of the predicate if that can hold it."""
        if predicate == TYPE and not isinstance(value, ox.Literal):
            named = isinstance(value, ox.NamedNode)
            type_name = self._type_name(value.value) if named else str(value)
            return self._append(node, self._keyword("@type"), type_name)
        for name in self.names.get(predicate, []):
            containers = self._containers(name) - {"@set"}
            tagged = isinstance(value, ox.Literal) and value.language and not value.direction
            if containers == {"@language"} and tagged:
                return self._append(node.setdefault(name, {}), value.language, value.value, name)
            if not containers:
                return self._append(node, name, self._value(self.definitions[name], value))
        return self._append(node, self._name(predicate), self._value({}, value))

    def _append(self, node: Node, key: str, value: Any, term: str | None = None) -> None:
        """Add a value under a key; several values become a list."""
        if key not in node:
            in_list = not self.is_given or "@set" in self._containers(term or key)
            node[key] = [value] if in_list else value
        elif isinstance(node[key], list):
            node[key].append(value)
        else:
            node[key] = [node[key], value]

    def _containers(self, name: str) -> set[str]:
        container = self.definitions.get(name, {}).get("@container") or []
        return {container} if isinstance(container, str) else set(map(str, container))

    def _value(self, definition: Mapping[str, Any], value: Any) -> Any:
        """Return a value under a term: as a string or boolean if possible, or else an object."""
        kind = definition.get("@type")
        if not isinstance(value, ox.Literal):
            is_short = self.is_given and kind in ("@id", "@vocab")
            return self._id(value) if is_short else {self._keyword("@id"): self._id(value)}
        datatype = value.datatype.value
        if self.is_given and value.direction is None:
            default = str(definition.get("@language", self.language) or "").lower()
            if kind is None and datatype == BOOLEAN and value.value in ("true", "false"):
                return value.value == "true"
            is_text = kind is None and (value.language or datatype == STRING)
            if is_text and (value.language or "") == default:
                return value.value
            if kind is not None and not value.language and self.expand(str(kind)) == datatype:
                return value.value
        node = {}
        if value.language:
            node[self._keyword("@language")] = value.language
        elif datatype != STRING:
            node[self._keyword("@type")] = self._type_name(datatype)
        if value.direction is not None:
            node[self._keyword("@direction")] = value.direction.value
        return {**node, self._keyword("@value"): value.value}

    def _keyword(self, word: str) -> str:
        """Return the alias of a keyword, or the keyword itself."""
        return self.names.get(word, [word])[0]

    def _id(self, node: Any) -> str:
        if not isinstance(node, ox.NamedNode):
            return str(node)
        return self._compact(node.value) if self.compact_ids else node.value

    def _type_name(self, iri: str) -> str:
        return next(iter(self.names.get(iri, [])), "") or self._name(iri)

    def _name(self, iri: str) -> str:
        """Return a name for an IRI without a term: relative to `@vocab`, or a compact IRI."""
        if isinstance(self.vocabulary, str) and iri.startswith(self.vocabulary):
            local = iri.removeprefix(self.vocabulary)
            if local and ":" not in local and local[0] != "@" and local not in self.definitions:
                return local
        return self._compact(iri)

    def _compact(self, iri: str) -> str:
        for namespace, name in self._prefixes:
            local = iri.removeprefix(namespace)
            short = f"{name}:{local}"
            if local not in ("", iri) and local[:2] != "//" and short not in self.definitions:
                return short
        return iri


def _is_prefix(definition: Any, iri: str) -> bool:
    """Return whether JSON-LD allows a term as the prefix of a compact IRI."""
    if isinstance(definition, dict):
        return definition.get("@prefix") is True
    return not iri.startswith("@") and iri.endswith(_PREFIX_ENDS)
