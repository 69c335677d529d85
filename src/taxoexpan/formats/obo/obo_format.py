"""The OBO format: `[Term]` stanzas with an id, a name, a definition, synonyms and `is_a` lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, clean_ids, inherited
from taxoexpan.formats.obo.stanzas import (
    TAGS,
    Clause,
    Stanza,
    format_id,
    format_stanza,
    format_synonym,
    label_comment,
    parse_id,
    parse_quoted,
    parse_stanzas,
    parse_unquoted,
)
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy
from taxoexpan.taxonomy.curies import OBO_BASE, Prefixes, is_long
from taxoexpan.taxonomy.ids import slug

_START = re.compile(r"(?:\s*+(?:![^\n]*+\n)?)*+(?:\[\w+\]\s*$|[\w-]+:(?!//))", re.MULTILINE)
_TERM = re.compile(r"^\[Term\]\s*$", re.MULTILINE)
_BEFORE_SYNONYMS = frozenset(
    {"id", "is_anonymous", "name", "namespace", "alt_id", "def", "comment", "subset", "synonym"}
)
"""The clauses that precede new synonyms in a stanza of OBO 1.4."""
_CLAUSE = re.compile(r"^([\w-]+):", re.MULTILINE)
_ID_SPACE = re.compile(r"^idspace:\s*(\S+)\s+(\S+)", re.MULTILINE)
_OTHER_ID = re.compile(r"^(?:alt_id|consider|replaced_by|id):\s*(\S+)", re.MULTILINE)
_SCOPE = re.compile(r'^synonym:.*" (?:BROAD|NARROW|RELATED)\b', re.MULTILINE)
_REFERENCES = re.compile(r"^(?:def|synonym):.*\[[^\]\s]", re.MULTILINE)
_STANZA = re.compile(r"^\[(\w+)\]", re.MULTILINE)
_PARENT_LABEL = re.compile(r"\s*is_a:\s*+\S++\s*+(?:\{.*\}\s*+)?!(.*)")


class OboFormat(Format):
    """Files of stanzas in OBO 1.2 or 1.4."""

    base = OBO_BASE

    def can_read(self, source: TextFile) -> bool:
        """Return whether the suffix is .obo, or the text starts like OBO."""
        if not source.text:
            return False
        if source.suffix in self.suffixes or source.text.startswith("format-version:"):
            return True
        start = source.text[:20_000]
        return _START.match(start) is not None and _TERM.search(start) is not None

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every [Term] as a concept, and every `is_a` parent that has no stanza of its own.

        OBO allows several stanzas for one term, but they must not contradict each other.
        """
        builder, rows = TaxonomyBuilder(source.path), dict[str, int]()
        lines: list[int] = []
        relation_lines: list[int] = []
        synonyms: dict[int, list[str]] = {}
        for stanza in source.parsed(parse_stanzas):
            row = rows.setdefault(stanza.id, len(rows))
            if row == len(builder.ids):
                builder.ids.append(stanza.id)
                builder.labels.append("")
                lines.append(stanza.line)
            for clause in stanza.clauses:
                if clause.tag == "is_a":
                    builder.parents.append(parse_id(source, clause))
                    builder.children.append(stanza.id)
                    relation_lines.append(clause.line)
                elif clause.tag == "synonym":
                    synonyms.setdefault(row, []).append(parse_quoted(source, clause))
                else:
                    _describe(source, builder, row, clause)
        builder.lines, builder.relation_lines = lines, relation_lines
        builder.synonyms = {row: tuple(filter(None, names)) for row, names in synonyms.items()}
        _add_missing_parents(source, builder, lines)
        builder.ignored.update(_count_ignored(source))
        builder.reserved = set(_OTHER_ID.findall(source.text))
        builder.prefixes = dict(_ID_SPACE.findall(source.text))
        builder.labels = [
            label or id for label, id in zip(builder.labels, builder.ids, strict=True)
        ]
        return builder.finish()

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add a stanza for each new concept after the last [Term], in the namespace of its parent.

        A move replaces the value of an `is_a` line; a synonym of an existing concept is a new line.
        """
        stanzas = source.parsed(parse_stanzas)
        insertions = [
            *_move_children(source, stanzas, expanded, additions.moves),
            *_add_synonyms(source, stanzas, additions.names),
        ]
        known = {
            stanza.id: clause.value.split()[:1]
            for stanza in reversed(stanzas)
            for clause in stanza.clauses
            if clause.tag == "namespace"
        }
        namespaces, provenance = inherited(known, expanded, additions), additions.provenance
        added = []
        for concept in additions.concepts:
            parents, namespace = expanded.parents(concept.id), "".join(namespaces[concept.id])
            added.append(format_stanza(concept, expanded, parents, namespace, provenance))
        # A parent without a stanza of its own needs one for its synonyms.
        described = {stanza.id for stanza in stanzas}
        for id in additions.names:
            if id not in described:
                added.append(format_stanza(expanded.concept(id), expanded, []))
        if added:
            insertions.append(_insert_stanzas(source, stanzas[-1], added))
        return {source.path: insertions}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new file; OBO forbids parents of obsolete terms, so they are left out."""
        ids = clean_ids(taxonomy, _obo_id)
        taxonomy = Taxonomy(
            [replace(concept, id=ids[concept.id]) for concept in taxonomy.concepts],
            [(ids[parent], ids[child]) for parent, child in taxonomy.relations],
        )
        parts = [f"format-version: 1.4\nontology: {slug(target.path.stem)}\n"]
        for concept in taxonomy.concepts:
            parents = () if concept.deprecated else taxonomy.parents(concept.id)
            lines = format_stanza(concept, taxonomy, parents)
            parts.append("".join(f"{line}\n" for line in lines))
        return Copy({target.path: "\n".join(parts)}, ids)

    def index_properties(self, source: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
        """Return which tags the terms of a file have."""
        index = PropertyIndex(set(taxonomy))
        for stanza in source.parsed(parse_stanzas):
            lines = source.lines[stanza.line : stanza.last_line]
            index.add(stanza.id, {line.lstrip().partition(":")[0] for line in lines if ":" in line})
        return index.leave_out(["id", "is_a", "is_obsolete"])


def _obo_id(id: str) -> str:
    """Return the OBO id of an IRI of an OBO ontology; other ids stay as they are."""
    short = Prefixes().compact(id) if is_long(id) else None
    return short if short and Prefixes().expand(short) == id else id


def _describe(source: TextFile, builder: TaxonomyBuilder, row: int, clause: Clause) -> None:
    """Add the value of a clause to the concept in this row."""
    if clause.tag == "name":
        label = parse_unquoted(source, clause)
        builder.labels[row] = _single(source, clause, builder.labels[row], label)
    elif clause.tag == "def":
        old = builder.definitions.get(row, "")
        definition = _single(source, clause, old, parse_quoted(source, clause))
        if definition:
            builder.definitions[row] = definition
    elif clause.tag == "is_obsolete":
        value = parse_unquoted(source, clause)
        if value not in ("true", "false"):
            message = f"is_obsolete is {value[:80]!r}; write true or false"
            raise FormatError(source.path, message, clause.line)
        if value == "true":
            builder.deprecated.append(row)


def _single(source: TextFile, clause: Clause, old: str, new: str) -> str:
    """Return the value of a clause that a term may have only once."""
    if old and new and old != new:
        message = f"a second {clause.tag} for the same id, which already has {old[:80]!r}"
        remedy = "remove one of them, or change one of the ids"
        raise FormatError(source.path, f"{message}; {remedy}", clause.line)
    return old or new


def _add_missing_parents(source: TextFile, builder: TaxonomyBuilder, lines: list[int]) -> None:
    """Add parents from other files, with the label in the comment after their id."""
    known = set(builder.ids)
    for parent, line in zip(builder.parents, builder.relation_lines, strict=True):
        if parent not in known:
            known.add(parent)
            label = _PARENT_LABEL.match(source.lines[line - 1])
            builder.ids.append(parent)
            builder.labels.append(label[1].strip() if label else "")
            lines.append(line)
            message = f"{parent!r} has no stanza; it is added as a concept"
            builder.notes.append(Note(line, message, id=parent))


def _count_ignored(source: TextFile) -> dict[str, int]:
    """Count the clauses and stanzas that are not part of a taxonomy."""
    first = _TERM.search(source.text)
    body_start = first.start() if first else 0
    header, body = source.text[:body_start], source.text[body_start:]
    clauses = Counter(_CLAUSE.findall(body))
    stanzas = Counter(f"[{name}]" for name in _STANZA.findall(body))
    used = (TAGS - {"namespace"}) | {"[Term]"}
    counts = {name: count for name, count in (clauses + stanzas).items() if name not in used}
    counts["header lines"] = len(set(_CLAUSE.findall(header)) - {"format-version"})
    counts["scopes of synonyms"] = len(_SCOPE.findall(body))
    counts["references of texts"] = len(_REFERENCES.findall(body))
    return {name: count for name, count in counts.items() if count}


def _move_children(
    source: TextFile, stanzas: Sequence[Stanza], expanded: Taxonomy, moves: Sequence[Move]
) -> Iterator[Insertion]:
    """Replace the old parent in `is_a` lines, with its qualifiers and its label."""
    new_parents = {(move.old_parent, move.child): move.new_parent for move in moves}
    for stanza in stanzas if new_parents else ():
        for clause in stanza.clauses:
            if clause.tag != "is_a":
                continue
            new = new_parents.get((parse_id(source, clause), stanza.id))
            if new is not None:
                line, value = source.lines[clause.line - 1], clause.value
                offset = source.starts[clause.line - 1] + len(line) - len(value)
                comment = label_comment(expanded, new) if "!" in value else ""
                yield Insertion(offset, format_id(new) + comment, value.rstrip())


def _add_synonyms(
    source: TextFile, stanzas: Sequence[Stanza], names: Mapping[str, Sequence[str]]
) -> Iterator[Insertion]:
    """Add synonym lines to the first stanza of each concept, at the position for synonyms."""
    first = {stanza.id: stanza for stanza in reversed(stanzas) if stanza.id in names}
    for id, stanza in first.items():
        numbers = range(stanza.line, stanza.last_line + 1)
        tags = {n: source.lines[n - 1].lstrip().partition(":")[0] for n in numbers}
        last = max(number for number, tag in tags.items() if tag in _BEFORE_SYNONYMS)
        lines = [f"{format_synonym(name)}{source.newline}" for name in names[id]]
        offset = source.starts[last]
        start = "" if offset <= len(source.text) else source.newline
        yield Insertion(min(offset, len(source.text)), start + "".join(lines))


def _insert_stanzas(source: TextFile, last: Stanza, stanzas: Sequence[Sequence[str]]) -> Insertion:
    """Insert stanzas after the last [Term], with a blank line between stanzas."""
    end = source.starts[last.last_line]
    before, after = source.text[:end], source.text[end:]
    newline = source.newline
    parts = ["" if before.endswith("\n") else newline]
    parts += [newline + "".join(line + newline for line in lines) for lines in stanzas]
    parts += [newline] if after and after.split("\n")[0].strip() else []
    return Insertion(len(before), "".join(parts))
