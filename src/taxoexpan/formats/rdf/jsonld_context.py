"""JSON-LD's context: what it calls things, and how statements are said in its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyoxigraph as ox

from taxoexpan.formats.rdf.vocabulary import BOOLEAN, STRING, TYPE

Node = dict[str, Any]

ENDS_OF_PREFIXES = tuple(":/?#[]@")
_PLAIN_KEYS = {"@id", "@type", "@language", "@container", "@prefix", "@protected"}
_MOST_STEPS = 20
"""How many names may stand for each other before we write what they mean in full."""


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
    return not iri.startswith("@") and iri.endswith(ENDS_OF_PREFIXES)


def _named(node: object) -> bool:
    return isinstance(node, ox.NamedNode)


def _is_plain(value: object) -> bool:
    return isinstance(value, ox.Literal) and value.direction is None
