"""Filling the queue before the pages open: new concepts, and the model's proposals for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from taxoexpan.desk.review.desk import TOP_K
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.queue import QueueQuery
from taxoexpan.desk.store.records import Action
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.model import TaxoExpan
from taxoexpan.model_directory import model_digest
from taxoexpan.progress import Progress
from taxoexpan.taxonomy import Concept, Taxonomy

CHUNK = 500
"""The number of concepts that are proposed for at a time, between two steps of the progress."""
MAX_CHECKED = 1000
"""The number of decisions, or of concepts with proposals, that are compared with the taxonomy."""


def model_name(directory: Path, glossary: Path | None = None) -> str:
    """Return a name for a saved model: its folder, and a digest that changes with every training.

    A glossary changes the proposals, so it is part of the name.
    """
    name = f"{directory.resolve().name} ({model_digest(directory)[:8]})"
    return f"{name} with {glossary.name}" if glossary else name


def fill_queue(
    store: DecisionStore,
    model: TaxoExpan,
    name: str,
    concepts: Sequence[Concept],
    defined: Mapping[str, Concept] = MappingProxyType({}),
    progress: bool = False,
) -> int:
    """Add concepts and proposals for them to the store, and return how many were computed.

    Concepts that this model has already proposed parents for are not computed again, unless their
    names or their definition have changed. `defined` are the concepts by id with definitions from
    a glossary, which the store does not keep.
    """
    refuse_other_taxonomy(store, model.taxonomy)
    store.add_concepts(concepts)
    missing = [defined.get(c.id, c) for c in store.without_proposals(name, concepts)]
    with Progress("proposals", len(missing), "concepts", shown=progress) as bar:
        for start in range(0, len(missing), CHUNK):
            part = missing[start : start + CHUNK]
            store.set_proposals(name, model.suggest(part, TOP_K))
            bar.update(len(part))
    return len(missing)


def refuse_other_taxonomy(store: DecisionStore, taxonomy: Taxonomy) -> None:
    """Refuse a store about another taxonomy: its accepted, or proposed, parents are all unknown."""
    accepts = (d for d in store.history(0, MAX_CHECKED) if d.action == Action.ACCEPT)
    what, parents = "decisions", {each.parent.id for d in accepts for each in d.suggestions}
    if not parents:
        concepts = store.queue(QueueQuery(limit=MAX_CHECKED)).concepts
        what, parents = "proposals", {each.parent.id for c in concepts for each in c.proposals}
    if parents and not any(parent in taxonomy for parent in parents):
        message = f"the {what} in {store.name} are about another taxonomy"
        fix = "use the model of that taxonomy, or another store"
        raise ConfigurationError(
            f"{message}: none of their parents is in the model's; {fix}", "decisions"
        )


def refuse_other_file(taxonomy: Taxonomy, file: TaxonomyFile) -> None:
    """Refuse a taxonomy file that has none of the concepts that the model knows."""
    if not any(id in file.taxonomy for id in taxonomy):
        message = "has none of the concepts of the model's taxonomy"
        fix = "give the file that the model was trained on, or a later version of it"
        raise FormatError(file.path, f"{message}; {fix}")
