"""The suggestions for a list of new concepts, grouped by concept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from taxoexpan.decisions.suggestion import Suggestion, Suitability
from taxoexpan.phrasing import ELLIPSIS, pluralize, visible

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN = 20
"""New concepts that are shown."""
MAX_PATH = 60
"""Characters of a path that are shown; its first labels are left out."""


class Suggestions(Sequence[Sequence[Suggestion]]):
    """The suggestions for new concepts: one list per concept, best first.

    An element is found by its position or by the label of the new concept.

    Examples:
        >>> from taxoexpan import Concept, Suggestion, Suggestions
        >>> kefir = Concept("1", "kefir")
        >>> milk, tea = Concept("2", "milk"), Concept("3", "tea")
        >>> first = Suggestion(kefir, 1, milk, ("food", "milk"), 0.7, 0.9)
        >>> second = Suggestion(kefir, 2, tea, ("food", "tea"), 0.2, 0.1)
        >>> suggestions = Suggestions([first, second])
        >>> suggestions
        1 new concept, 2 suggestions
        kefir
          1  0.90  milk  (food > milk)
          2  0.10  tea  (food > tea)
        >>> suggestions["kefir"][0].parent.label
        'milk'
        >>> suggestions.to_dicts()[1]["path"]
        ['food', 'tea']
    """

    def __init__(self, suggestions: Iterable[Suggestion]) -> None:
        groups: dict[str, list[Suggestion]] = {}
        for suggestion in suggestions:
            groups.setdefault(suggestion.query.id, []).append(suggestion)
        self._groups = [tuple(group) for group in groups.values()]

    def __len__(self) -> int:
        """Return the number of new concepts."""
        return len(self._groups)

    def __iter__(self) -> Iterator[Sequence[Suggestion]]:
        """Iterate over the suggestions for each new concept."""
        return iter(self._groups)

    @overload
    def __getitem__(self, key: int | str) -> Sequence[Suggestion]: ...

    @overload
    def __getitem__(self, key: slice) -> Suggestions: ...

    def __getitem__(self, key: int | str | slice) -> Sequence[Suggestion] | Suggestions:
        """Return the suggestions for one concept, by position or label, or for several."""
        if isinstance(key, slice):
            return Suggestions(each for group in self._groups[key] for each in group)
        if isinstance(key, str):
            for group in self._groups:
                if group[0].query.label == key:
                    return group
            raise KeyError(key)
        return self._groups[key]

    def __eq__(self, other: object) -> bool:
        """Return whether all suggestions are the same."""
        return isinstance(other, Suggestions) and self._groups == other._groups

    def __repr__(self) -> str:
        """Return a short table of the first concepts."""
        concepts = pluralize(len(self), "new concept")
        lines = [f"{concepts}, {pluralize(len(self.flat), 'suggestion')}"]
        for group in self._groups[:MAX_SHOWN]:
            remark = "  (no suitable parent)" if group[0].place == Suitability.NONE else ""
            lines.append(f"{group[0].query.label}{remark}")
            lines += [_line(suggestion) for suggestion in group]
        if len(self) > MAX_SHOWN:
            lines.append(f"… and {len(self) - MAX_SHOWN:,} more")
        return "\n".join(map(visible, lines))

    @property
    def flat(self) -> list[Suggestion]:
        """All suggestions in one list."""
        return [suggestion for group in self._groups for suggestion in group]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary per suggestion, with the names of the CSV columns."""
        return [
            {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in suggestion.values().items()
            }
            for suggestion in self.flat
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per suggestion; this needs pandas."""
        import pandas as pd

        from taxoexpan.decisions.suggestion import COLUMNS

        return pd.DataFrame(self.to_dicts(), columns=list(COLUMNS))


def _line(suggestion: Suggestion) -> str:
    """Return one line about a suggestion: rank, confidence, parent and path."""
    number = f"{suggestion.confidence_or_score:.2f}"
    path = list(suggestion.path)
    while len(" > ".join(path)) > MAX_PATH and len(path) > 2:
        path = [ELLIPSIS, *path[2:]]
    kind = "" if suggestion.kind == "attach" else f"  [{suggestion.kind}]"
    return f"  {suggestion.rank}  {number}  {suggestion.parent.label}  ({' > '.join(path)}){kind}"
