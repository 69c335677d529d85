"""Random newer versions of a taxonomy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taxoexpan.taxonomy import Concept, Taxonomy

WORDS = ("oat", "smoked", "white", "tomato", "cold", "winter", "milk", "soup", "spread", "roll")


def grown(taxonomy: Taxonomy, seed: int, share: float = 0.1) -> Taxonomy:
    """Return a version with some concepts added, removed, renamed, moved, deprecated and reordered.

    Each kind of change affects about this share of the concepts.
    """
    rng = np.random.default_rng(seed)
    ordered = [taxonomy.concept_at(i) for i in taxonomy.topological_order.tolist()]
    kept = [_changed(concept, rng, share) for concept in ordered if rng.random() > share]
    added = [Concept(f"added-{seed}-{i}", _label(rng)) for i in range(int(share * len(kept)) + 1)]
    concepts = [*kept, *added]
    known, relations = {concept.id for concept in kept}, []
    for row, concept in enumerate(concepts):
        parents = [p for p in taxonomy.parents(concept.id) if p in known] if row < len(kept) else []
        if row and (not parents or rng.random() < share):  # a parent from above: no cycles
            parents = list({*parents[1:], concepts[int(rng.integers(row))].id})
        relations += [(parent, concept.id) for parent in parents]
    order = rng.permutation(len(concepts)).tolist() if rng.random() < 0.5 else range(len(concepts))
    return Taxonomy([concepts[i] for i in order], relations)


def _changed(concept: Concept, rng: np.random.Generator, share: float) -> Concept:
    """Change each field with this probability."""
    if rng.random() < share:
        concept = replace(concept, label=_label(rng))
    if rng.random() < share:
        concept = replace(concept, synonyms=(*concept.synonyms[1:], _label(rng)))
    if rng.random() < share:
        concept = replace(concept, definition="" if concept.definition else f"a {_label(rng)}")
    if rng.random() < share / 2:
        concept = replace(concept, deprecated=not concept.deprecated)
    return concept


def _label(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, int(rng.integers(1, 4))).tolist())
