"""The shared state of the review pages: the store, the taxonomy, and the model's evidence."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from taxoexpan.decisions.applying import Trial
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Suitability
from taxoexpan.desk.review.parents import UsableParents
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, Status, concept_key
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.desk.store.tables import chunks
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.explain import Evidence, describe
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.model import TaxoExpan
from taxoexpan.model_directory import model_digest
from taxoexpan.placement.learned.calibrators import branch_threshold
from taxoexpan.progress import Progress
from taxoexpan.report.page import Details
from taxoexpan.report.suggestion_details import describe_region, network_facts, similarity_facts
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.known_names import FilteredConcepts, filter_known_names
from taxoexpan.taxonomy.name_search import NameIndex, fold_name

MAX_CACHED = 1000
"""The number of concepts whose explanations are kept."""
TOP_K = 5
"""The number of parents that are proposed per concept."""
PACE_PERIOD = timedelta(hours=1)
MIN_PACE = 10
"""The number of decisions in the period from which a pace is known."""
MAX_CHECKED = 1000
"""The number of decisions, or of concepts with proposals, that are compared with the taxonomy."""


NOT_ACCEPTED = [status for status in Status if status != Status.ACCEPTED]


class EvidenceCache:
    """A cache of the model's evidence; its lock is needed because the model is not thread-safe."""

    def __init__(self, model: TaxoExpan) -> None:
        self._model = model
        self.training = model.training
        calibration = model.calibrators.calibration
        self.has_branches = calibration is not None and calibration.branches is not None
        self.min_branch = branch_threshold(model.calibrators)
        self._lock = threading.Lock()
        self._evidence = lru_cache(MAX_CACHED)(self._find_evidence)

    def explain(self, concept: Concept, proposals: Sequence[Suggestion], id: str) -> Details:
        """Explain why the concept with this id is proposed."""
        with self._lock:
            evidence = self._evidence(concept)
        proposal = next((each for each in proposals if each.parent.id == id), None)
        others = evidence.suggestions if evidence else ()
        found = next((each for each in others if each.parent.id == id), None)
        paragraphs = []
        facts = []
        if proposal is not None and proposal.is_merge:
            is_name = proposal.confidence == 1.0
            what = "a name" if is_name else "likely a synonym"
            synonym = f"It is {what} of '{proposal.parent.label}'."
            paragraphs.append(f"{proposal.why}." if proposal.why else synonym)
        if evidence is not None and found is not None:
            is_first = found is evidence.first
            alone = replace(evidence, suggestions=(found,), comparison=None)
            paragraphs.append(describe(evidence if is_first else alone))
            facts += [*similarity_facts(found), *(network_facts(evidence) if is_first else ())]
        if proposal is not None and proposal == proposals[0] and proposal.place == Suitability.NONE:
            ids = [each.parent.id for each in proposals if not each.is_merge]
            paragraphs.append(describe_region(self._model.taxonomy, ids))
        texts = ((name, v if isinstance(v, str) else " › ".join(v)) for name, v in facts)
        return Details(tuple(paragraphs), tuple(texts))

    def _find_evidence(self, concept: Concept) -> Evidence | None:
        """Return the evidence for the suggestions of a concept, or None if there is none."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were printed with the suggestions
            return next(iter(self._model.suggest_with_evidence([concept], TOP_K)[1]), None)


class Profile(NamedTuple):
    """What a curator needs to know about an existing concept."""

    definition: str
    synonyms: Sequence[str]
    child_count: int
    why_unusable: str
    """Why nothing can be placed below it, or an empty string."""


@dataclass(frozen=True)
class ReviewDesk:
    """The parts of a review; `definitions` are those of the glossary by the concept's label."""

    store: DecisionStore
    taxonomy: Taxonomy
    evidence: EvidenceCache
    curator: str
    definitions: Mapping[str, str] = field(default_factory=dict)
    file: TaxonomyFile | None = None
    listed: bytes | None = None
    tried: dict[Trial, str] = field(default_factory=dict)
    """Why the file cannot hold a text of a placed concept; an empty string if it can."""
    names: NameIndex = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", NameIndex.of(self.taxonomy))

    @cached_property
    def learned(self) -> dict[str, str]:
        """The ids of the concepts that the model has learned from the store, by their keys."""
        return learned_ids(self.store, self.taxonomy, self.file)

    @cached_property
    def obsolete(self) -> frozenset[str]:
        """The ids of the obsolete concepts of the file."""
        file = self.expanded
        return frozenset(file.ids[index] for index in file.deprecated)

    @cached_property
    def _parents(self) -> UsableParents:
        """The usable parents as long as no learned decision is undone."""
        return UsableParents(self.taxonomy, self.obsolete)

    def usable_parents(self) -> UsableParents:
        """Return the usable parents, without concepts whose decisions are undone now."""
        if not self.learned:
            return self._parents
        mask = self.store.mask(self.learned.keys())
        query = QueueQuery(statuses=NOT_ACCEPTED, listed=mask, limit=None)
        undone = {self.learned.get(each.key, "") for each in self.store.queue(query).concepts}
        return replace(self._parents, undone=frozenset(undone))

    @property
    def expanded(self) -> Taxonomy:
        """The taxonomy to expand; the model's taxonomy may already contain accepted concepts."""
        return self.file.taxonomy if self.file else self.taxonomy

    def with_definition(self, concept: Concept) -> Concept:
        """Return a new concept with its definition from the glossary."""
        definition = concept.definition or self.definitions.get(concept.label, "")
        return replace(concept, definition=definition)

    def with_model(self, model: TaxoExpan, name: str, listed: Sequence[Concept]) -> ReviewDesk:
        """Replace the proposals by those of another model, and return the desk with it."""
        concepts = filter_listed(self.store, model.taxonomy, listed, self.file)
        fill_queue(self.store, model, name, concepts, self.definitions)
        mask = self.store.listed([*concepts.new, *listed])
        return replace(self, taxonomy=model.taxonomy, evidence=EvidenceCache(model), listed=mask)

    def counts(self) -> dict[Status, int]:
        """Count the concepts of the list by status."""
        return self.store.counts(self.listed)

    def pace(self, curator: str) -> tuple[int, float] | None:
        """Return how many concepts a curator decides per hour, and the hours that the rest takes.

        There is no pace at the beginning.
        """
        count, since = self.store.recent_decisions(curator, PACE_PERIOD)
        if since is None or count < MIN_PACE:
            return None
        per_hour = 3600 * count / max((datetime.now(UTC) - since).total_seconds(), 1.0)
        counts = self.counts()
        return round(per_hour), (counts[Status.TODO] + counts[Status.DEFERRED]) / per_hour

    @cached_property
    def sure(self) -> bytes | None:
        """The concepts of the list that can be placed as deep as is sure; None if all can.

        It is computed once, because it reads all proposals.
        """
        first = self.store.first_proposals(QueueQuery(listed=self.listed))
        least = self.evidence.min_branch
        return self.store.mask({c.key for c in first if c.safe_place(self.taxonomy, least)})

    def movable(self, proposal: Suggestion) -> list[str]:
        """Return the existing concepts that a proposal to insert a concept would move below it."""
        if proposal.kind != SuggestionKind.INSERT or proposal.parent.id not in self.taxonomy:
            return []
        children = self.taxonomy.children(proposal.parent.id)
        return [id for id in proposal.moves if id in children]

    def namesake(self, new: Concept) -> Concept | None:
        """Return an existing concept with the name of a new one."""
        name = fold_name(new.label)
        for index in self.names.search(new.label, 1):
            known = self.taxonomy.concept_at(index)
            if known.id != new.id and name in map(fold_name, (known.label, *known.synonyms)):
                return known
        return None

    def label_of(self, id: str) -> str:
        """Return the label of a concept of the taxonomy, or the id if it is unknown."""
        return self.taxonomy.concept(id).label if id in self.taxonomy else id


