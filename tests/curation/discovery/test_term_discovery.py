from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from discovery_corpus import FIELD, corpus, discovered, texts

from taxoexpan.curation.discovery.term_discovery import discover, discovered_concepts_table
from taxoexpan.errors import FormatError
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.taxonomy import Concept, Taxonomy


def test_a_frequent_phrase_is_found_with_its_counts(tmp_path: Path) -> None:
    discoveries = discovered(
        tmp_path, "We like federated learning.", "Of federated learning we know."
    )
    discovery = discoveries["federated learning"]
    assert (discovery.count, discovery.documents) == (24, 12)
    assert 0 < discovery.score <= 1
    assert discovery.might_duplicate == ""


def test_a_rare_phrase_is_not_found(tmp_path: Path) -> None:
    documents = [*texts("We like slot filling."), *texts("We like hate speech.", times=4)]
    labels = {one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)}
    assert "slot filling" in labels
    assert "hate speech" not in labels


def test_the_number_of_workers_does_not_change_the_result(tmp_path: Path) -> None:
    topics = (
        "slot filling",
        "style transfer (ST)",
        "image captioning",
        "large graph models (LGMs)",
    )
    documents = [
        document
        for topic in topics
        for document in texts(f"Of {topic} we know.", f"The {topic} of today.", times=350)
    ]
    path = corpus(tmp_path, documents)
    alone, two, three = (discover(path, FIELD, workers=workers) for workers in (1, 2, 3))
    assert alone == two == three
    assert len(alone) >= len(topics)


def test_the_table_can_be_read_as_a_list_of_new_concepts(tmp_path: Path) -> None:
    sentence = 'Graph models (GM) are things that, "by all means", hold together; see above.'
    discoveries = list(discovered(tmp_path, sentence).values())
    for name in ("new.csv", "new.tsv"):
        path = tmp_path / name
        path.write_text(discovered_concepts_table(path, discoveries), encoding="utf-8")
        assert read_concepts(path) == [
            Concept("", one.label, one.synonyms, one.definition) for one in discoveries
        ]


def test_the_table_has_no_formulas_and_is_read_exactly(tmp_path: Path) -> None:
    found = list(discovered(tmp_path, "Graph models (GM) hold together; see above.").values())
    labels = ["=1+1", "'=1+1", "-x", "'tis"]
    found = [replace(found[0], label=label, example="@SUM(A1)") for label in labels]
    path = tmp_path / "new.csv"
    text = discovered_concepts_table(path, found)
    assert re.search(r"(^|,)[=@+-]", text, re.MULTILINE) is None
    path.write_text(text, encoding="utf-8")
    assert [concept.label for concept in read_concepts(path)] == labels


def test_top_limits_the_result_to_the_best_concepts(tmp_path: Path) -> None:
    path = corpus(tmp_path, texts("Of slot filling and style transfer, and of image captioning."))
    everything = discover(path, FIELD, workers=1)
    assert discover(path, FIELD, top=2, workers=1) == everything[:2]
    assert [one.score for one in everything] == sorted((o.score for o in everything), reverse=True)


def test_a_missing_or_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        discover(tmp_path / "none.txt", FIELD)
    with pytest.raises(FormatError, match="empty"):
        discover(corpus(tmp_path, ["", " "]), FIELD)


def test_a_taxonomy_of_another_domain_is_refused(tmp_path: Path) -> None:
    animals = Taxonomy([Concept("1", "zebra")])
    with pytest.raises(FormatError, match="same domain"):
        discover(corpus(tmp_path, texts("We like slot filling.")), animals, workers=1)


def test_a_corpus_without_new_phrases_gives_no_concepts(tmp_path: Path) -> None:
    path = corpus(tmp_path, ["The grammar is this."] * 9)
    assert discover(path, FIELD, workers=1) == []
