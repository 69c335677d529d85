"""Which concepts of a taxonomy have a given name."""

from __future__ import annotations

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.names import normalize_name


class NameMatches:
    """The concepts with each normalized name: by label, else by synonym, else in another language.

    Case, spaces and hyphens do not matter, as in the list of new concepts that `suggest` reads.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        labels = {index: (label,) for index, label in enumerate(taxonomy.labels)}
        self._kinds: list[dict[str, dict[int, None]]] = []
        for names_of in (labels, taxonomy.synonyms, taxonomy.foreign_names):
            found: dict[str, dict[int, None]] = {}
            for index, names in names_of.items():
                for name in names:
                    found.setdefault(normalize_name(name), {})[index] = None
            found.pop("", None)
            self._kinds.append(found)

    def find(self, name: str) -> list[int]:
        """Return the indices of the concepts with a name; labels take precedence over synonyms."""
        key = normalize_name(name)
        return next((list(found[key]) for found in self._kinds if key in found), [])
