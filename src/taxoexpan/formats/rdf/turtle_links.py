"""Turtle as text: where in a file two resources are linked, so that a link can be rewritten.

pyoxigraph says what a file means, but not where. This reader finds the places, of Turtle and of
N-Triples, which is a part of it; what it cannot follow it refuses, and what is written is read
again by the parser in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.vocabulary import TYPE
from taxoexpan.formats.text_file import TextFile

_C = r"""[^\s<>"'#;,.\[\](){}@^|`\\]"""
"""What a name may hold anywhere without a backslash before it."""
_TOKEN = re.compile(
    rf"""(?P<skip>\s+|\#[^\n\r]*)
    | (?P<iri><[^<>"{{}}|^`\s]*>)
    | (?P<text>(?:
        \"{{3}}(?:\"{{0,2}}(?:[^"\\]|\\.))*+\"{{3}}|'{{3}}(?:'{{0,2}}(?:[^'\\]|\\.))*+'{{3}}
        |"(?:[^"\\\n\r]|\\.)*+"|'(?:[^'\\\n\r]|\\.)*+')(?:@[A-Za-z][A-Za-z0-9-]*)?)
    | (?P<datatype>\^\^)
    | (?P<directive>@(?:prefix|base)\b)
    | (?P<word>(?:\.(?=[0-9]))?(?:{_C}|\\.)(?:{_C}|\\.|\.+(?={_C}|\\))*+)
    | (?P<mark>[;,.\[\]()])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_ESCAPED_SIGN = re.compile(r"\\(.)")
_PLAIN_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_KEYWORDS = ("prefix", "base")


@dataclass(frozen=True, slots=True)
class Link:
    """A statement whose three parts are IRIs, and where its object stands.

    `row` tells the list of objects, and `behind` is where the object before it ends, if there is
    one in the same list.
    """

    subject: str
    predicate: str
    object: str
    start: int
    end: int
    row: int
    behind: int | None


@dataclass(slots=True)
class _Frame:
    """What is known of a statement; blank for what has no IRI, None for what is to come."""

    subject: str | None = None
    predicate: str | None = None
    row: int = 0
    behind: int | None = None


class Turtle:
    """A reader from left to right; `prefixes` and `base` are those in force where it stands."""

    def __init__(self, source: TextFile) -> None:
        self.source = source
        self.prefixes: dict[str, str] = {}
        self.base = ""

    def links(self) -> Iterator[Link]:
        """Every statement that links two IRIs, in the order of the file."""
        frames = [_Frame()]
        tokens = self._tokens()
        for found in tokens:
            kind, text = found.lastgroup or "", found[0]
            if kind == "directive" or (kind == "word" and text.casefold() in _KEYWORDS):
                self._declare(text.lstrip("@").casefold(), tokens)
            elif kind == "datatype":
                next(tokens, None)
            elif kind == "mark" and text not in "[(":
                self._close(frames, text, found)
            else:
                link = _told(frames[-1], self._named(kind, text, frames[-1]), found)
                if link is not None:
                    yield link
                if kind == "mark":
                    frames.append(_Frame("", None if text == "[" else ""))

    def spelled(self, iri: str, like: str) -> str:
        """An IRI as it can stand in the place of another: short where that one was, and it can."""
        prefix, short, _ = like.partition(":")
        space = self.prefixes.get(prefix, "")
        if short and not like.startswith("<") and space and iri.startswith(space):
            local = iri.removeprefix(space)
            if _PLAIN_LOCAL.fullmatch(local):
                return f"{prefix}:{local}"
        return f"<{iri}>"

    def _tokens(self) -> Iterator[re.Match[str]]:
        at, text = 0, self.source.text
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                message = f"{text[at : at + 20]!r} cannot be followed here, so nothing can be moved"
                mend = "convert the file to .json first, or leave out --allow-moves"
                raise FormatError(self.source.path, f"{message}; {mend}", self.source.line_at(at))
            at = found.end()
            if found.lastgroup != "skip":
                yield found

    def _declare(self, what: str, tokens: Iterator[re.Match[str]]) -> None:
        """Take note of a prefix or a base."""
        name = next(tokens)[0].removesuffix(":") if what == "prefix" else ""
        iri = self._iri(next(tokens)[0])
        if what == "base":
            self.base = iri
        else:
            self.prefixes[name] = iri

    def _close(self, frames: list[_Frame], mark: str, found: re.Match[str]) -> None:
        """End an object, a predicate, a statement or a bracket."""
        if mark in "])" and len(frames) > 1:
            frames.pop()
            frames[-1].behind = found.end()
        elif mark == "." and len(frames) == 1:
            frames[-1] = _Frame()
        elif mark == ";":
            frames[-1].predicate = None

    def _named(self, kind: str, text: str, frame: _Frame) -> str:
        """The IRI of a token; blank where it has none."""
        if kind == "iri":
            return self._iri(text)
        if kind != "word" or text.startswith("_:"):
            return ""
        if text == "a" and frame.subject is not None and frame.predicate is None:
            return TYPE
        prefix, short, local = text.partition(":")
        if not short or prefix not in self.prefixes:
            return ""
        return self.prefixes[prefix] + _ESCAPED_SIGN.sub(r"\1", local)

    def _iri(self, text: str) -> str:
        inner = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text[1:-1])
        return urljoin(self.base, inner) if self.base else inner


def _told(frame: _Frame, name: str, found: re.Match[str]) -> Link | None:
    """Put what was read into its slot; an object makes a statement whole."""
    if frame.subject is None:
        frame.subject = name
        return None
    if frame.predicate is None:
        frame.predicate, frame.row, frame.behind = name, found.start(), None
        return None
    behind, frame.behind = frame.behind, found.end()
    if not (frame.subject and frame.predicate and name):
        return None
    return Link(frame.subject, frame.predicate, name, found.start(), found.end(), frame.row, behind)
