"""JSON-LD: a check before parsing, the insertion of nodes, and new documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.document import Array, Object, objects_in, parse
from taxoexpan.formats.json.editor import JsonEditor
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
    """Refuse a file with such deep nesting that parsing would need too much memory."""
    bare = np.frombuffer(_STRING.sub(b"", source.text.encode("utf-8")), dtype=np.uint8)
    steps = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    if int(np.cumsum(steps).max(initial=0)) > _MAX_DEPTH:
        message = f"nested more than {_MAX_DEPTH} levels deep"
        raise FormatError(source.path, message, fix="use the flattened form of JSON-LD")


def insert_nodes(source: TextFile, triples: list[ox.Triple]) -> list[Insertion]:
    """Append node objects to the nodes of a file (or its single node), in its context."""
    value = source.parsed(parse)
    context = value.get("@context") if isinstance(value, Object) else None
    known = Context(context)
    graph = value
    # A graph with an id is a named graph.
    keywords = {known.expand(k): v for k, v in value.items()} if isinstance(value, Object) else {}
    if "@id" not in keywords and isinstance(keywords.get("@graph"), Array | Object):
        graph = keywords["@graph"]
    # Next to the root object, its context does not apply.
    nodes = _compact_nodes(source, graph, context if graph is not value else None, triples)
    if isinstance(graph, Array):
        return JsonEditor(source, [graph or value], {"": graph}).append(graph, nodes)
    return JsonEditor(source, [graph], {}).enlist((graph.start, graph.end), nodes)


def write_document(triples: list[ox.Triple], prefixes: Mapping[str, str]) -> str:
    """Return a new document: a context with prefixes, and one object per subject."""
    # A prefix that equals a scheme, such as urn, would change the meaning of whole IRIs.
    terms = [term for each in triples for term in (each.subject, each.predicate, each.object)]
    nodes = [term.datatype if isinstance(term, ox.Literal) else term for term in terms]
    iris = [node.value for node in nodes if isinstance(node, ox.NamedNode)]
    schemes = {iri.partition(":")[0] for iri in (*iris, *prefixes.values())}
    context = {
        name: iri
        for name, iri in prefixes.items()
        if name and name not in schemes and iri.endswith(_PREFIX_ENDS)
    }
    graph = Context(context, compact_ids=True).nodes(triples)
    return json.dumps({"@context": context, "@graph": graph}, ensure_ascii=False, indent=2) + "\n"


def _compact_nodes(
    source: TextFile, graph: Any, context: Any, triples: list[ox.Triple]
) -> list[Node]:
    """Return the shortest nodes that mean exactly these triples in the context."""
    if context is None:
        return Context().nodes(triples)
    known = Context(context)
    expected = set(triples)
    members = (member for node, _ in objects_in(graph) for member in node.items())
    ids = (value for key, value in members if known.expand(key) == "@id")
    first = str(next(ids, ""))
    known.compact_ids = known.expand(first) != first
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
    """The terms of an inline context; without a context, nodes are in the expanded form."""

    def __init__(self, context: Any = None, compact_ids: bool = False) -> None:
        merged: dict[str, Any] = {}
        for part in context if isinstance(context, list) else [context]:
            merged = {**merged, **part} if isinstance(part, dict) else {}
        self.is_given = context is not None
        self.compact_ids = compact_ids
        self.vocabulary = str(merged.get("@vocab") or "")
        self.language = str(merged.get("@language") or "").lower()
        self.definitions: dict[str, dict[str, Any]] = {
            name: definition if isinstance(definition, dict) else {"@id": definition}
            for name, definition in merged.items()
            if name and not name.startswith("@")
        }
        self.names: dict[str, str] = {}
        for name, definition in self.definitions.items():
            if definition.keys() <= _SIMPLE_KEYS and definition.get("@container", "@set") == "@set":
                self.names.setdefault(self.expand(name), name)
        self._prefixes = [
            (iri, name)
            for iri, name in sorted(self.names.items(), reverse=True)
            if iri.endswith(_PREFIX_ENDS) and ":" not in name
        ]

    def expand(self, name: str, steps: int = 0) -> str:
        """Return the IRI or keyword for a name, or "" if there is none."""
        if name.startswith("@"):
            return name
        known = self.definitions.get(name, {}).get("@id", name)
        if not isinstance(known, str) or steps > _MAX_STEPS:
            return ""
        if known != name:
            return self.expand(known, steps + 1)
        prefix, colon, local = name.partition(":")
        if not colon:
            return f"{self.vocabulary}{name}"
        if local.startswith("//") or prefix not in self.definitions:
            return name
        return self.expand(prefix, steps + 1) + local

    def nodes(self, triples: Iterable[ox.Triple]) -> list[Node]:
        """Return one object per subject; several values of a property are a list."""
        nodes = []
        for group in by_subject(triples):
            node: Node = {self._keyword("@id"): self._id(group[0].subject)}
            for triple in group:
                key, value = self._member(triple.predicate.value, triple.object)
                old = node.get(key, [])
                values = [*(old if isinstance(old, list) else [old]), value]
                node[key] = values[0] if self.is_given and len(values) == 1 else values
            nodes.append(node)
        return nodes

    def _member(self, predicate: str, value: Any) -> tuple[str, Any]:
        """Return the key and the value of a statement."""
        if predicate == TYPE and not isinstance(value, ox.Literal):
            named = isinstance(value, ox.NamedNode)
            return self._keyword("@type"), self._name(value.value) if named else str(value)
        return self._name(predicate), self._value(value)

    def _value(self, value: Any) -> Any:
        """Return a string or boolean if the context allows it, or else an object."""
        if not isinstance(value, ox.Literal):
            return {self._keyword("@id"): self._id(value)}
        datatype = value.datatype.value
        language = value.language or ""
        if self.is_given and value.direction is None:
            if datatype == BOOLEAN and value.value in ("true", "false"):
                return value.value == "true"
            if language == self.language and (language or datatype == STRING):
                return value.value
        node = {}
        if language:
            node[self._keyword("@language")] = language
        elif datatype != STRING:
            node[self._keyword("@type")] = self._name(datatype)
        if value.direction is not None:
            node[self._keyword("@direction")] = value.direction.value
        return {**node, self._keyword("@value"): value.value}

    def _keyword(self, word: str) -> str:
        """Return the alias of a keyword, or the keyword itself."""
        return self.names.get(word, word)

    def _id(self, node: Any) -> str:
        if not isinstance(node, ox.NamedNode):
            return str(node)
        return self._compact(node.value) if self.compact_ids else node.value

    def _name(self, iri: str) -> str:
        """Return a term for an IRI, a name relative to `@vocab`, or a compact IRI."""
        local = iri.removeprefix(self.vocabulary)
        is_plain = local not in ("", iri, *self.definitions) and not set(":@") & set(local)
        return self.names.get(iri) or (local if is_plain else self._compact(iri))

    def _compact(self, iri: str) -> str:
        """Return an IRI with the prefix of its longest namespace, or else in full."""
        for namespace, name in self._prefixes:
            local = iri.removeprefix(namespace)
            if local not in ("", iri) and not local.startswith("//"):
                return f"{name}:{local}"
        return iri
