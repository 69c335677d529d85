from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan.curation.discovery import (
    MAX_EXAMPLE_LENGTH,
    c_values,
    discover,
    discovered_concepts_table,
    is_abbreviation,
    residual_idf,
)
from taxoexpan.errors import FormatError
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.discovery_corpus import FIELD, corpus, discovered, texts


def test_c_values_are_those_of_the_worked_example() -> None:
    """Section 2.3.1 of Frantzi, Ananiadou and Mima (2000)."""
    found = c_values(
        {
            "adenoid cystic basal cell carcinoma": 5,
            "cystic basal cell carcinoma": 11,
            "ulcerated basal cell carcinoma": 7,
            "recurrent basal cell carcinoma": 5,
            "circumscribed basal cell carcinoma": 3,
            "basal cell carcinoma": 984,
        }
    )
    expected = [5 * math.log2(5), 12, 14, 10, 6, 1551.36]
    assert list(found.values()) == pytest.approx(expected, abs=0.005)


def test_a_single_word_has_no_c_value() -> None:
    assert c_values({"tea": 9, "green tea": 4}) == {"tea": 0, "green tea": 4}


def test_repetition_in_few_documents_has_a_residual_idf() -> None:
    # With 100 mentions in 100 documents, 63 documents are expected to have one.
    assert residual_idf(100, 63, 100) == pytest.approx(0, abs=0.01)
    assert residual_idf(100, 10, 100) == pytest.approx(math.log2(63.2 / 10), abs=0.01)


def test_a_frequent_phrase_is_found_with_its_counts(tmp_path: Path) -> None:
    documents = texts("We like federated learning.", "Of federated learning we know.")
    documents += texts("Nobody knows.", times=28)
    (discovery,) = (
        one
        for one in discover(corpus(tmp_path, documents), FIELD, workers=1)
        if one.label == "federated learning"
    )
    assert (discovery.count, discovery.documents) == (24, 12)
    assert discovery.synonyms == ()
    assert discovery.score == pytest.approx(24 * residual_idf(24, 12, 40))


def test_a_rare_phrase_is_not_found(tmp_path: Path) -> None:
    documents = [*texts("We like slot filling."), *texts("We like hate speech.", times=4)]
    labels = {one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)}
    assert "slot filling" in labels
    assert "hate speech" not in labels


def test_a_phrase_of_one_document_is_not_found(tmp_path: Path) -> None:
    documents = [*texts("We like slot filling."), *texts("Of hate speech. " * 9, times=1)]
    labels = {one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)}
    assert "hate speech" not in labels
    whole = discover(corpus(tmp_path, [" ".join(documents)]), FIELD, workers=1)
    assert "hate speech" in {one.label for one in whole}


def test_names_that_few_documents_repeat_rank_before_general_phrases(tmp_path: Path) -> None:
    topics = ("slot filling", "style transfer", "image captioning", "intent detection")
    documents = [
        document
        for topic in topics
        for document in texts(
            f"Of {topic} we know.",
            f"The {topic} of today.",
            f"By {topic} in full.",
            "With a large margin in the end.",
        )
    ]
    labels = [one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)]
    assert set(labels[:4]) == set(topics)
    assert labels.index("large margin") > 3


def test_single_words_come_last_by_frequency(tmp_path: Path) -> None:
    sentences = ("Of treebanks we know.", "The treebank.", "A lexicon.", "Of slot filling.")
    labels = list(discovered(tmp_path, *sentences))
    known = [label for label in labels if label in ("treebank", "lexicon", "slot filling")]
    assert known == ["slot filling", "treebank", "lexicon"]
    assert discovered(tmp_path, *sentences)["lexicon"].score == 0


def test_verbs_are_not_in_names(tmp_path: Path) -> None:
    sentences = (
        "To outperform a friend, we outperform the others.",
        "Many outperform slot filling.",
        "Results outperform image captioning.",
    )
    discoveries = discovered(tmp_path, *sentences)
    assert {"slot filling", "image captioning"} <= discoveries.keys()
    assert not [label for label in discoveries if "outperform" in label]


def test_a_part_of_a_longer_phrase_is_not_a_concept(tmp_path: Path) -> None:
    sentences = ["The neural architecture search.", "Of neural architecture search we know."]
    discoveries = discovered(tmp_path, *sentences, "The neural architecture.")
    assert "neural architecture search" in discoveries
    assert not {"neural architecture", "architecture search"} & discoveries.keys()


