"""The lines of subjects in RDF files, and the positions of links in Turtle.

pyoxigraph reports no positions. Subjects are searched in the usual layouts, so some are not found.
Links are found by a reader of Turtle (and N-Triples), which refuses text that it cannot parse.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urljoin
from xml.parsers import expat

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import DEFAULT_BASE
from taxoexpan.formats.json.document import JsonDocument, Object, objects_in, parse
from taxoexpan.formats.rdf.jsonld import Context
from taxoexpan.formats.rdf.statements import JSON_LD, RDF_XML, detect_syntax
from taxoexpan.formats.rdf.vocabulary import TYPE, is_iri
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Move

_PREFIX = re.compile(r"^\s*@?(base|prefix\s+[^\s:]*:)\s*<([^>]*)>", re.IGNORECASE | re.MULTILINE)
_NAME_CHARACTER = r"""[^\s<>"'#;,.\[\](){}@^|`\\]"""
"""A character that a name may contain anywhere without a backslash."""
_TOKEN = re.compile(
    rf"""(?P<skip>\s+|\#[^\n\r]*)
    | (?P<iri><[^<>"{{}}|^`\s]*>)
    | (?P<text>(?:
        \"{{3}}(?:\"{{0,2}}(?:[^"\\]|\\.))*+\"{{3}}|'{{3}}(?:'{{0,2}}(?:[^'\\]|\\.))*+'{{3}}
        |"(?:[^"\\\n\r]|\\.)*+"|'(?:[^'\\\n\r]|\\.)*+')(?:@[A-Za-z][A-Za-z0-9-]*)?)
    | (?P<datatype>\^\^)
    | (?P<directive>@(?:prefix|base)\b)
    | (?P<word>(?:\.(?=[0-9]))?(?:{_NAME_CHARACTER}|\\.)
        (?:{_NAME_CHARACTER}|\\.|\.+(?={_NAME_CHARACTER}|\\))*+)
    | (?P<mark>[;,.\[\]()])""",
    re.VERBOSE | re.DOTALL,
)
_UNICODE_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_ESCAPED_CHARACTER = re.compile(r"\\(.)")
_PLAIN_LOCAL_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_KEYWORDS = ("prefix", "base")
_REMEDY = "convert the file to .json first, or do not allow moves"


def subject_lines(source: TextFile, iris: Collection[str]) -> dict[str, int]:
    """Return the lines that describe these resources, as far as they are found."""
    syntax = detect_syntax(source)
    if syntax not in (JSON_LD, RDF_XML):
        return _turtle_lines(source, set(iris))
    found: dict[str, int] = {}
    for iri, line in (_json_subjects if syntax == JSON_LD else _xml_subjects)(source):
        if iri in iris:
            found.setdefault(iri, line)
    return found


def _turtle_lines(source: TextFile, iris: set[str]) -> dict[str, int]:
    """Search the starts of lines, and prefer lines without an indent, which are likely subjects."""
    terms = {f"<{text}>": iri for iri in iris for text in (iri, iri.removeprefix(DEFAULT_BASE))}
    for prefix, namespace in _PREFIX.findall(source.text):
        for iri in iris if namespace else ():
            local = iri.removeprefix(namespace)
            if local != iri:
                terms[f"<{local}>" if prefix.lower() == "base" else prefix.split()[1] + local] = iri
    found = dict[str, int]()
    indented = dict[str, int]()
    for number, line in enumerate(source.lines, start=1):
        term, *others = line.split(maxsplit=2) or [""]
        if term in terms and not (others and others[0][0] in ",;."):
            (indented if line[0].isspace() else found).setdefault(terms[term], number)
    return indented | found


def _xml_subjects(source: TextFile) -> list[tuple[str, int]]:
    """Return the IRIs and lines of described resources, relative to the base of the root."""
    parser = expat.ParserCreate()
    found = list[tuple[str, int]]()
    bases = list[str]()

    def start(_: str, attributes: dict[str, str]) -> None:
        if not bases:
            bases.append(attributes.get("xml:base", DEFAULT_BASE))
        for name, value in attributes.items():
            if name.endswith((":about", ":ID")):
                iri = f"#{value}" if name.endswith(":ID") else value
                found.append((urljoin(bases[0], iri), parser.CurrentLineNumber))

    parser.StartElementHandler = start
    parser.Parse(source.text, True)
    return found


def _json_subjects(source: TextFile) -> Iterator[tuple[str, int]]:
    """Yield the IRI and line of each object that has other members than its IRI."""
    value = source.parsed(parse)
    context = Context(value.get("@context") if isinstance(value, Object) else None)
    document = JsonDocument(source, value)
    for node, _ in objects_in(value):
        for key, id in node.items():
            if len(node) > 1 and isinstance(id, str) and context.expand(key) == "@id":
                yield context.expand(id) if ":" in id else id, document.line(node, key)


def move_links(
    source: TextFile, moves: Sequence[Move], up: str, down: str = ""
) -> tuple[list[Insertion], set[tuple[str, str]]]:
    """Return the changed links, and the pairs that a changed link down already states.

    `child up parent` becomes `child up new`, and `parent down child` becomes `parent down new`.
    """
    new_parents = {(move.old_parent, move.child): move.new_parent for move in moves}
    insertions = list[Insertion]()
    linked_down = set[tuple[str, str]]()
    found = set[object]()
    seen: set[tuple[int, str]] = set()
    turtle = TurtleLinks(source)
    content = source.text
    for one in turtle.links() if new_parents else ():
        is_down = one.predicate == down
        pair = (one.subject, one.object) if is_down else (one.object, one.subject)
        if not (is_down or one.predicate == up) or pair not in new_parents:
            continue
        new = new_parents[pair]
        found.add(pair)
        if is_down:
            linked_down.add((one.subject, new))
        repeated = (one.list_start, new) in seen
        previous_end = one.previous_end
        seen.add((one.list_start, new))
        if repeated and previous_end is not None and "#" not in content[previous_end : one.start]:
            insertions.append(Insertion(previous_end, "", content[previous_end : one.end]))
        else:
            old = content[one.start : one.end]
            insertions.append(Insertion(one.start, turtle.format_iri(new, old), old))
    for parent, child in new_parents.keys() - found:
        message = f"the link from {child!r} to {parent!r} was not found in the text"
        raise FormatError(source.path, message, fix=_REMEDY, option="allow_moves")
    return insertions, linked_down


class Link(NamedTuple):
    """A statement of three IRIs, with the position of its object.

    `list_start` identifies the list of objects; `previous_end` is the end of the previous object.
    """

    subject: str
    predicate: str
    object: str
    start: int
    end: int
    list_start: int
    previous_end: int | None


@dataclass(slots=True)
class _Frame:
    """An open statement: its subject and predicate, which are "" if they are not IRIs."""

    parts: list[str] = field(default_factory=list)
    list_start: int = 0
    previous_end: int | None = None


class TurtleLinks:
    """A Turtle reader; `prefixes` and `base` are valid at the current position."""

    def __init__(self, source: TextFile) -> None:
        self.source = source
        self.prefixes: dict[str, str] = {}
        self.base = ""

    def links(self) -> Iterator[Link]:
        """Yield every statement that links two IRIs, in file order."""
        frames = [_Frame()]
        tokens = self._tokens()
        for token in tokens:
            kind = token.lastgroup or ""
            text = token[0]
            if kind == "directive" or (kind == "word" and text.casefold() in _KEYWORDS):
                self._declare(text.lstrip("@").casefold(), tokens)
            elif kind == "datatype":
                next(tokens, None)
            elif text in ("]", ")") and len(frames) > 1:
                frames.pop()
                frames[-1].previous_end = token.end()
            elif text == "." and len(frames) == 1:
                frames[-1] = _Frame()
            elif text == ";":
                del frames[-1].parts[1:]
            elif kind != "mark" or text in ("[", "("):
                yield from self._add_part(frames[-1], token)
                if kind == "mark":
                    frames.append(_Frame([""] if text == "[" else ["", ""]))

    def _add_part(self, frame: _Frame, token: re.Match[str]) -> Iterator[Link]:
        """Add the next part to a statement, and yield a link if the part is its object."""
        iri = self._resolve(token, is_predicate=len(frame.parts) == 1)
        if len(frame.parts) < 2:
            frame.parts.append(iri)
            frame.list_start = token.start()
            frame.previous_end = None
            return
        if iri and all(frame.parts):
            subject, predicate = frame.parts
            place = (*token.span(), frame.list_start, frame.previous_end)
            yield Link(subject, predicate, iri, *place)
        frame.previous_end = token.end()

    def format_iri(self, iri: str, replaced: str) -> str:
        """Format an IRI, with the prefix of the replaced name if possible."""
        prefix, colon, _ = replaced.partition(":")
        namespace = self.prefixes.get(prefix, "")
        if colon and not replaced.startswith("<") and namespace and iri.startswith(namespace):
            local = iri.removeprefix(namespace)
            if _PLAIN_LOCAL_NAME.fullmatch(local):
                return f"{prefix}:{local}"
        return f"<{iri}>"

    def _tokens(self) -> Iterator[re.Match[str]]:
        offset = 0
        text = self.source.text
        while offset < len(text):
            token = _TOKEN.match(text, offset)
            if token is None:
                message = f"{text[offset : offset + 20]!r} is not supported when links are moved"
                line = self.source.line_at(offset)
                raise FormatError(
                    self.source.path, message, fix=_REMEDY, line=line, option="allow_moves"
                )
            offset = token.end()
            if token.lastgroup != "skip":
                yield token

    def _declare(self, directive: str, tokens: Iterator[re.Match[str]]) -> None:
        """Read a prefix or base directive."""
        name = next(tokens)[0].removesuffix(":") if directive == "prefix" else ""
        iri = self._full_iri(next(tokens)[0])
        if directive == "base":
            self.base = iri
        else:
            self.prefixes[name] = iri

    def _resolve(self, token: re.Match[str], is_predicate: bool) -> str:
        """Return the IRI of a token, or "" if there is none."""
        text = token[0]
        if token["iri"]:
            return self._full_iri(text)
        if not token["word"] or text.startswith("_:"):
            return ""
        if text == "a" and is_predicate:
            return TYPE
        prefix, colon, local = text.partition(":")
        if not colon or prefix not in self.prefixes:
            return ""
        return self.prefixes[prefix] + _ESCAPED_CHARACTER.sub(r"\1", local)

    def _full_iri(self, text: str) -> str:
        inner = _UNICODE_ESCAPE.sub(lambda code: chr(int(code[1] or code[2], 16)), text[1:-1])
        return inner if is_iri(inner) else urljoin(self.base or DEFAULT_BASE, inner)
