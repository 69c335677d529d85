from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from expanded_files import (
    QUOTING,
    added_text,
    csv_lines,
    expand_file,
    expansion_refusal,
    refusal,
    under,
    write_expanded,
    write_file,
)
from hypothesis import given
from hypothesis import strategies as st
from strategies import Growth, Style, growths, names, quickly, styles

from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy


def fruit(folder: Path, text: str = "child,parent\napple,fruit\n") -> Path:
    return write_file(folder / "food.csv", text)


FRUIT = Taxonomy([Concept("fruit", "fruit"), Concept("apple", "apple")], [("fruit", "apple")])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("food.csv", "child,parent\napple,fruit\n"),
        ("food.csv", "parent,child\nfruit,apple\n"),
        ("food.csv", "child;parent\napple;fruit\n"),
        ("food.csv", "\ufeffchild,parent\r\napple,fruit\r\n"),
        ("food.csv", '"child","parent"\n"apple","fruit"\n'),
        ("food.csv", "Child , Parent\n apple , fruit \n\n"),
        ("food.tsv", "child\tparent\napple\tfruit\n"),
        ("food.txt", "hyponym\thypernym\napple\tfruit"),
        ("food.csv", "note,child_id,parent_id\nred,apple,fruit\n"),
        ("food.csv", "child,parent\nfruit,\napple,fruit\n"),
    ],
)
def test_all_layouts_of_edge_lists_are_read(tmp_path: Path, name: str, text: str) -> None:
    assert TaxonomyFile.open(write_file(tmp_path / name, text)).taxonomy == FRUIT


def test_a_label_may_contain_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    path = fruit(tmp_path, 'child,parent\n"fig, ""dried""\nor fresh",fruit\n')
    assert TaxonomyFile.open(path).taxonomy.children("fruit") == ('fig, "dried"\nor fresh',)


def test_a_concept_with_an_empty_parent_is_a_root(tmp_path: Path) -> None:
    taxonomy = TaxonomyFile.open(fruit(tmp_path, "child,parent\nfruit,\nstone,\n")).taxonomy
    assert taxonomy.roots == ("fruit", "stone")
    assert len(taxonomy.relations) == 0


def test_a_single_concept_is_read(tmp_path: Path) -> None:
    assert list(TaxonomyFile.open(fruit(tmp_path, "child,parent\nfruit,\n")).taxonomy) == ["fruit"]


def test_a_repeated_relation_is_noted_and_stored_once(tmp_path: Path) -> None:
    document = TaxonomyFile.open(fruit(tmp_path, "child,parent\na,b\nc,b\na,b\n"))
    assert len(document.taxonomy.relations) == 2
    (note,) = document.notes
    assert (note.line, note.message) == (4, "'a' under 'b' occurs more than once")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a,b\nc\n", ", line 3: the row has 1 cells, but the header has 2; add the others"),
        (
            "a,b,c\n",
            ", line 2: the row has 3 cells, but the header has 2; quote cells that contain a comma",
        ),
        ("a,b\n,b\n", ", line 3: the child is empty; name it, or remove the row"),
        (
            "a,b\nb,b\n",
            ", line 3: 'b' is its own parent; correct or remove this relation",
        ),
        ("", ": the file has no concept; it needs at least one"),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, body: str, message: str) -> None:
    path = fruit(tmp_path, "child,parent\n" + body)
    assert refusal(path) == f"{path}{message}"


def test_line_numbers_count_line_breaks_in_cells(tmp_path: Path) -> None:
    path = fruit(tmp_path, 'child,parent\n"a\nb\nc",d\n,x\n')
    assert refusal(path).startswith(f"{path}, line 5: the child is empty")


def test_a_cycle_is_reported_with_its_lines(tmp_path: Path) -> None:
    path = fruit(tmp_path, "child,parent\nx,a\na,b\nb,c\nc,a\n")
    message = refusal(path)
    assert message.startswith(f"{path}, line 3: a cycle: ")
    assert "c → b → a → c" in message or "b → a → c → b" in message or "a → c → b → a" in message
    assert message.endswith("remove one of these relations (lines 3, 4, 5)")


