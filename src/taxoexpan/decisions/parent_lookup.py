"""Tables of decisions, in which a row may name its parent by label or path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from taxoexpan.decisions.decision import COARSE, Decision
from taxoexpan.decisions.suggestion import (
    Decider,
    Suggestion,
    SuggestionError,
    SuggestionKind,
    Verdict,
    with_known_parent,
    with_query_ids,
)
from taxoexpan.decisions.suggestion_tables import read_rows
from taxoexpan.errors import CycleError, FileCycleError, FormatError
from taxoexpan.phrasing import join_words, pluralize, visible
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
    """Read a table of suggestions; a blank parent_id is looked up by label, path, or both."""
    suggestions = with_query_ids(taxonomy, read_rows(path), ids)
    lookup = ParentLookup(taxonomy, suggestions)
    found = []
    problems = []
    for suggestion in suggestions:
        line = suggestion.line
        moved = suggestion.moves if suggestion.kind == SuggestionKind.INSERT else ()
        is_moving = check_moves or suggestion.decided_by == Decider.PERSON
        unknown = next((id for id in moved if is_moving and id not in taxonomy), None)
        if unknown is not None:
            message = f"moves contains {unknown!r}, but no concept of the taxonomy has that id"
            fix = "remove it from the cell, put | between ids, or suggest again"
            raise FormatError(path, message, fix=fix, line=line)
        try:
            found.append(with_known_parent(taxonomy, lookup.with_parent(suggestion)))
        except LookupError as error:
            problems.append(f"\n  line {line}: {error.args[0]}")
        except SuggestionError as error:
            raise in_table(error, path) from None
    if problems:
        count = pluralize(len(problems), "row has", "rows have")
        shown = "".join(problems[:MAX_ROWS])
        if len(problems) > MAX_ROWS:
            shown += f"\n  … and {len(problems) - MAX_ROWS:,} more"
        fix = f"write its id into the column parent_id{shown}"
        raise FormatError(path, f"{count} no clear parent", fix=fix)
    _refuse_contradictions(path, found)
    return _with_rejections(found)


def in_table(error: SuggestionError, path: Path) -> FormatError:
    """Return an error about a suggestion as an error about its line in a table."""
    return FormatError(path, error.problem, fix=error.fix, line=error.suggestion.line)


def cycles_in_table(error: CycleError, path: Path, decisions: Iterable[Decision]) -> FileCycleError:
    """Return an error about cycles with the lines of a table that add their relations."""
    rows = [s for decision in decisions for s in decision.suggestions]
    added = {(s.parent.id, s.query.id): s.line for s in rows}
    lines = []
    for cycle in error.cycles:
        relations = zip([cycle[-1], *cycle], cycle, strict=False)
        lines.append([line for line in map(added.get, relations) if line is not None])
    return FileCycleError(path, error.cycles, lines)


def _refuse_contradictions(path: Path, suggestions: Sequence[Suggestion]) -> None:
    """Refuse a merge beside another decision, and a parent that is accepted and rejected."""
    # A coarse placement says that the place is true, but not the parent, which may be rejected.
    accepted = {(s.query.id, s.target, s.kind == COARSE): s for s in suggestions if s.is_decided}
    first: dict[str, Suggestion] = {}
    for suggestion in suggestions:
        is_coarse = suggestion.kind == COARSE
        same = accepted.get((suggestion.query.id, suggestion.target, is_coarse))
        if suggestion.decision == Verdict.REJECTED and same is not None:
            message = f"{suggestion.query.label!r} is rejected here, but {_accepted_as(same)}"
            fix = "keep only one of these rows"
            raise FormatError(path, f"{message} on line {same.line}", fix=fix, line=suggestion.line)
        if not suggestion.is_decided:
            continue
        known = first.setdefault(suggestion.query.id, suggestion)
        if known.target != suggestion.target and (known.is_merge or suggestion.is_merge):
            message = f"{suggestion.query.label!r} is {_accepted_as(suggestion)}, but "
            message += f"{_accepted_as(known)} on line {known.line}"
            fix = "accept only one of these rows"
            raise FormatError(path, message, fix=fix, line=suggestion.line)


def _with_rejections(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the rows of a table; a rejection holds for all open rows of the same parent."""
    rejected = {(s.query.id, s.target) for s in suggestions if s.decision == Verdict.REJECTED}
    return [
        replace(s, decision=Verdict.REJECTED)
        if not s.is_decided and (s.query.id, s.target) in rejected
        else s
        for s in suggestions
    ]


def _accepted_as(suggestion: Suggestion) -> str:
    how = "accepted as a synonym of" if suggestion.is_merge else "accepted below"
    parent = suggestion.parent
    return f"{how} {(parent.label or parent.id)!r}"


