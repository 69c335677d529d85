"""The text of `[Term]` stanzas: parsing and formatting them and the values of their clauses.

Only the clauses that make a taxonomy are parsed, so other content of a file (typedefs, private
tags, comments, imports, which are never fetched) cannot make it unreadable. A clause without
escapes and qualifiers is read directly; fastobo parses all others, which takes ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, NamedTuple

import fastobo

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Concept, Provenance, Taxonomy

TAGS = frozenset({"id", "name", "namespace", "def", "synonym", "is_a", "is_obsolete"})

_HEAD = re.compile(r"\[(\w+)\]\s*(?:!.*)?")
_PLAIN_ID = re.compile(r"([^\s\\{}!\"]+)\s*(?:!.*)?")
_PLAIN_TEXT = re.compile(r"([^\\{}!]*)(?:!.*)?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"[\s\\!{}\":]")
_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}


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


def parse_id(source: TextFile, clause: Clause) -> str:
    """Return the id in an `id` or `is_a` clause."""
    plain = _PLAIN_ID.fullmatch(clause.value)
    if plain:
        return plain[1]
    ident = _parse_with_fastobo(source, clause.line, "is_a", clause.value).term
    id = ident.unescaped if isinstance(ident, fastobo.id.UnprefixedIdent) else str(ident)
    if isinstance(ident, fastobo.id.PrefixedIdent):
        id = f"{ident.prefix}:{ident.local}"
    if not id.strip():
        raise FormatError(source.path, "the id is blank; give the term an id", clause.line)
    return str(id)


def parse_unquoted(source: TextFile, clause: Clause) -> str:
    """Return the text of a clause without quotes, such as `name`."""
    plain = _PLAIN_TEXT.fullmatch(clause.value)
    if plain:
        return plain[1].strip()
    # All unquoted clauses have the same syntax.
    return str(_parse_with_fastobo(source, clause.line, "name", clause.value).name).strip()


def parse_quoted(source: TextFile, clause: Clause) -> str:
    """Return the text of a definition or synonym, without its scope, type and references."""
    quoted = _QUOTED.match(clause.value)
    if quoted is None:
        message = f"{clause.tag}: {clause.value[:80]!r} should begin with a text in double quotes"
        raise FormatError(source.path, message, clause.line)
    if "\\" not in quoted[1]:
        return quoted[1].strip()
    # fastobo misreads an escaped backslash before the closing quote as an escaped quote.
    value = f'"{quoted[1]} " []'
    return str(_parse_with_fastobo(source, clause.line, "def", value).definition).strip()


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
        lines.append(str(fastobo.term.NameClause(concept.label.strip())))
    lines += [f"namespace: {namespace}"] if namespace else []
    if concept.definition.strip():
        lines.append(str(fastobo.term.DefClause(_quotable(concept.definition))))
    lines += [format_synonym(name) for name in concept.synonyms if name.strip()]
    lines += [f"is_a: {format_id(id)}{label_comment(taxonomy, id)}" for id in parents]
    if provenance is not None:
        when = provenance.when.astimezone(UTC)
        lines.append(str(fastobo.term.CreatedByClause(provenance.agent)))
        lines.append(f"creation_date: {when:%Y-%m-%dT%H:%M:%SZ}")
    return [*lines, "is_obsolete: true"] if concept.deprecated else lines


def format_synonym(name: str) -> str:
    """Return a synonym clause."""
    return str(fastobo.term.SynonymClause(fastobo.syn.Synonym(_quotable(name), "EXACT")))


def format_id(id: str) -> str:
    """Return an id, with escapes if OBO cannot read it otherwise."""
    plain = _PLAIN_ID.fullmatch(id)
    if plain and plain[1] == id and fastobo.id.is_valid(id):
        return id
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[0], f"\\{match[0]}"), id)


def label_comment(taxonomy: Taxonomy, id: str) -> str:
    """Return the comment with the label of a parent that follows its id."""
    return f" ! {' '.join(taxonomy.concept(id).label.split())}"


def _split_stanzas(source: TextFile) -> Iterator[Stanza]:
    stanza = None
    for number, line in enumerate(source.lines, start=1):
        content = line.lstrip()
        if content.startswith("["):
            if stanza is not None:
                yield stanza
            is_term = _stanza_type(source, number, content) == "Term"
            stanza = Stanza(number, number) if is_term else None
        elif stanza is not None and content and not content.startswith("!"):
            stanza.last_line = number
            tag, _, value = content.partition(":")
            if tag in TAGS:
                stanza.clauses.append(Clause(number, tag, value.lstrip()))
    if stanza is not None:
        yield stanza


def _stanza_type(source: TextFile, number: int, content: str) -> str:
    head = _HEAD.fullmatch(content)
    if head is None:
        message = f"{content[:80]!r} is not the start of a stanza; write a line such as [Term]"
        raise FormatError(source.path, message, number)
    return head[1]


def _parse_with_fastobo(source: TextFile, line: int, tag: str, value: str) -> Any:
    try:
        return fastobo.loads(f"[Term]\nid: x\n{tag}: {value}\n", threads=1)[0][0]
    except SyntaxError as error:
        reason = str(error.msg)
    except BaseException as error:
        # An internal error of fastobo is a panic, which is not an Exception.
        if type(error).__name__ != "PanicException":
            raise
        reason = "internal error of fastobo"
    message = f"{value[:80]!r} is not valid OBO ({reason})"
    remedy = r"write \ before { } ! \ in a text, and before a space in an id"
    raise FormatError(source.path, f"{message}; {remedy}", line)


def _quotable(text: str) -> str:
    """Strip a text, and separate a final backslash from the closing quote."""
    text = text.strip()
    return f"{text} " if text.endswith("\\") else text
