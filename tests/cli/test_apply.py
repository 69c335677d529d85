from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from tests.support.command_line import run
from tests.support.expanded_files import write_file

ROWS = "id,label,parents,synonyms\n1,food,,\n2,milk,1,\n3,dairy,1,\n4,milk,3,\n"


@pytest.fixture
def food(tmp_path: Path) -> Path:
    return write_file(tmp_path / "food.csv", ROWS)


def test_decisions_can_name_parents_by_label_and_path(food: Path, tmp_path: Path) -> None:
    table = "query,parent_label,path\nkefir,dairy,\nwhey,milk,dairy > milk\noat milk,,food > milk\n"
    decisions, out = write_file(tmp_path / "d.csv", table), tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out)
    new = read_taxonomy(out)
    placed = {new.concept(id).label: new.parents(id) for id in new if id not in "1234"}
    assert placed == {"kefir": ("3",), "whey": ("4",), "oat milk": ("2",)}


def test_an_accepted_parent_of_a_concept_that_is_already_present_is_named(
    food: Path, tmp_path: Path
) -> None:
    header = "query,parent_id,rank,score,kind,decision\n"
    rows = "dairy,2,1,0.9,attach,accepted\nmilk,3,1,0.9,attach,\n"
    decisions = write_file(tmp_path / "d.csv", header + rows)
    messages = run("apply", food, decisions, "-o", tmp_path / "out.csv").err
    assert "'dairy' is not moved below 'milk', as accepted" in messages
    assert messages.count("not moved") == 1


def test_an_accepted_synonym_is_not_called_probable(food: Path, tmp_path: Path) -> None:
    rows = "query,parent_id,rank,score,kind,decision\nmilks,2,1,0.9,similar,accepted\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    messages = run("apply", food, decisions, "-o", tmp_path / "out.csv").err
    assert "'milks' is a synonym of 'milk'\n" in messages
    assert "1 synonym added" in messages
    assert "--allow-merges" not in messages


def test_a_synonym_that_is_another_name_already_is_only_warned_of(
    food: Path, tmp_path: Path
) -> None:
    rows = "query,parent_id,rank,kind,decision\ndairy,2,1,merge,accepted\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    messages = run("apply", food, decisions, "-o", tmp_path / "out.csv").err
    assert "'dairy' is not added as a synonym" in messages
    assert "is a synonym of" not in messages


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("attach,2,accepted,1", "merge,3,accepted,2"),
        ("merge,2,accepted,1", "also,3,accepted,2"),
        ("similar,2,accepted,1", "merge,3,accepted,2"),
        ("merge,2,,", "attach,2,,"),
    ],
)
def test_a_concept_cannot_be_both_merged_and_placed(
    food: Path, tmp_path: Path, first: str, second: str
) -> None:
    rows = f"query,kind,parent_id,decision,rank\nkefir,{first}\nwhey,attach,2,,\nkefir,{second}\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    out = tmp_path / "out.csv"
    message = run("apply", food, decisions, "-o", out, status=2).err
    assert "d.csv, line 4: 'kefir'" in message
    assert "on line 2" in message
    assert not out.exists()


def test_a_merge_may_be_repeated_and_beside_a_rejected_parent(food: Path, tmp_path: Path) -> None:
    header = "query,kind,parent_id,decision,rank\n"
    rows = "kefir,attach,2,rejected,1\nkefir,merge,3,accepted,2\nkefir,similar,3,accepted,2\n"
    decisions = write_file(tmp_path / "d.csv", header + rows)
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out)
    assert read_taxonomy(out).concept("3").synonyms == ("kefir",)


def test_a_row_without_an_id_belongs_to_the_concept_with_its_label(
    food: Path, tmp_path: Path
) -> None:
    rows = "kefir,,1\nkefir,k,2\nkefir,,3\nwhey,w,2\n"
    decisions = write_file(tmp_path / "d.csv", f"query,query_id,parent_id\n{rows}")
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out)
    new = read_taxonomy(out)
    placed = {id: new.parents(id) for id in new if id not in "1234"}
    assert placed == {"k": ("1", "2", "3"), "w": ("2",)}


def test_a_row_without_an_id_must_not_fit_two_concepts(food: Path, tmp_path: Path) -> None:
    rows = "kefir,a,2\nkefir,b,3\nkefir,,1\n"
    decisions = write_file(tmp_path / "d.csv", f"query,query_id,parent_id\n{rows}")
    message = run("apply", food, decisions, "-o", tmp_path / "out.csv", status=2).err
    assert "d.csv, line 4: query_id is blank" in message
    assert "lines 2 and 3" in message


