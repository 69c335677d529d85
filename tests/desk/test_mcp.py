from __future__ import annotations

import os
from pathlib import Path

import pytest

from taxoexpan.desk.mcp import CheckedTaxonomy, printing_to_standard_error

REPEATED = "parent,child\nfood,milk\nfood,tea\nmilk,Oat\nmilk,oat\n"


def test_a_file_is_checked_again_after_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "foods.csv"
    path.write_text(REPEATED)
    checked = CheckedTaxonomy(path)
    first = checked.page()
    assert first.source == "foods.csv"
    assert [each.code for each in first.items] == ["similar-label"]
    path.write_text("parent,child\nfood,milk\nfood,tea\n")
    os.utime(path, ns=(1, 1))
    assert checked.page().total == 0


def test_what_hides_all_other_findings_is_always_returned(tmp_path: Path) -> None:
    path = tmp_path / "foods.csv"
    path.write_text("parent,child\na,b\nb,a\n")
    answer = CheckedTaxonomy(path).page(codes=["hub"])
    assert [each.code for each in answer.items] == ["cycle"]
    assert answer.errors == 1


def test_a_broken_file_is_a_finding_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "foods.ttl"
    path.write_text("@prefix : nonsense")
    answer = CheckedTaxonomy(path).page()
    assert [each.code for each in answer.items] == ["unreadable"]
    assert str(tmp_path) not in answer.model_dump_json()


def test_pages_and_severities(tmp_path: Path) -> None:
    path = tmp_path / "foods.csv"
    rows = "".join(f"food,kind{n}x\nkind{n}x,Oat {n}y\nkind{n}x,oat {n}y\n" for n in range(5))
    path.write_text("parent,child\n" + rows)
    checked = CheckedTaxonomy(path)
    every = checked.page()
    assert every.total == len(every.items) > 4
    first = checked.page(limit=3)
    rest = checked.page(offset=3)
    assert (first.next_offset, rest.next_offset) == (3, None)
    assert [*first.items, *rest.items] == every.items
    assert checked.page(severity="warning").total == every.warnings
    assert checked.page(severity="error").total == 0


def test_what_libraries_print_does_not_reach_standard_output(
    capfd: pytest.CaptureFixture[str],
) -> None:
    print("before")
    with printing_to_standard_error():
        print("from Python")
        os.write(1, b"from C\n")
    print("after")
    captured = capfd.readouterr()
    assert captured.out == "before\nafter\n"
    assert "from Python" in captured.err
    assert "from C" in captured.err
