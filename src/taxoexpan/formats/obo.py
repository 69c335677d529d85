"""The OBO format: `[Term]` stanzas with an id, a name, a definition, synonyms and `is_a` lines.

Other content is not parsed, so it cannot make a file unreadable. Imports are never fetched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import NamedTuple

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, clean_ids, inherited
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.curies import OBO_BASE, Prefixes, is_long
from taxoexpan.taxonomy.difference import with_other_ids
from taxoexpan.taxonomy.ids import slug

_HEAD = re.compile(r"\[(\w+)\]\s*(?:!.*)?")
_QUALIFIER = r'\s*+[^\s={}"]++\s*+=\s*+"(?:[^"\\]|\\.)*+"\s*+'
_END = rf"(?:\{{{_QUALIFIER}(?:,{_QUALIFIER})*+\}}\s*+)?(?:!.*)?"
"""Qualifiers such as `{source="me"}`, and a comment."""
_ID = re.compile(rf"((?:[^\s\\{{!]|\\.)++)\s*+{_END}")
_TEXT = re.compile(rf"((?:[^\\{{!]|\\.)*+){_END}")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)".*')
_VALUES = {
    **dict.fromkeys(("id", "is_a"), _ID),
    **dict.fromkeys(("name", "namespace", "is_obsolete"), _TEXT),
    **dict.fromkeys(("def", "synonym"), _QUOTED),
}
"""The values of the clauses that make up a taxonomy."""
_IN_IRI = r"(?:[\w/?.~:@&=+,;$()*'-]|%[0-9A-Fa-f]{2})*+"
_PLAIN_ID = re.compile(rf'(?!\w+:/)[^\s\\{{}}!"]+|\w+:{_IN_IRI}(?:#{_IN_IRI})?')
_ESCAPE = re.compile(r"\\(.)")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_LETTERS = {control: letter for letter, control in _CONTROLS.items()}
NOTHING_ADDED = Additions((), ())
_SPECIAL_IN_ID = re.compile(r'[\s\\!{}":]')
_SPECIAL_IN_TEXT = re.compile(r'[\\!{}"\n\r\f]')
_SPECIAL_IN_QUOTES = re.compile(r'[\\"\n\r\f]')
_START = re.compile(r"(?:\s*+(?:![^\n]*+\n)?)*+(?:\[\w+\]\s*$|[\w-]+:(?!//))", re.MULTILINE)
_TERM = re.compile(r"^\[Term\]\s*$", re.MULTILINE)
_BEFORE_SYNONYMS = frozenset(
    {"id", "is_anonymous", "name", "namespace", "alt_id", "def", "comment", "subset", "synonym"}
)
"""The clauses that precede new synonyms in a stanza of OBO 1.4."""
_CLAUSE = re.compile(r"^([\w-]+):", re.MULTILINE)
_ID_SPACE = re.compile(r"^idspace:\s*(\S+)\s+(\S+)", re.MULTILINE)
_OTHER_ID = re.compile(r"^(?:alt_id|consider|replaced_by|id):\s*(\S+)", re.MULTILINE)
_RELATIONSHIP = re.compile(r"^[ \t]*relationship:[ \t]*(\S+)[ \t]+(\S+)", re.MULTILINE)
_SCOPE = re.compile(r'^synonym:.*" (?:BROAD|NARROW|RELATED)\b', re.MULTILINE)
_REFERENCES = re.compile(r"^(?:def|synonym):.*\[[^\]\s]", re.MULTILINE)
_STANZA = re.compile(r"^\[(\w+)\]", re.MULTILINE)
_PARENT_LABEL = re.compile(r"\s*is_a:\s*+\S++\s*+(?:\{.*\}\s*+)?!(.*)")


class OboFormat(Format):
    """Files of stanzas in OBO 1.2 or 1.4."""

    base = OBO_BASE

    def can_read(self, source: TextFile) -> bool:
        """Return whether the suffix is .obo or the content starts like OBO."""
        if not source.text:
            return False
        if source.suffix in self.suffixes or source.text.startswith("format-version:"):
            return True
        start = source.text[:20_000]
        return _START.match(start) is not None and _TERM.search(start) is not None

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every [Term] as a concept, and also every `is_a` parent without a stanza.

        Several stanzas for one term are allowed, but must not contradict each other.
        """
        builder = TaxonomyBuilder(source.path)
        rows = dict[str, int]()
        for stanza in source.parsed(parse_stanzas):
            row = rows.setdefault(stanza.id, len(rows))
            if row == len(builder.ids):
                builder.add(stanza.id, "", stanza.line)
            for clause in stanza.clauses:
                if clause.tag == "is_a":
                    builder.relate(_value(source, clause), stanza.id, clause.line)
                elif clause.tag not in ("id", "namespace"):
                    _describe(source, builder, row, clause)
        _add_missing_parents(source, builder)
        _note_relationships(source, builder)
        builder.ignored.update(_count_ignored(source))
        builder.reserved = set(_OTHER_ID.findall(source.text))
        builder.prefixes = dict(_ID_SPACE.findall(source.text))
        builder.labels = [
            label or id for label, id in zip(builder.labels, builder.ids, strict=True)
        ]
        return builder.finish()

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add a stanza per new concept after the last [Term], in the namespace of its parent."""
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
        namespaces = inherited(known, expanded, additions)
        added = []
        for concept in additions.concepts:
            parents = expanded.parents(concept.id)
            namespace = "".join(namespaces[concept.id])
            added.append(_format_stanza(concept, expanded, parents, namespace, additions))
        # A parent without a stanza of its own needs one for its synonyms.
        described = {stanza.id for stanza in stanzas}
        missing = [expanded.concept(id) for id in additions.names if id not in described]
        added += [_format_stanza(concept, expanded, []) for concept in missing]
        if added:
            end = source.starts[stanzas[-1].last_line]
            lines = [line for stanza in added for line in ("", *stanza)]
            is_followed = source.text[end:].partition("\n")[0].strip() != ""
            insertions.append(source.insert_lines(end, [*lines, *[""] * is_followed]))
        return {source.path: insertions}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new file; obsolete terms get no parents, because OBO forbids them."""
        ids = clean_ids(taxonomy, _obo_id)
        taxonomy = with_other_ids(taxonomy, ids)
        parts = [f"format-version: 1.4\nontology: {slug(target.path.stem)}\n"]
        for concept in taxonomy.concepts:
            parents = () if concept.deprecated else taxonomy.parents(concept.id)
            lines = _format_stanza(concept, taxonomy, parents)
            parts.append("".join(f"{line}\n" for line in lines))
        return Copy({target.path: "\n".join(parts)}, ids)


