"""Encoding of the changes in a newer version of a taxonomy with a trained network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.features.label_words import LabelWords
from taxoexpan.network.concept_vectors import ConceptVectors, distinct_rows
from taxoexpan.network.egonets import spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower, anchor_texts, query_text
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices

Relation = tuple[str, str]
Flags = NDArray[np.bool_]

RETRAINING_SHARE = 0.05
"""If this share of the concepts was added, a continued training ranks measurably better
(docs/guides/updating.md)."""


@dataclass(frozen=True)
class TaxonomyGrowth:
    """The concepts, by id, and relations that differ from the training's taxonomy."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    relations_added: frozenset[Relation] = frozenset()
    relations_removed: frozenset[Relation] = frozenset()

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def followed_by(self, later: TaxonomyGrowth) -> TaxonomyGrowth:
        """Return the combined difference; a concept removed and added again is changed."""
        added = (self.added - later.removed) | (later.added - self.removed)
        removed = (self.removed - later.added) | (later.removed - self.added)
        changed = self.changed | later.changed | (self.removed & later.added)
        gained = self.relations_added
        lost = self.relations_removed
        gained_later = later.relations_added
        lost_later = later.relations_removed
        relations = (gained - lost_later) | (gained_later - lost)
        gone = (lost - gained_later) | (lost_later - gained)
        return TaxonomyGrowth(added, removed, changed - added - removed, relations, gone)

    def is_training_advised(self, concepts: int) -> bool:
        """Return whether enough concepts were added to make new training worthwhile."""
        return len(self.added) >= RETRAINING_SHARE * concepts > 0

    def sentence(self, concepts: int) -> str:
        """Describe the difference, with shares of the concepts of the training."""
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
    """Format a share as a percentage with one decimal, since most updates are small."""
    return f"{100 * count / max(total, 1):.1f}\N{NO-BREAK SPACE}%"


@dataclass(frozen=True)
class EncodedTaxonomy:
    """A taxonomy with its precomputed `keys` [N, k]; `texts` are None without a fusion."""

    taxonomy: Taxonomy
    vectors: ConceptVectors
    keys: Tensor
    texts: AnchorTexts | None


@dataclass(frozen=True)
class UpdateReport:
    """The changes of an update, and the numbers of new vectors, keys and encoded texts.

    Examples:
        >>> from taxoexpan import TaxoExpan, read_taxonomy
        >>> instruments = read_taxonomy("examples/instruments.ttl")
        >>> model = TaxoExpan("fast").fit(instruments)
        >>> report = model.update(model.expand("talking drum", min_confidence=0))
        >>> len(report.changes.added), report.concepts
        (1, 94)
    """

    concepts: int
    changes: TaxonomyGrowth
    vectors: int
    keys: int
    texts: int

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON stores them."""
        changes = {name: len(ids) for name, ids in vars(self.changes).items()}
        return asdict(self) | {"changes": changes}


def update_encoding(
    old: EncodedTaxonomy, taxonomy: Taxonomy, network: MatchingNetwork, embedder: Embedder
) -> tuple[EncodedTaxonomy, UpdateReport]:
    """Encode only the changes of a newer taxonomy; the result is as if all were encoded."""
    versions = VersionRows.match(old.taxonomy, taxonomy)
    is_stale = versions.has_other_texts
    vectors = _updated_vectors(old.vectors, versions, is_stale, embedder)
    siblings = embedder.config.max_siblings
    changed = np.flatnonzero(_has_other_egonet(versions, is_stale, siblings))
    anchors = Anchors(taxonomy, vectors, siblings, changed)
    keys = _rows_of(old.keys.to(embedder.device), versions)
    if len(changed):
        keys[torch.from_numpy(changed).to(keys.device)] = anchors.encode(network)
    texts = None
    encoded = 0
    if old.texts is not None:
        texts, encoded = _updated_texts(old.texts, versions, embedder.tower)
    changes = growth_between(versions)
    report = UpdateReport(len(taxonomy), changes, int(is_stale.sum()), len(changed), encoded)
    return EncodedTaxonomy(taxonomy, vectors, keys, texts), report


def growth_between(versions: VersionRows) -> TaxonomyGrowth:
    """Return the differences between two versions by id."""
    old = versions.old
    new = versions.new
    changed = versions.has_other_texts | versions.has_other_deprecation
    return TaxonomyGrowth(
        frozenset(new.ids[i] for i in np.flatnonzero(versions.is_new).tolist()),
        frozenset(old.ids[i] for i in np.flatnonzero(versions.new_of < 0).tolist()),
        frozenset(new.ids[i] for i in np.flatnonzero(changed & ~versions.is_new).tolist()),
        frozenset(_missing_relations(new, old, versions.old_of)),
        frozenset(_missing_relations(old, new, versions.new_of)),
    )


def _has_other_egonet(versions: VersionRows, is_stale: Flags, siblings: int) -> Flags:
    """Return whether each concept's egonet has other nodes or nodes with new vectors: [N]."""
    old, new = (v.without_deprecated_relations for v in (versions.old, versions.new))
    above = versions.has_other_targets(old.parents_of, new.parents_of, is_stale)
    children = (_chosen_children(old, siblings), _chosen_children(new, siblings))
    return is_stale | above | versions.has_other_targets(*children, is_stale)