def model_name(directory: Path, glossary: Path | None = None) -> str:
    """Return a name for a saved model that changes with every training and with the glossary."""
    name = f"{directory.resolve().name} ({model_digest(directory)[:8]})"
    return f"{name} with {glossary.name}" if glossary else name


def learned_ids(
    store: DecisionStore, taxonomy: Taxonomy, file: TaxonomyFile | None
) -> dict[str, str]:
    """Return the ids of the concepts that a model has learned from a store, by their keys.

    They were accepted once, and are in the model's taxonomy, but not in the file.
    """

    def is_learned(concept: Concept) -> bool:
        if concept.id not in taxonomy:
            return False
        if file is not None:
            return concept.id not in file.taxonomy
        return taxonomy.concept(concept.id).label == concept.label

    once = store.accepted_once()
    return {key: concept.id for key, concept in once.items() if is_learned(concept)}


def filter_listed(
    store: DecisionStore,
    taxonomy: Taxonomy,
    listed: Sequence[Concept],
    file: TaxonomyFile | None = None,
) -> FilteredConcepts:
    """Remove known names from a list, and the concepts that the model has learned from the store.

    The latter are decided, or have proposals from before they were learned.
    """
    learned = learned_ids(store, taxonomy, file)

    def is_learned(concept: Concept) -> bool:
        id = learned.get(concept_key(concept.label))
        return concept.id in learned.values() if concept.id else id is not None

    return filter_known_names(taxonomy, [each for each in listed if not is_learned(each)])


