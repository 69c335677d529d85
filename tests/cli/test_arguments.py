"""The option --glossary of all commands that have it, on real files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, Taxonomy, expand_file, read_taxonomy
from tests.support.command_line import run
from tests.support.expanded_files import write_file

QUICK = ["--preset", "fast", "--features", "static", "--epochs", "2", "--device", "cpu"]


@pytest.fixture
def glossary(tmp_path: Path) -> Path:
    path = tmp_path / "glossary.tsv"
    path.write_text(
        "rye milk\tRye milk is a drink made of rye. It is white.\nbroken\n"
        "almond milks\tA milk of almond nuts.\nnut milk\tNut milk is a milk of nuts. It is new.\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label,definition\nnut milk,\nwhite tea,a pale tea\n")


def definitions(taxonomy: Taxonomy) -> dict[str, str]:
    return {c.label: c.definition for c in taxonomy.concepts if c.definition}


def test_train_stores_the_definitions_in_the_model(
    pantry: Path, glossary: Path, tmp_path: Path
) -> None:
    before, model = pantry.read_bytes(), tmp_path / "model"
    messages = run("train", pantry, "-o", model, "--glossary", glossary, *QUICK).err
    assert "glossary: definitions for 2 of 89 concepts (1 exact, 1 plural)" in messages
    assert f"{glossary}, line 2: not an entry; 1 line skipped in all" in messages
    found = definitions(TaxoExpan.load(model, device="cpu").taxonomy)
    expected = {
        "rye milk": "Rye milk is a drink made of rye.",
        "almond milk": "A milk of almond nuts.",
    }
    assert found == expected
    assert pantry.read_bytes() == before


def test_suggest_looks_up_the_new_concepts_only(
    model_directory: Path, new: Path, glossary: Path
) -> None:
    def suggested(*options: str | Path) -> tuple[str, str]:
        arguments = ["suggest", model_directory, new, "--device", "cpu", *options]
        printed = run(*list(map(str, arguments)))
        return printed.out, printed.err

    without, _ = suggested()
    with_glossary, messages = suggested("--glossary", glossary)
    assert "glossary: definitions for 1 of 1 new concepts without one (1 exact)" in messages
    rows, others = (list(csv.DictReader(text.splitlines())) for text in (with_glossary, without))
    scores, other_scores = (
        {row["query"]: row["score"] for row in table if row["rank"] == "1"}
        for table in (rows, others)
    )
    assert scores["nut milk"] != other_scores["nut milk"]
    assert scores["white tea"] == other_scores["white tea"]


@pytest.mark.parametrize("options", [[], pytest.param(["--together"], marks=pytest.mark.slow)])
def test_expand_never_writes_definitions_of_the_glossary(
    pantry: Path, new: Path, glossary: Path, tmp_path: Path, options: list[str]
) -> None:
    taxonomy = tmp_path / "defined.csv"
    known = read_taxonomy(pantry)
    rows = [f"{id},{known.concept(id).label},{'|'.join(known.parents(id))}," for id in known]
    table = ["id,label,parents,definition", *rows]
    taxonomy.write_text("\n".join(table) + "\n", encoding="utf-8")
    expanded = {}
    for name, more in (("without", []), ("with", ["--glossary", str(glossary)])):
        out = tmp_path / f"{name}.csv"
        run("expand", taxonomy, new, "-o", out, *options, *more, *QUICK)
        assert out.read_bytes().startswith(taxonomy.read_bytes())
        expanded[name] = read_taxonomy(out)
    assert set(expanded["with"].concepts) == set(expanded["without"].concepts)
    assert definitions(expanded["with"]) == {"white tea": "a pale tea"}


def test_expand_file_takes_a_glossary(
    pantry: Path, new: Path, glossary: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    settings = {"preset": "fast", "features": "static", "device": "cpu", "epochs": 1}
    applied = expand_file(
        pantry, new, tmp_path / "o.csv", glossary=glossary, model=model, **settings
    )
    added = {concept.label: concept.definition for concept in applied.additions.concepts}
    assert added == {"nut milk": "", "white tea": "a pale tea"}
    assert "rye milk" in definitions(TaxoExpan.load(model, device="cpu").taxonomy)


def test_clean_and_evaluate_take_a_glossary(pantry: Path, glossary: Path, tmp_path: Path) -> None:
    output = tmp_path / "suspicious.csv"
    arguments = ["clean", pantry, "-o", output, "--folds", "2", "--glossary", glossary, *QUICK]
    assert "glossary: definitions for 2 of 89 concepts" in run(*list(map(str, arguments))).err
    old, milk = tmp_path / "old.csv", "rye milk"
    lines = pantry.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if milk not in line]
    assert len(kept) == len(lines) - 1
    old.write_text("\n".join(kept) + "\n", encoding="utf-8")
    methods = ["--methods", "closest-parent,taxoexpan-fast", "--epochs", "1", "--device", "cpu"]
    arguments = ["evaluate", old, pantry, "--glossary", glossary, *methods]
    messages = run(*list(map(str, arguments))).err
    expected = "definitions for 1 of 88 concepts (1 plural) and 1 of 1 new concepts (1 exact)"
    assert expected in messages


@pytest.mark.parametrize("command", ["train", "expand", "clean"])
def test_a_bad_glossary_is_refused_before_training(
    pantry: Path, new: Path, tmp_path: Path, command: str
) -> None:
    output, inputs = tmp_path / "out.csv", [pantry, *([new] if command == "expand" else [])]
    arguments = [command, *inputs, "-o", output, "--glossary", tmp_path / "missing.tsv"]
    assert "missing.tsv: there is no such file" in run(*arguments, status=2).err
    assert not output.exists()


def test_an_output_does_not_overwrite_the_glossary(pantry: Path, new: Path, glossary: Path) -> None:
    content = glossary.read_bytes()
    arguments = ["expand", pantry, new, "-o", glossary, "--glossary", glossary, "--force"]
    assert "would overwrite" in run(*arguments, status=2).err
    assert glossary.read_bytes() == content