def _chosen_children(taxonomy: Taxonomy, siblings: int) -> Adjacency:
    """Return the children in the egonet of each concept."""
    chosen = spread_siblings(taxonomy, np.arange(len(taxonomy)), siblings)
    targets = taxonomy.children_of.targets[chosen.relations]
    return Adjacency.from_pairs(chosen.sibling_of, targets, len(taxonomy))


def _updated_vectors(
    old: ConceptVectors, versions: VersionRows, is_stale: Flags, embedder: Embedder
) -> ConceptVectors:
    """Return the vectors of the newer version; only concepts with other texts are encoded."""
    device = embedder.device
    stale = np.flatnonzero(is_stale)
    concepts = [versions.new.concept_at(index) for index in stale.tolist()]
    own = torch.from_numpy(embedder.array(concepts)).to(device)
    rows = torch.from_numpy(stale).to(device)
    names = _rows_of(old.names.to(device), versions)
    names[rows] = own[0]
    head_of = _rows_of(old.head_of.to(device), versions)
    head_of[rows] = len(old.heads) + torch.arange(len(rows), device=device)
    heads = torch.cat([old.heads.to(device), own[1]])
    # Heads that are not used any more are dropped, and equal ones become one.
    used, inverse = head_of.unique(return_inverse=True)
    heads = heads.index_select(0, used)
    first, same = (torch.from_numpy(rows).to(device) for rows in distinct_rows(heads.cpu().numpy()))
    return ConceptVectors(names, heads.index_select(0, first), same.index_select(0, inverse))


def _updated_texts(
    old: AnchorTexts, versions: VersionRows, tower: TextTower | None
) -> tuple[AnchorTexts, int]:
    """Return the texts of the newer version, and the number of newly encoded texts."""
    words = LabelWords.from_taxonomy(versions.new)
    if tower is None or old.tower is None:
        return AnchorTexts(words), 0
    renamed = versions.has_other_description
    named = np.flatnonzero(renamed)
    queries = [query_text(versions.new.concept_at(index)) for index in named.tolist()]
    former, newer = (v.without_deprecated_relations for v in (versions.old, versions.new))
    before = anchor_texts(former)
    after = anchor_texts(newer)
    pairs = zip(after, versions.old_of.tolist(), strict=True)
    described = np.flatnonzero([row < 0 or before[row] != text for text, row in pairs])
    anchors = tower.encode_anchors(newer, described)
    as_anchors = _replaced(old.tower[0], versions, described, anchors)
    as_queries = _replaced(old.tower[1], versions, named, tower.encode_queries(queries))
    return AnchorTexts(words, (as_anchors, as_queries)), len(queries) + len(anchors)


def _replaced(
    old: Tensor, versions: VersionRows, rows: NDArray[np.int64], encoded: Tensor
) -> Tensor:
    """Return the tower's vectors of the newer version with new ones in some rows: [N, D]."""
    vectors = _rows_of(old.to(encoded.device), versions)
    vectors[torch.from_numpy(rows).to(vectors.device)] = encoded
    return vectors