def test_texts_may_stand_in_any_row_of_a_concept(tmp_path: Path) -> None:
    rows = "kefir,2,sour,a|b\nkefir,3,,c|b\nkefir,1,sour,\n"
    decisions = write_file(tmp_path / "d.csv", f"query,parent_id,definition,synonyms\n{rows}")
    header = "id,label,parents,synonyms,definition\n"
    food = write_file(tmp_path / "food.csv", f"{header}1,food,,,\n2,milk,1,,\n3,dairy,1,,\n")
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out)
    (kefir,) = [each for each in read_taxonomy(out).concepts if each.label == "kefir"]
    assert (kefir.definition, sorted(kefir.synonyms)) == ("sour", ["a", "b", "c"])


def test_different_definitions_of_a_concept_are_refused(food: Path, tmp_path: Path) -> None:
    rows = "kefir,2,sour\nkefir,3,\nkefir,1,sweet\n"
    decisions = write_file(tmp_path / "d.csv", f"query,parent_id,definition\n{rows}")
    message = run("apply", food, decisions, "-o", tmp_path / "out.csv", status=2).err
    assert "d.csv, line 4: 'kefir' has another definition on line 2" in message


@pytest.mark.parametrize(("line", "other"), [(3, 2), (2, 3)])
@pytest.mark.parametrize("yes", ["accepted,1", "accepted,", ","])
def test_a_parent_cannot_be_both_accepted_and_rejected(
    food: Path, tmp_path: Path, line: int, other: int, yes: str
) -> None:
    rows = {other: f"kefir,2,{yes}\n", line: "kefir,2,rejected,1\n"}
    table = f"query,parent_id,decision,rank\n{rows[2]}{rows[3]}"
    decisions = write_file(tmp_path / "d.csv", table)
    out = tmp_path / "out.csv"
    message = run("apply", food, decisions, "-o", out, status=2).err
    assert f"d.csv, line {line}: 'kefir' is rejected" in message
    assert f"below 'milk' on line {other}" in message
    assert not out.exists()


def test_a_rejected_row_keeps_out_the_same_parent_in_another_row(
    food: Path, tmp_path: Path
) -> None:
    rows = "kefir,2,1,0.9,\nkefir,3,2,0.1,\nkefir,2,,,rejected\n"
    decisions = write_file(tmp_path / "d.csv", f"query,parent_id,rank,score,decision\n{rows}")
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out, "--all")
    new = read_taxonomy(out)
    assert [new.parents(id) for id in new if id not in "1234"] == [("3",)]


@pytest.mark.parametrize(
    ("column", "meant"),
    [("decison", "decision"), ("Decision", "decision"), ("Decided by", "decided_by")],
)
def test_a_misspelled_column_is_refused(
    food: Path, tmp_path: Path, column: str, meant: str
) -> None:
    rows = f"query,rank,parent_id,{column}\nkefir,1,2,accepted\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    out = tmp_path / "out.csv"
    message = run("apply", food, decisions, "-o", out, status=2).err
    assert f"d.csv, line 1: the column {column!r}" in message
    assert f"rename it to {meant}" in message
    assert not out.exists()


@pytest.mark.parametrize("column", ["score", "confidence", "kind"])
@pytest.mark.parametrize("decision", ["", "undecided"])
def test_several_open_rows_of_a_concept_need_a_rank(
    food: Path, tmp_path: Path, column: str, decision: str
) -> None:
    rows = f"kefir,2,,{decision}\nwhey,2,,\nkefir,3,,{decision}\n"
    decisions = write_file(tmp_path / "d.csv", f"query,parent_id,{column},decision\n{rows}")
    out = tmp_path / "out.csv"
    message = run("apply", food, decisions, "-o", out, status=2).err
    assert "d.csv, line 4: 'kefir'" in message
    assert "on line 2" in message
    assert "rank" in message
    assert not out.exists()


@pytest.mark.parametrize("column", ["score", "comment"])
def test_an_accepted_row_counts_before_open_rows_in_a_table_without_ranks(
    food: Path, tmp_path: Path, column: str
) -> None:
    rows = "kefir,2,0.9,\nkefir,3,0.5,accepted\nkefir,1,0.1,undecided\n"
    decisions = write_file(tmp_path / "d.csv", f"query,parent_id,{column},decision\n{rows}")
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out)
    new = read_taxonomy(out)
    assert [new.parents(id) for id in new if id not in "1234"] == [("3",)]


