from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.openfoodfacts.blocks import split_tag_ids, tag_id
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import expansion_refusal, refusal, write_expanded, write_file
from tests.support.strategies import STYLES, Style, quickly

FOOD = """\
# Food
# https://wiki.openfoodfacts.org

stopwords:fr: aux, au, de

synonyms:en: flavoured, flavored

en: Yogurts, yoghurts
fr: Yaourts, yogourts
nl_be: Yoghurts
xx: Yog
als: Joghurt
description:en: Fermented milk.
description:fr: Lait fermenté.
wikidata:en: Q13317
web:en: https://example.org

# with fruit
< fr:yogourts
en: Banana yogurts
fr: Yaourts à la banane

< en: Yogurt
en: Lemon yogurts

<en:Banana yogurts
<en:Lemon yogurts
fr: Yaourts au citron et aux bananes

en: Cheeses
"""
KEFIR = Concept("en:kefir", "Kefir")


def taxonomy_of(path: Path, **options: str) -> Taxonomy:
    return TaxonomyFile.open(path, options=ReadOptions(**options)).taxonomy


def expanded(folder: Path, text: str, additions: Additions) -> str:
    """Return the text of an expanded file."""
    path = write_file(folder / "food.txt", text)
    write_expanded(path, additions, folder / "new.txt", force=True)
    return (folder / "new.txt").read_bytes().decode("utf-8")


def test_entries_names_and_parents(tmp_path: Path) -> None:
    opened = TaxonomyFile.open(write_file(tmp_path / "food.txt", FOOD))
    assert opened.format is FORMATS["openfoodfacts"]
    taxonomy = opened.taxonomy
    mixed = "fr:yaourts-au-citron-et-aux-bananes"
    assert set(taxonomy.relations) == {
        ("en:yogurts", "en:banana-yogurts"),
        ("en:yogurts", "en:lemon-yogurts"),
        ("en:banana-yogurts", mixed),
        ("en:lemon-yogurts", mixed),
    }
    assert taxonomy.roots == ("en:yogurts", "en:cheeses")
    yogurts = Concept("en:yogurts", "Yogurts", ("yoghurts", "Yog"), "Fermented milk.")
    assert taxonomy.concept("en:yogurts") == yogurts
    assert taxonomy.concept(mixed).label == "Yaourts au citron et aux bananes"
    foreign = set(taxonomy.foreign_names[taxonomy.index("en:yogurts")])
    assert foreign == {"Yaourts", "yogourts", "Yoghurts", "Joghurt"}
    assert opened.notes == ()
    counts = {"comments": 3, "stopwords": 1, "synonyms": 1, "wikidata": 1, "web": 1}
    other_languages = {"names in other languages": 5, "descriptions in other languages": 1}
    assert opened.parsed.ignored == {**counts, **other_languages}


def test_another_language_changes_labels_but_not_ids(tmp_path: Path) -> None:
    taxonomy = taxonomy_of(write_file(tmp_path / "food.txt", FOOD), language="fr")
    wanted = Concept("en:yogurts", "Yaourts", ("yogourts", "Yog"), "Lait fermenté.")
    assert taxonomy.concept("en:yogurts") == wanted
    assert taxonomy.concept("en:cheeses").label == "Cheeses"


def test_labels_are_in_the_language_of_most_ids(tmp_path: Path) -> None:
    text = "en: A\nfr: B\n\nen: C\nfr: D\n\nfr: E\n"
    assert taxonomy_of(write_file(tmp_path / "food.txt", text)).labels == ("A", "C", "E")


@pytest.mark.parametrize(
    "parent", ["en: Red wines", "fr: vins rouges", "en: red wine", "fr: vin de rouge", "fr:Rouges"]
)
def test_a_parent_is_named_in_any_language_and_number(tmp_path: Path, parent: str) -> None:
    text = f"stopwords:fr: de\n\nen: Red wines\nfr: Vins rouges, rouges\n\n< {parent}\nen: Merlot\n"
    taxonomy = taxonomy_of(write_file(tmp_path / "food.txt", text))
    assert list(taxonomy.relations) == [("en:red-wines", "en:merlot")]


def test_a_label_identifies_a_parent_before_a_synonym(tmp_path: Path) -> None:
    text = "en: E101, E101i\n\nen: E101(i)\n\n< en: E101(i)\nen: X\n"
    assert taxonomy_of(write_file(tmp_path / "food.txt", text)).parents("en:x") == ("en:e101i",)


def test_a_parent_from_another_file_becomes_a_concept(tmp_path: Path) -> None:
    text = "# origins\n\n< en: Japan\nen: Kyōto\n\n< en: japan\nen: Nara\n"
    opened = TaxonomyFile.open(write_file(tmp_path / "food.txt", text))
    assert opened.taxonomy.parents("en:nara") == ("en:japan",)
    (note,) = opened.notes
    assert note.line == 3
    assert note.message == "the parent 'Japan' has no block; it is added as a concept"
    nara = Concept("en:kobe", "Kobe")
    new = expanded(tmp_path, text, Additions([nara], [("en:japan", "en:kobe")]))
    assert new == text + "\n< en: Japan\nen: Kobe\n"


