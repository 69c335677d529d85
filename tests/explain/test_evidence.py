from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.explain import Evidence, explain
from taxoexpan.explain.evidence import NETWORK_PARTS, SIGNAL_PARTS, Mention, Part
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept
from tests.support.builders import random_taxonomy
from tests.support.random_cases import fused_case, random_network, random_vectors, small_case

QUERIES = 4


def test_evidence_converts_to_json_values() -> None:
    ranker, queries = small_case(use_mentions=True)
    mentions = Mentions.from_rows([[(i, MentionKind.FIRST_OTHER_SENSE) for i in range(40)]] * 11)
    queries = replace(queries, mentions=mentions)
    found = explain(ranker, queries, ranker.rank(queries, 2))
    converted = [evidence.to_dict() for evidence in found]
    assert json.loads(json.dumps(converted)) == converted
    first = converted[0]
    assert first["query"] == {"id": "", "label": "query 0"}
    assert first["suggestions"][0]["mentions"][0]["kind"] == "first_other_sense"
    assert first["comparison"]["position"] in ("parent", "child", "sibling", "elsewhere")


@given(seed=st.integers(0, 10_000), top_k=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_evidence_is_read_back_as_it_was_written(seed: int, top_k: int) -> None:
    taxonomy = random_taxonomy(seed, count=5 + seed % 12)
    both = random_vectors(seed, len(taxonomy))
    network = random_network(seed, propagation="pgat")
    anchors = Anchors(taxonomy, ConceptVectors.of(both), 3)
    ranker = Ranker(network, anchors)
    concepts = [Concept(f"q{i}", f"new {i}") for i in range(QUERIES)]
    queries = Queries(random_vectors(seed + 1, QUERIES), concepts=concepts)
    mentions = tuple(Mention(kind, 0.25) for kind in MentionKind)
    for evidence in explain(ranker, queries, ranker.rank(queries, top_k)):
        first = replace(evidence.first, mentions=mentions)
        evidence = replace(evidence, suggestions=(first, *evidence.suggestions[1:]))
        written = json.loads(json.dumps(evidence.to_dict()))
        read = Evidence.from_dict(written)
        assert read.to_dict() == written
        assert read.first.mentions == mentions
        assert isinstance(read.first.mentions[0].kind, MentionKind)
        assert [each.parent for each in read.suggestions] == [
            each.parent for each in evidence.suggestions
        ]


@pytest.mark.parametrize(
    ("case", "parts"), [(small_case, NETWORK_PARTS), (fused_case, SIGNAL_PARTS)]
)
def test_the_parts_of_both_kinds_of_scores_are_read_back(
    case: Callable[[], tuple[Ranker, Queries]], parts: Sequence[Part]
) -> None:
    ranker, queries = case()
    evidence = explain(ranker, queries, ranker.rank(queries, 2))[0]
    written = json.loads(json.dumps(evidence.to_dict()))
    assert list(written["score_parts"]) == list(parts)
    read = Evidence.from_dict(written)
    assert read.to_dict() == written
    assert read.comparison is not None
    assert [*read.score_parts] == [*read.comparison.score_parts] == list(parts)
    assert read.score_parts == pytest.approx(evidence.score_parts, rel=1e-3)