def test_a_table_of_ones_own_needs_no_ranks(food: Path, tmp_path: Path) -> None:
    decisions = write_file(tmp_path / "d.csv", "query,parent_id\nkefir,2\nkefir,3\n")
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out)
    new = read_taxonomy(out)
    assert [new.parents(id) for id in new if id not in "1234"] == [("2", "3")]


def test_the_moves_of_an_accepted_insert_that_need_a_permission_are_counted(
    food: Path, tmp_path: Path
) -> None:
    header = "query,rank,parent_id,kind,moves,decision,decided_by\n"
    accepted = "kefir,1,1,insert,2|3,accepted,\n"
    decisions = write_file(tmp_path / "d.csv", header + accepted)
    out = tmp_path / "out.csv"
    assert "2 moves of accepted inserts not done; use --allow-moves" in (
        run("apply", food, decisions, "-o", out).err
    )
    again = run("apply", out, decisions, "-o", tmp_path / "again.csv").err
    assert "not done" not in again  # the concept is already present
    allowed = run("apply", food, decisions, "-o", out, "--force", "--allow-moves").err
    assert "2 relations moved" in allowed
    assert "not done" not in allowed
    by_person = write_file(decisions, header + accepted.replace("accepted,", "accepted,person"))
    assert "not done" not in run("apply", food, by_person, "-o", out, "--force").err


def test_new_concepts_of_one_name_are_named(food: Path, tmp_path: Path) -> None:
    rows = "query,query_id,parent_id\nrye milk,a,2\nRye Milk,b,2\nwhey,w,2\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    out = tmp_path / "out.csv"
    messages = run("apply", food, decisions, "-o", out).err
    assert "'Rye Milk' is added, although 'rye milk' (a) has the same name" in messages
    assert messages.count("same name") == 1
    assert {"a", "b", "w"} <= set(read_taxonomy(out))


def test_a_column_that_occurs_twice_is_refused(food: Path, tmp_path: Path) -> None:
    rows = "query,decision,parent_id,decision\nkefir,accepted,2,rejected\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    message = run("apply", food, decisions, "-o", tmp_path / "out.csv", status=2).err
    assert "d.csv, line 1: the column decision occurs twice" in message


def test_decisions_under_another_name_are_refused(food: Path, tmp_path: Path) -> None:
    rows = "query,rank,parent_id,Urteil\nkefir,1,2,\nwhey,1,2,Rejected\ntea,1,1,accepted\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    message = run("apply", food, decisions, "-o", tmp_path / "out.csv", status=2).err
    assert "d.csv, line 1: the column 'Urteil'" in message
    assert "rename it to decision" in message
    run("apply", food, write_file(decisions, f"{rows}rye,1,2,ask\n"), "-o", tmp_path / "out.csv")


def test_users_may_add_columns_of_their_own(food: Path, tmp_path: Path) -> None:
    header = "query,parent_id,decision,decisions,comment,reviewer,date,parent,status,notes,id,\n"
    decisions = write_file(tmp_path / "d.csv", f"{header}kefir,2,accepted,a,b,c,d,e,f,g,h,\n")
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out)
    assert "kefir" in read_taxonomy(out).labels


@pytest.mark.parametrize(
    ("row", "id"),
    [
        ("kefir,2,1,3,attach,accepted", "'2'"),  # the id of milk
        ("kefir,,1,99,attach,", "'99'"),
        ("kefir,,1,99,merge,", "'99'"),
        ("kefir,b,,whey,attach,", "'whey'"),
    ],
)
def test_an_error_about_an_id_names_the_line(food: Path, tmp_path: Path, row: str, id: str) -> None:
    rows = f"query,query_id,rank,parent_id,kind,decision\nwhey,a,,3,attach,\n{row}\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    out = tmp_path / "out.csv"
    options = ["--all", "--allow-merges"]
    message = run("apply", food, decisions, "-o", out, *options, status=2).err
    assert "d.csv" in message
    assert "line 3: " in message
    assert id in message
    assert not out.exists()


