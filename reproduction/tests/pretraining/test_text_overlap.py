from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from reproduction.pretraining.text_overlap import NameIndex, main

NAMES = ["Arm chairs", "Bayes' rule", "lamp", "single-board computer"]


@pytest.mark.parametrize("text", ["arm-chair", "ARM CHAIRS", "Lamps", "single board computers"])
def test_names_are_compared_without_case_hyphens_and_number(text: str) -> None:
    assert NameIndex(NAMES).is_name(text)
    assert NameIndex(NAMES).is_defined_in(f"{text}: a thing")


@pytest.mark.parametrize(
    "text", ["an old arm chair, of oak", "(arm-chairs)", "Bayes rule of 1763", "a bayes' rules"]
)
def test_a_name_of_two_words_is_found_inside_a_text(text: str) -> None:
    assert NameIndex(NAMES).is_in(text)


@pytest.mark.parametrize(
    "text", ["an arm of a chair", "table lamp", "farm chairs", "single board", "arm", ""]
)
def test_parts_of_a_name_and_names_of_one_word_are_not_found_inside(text: str) -> None:
    assert not NameIndex(NAMES).is_in(text)
    assert not NameIndex(NAMES).is_defined_in(text)


def check(folder: Path, phrases: list[str], labels: list[str]) -> None:
    rows = [
        {"id": str(number), "label": label, "definition": "", "parents": []}
        for number, label in enumerate(labels)
    ]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "isic.jsonl.gz").write_bytes(gzip.compress(content.encode(), mtime=0))
    text = "".join(f"{phrase}\n" for phrase in phrases)
    (folder / "phrases.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (folder / "tests.txt").write_text("\n".join(NAMES), encoding="utf-8")
    exclude = ["--exclude", str(folder / "tests.txt")]
    main([str(folder), str(folder / "phrases.txt.gz"), *exclude])


def test_texts_without_names_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A vocabulary is read without the names, so its lamp is not used.
    check(tmp_path, ["table lamp", "chair: a seat"], ["lamp", "furniture"])
    assert capsys.readouterr().out.splitlines() == [
        "vocabularies: 0 of 1 labels are a name of a test",
        "phrases: 0 of 2 are a name of a test",
        "phrases: 0 of 2 contain a name of two or more words",
    ]


@pytest.mark.parametrize(
    ("phrase", "counts"), [("lamps", (1, 0)), ("lamp: a light", (1, 0)), ("my arm chair", (0, 1))]
)
def test_a_text_with_a_name_fails_and_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], phrase: str, counts: tuple[int, int]
) -> None:
    with pytest.raises(SystemExit) as exit:
        check(tmp_path, ["stool", phrase], ["furniture"])
    assert exit.value.code == 1
    shown = capsys.readouterr().out
    assert f"phrases: {counts[0]} of 2 are a name" in shown
    assert f"phrases: {counts[1]} of 2 contain a name" in shown
    assert f"  {phrase}" in shown


def test_a_file_that_is_not_gzip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "phrases.txt.gz").write_text("stool\n")
    (tmp_path / "tests.txt").write_text("lamp\n")
    exclude = ["--exclude", str(tmp_path / "tests.txt")]
    with pytest.raises(SystemExit, match="not readable"):
        main([str(tmp_path), str(tmp_path / "phrases.txt.gz"), *exclude])
