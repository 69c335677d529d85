from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from reproduction.pretraining.overlap import main

OLD = "id,label,parents\n1,Furniture,\n2,Chairs,1\n3,Tables,1\n4,Desk-tops,3\n"
NEW = OLD + "5,Arm chairs,2\n6,Stools,1\n"
PARLOUR = [("a", "furniture", []), ("b", "chair", ["a"]), ("c", "Arm-Chair", ["b"])]
OFFICE = [("a", "table", []), ("b", "desk top", ["a"]), ("c", "chair", ["elsewhere"])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two vocabularies, and the files of a test."""
    for name, concepts in (("parlour", PARLOUR), ("office", OFFICE)):
        rows = [dict(zip(("id", "label", "parents"), row, strict=True)) for row in concepts]
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "old.csv").write_text(OLD, encoding="utf-8")
    (tmp_path / "new.csv").write_text(NEW, encoding="utf-8")
    (tmp_path / "new.labels").write_text("arm chairs\n\nstools\nlamp\n", encoding="utf-8")
    return tmp_path


def rows(
    folder: Path, new: str, capsys: pytest.CaptureFixture[str], options: Sequence[str] = ()
) -> list[str]:
    main([str(folder), f"shop={folder / 'old.csv'},{folder / new}", *options])
    return capsys.readouterr().out.splitlines()[2:]


def test_new_concepts_and_old_relations_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = rows(folder, "new.csv", capsys)
    # Furniture > Chairs is in one vocabulary and Tables > Desk-tops in the other.
    assert row.startswith("| shop | 1 (50.0%) of 2 | 2 (66.7%) of 3 | ")
    assert row.endswith(" | office 1 (33.3%), parlour 1 (33.3%) |")


def test_new_concepts_may_be_a_list_of_labels(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = rows(folder, "new.labels", capsys)
    assert row.startswith("| shop | 1 (33.3%) of 3 | 2 (66.7%) of 3 | ")


def test_excluded_concepts_and_their_relations_are_not_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    excluded = folder / "excluded.labels"
    excluded.write_text("arm chair\nChairs\n", encoding="utf-8")
    (row,) = rows(folder, "new.csv", capsys, ["--exclude", str(excluded)])
    assert row == "| shop | 0 (0.0%) of 2 | 1 (33.3%) of 3 | office 1 (33.3%) |"


def test_a_parent_that_a_vocabulary_lacks_makes_no_relation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "parlour.jsonl.gz").unlink()
    (row,) = rows(folder, "new.csv", capsys)
    assert row.endswith("| 1 (33.3%) of 3 | office 1 (33.3%) |")


@pytest.mark.parametrize(
    ("test", "message"),
    [("shop", "give NAME=OLD,NEW"), ("shop=old.csv", "give NAME=OLD,NEW")],
)
def test_a_test_without_two_files_is_refused(folder: Path, test: str, message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        main([str(folder), test])


def test_a_folder_without_vocabularies_is_refused(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SystemExit, match="no file"):
        main([str(empty), f"shop={folder / 'old.csv'},{folder / 'new.csv'}"])


@pytest.mark.parametrize(
    "content", [b"text", gzip.compress(b"{}\n", mtime=0), gzip.compress(b"{\n", mtime=0)]
)
def test_a_broken_vocabulary_is_named(folder: Path, content: bytes) -> None:
    (folder / "office.jsonl.gz").write_bytes(content)
    with pytest.raises(SystemExit, match=r"office\.jsonl\.gz.*not a vocabulary"):
        main([str(folder), f"shop={folder / 'old.csv'},{folder / 'new.csv'}"])
