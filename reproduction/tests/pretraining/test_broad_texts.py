from __future__ import annotations

import gzip
import json
import string
from pathlib import Path

import pytest

from reproduction.pretraining import broad_repositories as repositories
from reproduction.pretraining import broad_sources as sources
from reproduction.pretraining.broad_sources import Entry
from reproduction.pretraining.broad_texts import MAX_LENGTH, SOURCES, Texts, main, texts_of
from reproduction.pretraining.noun_phrases import frequent_phrases, noun_phrases
from reproduction.pretraining.text_overlap import NameIndex

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
SYNSET = (
    "00001740 06 n 02 arm_chair 0 easy_chair 0 001 @ 00002 n 0000 "
    '| a chair with arms; "he sat in an arm chair"\n'
)
PACKAGES = """Package: chairs
Description-md5: 0
Description-en: draws chairs
 This program draws chairs. It also draws tables. It is fast. It is small.
 .
 More of it.

Package: libchairs-dev
Description-en: headers of a library
"""


def dictionary(folder: Path, name: str, articles: dict[str, str]) -> Path:
    """Write a dictionary of dictd, and return its index."""
    lines, content = [], b""
    for word, article in articles.items():
        start, length = (
            LETTERS[number // 64] + LETTERS[number % 64] for number in (len(content), len(article))
        )
        lines.append(f"{word}\t{start}\t{length}\n")
        content += article.encode()
    (folder / f"{name}.dict.dz").write_bytes(gzip.compress(content, mtime=0))
    index = folder / f"{name}.index"
    index.write_text("".join(lines), encoding="utf-8")
    return index


def lines_of(entries: list[Entry]) -> list[str]:
    return list(dict.fromkeys(text for entry in entries for text in texts_of(entry)))


def test_a_dictionary_has_names_definitions_and_synonyms(tmp_path: Path) -> None:
    article = (
        "Stool \\Stool\\, n. [AS. st[=o]l.]\n   1. A {seat} without a back.\n\n"
        "   2. A seat with three or\n      four legs.\n\n   Syn: seat, bench.\n        [PJC]\n"
    )
    index = dictionary(tmp_path, "gcide", {"00databaseinfo": "about it", "stool": article})
    assert lines_of(list(sources.dictionary(index))) == [
        "stool",
        "stool: A seat without a back.",
        "stool: A seat with three or four legs.",
        "seat",
        "bench",
    ]


def test_wordnet_has_names_a_definition_and_examples(tmp_path: Path) -> None:
    for part in ("noun", "verb", "adj", "adv"):
        text = "  1 a licence\n" + (SYNSET if part == "noun" else "")
        (tmp_path / f"data.{part}").write_text(text, encoding="utf-8")
    assert lines_of(list(sources.wordnet(tmp_path))) == [
        "arm chair",
        "easy chair",
        "arm chair: a chair with arms",
        "he sat in an arm chair",
    ]


def test_packages_of_libraries_have_no_name(tmp_path: Path) -> None:
    (tmp_path / "main_Translation-en").write_text(PACKAGES, encoding="utf-8")
    found = list(sources.debian(tmp_path))
    assert lines_of(found) == [
        "chairs",
        "chairs: draws chairs",
        "draws chairs",
        "This program draws chairs.",
        "It also draws tables.",
        "It is fast.",
        "headers of a library",
    ]
    assert "It is small." in [entry.more for entry in found]


def test_subdivisions_have_their_kind_and_country(tmp_path: Path) -> None:
    countries = {
        "3166-1": [{"alpha_2": "FR", "name": "France", "official_name": "French Republic"}]
    }
    regions = {"3166-2": [{"code": "FR-BRE", "name": "Brittany", "type": "Region"}]}
    for name, rows in (("iso_3166-1.json", countries), ("iso_3166-2.json", regions)):
        (tmp_path / name).write_text(json.dumps(rows), encoding="utf-8")
    assert lines_of(list(sources.iso_codes(tmp_path))) == [
        "France",
        "French Republic",
        "Brittany",
        "Brittany: Region, France",
    ]


def test_patent_groups_that_continue_their_parent_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "patent_cpc"
    folder.mkdir()
    text = "[A1] Shirts  see also B2 -- **Definition:** It covers shirts.\n[A2] with inserts -- x\n"
    (folder / "A.txt").write_text(text, encoding="utf-8")
    assert list(repositories.coded_names(folder)) == [Entry(("Shirts",))]


def test_coded_concepts_have_synonyms_and_definitions(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    line = "[C1] Jack Device -- **Definition:** A tool. **Synonyms:** - Jack - Lifter\n"
    path.write_text(f"# List\n{line}", encoding="utf-8")
    assert lines_of(list(repositories.skills(path))) == [
        "Jack Device",
        "Jack",
        "Lifter",
        "Jack Device: A tool.",
    ]


def test_only_english_names_of_open_food_facts_are_read(tmp_path: Path) -> None:
    (tmp_path / "taxonomies").mkdir()
    text = "< en: Drinks\nen: Oat drinks, Drinks\\, oat\nfr: Boissons\nwikidata:en: Q1\n"
    (tmp_path / "taxonomies" / "categories.txt").write_text(text, encoding="utf-8")
    assert lines_of(list(repositories.food_facts(tmp_path))) == ["Oat drinks", "Drinks, oat"]


def test_noun_phrases_lie_between_stop_words_and_punctuation() -> None:
    text = (
        "The gas-fired water heaters, which are used in 20 public baths (usually hot water tanks)."
    )
    assert list(noun_phrases(text)) == [
        "gas-fired water heaters",
        "public baths",
        "hot water tanks",
    ]
    assert frequent_phrases([text, "a public baths"]) == ["public baths"]


def test_texts_are_kept_once_and_without_names_of_tests() -> None:
    texts = Texts(NameIndex(["arm chair", "lamp"]))
    given = [
        "Stool",
        "stool",
        "Lamps",
        "lamp: a light",
        "my arm chairs",
        "table lamp",
        "凳子",
        "ab cd " * 99,
    ]
    assert texts.add(given) == 3
    assert texts.texts[:2] == ["Stool", "table lamp"]
    assert len(texts.texts[2]) <= MAX_LENGTH
    assert not texts.allowed(Entry(("easy chair", "arm chair"), "a chair with arms"))


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    (tmp_path / "tests.txt").write_text("lamp\n", encoding="utf-8")
    exclude = ["--exclude", str(tmp_path / "tests.txt")]
    with pytest.raises(SystemExit, match=f"{next(iter(SOURCES))} is missing"):
        main([str(tmp_path), "-o", str(tmp_path / "phrases.txt.gz"), *exclude])


def test_brands_have_their_kind(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "brands" / "shop"
    folder.mkdir(parents=True)
    items = [{"displayName": "Oak & Co"}, {"fromTemplate": "operators/amenity"}]
    (folder / "baby_goods.json").write_text(json.dumps({"items": items}), encoding="utf-8")
    assert lines_of(list(repositories.brands(tmp_path))) == [
        "Oak & Co",
        "Oak & Co: baby goods shop",
    ]
