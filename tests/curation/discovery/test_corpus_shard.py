from __future__ import annotations

import pytest

from taxoexpan.curation.discovery.corpus_shard import CorpusIdentity, Shard, ShardedDocuments
from taxoexpan.errors import ConfigurationError


def test_a_shard_is_a_number_of_a_count() -> None:
    assert Shard.parse("2/8") == Shard(2, 8)
    assert str(Shard(2, 8)) == "2/8"


@pytest.mark.parametrize("text", ["", "2", "0/8", "9/8", "-1/8", "1/0", "1/8/2", "a/b", "1 / 2"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="such as 2/8"):
        Shard.parse(text)


def test_every_document_is_in_one_shard() -> None:
    documents = [str(number) for number in range(11)]
    shares = [list(ShardedDocuments(documents, Shard(number, 3))) for number in (1, 2, 3)]
    assert sorted(each for share in shares for each in share) == sorted(documents)
    assert [len(share) for share in shares] == [4, 4, 3]


def identity(documents: list[str], shard: Shard) -> CorpusIdentity:
    share = ShardedDocuments(documents, shard)
    list(share)
    return share.identity


def test_all_shards_identify_the_whole_corpus() -> None:
    documents = ["one", "three", "eleven"]
    first = identity(documents, Shard(2, 3))
    assert (first.documents, first.characters) == (3, 14)
    assert first == identity(documents, Shard(3, 3))


def test_other_documents_of_the_same_size_are_another_corpus() -> None:
    first = identity(["one", "three"], Shard(1, 2))
    for others in (["three", "one"], ["two", "seven"], ["onet", "hree"]):
        assert identity(others, Shard(1, 2)) != first
