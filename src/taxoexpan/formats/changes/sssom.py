"""Concept mappings as SSSOM/TSV (https://mapping-commons.github.io/sssom/spec-formats-tsv/)."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import compress, count
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from taxoexpan.formats.format import DEFAULT_BASE
from taxoexpan.taxonomy.curies import Prefixes, is_long
from taxoexpan.taxonomy.difference import Comparison, Difference
from taxoexpan.taxonomy.mappings import ConceptMapping, Justification

SSSOM_COLUMNS = (
    *("subject_id", "subject_label", "predicate_id", "object_id", "object_label"),
    *("mapping_justification", "subject_type", "confidence"),
)
_OPTIONAL = frozenset({"subject_type", "confidence"})
_EXACT = "skos:exactMatch"
_LITERAL = "rdfs literal"
"""The type of a subject that is a name without an id."""
_SET_ID = "https://w3id.org/sssom/mappings/"
_NO_LICENSE = "https://w3id.org/sssom/license/unspecified"
_BUILT_IN = frozenset({"linkml", "owl", "rdf", "rdfs", "semapv", "skos", "sssom", "xsd"})
_SPLIT_IRI = re.compile(r"(?P<namespace>.*[/#:])(?P<local>[^/#:]+[/#]?)")
_NOT_IN_CURIE = re.compile(r"[^A-Za-z0-9_%.~!$&*+,;=@()/#-]")
_PLAIN = re.compile(r"(?!.*: )[A-Za-z][\w./#:%~?&=+-]*[\w/#]")


def comparison_mappings(comparison: Comparison) -> list[ConceptMapping]:
    """Return the concepts with a changed id, and the merged concepts.

    A removed concept was merged if its label is a new name of another concept.
    """
    pairs = [(old_id, new_id) for old_id, new_id, _ in comparison.by_name]
    new_ids = {old_id: new_id for new_id, (old_id, _) in comparison.matches.items()}
    owners = _new_names(comparison.difference)
    for concept in comparison.difference.removed:
        owner = owners.get(concept.label)
        if owner is not None:
            pairs.append((concept.id, new_ids.get(owner, owner)))
    old = comparison.old
    new = comparison.new
    lexical = Justification.LEXICAL
    return [
        ConceptMapping(one, old.concept(one).label, other, new.concept(other).label, lexical)
        for one, other in pairs
    ]


def _new_names(difference: Difference) -> dict[str, str]:
    """Return the id of the concept for each name that the concept did not have before."""
    names = {name: concept.id for concept in difference.added for name in concept.synonyms}
    for change in difference.changed:
        known = {change.old.label, *change.old.synonyms}
        for name in (change.new.label, *change.new.synonyms):
            if name not in known:
                names[name] = change.new.id
    return names


def sssom_table(
    mappings: Sequence[ConceptMapping], prefixes: Prefixes, tool_version: str, day: date
) -> str:
    """Return the mappings as SSSOM/TSV, with the metadata as comments above the table."""
    curies = _Curies(prefixes)
    rows = [
        (
            curies.curie(each.subject_id) if each.subject_id else "",
            " ".join(each.subject_label.split()),
            _EXACT,
            curies.curie(each.object_id),
            " ".join(each.object_label.split()),
            each.justification.value,
            "" if each.subject_id else _LITERAL,
            "" if each.confidence is None else f"{each.confidence:.4g}",
        )
        for each in mappings
    ]
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(SSSOM_COLUMNS)
    used = [name not in _OPTIONAL or any(c) for name, c in zip(SSSOM_COLUMNS, columns, strict=True)]
    text = io.StringIO()
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerows([*compress(row, used)] for row in (SSSOM_COLUMNS, *rows))
    return _header(curies.declared, text.getvalue(), tool_version, day) + text.getvalue()


def _header(declared: dict[str, str], table: str, tool_version: str, day: date) -> str:
    """Return the metadata; equal tables get the same id."""
    lines = ["curie_map:"] if declared else []
    for prefix, iri in sorted(declared.items()):
        lines.append(f"  {prefix}: {iri if _PLAIN.fullmatch(iri) else json.dumps(iri)}")
    lines += [
        f"mapping_set_id: {_SET_ID}{uuid5(NAMESPACE_URL, table)}",
        f"license: {_NO_LICENSE}",
        "mapping_tool: taxoexpan",
        f"mapping_tool_version: {json.dumps(tool_version)}",
        f"mapping_date: {json.dumps(day.isoformat())}",
    ]
    return "".join(f"#{line}\n" for line in lines)


@dataclass
class _Curies:
    """A writer of ids as CURIEs, which collects the prefixes to declare."""

    prefixes: Prefixes
    declared: dict[str, str] = field(default_factory=dict)

    def curie(self, id: str) -> str:
        """Return an id as a CURIE; a namespace without a prefix gets a new prefix."""
        short = self.prefixes.compact(id)
        if short is not None:
            prefix, _, local = short.partition(":")
            namespace = self.prefixes.namespace_of(prefix)
            if prefix not in _BUILT_IN:
                self.declared[prefix] = namespace
            return f"{prefix}:{_local(local)}"
        split = _SPLIT_IRI.fullmatch(id) if is_long(id) else None
        namespace, local = split.groups() if split else (DEFAULT_BASE, quote(id, safe=""))
        return f"{self._prefix_of(namespace)}:{_local(local)}"

    def _prefix_of(self, namespace: str) -> str:
        """Return the prefix of a namespace; a new prefix differs from all prefixes of the file."""
        for prefix, iri in self.declared.items():
            if iri == namespace:
                return prefix
        taken = {*self.declared, *self.prefixes.namespaces}
        stem = "id" if namespace == DEFAULT_BASE else "ns"
        names = (f"{stem}{number if number > 1 else ''}" for number in count(1))
        prefix = next(name for name in names if name not in taken)
        self.declared[prefix] = namespace
        return prefix


def _local(name: str) -> str:
    """Encode the characters that CURIEs do not allow."""
    return _NOT_IN_CURIE.sub(lambda found: quote(found[0], safe=""), name)
