from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.taxonomy import Concept
from tests.support.expanded_files import csv_lines, write_file
from tests.support.strategies import Style, names, quickly, styles


def labels(path: Path) -> list[str]:
    return [concept.label for concept in read_concepts(path)]


@pytest.mark.parametrize("name", ["new.txt", "new.csv", "new.tsv", "new"])
@pytest.mark.parametrize(
    "text", ["kiwi\nfig\n", "kiwi\r\nfig", "\ufeffkiwi\n\n fig \n", "term\nkiwi\nfig\n"]
)
def test_one_name_per_line_is_read_with_and_without_a_header(
    tmp_path: Path, name: str, text: str
) -> None:
    found = read_concepts(write_file(tmp_path / name, text))
    assert found == [Concept("", "kiwi"), Concept("", "fig")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- kiwi\n  * fig\n+ [x] red-brown plum\n", ["kiwi", "fig", "red-brown plum"]),
        ("- kiwi - gold\n- fig\n", ["kiwi - gold", "fig"]),
        ("1. kiwi\n2. fig\n\n1) plum\n2) pear\n", ["kiwi", "fig", "plum", "pear"]),
        ("1. kiwi\n1. fig\n   - plum\n", ["kiwi", "fig", "plum"]),
        ("1. kiwi\n", ["1. kiwi"]),
        ("Term\n- kiwi\n- fig\n", ["kiwi", "fig"]),
        ("# Concept\n\n- kiwi\n- fig\n", ["kiwi", "fig"]),
        ("# kiwi\n## fig\n", ["kiwi", "fig"]),
    ],
)
def test_bullets_before_all_names_are_removed(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert labels(write_file(tmp_path / "new.md", text)) == expected


@pytest.mark.parametrize("name", ["new.md", "new.txt"])
@pytest.mark.parametrize(
    ("text", "expected", "place"),
    [
        ("# List\n- oat milk\n", ["oat milk"], "1 heading is not read .line 1"),
        ("Concept\n- kiwi\n- fig\nsee page 3\n", ["kiwi", "fig"], "1 line without .* .line 4"),
        ("- kiwi\n## More\n- fig\n# End\n", ["kiwi", "fig"], "2 headings .*line 2.*line 4"),
        ("# List\nkiwi\nfig\n", ["kiwi", "fig"], "1 heading is not read .line 1"),
        ("Please place:\n- oat milk\n", ["oat milk"], "1 line without .* not read .line 1"),
        ("- kiwi\n- fig\n  dried\n", ["kiwi", "fig"], "1 line without .* not read .line 3"),
        ("1. kiwi\n2. fig\nsee page 3\n", ["kiwi", "fig"], "1 line without .* .line 3"),
    ],
)
def test_other_lines_of_a_list_with_bullets_are_not_read_but_named(
    tmp_path: Path, name: str, text: str, expected: list[str], place: str
) -> None:
    path = write_file(tmp_path / name, text)
    with pytest.warns(UserWarning, match=place):
        assert labels(path) == expected


@pytest.mark.parametrize(
    "lines",
    [
        ["- kiwi", "fig"],
        ["kiwi", "fig", "plum", "- pear"],
        ["1. kiwi", "2. fig", "plum", "pear", "melon"],
        ["3. Liga", "2. Liga"],
    ],
)
def test_bullets_and_numbers_that_are_read_as_labels_are_named(
    tmp_path: Path, lines: list[str]
) -> None:
    path = write_file(tmp_path / "new.txt", "\n".join(lines))
    with pytest.warns(UserWarning, match="labels? begins? with a bullet"):
        assert labels(path) == lines


@pytest.mark.parametrize("header", ["name", "term", "label", "Concept", "query", " Title "])
def test_the_label_column_has_several_names(tmp_path: Path, header: str) -> None:
    path = write_file(tmp_path / "new.csv", f"id,{header}\n3,kiwi\n")
    assert labels(path) == ["kiwi"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_gives_ids_definitions_and_synonyms(tmp_path: Path, delimiter: str) -> None:
    text = "id,name,description,synonyms\nk1,kiwi,green and hairy,a | b|\n,fig,,\n"
    path = write_file(tmp_path / "new.csv", text.replace(",", delimiter))
    assert read_concepts(path) == [
        Concept("k1", "kiwi", ("a", "b"), "green and hairy"),
        Concept("", "fig"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("new.csv", '"kiwi, green"\n"the ""king"" fig"\n', ["kiwi, green", 'the "king" fig']),
        ("new.csv", 'label\n"kiwi, green"\n"a ""fig"\n', ["kiwi, green", 'a "fig']),
        ("new.txt", 'kiwi, green\nthe "king" fig\n', ["kiwi, green", 'the "king" fig']),
        ("new.csv", 'label\n"green \t kiwi"\n', ["green kiwi"]),
        ("new.csv", '"green\tkiwi"\n', ["green kiwi"]),
        (
            "new.txt",
            "猕猴桃\nкиви\n🥝\nkiwi\u0301\n",
            ["猕猴桃", "киви", "🥝", "kiwi\u0301"],
        ),
    ],
)
def test_names_may_have_any_characters(
    tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    assert labels(write_file(tmp_path / name, text)) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("new.txt", "poke bowl\ta Hawaiian dish\nfig\n"),
        (
            "new.md",
            "- [poke bowl](https://x.org/poke) - a *Hawaiian* dish\n- [fig](https://x.org)\n",
        ),
        ("new.md", "- *poke* bowl\ta Hawaiian dish\n- fig\n"),
    ],
)
def test_a_line_may_have_a_definition(tmp_path: Path, name: str, text: str) -> None:
    found = read_concepts(write_file(tmp_path / name, text))
    assert found == [Concept("", "poke bowl", (), "a Hawaiian dish"), Concept("", "fig")]


def test_links_below_a_heading_have_their_definitions(tmp_path: Path) -> None:
    text = (
        "# Things\n\n- [flask](http://x.org/) - A framework\n- [fig](http://x.org/fig): A fruit\n"
    )
    with pytest.warns(UserWarning, match="1 heading"):
        found = read_concepts(write_file(tmp_path / "new.md", text))
    assert found == [
        Concept("", "flask", (), "A framework"),
        Concept("", "fig", (), "A fruit"),
    ]


def test_a_text_with_more_columns_needs_a_header(tmp_path: Path) -> None:
    path = write_file(tmp_path / "new.txt", "fig\nk1\tkiwi\tgreen\n")
    with pytest.raises(FormatError, match="line 2: 3 cells, but no header"):
        read_concepts(path)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("poke bowl: a Hawaiian dish", "write a tab"),
        ("poke bowl - a Hawaiian dish", "write a tab"),
        ("poke bowl – a Hawaiian dish", "write a tab"),
        ("figs, dates, kiwis", "one term per line"),
        ("figs; dates; kiwis", "one term per line"),
        ("figs; red dates; kiwis;", "one term per line"),
        ("[flask](http://x.org/) - A framework", "call the file .md"),
    ],
)
def test_lines_with_more_than_a_label_are_named(tmp_path: Path, line: str, fix: str) -> None:
    path = write_file(tmp_path / "new.txt", f"fig\n{line}\n")
    with pytest.warns(UserWarning, match=f"1 line looks like .* 2: '{re.escape(line)}'.*{fix}"):
        assert labels(path) == ["fig", line]


