"""Everything that the review pages work with: the store, the taxonomy, the model's reasons."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.queue import UNLISTED
from taxoexpan.desk.store.records import Status
from taxoexpan.explain import Evidence, describe
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import join_words, signed
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion
from taxoexpan.report.page import Details
from taxoexpan.report.suggestion_details import describe_region, network_facts, similarity_facts
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex

MAX_CACHED = 1000
"""The number of concepts whose explanations are kept."""
TOP_K = 5
"""The number of parents that are proposed per concept."""


class EvidenceCache:
    """Asks the model for evidence, one concept at a time, and keeps the latest answers.

    The model is not made for threads, so that a lock guards it.
    """

    def __init__(self, model: TaxoExpan) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._kept: OrderedDict[Concept, Evidence | None] = OrderedDict()

    def explain(self, concept: Concept, proposals: Sequence[Suggestion], id: str) -> Details:
        """Explain why the concept with this id is proposed."""
        evidence = self._evidence(concept)
        proposal = next((each for each in proposals if each.parent.id == id), None)
        others = evidence.suggestions if evidence else ()
        found = next((each for each in others if each.parent.id == id), None)
        paragraphs, facts = [], []
        if proposal is not None and proposal.is_merge:
            paragraphs.append(f"It is likely a synonym of '{proposal.parent.label}'.")
        if evidence is not None and evidence.first.parent.id == id:
            paragraphs.append(describe(evidence))
            facts += [*similarity_facts(evidence.first), *network_facts(evidence)]
        elif found is not None:
            sentence = f"Its similarity to '{found.parent.label}' is {signed(found.cosine)}"
            if found.shared_words:
                sentence += f", and it shares the words {join_words(found.shared_words)}"
            near = [f"'{e.concept.label}' ({signed(e.cosine)})" for e in found.nearest_children]
            nearest = f" The nearest children are {join_words(near)}." if near else ""
            paragraphs.append(f"{sentence}.{nearest}")
            facts += similarity_facts(found)
        if proposal is not None and proposal == proposals[0] and proposal.place == Place.NONE:
            ids = [each.parent.id for each in proposals if not each.is_merge]
            paragraphs.append(describe_region(self._model.taxonomy, ids))
        texts = ((name, v if isinstance(v, str) else " › ".join(v)) for name, v in facts)
        return Details(tuple(paragraphs), tuple(texts))

    def _evidence(self, concept: Concept) -> Evidence | None:
        """Return the evidence for the parents of a concept, or None if there is none."""
        with self._lock:
            if concept not in self._kept:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # they were printed with the suggestions
                    found = self._model.suggest_with_evidence([concept], TOP_K)[1]
                self._kept[concept] = found[0] if found else None
                if len(self._kept) > MAX_CACHED:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(concept)
            return self._kept[concept]


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

    @property
    def expanded(self) -> Taxonomy:
        """The taxonomy to which accepted concepts are added.

        The model's taxonomy may have accepted concepts already, which the file does not have.
        """
        return self.file.taxonomy if self.file else self.taxonomy

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
