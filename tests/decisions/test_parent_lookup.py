"""Tables in which a row names its parent by label or path instead of an id."""

from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import Concept, Taxonomy
from tests.support.decisions import apply, refusal, table

FOOD = Taxonomy(
    [
        Concept("1", "food"),
        Concept("2", "drink", ("beverage",)),
        Concept("3", "milk"),
        Concept("4", "dairy"),
        Concept("5", "milk"),
        Concept("6", "Tea"),
        Concept("7", "tea", deprecated=True),
        Concept("8", "mead", deprecated=True),
    ],
    [("1", "2"), ("2", "3"), ("1", "4"), ("4", "5"), ("2", "6"), ("2", "7"), ("2", "8")],
)


@pytest.mark.parametrize(
    ("columns", "row", "parent"),
    [
        ("parent_label", "dairy", "4"),
        ("parent_label", "Drink", "2"),
        ("parent_id,parent_label", ",drink", "2"),
        ("parent_id,parent_label", "5,milk", "5"),
        ("rank,parent_label", "1,DRINK", "2"),
        ("path", "drink", "2"),
        ("path", "drink > milk", "3"),
        ("path", "food > dairy > milk", "5"),
        ("parent_label,path", "milk,food > dairy > milk", "5"),
        ("parent_label", "tea", "6"),  # in use, and of another spelling than the deprecated one
        ("path", "food>dairy>milk", "5"),
        ("path", "Food/Dairy/Milk", "5"),
        ("path", "dairy » milk", "5"),
        ("path", "dairy|milk", "5"),
    ],
)
def test_a_parent_is_found_by_a_unique_label_or_path(
    tmp_path: Path, columns: str, row: str, parent: str
) -> None:
    rows = table(f"query,{columns}", f"kefir,{row}")
    assert apply(tmp_path, FOOD, rows).placed == {"kefir": [parent]}


def test_the_exact_spelling_decides_between_labels(tmp_path: Path) -> None:
    names = Taxonomy([Concept("1", "food"), Concept("2", "Turkey"), Concept("3", "turkey")], [])
    rows = table("query,parent_label", "capon,turkey", "Izmir,Turkey")
    assert apply(tmp_path, names, rows).placed == {"capon": ["3"], "Izmir": ["2"]}
    assert "line 2" in refusal(tmp_path, names, table("query,parent_label", "capon,TURKEY"))


def test_a_new_concept_can_be_the_parent(tmp_path: Path) -> None:
    rows = table(
        "query,query_id,parent_id,parent_label",
        *("cider,c,,drink", "perry,p,,Cider", "ayran,a,p,"),
    )
    applied = apply(tmp_path, FOOD, rows)
    assert applied.placed == {"cider": ["2"], "perry": ["c"], "ayran": ["p"]}


UNCLEAR = {
    "kefir,milk,": ("3 (food > drink > milk)", "5 (food > dairy > milk)"),
    "latte,mlik,": ("'mlik'",),
    "ale,Beverage,": ("synonym", "2 (food > drink)"),
    "hydromel,mead,": ("deprecated", "8 (food > drink > mead)"),
    "curd,milk,food > milk": ("'food > milk'", "3 (food > drink > milk)", "5 (food > dairy"),
    "whey,milk,food > dairy": ("'milk'", "'dairy'"),
    "fizz,fizz,": ("'fizz'",),  # it is not below itself
    "x,,dairy>tea": ("'dairy>tea'",),
}


def test_all_rows_with_an_unclear_parent_are_listed_with_their_choices(tmp_path: Path) -> None:
    rows = table("query,parent_label,path", "cider,drink,", *UNCLEAR)
    message = refusal(tmp_path, FOOD, rows)
    assert "decisions.csv" in message
    assert "parent_id" in message  # the column that decides
    assert f"{len(UNCLEAR)} rows" in message
    lines = {
        number: line
        for number in range(2, 3 + len(UNCLEAR))
        for line in message.splitlines()
        if f"line {number}: " in line
    }
    assert list(lines) == list(range(3, 3 + len(UNCLEAR)))
    for line, words in zip(lines.values(), UNCLEAR.values(), strict=True):
        for word in words:
            assert word in line


def test_many_unclear_rows_are_counted_and_not_all_listed(tmp_path: Path) -> None:
    rows = table("query,parent_label", *(f"q{number},x" for number in range(500)))
    message = refusal(tmp_path, FOOD, rows)
    assert "500 rows" in message
    assert 1 < message.count("line ") < 50
    assert "more" in message.splitlines()[-1]


def test_a_row_without_any_parent_is_refused(tmp_path: Path) -> None:
    rows = table("query,parent_id,parent_label", "kefir,5,milk", "cider,,")
    message = refusal(tmp_path, FOOD, rows)
    assert "decisions.csv, line 3" in message
    assert "parent_id or parent_label" in message


def test_unknown_ids_of_decided_parents_are_refused_with_their_lines(tmp_path: Path) -> None:
    rows = table("query,parent_id", "kefir,4", "cider,99", "mate,drink", "cola,98")
    message = refusal(tmp_path, FOOD, rows)
    _, cider, mate, cola = message.splitlines()
    assert "line 3: " in cider
    assert "'99'" in cider
    assert "line 4: " in mate
    assert "parent_label" in mate  # it is a label, in the wrong column
    assert "line 5: " in cola


def test_a_suggested_parent_that_is_not_chosen_may_be_unknown(tmp_path: Path) -> None:
    rows = table("query,rank,parent_id", "kefir,1,4", "kefir,2,99")
    assert apply(tmp_path, FOOD, rows).placed == {"kefir": ["4"]}


# ---- the list of new concepts ---------------------------------------------------------------


def test_synonyms_and_definitions_come_from_the_list_of_new_concepts(tmp_path: Path) -> None:
    """They fill blank cells. A name is the same in any spelling; of equal names, the id decides."""
    listed = tmp_path / "new.csv"
    listed.write_text(
        "label,id,definition,synonyms\n"
        "Nut-Milk,x,a drink made of nuts,nut drink\n"
        "soy milk,s,first,\n"
        "soy milk,y,second,\n",
        encoding="utf-8",
    )
    rows = table("query,query_id,parent_id,definition", "nut milk,n,3,own", "soy milk,y,3,")
    new = apply(tmp_path, FOOD, rows, "--concepts", listed).new
    assert new.concept("n").synonyms == ("nut drink",)
    assert new.concept("n").definition == "own"
    assert new.concept("y").definition == "second"


def test_the_first_of_equal_names_describes_a_row_without_its_id(tmp_path: Path) -> None:
    listed = tmp_path / "new.csv"
    listed.write_text("label,id,definition\nsoy milk,s,first\nsoy milk,y,second\n")
    applied = apply(tmp_path, FOOD, table("query,parent_id", "soy milk,3"), "--concepts", listed)
    (id,) = set(applied.new) - set(FOOD)
    assert applied.new.concept(id).definition == "first"