def _rows_of(old: Tensor, versions: VersionRows) -> Tensor:
    """Return a copy of the newer concepts' rows; rows of new concepts are undefined."""
    rows = torch.from_numpy(versions.old_of.clip(min=0)).to(old.device)
    return old.index_select(0, rows)


@dataclass(frozen=True, eq=False)
class VersionRows:
    """Two versions of a taxonomy with M and N concepts, matched by id.

    `old_of` [N] and `new_of` [M] are the rows of the concepts in the other version, or -1.
    """

    old: Taxonomy
    new: Taxonomy
    old_of: Indices
    new_of: Indices

    @classmethod
    def match(cls, old: Taxonomy, new: Taxonomy) -> VersionRows:
        """Match the concepts of two versions."""
        rows = (old.index(id) if id in old else -1 for id in new.ids)
        old_of = np.fromiter(rows, dtype=np.int64, count=len(new))
        new_of = np.full(len(old), -1, dtype=np.int64)
        shared = np.flatnonzero(old_of >= 0)
        new_of[old_of[shared]] = shared
        return cls(old, new, old_of, new_of)

    @property
    def is_new(self) -> Flags:
        """Whether each newer concept is missing in the older version: [N]."""
        return self.old_of < 0

    @cached_property
    def has_other_description(self) -> Flags:
        """Whether each concept is new, or has another label or definition: [N]."""
        old = list(self.old.labels)
        pairs = zip(self.new.labels, self.old_of.tolist(), strict=True)
        relabeled = np.array([row >= 0 and old[row] != label for label, row in pairs], np.bool_)
        return self.is_new | relabeled | self._differs(self.old.definitions, self.new.definitions)

    @cached_property
    def has_other_texts(self) -> Flags:
        """Whether each concept also has other or reordered synonyms: [N]."""
        return self.has_other_description | self._differs(self.old.synonyms, self.new.synonyms)

    def _differs(self, old: Mapping[int, object], new: Mapping[int, object]) -> Flags:
        """Return whether each shared concept has another value; empty values count as missing."""
        differs = np.zeros(len(self.new), dtype=np.bool_)
        for row in {*new, *(int(self.new_of[before]) for before in old)} - {-1}:
            before = int(self.old_of[row])
            differs[row] = before >= 0 and (old.get(before) or None) != (new.get(row) or None)
        return differs

    @property
    def has_other_deprecation(self) -> Flags:
        """Whether each concept is deprecated in only one of both versions: [N]."""
        before = np.isin(self.old_of, list(self.old.deprecated))
        now = np.isin(np.arange(len(self.new)), list(self.new.deprecated))
        differs: Flags = ~self.is_new & (before != now)
        return differs

    def has_other_targets(self, old: Adjacency, new: Adjacency, is_changed: Flags) -> Flags:
        """Return whether each row is new, or has other neighbors or one that `is_changed`: [N].

        The order of neighbors does not matter, because some programs reorder a file each time.
        """
        shared = np.flatnonzero(self.old_of >= 0)
        is_as_large = old.degrees[self.old_of[shared]] == new.degrees[shared]
        other = np.ones(len(self.new), dtype=np.bool_)
        same = shared[is_as_large]
        other[same] = False
        of, targets = _sorted_targets(*new.of_many(same))
        before_of, before = old.of_many(self.old_of[same])
        _, earlier = _sorted_targets(before_of, self.new_of[before])
        other[same[of[(earlier != targets) | is_changed[targets]]]] = True
        return other


def _sorted_targets(rows: Indices, targets: Indices) -> tuple[Indices, Indices]:
    """Sort the neighbors of each row; the rows are ascending."""
    order = np.lexsort((targets, rows))
    return rows[order], targets[order]


def _missing_relations(taxonomy: Taxonomy, other: Taxonomy, rows: Indices) -> Iterator[Relation]:
    """Yield the relations that `other` lacks; `rows` are the rows of the concepts in `other`."""
    parents, children = taxonomy.relation_indices
    others = other.relation_indices
    known = others[0] * len(other) + others[1]
    above = rows[parents]
    below = rows[children]
    missing = (above < 0) | (below < 0) | ~np.isin(above * len(other) + below, known)
    for index in np.flatnonzero(missing).tolist():
        yield taxonomy.ids[int(parents[index])], taxonomy.ids[int(children[index])]
