from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.evaluation.confidence import measure_confidence
from taxoexpan.evaluation.growth import growth_between
from taxoexpan.evaluation.methods import METHODS, default_methods
from taxoexpan.training.metrics import compute_metrics
from tests.support.command_line import run
from tests.support.metric_probes import PROBES

CHEAP = ["--methods", "popularity,closest-parent,closest-neighbor", "--quiet", "--device", "cpu"]
CHEAP += ["--features", "static"]
ADDED = """\
cashew milk,milk
white tea,tea
white tea,food
rice bread,bread
corn bread,bread
Oat-Milk,milk
cashew milk drink,cashew milk
"""


@pytest.fixture(scope="module")
def new(pantry: Path) -> Path:
    """The pantry with four concepts to place, a known name, and one that has only a new parent."""
    path = pantry.with_name("grown.csv")
    path.write_text(pantry.read_text(encoding="utf-8") + ADDED, encoding="utf-8")
    return path


def test_methods_are_compared_by_their_ranks(pantry: Path, new: Path, tmp_path: Path) -> None:
    out = tmp_path / "ranks.csv"
    output = json.loads(run("evaluate", pantry, new, *CHEAP, "-o", out, "--json").out)
    assert (output["queries"], output["anchors"]) == (4, 89)
    assert output["left_out"] == {"name_known": 1, "no_parent_known": 1, "deprecated": 0}
    assert (output["features"], output["seed"], output["averaging"]) == ("static", 0, "fraction")
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["query"], row["parent_label"]) for row in rows] == [
        ("cashew milk", "milk"),
        ("corn bread", "bread"),
        ("rice bread", "bread"),
        ("white tea", "food"),
        ("white tea", "tea"),
    ]
    for one in output["methods"]:
        column = [float(row[one["method"]]) for row in rows]
        ranks = [np.array(some) for some in (column[:1], column[1:2], column[2:3], column[3:])]
        expected = compute_metrics(ranks).as_dict()
        assert one["figures"] == pytest.approx({name: expected[name] for name in one["figures"]})


def test_the_table_is_printed_for_people(pantry: Path, new: Path) -> None:
    output = run("evaluate", pantry, new, *CHEAP)
    assert output.err == (
        "warning: only 4 new concepts to place; with fewer than 30, figures vary by chance\n"
    )
    first, blank, *table, _, overlap = output.out.splitlines()
    assert first == (
        "4 new concepts placed among 89 concepts; not placed: 1 with a label that OLD already has, "
        "1 without a parent in OLD, 0 deprecated"
    )
    assert not blank
    assert [line.split()[0] for line in table] == ["METHOD", *CHEAP[1].split(",")]
    assert "popularity" in table[1]
    assert overlap.startswith(
        "4 new concepts with the name of an existing concept in their labels, Hit@1: popularity .0"
    )


def test_methods_without_knowledge_have_the_mean_rank_of_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rule, method in zip(CHEAP[1].split(","), PROBES.values(), strict=True):
        monkeypatch.setitem(METHODS, rule, method)
    kinds = [f"kind {number}" for number in range(50)]
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("child,parent\n" + "".join(f"{kind},thing\n" for kind in kinds))
    grown = "".join(f"new {number},{kinds[number % 50]}\n" for number in range(400))
    new.write_text(old.read_text() + grown)
    output = json.loads(run("evaluate", old, new, *CHEAP, "--json").out)
    assert (output["queries"], output["anchors"]) == (400, 51)
    zeros, random, last = (one["figures"]["mr"] for one in output["methods"])
    assert (zeros, last) == (26, 51)
    assert random == pytest.approx(26, rel=0.1)
    hits = [one["figures"]["hit_at_1"] for one in output["methods"]]
    assert (hits[0], hits[2]) == (0, 0)
    assert hits[1] < 0.05


def test_methods_of_ones_own_and_of_a_clone_are_compared(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def last_word(taxonomy, concepts):\n"
        "    new = [concept.label for concept in concepts]\n"
        "    return [[label.endswith(own) for label in new] for own in taxonomy.labels]\n"
    )
    methods = f"{file}:last_word, first-word,popularity"
    output = json.loads(run("evaluate", pantry, new, *CHEAP, "--methods", methods, "--json").out)
    names = [one["method"] for one in output["methods"]]
    assert names == [f"{file}:last_word", "first-word", "popularity"]
    hits = [one["figures"]["hit_at_1"] for one in output["methods"]]
    assert hits[0] == pytest.approx(3.5 / 4)  # white tea is also below food
    assert hits[2] == 0


def test_settings_reach_every_method_that_has_them(pantry: Path, new: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def last_word(taxonomy, concepts, sign=1, epochs=1):\n"
        "    new = [concept.label for concept in concepts]\n"
        "    sign *= 1 if epochs < 5 else -1\n"
        "    return [[sign * label.endswith(own) for label in new] for own in taxonomy.labels]\n"
    )
    command = ["evaluate", pantry, new, *CHEAP, "--methods", f"popularity,{file}:last_word"]

    def hits(*changes: str) -> list[float]:
        output = json.loads(run(*command, *changes, "--json").out)
        return [one["figures"]["hit_at_1"] for one in output["methods"]]

    assert hits()[1] > 0.8
    assert hits("--set", "sign=-1") == hits("--epochs", "5") == [hits()[0], 0]
    message = run(*command, "--set", "dim=8", status=2).err
    assert "none of the chosen methods has the setting 'dim'" in message
    assert "give a number" in run(*command, "--set", "sign=plus", status=2).err


