"""What speaks for a suggestion on its face: likeness, shared words, mentions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taxoexpan.explain.evidence import Child, Mention, Support
from taxoexpan.explain.neighbourhood import Floats, Lookup, Pairs, Surroundings
from taxoexpan.explain.shared_words import shared, words_of
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.matching import MentionBonus
from taxoexpan.taxonomy import Concept

SHOWN = 3
"""Children of an anchor that are told of: those nearest to the query."""


def support_of_pairs(
    known: Lookup,
    concepts: Sequence[Concept],
    around: Surroundings,
    scores: Floats,
    said: Sequence[tuple[Mention, ...]],
) -> list[Support]:
    """The support of every pair, given its score and what its query says of its anchor."""
    pairs, children = around.pairs, around.children
    degrees = known.taxonomy.children_of.degrees[pairs.anchor].tolist()
    words = [words_of(concept) for concept in concepts]
    nearest: list[list[int]] = [[] for _ in range(len(pairs))]
    for row in children.nearest(SHOWN).tolist():
        nearest[children.pair[row]].append(row)
    found = []
    for pair, (query, anchor) in enumerate(zip(pairs.query, pairs.anchor.tolist(), strict=True)):
        near = zip(
            children.concept[nearest[pair]].tolist(),
            children.cosines[0, nearest[pair]].tolist(),
            strict=True,
        )
        found.append(
            Support(
                parent=known.concept(anchor),
                path=known.path(anchor),
                score=float(scores[pair]),
                cosine=float(around.own[0, pair]),
                head_cosine=float(around.own[1, pair]),
                words=shared(words[query], known.words(anchor)),
                children=tuple(
                    Child(known.concept(child), cosine, shared(words[query], known.words(child)))
                    for child, cosine in near
                ),
                child_count=degrees[pair],
                mentions=said[pair],
            )
        )
    return found


def mentions_of_pairs(
    pairs: Pairs, mentions: Mentions | None, bonus: MentionBonus | None
) -> list[tuple[Mention, ...]]:
    """How the query of each pair mentions its anchor, where the network heeds that."""
    if mentions is None or bonus is None:
        return [()] * len(pairs)
    gains = (bonus.reach * bonus.weight.detach()).tolist()
    said: dict[tuple[int, int], list[Mention]] = {}
    of, targets, kinds = mentions.of_many(np.arange(len(mentions)))
    for query, target, kind in zip(of.tolist(), targets.tolist(), kinds.tolist(), strict=True):
        said.setdefault((query, target), []).append(
            Mention(kind, MentionKind(kind).description, gains[kind])
        )
    keys = zip(pairs.query.tolist(), pairs.anchor.tolist(), strict=True)
    return [tuple(said.get(key, ())) for key in keys]