class ParentLookup:
    """An index of a taxonomy's concepts and a table's new concepts by labels and paths."""

    def __init__(self, taxonomy: Taxonomy, suggestions: Sequence[Suggestion]) -> None:
        self._taxonomy = taxonomy
        self._new_ids = {suggestion.query.id for suggestion in suggestions}
        self._named: dict[str, list[str]] = {}
        """The ids of concepts, without deprecated ones, by their normalized labels."""
        self._new: dict[str, dict[str, None]] = {}
        if all(suggestion.parent.id for suggestion in suggestions):
            return
        for concept in taxonomy.active.concepts:
            self._named.setdefault(normalize_name(concept.label), []).append(concept.id)
        for suggestion in suggestions:
            query = suggestion.query
            self._new.setdefault(normalize_name(query.label), {})[query.id] = None

    def with_parent(self, suggestion: Suggestion) -> Suggestion:
        """Return a row with its parent's id; raise LookupError if the parent is unclear."""
        id = suggestion.parent.id
        if id:
            if suggestion.is_decided and id not in self._taxonomy and id not in self._new_ids:
                is_label = id in self._taxonomy.labels
                fix = "; it is a label, so write it into the column parent_label"
                raise LookupError(f"no concept has the id {id!r}{fix if is_label else ''}")
            return suggestion
        path = tuple(filter(None, map(str.strip, suggestion.path)))
        label = suggestion.parent.label or path[-1]
        parents = self._find(label, path, suggestion.query.id)
        if not parents and len(path) == 1 and normalize_name(path[0]) not in self._named:
            for separator in _SEPARATORS:
                split = tuple(part.strip() for part in path[0].split(separator))
                last = suggestion.parent.label or split[-1]
                if parents := self._find(last, split, suggestion.query.id):
                    path = split
                    label = last
                    break
        if len(parents) != 1:
            raise LookupError(self._describe(label, path, parents))
        (id,) = parents
        parent = suggestion.parent
        known = self._taxonomy.concept(id) if id in self._taxonomy else replace(parent, id=id)
        return replace(suggestion, parent=known)

    def _find(self, label: str, path: Sequence[str], query: str) -> list[str]:
        """Return the ids of all concepts that the parent of a row may refer to."""
        name = normalize_name(label)
        names = [normalize_name(each) for each in path]
        if names and names[-1] != name:
            return []
        named = self._named.get(name, [])
        exact = [id for id in named if self._taxonomy.concept(id).label == label]
        if not named:
            return [id for id in self._new.get(name, ()) if id != query]
        return [id for id in exact or named if not names or self._is_at(id, names)]

    def _is_at(self, id: str, path: Sequence[str]) -> bool:
        """Return whether a path leads to a concept; the path may start below the root."""
        label = self._taxonomy.labels[self._taxonomy.index(id)]
        if normalize_name(label) != path[-1]:
            return False
        parents = self._taxonomy.parents(id)
        return len(path) == 1 or any(self._is_at(parent, path[:-1]) for parent in parents)

    def _describe(self, label: str, path: Sequence[str], parents: Sequence[str]) -> str:
        """Describe why a row has no clear parent, and list the possible parents."""
        if path and normalize_name(path[-1]) != normalize_name(label):
            return f"parent_label is {label!r}, but the path ends in {path[-1]!r}; clear one"
        if parents:
            return f"{label!r} is {self._choices(parents)}"
        same = self._named.get(normalize_name(label), [])
        if same:
            return f"no {label!r} is at {' > '.join(path)!r}; there is {self._choices(same)}"
        index = known_names(self._taxonomy).get(normalize_name(label))
        if index is not None:
            known = self._taxonomy.concept_at(index)
            kind = "a deprecated concept" if known.deprecated else "a synonym"
            return f"{label!r} is not a label, but {kind}: {self._choices([known.id])}"
        return f"no concept has the label {label!r}"

    def _choices(self, ids: Sequence[str]) -> str:
        shown = [
            visible(f"{id} ({' > '.join(self._taxonomy.path(id))})")
            if id in self._taxonomy
            else f"{visible(id)} (new)"
            for id in ids[:MAX_CHOICES]
        ]
        if len(ids) > MAX_CHOICES:
            shown.append(f"{len(ids) - MAX_CHOICES:,} others")
        return join_words(shown, "or")


def with_details(
    suggestions: Sequence[Suggestion], concepts: Sequence[Concept]
) -> list[Suggestion]:
    """Fill in missing synonyms and definitions of queries by name; of equal names, the id decides.

    The texts of a suggestion stay, because a person may have edited them.
    """
    details: dict[tuple[str, str], Concept] = {}
    for concept in concepts:
        name = normalize_name(concept.label)
        details.setdefault((name, concept.id), concept)
        details.setdefault((name, ""), concept)
    detailed = []
    for suggestion in suggestions:
        query = suggestion.query
        name = normalize_name(query.label)
        listed = details.get((name, query.id)) or details.get((name, ""), query)
        synonyms = query.synonyms or listed.synonyms
        definition = query.definition or listed.definition
        query = replace(query, synonyms=synonyms, definition=definition)
        detailed.append(replace(suggestion, query=query))
    return detailed
