"""Changes as Markdown that fits into a comment on GitHub; all user text is escaped."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from taxoexpan.phrasing import join_words, pluralize, visible
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.difference import Change, Difference, ParentChange

NO_PREFIXES = Prefixes()
MAX_DEFINITION = 200
"""Characters of a definition that are shown."""
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


def changes_markdown(
    difference: Difference,
    changed_ids: Sequence[tuple[str, str]] = (),
    prefixes: Prefixes = NO_PREFIXES,
    title: str = "Changes",
) -> str:
    """Return the changes and the concepts with changed ids, as sections below a title."""

    def id_code(id: str) -> str:
        return code(prefixes.compact(id) or id)

    def named(concept: Concept) -> str:
        return f"**{escape(concept.label)}** ({id_code(concept.id)})"

    old = difference.old
    new = difference.new
    sections = {
        "Added": [
            f"{named(concept)} {_place(new, new.parents(concept.id))}{_details(concept)}"
            for concept in difference.added
        ],
        "Moved": [f"{named(move.concept)}: {_steps(old, new, move)}" for move in difference.moved],
        "Renamed": [
            f"{escape(change.old.label)} → {named(change.new)}" for change in difference.relabeled
        ],
        "Described": [
            f"{named(change.new)}: {details}"
            for change in difference.changed
            if (details := _described(change))
        ],
        "Id changed": [
            f"**{escape(old.concept(id).label)}**: {id_code(id)} → {id_code(other)}"
            for id, other in changed_ids
        ],
        "Removed": [
            f"{named(concept)}, which was {_place(old, old.parents(concept.id))}"
            for concept in difference.removed
        ],
    }
    counts = [f"{len(entries):,} {name.lower()}" for name, entries in sections.items() if entries]
    return document(title, f"{join_words(counts)}." if counts else "No changes.", sections)


def _steps(old: Taxonomy, new: Taxonomy, move: ParentChange) -> str:
    """Describe the parents that a concept lost and the parents that it got."""
    left = move.removed_parents
    joined = move.added_parents
    if left and joined:
        return f"from {_paths(old, left)} to {_paths(new, joined)}"
    if joined:
        also = "also " if old.parents(move.concept.id) else ""
        return f"now {also}{_place(new, joined)}"
    top = "" if new.parents(move.concept.id) else ", now at the top"
    return f"no longer {_place(old, left)}{top}"


def _place(taxonomy: Taxonomy, parents: Iterable[str]) -> str:
    paths = _paths(taxonomy, parents)
    return f"under {paths}" if paths else "at the top"


def _paths(taxonomy: Taxonomy, ids: Iterable[str]) -> str:
    return " and ".join(" › ".join(map(escape, taxonomy.short_path(id))) for id in ids)


def _details(concept: Concept) -> str:
    """Return the synonyms and the definition of a new concept."""
    parts = []
    if concept.synonyms:
        label = "synonym" if len(concept.synonyms) == 1 else "synonyms"
        parts.append(f"{label} {join_words([escape(name) for name in concept.synonyms])}")
    if concept.definition:
        parts.append(_definition(concept))
    return f"; {'; '.join(parts)}" if parts else ""


def _described(change: Change) -> str:
    """Describe the changes of the synonyms, the definition and the deprecation of a concept."""
    old = change.old
    new = change.new
    added = [escape(name) for name in new.synonyms if name not in old.synonyms]
    removed = [escape(name) for name in old.synonyms if name not in new.synonyms]
    parts = [
        f"{pluralize(len(names), f'{how} synonym')} {join_words(names)}"
        for how, names in (("new", added), ("removed", removed))
        if names
    ]
    if old.definition != new.definition:
        parts.append(_definition(new) if new.definition else "no definition")
    if old.deprecated != new.deprecated:
        parts.append("deprecated" if new.deprecated else "no longer deprecated")
    return "; ".join(parts)


def _definition(concept: Concept) -> str:
    text = textwrap.shorten(concept.definition, MAX_DEFINITION, placeholder=" …")
    return f"definition: {escape(text)}"


def document(title: str, summary: str, sections: Mapping[str, Sequence[str]]) -> str:
    """Return a hidden marker, a title, a summary and one list of escaped entries per section."""
    numbers = {name: min(len(entries), MAX_LISTED) for name, entries in sections.items()}
    text = _text(title, summary, sections, numbers)
    while len(text) > MAX_CHARACTERS and any(numbers.values()):
        lengths = {name: len("".join(sections[name][:n])) for name, n in numbers.items() if n}
        numbers[max(lengths, key=lengths.__getitem__)] //= 2
        text = _text(title, summary, sections, numbers)
    return text


def marker(title: str) -> str:
    """Return a hidden Markdown comment, by which a program can find its document again."""
    return f"<!-- taxoexpan: {quote(title, safe=' ./,()')} -->"


def escape(text: str) -> str:
    """Return Markdown that shows this string unchanged, on one line."""
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
            number = numbers[name]
            lines += ["", f"### {name} ({len(entries):,})", ""]
            lines += [f"- {entry}" for entry in entries[:number]]
            rest = len(entries) - number
            start = "… and " if number else ""
            lines += [f"- {start}{rest:,} more, which are not listed here"] if rest else []
    return "\n".join(lines) + "\n"
