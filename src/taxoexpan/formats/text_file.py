"""A text file as it lies on disk: its lines, its habits, and how the user wants it read."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from taxoexpan.errors import FormatError

_FOREIGN_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user says of a file: the language of its labels, and whether instances count."""

    language: str | None = None
    instances: bool = False


DEFAULT_OPTIONS = ReadOptions()
"""Nothing said: the file's main language, and no instances."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to put in before the character at `offset`.

    Nothing old is taken out, but where the user allows a move or a further name: then what stands
    there, and gives way, is told.
    """

    offset: int
    text: str
    replaced: str = ""


@dataclass(frozen=True)
class TextFile:
    """The text of one file without its byte order mark; a directory's is blank."""

    path: Path
    text: str
    options: ReadOptions = DEFAULT_OPTIONS
    bom: bytes = b""

    @classmethod
    def load(
        cls, path: Path, options: ReadOptions = DEFAULT_OPTIONS, may_be_blank: bool = False
    ) -> TextFile:
        """Read a UTF-8 file, or say what is wrong with it and how to mend it."""
        content = read_bytes(path)
        bom = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        source = cls(path, _decode(path, content), options, bom)
        if not may_be_blank and not source.text.strip():
            raise FormatError(path, "the file is empty; it needs at least one concept")
        return source

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; only LF and CRLF end a line."""
        lines = self.text.split("\n")
        if self.newline == "\r\n":
            lines = [line.removesuffix("\r") for line in lines]
        return lines if lines[-1] else lines[:-1]

    @cached_property
    def newline(self) -> str:
        """The line end that the file uses first."""
        first, found, _ = self.text.partition("\n")
        return "\r\n" if found and first.endswith("\r") else "\n"

    def append(self, lines: Sequence[str]) -> list[Insertion]:
        """These lines after the last one, in the file's own line end."""
        if not lines:
            return []
        start = "" if not self.text or self.text.endswith("\n") else self.newline
        text = start + "".join(line + self.newline for line in lines)
        return [Insertion(len(self.text), text)]

    def apply(self, insertions: Iterable[Insertion]) -> bytes:
        """The file's bytes with every insertion in its place."""
        pieces, done = [], 0
        for one in sorted(insertions, key=lambda one: (one.offset, len(one.replaced))):
            if one.offset < done or not self.text.startswith(one.replaced, one.offset):
                line = self.line_at(one.offset)
                message = f"{one.replaced!r} is told twice here, or with other spaces"
                raise FormatError(self.path, f"{message}; leave out the move, or tidy up", line)
            pieces += [self.text[done : one.offset], one.text]
            done = one.offset + len(one.replaced)
        return self.bom + "".join([*pieces, self.text[done:]]).encode("utf-8")

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins, and that behind the last one."""
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))

    def line_at(self, offset: int) -> int:
        """The number of the line that holds the character at `offset`."""
        return self.text.count("\n", 0, offset) + 1


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; a missing or unreadable one is an error of ours."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(path, "this is a directory; give a file inside it") from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None


def _decode(path: Path, content: bytes) -> str:
    for mark, encoding in _FOREIGN_MARKS.items():
        if content.startswith(mark):
            raise FormatError(path, f"the file is {encoding}; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        message = (
            f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8 "
            "(for example: iconv -f ISO-8859-1 -t UTF-8)"
        )
        raise FormatError(path, message, line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(path, "a NUL character; this is not a text file", line)
    return text
