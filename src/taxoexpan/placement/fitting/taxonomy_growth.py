"""How far a taxonomy has moved on since a model was trained on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from taxoexpan.phrasing import pluralize

Relation = tuple[str, str]

RETRAINING_SHARE = 0.05
"""If this share of the concepts was added, a continued training ranks measurably better
(docs/guides/updating.md)."""


@dataclass(frozen=True)
class TaxonomyGrowth:
    """The ids of concepts, and the relations, that differ from those of the training.

    `changed` concepts have other names, another definition or another deprecation.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    relations_added: frozenset[Relation] = frozenset()
    relations_removed: frozenset[Relation] = frozenset()

    def __bool__(self) -> bool:
        return any(
            (self.added, self.removed, self.changed, self.relations_added, self.relations_removed)
        )

    def followed_by(self, later: TaxonomyGrowth) -> TaxonomyGrowth:
        """Return the difference after a later change; what is added and removed again is gone.

        A concept that was removed and comes back counts as changed.
        """
        added = (self.added - later.removed) | (later.added - self.removed)
        removed = (self.removed - later.added) | (later.removed - self.added)
        changed = self.changed | later.changed | (self.removed & later.added)
        return TaxonomyGrowth(
            added,
            removed,
            changed - added - removed,
            (self.relations_added - later.relations_removed)
            | (later.relations_added - self.relations_removed),
            (self.relations_removed - later.relations_added)
            | (later.relations_removed - self.relations_added),
        )

    def is_training_advised(self, concepts: int) -> bool:
        """Return whether so much was added to the concepts of the training that training pays."""
        return len(self.added) >= RETRAINING_SHARE * concepts > 0

    def sentence(self, concepts: int) -> str:
        """Describe the difference; the shares are those of the concepts of the training."""
        parts = [
            f"{pluralize(len(self.added), 'concept')} added ({_share(len(self.added), concepts)})",
            f"{len(self.removed):,} removed",
            f"{len(self.changed):,} changed ({_share(len(self.changed), concepts)})",
        ]
        relations = f"{pluralize(len(self.relations_added), 'relation')} added"
        return f"{', '.join(parts)}; {relations}, {len(self.relations_removed):,} removed"

    def figures(self, concepts: int, relations: int) -> dict[str, Any]:
        """Return all counts, and their shares of the concepts and relations of the training."""
        counts = {
            "concepts_added": (len(self.added), concepts),
            "concepts_removed": (len(self.removed), concepts),
            "concepts_changed": (len(self.changed), concepts),
            "relations_added": (len(self.relations_added), relations),
            "relations_removed": (len(self.relations_removed), relations),
        }
        shares = {f"{name}_share": round(n / max(of, 1), 4) for name, (n, of) in counts.items()}
        advised = {"training_advised": self.is_training_advised(concepts)}
        return {name: count for name, (count, _) in counts.items()} | shares | advised

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return {name: sorted(ids) for name, ids in vars(self).items()}


NO_GROWTH = TaxonomyGrowth()


def _share(count: int, total: int) -> str:
    """Format a share with one decimal, since most updates are small."""
    return f"{100 * count / max(total, 1):.1f}\N{NO-BREAK SPACE}%"
