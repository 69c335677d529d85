from __future__ import annotations

import math

import pytest

from reproduction.semeval.merges import (
    MergeCandidate,
    MergeScore,
    best_threshold,
    score_merges,
)
from reproduction.semeval.task import KeyEntry, WordNet
from tests.support.tiny_wordnet import write_wordnet

GOLD = {
    "a": KeyEntry("tree#n#1", "merge"),
    "b": KeyEntry("cherry#n#1", "attach"),
    "c": KeyEntry("run#v#1", "merge"),
    "d": KeyEntry("plant#n#2", "merge"),
}


@pytest.fixture(scope="module")
def wordnets(tmp_path_factory: pytest.TempPathFactory) -> list[WordNet]:
    return WordNet.read(write_wordnet(tmp_path_factory.mktemp("wordnet")))


def test_merges_are_right_only_with_the_right_synset(wordnets: list[WordNet]) -> None:
    key = {
        "a": KeyEntry("tree#n#1", "merge"),
        "b": KeyEntry("cherry#n#1", "merge"),  # should be attached
        "c": KeyEntry("run#v#1", "attach"),  # should be merged
        "d": KeyEntry("tree#n#1", "merge"),  # plant's second sense is the synset of tree
    }
    score = score_merges(key, GOLD, wordnets)
    assert score == MergeScore(made=3, right=2, attached=1, wanted=3)
    assert (score.precision, score.recall, score.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_nothing_merged_has_no_precision(wordnets: list[WordNet]) -> None:
    score = score_merges({"a": KeyEntry("tree#n#1", "attach")}, GOLD, wordnets)
    assert math.isnan(score.precision)
    assert (score.recall, score.f1) == (0, 0)


def test_the_best_threshold_is_where_merges_do_best(wordnets: list[WordNet]) -> None:
    right, wrong = MergeCandidate("a", "tree#n#1", 3.0), MergeCandidate("b", "cherry#n#1", 2.0)
    last, worse = MergeCandidate("d", "tree#n#1", 1.0), MergeCandidate("c", "go#v#1", 0.0)
    assert best_threshold([wrong, right, worse], GOLD, wordnets) == 3.0
    assert best_threshold([wrong, right, last, worse], GOLD, wordnets) == 1.0
    assert best_threshold([wrong, worse], GOLD, wordnets) == math.inf
    assert best_threshold([], GOLD, wordnets) == math.inf