def _obo_id(id: str) -> str:
    """Return the OBO id for an IRI of an OBO ontology, or any other id unchanged."""
    short = Prefixes().compact(id) if is_long(id) else None
    return short if short and Prefixes().expand(short) == id else id


def _describe(source: TextFile, builder: TaxonomyBuilder, row: int, clause: Clause) -> None:
    """Add the value of a clause to the concept in this row."""
    value = _value(source, clause)
    tag = clause.tag
    message = ""
    if tag == "synonym":
        builder.synonyms[row] = (*builder.synonyms.get(row, ()), *([value] if value else []))
    elif tag == "is_obsolete":
        builder.deprecated += [row] * (value == "true")
        if value not in ("true", "false"):
            message = f"is_obsolete is {value[:80]!r}; write true or false"
    elif value:
        texts = builder.labels if tag == "name" else builder.definitions
        old = builder.labels[row] if tag == "name" else builder.definitions.get(row, "")
        if old and old != value:
            message = f"a second {tag} for the same id, which already has {old[:80]!r}"
            message += "; remove one of them, or change one of the ids"
        texts[row] = value
    if message:
        raise FormatError(source.path, message, line=clause.line)


def _add_missing_parents(source: TextFile, builder: TaxonomyBuilder) -> None:
    """Add the parents from other files, with the label in the comment after their id."""
    known = set(builder.ids)
    for parent, line in zip(builder.parents, builder.relation_lines, strict=True):
        if parent not in known:
            known.add(parent)
            label = _PARENT_LABEL.match(source.lines[line - 1])
            builder.add(parent, label[1].strip() if label else "", line)
            builder.note(line, f"{parent!r} has no stanza; it is added as a concept", parent)


