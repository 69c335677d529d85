from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path

import pytest

from reproduction.pretraining.excluded_names import main
from taxoexpan import hold_out_leaves, read_taxonomy

OLD = "id,label,parents\n1,furniture,\n2,chairs,1\n"
NEW = OLD + "3,arm chairs,2\n4,wing chairs,3\n"


def names(tmp_path: Path, *options: str) -> list[str]:
    output = tmp_path / "tests.txt"
    main(["-o", str(output), *options])
    return output.read_text(encoding="utf-8").splitlines()


def test_foods_of_the_package_are_always_excluded(tmp_path: Path) -> None:
    found = names(tmp_path)
    data = resources.files("taxoexpan.data")
    with resources.as_file(data / "food.csv") as path:
        food = read_taxonomy(path)
    for seed in (0, 1, 2):
        assert {each.label for each in hold_out_leaves(food, seed=seed).concepts} <= set(found)
    with (data / "new-foods.csv").open(encoding="utf-8") as file:
        assert {row["label"] for row in csv.DictReader(file)} <= set(found)
    assert len(found) < len(food)


def test_added_concepts_are_excluded_at_any_depth(tmp_path: Path) -> None:
    for name, text in (("old.csv", OLD), ("new.csv", NEW)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = names(tmp_path, "--growth", f"{tmp_path / 'old.csv'},{tmp_path / 'new.csv'}")
    assert {"arm chairs", "wing chairs"} <= set(found)
    assert not {"furniture", "chairs"} & set(found)


def test_held_out_and_new_concepts_of_mag_cs_are_excluded(tmp_path: Path) -> None:
    terms = "".join(f"{number}\tconcept {number}\n" for number in range(5))
    (tmp_path / "computer_science.terms").write_text(terms)
    (tmp_path / "computer_science.taxo").write_text("0\t1\n0\t2\n0\t3\n0\t4\n")
    (tmp_path / "computer_science.terms.validation").write_text("1\n")
    (tmp_path / "computer_science.terms.test").write_text("3\n")
    (tmp_path / "mag_cs_new637.txt").write_text("new concept\t0.5 0.25\n")
    found = names(tmp_path, "--mag-cs", str(tmp_path))
    assert {"concept 1", "concept 3", "new concept"} <= set(found)
    assert not {"concept 0", "concept 2", "concept 4"} & set(found)


def test_lemmas_of_semeval_and_listed_terms_are_excluded(tmp_path: Path) -> None:
    for part in ("training", "test"):
        (tmp_path / part).mkdir()
        row = f"{part}  lemma\tnoun\t{part}.1\tA definition.\turl\n"
        (tmp_path / part / f"{part}.data.tsv").write_text(row)
    (tmp_path / "eval.terms").write_text("solid geometry\n\nChiroptera\n")
    terms = str(tmp_path / "eval.terms")
    found = names(tmp_path, "--semeval", str(tmp_path), "--terms", terms)
    assert {"training lemma", "test lemma", "solid geometry", "Chiroptera"} <= set(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--growth", "old.csv"], "give OLD,NEW"), (["--semeval", "nowhere"], "no file")],
)
def test_missing_inputs_are_refused(tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        names(tmp_path, *options)