def test_repeated_and_incomplete_blocks_are_noted(tmp_path: Path) -> None:
    many = "".join(f"en: n{n}\n\n" for n in range(100))
    text = f"{many}en: A\n\n< en: A\n\nen: a, B\nfr: C\n\nA Ltd.\n"
    opened = TaxonomyFile.open(write_file(tmp_path / "food.txt", text))
    assert opened.taxonomy.concept("en:a") == Concept("en:a", "A", ("a", "B"))
    assert [(note.line, note.message) for note in opened.notes] == [
        (203, "parents without a name below them; this block is ignored"),
        (205, "a second block for 'en:a'; it is read as one entry with the first"),
        (208, "'A Ltd.' is neither a parent, a name nor a property; it is ignored"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("en: A\nde: \n", "line 2: 'de: ' starts with no name that has a letter or a digit; add a"),
        ("en: ?!\n", "line 1: 'en: ?!' starts with no name that has a letter or a digit; add a"),
        ("< en: A\nen: A\n", "line 1: 'en:a' is its own parent; correct or remove this relation"),
        ("< en: B\nen: A\n\n< en: A\nen: B\n", "line 1: a cycle: "),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = write_file(tmp_path / "food.txt", text)
    assert refusal(path).startswith(f"{path}, {message}")


def test_a_new_entry_follows_the_last_child_of_its_parent(tmp_path: Path) -> None:
    new = [
        replace(KEFIR, synonyms=("Kéfir", "Milk, soured"), definition="Sour\nmilk."),
        Concept("en:goat-kefir", "Goat kefir"),
        Concept("en:breads", "Breads"),
    ]
    relations = [
        ("en:yogurts", "en:kefir"),
        ("en:kefir", "en:goat-kefir"),
        ("fr:yaourts-au-citron-et-aux-bananes", "en:goat-kefir"),
    ]
    before, after = FOOD.split("en: Lemon yogurts\n", 1)
    assert expanded(tmp_path, FOOD, Additions(new, relations)) == (
        f"{before}en: Lemon yogurts\n\n< en: Yogurts\nen: Kefir, Kéfir, Milk\\, soured\n"
        "description:en: Sour milk.\n\n< en: Kefir\n< fr: Yaourts au citron et aux bananes\n"
        f"en: Goat kefir\n{after}\nen: Breads\n"
    )
    reread = taxonomy_of(tmp_path / "new.txt")
    wanted = Concept("en:kefir", "Kefir", ("Kéfir", "Milk, soured"), "Sour milk.")
    assert reread.concept("en:kefir") == wanted
    assert len(reread.parents("en:goat-kefir")) == 2


def test_new_entries_are_in_the_chosen_language(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.txt", FOOD)
    new, options = Concept("fr:kefir", "Kéfir"), ReadOptions(language="fr")
    additions = Additions([new], [("en:cheeses", "fr:kefir")])
    written = write_expanded(path, additions, tmp_path / "new.txt", options=options)
    assert (tmp_path / "new.txt").read_text() == f"{FOOD}\n< en: Cheeses\nfr: Kéfir\n"
    assert written.lost == []


def test_the_spaces_of_older_files_are_kept(tmp_path: Path) -> None:
    text = "en:Food\r\nfr:Aliment\r\n\r\n<en:Food\r\nen:Milk"
    additions = Additions([KEFIR], [("en:milk", "en:kefir")], synonyms=[("en:food", "Foods")])
    assert expanded(tmp_path, text, additions) == (
        "en:Food, Foods\r\nfr:Aliment\r\n\r\n<en:Food\r\nen:Milk\r\n\r\n<en:Milk\r\nen:Kefir\r\n"
    )


def test_a_move_replaces_only_the_name_of_the_parent(tmp_path: Path) -> None:
    moves = [Move("en:banana-yogurts", "en:yogurts", "en:kefir")]
    additions = Additions([KEFIR], [("en:yogurts", "en:kefir")], moves=moves)
    block = "en: Lemon yogurts\n\n< en: Yogurts\nen: Kefir\n"
    assert expanded(tmp_path, FOOD, additions) == FOOD.replace(
        "< fr:yogourts", "< en: Kefir"
    ).replace("en: Lemon yogurts\n", block)


def test_a_synonym_is_added_to_the_line_of_the_label(tmp_path: Path) -> None:
    additions = Additions([], [], synonyms=[("en:yogurts", "curd, sour")])
    assert expanded(tmp_path, FOOD, additions) == FOOD.replace(
        "yoghurts\n", "yoghurts, curd\\, sour\n", 1
    )


def test_ids_that_differ_from_the_derived_ones_are_reported(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.txt", FOOD)
    for id, lost in (("en:kefir", []), ("42", ["ids"])):
        additions = Additions([replace(KEFIR, id=id)], [("en:cheeses", id)])
        assert write_expanded(path, additions, tmp_path / "new.txt", force=True).lost == lost
        assert "en:kefir" in taxonomy_of(tmp_path / "new.txt")


@pytest.mark.parametrize(
    ("concept", "message"),
    [
        (Concept("x", "YOGHURTS"), "'YOGHURTS' is the same as a name of 'en:yogurts' (yoghurts)"),
        (Concept("x", "Sour", ("cheeses",)), "'cheeses' is the same as a name of 'en:cheeses'"),
        (Concept("x", "!!"), "'en: !!' starts with no name that has a letter"),
    ],
)
def test_names_that_the_file_cannot_hold_are_refused(
    tmp_path: Path, concept: Concept, message: str
) -> None:
    path = write_file(tmp_path / "food.txt", FOOD)
    assert message in expansion_refusal(path, Additions([concept], [("en:cheeses", "x")]))


def test_two_new_concepts_with_the_same_id_are_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.txt", FOOD)
    additions = Additions([KEFIR, Concept("x", "KEFIR!")], [])
    assert "'KEFIR!' is the same as a name of 'en:kefir'" in expansion_refusal(path, additions)


@pytest.mark.parametrize("synonym", ["sour\nmilk", "a\\"])
def test_synonyms_that_a_line_cannot_hold_are_refused(tmp_path: Path, synonym: str) -> None:
    with pytest.raises(FormatError, match="of 'Kefir' would be read back as"):
        expanded(tmp_path, FOOD, Additions([replace(KEFIR, synonyms=(synonym,))], []))


# ---- an independent parser ------------------------------------------------------------------


def slow_parse(text: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Return ids and relations, block by block, without any index."""
    blocks = [block for block in re.split(r"\n(?:[ \t]*\n)+", text) if block.strip()]
    named: list[tuple[str, list[str], list[list[str]]]] = []
    for block in blocks:
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        names = [m for m in (re.match(r"(\w\w): *(.*)", line) for line in lines) if m]
        if names:
            keys = [[f"{m[1]}:{key}" for key in split_tag_ids(m[1], m[2])] for m in names]
            above = [re.sub(r"^< *", "", line) for line in lines if line.startswith("<")]
            named.append((keys[0][0], above, keys))
    relations = set()
    for id, above, _ in named:
        for reference in above:
            language, name = reference.split(":", 1)
            key = f"{language}:{tag_id(language, name.strip())}"
            owners = [other for other, _, keys in named if any(key == line[0] for line in keys)]
            owners += [other for other, _, keys in named if any(key in line for line in keys)]
            relations.add((owners[0], id))
    return {id for id, _, _ in named}, relations


@given(data=st.data(), style=st.sampled_from(STYLES))
@quickly
def test_random_files_agree_with_a_slow_parser_and_keep_every_byte(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, style: Style
) -> None:
    folder = tmp_path_factory.mktemp("random")
    lines, path = random_file(data), folder / "food.txt"
    path.write_bytes(style.encode(lines))
    opened = TaxonomyFile.open(path, "openfoodfacts")
    ids, relations = slow_parse("\n".join(lines))
    assert (set(opened.taxonomy.ids), set(opened.taxonomy.relations)) == (ids, relations)
    parents = data.draw(st.lists(st.sampled_from(sorted(ids)), max_size=2, unique=True))
    additions = Additions([KEFIR], [(parent, KEFIR.id) for parent in parents])
    opened.write(additions, folder / "new.txt")
    old, new = path.read_bytes(), (folder / "new.txt").read_bytes()
    reread = TextFile.load(folder / "new.txt")
    new_ids, new_relations = slow_parse("\n".join(reread.lines))
    (id,) = new_ids - ids
    assert id.endswith(":kefir")
    assert new_relations == relations | {(parent, id) for parent in parents}
    added = len(new) - len(old)
    assert any(new[:start] + new[start + added :] == old for start in range(len(old) + 1))


def random_file(data: st.DataObject) -> list[str]:
    """Return the lines of a file with random names, languages, parents and properties."""
    lines = ["# a comment", ""] if data.draw(st.booleans()) else []
    references: list[str] = []
    for number in range(data.draw(st.integers(1, 6))):
        above = st.sampled_from(references) if references else st.just("")
        chosen = set(filter(None, data.draw(st.lists(above, max_size=2))))
        lines += [
            data.draw(st.sampled_from(["< ", "<"])) + reference for reference in sorted(chosen)
        ]
        languages = data.draw(
            st.lists(st.sampled_from(["en", "fr", "de", "xx"]), min_size=1, unique=True)
        )
        for language in languages:
            words = data.draw(st.lists(st.text("aéZ水 ", max_size=4), max_size=2))
            names = [f"{word.strip()} {number} {i}".strip() for i, word in enumerate([*words, ""])]
            lines.append(f"{language}: {', '.join(names)}")
            references += [f"{language}:{' ' * (len(name) % 2)}{name}" for name in names]
        lines += data.draw(st.sampled_from([[], ["wikidata:en: Q1"], ["# x", "color:en: red, b"]]))
        lines += data.draw(st.sampled_from([[""], ["", "  ", ""]]))
    return lines[:-1]
