"""Random subtrees of vocabularies, and the features of concepts that are held out of them.

A subtree is treated like the taxonomy of a user. A fifth of its leaves is held out as taxonomies
grow (the *new* concepts), a model learns from the rest, and holds out concepts itself (the *own*
ones). The features of both, with all anchors, are stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.pretraining.vocabularies import Vocabulary
from taxoexpan import Concept, TaxoExpan, Taxonomy, hold_out
from taxoexpan.features.cached_encoder import CachedEncoder
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.encoder_registry import ConcatenatedEncoder, make_encoder
from taxoexpan.features.minilm import MiniLM, load_minilm
from taxoexpan.features.packaged import PackagedEncoder
from taxoexpan.features.pretrained import DIMENSION, WEIGHTS, PretrainedEncoder
from taxoexpan.files import file_digest
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.training.holdout import hold_out_growth

MIN_SIZE = 30
MAX_SIZE = 2_000
"""The sizes of the subtrees."""
NEW_FRACTION = 0.2
"""The fraction of the leaves of a subtree that a model does not see."""


@dataclass(frozen=True)
class Subtree:
    """A part of a vocabulary as a taxonomy of its own, and its domain."""

    name: str
    domain: str
    taxonomy: Taxonomy


def draw_subtrees(vocabulary: Vocabulary, count: int, seed: int) -> Iterator[Subtree]:
    """Yield at most `count` disjoint subtrees of log-uniform sizes, half of them names only."""
    taxonomy = vocabulary.taxonomy.canonical
    rng = np.random.default_rng([seed, *vocabulary.name.encode()])
    sizes = taxonomy.descendant_intervals.counts(np.arange(len(taxonomy)))
    tops = rng.permutation(np.flatnonzero((sizes >= MIN_SIZE) & (sizes <= MAX_SIZE)))
    taken = np.zeros(len(taxonomy), dtype=np.bool_)
    for number in range(count):
        wanted = rng.uniform(math.log(MIN_SIZE), math.log(MAX_SIZE))
        by_size = tops[np.argsort(np.abs(np.log(sizes[tops]) - wanted), kind="stable")]
        for top in by_size.tolist():
            members = np.concatenate([[top], *taxonomy.children_of.levels_down(np.array([top]))])
            if not taken[members].any():
                taken[members] = True
                with_definitions = bool(rng.integers(2))
                name = f"{vocabulary.name}-{number}"
                own = _part(taxonomy, members, with_definitions)
                yield Subtree(name, vocabulary.domain, own)
                break


def _part(taxonomy: Taxonomy, members: Indices, with_definitions: bool) -> Taxonomy:
    """Return some concepts with the relations between them."""
    ids = {taxonomy.ids[i] for i in members.tolist()}
    concepts = [taxonomy.concept(id) for id in taxonomy.ids if id in ids]
    if not with_definitions:
        concepts = [replace(concept, definition="") for concept in concepts]
    relations = [pair for pair in taxonomy.relations if ids.issuperset(pair)]
    return Taxonomy(concepts, relations)


class StoredEncoder(PackagedEncoder):
    """The small encoder with the weights in another directory."""

    name = PretrainedEncoder.name
    dimension = DIMENSION

    def __init__(self, folder: Path, device: str = "auto") -> None:
        super().__init__(device)
        self._folder = folder

    def fingerprint(self) -> str:
        """Return a digest of the weights."""
        return file_digest(self._folder / WEIGHTS)[:16]

    def load(self) -> MiniLM:
        """Load the model."""
        return load_minilm(self._folder)


def encoder_from(folder: Path | None, features: str) -> Encoder:
    """Return the encoder of these features, with the weights of a directory if it is given."""
    encoder = make_encoder(features)
    if folder is None:
        return encoder
    own = CachedEncoder(StoredEncoder(folder))
    if not isinstance(encoder, ConcatenatedEncoder):
        return own
    return ConcatenatedEncoder([own if p.name == own.name else p for p in encoder.parts])


@dataclass(frozen=True)
class HeldOutFeatures:
    """The features of Q held-out concepts with all N anchors [F, N, Q], and their parents."""

    features: NDArray[np.float16]
    parents: Sequence[Indices]
    relations: NDArray[np.int64]

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The anchors without their texts, in their order."""
        ids = [f"{number:05}" for number in range(self.features.shape[1])]
        pairs = [(ids[parent], ids[child]) for parent, child in self.relations.T.tolist()]
        return Taxonomy([Concept(id, id) for id in ids], pairs)

    def scores(self, weights: Floats, rows: Indices | None = None) -> NDArray[np.float32]:
        """Return the scores of queries by the weights of the fusion: [N, q]."""
        features = self.features if rows is None else self.features[:, :, rows]
        single = weights.astype(np.float32), features.astype(np.float32)
        scores: NDArray[np.float32] = np.einsum("f,fnq->nq", *single)
        return scores


@dataclass(frozen=True)
class Sample:
    """A subtree with the features of the concepts that its model held out, and of the new ones."""

    name: str
    domain: str
    concepts: int
    own: HeldOutFeatures
    new: HeldOutFeatures


def measure_subtree(subtree: Subtree, preset: str, folder: Path | None, path: Path) -> None:
    """Train a model on a subtree without its new concepts, and store the features of these."""
    new = hold_out_growth(subtree.taxonomy, NEW_FRACTION, len(subtree.taxonomy), 0)
    model = TaxoExpan(preset, seed=0)
    model.encoder = encoder_from(folder, model.config.features)
    model.fit(new.taxonomy, progress=False)
    own = hold_out(model.taxonomy, model._fitted().held_out)
    arrays = {
        f"{kind}_{name}": array
        for kind, holdout in (("own", own), ("new", new))
        for name, array in _arrays(*model._held_out(holdout)).items()
    }
    names = np.array(list(PAIR_FEATURES))
    texts = np.array([subtree.name, subtree.domain])
    size = np.array(len(new.taxonomy))
    part = path.with_suffix(".part.npz")
    everything: dict[str, Any] = {"texts": texts, "names": names, "size": size, **arrays}
    np.savez(part, **everything)
    part.replace(path)


def _arrays(ranker: Ranker, queries: LabeledQueries) -> dict[str, NDArray[np.generic]]:
    return {
        "features": ranker.features(queries).cpu().numpy().astype(np.float16),
        "parents": np.concatenate(queries.parents),
        "counts": np.array([len(own) for own in queries.parents]),
        "relations": np.stack(ranker.anchors.taxonomy.relation_indices),
    }


def read_sample(path: Path) -> Sample:
    """Read the stored features of a subtree."""
    with np.load(path) as stored:
        if stored["names"].tolist() != list(PAIR_FEATURES):
            raise ValueError(f"{path}: the features are others; remove the file")
        name, domain = stored["texts"].tolist()
        own, new = (_held_out(stored, kind) for kind in ("own", "new"))
        return Sample(name, domain, int(stored["size"]), own, new)


def _held_out(stored: np.lib.npyio.NpzFile, kind: str) -> HeldOutFeatures:
    ends = np.cumsum(stored[f"{kind}_counts"])[:-1]
    parents = np.split(stored[f"{kind}_parents"], ends)
    return HeldOutFeatures(stored[f"{kind}_features"], parents, stored[f"{kind}_relations"])
