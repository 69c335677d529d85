"""Checks of RDF/XML before it is parsed: encoding, nesting depth and entities."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from xml.parsers import expat

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile

ENCODING = re.compile(r"""<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""")
SAMPLE_DEPTHS = (2, 3)
"""The depths of the elements that show the indentation of a file."""

_MAX_DEPTH = 256
"""The time of the parser grows with the square of the depth; no vocabulary is that deep."""
_MAX_ENTITY_LENGTH = 1000
_MAX_GROWTH = 10
"""How many times its size a file may have after its entities are expanded."""

_ENTITY = re.compile(r'<!ENTITY\s*+(?:%\s*+)?([^ \t\n\f\r]++)\s++"([^"]*+)"')
_AMPERSAND = re.compile(r"&#(?:0*38|[xX]0*26);")
_REFERENCE = re.compile(r"&([^&;\s]+);")
_PREDEFINED = {"amp": 1, "lt": 1, "gt": 1, "quot": 1, "apos": 1}


@dataclass
class RootElement:
    """The root element: its name, its attributes, and the byte at which its end tag begins.

    `sample_starts` has the byte at which the first element at each sample depth begins.
    """

    name: str = ""
    end: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    sample_starts: dict[int, int] = field(default_factory=dict)


def scan_elements(source: TextFile) -> RootElement:
    """Find the root element; refuse deep nesting, and growing or external entities."""
    _refuse_other_encodings(source)
    _refuse_growing_entities(source)
    parser = expat.ParserCreate()
    root, depth = RootElement(), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            root.name, root.attributes = name, attributes
        elif depth in SAMPLE_DEPTHS:
            root.sample_starts.setdefault(depth, parser.CurrentByteIndex)
        if depth > _MAX_DEPTH:
            raise refused(f"elements are nested more than {_MAX_DEPTH} levels deep; flatten them")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == 0:
            root.end = parser.CurrentByteIndex

    def entity(name: str, parameter: bool, value: str | None, *_: object) -> None:
        if parameter or value is None:
            message = f"the entity {name} is external, and taxoexpan never fetches anything"
            raise refused(f"{message}; write it out")

    def refused(message: str) -> FormatError:
        return FormatError(source.path, message, parser.CurrentLineNumber)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(source.text, True)
    except expat.ExpatError as error:
        message = f"not well-formed: {expat.ErrorString(error.code)}"
        raise FormatError(source.path, message, error.lineno) from None
    return root


def _refuse_other_encodings(source: TextFile) -> None:
    encoding = ENCODING.match(source.text)
    if encoding and encoding[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        message = f"the file declares the encoding {encoding[1]}; save it as UTF-8 and declare that"
        raise FormatError(source.path, message, 1)


def _refuse_growing_entities(source: TextFile) -> None:
    """Refuse entities that expand to much more text.

    Searches the text as the RDF parser does: the last of two entities with the same name counts,
    and entities in comments count too.
    """
    lengths = dict(_PREDEFINED)
    uses: Counter[str] | None = None
    growth = 0
    for match in _ENTITY.finditer(source.text):
        name, value = match[1], _AMPERSAND.sub("&", match[2])

        def refused(message: str, at: int = match.start(), name: str = name) -> FormatError:
            return FormatError(source.path, f"the entity {name} {message}", source.line_at(at))

        references = _REFERENCE.findall(value)
        entities = [other for other in references if not other.startswith("#")]
        if name in lengths and name not in _PREDEFINED:
            raise refused("is declared twice; keep one declaration")
        if unknown := next((other for other in entities if other not in lengths), None):
            raise refused(f"contains {unknown}, which is not declared before it; write it out")
        characters = len(_REFERENCE.sub("", value)) + len(references) - len(entities)
        lengths[name] = characters + sum(lengths[other] for other in entities)
        if lengths[name] > _MAX_ENTITY_LENGTH:
            raise refused("is too long; write it out")
        uses = Counter(_REFERENCE.findall(source.text)) if uses is None else uses
        growth += lengths[name] * uses[name]
        if growth > _MAX_GROWTH * len(source.text):
            raise refused("makes the file too large; write it out")
