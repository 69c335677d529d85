from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from discovery_corpus import FIELD, corpus, texts

from taxoexpan.curation.discovery import DiscoveredConcept, discover
from taxoexpan.curation.discovery.corpus_shard import Shard
from taxoexpan.curation.discovery.shard_files import write_shard_file
from taxoexpan.curation.discovery.sharded_discovery import (
    count_shard,
    merge_counts,
    merge_observations,
    observe_shard,
    read_phrases,
)
from taxoexpan.errors import FormatError
from taxoexpan.taxonomy import Concept, Taxonomy

SENTENCES = (
    "Of slot filling we know little.",
    "Style transfer (ST) is a task that changes the tone of a text.",
    "The image captioning of today; see Image Captioning.",
    "We use large graph models (LGMs), a kind of network that reads graphs.",
    "They label the sequence labelling and the sequence labeling.",
)


def documents() -> list[str]:
    """Different numbers of documents per topic, so that no two shards are alike."""
    own = [texts(sentence, times=5 + 4 * i) for i, sentence in enumerate(SENTENCES)]
    return [document for topic in own for document in topic]


def counted(path: Path, count: int) -> list[Path]:
    files = []
    for number in range(1, count + 1):
        files.append(path.with_name(f"counts-{number}.json.gz"))
        shard = count_shard(path, FIELD, Shard(number, count), workers=1)
        write_shard_file(files[-1], shard, force=True)
    return files


def chosen(path: Path, count: int, min_count: int = 5) -> Path:
    phrases, error = merge_counts(counted(path, count), FIELD, min_count=min_count)
    assert error == 0
    file = path.with_name("phrases.json.gz")
    write_shard_file(file, phrases, force=True)
    return file


def observed(path: Path, count: int, min_count: int = 5) -> list[Path]:
    phrases = read_phrases(chosen(path, count, min_count))
    files = []
    for number in range(1, count + 1):
        files.append(path.with_name(f"observations-{number}.json.gz"))
        shard = observe_shard(path, FIELD, Shard(number, count), phrases, workers=1)
        write_shard_file(files[-1], shard, force=True)
    return files


def in_shards(path: Path, count: int, min_count: int = 5) -> list[DiscoveredConcept]:
    # Neither the order of the files nor that of the shards matters.
    return merge_observations(observed(path, count, min_count)[::-1], FIELD)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards_give_exactly_what_the_whole_corpus_gives(tmp_path: Path, count: int) -> None:
    path = corpus(tmp_path, documents())
    whole = discover(path, FIELD, workers=1)
    assert len(whole) >= len(SENTENCES)
    assert any(concept.definition for concept in whole)
    assert any(concept.synonyms for concept in whole)
    assert in_shards(path, count) == whole


