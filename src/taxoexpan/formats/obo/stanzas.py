"""The text of `[Term]` stanzas: parsing and formatting them and the values of their clauses.

Only the clauses that make a taxonomy are parsed, so other content of a file (typedefs, private
tags, comments, imports, which are never fetched) cannot make it unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import NamedTuple

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Concept, Provenance, Taxonomy

TAGS = frozenset({"id", "name", "namespace", "def", "synonym", "is_a", "is_obsolete"})

_HEAD = re.compile(r"\[(\w+)\]\s*(?:!.*)?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_QUALIFIER = r'\s*+[^\s={}"]++\s*+=\s*+"(?:[^"\\]|\\.)*+"\s*+'
_END = rf"(?:\{{{_QUALIFIER}(?:,{_QUALIFIER})*+\}}\s*+)?(?:!.*)?"
"""Qualifiers such as `{source="me"}`, and a comment."""
_ID = re.compile(rf"((?:[^\s\\{{!]|\\.)++)\s*+{_END}")
_TEXT = re.compile(rf"((?:[^\\{{!]|\\.)*+){_END}")
_IN_IRI = r"(?:[\w/?.~:@&=+,;$()*'-]|%[0-9A-Fa-f]{2})*+"
_PLAIN_ID = re.compile(rf'(?!\w+:/)[^\s\\{{}}!"]+|\w+:{_IN_IRI}(?:#{_IN_IRI})?')
_ESCAPE = re.compile(r"\\(.)")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_LETTERS = {control: letter for letter, control in _CONTROLS.items()}
_SPECIAL_IN_ID = re.compile(r'[\s\\!{}":]')
_SPECIAL_IN_TEXT = re.compile(r'[\\!{}"\n\r\f]')
_SPECIAL_IN_QUOTES = re.compile(r'[\\"\n\r\f]')


class Clause(NamedTuple):
    """One `tag: value` line; the value is not parsed yet."""

    line: int
    tag: str
    value: str


@dataclass
class Stanza:
    """One [Term]: its first line, its last line with content, and its clauses."""

    line: int
    last_line: int
    clauses: list[Clause] = field(default_factory=list)
    id: str = ""


def parse_stanzas(source: TextFile) -> list[Stanza]:
    """Return every [Term] with its id and the clauses that make a taxonomy."""
    stanzas = []
    for stanza in _split_stanzas(source):
        ids = [clause for clause in stanza.clauses if clause.tag == "id"]
        if len(ids) != 1:
            message = f"a [Term] with {len(ids) or 'no'} id lines; it needs one line 'id: …'"
            raise FormatError(source.path, message, ids[1].line if ids else stanza.line)
        stanza.id = parse_id(source, ids[0])
        stanzas.append(stanza)
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
                message = f"{content[:80]!r} is not the start of a stanza; write [Term]"
                raise FormatError(source.path, message, number)
            stanza = Stanza(number, number) if head[1] == "Term" else None
        elif stanza is not None and content and not content.startswith("!"):
            stanza.last_line = number
            tag, _, value = content.partition(":")
            if tag in TAGS:
                stanza.clauses.append(Clause(number, tag, value.lstrip()))
    if stanza is not None:
        yield stanza


def parse_id(source: TextFile, clause: Clause) -> str:
    """Return the id in an `id` or `is_a` clause."""
    id = _unescaped(_match(source, clause, _ID))
    if not id.strip():
        raise FormatError(source.path, "the id is blank; give the term an id", clause.line)
    return id


def parse_unquoted(source: TextFile, clause: Clause) -> str:
    """Return the text of a clause without quotes, such as `name`."""
    return _unescaped(_match(source, clause, _TEXT)).strip()


def parse_quoted(source: TextFile, clause: Clause) -> str:
    """Return the text of a definition or synonym, without its scope, type and references."""
    quoted = _QUOTED.match(clause.value)
    if quoted is None:
        message = f"{clause.tag}: {clause.value[:80]!r} should begin with a text in double quotes"
        raise FormatError(source.path, message, clause.line)
    return _unescaped(quoted[1]).strip()


def _match(source: TextFile, clause: Clause, pattern: re.Pattern[str]) -> str:
    match = pattern.fullmatch(clause.value)
    if match is None:
        message = f"{clause.value[:80]!r} is not valid OBO"
        remedy = r"write \ before { } ! \ in a text, and before a space in an id"
        raise FormatError(source.path, f"{message}; {remedy}", clause.line)
    return match[1]


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda escape: _CONTROLS.get(escape[1], escape[1]), text)


def _escaped(text: str, special: re.Pattern[str]) -> str:
    """Return a text with a backslash before special characters; line breaks become letters."""
    return special.sub(lambda match: "\\" + _LETTERS.get(match[0], match[0]), text)


def format_stanza(
    concept: Concept,
    taxonomy: Taxonomy,
    parents: Sequence[str],
    namespace: str = "",
    provenance: Provenance | None = None,
) -> list[str]:
    """Return the lines of a stanza, in the order that OBO 1.4 prescribes."""
    lines = ["[Term]", f"id: {format_id(concept.id)}"]
    if concept.label.strip():
        lines.append(f"name: {_unquoted(concept.label)}")
    lines += [f"namespace: {namespace}"] if namespace else []
    if concept.definition.strip():
        lines.append(f"def: {_quoted(concept.definition)} []")
    lines += [format_synonym(name) for name in concept.synonyms if name.strip()]
    lines += [f"is_a: {format_id(id)}{label_comment(taxonomy, id)}" for id in parents]
    if provenance is not None:
        when = provenance.when.astimezone(UTC)
        lines.append(f"created_by: {_unquoted(provenance.agent)}")
        lines.append(f"creation_date: {when:%Y-%m-%dT%H:%M:%SZ}")
    return [*lines, "is_obsolete: true"] if concept.deprecated else lines


def format_synonym(name: str) -> str:
    """Return a synonym clause."""
    return f"synonym: {_quoted(name)} EXACT []"


def format_id(id: str) -> str:
    """Return an id, with escapes if OBO cannot read it otherwise."""
    return id if _PLAIN_ID.fullmatch(id) else _escaped(id, _SPECIAL_IN_ID)


def label_comment(taxonomy: Taxonomy, id: str) -> str:
    """Return the comment with the label of a parent that follows its id."""
    return f" ! {' '.join(taxonomy.concept(id).label.split())}"


def _unquoted(text: str) -> str:
    return _escaped(text.strip(), _SPECIAL_IN_TEXT)


def _quoted(text: str) -> str:
    """Return a text in quotes; many programs misread a backslash before the closing quote."""
    end = " " if text.strip().endswith("\\") else ""
    return f'"{_escaped(text.strip(), _SPECIAL_IN_QUOTES)}{end}"'
