"""The values of a column that says which concepts are deprecated."""

from __future__ import annotations

from collections.abc import Iterable

DEPRECATED_WORDS = (
    *("deprecated", "obsolete", "retired", "withdrawn", "inactive", "superseded", "replaced"),
    "deleted",
)
ACTIVE_WORDS = ("active", "current", "valid", "approved", "published", "draft")
"""The words of a status; only a column with such words is read without being called deprecated."""

_YES = ("true", "yes", "y", "t", "x", "1")
_NO = ("false", "no", "n", "f", "0")
_ALSO_YES = ("1.0", "✓", "✔")
_ALSO_NO = ("", "0.0", "-", "–", "—", "null", "none", "nan", "n/a", "na", "#n/a")
"""Values that programs write; 1.0 and 0.0 come from a column with empty cells."""

_DEPRECATED = frozenset({*_YES, *_ALSO_YES, *DEPRECATED_WORDS})
_ACTIVE = frozenset({*_NO, *_ALSO_NO, *ACTIVE_WORDS})

ACCEPTED = f"{', '.join((*_YES, *DEPRECATED_WORDS))}; or {', '.join((*_NO, *ACTIVE_WORDS))}"
"""The accepted values, as a message lists them: for deprecated concepts, then for the others."""


def parse_deprecated(value: str) -> bool | None:
    """Return whether a value marks a concept as deprecated, or None if this is not clear."""
    text = value.strip().casefold()
    return True if text in _DEPRECATED else False if text in _ACTIVE else None


def are_statuses(values: Iterable[str]) -> bool:
    """Return whether all filled cells of a column have words such as active and deprecated."""
    words = {value.strip().casefold() for value in values} - {""}
    return bool(words) and words.issubset((*DEPRECATED_WORDS, *ACTIVE_WORDS))