def test_a_phrase_that_is_rare_in_every_shard_is_found(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    labels = {concept.label for concept in in_shards(path, 5)}
    assert "slot filling" in labels  # five mentions, one in each shard


def test_more_shards_than_documents_are_allowed(tmp_path: Path) -> None:
    path = corpus(tmp_path, texts("The grammar of slot filling.", times=3))
    assert in_shards(path, 5, min_count=2) == discover(path, FIELD, min_count=2, workers=1) != []


def test_a_text_keeps_characters_that_are_no_valid_unicode(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    rows = [json.dumps({"text": text}) for text in texts("Of slot filling \ud800 we know.")]
    path.write_text("\n".join(rows), encoding="ascii")
    assert in_shards(path, 2) == discover(path, FIELD, workers=1)


def test_the_same_shard_gives_the_same_bytes(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    one = [file.read_bytes() for file in observed(path, 2)]
    assert [file.read_bytes() for file in observed(path, 2)] == one


def test_dropped_phrases_are_reported(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    files = []
    for number in (1, 2):
        files.append(tmp_path / f"{number}.gz")
        shard = count_shard(path, FIELD, Shard(number, 2), workers=1, capacity=40)
        write_shard_file(files[-1], shard)
    _, error = merge_counts(files, FIELD, min_count=1)
    assert error > 0


def test_a_missing_shard_is_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    with pytest.raises(FormatError, match="the shard 2/3 is missing; merge all 3 shards"):
        merge_counts(counted(path, 3)[::2], FIELD)
    with pytest.raises(FormatError, match="the shard 3/3 is missing"):
        merge_observations(observed(path, 3)[:2], FIELD)


def test_a_repeated_shard_is_refused(tmp_path: Path) -> None:
    files = counted(corpus(tmp_path, documents()), 2)
    with pytest.raises(FormatError, match=r"is shard 1/2, and so is .*counts-1.*give every shard"):
        merge_counts([files[0], files[0]], FIELD)


def test_shards_of_another_division_are_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    first = counted(path, 2)[0].rename(tmp_path / "first.gz")
    with pytest.raises(FormatError, match=r"is shard 2/3, but .*first.gz is one of 2"):
        merge_counts([first, counted(path, 3)[1]], FIELD)


def test_a_corpus_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    files, phrases = counted(path, 2), read_phrases(chosen(path, 2))
    corpus(tmp_path, documents()[:-1])
    with pytest.raises(FormatError, match="give every process the same corpus"):
        observe_shard(path, FIELD, Shard(1, 2), phrases, workers=1)
    other = count_shard(path, FIELD, Shard(2, 2), workers=1)
    write_shard_file(files[1], other, force=True)
    with pytest.raises(FormatError, match="give every process the same corpus"):
        merge_counts(files, FIELD)


def test_another_taxonomy_is_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    other = Taxonomy([*FIELD.concepts, Concept("7", "slot filling")])
    message = "another taxonomy; use the same taxonomy in all steps"
    with pytest.raises(FormatError, match=message):
        merge_counts(counted(path, 2), other)
    with pytest.raises(FormatError, match=message):
        observe_shard(path, other, Shard(1, 2), read_phrases(chosen(path, 2)))
    with pytest.raises(FormatError, match=message):
        merge_observations(observed(path, 2), other)


def test_observations_of_other_phrases_are_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    first = observed(path, 2, min_count=5)[0].rename(tmp_path / "first.gz")
    second = observed(path, 2, min_count=6)[1]
    with pytest.raises(FormatError, match=r"observed with other phrases than .*first.gz"):
        merge_observations([first, second], FIELD)


def test_counts_and_observations_are_not_merged(tmp_path: Path) -> None:
    path = corpus(tmp_path, documents())
    with pytest.raises(FormatError, match="merge either counts or observations"):
        merge_counts([counted(path, 2)[0], observed(path, 2)[1]], FIELD)
    with pytest.raises(FormatError, match="merge the counts of all shards first"):
        read_phrases(counted(path, 2)[0])


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    values = json.loads(gzip.decompress(path.read_bytes()))
    change(values)
    path.write_bytes(gzip.compress(json.dumps(values).encode()))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values.update(version=2), "has version 2, but this taxoexpan reads 1"),
        (lambda values: values.update(kind="other"), "not an intermediate file of discover"),
        (lambda values: values.pop("candidates"), "is damaged; write it again"),
        (lambda values: values.update(content="other"), "is damaged; write it again"),
        (lambda values: values.update(min_count=float("inf")), "is damaged, or"),
        (lambda values: values["candidates"][0].__setitem__(1, float("nan")), "is damaged"),
        (lambda values: values.update(min_count=-1), "is damaged; write it again"),
        (lambda values: values.update(known=[-1]), "is damaged; write it again"),
        (lambda values: values.update(specific=[10**6]), "is damaged; write it again"),
        (lambda values: values.update(numbers={}), "is damaged; write it again"),
        (lambda values: values.update(numbers={"a": True}), "is damaged; write it again"),
    ],
)
def test_another_file_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    file = chosen(corpus(tmp_path, documents()), 1)
    with pytest.raises(FormatError, match=message):
        read_phrases(changed(file, change))


def test_a_truncated_or_foreign_file_is_refused(tmp_path: Path) -> None:
    file = chosen(corpus(tmp_path, documents()), 1)
    content = file.read_bytes()
    for other in (content[:-20], b"phrase,count\n", b"", gzip.compress(b"[]")):
        file.write_bytes(other)
        with pytest.raises(FormatError, match="not an intermediate file of discover"):
            read_phrases(file)
    with pytest.raises(FormatError, match="no such file"):
        read_phrases(tmp_path / "none.gz")
    os.mkfifo(tmp_path / "pipe.gz")
    with pytest.raises(FormatError, match="not an intermediate file of discover"):
        read_phrases(tmp_path / "pipe.gz")


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values["cells"].__setitem__(0, 10**9),
        lambda values: values["cells"].__setitem__(0, -1),
        lambda values: values["counts"].pop(),
        lambda values: values["counts"].__setitem__(0, 2**70),
        lambda values: values["forms"][0].__setitem__(0, 10**9),
        lambda values: values.update(shard=[3, 2]),
        lambda values: values.update(texts=-5),
    ],
)
def test_observations_out_of_range_are_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    files = observed(corpus(tmp_path, documents()), 2)
    changed(files[0], change)
    with pytest.raises(FormatError, match="is damaged; write it again"):
        merge_observations(files, FIELD)
