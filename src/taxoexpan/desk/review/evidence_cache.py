"""Explanations of proposals, computed when a concept is opened, and then kept."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from taxoexpan.explain import Evidence, describe
from taxoexpan.explain.evidence import SuggestionEvidence
from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import join_words, signed
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.report.suggestion_details import describe_region, network_facts, similarity_facts
from taxoexpan.taxonomy import Concept

MAX_CACHED = 1000
"""The number of concepts whose explanations are kept."""
TOP_K = 5
"""The number of parents that are proposed per concept."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons for one proposal: sentences, and facts with their names."""

    paragraphs: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


class EvidenceCache:
    """Asks the model for evidence, one concept at a time, and keeps the latest answers.

    The model is not made for threads, so that a lock guards it.
    """

    def __init__(self, model: TaxoExpan) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._kept: OrderedDict[Concept, Evidence | None] = OrderedDict()

    def explain(self, concept: Concept, proposals: Sequence[Suggestion], id: str) -> Explanation:
        """Explain why the concept with this id is proposed."""
        evidence = self._evidence(concept)
        proposal = next((each for each in proposals if each.parent.id == id), None)
        paragraphs, facts = [], []
        if evidence is not None and evidence.first.parent.id == id:
            paragraphs.append(describe(evidence))
            facts += [*similarity_facts(evidence.first), *network_facts(evidence)]
        elif evidence is not None:
            found = next((each for each in evidence.suggestions if each.parent.id == id), None)
            if found is not None:
                paragraphs.append(_similarity(found))
                facts += similarity_facts(found)
        if proposal is not None and proposal.kind == SuggestionKind.MERGE:
            paragraphs.insert(0, f"It is likely a synonym of '{proposal.parent.label}'.")
        if proposal is not None and proposal == proposals[0] and proposal.place == Place.NONE:
            ids = [each.parent.id for each in proposals if each.kind != SuggestionKind.MERGE]
            paragraphs.append(describe_region(self._model.taxonomy, ids))
        texts = ((name, v if isinstance(v, str) else " › ".join(v)) for name, v in facts)
        return Explanation(tuple(paragraphs), tuple(texts))

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


def _similarity(found: SuggestionEvidence) -> str:
    """Say how similar the new concept is to a parent that is not the model's first suggestion."""
    sentence = f"Its similarity to '{found.parent.label}' is {signed(found.cosine)}"
    if found.shared_words:
        sentence += f", and it shares the words {join_words(found.shared_words)}"
    nearest = [f"'{each.concept.label}' ({signed(each.cosine)})" for each in found.nearest_children]
    return (
        f"{sentence}. The nearest children are {join_words(nearest)}."
        if nearest
        else f"{sentence}."
    )