def test_only_some_lines_of_a_long_cycle_are_named(tmp_path: Path) -> None:
    rows = "".join(f"{n},{(n + 1) % 9}\n" for n in range(9))
    path = fruit(tmp_path, "child,parent\n" + rows)
    assert refusal(path).endswith("(lines 2, 3, 4, 5, 6, …)")


def test_an_unclosed_quote_is_refused_where_it_opens(tmp_path: Path) -> None:
    path = fruit(tmp_path, 'child,parent\na,b\n"c,b\nd,b\n')
    assert refusal(path).startswith(
        f"{path}, line 3: the table is not well-formed (unexpected end of data)"
    )


def test_a_header_without_child_and_parent_is_refused_if_the_format_is_given(
    tmp_path: Path,
) -> None:
    path = fruit(tmp_path, "below,above\napple,fruit\n")
    assert refusal(path, "edges").startswith(
        f"{path}, line 1: the table needs the columns child and parent. The columns are:\n"
        "   1  below\n   2  above\n"
    )


@pytest.mark.parametrize("text", ["child,parent\ra,b\r", "x" * 200_000])
def test_a_first_line_that_is_not_a_header_is_refused(tmp_path: Path, text: str) -> None:
    path = fruit(tmp_path, text)
    assert refusal(path, "edges").startswith(f"{path}, line 1: the first line is not a header (")


@given(
    growths(ids=names(breaks=True)),
    styles(),
    st.sampled_from(",;\t"),
    st.sampled_from(QUOTING),
)
@quickly
def test_an_expanded_table_keeps_all_bytes_and_reads_back(
    tmp_path_factory: pytest.TempPathFactory,
    growth: Growth,
    style: Style,
    delimiter: str,
    quoting: Literal[0, 1],
) -> None:
    roots = [[root, ""] for root in growth.old.roots]
    relations = [[child, parent] for parent, child in growth.old.relations]
    path = tmp_path_factory.mktemp("edges") / "food.csv"
    rows = [["child", "parent"], *roots, *relations]
    path.write_bytes(style.encode(csv_lines(rows, delimiter, quoting)))
    assert TaxonomyFile.open(path).taxonomy == growth.old
    assert TaxonomyFile.open(expand_file(path, growth.additions)).taxonomy == growth.old.expanded(
        growth.additions
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("child,parent\napple,fruit\n", "kiwi,fruit\n"),
        ("parent\tchild\r\nfruit\tapple", "\r\nfruit\tkiwi\r\n"),
        ('"child";"parent"\n"apple";"fruit"\n', '"kiwi";"fruit"\n'),
        ("child,note,parent\napple,red,fruit\n", "kiwi,,fruit\n"),
    ],
)
def test_a_row_is_added_in_the_style_of_the_table(tmp_path: Path, text: str, expected: str) -> None:
    assert added_text(fruit(tmp_path, text), under("fruit")) == expected


def test_a_new_concept_without_parents_gets_an_empty_parent(tmp_path: Path) -> None:
    assert added_text(fruit(tmp_path), under()) == "kiwi,\n"


def test_only_labels_are_stored(tmp_path: Path) -> None:
    rich = Concept("k1", "kiwi", ("actinidia",), "a fruit")
    lost = write_expanded(fruit(tmp_path), under("fruit", concept=rich), tmp_path / "new.csv").lost
    assert lost == ["ids", "synonyms", "definitions"]
    assert "kiwi" in TaxonomyFile.open(tmp_path / "new.csv").taxonomy


def test_a_new_parent_is_written_as_its_label(tmp_path: Path) -> None:
    additions = Additions(
        [Concept("1", "berry"), Concept("2", "kiwi")], [("fruit", "1"), ("1", "2")]
    )
    assert added_text(fruit(tmp_path), additions) == "berry,fruit\nkiwi,berry\n"


@pytest.mark.parametrize(
    "concepts", [[Concept("1", "apple")], [Concept("1", "kiwi"), Concept("2", "kiwi")]]
)
def test_a_used_label_is_refused(tmp_path: Path, concepts: list[Concept]) -> None:
    additions = Additions(concepts, [("fruit", concept.id) for concept in concepts])
    name = concepts[0].label
    assert expansion_refusal(fruit(tmp_path), additions).startswith(
        f"{tmp_path / 'food.csv'}: the label {name!r} is already used, and labels are ids in"
    )