def _note_relationships(source: TextFile, builder: TaxonomyBuilder) -> None:
    """Note the types of relationships, if they relate terms that have no `is_a`."""
    placed = {*builder.children}
    known = {*builder.ids}
    found = Counter[str]()
    first = 0
    for stanza in source.parsed(parse_stanzas):
        if stanza.id not in placed:
            text = "\n".join(source.lines[stanza.line : stanza.last_line])
            types = [type for type, other in _RELATIONSHIP.findall(text) if other in known]
            found.update(types)
            first = first or (stanza.line if types else 0)
    if found:
        listed = join_words([f"{type} ({count:,})" for type, count in found.items()])
        message = f"terms without is_a have the relationships {listed}, which are not read"
        builder.note(first, f"{message}; write is_a if they are their parents")


def _count_ignored(source: TextFile) -> dict[str, int]:
    """Count the clauses and stanzas that are not part of a taxonomy."""
    first = _TERM.search(source.text)
    body_start = first.start() if first else 0
    header = source.text[:body_start]
    body = source.text[body_start:]
    clauses = Counter(_CLAUSE.findall(body))
    stanzas = Counter(f"[{name}]" for name in _STANZA.findall(body))
    used = (_VALUES.keys() - {"namespace"}) | {"[Term]"}
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
            is_parent = clause.tag == "is_a"
            new = new_parents.get((_value(source, clause), stanza.id)) if is_parent else None
            if new is not None:
                line = source.lines[clause.line - 1]
                value = clause.value
                offset = source.starts[clause.line - 1] + len(line) - len(value)
                comment = _label_comment(expanded, new) if "!" in value else ""
                yield Insertion(offset, _format_id(new) + comment, value.rstrip())


def _add_synonyms(
    source: TextFile, stanzas: Sequence[Stanza], names: Mapping[str, Sequence[str]]
) -> Iterator[Insertion]:
    """Add synonym lines to the first stanza of each concept, at the position for synonyms."""
    first = {stanza.id: stanza for stanza in reversed(stanzas) if stanza.id in names}
    for id, stanza in first.items():
        numbers = range(stanza.line, stanza.last_line + 1)
        tags = {n: source.lines[n - 1].lstrip().partition(":")[0] for n in numbers}
        last = max(number for number, tag in tags.items() if tag in _BEFORE_SYNONYMS)
        yield source.insert_lines(source.starts[last], map(_format_synonym, names[id]))


class Clause(NamedTuple):
    """One `tag: value` line with an unparsed value."""

    line: int
    tag: str
    value: str


@dataclass
class Stanza:
    """One [Term] with its clauses, its first line, and its last line with content."""

    line: int
    last_line: int
    clauses: list[Clause] = field(default_factory=list)
    id: str = ""


def parse_stanzas(source: TextFile) -> list[Stanza]:
    """Return every [Term] with its id and the clauses of a taxonomy."""
    stanzas = list(_split_stanzas(source))
    for stanza in stanzas:
        ids = [clause for clause in stanza.clauses if clause.tag == "id"]
        if len(ids) != 1:
            message = f"a [Term] with {len(ids) or 'no'} id lines"
            raise FormatError(
                source.path,
                message,
                fix="it needs one line 'id: …'",
                line=ids[1].line if ids else stanza.line,
            )
        stanza.id = _value(source, ids[0])
    return stanzas