def fill_queue(
    store: DecisionStore,
    model: TaxoExpan,
    name: str,
    concepts: FilteredConcepts,
    definitions: Mapping[str, str] = MappingProxyType({}),
    progress: bool = False,
) -> int:
    """Add concepts and their missing or outdated proposals, and return how many were computed.

    Concepts that have the name of an existing one are proposed as merges.
    """
    refuse_other_taxonomy(store, model.taxonomy)
    store.add_concepts(concepts.new)
    merges = _merges(store, model.taxonomy, concepts)
    store.add_concepts([each.query for each in merges])
    named = {new.id for new in store.without_proposals(name, [each.query for each in merges])}
    store.set_proposals(name, [each for each in merges if each.query.id in named])
    lacking = store.without_proposals(name, concepts.new)
    missing = [replace(c, definition=c.definition or definitions.get(c.label, "")) for c in lacking]
    with Progress("proposals", len(missing), "concepts", shown=progress) as bar:
        for part in chunks(missing):
            store.set_proposals(name, model.suggest(part, TOP_K).flat)
            bar.update(len(part))
    return len(missing)


def _merges(
    store: DecisionStore, taxonomy: Taxonomy, concepts: FilteredConcepts
) -> list[Suggestion]:
    """Return the proposals to merge new concepts with the existing ones that have their names.

    The model may have learned an accepted concept; that is not asked again.
    """
    named = [new for new, _ in concepts.present]
    own = with_ids(taxonomy, [*concepts.new, *named])[len(concepts.new) :]
    queued = [store.concept(concept_key(new.label)) for new in own]
    return [
        Suggestion.at(
            taxonomy, new, taxonomy.index(known.id), 1, confidence=1.0, kind=SuggestionKind.MERGE
        )
        for new, (_, known), old in zip(own, concepts.present, queued, strict=True)
        if old is None or old.status != Status.ACCEPTED
    ]


def refuse_other_taxonomy(store: DecisionStore, taxonomy: Taxonomy) -> None:
    """Refuse a store if all its accepted parents, or else all its proposed parents, are unknown."""
    accepts = (d for d in store.history(0, MAX_CHECKED) if d.action == Action.ACCEPT)
    what = "decisions"
    parents = {each.parent.id for d in accepts for each in d.suggestions}
    if not parents:
        concepts = store.queue(QueueQuery(limit=MAX_CHECKED)).concepts
        what = "proposals"
        parents = {each.parent.id for c in concepts for each in c.proposals}
    if parents and not any(parent in taxonomy for parent in parents):
        message = f"the {what} in {store.name} are about another taxonomy"
        fix = "use the model of that taxonomy, or another store"
        raise ConfigurationError(
            f"{message}: none of their parents is in the model's", fix=fix, option="decisions"
        )


def refuse_other_file(taxonomy: Taxonomy, file: TaxonomyFile) -> None:
    """Refuse a taxonomy file that has no concept in common with the model."""
    if not any(id in file.taxonomy for id in taxonomy):
        message = "has none of the concepts of the model's taxonomy"
        fix = "give the file that the model was trained on, or a later version of it"
        raise FormatError(file.path, message, fix=fix)