def test_an_id_that_the_file_uses_for_something_else_names_the_line(tmp_path: Path) -> None:
    skos = "http://www.w3.org/2004/02/skos/core#"
    turtle = f"@prefix skos: <{skos}> .\n<x:scheme> a skos:ConceptScheme .\n"
    turtle += '<x:1> a skos:Concept ; skos:prefLabel "food"@en .\n'
    vocabulary = write_file(tmp_path / "food.ttl", turtle)
    decisions = write_file(tmp_path / "d.csv", "query,query_id,parent_id\nkefir,x:scheme,x:1\n")
    message = run("apply", vocabulary, decisions, "-o", tmp_path / "out.ttl", status=2).err
    assert "d.csv, line 2: " in message
    assert "'x:scheme'" in message


def test_a_cycle_of_new_concepts_names_its_lines(food: Path, tmp_path: Path) -> None:
    rows = "query,query_id,parent_id\nskyr,s,2\nwhey,a,b\nkefir,b,a\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    message = run("apply", food, decisions, "-o", tmp_path / "out.csv", status=2).err
    assert "d.csv, line 4: a cycle" in message
    assert "lines 4, 3" in message


def test_a_change_that_the_file_cannot_hold_is_left_out_with_a_fix(tmp_path: Path) -> None:
    edges = write_file(tmp_path / "edges.csv", "child,parent\nmilk,food\n")
    rows = "query,rank,parent_id,kind,decision\nmilks,1,milk,merge,accepted\n"
    decisions = write_file(tmp_path / "d.csv", rows)
    messages = run("apply", edges, decisions, "-o", tmp_path / "out.csv").err
    assert "'milks' is a synonym of 'milk'; this file has no synonyms" in messages
    assert "taxoexpan convert edges.csv" in messages


def test_a_text_or_an_id_that_the_file_cannot_hold_is_left_out_with_its_line(
    tmp_path: Path,
) -> None:
    taxonomy = write_file(tmp_path / "food.csv", "id,label,parent_id,synonyms\n1,food,,\n")
    rows = (
        "query,query_id,parent_id,synonyms\n"
        "hemp milk,,1,\n"
        'gochujang,g,1,"[""ko|chu""]"\n'
        "red gochujang,,g,\n"
        "kefir,a|b,1,\n"
    )
    decisions = write_file(tmp_path / "d.csv", rows)
    out = tmp_path / "out.csv"
    messages = run("apply", taxonomy, decisions, "-o", out).err
    assert "d.csv, line 3: " in messages
    assert "'ko|chu'" in messages
    assert "'red gochujang' is accepted below" in messages
    assert "d.csv, line 5: " in messages
    assert read_taxonomy(out).labels == ("food", "hemp milk")


def test_a_text_that_the_file_cannot_hold_is_refused_if_nothing_is_left(tmp_path: Path) -> None:
    taxonomy = write_file(tmp_path / "food.csv", "id,label,parent_id,synonyms\n1,food,,\n")
    rows = 'query,parent_id,synonyms\ngochujang,1,"[""ko|chu""]"\n'
    decisions = write_file(tmp_path / "d.csv", rows)
    out = tmp_path / "out.csv"
    message = run("apply", taxonomy, decisions, "-o", out, status=2).err
    assert "d.csv, line 2: " in message
    assert "'ko|chu'" in message
    assert not out.exists()


def test_a_move_by_a_person_of_an_unknown_concept_names_the_line(
    food: Path, tmp_path: Path
) -> None:
    rows = (
        "query,rank,parent_id,kind,moves,decision,decided_by\nwhey,1,2,insert,99,accepted,person\n"
    )
    decisions = write_file(tmp_path / "d.csv", rows)
    message = run("apply", food, decisions, "-o", tmp_path / "out.csv", status=2).err
    assert "d.csv, line 2: moves contains '99'" in message


def test_ambiguous_rows_are_refused_before_anything_is_written(food: Path, tmp_path: Path) -> None:
    decisions = write_file(tmp_path / "d.csv", "query,parent_label\nkefir,dairy\nwhey,milk\n")
    out = tmp_path / "out.csv"
    message = run("apply", food, decisions, "-o", out, status=2).err
    assert "line 3: 'milk' is 2 (food > milk) or 4 (food > dairy > milk)" in message
    assert not out.exists()


