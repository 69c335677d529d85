"""Markdown inside one line: the text that a reader sees, and Markdown that is read as a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
"""The signs after which a backslash is not shown."""
_VERBATIM = re.compile(rf"\\({_PUNCTUATION})|(?<![\w`])(`+)(?=[^`\s])(.+?)(?<=[^`\s])\2(?![\w`])")
"""An escaped sign, or code, in which all signs are shown."""
_HIDDEN = re.compile(r"\0(\d+)\0")
_TARGET = r"\((?:[^()]|\([^()]*\))*\)"
_IMAGE = re.compile(rf"!\[[^\[\]]*\]{_TARGET}|\[[ xX]\] ")
_LINK = re.compile(rf"\[([^\[\]]*)\]{_TARGET}")
_EMPHASIS = re.compile(r"(?<!\w)(\*\*|__|~~|[*_])(?=\S)(.+?)(?<=\S)\1(?!\w)")
_BOLD = r"(?:\*\*|__|[*_])?"
_DESCRIBED = re.compile(rf"({_BOLD}{_LINK.pattern}{_BOLD})\s*(?:[-–—]+|:)\s+(.+)")
"""A link, and a description after a dash or a colon."""
_SIGNS = re.compile(r"[\\`*_~\[\]<&]")
_HTML = re.compile(r"<[A-Za-z!/?]|&#?\w+;")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})*(?=[.)](?:\s|$))")
_MARK = re.compile(r"[-+#=|:](?!\w)|>|\*(?=\s|$)|([*_~`])(?:\s*\1){2}|(?<=\d)[.)](?=\s|$)")
"""The sign of a mark at the start of a line, or after the number there."""
_HEADING_END = re.compile(r"(?<=\s)#+$")


def plain_text(markdown: str) -> str:
    """Return the text that Markdown shows: without images, targets of links and emphasis."""
    return _shown(_hidden(markdown))


def readings(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield how a list item may be read, the best first: a label and a definition.

    In `[flask](https://…) - A framework`, the text of the link is the label, and the rest is the
    definition.
    """
    hidden = _hidden(markdown)
    if described := _DESCRIBED.fullmatch(_IMAGE.sub("", hidden).strip()):
        yield _shown(described[1]), _shown(described[3])
    yield _shown(hidden), ""


def escaped(label: str) -> str:
    """Return Markdown that is read as this label, by this program and by others."""
    text = label
    if plain_text(label) != label or label.startswith("[") or _HTML.search(label):
        text = _SIGNS.sub(r"\\\g<0>", label)
    number = _NUMBER.match(text)
    end = number.end() if number else 0
    if _MARK.match(text, end):
        text = f"{text[:end]}\\{text[end:]}"
    return _HEADING_END.sub(r"\\\g<0>", text)


def _hidden(markdown: str) -> str:
    """Return Markdown in which escaped signs and the signs in code cannot be mistaken."""

    def hide(match: re.Match[str]) -> str:
        return re.sub(_PUNCTUATION, lambda sign: f"\0{ord(sign[0])}\0", match[1] or match[3])

    return _VERBATIM.sub(hide, markdown)


def _shown(hidden: str) -> str:
    """Return the text that hidden Markdown shows."""
    text = _LINK.sub(r"\1", _IMAGE.sub("", hidden))
    before = ""
    while text != before:
        before = text
        text = _EMPHASIS.sub(r"\2", text)
    return _HIDDEN.sub(lambda match: chr(int(match[1])), text).strip()
