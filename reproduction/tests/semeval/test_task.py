from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.semeval.task import (
    FILES,
    KeyEntry,
    Score,
    WordNet,
    key_content,
    read_concepts,
    read_half,
    read_key,
    score_key,
)
from taxoexpan.errors import FormatError
from taxoexpan.formats.wordnet import PARTS_OF_SPEECH
from tests.support.tiny_wordnet import write_task, write_wordnet

WORDNET = Path("/usr/share/wordnet")
TASK = Path(__file__).parents[4] / "shared" / "data" / "semeval-2016-task14"


@pytest.fixture(scope="module")
def wordnets(tmp_path_factory: pytest.TempPathFactory) -> list[WordNet]:
    return WordNet.read(write_wordnet(tmp_path_factory.mktemp("wordnet")))


def test_a_sense_is_found_by_its_place_in_the_index(wordnets: list[WordNet]) -> None:
    nouns, verbs = wordnets
    assert [len(nouns.taxonomy), len(verbs.taxonomy)] == [4, 3]
    assert nouns.id_of("plant#n#1") == nouns.senses["plant"][0] != nouns.id_of("tree#n#1")
    assert nouns.id_of("Plant#n#2") == nouns.id_of("tree#n#1")
    for unknown in ("plant#n#3", "plant#n#0", "plant#n#x", "plant#v#1", "bush#n#1", "plant", ""):
        assert nouns.id_of(unknown) is None
    assert verbs.id_of("run#v#1") == "run#v#1"


def test_a_key_is_scored_by_similarity_and_recall(wordnets: list[WordNet]) -> None:
    gold = {
        "a": KeyEntry("tree#n#1", "attach"),
        "b": KeyEntry("run#v#1", "merge"),
        "c": KeyEntry("cherry#n#1", "attach"),
        "d": KeyEntry("be#v#1", "attach"),
    }
    assert score_key(gold, gold, wordnets) == Score(1, 1)
    key = {"a": KeyEntry("cherry#n#1", "attach"), "b": KeyEntry("be#v#1", "attach")}
    # Cherry is a step below tree, whose depth is two; be and run meet above all verbs.
    score = score_key(key, gold, wordnets)
    assert score.wu_palmer == pytest.approx((4 / 5 + 2 / 5) / 2)
    assert (score.recall, score.f1) == (0.5, pytest.approx(2 * 0.6 * 0.5 / 1.1))
    other = {"a": KeyEntry("run#v#1", "attach"), "c": KeyEntry("bush#n#1", "attach")}
    assert score_key(other, gold, wordnets) == Score(0, 0.5)
    assert score_key({}, gold, wordnets).f1 == 0


def test_keys_are_read_as_they_were_written(tmp_path: Path) -> None:
    key = {"t.1": KeyEntry("tree#n#1", "attach"), "t.2": KeyEntry("New_York#n#1", "merge")}
    (tmp_path / "key").write_bytes(key_content(key))
    assert read_key(tmp_path / "key") == key


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    with pytest.raises(FormatError, match=r"the file does not exist; give the folder of SemEval"):
        read_concepts(path)
    path.write_text("tree\tnoun\tt.1\ta plant\thttp://\n\ngo\tverb\n", encoding="utf-8")
    with pytest.raises(
        FormatError, match=r"data\.tsv, line 3: expected 4 tab-separated cells, found 2"
    ):
        read_concepts(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="the file is not UTF-8"):
        read_key(path)


def test_a_merged_concept_belongs_where_its_synset_does(
    wordnets: list[WordNet], tmp_path: Path
) -> None:
    nouns, verbs = (read_half(write_task(tmp_path), "test", wordnet) for wordnet in wordnets)
    assert [concept.label for concept in nouns.concepts] == ["bush"]
    assert [nouns.taxonomy.labels[p] for p in nouns.parents[0]] == ["tree"]
    assert [concept.definition for concept in verbs.concepts] == ["to run"]
    assert [verbs.taxonomy.labels[p] for p in verbs.parents[0]] == ["go"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("test.2\trun#v#1\tattach\n", "no line for 'test.1' of test.data.tsv; add it"),
        ("test.1\tbush#n#1\tattach\n", "'bush#n#1' is not a synset of this WordNet"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(
    wordnets: list[WordNet], tmp_path: Path, key: str, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        read_half(write_task(tmp_path, key), "test", wordnets[0])


@pytest.mark.slow
@pytest.mark.skipif(not WORDNET.is_dir(), reason="no WordNet 3.0 in /usr/share/wordnet")
@pytest.mark.skipif(not TASK.is_dir(), reason="no files of SemEval-2016 Task 14")
def test_the_organisers_baselines_have_the_known_scores() -> None:
    """The task's paper has .514 and .227 by a scorer that is not published."""
    wordnets = WordNet.read(WORDNET, instances=True)
    assert [len(wordnet.taxonomy) for wordnet in wordnets] == [82_115, 13_767]
    gold = read_key(TASK / FILES["test"][1])
    assert len(gold) == 600
    assert [sum(p.operation == name for p in gold.values()) for name in ("attach", "merge")] == [
        568,
        32,
    ]
    scores = [
        score_key(read_key(TASK / f"keys/baseline/test/test.{name}.key"), gold, wordnets)
        for name in ("first-word-first-sense", "random-synset")
    ]
    assert [round(score.wu_palmer, 4) for score in scores] == [0.5237, 0.2287]
    assert [score.recall for score in scores] == [1, 1]
    halves = [[len(read_half(TASK, half, w).concepts) for w in wordnets] for half in FILES]
    assert halves == [[349, 51], [516, 83]]
    assert set(PARTS_OF_SPEECH) == {wordnet.pos for wordnet in wordnets}


def test_a_half_without_concepts_is_refused(tmp_path: Path) -> None:
    wordnet = WordNet.read(write_wordnet(tmp_path))[0]
    data = write_task(tmp_path) / FILES["test"][0]
    data.write_text("", encoding="utf-8")
    with pytest.raises(FormatError, match="no concept of the file is a noun; restore"):
        read_half(tmp_path, "test", wordnet)
