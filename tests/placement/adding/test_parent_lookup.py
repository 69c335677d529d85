from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.placement.adding.parent_lookup import read_decisions, with_details
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.expanded_files import write_file

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


def parents(tmp_path: Path, table: str) -> list[tuple[str, str]]:
    """The query and the parent of every row."""
    path = write_file(tmp_path / "decisions.csv", table)
    return [(s.query.label, s.parent.id) for s in read_decisions(path, FOOD)]


def refusal(tmp_path: Path, table: str) -> str:
    with pytest.raises(FormatError) as caught:
        parents(tmp_path, table)
    return str(caught.value)


def test_a_unique_label_needs_no_id(tmp_path: Path) -> None:
    assert parents(tmp_path, "query,parent_label\nkefir,dairy\ncider,Drink\n") == [
        ("kefir", "4"),
        ("cider", "2"),
    ]


def test_a_path_chooses_among_equal_labels(tmp_path: Path) -> None:
    table = "query,path\nkefir,food > dairy > milk\noat milk,drink > milk\ncider,drink\n"
    assert parents(tmp_path, table) == [("kefir", "5"), ("oat milk", "3"), ("cider", "2")]
    table = "query,parent_label,path\nkefir,milk,food > dairy > milk\n"
    assert parents(tmp_path, table) == [("kefir", "5")]


def test_ids_and_labels_can_be_mixed(tmp_path: Path) -> None:
    table = "query,parent_id,parent_label\nkefir,5,milk\ncider,,drink\n"
    assert parents(tmp_path, table) == [("kefir", "5"), ("cider", "2")]


def test_the_exact_spelling_and_concepts_in_use_come_first(tmp_path: Path) -> None:
    assert parents(tmp_path, "query,parent_label\nmate,tea\n") == [("mate", "6")]


def test_a_new_concept_can_be_the_parent(tmp_path: Path) -> None:
    table = "query,query_id,parent_label\ncider,c,drink\nperry,p,Cider\n"
    assert parents(tmp_path, table) == [("cider", "2"), ("perry", "c")]


def test_all_unclear_rows_are_listed_with_their_choices(tmp_path: Path) -> None:
    table = (
        "query,parent_label,path\nkefir,milk,\ncider,drink,\nlatte,mlik,\nale,Beverage,\n"
        "hydromel,mead,\ncurd,milk,food > milk\nwhey,milk,food > dairy\nfizz,fizz,\n"
    )
    assert refusal(tmp_path, table) == (
        f"{tmp_path}/decisions.csv: 7 rows have no clear parent; write its id into the column "
        "parent_id\n"
        "  line 2: 'milk' is 3 (food > drink > milk) or 5 (food > dairy > milk)\n"
        "  line 4: no concept has the label 'mlik'\n"
        "  line 5: 'Beverage' is not a label, but a synonym: 2 (food > drink)\n"
        "  line 6: 'mead' is not a label, but a deprecated concept: 8 (food > drink > mead)\n"
        "  line 7: no 'milk' is at 'food > milk'; there is 3 (food > drink > milk) or 5 (food > "
        "dairy > milk)\n"
        "  line 8: parent_label is 'milk', but the path ends in 'dairy'; clear one\n"
        "  line 9: no concept has the label 'fizz'"
    )


def test_a_long_list_of_unclear_rows_is_cut(tmp_path: Path) -> None:
    table = "query,parent_label\n" + "".join(f"q{number},x\n" for number in range(13))
    message = refusal(tmp_path, table)
    assert "13 rows have no clear parent" in message
    assert message.endswith("\n  … and 3 more")


def test_a_row_without_any_parent_is_refused(tmp_path: Path) -> None:
    table = "query,parent_id,parent_label\nkefir,5,milk\ncider,,\n"
    assert "line 3: no parent is given; fill parent_id or parent_label" in refusal(tmp_path, table)


def test_a_ranked_row_may_spell_the_label_otherwise(tmp_path: Path) -> None:
    path = write_file(tmp_path / "s.csv", "query,rank,parent_label\ncider,1,DRINK\n")
    assert read_decisions(path, FOOD)[0].parent == FOOD.concept("2")


def test_concepts_to_move_must_exist(tmp_path: Path) -> None:
    path = write_file(tmp_path / "s.csv", "query,parent_label,moves\nale,drink,99\n")
    assert read_decisions(path, FOOD)[0].moves == ("99",)
    with pytest.raises(FormatError, match="moves contains '99'"):
        read_decisions(path, FOOD, check_moves=True)


def test_an_unknown_parent_id_is_refused_with_its_line(tmp_path: Path) -> None:
    message = refusal(tmp_path, "query,parent_id\nkefir,4\ncider,99\nmate,drink\ncola,98\n")
    assert message.endswith(
        "3 rows have no clear parent; write its id into the column parent_id\n"
        "  line 3: no concept has the id '99'\n"
        "  line 4: no concept has the id 'drink'; it is a label, so write it into the column "
        "parent_label\n"
        "  line 5: no concept has the id '98'"
    )


def test_only_decisions_need_known_parent_ids(tmp_path: Path) -> None:
    table = "query,rank,parent_id\nkefir,1,4\nkefir,2,99\n"
    assert parents(tmp_path, table) == [("kefir", "4"), ("kefir", "99")]
    table = "query,query_id,parent_id\nkefir,50,4\nayran,51,50\n"
    assert parents(tmp_path, table) == [("kefir", "4"), ("ayran", "50")]


@pytest.mark.parametrize(
    "path", ["food>dairy>milk", "Food/Dairy/Milk", "dairy » milk", "dairy|milk"]
)
def test_a_path_may_have_other_separators(tmp_path: Path, path: str) -> None:
    assert parents(tmp_path, f"query,path\nkefir,{path}\n") == [("kefir", "5")]


def test_another_separator_does_not_make_a_wrong_path_right(tmp_path: Path) -> None:
    assert "no concept has the label 'dairy>tea'" in refusal(tmp_path, "query,path\nx,dairy>tea\n")


def suggested(label: str, parent: str) -> Suggestion:
    return Suggestion(Concept("", label), 1, Concept(parent, parent), (parent,), 0.9)


def test_details_are_copied_to_queries_by_their_label() -> None:
    concepts = [Concept("x", "Nut-Milk", ("nut drink",), "a drink made of nuts")]
    (detailed,) = with_details([suggested("nut milk", "milk")], concepts)
    assert detailed.query == Concept("", "nut milk", ("nut drink",), "a drink made of nuts")


def test_details_of_a_repeated_label_come_from_the_row_that_is_placed() -> None:
    concepts = [Concept("x", "nut milk", (), "first"), Concept("y", "nut milk", (), "second")]
    (first,) = with_details([suggested("nut milk", "milk")], concepts)
    assert first.query.definition == "first"
    own = suggested("nut milk", "milk")
    (second,) = with_details([replace(own, query=replace(own.query, id="y"))], concepts)
    assert second.query.definition == "second"
