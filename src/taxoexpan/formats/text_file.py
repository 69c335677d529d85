"""Text files, with lines, line ends and the options for reading."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TypeVar, cast

from taxoexpan.errors import FormatError
from taxoexpan.files.inputs import read_input
from taxoexpan.formats.compression import decompressed, format_suffix

Parsed = TypeVar("Parsed")

ZIP_START = b"PK\x03\x04"
"""The first bytes of an Excel file, which no UTF-8 text of a taxonomy has."""

_URL = re.compile(r"(https?|ftp|s3):/", re.IGNORECASE)
"""The beginning of a URL as a path."""
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_OTHER_ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Reading options: label language, instances as concepts, and the layout of a table."""

    language: str | None = None
    instances: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    separator: str | None = None


DEFAULT_OPTIONS = ReadOptions()
"""Read the labels in the main language of the file, and no instances."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text to insert before `offset`; `replaced` is old text there, only for moves and synonyms."""

    offset: int
    text: str
    replaced: str = ""


@dataclass(frozen=True, eq=False)
class TextFile:
    """The text of a file without its byte order mark ("" for a directory), with cached parses."""

    path: Path
    text: str
    options: ReadOptions = DEFAULT_OPTIONS
    bom: bytes = b""
    delimiter: str = ""
    """The delimiter of the cells, if the text was made from a sheet; else unknown."""
    remarks: tuple[str, ...] = ()
    """Messages about the part of the file that is read."""
    digest: str = ""
    """A digest of the bytes that were read, which may be compressed; empty without a file."""
    _parsed: dict[Callable[[TextFile], object], object] = field(default_factory=dict, repr=False)
    _siblings: dict[Path, TextFile] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> TextFile:
        """Load a non-empty file or the taxonomy sheet of a workbook; a directory is not read."""
        return cls(path, "", options) if path.is_dir() else _chosen_sheet(cls.load(path, options))

    @classmethod
    def load(
        cls, path: Path, options: ReadOptions = DEFAULT_OPTIONS, may_be_blank: bool = False
    ) -> TextFile:
        """Load a UTF-8 file; errors describe the problem and a fix."""
        content = read_bytes(path)
        file = cls._from_bytes(path, content, options, may_be_blank)
        return replace(file, digest=_digest(content))

    @classmethod
    def _from_bytes(
        cls, path: Path, content: bytes, options: ReadOptions, may_be_blank: bool
    ) -> TextFile:
        """Return the file with this content, which may be compressed or an Excel workbook."""
        content = decompressed(path, content)
        if content.startswith(ZIP_START):
            # openpyxl is slow to import.
            from taxoexpan.formats.tables.workbook import read_workbook

            return read_workbook(path, content, options)
        bom = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        file = cls(path, _decode(path, content), options, bom)
        if not may_be_blank and not file.text.strip():
            raise FormatError(path, "the file is empty", fix="it needs at least one concept")
        return file

    def parsed(self, parse: Callable[[TextFile], Parsed]) -> Parsed:
        """Return `parse(self)`, which is cached; treat the result as read-only."""
        if parse not in self._parsed:
            self._parsed[parse] = parse(self)
        return cast(Parsed, self._parsed[parse])

    def sibling(self, path: Path, optional: bool = False) -> TextFile:
        """Return another file of the same taxonomy; an optional file may be blank or missing."""
        if path == self.path:
            return self
        if path not in self._siblings:
            self._siblings[path] = (
                TextFile(path, "")
                if optional and not path.exists()
                else TextFile.load(path, self.options, optional)
            )
        return self._siblings[path]

    def with_parts(self, contents: Mapping[Path, bytes]) -> TextFile:
        """Return the file with new contents of some parts."""
        parts = {
            part: TextFile._from_bytes(part, content, self.options, may_be_blank=True)
            for part, content in contents.items()
        }
        main = parts.pop(self.path, None) or TextFile(self.path, self.text, self.options, self.bom)
        file = _chosen_sheet(main)
        file._siblings.update({**self._siblings, **parts})
        return file

    def is_current(self) -> bool:
        """Return whether all files of the taxonomy have the same bytes on the disk as when read."""
        files = [self, *self._siblings.values()]
        return all(
            file.digest == (_digest(file.path.read_bytes()) if file.path.exists() else "")
            for file in files
        )

    @property
    def digests(self) -> str:
        """A digest of the bytes of all files of the taxonomy that were read."""
        digests = {path.name: file.digest for path, file in self._siblings.items()}
        return _digest(json.dumps([self.digest, *sorted(digests.items())]).encode())

    def has(self, path: Path) -> bool:
        """Return whether there is another file of the same taxonomy at this path."""
        return path in self._siblings or path.exists()

    @property
    def is_directory(self) -> bool:
        """Whether this is a directory, whose own text is empty."""
        return self.path.is_dir()

    @property
    def suffix(self) -> str:
        """The suffix that determines the format, in lower case and without `.gz`."""
        return format_suffix(self.path)

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their line ends; only LF and CRLF end a line."""
        lines = self.text.split("\n")
        if self.newline == "\r\n":
            lines = [line.removesuffix("\r") for line in lines]
        return lines if lines[-1] else lines[:-1]

    @cached_property
    def newline(self) -> str:
        """The first line end in the file."""
        first, found, _ = self.text.partition("\n")
        return "\r\n" if found and first.endswith("\r") else "\n"

    def append(self, lines: Sequence[str]) -> list[Insertion]:
        """Insert these lines at the end."""
        return [self.insert_lines(len(self.text), lines)] if lines else []

    def insert_lines(self, offset: int, lines: Iterable[str]) -> Insertion:
        """Insert these lines at the start or the end of a line, with the line end of the file."""
        offset = min(offset, len(self.text))
        start = self.newline if offset and self.text[offset - 1] != "\n" else ""
        return Insertion(offset, start + "".join(line + self.newline for line in lines))

    def apply(self, insertions: Iterable[Insertion]) -> bytes:
        """Return the bytes of the file with all insertions."""
        pieces = []
        done = 0
        for one in sorted(insertions, key=lambda one: (one.offset, len(one.replaced))):
            if one.offset < done or not self.text.startswith(one.replaced, one.offset):
                line = self.line_at(one.offset)
                message = f"{one.replaced!r} occurs twice here, or with other spaces"
                fix = "leave out the move, or correct this line"
                raise FormatError(self.path, message, fix=fix, line=line)
            pieces += [self.text[done : one.offset], one.text]
            done = one.offset + len(one.replaced)
        return self.bom + "".join([*pieces, self.text[done:]]).encode("utf-8")

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins, and the offset after the last line."""
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))

    def line_at(self, offset: int) -> int:
        """Return the number of the line that contains the character at `offset`."""
        return self.text.count("\n", 0, offset) + 1


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file or of standard input, or raise a `FormatError`."""
    try:
        return read_input(path)
    except FileNotFoundError:
        if _URL.match(str(path)):
            message = "this is a URL, and nothing is fetched from the network"
            raise FormatError(path, message, fix="download it, and give the file") from None
        raise FormatError(path, "there is no such file", fix="check the path") from None
    except IsADirectoryError:
        raise FormatError(path, "this is a directory", fix="give a file inside it") from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _chosen_sheet(file: TextFile) -> TextFile:
    if not file.delimiter or file.options.sheet is not None:
        return file
    from taxoexpan.formats.tables.workbook import choose_sheet

    return choose_sheet(file)


def _decode(path: Path, content: bytes) -> str:
    """Decode a file; errors name the line and a fix."""
    if content.startswith(_OLD_EXCEL):
        raise FormatError(path, "this is an old Excel file", fix="save it as .xlsx or as CSV")
    for bom, encoding in _OTHER_ENCODINGS.items():
        if content.startswith(bom):
            fix = f"save it as UTF-8 (for example: {_conversion(path, encoding)})"
            raise FormatError(path, f"the file is {encoding}", fix=fix)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        message = "contains a NUL character, so it is not a text file"
        raise FormatError(path, message, fix="save it as UTF-8 text, or get it again", line=line)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fix = _conversion(path, "WINDOWS-1252")
        message = f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise FormatError(path, f"{message} (if it is from Windows: {fix})", line=line) from None


def _conversion(path: Path, encoding: str) -> str:
    """Return the command that converts a file to UTF-8, as another file."""
    name = shlex.quote(path.name)
    other = shlex.quote(f"{path.stem}-utf8{path.suffix}")
    return f"iconv -f {encoding} -t UTF-8 {name} > {other}"
