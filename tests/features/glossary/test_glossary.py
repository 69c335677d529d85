from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import Concept, Glossary, Taxonomy
from taxoexpan.features.glossary.glossary import MAX_SENSES, MatchKind, look_up_definitions

DATA = {
    "astronomy": [Concept("p", "planet"), Concept("v", "Venus (planet)"), Concept("m", "mercury")],
    "chemistry": [Concept("e", "chemical element"), Concept("m2", "mercury"), Concept("g", "gold")],
}
PLANET = "Mercury is the planet closest to the Sun."
METAL = "Mercury is a chemical element with the symbol Hg."
GOD = "Mercury is a Roman god of commerce."
SENSES = (("Mercury (planet)", PLANET), ("Mercury (element)", METAL), ("Mercury (god)", GOD))


@pytest.fixture
def science() -> Taxonomy:
    relations = [(concepts[0].id, other.id) for concepts in DATA.values() for other in concepts[1:]]
    return Taxonomy([c for concepts in DATA.values() for c in concepts], relations)


def write(folder: Path, *entries: tuple[str, str]) -> Path:
    path = folder / "glossary.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in entries), encoding="utf-8")
    return path


def defined(path: Path, *concepts: Concept) -> list[str]:
    taxonomy = Taxonomy(concepts)
    found = Glossary.read(path, taxonomy.concepts).define_taxonomy(taxonomy).taxonomy
    return [concept.definition for concept in found.concepts]


def test_exact_names_come_before_plurals_and_plurals_before_synonyms(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        ("green-teas", "Plural text of teas."),
        ("Green Tea", "Exact text of tea. More."),
        ("brew", "Synonym text of tea."),
    )
    concepts = [
        Concept("1", "green tea", synonyms=("brew",)),
        Concept("2", "green Teas"),
        Concept("3", "infusion", synonyms=("nothing", "brews")),
        Concept("4", "milk"),
        Concept("5", "green tea", definition="my own"),
    ]
    assert defined(path, *concepts) == [
        "Exact text of tea.",
        "Plural text of teas.",
        "Synonym text of tea.",
        "",
        "my own",
    ]
    matches = Glossary.read(path, concepts).define_taxonomy(Taxonomy(concepts)).matches
    assert matches.found == {MatchKind.EXACT: 2, MatchKind.SYNONYM: 1}
    assert (matches.concepts, matches.defined_before, matches.ambiguous) == (5, 1, 0)


def test_a_plural_is_counted_as_such(tmp_path: Path) -> None:
    path, teas = write(tmp_path, ("tea", "Tea is a drink.")), [Concept("1", "teas")]
    matches = Glossary.read(path, teas).define_taxonomy(Taxonomy(teas)).matches
    assert matches.found == {MatchKind.PLURAL: 1}


def test_the_sense_that_fits_the_neighbors_is_taken(tmp_path: Path, science: Taxonomy) -> None:
    path = write(tmp_path, *SENSES)
    found = Glossary.read(path, science.concepts).define_taxonomy(science)
    assert found.taxonomy.concept("m").definition == PLANET
    assert found.taxonomy.concept("m2").definition == METAL
    assert (found.matches.ambiguous, found.matches.unclear) == (2, 0)


def test_a_title_with_parentheses_matches_a_label_with_them(
    tmp_path: Path, science: Taxonomy
) -> None:
    path = write(tmp_path, ("Venus (planet)", "It is hot there."), ("Venus", "A tennis player."))
    found = Glossary.read(path, science.concepts).define_taxonomy(science).taxonomy
    assert found.concept("v").definition == "It is hot there."


def test_a_new_concept_gets_the_sense_that_fits_the_vocabulary(tmp_path: Path) -> None:
    names = ["chemical element", "noble element", "rare element", "gold"]
    taxonomy = Taxonomy([Concept(name, name) for name in names])
    new = [Concept("", "mercury"), Concept("", "Gold"), Concept("", "tin", definition="mine")]
    path = write(tmp_path, *SENSES, ("tin", "A metal can."))
    found = Glossary.read(path, new).define_concepts(new, taxonomy)
    assert [concept.definition for concept in found.concepts] == [METAL, "", "mine"]
    assert (found.matches.found.total(), found.matches.ambiguous) == (1, 1)


def test_an_unclear_sense_is_left_out_unless_one_title_is_plain(tmp_path: Path) -> None:
    animals = Taxonomy([Concept("a", "animal"), Concept("m", "mercury")], [("a", "m")])
    glossary = Glossary.read(write(tmp_path, *SENSES), animals.concepts)
    unclear = glossary.define_taxonomy(animals)
    assert unclear.taxonomy.concept("m").definition == ""
    assert unclear.matches.unclear == 1
    plain = write(tmp_path, ("Mercury", "The main thing of that name."), *SENSES)
    found = Glossary.read(plain, animals.concepts).define_taxonomy(animals)
    assert found.taxonomy.concept("m").definition == "The main thing of that name."


def test_repeated_titles_are_senses_and_repeated_texts_are_not(
    tmp_path: Path, science: Taxonomy
) -> None:
    path = write(tmp_path, ("mercury", GOD), ("mercury", METAL), ("mercury", METAL))
    glossary = Glossary.read(path, science.concepts)
    assert [sense.text for sense in glossary.senses["mercury"]] == [GOD, METAL]
    assert glossary.define_taxonomy(science).taxonomy.concept("m2").definition == METAL


def test_only_wanted_entries_of_a_long_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "glossary.tsv"
    with path.open("w", encoding="utf-8") as file:
        for number in range(30_000):
            file.write(f"thing {number}\tThing {number} is a thing. It is one of many.\n")
            if number % 100 == 0:
                file.write(f"teas\tTea number {number} is a drink.\n")
    wanted = [Concept("1", "thing 7"), Concept("2", "Thing-29999"), Concept("3", "tea")]
    glossary = Glossary.read(path, [*wanted, Concept("4", "thing 8", definition="mine")])
    assert {key: len(senses) for key, senses in glossary.senses.items()} == {
        "thing 7": 1,
        "thing 29999": 1,
        "tea": MAX_SENSES,
    }


def test_a_taxonomy_and_new_concepts_are_looked_up_in_one_pass(
    tmp_path: Path, science: Taxonomy
) -> None:
    path = write(tmp_path, ("gold", "Gold is a metal."), ("tin", "Tin is a metal."))
    found = look_up_definitions(path, science, [Concept("t", "tin")])
    assert found.taxonomy.concept("g").definition == "Gold is a metal."
    assert found.new == (Concept("t", "tin", definition="Tin is a metal."),)
    assert (found.taxonomy_matches.concepts, found.new_matches.concepts) == (6, 1)
