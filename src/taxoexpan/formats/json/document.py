"""JSON documents with checked access to their parts, and the base class of their formats."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from typing import Any, ClassVar, NoReturn, Self

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Format
from taxoexpan.formats.json.parser import Array, Object, load, parse
from taxoexpan.formats.text_file import TextFile


class JsonDocument:
    """The value of a JSON file with checked access to its parts; errors name the line."""

    def __init__(self, source: TextFile, value: Any) -> None:
        self.source, self.value = source, value

    @classmethod
    def load(cls, source: TextFile) -> Self:
        """Read a document, usually without the positions of its parts."""
        return cls(source, source.parsed(load))

    @classmethod
    def locate(cls, source: TextFile) -> Self:
        """Read a document with the positions of its parts, which is slower."""
        return cls(source, source.parsed(parse))

    def line(self, container: Any, key: str | int | None = None) -> int:
        """Return the line of a container or of a part of it, or 0 if the position is unknown."""
        if not isinstance(container, Object | Array):
            return 0
        offset = container.start if key is None else container.places[key]  # type: ignore[index]
        return bisect_right(self.source.starts, offset)

    def text(self, container: Any, key: str | int) -> str:
        """Return a string value without outer spaces."""
        # A Number is a str in Python, but it is not text in the file.
        if type(container[key]) is not str:
            self.refuse(container, key, "text in quotes")
        return str(container[key].strip())

    def entries(self, container: Any, key: str) -> list[Any]:
        """Return a value that must be a list."""
        value: list[Any] = container[key]
        if not isinstance(value, list):
            self.refuse(container, key, "a list in […]")
        return value

    def refuse(self, container: Any, key: str | int, expected: str) -> NoReturn:
        """Raise an error about a value of an unexpected type."""
        name = repr(key) if isinstance(key, str) else "an entry of a list"
        raise self.error(f"{name} has the wrong type; write {expected}", container, key)

    def error(self, message: str, container: Any, key: str | int | None = None) -> FormatError:
        """Return an error with the line of a container or of a part of it."""
        return FormatError(self.source.path, message, self.line(container, key) or None)


class DocumentFormat(Format):
    """A format of JSON documents; `document` is the class that finds the concepts in them."""

    document: ClassVar[type[JsonDocument]]

    @abstractmethod
    def build(self, document: Any) -> TaxonomyBuilder:
        """Return the concepts and relations of a document."""

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read a file with the fast parser, and again with lines if there are errors or notes."""
        try:
            parsed = self.build(source.parsed(self.document.load)).finish()
            if not parsed.notes:
                return parsed
        except FormatError:
            pass
        return self.read_with_lines(source)

    def read_with_lines(self, source: TextFile) -> ParsedTaxonomy:
        """Read a file with the line of every concept."""
        return self.build(source.parsed(self.document.locate)).finish()
