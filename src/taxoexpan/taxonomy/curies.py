"""Short and long forms of ids: CURIEs such as `SO:0000110`, and IRIs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

OBO_BASE = "http://purl.obolibrary.org/obo/"
"""The namespace of all OBO ontologies: `SO:0000110` is `SO_0000110` there."""

_CURIE = re.compile(r"(?P<prefix>[A-Za-z_][\w.-]*):(?P<local>(?!//)\S+)")
_OBO_IRI = re.compile(r"https?://purl\.obolibrary\.org/obo/(?P<prefix>[A-Za-z]+)_(?P<local>\w+)")
_LOCAL_NAME = re.compile(r"\w(?:[\w.-]*\w)?")


def is_long(id: str) -> bool:
    """Return whether an id is a web IRI or a URN, and not a CURIE or a plain string."""
    return "://" in id or id.startswith("urn:")


@dataclass(frozen=True)
class Prefixes:
    """The namespaces of the declared prefixes; other prefixes are expanded as in OBO."""

    namespaces: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, others: Prefixes) -> Prefixes:
        """Return these prefixes, and the missing prefixes from `others`."""
        return Prefixes({**others.namespaces, **self.namespaces})

    def expand(self, id: str) -> str:
        """Expand a CURIE to an IRI; other ids do not change."""
        obo = _OBO_IRI.fullmatch(id)
        if obo:
            return f"{OBO_BASE}{obo['prefix']}_{obo['local']}"  # http and https are the same
        curie = None if is_long(id) else _CURIE.fullmatch(id)
        if curie is None:
            return id
        namespace = self.namespaces.get(curie["prefix"])
        return namespace + curie["local"] if namespace else obo_iri(curie["prefix"], curie["local"])

    def compact(self, id: str) -> str | None:
        """Shorten an IRI to a CURIE, or return None if no prefix fits; a CURIE does not change."""
        if not is_long(id):
            return id if _CURIE.fullmatch(id) else None
        for namespace, prefix in self._longest_first:
            if id.startswith(namespace) and _LOCAL_NAME.fullmatch(id, len(namespace)):
                return f"{prefix}:{id.removeprefix(namespace)}"
        obo = _OBO_IRI.fullmatch(id)
        return f"{obo['prefix']}:{obo['local']}" if obo else None

    def namespace_of(self, prefix: str) -> str:
        """Return the namespace of a prefix."""
        return self.namespaces.get(prefix) or obo_iri(prefix, "")

    @cached_property
    def _longest_first(self) -> list[tuple[str, str]]:
        named = [(iri, prefix) for prefix, iri in self.namespaces.items() if prefix and iri]
        return sorted(named, key=lambda pair: (-len(pair[0]), pair[1]))


def obo_iri(prefix: str, local: str) -> str:
    """Return the IRI of an OBO id."""
    return f"{OBO_BASE}{prefix}_{local}"
