"""A Markdown document of lists that fits into a comment on GitHub; all user text is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from taxoexpan.phrasing import visible

MAX_LISTED = 100
"""Entries that are listed in a section."""
MAX_CHARACTERS = 60_000
"""GitHub refuses comments of more than 65,536 characters; some are left for other text."""

_SYNTAX = re.compile(r"([\\`*{}\[\]<>&|~$^=!]|(?<![^\W_])_|_(?![^\W_]))")
"""Characters with a meaning in Markdown; an underscore inside a word has none."""
_REFERENCE = re.compile(
    r"""[@#](?=\w)|%(?=[\w"])|:(?=//)|:(?=[\w+-]+:)|(?<=\b[Gg][Hh])-(?=\d)|(?<=\bwww)\."""
)
"""Characters that make GitHub and GitLab mention a person, link an issue, a milestone or a URL, or
show an emoji."""
_BACKTICKS = re.compile("`+")


def document(title: str, summary: str, sections: Mapping[str, Sequence[str]]) -> str:
    """Return a title, a summary and one list per section that has entries.

    It starts with a hidden marker, so that a program can find its comment again. Long lists are
    cut, and their last line says how many entries are missing. The entries must be escaped.
    """
    numbers = {name: min(len(entries), MAX_LISTED) for name, entries in sections.items()}
    text = _text(title, summary, sections, numbers)
    while len(text) > MAX_CHARACTERS and any(numbers.values()):
        lengths = {name: len("".join(sections[name][:n])) for name, n in numbers.items() if n}
        numbers[max(lengths, key=lengths.__getitem__)] //= 2
        text = _text(title, summary, sections, numbers)
    return text


def marker(title: str) -> str:
    """Return a comment that Markdown does not show."""
    return f"<!-- taxoexpan: {quote(title, safe=' ./,()')} -->"


def escape(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    one_line = _SYNTAX.sub(r"\\\1", visible(" ".join(text.split())))
    # Mentions are found after the Markdown is rendered; only another node in between stops them.
    return _REFERENCE.sub(lambda found: f"{found[0]}<!-- -->", one_line)


def code(text: str) -> str:
    """Return an id as a code span."""
    one_line = visible(" ".join(text.split()))
    longest = max(map(len, _BACKTICKS.findall(one_line)), default=0)
    fence = "`" * (longest + 1)
    space = " " if one_line.startswith("`") or one_line.endswith("`") else ""
    return f"{fence}{space}{one_line}{space}{fence}"


def _text(
    title: str, summary: str, sections: Mapping[str, Sequence[str]], numbers: Mapping[str, int]
) -> str:
    lines = [marker(title), f"## {escape(title)}", "", summary]
    for name, entries in sections.items():
        if entries:
            lines += ["", f"### {name} ({len(entries):,})", ""]
            lines += _listed(entries, numbers[name])
    return "\n".join(lines) + "\n"


def _listed(entries: Sequence[str], number: int) -> list[str]:
    lines = [f"- {entry}" for entry in entries[:number]]
    if len(entries) > number:
        start = "… and " if number else ""
        lines.append(f"- {start}{len(entries) - number:,} more, which are not listed here")
    return lines