def test_averaging_decides_how_several_parents_count(pantry: Path, new: Path) -> None:
    means = []
    for averaging in ("fraction", "any", "pooled"):
        command = ["evaluate", pantry, new, *CHEAP, "--averaging", averaging, "--json"]
        output = json.loads(run(*command).out)
        means.append(output["methods"][0]["figures"]["mr"])
    # The tea has the ranks 4.5 and 8 by the number of children, all others 4.5.
    assert means == pytest.approx([(3 * 4.5 + 6.25) / 4, 4.5, (4 * 4.5 + 8) / 5])


def test_all_default_methods_run(pantry: Path, new: Path, tmp_path: Path) -> None:
    out = tmp_path / "ranks.csv"
    command = ["evaluate", str(pantry), str(new), "--epochs", "1", "--device", "cpu"]
    command += ["--features", "static"]
    shown = run(*command, "-o", out)
    lines = shown.out.splitlines()
    assert [line.split()[0] for line in lines[3:8]] == default_methods()
    assert " ".join(lines[-2].split()) == "taxoexpan-paper no confidence learned"
    assert lines[-1].split()[0] == "taxoexpan"
    assert lines[-1].split()[1].startswith(".")  # the calibration error
    assert "LEVELS ABOVE" in shown.out
    assert [line for line in shown.err.splitlines() if "training on 89 concepts" in line] == [
        f"{name}: training on 89 concepts" for name in default_methods()
    ]
    assert "epoch   1" in shown.err
    first = out.read_bytes()
    run(*command, "-o", out, "--force", "--quiet")
    assert out.read_bytes() == first


MODELS = ["--methods", "closest-parent,taxoexpan-fast,taxoexpan", "--quiet", "--device", "cpu"]
MODELS += ["--features", "static", "--epochs", "3", "--set", "validation_fraction=0.7"]


def test_models_have_the_figures_of_a_fitted_model(pantry: Path, new: Path) -> None:
    output = json.loads(run("evaluate", pantry, new, *MODELS, "--seed", "3", "--json").out)
    closest, fast, best = output["methods"]
    assert "confidence" not in closest
    growth = growth_between(read_taxonomy(pantry), read_taxonomy(new))
    settings = {"features": "static", "epochs": 3, "validation_fraction": 0.7}
    for preset, one in (("fast", fast), ("best", best)):
        model = TaxoExpan(preset, 3, "cpu", **settings).fit(growth.taxonomy)
        expected = model.evaluate(growth.queries)
        assert one["figures"]["mr"] == pytest.approx(expected.mr)
        assert one["features"] == "static"
        measured = measure_confidence(model, growth.queries)
        assert measured is not None
        assert one["confidence"]["calibration_error"] == pytest.approx(measured.calibration_error)
        assert [each["target"] for each in one["confidence"]["accepted"]] == [0.9, 0.8, 0.7]
    overlap = output["known_name_in_label"]
    assert overlap["queries"] == 4
    assert overlap["hit_at_1"] == pytest.approx(
        {one["method"]: one["figures"]["hit_at_1"] for one in (closest, fast, best)}
    )


def test_the_confidence_of_models_is_printed(pantry: Path, new: Path) -> None:
    *_, title, blank, header, fast, best = run("evaluate", pantry, new, *MODELS).out.splitlines()
    assert title.endswith("at thresholds learned on held-out concepts of OLD:")
    assert not blank
    assert header.split()[:3] == ["METHOD", "CALIBRATION", "ERROR"]
    assert [line.split()[0] for line in (fast, best)] == ["taxoexpan-fast", "taxoexpan"]


def test_each_preset_has_its_own_encoder_by_default(pantry: Path, new: Path) -> None:
    command = ["evaluate", str(pantry), str(new), "--methods", "taxoexpan-fast,taxoexpan-paper"]
    command += ["--quiet", "--json", "--device", "cpu", "--set", "epochs=1"]
    output = json.loads(run(*command).out)
    assert [one["features"] for one in output["methods"]] == ["static+pretrained", "static"]
    assert output["features"] == "static+pretrained"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "popularity,magic"], "unknown method 'magic'; choose from popularity"),
        (["--features", "bert"], "there are no features 'bert'"),
        (["--set", "hidden_dim=none"], "hidden_dim"),
        (["--set", "epochs=2", "--epochs", "3"], "epochs is set twice; set it once"),
        (["--device", "abacus"], "abacus"),
        (["-o", "/nowhere/ranks.csv"], "does not exist; create it first"),
        (["--format", "obo"], "pantry.csv"),
    ],
)
def test_impossible_requests_are_refused(
    pantry: Path, new: Path, arguments: list[str], message: str
) -> None:
    assert message in run("evaluate", pantry, new, *arguments, status=2).err


def test_versions_without_growth_are_refused(pantry: Path, new: Path) -> None:
    assert "give the old release first" in run("evaluate", new, pantry, *CHEAP, status=2).err


def test_inputs_are_not_overwritten(pantry: Path, new: Path) -> None:
    before = new.read_bytes()
    messages = run("evaluate", pantry, new, *CHEAP, "-o", new, "--force", status=2).err
    assert "would overwrite another output or an input" in messages
    assert new.read_bytes() == before
