"""OBO: `[Term]` stanzas with an id, names, a definition and `is_a` lines, as biologists keep them.

Only the clauses that make a taxonomy are looked at, so what else a file holds (typedefs, private
tags, comments, imports, which are never fetched) cannot make it unreadable. A clause without an
escape or a qualifier says what it says; every other one is parsed by fastobo, which takes ten
times as long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

import fastobo

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Provenance, Taxonomy
from taxoexpan.taxonomy.ids import slug

NAME = "obo"
ABOUT = "[Term] stanzas with id, name, def, synonym and is_a, as in OBO ontologies"
SUFFIXES = (".obo",)
NOT_INSERTED: tuple[str, ...] = ()

_TERM = re.compile(r"^\[Term\]\s*$", re.MULTILINE)
_HEAD = re.compile(r"\[(\w+)\]\s*(?:!.*)?")
_TAGS = frozenset({"id", "name", "namespace", "def", "synonym", "is_a", "is_obsolete"})
_BEFORE_SYNONYMS = frozenset(
    {"id", "is_anonymous", "name", "namespace", "alt_id", "def", "comment", "subset", "synonym"}
)
_CLAUSE = re.compile(r"^([\w-]+):", re.MULTILINE)
_OTHER_ID = re.compile(r"^(?:alt_id|consider|replaced_by|id):\s*(\S+)", re.MULTILINE)
_SCOPE = re.compile(r'^synonym:.*" (?:BROAD|NARROW|RELATED)\b', re.MULTILINE)
_REFERENCES = re.compile(r"^(?:def|synonym):.*\[[^\]\s]", re.MULTILINE)
_STANZA = re.compile(r"^\[(\w+)\]", re.MULTILINE)
_PLAIN = re.compile(r"([^\\{}!]*)(?:!.*)?")
_PLAIN_ID = re.compile(r"([^\s\\{}!\"]+)\s*(?:!.*)?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NAME_BEHIND = re.compile(r"\s*is_a:\s*+\S++\s*+(?:\{.*\}\s*+)?!(.*)")
_ESCAPED = re.compile(r"[\s\\!{}\":]")
_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}


@dataclass
class Stanza:
    """One [Term]: its first line, its last one in use, and clauses as (line, tag, value)."""

    line: int
    last: int
    clauses: list[tuple[int, str, str]] = field(default_factory=list)


def can_read(source: TextFile) -> bool:
    """Whether the name says so, or it begins as OBO does, or a [Term] comes soon."""
    if not source.text:
        return False
    named = source.path.suffix.lower() in SUFFIXES
    start = source.text[:20_000]
    return named or start.startswith("format-version:") or _TERM.search(start) is not None


def read(source: TextFile) -> ParsedTaxonomy:
    """Every [Term] is a concept, and so is what `is_a` names without a stanza of its own.

    A term may be told in several stanzas, as OBO allows; they may not disagree on its name.
    """
    draft, places = TaxonomyBuilder(source.path), dict[str, int]()
    lines: list[int] = []
    relation_lines: list[int] = []
    synonyms: dict[int, list[str]] = {}
    for stanza in _stanzas(source):
        id = _stanza_id(source, stanza)
        place = places.setdefault(id, len(places))
        if place == len(draft.ids):
            draft.ids.append(id)
            draft.labels.append("")
            lines.append(stanza.line)
        for line, tag, value in stanza.clauses:
            if tag == "is_a":
                draft.parents.append(_id(source, line, value))
                draft.children.append(id)
                relation_lines.append(line)
            elif tag == "synonym":
                synonyms.setdefault(place, []).append(_quoted(source, line, tag, value))
            else:
                _tell(source, draft, place, line, tag, value)
    draft.lines, draft.relation_lines = lines, relation_lines
    draft.synonyms = {place: tuple(filter(None, names)) for place, names in synonyms.items()}
    _add_missing(source, draft, places, lines)
    draft.ignored.update(_beside(source))
    draft.reserved = set(_OTHER_ID.findall(source.text))
    draft.labels = [label or id for label, id in zip(draft.labels, draft.ids, strict=True)]
    return draft.finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """A stanza for each new concept after the last [Term], in its parent's namespace.

    Where an old one moves, its `is_a` line changes; a further name is a line of its own.
    """
    stanzas = list(_stanzas(source))
    changed = [
        *_moved(source, stanzas, expanded, additions.moves),
        *_named(source, stanzas, additions.names),
    ]
    own = {_stanza_id(source, stanza) for stanza in stanzas} if additions.names else set()
    strangers = [expanded.concept(id) for id in additions.names if id not in own]
    if not additions.concepts and not strangers:
        return {source.path: changed}
    namespaces = _namespaces(source, stanzas, expanded, additions)
    added = [
        _written(
            concept,
            [(id, expanded.concept(id).label) for id in expanded.parents(concept.id)],
            namespaces.get(concept.id, ""),
            additions.provenance,
        )
        for concept in additions.concepts
    ]
    _refuse_unlike(source, additions, added)
    # What is only named as a parent has no stanza in which another name could stand.
    added += [_written(concept, []) for concept in strangers]
    end = source.starts[stanzas[-1].last]
    before, behind = source.text[:end], source.text[end:]
    pieces = ["" if before.endswith("\n") else source.newline]
    pieces += [source.newline + "".join(line + source.newline for line in one) for one in added]
    pieces += [source.newline] if behind and behind.split("\n")[0].strip() else []
    return {source.path: [*changed, Insertion(len(before), "".join(pieces))]}


def supported_fields(source: TextFile) -> frozenset[str]:
    """A term has a place for everything."""
    return frozenset({"ids", "labels", "synonyms", "definitions"})


def supported_changes(source: TextFile) -> frozenset[str]:
    """A relation is a line of its own, and so is a synonym."""
    return frozenset({"moves", "synonyms"})


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """A file anew; the standard forbids parents of obsolete terms, so they are left out."""
    pieces = [f"format-version: 1.4\nontology: {slug(target.path.stem)}\n"]
    for concept in taxonomy.concepts:
        above = [] if concept.deprecated else taxonomy.parents(concept.id)
        parents = [(id, taxonomy.concept(id).label) for id in above]
        pieces.append("".join(f"{line}\n" for line in _written(concept, parents)))
    return Copy({target.path: "\n".join(pieces)})


def _stanzas(source: TextFile) -> Iterator[Stanza]:
    """Every [Term], with those of its clauses that make a taxonomy."""
    stanza = None
    for number, line in enumerate(source.lines, start=1):
        bare = line.lstrip()
        if bare.startswith("["):
            if stanza is not None:
                yield stanza
            stanza = Stanza(number, number) if _head(source, number, bare) == "Term" else None
        elif stanza is not None and bare and not bare.startswith("!"):
            stanza.last = number
            tag, _, value = bare.partition(":")
            if tag in _TAGS:
                stanza.clauses.append((number, tag, value.lstrip()))
    if stanza is not None:
        yield stanza


def _head(source: TextFile, number: int, bare: str) -> str:
    """What kind of stanza begins here."""
    head = _HEAD.fullmatch(bare)
    if head is None:
        message = f"{bare[:80]!r} begins no stanza; that would be a line such as [Term]"
        raise FormatError(source.path, message, number)
    return head[1]


def _stanza_id(source: TextFile, stanza: Stanza) -> str:
    ids = [(line, value) for line, tag, value in stanza.clauses if tag == "id"]
    if len(ids) != 1:
        message = f"a [Term] with {len(ids) or 'no'} id lines; give it one line 'id: …'"
        raise FormatError(source.path, message, ids[1][0] if ids else stanza.line)
    return _id(source, *ids[0])


def _tell(
    source: TextFile, draft: TaxonomyBuilder, place: int, line: int, tag: str, value: str
) -> None:
    """Put what a clause says of a concept into the draft."""
    if tag == "name":
        old, text = draft.labels[place], _unquoted(source, line, value)
        draft.labels[place] = _only(source, line, tag, old, text)
    elif tag == "def":
        old = draft.definitions.get(place, "")
        text = _only(source, line, tag, old, _quoted(source, line, tag, value))
        if text:
            draft.definitions[place] = text
    elif tag == "is_obsolete":
        answer = _unquoted(source, line, value)
        if answer not in ("true", "false"):
            message = f"is_obsolete is {answer[:80]!r}; it can be true or false"
            raise FormatError(source.path, message, line)
        if answer == "true":
            draft.deprecated.append(place)


def _add_missing(
    source: TextFile, draft: TaxonomyBuilder, places: dict[str, int], lines: list[int]
) -> None:
    """Parents that come from another file, named as the comment after their id says."""
    for parent, line in zip(draft.parents, draft.relation_lines, strict=True):
        if parent not in places:
            places[parent] = len(places)
            behind = _NAME_BEHIND.match(source.lines[line - 1])
            draft.ids.append(parent)
            draft.labels.append(behind[1].strip() if behind else "")
            lines.append(line)
            message = f"{parent!r} has no stanza of its own; it is taken as a concept too"
            draft.notes.append(Note(line, message, id=parent))


def _beside(source: TextFile) -> dict[str, int]:
    """How often each clause and stanza occurs that does not make a taxonomy."""
    first = _TERM.search(source.text)
    body = source.text[first.start() if first else 0 :]
    clauses = Counter(_CLAUSE.findall(body))
    stanzas = Counter(f"[{name}]" for name in _STANZA.findall(body))
    held = (_TAGS - {"namespace"}) | {"[Term]"}
    counts = {name: count for name, count in (clauses + stanzas).items() if name not in held}
    header = source.text[: first.start() if first else 0]
    counts["header lines"] = len(set(_CLAUSE.findall(header)) - {"format-version"})
    counts["scopes of synonyms"] = len(_SCOPE.findall(body))
    counts["references of texts"] = len(_REFERENCES.findall(body))
    return {name: count for name, count in counts.items() if count}


def _only(source: TextFile, line: int, tag: str, old: str, new: str) -> str:
    """What a term has once."""
    if old and new and old != new:
        message = f"another {tag} for the same id, which already has {old[:80]!r}"
        raise FormatError(source.path, f"{message}; remove one, or give one another id", line)
    return old or new


def _id(source: TextFile, line: int, value: str) -> str:
    plain = _PLAIN_ID.fullmatch(value)
    if plain:
        return plain[1]
    ident = _parsed(source, line, "is_a", value).term
    id = ident.unescaped if isinstance(ident, fastobo.id.UnprefixedIdent) else str(ident)
    if isinstance(ident, fastobo.id.PrefixedIdent):
        id = f"{ident.prefix}:{ident.local}"
    if not id.strip():
        raise FormatError(source.path, "a blank id; give the term one", line)
    return str(id)


def _unquoted(source: TextFile, line: int, value: str) -> str:
    plain = _PLAIN.fullmatch(value)
    if plain:
        return plain[1].strip()
    # The values of all unquoted clauses are written alike.
    return str(_parsed(source, line, "name", value).name).strip()


def _quoted(source: TextFile, line: int, tag: str, value: str) -> str:
    """The text of a definition or a synonym, without its scope, type and references."""
    quoted = _QUOTED.match(value)
    if quoted is None:
        message = f"{tag}: {value[:80]!r} should begin with a text in double quotes"
        raise FormatError(source.path, message, line)
    if "\\" not in quoted[1]:
        return quoted[1].strip()
    # fastobo takes an escaped backslash before the closing quote for an escaped quote.
    return str(_parsed(source, line, "def", f'"{quoted[1]} " []').definition).strip()


def _parsed(source: TextFile, line: int, tag: str, value: str) -> Any:
    """One clause, read by fastobo."""
    try:
        return fastobo.loads(f"[Term]\nid: x\n{tag}: {value}\n", threads=1)[0][0]
    except SyntaxError as error:
        reason = str(error.msg)
    except BaseException as error:
        # What goes wrong inside fastobo comes out as a panic, which is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        reason = "fastobo gave up"
    message = f"{value[:80]!r} is not valid OBO ({reason})"
    mend = r"a sign of { } ! \ that belongs to the text, or a blank in an id, needs a \ before it"
    raise FormatError(source.path, f"{message}; {mend}", line)


def _moved(
    source: TextFile, stanzas: Sequence[Stanza], expanded: Taxonomy, moves: Sequence[Move]
) -> Iterator[Insertion]:
    """The new parent in every `is_a` that gives way; what else the line told was of the old one."""
    joined = {(shift.old_parent, shift.child): shift.new_parent for shift in moves}
    for stanza in stanzas if joined else ():
        id = _stanza_id(source, stanza)
        for line, tag, value in stanza.clauses:
            new = joined.get((_id(source, line, value), id)) if tag == "is_a" else None
            if new is not None:
                whole = source.lines[line - 1]
                offset = source.starts[line - 1] + len(whole) - len(value)
                label = " ".join(expanded.concept(new).label.split())
                behind = f" ! {label}" if "!" in value else ""
                yield Insertion(offset, _spelled(new) + behind, value.rstrip())


def _named(
    source: TextFile, stanzas: Sequence[Stanza], names: Mapping[str, Sequence[str]]
) -> Iterator[Insertion]:
    """A line for each further name in a concept's first stanza, where OBO 1.4 has synonyms."""
    waiting = dict(names)
    for stanza in stanzas if waiting else ():
        further = waiting.pop(_stanza_id(source, stanza), ())
        if further:
            inside = range(stanza.line, stanza.last + 1)
            tags = {n: source.lines[n - 1].lstrip().partition(":")[0] for n in inside}
            last = max(number for number, tag in tags.items() if tag in _BEFORE_SYNONYMS)
            lines = [f"{_synonym(name)}{source.newline}" for name in further]
            offset = source.starts[last]
            start = "" if offset <= len(source.text) else source.newline
            yield Insertion(min(offset, len(source.text)), start + "".join(lines))


