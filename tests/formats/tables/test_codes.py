from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.codes import code_parents
from taxoexpan.formats.taxonomy_file import TaxonomyFile, read_options
from taxoexpan.formats.text_file import ReadOptions
from taxoexpan.shared_options import ReadingOptions
from taxoexpan.taxonomy import Additions, Concept
from taxoexpan.taxonomy.id_assignment import final_ids, with_ids
from tests.support.expanded_files import refusal, under, write_expanded, write_file

HS = ["01", "0101", "010121", "010129", "0102", "010221", "02", "0201", "020110", "0202"]
CODES = {
    "lengths": (HS, {"0101": "01", "010121": "0101", "0202": "02"}),
    "hyphens": (
        [*(f"IAB{n}" for n in range(1, 11)), *(f"IAB1-{n}" for n in range(1, 11)), "IAB10-1"]
        + [f"IAB{n}-1" for n in range(2, 10)],
        {"IAB1-10": "IAB1", "IAB10-1": "IAB10"},
    ),
    "hyphens and gaps": (
        ["IAB1", "IAB1-1", "IAB1-2", "IAB1-10", "IAB2", "IAB2-1", "IAB2-3", "IAB2-12"],
        {"IAB1-1": "IAB1", "IAB1-10": "IAB1", "IAB2-12": "IAB2"},
    ),
    "dots": (
        ["A00", "A00.0", "A00.1", "A00.01", "B00", "B00.1", "B00.10", "B00.9", "B00.90"],
        {"A00.1": "A00", "B00.10": "B00.1", "A00.01": "A00.0"},
    ),
    "counted": (
        ["1", *(f"1.{n}" for n in range(1, 13)), "1.1.1", "1.12.1"],
        {"1.10": "1", "1.12.1": "1.12"},
    ),
    "check digits": (
        [
            *("03000000-1", "03100000-2", "03110000-4", "03111000-2", "03111100-3", "03120000-7"),
            *("30000000-9", "30100000-0", "31000000-6", "31100000-7", "31110000-0", "14000000-1"),
            *("14200000-3", "14210000-6"),
        ],
        {"03111000-2": "03110000-4", "31100000-7": "31000000-6", "14210000-6": "14200000-3"},
    ),
    "pairs of digits": (
        [f"{n}0000" for n in range(10, 14)]
        + [f"{n}{m}00" for n in range(10, 14) for m in range(10, 13)]
        + [f"{n}{m}{k}" for n in range(10, 14) for m in range(10, 13) for k in (15, 16, 20)],
        {"111000": "110000", "111215": "111200", "111220": "111200"},
    ),
    "ranges": (
        ["11", "111", "31-33", "311", "3111", "321", "331", "44-45", "441"],
        {"321": "31-33", "441": "44-45", "3111": "311"},
    ),
    "sections above zeros": (
        ["A", "0100", "0110", "0111", "0119", "0130", "0131", "B", "1000", "1010", "1011"],
        {"0100": "A", "0110": "0100", "0111": "0110", "1000": "B", "1011": "1010"},
    ),
    "sections": (
        ["A", "01", "011", "0111", "02", "021", "B", "05", "051", "0510"],
        {"02": "A", "05": "B", "0510": "051"},
    ),
}


@pytest.mark.parametrize(("codes", "expected"), CODES.values(), ids=CODES)
def test_codes_state_parents(codes: list[str], expected: dict[str, str]) -> None:
    found = code_parents(codes)
    assert {code: found.get(code) for code in expected} == expected


@pytest.mark.parametrize(
    "codes",
    [
        [str(n) for n in range(1, 300)],
        [f"{n:04}" for n in range(1, 300)],
        [f"T{n:05}" for n in range(300)],
        [f"{stem}{n}" for stem in "ABC" for n in range(1, 60)],
        [f"GO:{n:07}" for n in range(0, 3000, 7)],
        ["apple", "apple pie", "pear", "plum", "fig", "kiwi", "lime", "date", "nut"],
        [
            code.lstrip("0")
            for code in [
                *HS,
                *(f"{n}{m}{k}" for n in (10, 11) for m in (10, 11) for k in (11, 12, 13)),
            ]
        ],
        ["01", "0101", "0102", "0101"],
        ["A", "01", "011", "0111", "012", "02", "021", "022", "0211", "B"][::-1],
    ],
)
def test_other_ids_are_not_taken_for_codes(codes: list[str]) -> None:
    assert code_parents(codes) == {}