def _split_stanzas(source: TextFile) -> Iterator[Stanza]:
    stanza = None
    for number, line in enumerate(source.lines, start=1):
        content = line.lstrip()
        if content.startswith("["):
            if stanza is not None:
                yield stanza
            head = _HEAD.fullmatch(content)
            if head is None:
                message = f"{content[:80]!r} is not the start of a stanza"
                raise FormatError(source.path, message, fix="write [Term]", line=number)
            stanza = Stanza(number, number) if head[1] == "Term" else None
        elif stanza is not None and content and not content.startswith("!"):
            stanza.last_line = number
            tag, _, value = content.partition(":")
            if tag in _VALUES:
                stanza.clauses.append(Clause(number, tag, value.lstrip()))
    if stanza is not None:
        yield stanza


def _value(source: TextFile, clause: Clause) -> str:
    """Return the unescaped value of a clause, without scope, references and comment."""
    match = _VALUES[clause.tag].fullmatch(clause.value)
    if match is None:
        message = f"{clause.tag}: {clause.value[:80]!r} is not valid OBO"
        remedy = r"write \ before { } ! \ in a text, and before a space in an id"
        remedy += "; begin a def or synonym with a text in double quotes"
        raise FormatError(source.path, message, fix=remedy, line=clause.line)
    value = _ESCAPE.sub(lambda escape: _CONTROLS.get(escape[1], escape[1]), match[1])
    if clause.tag not in ("id", "is_a"):
        return value.strip()
    if not value.strip():
        raise FormatError(
            source.path, "the id is blank", fix="give the term an id", line=clause.line
        )
    return value


def _escaped(text: str, special: re.Pattern[str]) -> str:
    """Return a string with a backslash before special characters; line breaks become letters."""
    return special.sub(lambda match: "\\" + _LETTERS.get(match[0], match[0]), text)


def _format_stanza(
    concept: Concept,
    taxonomy: Taxonomy,
    parents: Sequence[str],
    namespace: str = "",
    additions: Additions = NOTHING_ADDED,
) -> list[str]:
    """Return the lines of a stanza, in the order that OBO 1.4 prescribes."""
    lines = ["[Term]", f"id: {_format_id(concept.id)}"]
    if concept.label.strip():
        lines.append(f"name: {_unquoted(concept.label)}")
    lines += [f"namespace: {namespace}"] if namespace else []
    if concept.definition.strip():
        lines.append(f"def: {_quoted(concept.definition)} []")
    if concept.id in additions.tasks:
        lines.append(f"comment: {_unquoted(f'Place {additions.tasks[concept.id]}.')}")
    lines += [_format_synonym(name) for name in concept.synonyms if name.strip()]
    lines += [f"is_a: {_format_id(id)}{_label_comment(taxonomy, id)}" for id in parents]
    if additions.agent:
        creator = additions.curators.get(concept.id, additions.agent)
        when = additions.when.astimezone(UTC)
        lines += [f"created_by: {_unquoted(creator)}", f"creation_date: {when:%Y-%m-%dT%H:%M:%SZ}"]
    return [*lines, "is_obsolete: true"] if concept.deprecated else lines


def _format_synonym(name: str) -> str:
    """Return a synonym clause."""
    return f"synonym: {_quoted(name)} EXACT []"


def _format_id(id: str) -> str:
    """Return an id, with escapes if OBO could not read it otherwise."""
    return id if _PLAIN_ID.fullmatch(id) else _escaped(id, _SPECIAL_IN_ID)


def _label_comment(taxonomy: Taxonomy, id: str) -> str:
    """Return the comment with the label of a parent, which follows the id."""
    return f" ! {' '.join(taxonomy.concept(id).label.split())}"


def _unquoted(text: str) -> str:
    return _escaped(text.strip(), _SPECIAL_IN_TEXT)


def _quoted(text: str) -> str:
    """Return a quoted string; many programs misread a backslash before the closing quote."""
    end = " " if text.strip().endswith("\\") else ""
    return f'"{_escaped(text.strip(), _SPECIAL_IN_QUOTES)}{end}"'