def test_a_part_that_also_occurs_alone_is_a_concept(tmp_path: Path) -> None:
    sentences = ["Of style transfer we know.", "To the style transfer of today."]
    discoveries = discovered(tmp_path, "We like text style transfer.", *sentences)
    assert {"style transfer", "text style transfer"} <= discoveries.keys()
    assert discoveries["style transfer"].count == 36


@pytest.mark.parametrize(
    "name",
    [
        "natural language processing",
        "Natural-Language Processing",
        "machine translations",
        "speech-recognition",
        "voice typing",
        "grammars",
        "tokenization",
    ],
)
def test_a_known_name_is_left_out_in_every_spelling(tmp_path: Path, name: str) -> None:
    sentences = (f"Of {name} we know.", "We like slot filling.", "Of the grammar.")
    assert set(discovered(tmp_path, *sentences)) & {name, name.removesuffix("s")} == set()


def test_an_abbreviation_is_a_synonym_and_not_a_concept(tmp_path: Path) -> None:
    sentences = ("Of large graph models (LGMs) we know.", "An LGM of yours, a large graph model.")
    discoveries = discovered(tmp_path, *sentences)
    assert discoveries["large graph model"].synonyms == ("LGM",)
    assert not {"LGM", "LGMs"} & discoveries.keys()


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ("NMT", "neural machine translation"),
        ("TTS", "text-to-speech"),
        ("ABSA", "aspect-based sentiment analysis"),
        ("KPG", "keyphrase generation"),
        ("DocRE", "document-level relation extraction"),
    ],
)
def test_an_abbreviation_matches_its_words(short: str, words: str) -> None:
    assert is_abbreviation(short, words)


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ("NMT", "machine translation"),
        ("NMT", "neural machine"),
        ("BERT", "language model"),
        ("LM", ""),
    ],
)
def test_an_abbreviation_does_not_match_other_words(short: str, words: str) -> None:
    assert not is_abbreviation(short, words)


def test_spellings_and_plurals_are_one_concept(tmp_path: Path) -> None:
    sentences = ["Of image-labelings we know.", "By image-labeling in full.", "The Image-labeling."]
    discoveries = discovered(tmp_path, *sentences)
    assert discoveries["image-labeling"].count == 36
    assert not {"image-labelings", "Image-labeling"} & discoveries.keys()


def test_a_label_has_only_the_usual_capital_letters(tmp_path: Path) -> None:
    documents = texts("Of Monte Carlo search we know.", "By Monte Carlo search in full.")
    documents += texts("Of Monte Carlo Search.", times=3)
    labels = [one.label for one in discover(corpus(tmp_path, documents), FIELD, workers=1)]
    assert "Monte Carlo search" in labels


@pytest.mark.parametrize(
    ("labels", "expected"), [(["shirt", "coat"], "felt hat"), (["shirts", "coats"], "felt hats")]
)
def test_a_label_is_singular_or_plural_like_the_known_labels(
    tmp_path: Path, labels: list[str], expected: str
) -> None:
    clothes = Taxonomy([Concept(label, label) for label in labels])
    sentences = "In shirts and coats.", "With a felt hat of yours.", "By felt hats for them."
    assert expected in discovered(tmp_path, *sentences, taxonomy=clothes)


def test_an_example_contains_the_phrase_and_is_not_too_long(tmp_path: Path) -> None:
    short = "We know of federated learning in the village."
    assert discovered(tmp_path, short)["federated learning"].example == short
    long = "With " + "a boat on the river and " * 30 + "the federated learning of today."
    example = discovered(tmp_path, long)["federated learning"].example
    assert "federated learning" in example
    assert len(example) <= MAX_EXAMPLE_LENGTH + 4


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


def test_frequent_phrases_are_found_with_little_memory(tmp_path: Path) -> None:
    noise = [f"noise{number} thing{number} of stuff{number}." for number in range(9000)]
    documents = texts("We like slot filling.", times=9000)
    path = corpus(tmp_path, [text for pair in zip(documents, noise, strict=True) for text in pair])
    tight = {one.label: one for one in discover(path, FIELD, workers=1, capacity=200)}
    assert tight["slot filling"].count == 9000


def test_the_table_can_be_read_as_a_list_of_new_concepts(tmp_path: Path) -> None:
    sentence = 'Graph models (GM) are things that, "by all means", hold together; see above.'
    discoveries = list(discovered(tmp_path, sentence).values())
    for name in ("new.csv", "new.tsv"):
        path = tmp_path / name
        path.write_text(discovered_concepts_table(path, discoveries), encoding="utf-8")
        assert read_concepts(path) == [Concept("", one.label, one.synonyms) for one in discoveries]


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