def test_usual_labels_cause_no_warning(tmp_path: Path) -> None:
    usual = ["salt, iodized", "apples, pears, and figs", "ISO 8601:2004", "Dune: Messiah"]
    usual += ["kiwi - gold", "horses; live", "3. Liga", "#1 fan", "C# (language)", "-ism"]
    assert labels(write_file(tmp_path / "new.txt", "\n".join(usual))) == usual


@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.xlsx"])
def test_columns_that_are_not_read_are_named(tmp_path: Path, name: str) -> None:
    path, rows = tmp_path / name, [["label", "price", "parents"], ["kiwi", "3", "fruit"]]
    if name == "new.xlsx":
        workbook = openpyxl.Workbook()
        for row in rows:
            workbook.active.append(row)
        workbook.save(path)
    else:
        write_file(path, "\n".join(csv_lines(rows, "\t" if name == "new.tsv" else ",")))
    with pytest.warns(UserWarning, match="the columns 'price' and 'parents' .* not read"):
        assert labels(path) == ["kiwi"]


def test_a_list_of_json_objects_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "new.jsonl", '{"label": "kiwi", "price": 3}\n')
    with pytest.raises(FormatError, match=r"a \.jsonl file is a taxonomy"):
        read_concepts(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('label\nkiwi\n"fig\nplum\npear"\n', ["kiwi", "fig plum pear"]),
        ('kiwi\nfig\n"plum\npear"\n', ["kiwi", "fig", "plum pear"]),
        ('id,label,definition\n1,kiwi,\n2,fig,"round\n3,plum,blue"\n', ["kiwi", "fig"]),
        ('label,definition\nkiwi,green\nfig,"round\nplum,blue\npear,green"\n', ["kiwi", "fig"]),
    ],
)
def test_a_quote_that_closes_some_rows_later_is_named(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    with pytest.warns(UserWarning, match=r"line 3: .* line breaks, and ends on line [45]"):
        assert labels(write_file(tmp_path / "new.csv", text)) == expected


@pytest.mark.filterwarnings("ignore:.*has line breaks")
@given(st.lists(names(breaks=True), min_size=1, max_size=5), styles())
@quickly
def test_any_name_can_be_given_in_a_table(
    tmp_path_factory: pytest.TempPathFactory, listed: list[str], style: Style
) -> None:
    path = tmp_path_factory.mktemp("list") / "new.csv"
    path.write_bytes(style.encode(csv_lines([["label"], *([name] for name in listed)])))
    assert labels(path) == [" ".join(name.split()) for name in listed]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\nf1,fig\nk1,\n", ", line 3: the name is empty"),
        ("id,label\nf1,fig\nk1,  \n", ", line 3: the name is empty"),
        ('id,label\nf1,fig\nk1,"\n"\n', ", line 3: the name is empty"),
        (
            f"fig\n{'x' * 10_000}\n",
            ", line 2: the name has 10,000 characters, but at most 1,000",
        ),
        ("", ": the file is empty"),
        ("\n \n", ": the file is empty"),
        ("label\n", ": there is no concept below the header"),
        ("id,label,definition\n\n", ": there is no concept below the header"),
        (",,\n", ": there is no concept below the header"),
        ("fig\nkiwi, green\n", ", line 2: 2 cells, but no header; add a header"),
        ("id,label\nk1,kiwi, green\n", ", line 2: the row has 3 cells, but the header has 2"),
        ('label\nfig\n"kiwi\n', ", line 3: the table is not well-formed (unexpected end of data)"),
    ],
)
def test_a_wrong_list_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = write_file(tmp_path / "new.csv", text)
    with pytest.raises(FormatError) as caught:
        read_concepts(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_definition_may_be_very_long(tmp_path: Path) -> None:
    path = write_file(tmp_path / "new.csv", "label,definition\nfig," + "x" * 10_000 + "\n")
    assert len(read_concepts(path)[0].definition) == 10_000


def test_an_apostrophe_that_discover_has_added_is_not_part_of_a_name(tmp_path: Path) -> None:
    header = "label,synonyms,definition,count,documents,score,example\n"
    text = f"{header}'=1+1,'-a|b,'@c,1,1,0,\n''=1,'tis,'n,1,1,0,\n"
    assert read_concepts(write_file(tmp_path / "new.csv", text)) == [
        Concept("", "=1+1", ("-a", "b"), "@c"),
        Concept("", "'=1", ("'tis",), "'n"),
    ]
    assert labels(write_file(tmp_path / "own.csv", "label\n'=1+1\n")) == ["'=1+1"]