def test_merges_with_an_id_of_their_own_keep_it_in_sssom(food: Path, tmp_path: Path) -> None:
    table = "query,query_id,parent_id,kind\nmilch,GPC:77,2,merge\nlait,9,4,merge\n"
    decisions = write_file(tmp_path / "d.csv", table)
    listed = write_file(tmp_path / "new.csv", "label,id\nmilch,GPC:77\nlait,\n")
    mappings = tmp_path / "merges.sssom.tsv"
    command = ["apply", str(food), str(decisions), "-o", str(tmp_path / "out.csv")]
    command += ["--concepts", str(listed), "--allow-merges", "--changes", str(mappings)]
    run(*command)
    rows = [line.split("\t") for line in mappings.read_text(encoding="utf-8").splitlines()[-2:]]
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("GPC:77", "milch", "id:2"),
        ("", "lait", "id:4"),
    ]


@pytest.mark.parametrize("name", ["changes.txt", "merges.tsv", "food.csv", "out.csv"])
def test_an_unusable_file_of_changes_is_refused_before_any_work(
    food: Path, tmp_path: Path, name: str
) -> None:
    decisions = write_file(tmp_path / "d.csv", "query,parent_label\nkefir,dairy\n")
    out, changes = tmp_path / "out.csv", tmp_path / name
    command = ["apply", food, decisions, "-o", out, "--changes", changes]
    messages = run(*command, "--force", status=2).err
    assert ".kgcl (kgcl), .md (markdown), .sssom.tsv (sssom)" in messages
    assert food.read_text(encoding="utf-8") == ROWS
    assert not out.exists()


def test_existing_changes_are_not_overwritten(food: Path, tmp_path: Path) -> None:
    decisions = write_file(tmp_path / "d.csv", "query,parent_label\nkefir,dairy\n")
    out, changes = tmp_path / "out.csv", write_file(tmp_path / "changes.md", "precious")
    command = ["apply", food, decisions, "-o", out, "--changes", changes]
    assert "changes.md: already exists" in run(*command, status=2).err
    assert not out.exists()
    run(*command, "--force")
    assert "**kefir**" in changes.read_text(encoding="utf-8")


def test_hierarchical_codes_follow_parents_that_are_given_by_label(tmp_path: Path) -> None:
    rows = "id,label,parents\n" + "".join(
        f"{id},{label},{id.rpartition('-')[0]}\n"
        for id, label in [("g", "goods"), ("g-1", "tea"), ("g-2", "milk"), ("g-1-1", "mate")]
        + [(f"g-2-{number}", f"milk {number}") for number in range(1, 9)]
    )
    goods = write_file(tmp_path / "goods.csv", rows)
    table = "query,parent_label\ncold drinks,goods\nlemonade,cold drinks\ngreen tea,tea\n"
    decisions, out = write_file(tmp_path / "d.csv", table), tmp_path / "out.csv"
    changes = tmp_path / "changes.kgcl"
    run("apply", goods, decisions, "-o", out, "--changes", changes)
    new = read_taxonomy(out)
    placed = {new.concept(id).label: id for id in new if id not in read_taxonomy(goods)}
    assert placed == {"cold drinks": "g-3", "lemonade": "g-3-1", "green tea": "g-1-2"}
    assert "create node g-3-1 'lemonade'" in changes.read_text(encoding="utf-8")


def test_the_template_of_ids_counts_for_parents_that_are_given_by_label(
    food: Path, tmp_path: Path
) -> None:
    decisions = write_file(tmp_path / "d.csv", "query,parent_label\nkefir,dairy\nayran,kefir\n")
    out = tmp_path / "out.csv"
    run("apply", food, decisions, "-o", out, "--id-template", "F{number:03}")
    assert read_taxonomy(out).parents("F002") == ("F001",)


def test_min_score_leaves_doubtful_concepts_out(pantry: Path, tmp_path: Path) -> None:
    decisions, out = tmp_path / "d.csv", tmp_path / "out.csv"
    decisions.write_text(
        "query,query_id,rank,parent_id,parent_label,path,score\n"
        "cashew milk,cashew milk,1,milk,milk,food > milk,0.9\n"
        "gadget,gadget,1,food,food,food,0.1\n"
    )
    messages = run("apply", pantry, decisions, "-o", out, "--min-score", "0.5").err
    assert "gadget" not in read_taxonomy(out)
    assert "1 concept left out: no parent with a score of 0.5 or more" in messages


