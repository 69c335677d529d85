"""JSON in which hierarchical codes state the parents, as in tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept
from taxoexpan.taxonomy.id_assignment import final_ids, with_ids
from tests.support.expanded_files import refusal, under, write_file

HS = ["01", "0101", "010121", "010129", "0102", "010221", "02", "0201", "020110", "0202"]
ICD = ["A00", "A00.0", "A00.1", "A01", "A01.0", "A01.1", "A01.2", "B00", "B00.1", "B00.2"]


def entries(codes: list[str]) -> list[dict[str, Any]]:
    return [{"code": code, "title": f"title of {code}"} for code in codes]


def listed(codes: list[str]) -> str:
    return json.dumps(entries(codes), indent=2) + "\n"


def wrapped(codes: list[str]) -> str:
    return json.dumps({"version": 1, "data": entries(codes)})


def lines(codes: list[str]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries(codes))


@pytest.mark.parametrize(
    ("text", "parent", "code"),
    [
        (listed(ICD), "A01", "A01.3"),
        (wrapped(HS), "0101", "010130"),
        (lines(HS), "01", "0103"),
    ],
    ids=["list", "wrapper", "lines"],
)
def test_codes_state_the_parents_and_new_concepts_get_one(
    tmp_path: Path, text: str, parent: str, code: str
) -> None:
    path, output = write_file(tmp_path / "x.json", text), tmp_path / "new.json"
    file = TaxonomyFile.open(path)
    (note,) = file.notes
    assert "the parents come from the codes under the key 'code'" in note.message
    assert file.supported_changes == {"synonyms"}
    (new,) = with_ids(file.taxonomy, [Concept("", "kiwi")])
    file.can_hold([new], 1, output)
    additions = Additions([new], [(parent, new.id)])
    additions = additions.with_ids(final_ids(file.taxonomy, [new], additions.relations))
    file.write(additions, output)
    expanded = TaxonomyFile.open(output).taxonomy
    assert expanded == file.taxonomy.expanded(additions)
    assert expanded.parents(code) == (parent,)
    new_text = output.read_text()
    pairs = enumerate(zip(text, new_text, strict=False))
    start = next((n for n, (old, new) in pairs if old != new), len(text))
    assert new_text.endswith(text[start:])
    added = new_text[start : len(new_text) - len(text) + start]
    assert [word for word in (code, "kiwi", "parents") if word in added] == [code, "kiwi"]


def test_a_code_elsewhere_and_several_parents_are_refused_before_any_work(tmp_path: Path) -> None:
    file = TaxonomyFile.open(write_file(tmp_path / "x.json", listed(HS)))
    for additions in (under("01", concept=Concept("0299", "kiwi")), under("0101", "0102")):
        with pytest.raises(FormatError, match="the parents come from codes"):
            file.write(additions, tmp_path / "new.json")
    with pytest.raises(FormatError, match="the parents come from codes"):
        file.can_hold([Concept("0299", "kiwi")], 1, tmp_path / "new.json")


def test_a_key_for_parents_comes_before_codes(tmp_path: Path) -> None:
    value = [{**entry, "parent": None} for entry in entries(HS)]
    (note,) = TaxonomyFile.open(write_file(tmp_path / "x.json", json.dumps(value))).notes
    assert "none of the 10 concepts has a parent" in note.message
    value[1]["above"] = "01"
    for entry in value[2:]:
        entry["above"] = "0101"
    path = write_file(tmp_path / "y.json", json.dumps(value))
    assert "'above' names other concepts" in refusal(path)


def test_codes_beside_other_ids_are_noted(tmp_path: Path) -> None:
    value = [{"id": n, **entry} for n, entry in enumerate(entries(HS), start=1)]
    file = TaxonomyFile.open(write_file(tmp_path / "x.json", json.dumps(value)))
    assert not file.taxonomy.relations
    assert "'code' has hierarchical codes, but 'id' has the ids" in file.notes[0].message


def test_counted_ids_are_not_taken_for_codes(tmp_path: Path) -> None:
    value = [{"id": n, "name": f"n{n}"} for n in range(1, 300)]
    assert not TaxonomyFile.open(
        write_file(tmp_path / "x.json", json.dumps(value))
    ).taxonomy.relations
