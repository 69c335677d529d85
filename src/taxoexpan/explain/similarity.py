"""Similarities of queries and suggested parents: cosines, shared words and mentions."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from taxoexpan.explain.evidence import Mention, Position, SimilarChild, SuggestionEvidence
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching import MentionBonus
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name

MAX_CHILDREN = 3
"""The number of nearest children that are listed per suggestion."""


@dataclass(frozen=True)
class QueryAnchorPairs:
    """P pairs of a query `query[p]` and an anchor `anchor[p]`, both [P]."""

    query: Indices
    anchor: Indices

    def __len__(self) -> int:
        return len(self.query)


def dot_products(vectors: Tensor, rows: Indices, queries: Tensor, query: Indices) -> Tensor:
    """Return the dot products [E] of vectors `rows[e]` with queries `query[e]`."""
    # Queries share many rows, so each distinct one is multiplied with all queries.
    distinct, position = np.unique(rows, return_inverse=True)
    products = vectors[torch.from_numpy(distinct).to(vectors.device)] @ queries.T
    return products[position, query]


class ConceptLookup:
    """Cached access to a taxonomy by concept index: concepts, paths and the words of names."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.concept = cache(taxonomy.concept_at)
        self.path = cache(lambda index: taxonomy.short_path(taxonomy.ids[index]))
        self.name_words = cache(lambda index: name_words(self.concept(index)))

    def position(self, index: int, relative_to: int) -> Position:
        """Return the position of one concept relative to another one."""
        parents = self.taxonomy.parents_of
        children = self.taxonomy.children_of
        own_parents = parents.of(relative_to)
        if index in own_parents:
            return Position.PARENT
        if index in children.of(relative_to):
            return Position.CHILD
        common = set(own_parents.tolist()) & set(parents.of(index).tolist())
        return Position.SIBLING if common else Position.ELSEWHERE


def suggestion_evidence(
    lookup: ConceptLookup,
    vectors: ConceptVectors,
    queries: Queries,
    pairs: QueryAnchorPairs,
    scores: Floats,
    mentions: Sequence[tuple[Mention, ...]],
) -> list[SuggestionEvidence]:
    """Return the evidence for every pair, given its score and its mentions."""
    owners, children = lookup.taxonomy.children_of.of_many(pairs.anchor)
    concepts = np.concatenate([pairs.anchor, children])
    of = pairs.query[owners]
    by_name = dot_products(
        vectors.names, concepts, queries.vectors[0], np.concatenate([pairs.query, of])
    )
    cosines, child_cosines = np.split(by_name.cpu().numpy(), [len(pairs)])
    heads = vectors.head_of.cpu().numpy()[pairs.anchor]
    by_head = dot_products(vectors.heads, heads, queries.vectors[1], pairs.query)
    head_cosines = by_head.cpu().numpy()
    counts = np.bincount(owners, minlength=len(pairs))
    nearest = np.split(np.lexsort((-child_cosines, owners)), np.cumsum(counts)[:-1])
    words = [concept_words(concept) for concept in queries.concepts]

    def similar_child(row: int, query: int) -> SimilarChild:
        child = int(children[row])
        shared = shared_words(words[query], lookup.name_words(child))
        return SimilarChild(lookup.concept(child), float(child_cosines[row]), shared)

    return [
        SuggestionEvidence(
            parent=lookup.concept(anchor),
            path=lookup.path(anchor),
            score=float(scores[pair]),
            cosine=float(cosines[pair]),
            head_cosine=float(head_cosines[pair]),
            shared_words=shared_words(words[query], lookup.name_words(anchor)),
            nearest_children=tuple(
                similar_child(row, query) for row in nearest[pair][:MAX_CHILDREN].tolist()
            ),
            child_count=int(counts[pair]),
            mentions=mentions[pair],
        )
        for pair, (query, anchor) in enumerate(
            zip(pairs.query.tolist(), pairs.anchor.tolist(), strict=True)
        )
    ]


def pair_mentions(
    pairs: QueryAnchorPairs, mentions: Mentions | None, bonus: MentionBonus | None
) -> list[tuple[Mention, ...]]:
    """Return the mentions of each pair's anchor by its query, if the network uses mentions."""
    if mentions is None or bonus is None:
        return [()] * len(pairs)
    bonuses = (bonus.reach * bonus.weight.detach()).tolist()
    by_pair: dict[tuple[int, int], list[Mention]] = {}
    rows, targets, kinds = mentions.of_many(np.arange(len(mentions)))
    for query, anchor, kind in zip(rows.tolist(), targets.tolist(), kinds.tolist(), strict=True):
        mention = Mention(MentionKind(kind), bonuses[kind])
        by_pair.setdefault((query, anchor), []).append(mention)
    keys = zip(pairs.query.tolist(), pairs.anchor.tolist(), strict=True)
    return [tuple(by_pair.get(key, ())) for key in keys]


def concept_words(concept: Concept) -> dict[str, str]:
    """Return the words of a concept's names and definition, each by its key."""
    return _words_by_key([concept.label, *concept.synonyms, concept.definition])


def name_words(concept: Concept) -> frozenset[str]:
    """Return the keys of the words of a concept's names."""
    return frozenset(_words_by_key([concept.label, *concept.synonyms]))


def shared_words(words: dict[str, str], keys: frozenset[str]) -> tuple[str, ...]:
    """Return the words whose key is among `keys`, in their order."""
    return tuple(word for key, word in words.items() if key in keys)


def _words_by_key(texts: Iterable[str]) -> dict[str, str]:
    """Return the words (with digits and combining marks) by singular form, without stop words."""
    words: dict[str, str] = {}
    for text in texts:
        kept = (c if unicodedata.category(c)[0] in "LMN" else " " for c in normalize_name(text))
        for word in "".join(kept).split():
            # A single ASCII letter is the rest of a genitive; a single Chinese character is a word.
            if word not in STOP_WORDS and (len(word) > 1 or not word.isascii()):
                words.setdefault(singular(word), word)
    return words