def _namespaces(
    source: TextFile, stanzas: Sequence[Stanza], expanded: Taxonomy, additions: Additions
) -> dict[str, str]:
    """The namespace of each term that has one of its own, or a parent with one."""
    namespaces: dict[str, str] = {}
    for stanza in stanzas:
        for _, tag, value in stanza.clauses:
            if tag == "namespace" and value.strip():
                namespaces.setdefault(_stanza_id(source, stanza), value.split()[0])
    new = [concept.id for concept in additions.concepts]
    for id in sorted(new, key=lambda id: int(expanded.levels[expanded.index(id)])):
        above = [namespaces[parent] for parent in expanded.parents(id) if parent in namespaces]
        namespaces.update({id: above[0]} if above else {})
    return namespaces


def _written(
    concept: Concept,
    parents: Sequence[tuple[str, str]],
    namespace: str = "",
    provenance: Provenance | None = None,
) -> list[str]:
    """The lines of a stanza, in the order that OBO 1.4 prescribes."""
    lines = ["[Term]", f"id: {_spelled(concept.id)}"]
    lines += [str(fastobo.term.NameClause(concept.label.strip()))] if concept.label.strip() else []
    lines += [f"namespace: {namespace}"] if namespace else []
    if concept.definition.strip():
        lines.append(str(fastobo.term.DefClause(_closable(concept.definition))))
    for name in filter(str.strip, concept.synonyms):
        lines.append(_synonym(name))
    lines += [f"is_a: {_spelled(id)} ! {' '.join(label.split())}" for id, label in parents]
    if provenance is not None:
        when = provenance.when.astimezone(UTC)
        lines.append(str(fastobo.term.CreatedByClause(provenance.agent)))
        lines.append(f"creation_date: {when:%Y-%m-%dT%H:%M:%SZ}")
    return [*lines, "is_obsolete: true"] if concept.deprecated else lines


def _synonym(name: str) -> str:
    return str(fastobo.term.SynonymClause(fastobo.syn.Synonym(_closable(name), "EXACT")))


def _closable(text: str) -> str:
    """A text without outer spaces; a backslash at its end is kept apart from the quote."""
    text = text.strip()
    return f"{text} " if text.endswith("\\") else text


def _spelled(id: str) -> str:
    """An id as it is where OBO can read that, or with escapes."""
    plain = _PLAIN_ID.fullmatch(id)
    if plain and plain[1] == id and fastobo.id.is_valid(id):
        return id
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[0], f"\\{found[0]}"), id)


def _refuse_unlike(source: TextFile, additions: Additions, added: Sequence[list[str]]) -> None:
    """What would not be read back as it was given."""
    text = "\n".join(line for stanza in added for line in stanza)
    if not text:
        return
    copy = read(TextFile(source.path, text)).taxonomy
    for concept in additions.concepts:
        if copy.concept(concept.id) != concept:
            message = f"{concept.label!r} would not be read back as it is given"
            mend = "take outer spaces off its names and definition, and blank synonyms out"
            raise FormatError(source.path, f"{message}; {mend}")
