"""Everything that the review pages work with: the store, the taxonomy, the model's reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from taxoexpan.desk.review.evidence_cache import EvidenceCache
from taxoexpan.desk.store.concept_import import UNLISTED
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.records import LoggedDecision, Status
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex


@dataclass(frozen=True)
class ReviewDesk:
    """The parts of a review; `file` is the taxonomy file to expand, if one is given.

    `defined` are new concepts by id, with definitions from a glossary. `listed` says which concepts
    of the store are in the list that is reviewed, and are shown; None if all are.
    """

    store: DecisionStore
    taxonomy: Taxonomy
    evidence: EvidenceCache
    curator: str
    defined: Mapping[str, Concept] = field(default_factory=dict)
    file: TaxonomyFile | None = None
    keep_formulas: bool = False
    listed: bytes | None = None
    names: NameIndex = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", NameIndex.of(self.taxonomy))

    def with_definition(self, concept: Concept) -> Concept:
        """Return a new concept as the model sees it: with its definition from the glossary."""
        return self.defined.get(concept.id, concept)

    def counts(self) -> dict[Status, int]:
        """Count the concepts of the list, by their status."""
        return self.store.counts(self.listed)

    def count_others(self) -> int:
        """Count the concepts of the store that are not in the list."""
        return self.listed.count(UNLISTED) if self.listed else 0

    def label_of(self, id: str) -> str:
        """Return the label of a concept of the taxonomy, or the id if there is none."""
        return self.taxonomy.concept(id).label if id in self.taxonomy else id

    def decision(self, number: int) -> LoggedDecision | None:
        """Return a decision by its number; decisions are numbered from 1 without a gap."""
        newest = self.store.history(0, 1)
        if not newest or not 1 <= number <= newest[0].number:
            return None
        found = self.store.history(newest[0].number - number, 1)
        return found[0] if found and found[0].number == number else None
