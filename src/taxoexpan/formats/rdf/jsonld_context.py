"""The context of a JSON-LD file: its terms, and node objects that use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyoxigraph as ox

from taxoexpan.formats.rdf.vocabulary import BOOLEAN, STRING, TYPE, by_subject

Node = dict[str, Any]

PREFIX_ENDS = tuple(":/?#[]@")
"""JSON-LD allows an IRI as a prefix only if it ends in one of these characters."""
_SIMPLE_KEYS = {"@id", "@type", "@language", "@container", "@prefix", "@protected"}
_MAX_STEPS = 20
"""How many terms may be defined by each other before an IRI is written in full."""


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

    def keyword(self, word: str) -> str:
        """Return the alias of a keyword, or the keyword itself."""
        return self.names.get(word, [word])[0]

    def is_compact(self, id: object) -> bool:
        """Return whether an id has a prefix of the context."""
        prefix, _, local = str(id).partition(":")
        return bool(local) and not local.startswith("//") and prefix in self.definitions

    def nodes(self, triples: Iterable[ox.Triple]) -> list[Node]:
        """Return one object per subject."""
        nodes = []
        for group in by_subject(triples):
            node = {self.keyword("@id"): self._id(group[0].subject)}
            for triple in group:
                self._add_value(node, triple.predicate.value, triple.object)
            nodes.append(node)
        return nodes

    def _add_value(self, node: Node, predicate: str, value: Any) -> None:
        """Add a value to a node, under the first term that allows a short form."""
        if predicate == TYPE and not isinstance(value, ox.Literal):
            name = self.keyword("@type")
            type_name = self._type_name(value.value) if _is_iri_node(value) else str(value)
            return self._append(node, name, type_name)
        terms = []
        for name in self.names.get(predicate, []):
            containers = self._containers(name) - {"@set"}
            if containers == {"@language"} and _is_undirected(value) and value.language:
                return self._append(node.setdefault(name, {}), value.language, value.value, name)
            if not containers:
                terms.append(name)
        for name in terms:
            if (short := self._short_value(self.definitions[name], value)) is not None:
                return self._append(node, name, short)
        if terms:
            return self._append(node, terms[0], self._full_value(value))
        short = self._short_value({}, value)
        full = self._full_value(value) if short is None else short
        return self._append(node, self._name(predicate), full)

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

    def _short_value(self, definition: Mapping[str, Any], value: Any) -> str | bool | None:
        """Return a value as a string or boolean under a term, or None if that is not possible."""
        kind = definition.get("@type")
        if not self.is_given:
            return None
        if not isinstance(value, ox.Literal):
            return self._id(value) if kind in ("@id", "@vocab") else None
        if not _is_undirected(value):
            return None
        if kind is not None:
            same = not value.language and self.expand(str(kind)) == value.datatype.value
            return value.value if same else None
        language = definition.get("@language", self.language)
        if value.language:
            return value.value if str(language).lower() == value.language.lower() else None
        if value.datatype.value == BOOLEAN and value.value in ("true", "false"):
            return value.value == "true"
        return value.value if value.datatype.value == STRING and not language else None

    def _full_value(self, value: Any) -> Node:
        """Return a value as an object, which means the same under every term."""
        if not isinstance(value, ox.Literal):
            return {self.keyword("@id"): self._id(value)}
        node = {}
        if value.language:
            node[self.keyword("@language")] = value.language
        elif value.datatype.value != STRING:
            node[self.keyword("@type")] = self._type_name(value.datatype.value)
        if value.direction is not None:
            node[self.keyword("@direction")] = value.direction.value
        return {**node, self.keyword("@value"): value.value}

    def _id(self, node: Any) -> str:
        if not _is_iri_node(node):
            return str(node)
        return self._compact(node.value) if self.compact_ids else str(node.value)

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
    return not iri.startswith("@") and iri.endswith(PREFIX_ENDS)


def _is_iri_node(node: object) -> bool:
    return isinstance(node, ox.NamedNode)


def _is_undirected(value: object) -> bool:
    return isinstance(value, ox.Literal) and value.direction is None