def code_table(path: Path, codes: list[str], header: str = "code,label") -> Path:
    rows = "".join(f"{code},label of {code}\n" for code in codes)
    return write_file(path, f"{header}\n{rows}")


@pytest.mark.parametrize(
    ("kind", "parent", "code"),
    [
        ("lengths", "0101", "010130"),
        ("lengths", "01", "0103"),
        ("hyphens", "IAB1", "IAB1-11"),
        ("counted", "1.2", "1.2.1"),
        ("check digits", "03100000-2", "03130000"),
        ("check digits", "31110000-0", "31111000"),
        ("pairs of digits", "111200", "111221"),
    ],
)
def test_a_new_row_gets_a_code_below_its_parent(
    tmp_path: Path, kind: str, parent: str, code: str
) -> None:
    path, output = code_table(tmp_path / "x.csv", CODES[kind][0]), tmp_path / "new.csv"
    opened = TaxonomyFile.open(path)
    (note,) = opened.notes
    assert note.line == 1
    assert "the parents come from the codes in the column 'code'" in note.message
    assert opened.supported_changes == frozenset()
    (new,) = with_ids(opened.taxonomy, [Concept("", "kiwi")])
    additions = Additions([new], [(parent, new.id)])
    additions = additions.with_ids(final_ids(opened.taxonomy, [new], additions.relations))
    opened.write(additions, output)
    assert output.read_text() == path.read_text() + f"{code},kiwi\n"
    assert TaxonomyFile.open(output).taxonomy.parents(code) == (parent,)


def test_a_code_elsewhere_and_several_parents_are_refused(tmp_path: Path) -> None:
    path = code_table(tmp_path / "x.csv", HS)
    for additions in (under("01", concept=Concept("0299", "kiwi")), under("0101", "0102")):
        with pytest.raises(FormatError, match="the parents come from codes"):
            write_expanded(path, additions, tmp_path / "new.csv")


def test_a_table_has_a_free_code_for_some_concepts(tmp_path: Path) -> None:
    codes = ["1", *(f"1{n}" for n in range(1, 10)), "2", "21"]
    opened = TaxonomyFile.open(code_table(tmp_path / "x.csv", codes))
    new = with_ids(opened.taxonomy, [Concept("", "kiwi"), Concept("", "fig")])
    opened.can_hold(new, 1, tmp_path / "new.csv")


def test_a_column_of_codes_can_be_chosen(tmp_path: Path) -> None:
    path = code_table(tmp_path / "x.csv", ["1", "11", "2", "21"], "number,label")
    message = refusal(path)
    assert message.startswith(f"{path}, line 1: ")
    assert "the option codes" in message
    options = read_options(ReadingOptions(codes="number"))
    assert TaxonomyFile.open(path, options=options).taxonomy.parents("11") == ("1",)
    assert read_taxonomy(path, columns={"codes": 1}).parents("21") == ("2",)
    flat = code_table(tmp_path / "flat.csv", ["1", "2", "3"])
    with pytest.raises(FormatError, match="no code begins with another"):
        TaxonomyFile.open(flat, options=ReadOptions(columns={"codes": "code"}))


@pytest.mark.parametrize(
    "header",
    ["IAB Code,IAB Category", "atc_code,atc_name", "Code,Description", "US Code,US Title"],
)
def test_the_only_column_of_codes_is_recognized(tmp_path: Path, header: str) -> None:
    taxonomy = TaxonomyFile.open(code_table(tmp_path / "x.csv", HS, header)).taxonomy
    assert taxonomy.parents("0101") == ("01",)
    assert taxonomy.concept("01").label == "label of 01"


def test_a_repeated_code_and_a_missing_header_are_named(tmp_path: Path) -> None:
    path = code_table(tmp_path / "x.csv", [*HS, "0202"])
    assert f"{path}, line 12: the id '0202' is already used on line 11" in refusal(path)
    path = code_table(tmp_path / "y.csv", HS, "00,label of 00")
    options = read_options(ReadingOptions(codes="1", columns="label=2"))
    with pytest.raises(FormatError, match="not a header; add one above it") as caught:
        TaxonomyFile.open(path, options=options)
    assert caught.value.line == 1
    assert "not a header; add one above it" in refusal(path)


def test_a_column_with_parents_comes_before_codes(tmp_path: Path) -> None:
    rows = "".join(f"{code},label of {code},\n" for code in HS)
    path = write_file(tmp_path / "x.csv", f"code,label,parent\n{rows}")
    assert not TaxonomyFile.open(path).taxonomy.relations
