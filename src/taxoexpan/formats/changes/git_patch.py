"""Changes to the files of a taxonomy as a patch that `git apply` accepts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import Insertion, TextFile

CONTEXT = 3
"""Unchanged lines around a change."""
_NO_NEWLINE = b"\\ No newline at end of file\n"
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


class _Change(NamedTuple):
    """Lines from `start` to `end` of the old file that are replaced."""

    start: int
    end: int
    new: list[bytes]


def refuse_unpatchable(file: TextFile) -> None:
    """Refuse what git cannot patch: a stream, a compressed file or a workbook."""
    if file.path.is_dir():
        return
    if not file.path.is_file():
        raise FormatError(file.path, "a patch is for a file; give a file as the taxonomy")
    if file.path.read_bytes() != _content(file):
        message = "this is not a text file, so there can be no patch of it"
        raise FormatError(file.path, f"{message}; write the whole file instead")


def git_patch(file: TextFile, insertions: Mapping[Path, Sequence[Insertion]]) -> bytes:
    """Return the insertions into the files of a taxonomy as a patch; no change is an empty one."""
    return b"".join(
        _file_patch(file.sibling(path, optional=True), edits)
        for path, edits in insertions.items()
        if edits
    )


def _file_patch(file: TextFile, edits: Sequence[Insertion]) -> bytes:
    is_new = not file.path.exists()
    name = _name_in_repository(file.path)
    old_name, new_name = _quote(f"a/{name}"), _quote(f"b/{name}")
    head = f"diff --git {old_name} {new_name}\n"
    head += "new file mode 100644\n--- /dev/null\n" if is_new else f"--- {_ended(old_name)}\n"
    head += f"+++ {_ended(new_name)}\n"
    old = _lines(_content(file))
    return head.encode() + b"".join(_hunks(old, list(_changes(file, old, edits))))


def _content(file: TextFile) -> bytes:
    return file.bom + file.text.encode("utf-8")


def _changes(file: TextFile, old: Sequence[bytes], edits: Sequence[Insertion]) -> Iterator[_Change]:
    """Yield the changed lines; all edits that touch the same lines are one change."""
    starts = file.starts[:-1]
    spans: list[tuple[int, int, list[Insertion]]] = []
    for edit in sorted(edits, key=lambda one: (one.offset, len(one.replaced))):
        first = bisect_right(starts, edit.offset) - 1
        last = bisect_right(starts, edit.offset + len(edit.replaced)) - 1
        if spans and first <= spans[-1][1]:
            start, end, same = spans.pop()
            spans.append((start, max(end, last), [*same, edit]))
        else:
            spans.append((first, last, [edit]))
    for first, last, same in spans:
        offset = starts[first]
        shifted = [Insertion(edit.offset - offset, edit.text, edit.replaced) for edit in same]
        text, bom = file.text[offset : file.starts[last + 1]], file.bom if first == 0 else b""
        new = _lines(TextFile(file.path, text, bom=bom).apply(shifted))
        start, end = first, min(last + 1, len(old))
        while start < end and new and old[start] == new[0]:
            start, new = start + 1, new[1:]
        while start < end and new and old[end - 1] == new[-1]:
            end, new = end - 1, new[:-1]
        yield _Change(start, end, new)


def _hunks(old: Sequence[bytes], changes: Sequence[_Change]) -> Iterator[bytes]:
    """Yield the changes with the lines around them; near ones share a hunk."""
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and change.start - groups[-1][-1].end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    shift = 0
    for group in groups:
        first, last = max(0, group[0].start - CONTEXT), min(len(old), group[-1].end + CONTEXT)
        grown = sum(len(change.new) - (change.end - change.start) for change in group)
        yield _header(first, last - first, first + shift, last - first + grown)
        for change in group:
            yield from (_marked(b" ", line) for line in old[first : change.start])
            yield from (_marked(b"-", line) for line in old[change.start : change.end])
            yield from (_marked(b"+", line) for line in change.new)
            first = change.end
        yield from (_marked(b" ", line) for line in old[first:last])
        shift += grown


def _header(old_start: int, old_count: int, new_start: int, new_count: int) -> bytes:
    """Return the line numbers of a hunk; a hunk without lines has the number of the line before."""
    old = f"{old_start + bool(old_count)},{old_count}"
    return f"@@ -{old} +{new_start + bool(new_count)},{new_count} @@\n".encode()


def _marked(mark: bytes, line: bytes) -> bytes:
    return mark + line + (b"" if line.endswith(b"\n") else b"\n" + _NO_NEWLINE)


def _lines(content: bytes) -> list[bytes]:
    """Split after LF only, as git does."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines


def _name_in_repository(path: Path) -> str:
    """Return the path from the root of the repository, or else from the current folder."""
    absolute = path.absolute()
    root = next((folder for folder in absolute.parents if (folder / ".git").exists()), Path.cwd())
    return (absolute.relative_to(root) if absolute.is_relative_to(root) else path).as_posix()


def _quote(name: str) -> str:
    """Quote a name as git does if it has a quote, a backslash, a control or another character."""
    content = name.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in _ESCAPES for byte in content):
        return name
    characters = (
        f"\\{_ESCAPES[byte]}"
        if byte in _ESCAPES
        else (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in content
    )
    return f'"{"".join(characters)}"'


def _ended(name: str) -> str:
    """Mark the end of a name with a space in it by a tab, as git does."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name