@pytest.mark.parametrize(
    ("confidence", "decision", "options", "count"),
    [
        ("", "", [], 2),
        ("0.9", "", [], 0),
        ("", "accepted", [], 0),
        ("", "", ["--all"], 0),
    ],
)
def test_concepts_that_are_added_without_a_confidence_and_a_decision_are_counted(
    pantry: Path, tmp_path: Path, confidence: str, decision: str, options: list[str], count: int
) -> None:
    """A concept without a suitable parent is not added, and a row without a rank is a decision."""
    rows = [f"{each} milk,1,milk,{confidence},{decision}," for each in ("cashew", "yak")]
    rows += [f"gadget,1,food,{confidence},,none", "mead,,tea,,,"]
    table = "\n".join(["query,rank,parent_id,confidence,decision,place", *rows])
    decisions, out = write_file(tmp_path / "d.csv", table), tmp_path / "out.csv"
    messages = run("apply", pantry, decisions, "-o", out, *options).err
    assert {"cashew milk", "yak milk", "mead"} <= set(read_taxonomy(out))
    assert messages.count("without a confidence") == min(count, 1)
    assert f"{count} concepts were added below the first suggestion" in messages or not count


@pytest.mark.parametrize(("decision", "parents"), [("", ("milk",)), ("rejected", None)])
def test_a_rejected_parent_is_not_chosen_for_a_coarse_placement_either(
    pantry: Path, tmp_path: Path, decision: str, parents: tuple[str, ...] | None
) -> None:
    rows = [
        "query,rank,parent_id,path,score,confidence,decision,levels,sure_from",
        "yak milk,1,tea,food > tea,0.6,0.6,rejected,0.99 > 0.3,0.9",
        "yak milk,2,oat milk,food > milk > oat milk,0.2,0.2,,0.99 > 0.95 > 0.2,0.9",
        f"yak milk,3,milk,food > milk,0.1,0.1,{decision},0.99 > 0.95,0.9",
    ]
    decisions, out = write_file(tmp_path / "d.csv", "\n".join(rows)), tmp_path / "out.csv"
    run("apply", pantry, decisions, "-o", out)
    grown = read_taxonomy(out)
    assert (grown.parents("yak milk") if "yak milk" in grown else None) == parents


def test_definitions_and_synonyms_travel_with_the_list(tmp_path: Path) -> None:
    old, out = tmp_path / "old.csv", tmp_path / "out.csv"
    old.write_text("id,label,parents,definition,synonyms\n1,milk,,white drink,\n")
    (tmp_path / "new.csv").write_text('label,definition,synonyms\noat milk,"of oats, mostly",a|b\n')
    (tmp_path / "d.csv").write_text("query,query_id,parent_id\noat milk,2,1\n")
    files = [str(tmp_path / name) for name in ("d.csv", "new.csv")]
    run("apply", old, files[0], "--concepts", files[1], "-o", out)
    concept = read_taxonomy(out).concept("2")
    assert (concept.definition, concept.synonyms) == ("of oats, mostly", ("a", "b"))


def test_a_pair_of_files_is_written_and_named_as_a_pair(tmp_path: Path) -> None:
    (tmp_path / "old.terms").write_text("1\tmilk\n")
    (tmp_path / "old.taxo").write_text("")
    (tmp_path / "d.csv").write_text("query,query_id,parent_id\noat milk,2,1\n")
    files = [str(tmp_path / name) for name in ("old.terms", "d.csv")]
    messages = run("apply", *files, "-o", tmp_path / "new").err
    assert f"{tmp_path}/new.terms and {tmp_path}/new.taxo" in messages
    assert read_taxonomy(tmp_path / "new.taxo").parents("2") == ("1",)


def test_apply_refuses_a_cycle_and_writes_nothing(pantry: Path, tmp_path: Path) -> None:
    decisions, out = tmp_path / "d.csv", tmp_path / "out.csv"
    decisions.write_text("query,query_id,parent_id\nx,x,y\ny,y,x\n")
    assert "a cycle: " in run("apply", pantry, decisions, "-o", out, status=2).err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.csv"]


def test_ids_come_from_a_range(tmp_path: Path) -> None:
    taxonomy, decisions, out = (tmp_path / name for name in ("t.csv", "d.csv", "out.csv"))
    taxonomy.write_text("id,label,parents\nN1,Milk,\nN2,Oat milk,N1\nN3,Soy milk,N1\n")
    decisions.write_text("query,query_id,parent_id\nYak milk,,N1\nGoat milk,,N1\n")
    command = ["apply", taxonomy, decisions, "-o", out, "--id-range"]
    messages = run(*command, "700-700", status=2).err
    needed = "new ids needed: 2; free numbers from 700 to 700: 1"
    assert needed in messages
    assert not out.exists()
    run(*command, "700-799")
    assert {"N700", "N701"} <= set(read_taxonomy(out))
