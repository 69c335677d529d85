from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from tests.support.bilingual_pantry import ENGLISH, GERMAN, bilingual_pantry
from tests.support.command_line import run
from tests.support.expanded_files import write_file

QUICK = ["--preset", "fast", "--features", "static", "--device", "cpu"]
CHOICE = "labels are read in en, a main language of the file (71 labels); it also has de (71)"


@pytest.fixture
def pantry(tmp_path: Path) -> Path:
    return write_file(tmp_path / "pantry.ttl", bilingual_pantry())


def test_info_says_which_language_is_read(pantry: Path) -> None:
    assert f"{CHOICE}; choose another with --language" in run("info", pantry).err
    assert "are read in" not in run("info", pantry, "--language", "de").err


@pytest.mark.filterwarnings("ignore:the labels do not seem to be English")
def test_terms_in_another_language_of_the_file_are_refused_before_training(
    pantry: Path, tmp_path: Path
) -> None:
    new, out = write_file(tmp_path / "new.txt", "\n".join(GERMAN)), tmp_path / "out.ttl"
    messages = run("expand", pantry, new, "-o", out, *QUICK, status=2).err
    assert "6 of 6 new terms look like de, but the labels of pantry.ttl are read in en" in messages
    assert "(option --language)" in messages
    assert "training" not in messages
    assert not out.exists()
    messages = run("expand", pantry, new, "-o", out, "--all", "--language", "de", *QUICK).err
    assert '"Reismilch"@de' in out.read_text(encoding="utf-8")
    assert "are read in" not in messages


def test_a_model_says_that_terms_look_like_another_language(pantry: Path, tmp_path: Path) -> None:
    model, table = tmp_path / "model", tmp_path / "s.csv"
    assert CHOICE in run("train", pantry, "-o", model, *QUICK).err
    for names, expected in ((GERMAN, True), (ENGLISH, False)):
        new = write_file(tmp_path / "new.txt", "\n".join(names))
        messages = run("suggest", model, new, "-o", table, "--force").err
        assert ("new terms look like names in another language" in messages) == expected
    assert len(read_taxonomy(pantry)) == 71
