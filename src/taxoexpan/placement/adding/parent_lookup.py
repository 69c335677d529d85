"""Decisions that name a parent by its label or its path instead of its id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.phrasing import join_words, pluralize, visible
from taxoexpan.placement.adding.selection import with_query_ids
from taxoexpan.placement.suggesting.suggestion_table import read_rows
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name

_SEPARATORS = (">", "›", "»", "→", "/", "|", "\\")
"""What may separate the labels of a path, besides " > "."""
MAX_ROWS = 10
MAX_CHOICES = 5
"""How many rows, and how many concepts per row, an error lists."""


def read_decisions(
    path: Path, taxonomy: Taxonomy, ids: IdPolicy = DEFAULT_IDS, check_moves: bool = False
) -> list[Suggestion]:
    """Read a table of suggestions; a blank parent_id is looked up by label, path, or both.

    `ids` says how queries without an id get one. With `check_moves`, the concepts to move must be
    in the taxonomy.
    """
    columns = ("parent_id", "parent_label", "path")
    rows = read_rows(path, columns, taxonomy if check_moves else None)
    suggestions = with_query_ids(taxonomy, [suggestion for _, suggestion in rows], ids)
    lines = [line for line, _ in rows]
    _refuse_unknown_ids(path, taxonomy, lines, suggestions)
    if all(suggestion.parent.id for suggestion in suggestions):
        return suggestions
    lookup = ParentLookup.build(taxonomy, suggestions)
    found, problems = [], []
    for line, row in zip(lines, suggestions, strict=True):
        suggestion = lookup.with_split_path(row)
        parents = [suggestion.parent.id] if suggestion.parent.id else lookup.find(suggestion)
        if len(parents) == 1:
            found.append(lookup.with_parent(suggestion, parents[0]))
        else:
            problems.append(f"line {line}: {lookup.describe(suggestion, parents)}")
    if problems:
        raise FormatError(path, _problem(problems))
    return found


def _refuse_unknown_ids(
    path: Path, taxonomy: Taxonomy, lines: Sequence[int], suggestions: Sequence[Suggestion]
) -> None:
    """Refuse decisions whose parent_id belongs neither to the taxonomy nor to another row."""
    known = {*taxonomy.ids, *(suggestion.query.id for suggestion in suggestions), ""}
    labels = set(taxonomy.labels)
    problems = [
        f"line {line}: no concept has the id {id!r}"
        + ("; it is a label, so write it into the column parent_label" if id in labels else "")
        for line, suggestion in zip(lines, suggestions, strict=True)
        if suggestion.is_decided and (id := suggestion.parent.id) not in known
    ]
    if problems:
        raise FormatError(path, _problem(problems))


def _problem(problems: Sequence[str]) -> str:
    rows = pluralize(len(problems), "row has", "rows have")
    shown = [f"\n  {problem}" for problem in problems[:MAX_ROWS]]
    if len(problems) > MAX_ROWS:
        shown.append(f"\n  … and {len(problems) - MAX_ROWS:,} more")
    return f"{rows} no clear parent; write its id into the column parent_id{''.join(shown)}"


@dataclass(frozen=True)
class ParentLookup:
    """Finds concepts of a taxonomy, and new concepts of a table, by their labels and paths."""

    taxonomy: Taxonomy
    by_label: dict[str, list[str]]
    by_name: dict[str, list[str]]
    new: dict[str, list[str]]

    @classmethod
    def build(cls, taxonomy: Taxonomy, suggestions: Iterable[Suggestion]) -> ParentLookup:
        """Index the labels of a taxonomy and of the queries; deprecated concepts are left out."""
        by_label: dict[str, list[str]] = {}
        by_name: dict[str, list[str]] = {}
        for concept in taxonomy.active.concepts:
            by_label.setdefault(concept.label, []).append(concept.id)
            by_name.setdefault(normalize_name(concept.label), []).append(concept.id)
        new: dict[str, dict[str, None]] = {}
        for suggestion in suggestions:
            query = suggestion.query
            new.setdefault(normalize_name(query.label), {})[query.id] = None
        return cls(taxonomy, by_label, by_name, {name: list(ids) for name, ids in new.items()})

    def find(self, suggestion: Suggestion) -> list[str]:
        """Return the ids of all concepts that a row may mean as the parent."""
        label, path = _label_and_path(suggestion)
        name = normalize_name(label)
        if path and normalize_name(path[-1]) != name:
            return []
        candidates = self.by_label.get(label) or self.by_name.get(name, [])
        if not candidates:
            return [id for id in self.new.get(name, []) if id != suggestion.query.id]
        names = [normalize_name(each) for each in path]
        return [id for id in candidates if not names or self._is_at(id, names)]

    def with_split_path(self, suggestion: Suggestion) -> Suggestion:
        """Return a row whose path is split at another separator, if it leads to a concept then."""
        path = _label_and_path(suggestion)[1] if not suggestion.parent.id else ()
        if len(path) != 1 or normalize_name(path[0]) in {*self.by_name, *self.new}:
            return suggestion
        for separator in _SEPARATORS:
            split = replace(suggestion, path=tuple(path[0].split(separator)))
            if len(split.path) > 1 and self.find(split):
                return split
        return suggestion

    def with_parent(self, suggestion: Suggestion, id: str) -> Suggestion:
        """Return a row with the id of its parent, and with its label as in the taxonomy."""
        known = id in self.taxonomy and not suggestion.parent.id
        parent = self.taxonomy.concept(id) if known else replace(suggestion.parent, id=id)
        return replace(suggestion, parent=parent)

    def _is_at(self, id: str, path: Sequence[str]) -> bool:
        """Return whether a path leads to a concept; it may start below the root."""
        label = self.taxonomy.labels[self.taxonomy.index(id)]
        if normalize_name(label) != path[-1]:
            return False
        parents = self.taxonomy.parents(id)
        return len(path) == 1 or any(self._is_at(parent, path[:-1]) for parent in parents)

    def describe(self, suggestion: Suggestion, parents: Sequence[str]) -> str:
        """Say why a row has no clear parent, and list the concepts that it may mean."""
        label, path = _label_and_path(suggestion)
        if path and normalize_name(path[-1]) != normalize_name(label):
            return f"parent_label is {label!r}, but the path ends in {path[-1]!r}; clear one"
        if parents:
            return f"{label!r} is {self._choices(parents)}"
        same = self.by_name.get(normalize_name(label), [])
        if same:
            return f"no {label!r} is at {' > '.join(path)!r}; there is {self._choices(same)}"
        index = known_names(self.taxonomy).get(normalize_name(label))
        if index is not None:
            known = self.taxonomy.concept_at(index)
            kind = "a deprecated concept" if known.deprecated else "a synonym"
            return f"{label!r} is not a label, but {kind}: {self._named(known)}"
        return f"no concept has the label {label!r}"

    def _choices(self, ids: Sequence[str]) -> str:
        shown = [
            self._named(self.taxonomy.concept(id))
            if id in self.taxonomy
            else f"{visible(id)} (new)"
            for id in ids[:MAX_CHOICES]
        ]
        if len(ids) > MAX_CHOICES:
            shown.append(f"{len(ids) - MAX_CHOICES:,} others")
        return join_words(shown, "or")

    def _named(self, concept: Concept) -> str:
        return visible(f"{concept.id} ({' > '.join(self.taxonomy.path(concept.id))})")


def _label_and_path(suggestion: Suggestion) -> tuple[str, tuple[str, ...]]:
    """Return the label and the path that a row gives; the path may give the label."""
    path = tuple(filter(None, map(str.strip, suggestion.path)))
    return suggestion.parent.label or path[-1], path
