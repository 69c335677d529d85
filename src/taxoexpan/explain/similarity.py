"""What queries and suggested parents have in common: cosines, shared words and mentions."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from taxoexpan.explain.evidence import Mention, Position, SimilarChild, SuggestionEvidence
from taxoexpan.explain.neighborhood import Neighborhood, Neighbors
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.matching import MentionBonus
from taxoexpan.placement.scoring.pairs import QueryAnchorPairs
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name

MAX_CHILDREN = 3
"""The number of nearest children that are listed per suggestion."""


class ConceptLookup:
    """Cached access to a taxonomy by concept index: concepts, paths and the words of names."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.concept = cache(taxonomy.concept_at)
        self.path = cache(lambda index: taxonomy.short_path(taxonomy.ids[index]))
        self.name_words = cache(lambda index: name_words(self.concept(index)))

    def position(self, index: int, relative_to: int) -> Position:
        """Return where one concept is, seen from another one."""
        parents, children = self.taxonomy.parents_of, self.taxonomy.children_of
        own_parents = parents.of(relative_to)
        if index in own_parents:
            return Position.PARENT
        if index in children.of(relative_to):
            return Position.CHILD
        common = set(own_parents.tolist()) & set(parents.of(index).tolist())
        return Position.SIBLING if common else Position.ELSEWHERE


def suggestion_evidence(
    lookup: ConceptLookup,
    concepts: Sequence[Concept],
    around: Neighborhood,
    scores: Floats,
    mentions: Sequence[tuple[Mention, ...]],
) -> list[SuggestionEvidence]:
    """Return the evidence for every pair, given its score and its mentions."""
    pairs, children = around.pairs, around.children
    child_counts = lookup.taxonomy.children_of.degrees[pairs.anchor].tolist()
    words = [concept_words(concept) for concept in concepts]
    nearest: list[list[int]] = [[] for _ in range(len(pairs))]
    for row in children.nearest(MAX_CHILDREN).tolist():
        nearest[children.pair[row]].append(row)
    return [
        SuggestionEvidence(
            parent=lookup.concept(anchor),
            path=lookup.path(anchor),
            score=float(scores[pair]),
            cosine=float(around.anchor_cosines[0, pair]),
            head_cosine=float(around.anchor_cosines[1, pair]),
            shared_words=shared_words(words[query], lookup.name_words(anchor)),
            nearest_children=_similar_children(lookup, children, nearest[pair], words[query]),
            child_count=child_counts[pair],
            mentions=mentions[pair],
        )
        for pair, (query, anchor) in enumerate(
            zip(pairs.query.tolist(), pairs.anchor.tolist(), strict=True)
        )
    ]


def _similar_children(
    lookup: ConceptLookup, children: Neighbors, rows: list[int], query_words: dict[str, str]
) -> tuple[SimilarChild, ...]:
    """Return some rows of the children, with the words that each shares with the query."""
    found = zip(children.concept[rows].tolist(), children.cosines[0, rows].tolist(), strict=True)
    return tuple(
        SimilarChild(
            lookup.concept(child), cosine, shared_words(query_words, lookup.name_words(child))
        )
        for child, cosine in found
    )


def pair_mentions(
    pairs: QueryAnchorPairs, mentions: Mentions | None, bonus: MentionBonus | None
) -> list[tuple[Mention, ...]]:
    """Return how the query of each pair mentions its anchor, if the network uses mentions."""
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
    """Return the words of the texts without stop words, each by its singular form."""
    words: dict[str, str] = {}
    for text in texts:
        for word in _split_words(text):
            # A single ASCII letter is the rest of a genitive; a single Chinese character is a word.
            if word not in STOP_WORDS and (len(word) > 1 or not word.isascii()):
                words.setdefault(singular(word), word)
    return words


def _split_words(text: str) -> list[str]:
    """Split a text into runs of letters, digits and combining marks (vowels in Hindi)."""
    kept = (c if unicodedata.category(c)[0] in "LMN" else " " for c in normalize_name(text))
    return "".join(kept).split()
