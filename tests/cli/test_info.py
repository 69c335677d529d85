from __future__ import annotations

import json
import shutil
from pathlib import Path

from taxoexpan import TaxoExpan, read_taxonomy
from tests.support.command_line import run
from tests.support.expanded_files import write_file
from tests.support.resealing import change_json


def test_info_gives_figures_for_people_and_programs(pantry: Path) -> None:
    figures = json.loads(run("info", pantry, "--json").out)
    wanted = {"concepts": 89, "relations": 88, "roots": 1, "leaves": 80, "depth": 3}
    assert wanted.items() <= figures.items()
    assert "concepts" in run("info", pantry).out


def test_info_shows_how_a_table_was_understood(tmp_path: Path) -> None:
    text = "Nr,hscode,description,parent\n1,01,Animals,\n2,0101,Horses,01\n3,02,Meat,\n"
    path = write_file(tmp_path / "hs.csv", text)
    figures = json.loads(run("info", path, "--json").out)
    assert figures["format"] == "rows"
    assert figures["columns"] == {"id": "hscode", "label": "description", "parents": "parent"}
    assert (figures["largest_roots"], figures["roots"]) == (["Animals", "Meat"], 2)
    assert figures["sample_path"] == ["Animals", "Horses"]
    lines = run("info", path).out.splitlines()
    assert lines[:2] == [
        "format                rows",
        "columns               id: hscode, label: description, parents: parent",
    ]
    assert "sample path           Animals > Horses" in lines
    assert "largest roots         Animals, Meat" in lines


def test_info_counts_languages_and_the_share_of_definitions(tmp_path: Path) -> None:
    text = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x/a> a skos:Concept ; skos:prefLabel "fruit"@en , "Obst"@de ; skos:definition "sweet"@en .
<http://x/b> a skos:Concept ; skos:prefLabel "apple"@en ; skos:broader <http://x/a> .
"""
    path = write_file(tmp_path / "x.ttl", text)
    figures = json.loads(run("info", path, "--json").out)
    assert (figures["language"], figures["languages"]) == ("en", {"en": 2, "de": 1})
    lines = run("info", path).out.splitlines()
    assert "languages             en: 2, de: 1" in lines
    assert "with definition                1  (50\N{NO-BREAK SPACE}%)" in lines
    assert not any(line.startswith("columns") for line in lines)
    translated = write_file(tmp_path / "x.json", '[{"id": "1", "label": {"en": "a", "fr": "b"}}]')
    assert json.loads(run("info", translated, "--json").out)["languages"] == {"en": 1, "fr": 1}


def test_info_of_another_directory_is_refused(tmp_path: Path) -> None:
    error = run("info", tmp_path, status=2).err
    assert error.startswith(f"taxoexpan: {tmp_path}: this is a directory, but neither")
    assert "WordNet" in error
    assert "model" in error


def test_info_of_a_model_gives_its_validation(model_directory: Path) -> None:
    model = json.loads(run("info", model_directory, "--json").out)["model"]
    assert model["validation"]["queries"] > 0
    assert model["fine_tuned"] is False
    assert model["signals"] == ["network", "similar names", "shared words", "structure"]
    lines = run("info", model_directory).out.splitlines()
    assert "adapted encoder       no" in lines
    assert "ranked by             network, similar names, shared words, structure" in lines


def test_info_tells_the_mrr_from_the_scaled_one(model_directory: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(model_directory, tmp_path / "model")
    figures = {"mr": 3.25, "hit_at_1": 0.25, "reciprocal_rank": 0.375, "mrr": 0.859}
    change_json(directory, "config.json", lambda c: c["training"]["validation"].update(figures))
    printed = run("info", directory).out
    metrics = "MR 3.2, Hit@1 0.250, MRR 0.375 (scaled 0.859) on 16 held-out leaves"
    assert f"validation            {metrics}" in printed.splitlines()


def test_info_of_a_model_tells_of_its_linear_maps(pantry: Path, tmp_path: Path) -> None:
    model = TaxoExpan("fast", seed=1, device="cpu", validation_fraction=0.0)
    model.fit(read_taxonomy(pantry)).save(tmp_path / "model")
    assert (
        "adapted encoder       by linear maps and vectors of words"
        in run("info", tmp_path / "model").out
    )


def test_info_of_a_model_describes_the_fine_tuning(tuned_model: TaxoExpan, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    tuned_model.save(directory)
    assert "adapted encoder       by fine-tuning of 2 epochs" in run("info", directory).out
    tower = directory / "tower.safetensors"
    tower.write_bytes(tower.read_bytes()[:-1])
    assert "tower.safetensors is damaged" in run("info", directory, status=2).err
