"""Changes as Markdown, for the description of a pull request."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from taxoexpan.formats.changes.markdown_document import code, document, escape
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.difference import Change, Difference, ParentChange

MAX_DEFINITION = 200
"""Characters of a definition that are shown."""


@dataclass(frozen=True)
class MarkdownWriter:
    """Writes changes as sections of Markdown; all labels and ids are escaped."""

    prefixes: Prefixes = field(default_factory=Prefixes)

    def text(
        self,
        difference: Difference,
        changed_ids: Sequence[tuple[str, str]] = (),
        title: str = "Changes",
    ) -> str:
        """Return the changes, and the concepts whose ids changed, below a title."""
        sections = self._sections(difference, changed_ids)
        return document(title, _summary(sections), sections)

    def _sections(
        self, difference: Difference, changed_ids: Sequence[tuple[str, str]]
    ) -> dict[str, list[str]]:
        old, new, named = difference.old, difference.new, self._named
        return {
            "Added": [
                f"{named(concept)} {_place(new, new.parents(concept.id))}{_details(concept)}"
                for concept in difference.added
            ],
            "Moved": [
                f"{named(move.concept)}: {_steps(old, new, move)}" for move in difference.moved
            ],
            "Renamed": [
                f"{escape(change.old.label)} → {named(change.new)}"
                for change in difference.relabeled
            ],
            "Described": [
                f"{named(change.new)}: {details}"
                for change in difference.changed
                if (details := _described(change))
            ],
            "Id changed": [
                f"**{escape(old.concept(id).label)}**: {self._id(id)} → {self._id(other)}"
                for id, other in changed_ids
            ],
            "Removed": [
                f"{named(concept)}, which was {_place(old, old.parents(concept.id))}"
                for concept in difference.removed
            ],
        }

    def _named(self, concept: Concept) -> str:
        return f"**{escape(concept.label)}** ({self._id(concept.id)})"

    def _id(self, id: str) -> str:
        return code(self.prefixes.compact(id) or id)


def _summary(sections: dict[str, list[str]]) -> str:
    counts = [f"{len(entries):,} {name.lower()}" for name, entries in sections.items() if entries]
    return f"{join_words(counts)}." if counts else "No changes."


def _steps(old: Taxonomy, new: Taxonomy, move: ParentChange) -> str:
    """Say which parents a concept lost, and which it got."""
    left, joined = move.removed_parents, move.added_parents
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
    """Return how the synonyms, the definition and the deprecation of a concept changed."""
    old, new = change.old, change.new
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
