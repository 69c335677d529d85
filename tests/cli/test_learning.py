"""Continuing the training of a model from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builders import own

from taxoexpan import Concept, Suggestion, TaxoExpan, Taxonomy
from taxoexpan.cli.main import main


def continue_training(
    capsys: pytest.CaptureFixture[str], taxonomy: Path, *options: str
) -> tuple[int, str]:
    status = main(["train", str(taxonomy), "--device", "cpu", *options])
    return status, capsys.readouterr().err


def test_a_model_learns_what_its_taxonomy_has_got_since(
    pantry: Path, model_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown, output = tmp_path / "grown.csv", tmp_path / "model-2"
    added = [f"{sort} {kind},{kind}" for sort in ("cashew", "white") for kind in ("milk", "tea")]
    grown.write_text(pantry.read_text(encoding="utf-8") + "\n".join(added), encoding="utf-8")
    options = ("--from", str(model_directory), "-o", str(output), "--json")
    assert main(["train", str(grown), "--device", "cpu", *options]) == 0
    captured = capsys.readouterr()
    assert f"continuing the training of {model_directory}" in captured.err
    record = json.loads(captured.out)
    assert record["concepts"] == len(Taxonomy.read(grown))
    old, new = (TaxoExpan.load(path, "cpu") for path in (model_directory, output))
    assert record["epochs"] < old.training.epochs
    assert new.config == old.config
    assert new.seed == old.seed
    assert {"cashew milk", "white tea"} <= {*new.taxonomy.labels}


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        (["--preset", "paper"], "--preset"),
        (["--features", "static"], "--features"),
        (["--set", "hidden_dim=9"], "--set"),
        (["--epochs", "9"], "--epochs"),
        (["--resume"], "--resume"),
    ],
)
def test_settings_are_those_of_the_model(
    option: list[str],
    flag: str,
    pantry: Path,
    model_directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start = ["--from", str(model_directory), "-o", str(tmp_path / "new")]
    status, message = continue_training(capsys, pantry, *start, *option)
    assert status == 2
    assert f"(option {flag})" in message


def test_a_model_of_another_taxonomy_is_refused(
    model_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "cars.csv"
    other.write_text("child,parent\ncar,\nwheel,car\nengine,car\npiston,engine\n", encoding="utf-8")
    start = ["--from", str(model_directory), "-o", str(tmp_path / "new")]
    status, message = continue_training(capsys, other, *start)
    assert status != 0
    assert "the model was trained on another taxonomy" in message
    assert not (tmp_path / "new").exists()


@pytest.fixture
def reviews(model: TaxoExpan, tmp_path: Path) -> Path:
    """A store in which one proposal was accepted, one corrected, and one rejected."""
    pytest.importorskip("sqlalchemy")
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.desk.store.records import Action, Decision, Reason

    path, new = tmp_path / "reviews.db", ["cashew milk", "white tea", "tomato soup"]
    right = Suggestion(Concept("", ""), 1, Concept("milk", "milk"))
    corrected, wrong = own("", "sauce", "sauce"), Reason.WRONG_PARENTS
    with DecisionStore.open(str(path)) as store:
        store.add_concepts([Concept("", label) for label in new])
        store.set_proposals("model", model.suggest(new, top_k=2))
        accepts = [("cashew milk", right), ("white tea", corrected)]
        decisions = [Decision(key, Action.ACCEPT, 0, (each,)) for key, each in accepts]
        decisions.append(Decision("tomato soup", Action.REJECT, 0, (), wrong))
        store.append(decisions, "ada")
    return path


def test_a_model_learns_from_a_store(
    reviews: Path,
    pantry: Path,
    model_directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start = ["--decisions", str(reviews), "--from", str(model_directory)]
    outputs = [tmp_path / "one", tmp_path / "two"]
    for output in outputs:
        status, message = continue_training(capsys, pantry, *start, "-o", str(output), "--quiet")
        assert status == 0
        assert "learned from 2 accepted concepts, 0 merges and 4 rejected placements" in message
    old, new, same = (TaxoExpan.load(path, "cpu") for path in (model_directory, *outputs))
    for label, parent in (("cashew milk", "milk"), ("white tea", "sauce")):
        (id,) = (id for id in new.taxonomy if new.taxonomy.concept(id).label == label)
        assert new.taxonomy.parents(id) == (parent,)
    rejected = {s.parent.id for s in old.suggest(["tomato soup"], top_k=2)}
    suggested = new.suggest(["tomato soup"], top_k=50)
    assert not rejected & {s.parent.id for s in suggested}
    assert suggested == same.suggest(["tomato soup"], top_k=50)


def test_decisions_that_the_taxonomy_cannot_take_are_counted(
    reviews: Path,
    pantry: Path,
    model_directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By now, the file has cashew milk, and sauces have been removed."""
    lines = [
        line for line in pantry.read_text(encoding="utf-8").splitlines() if "sauce" not in line
    ]
    changed = tmp_path / "changed.csv"
    changed.write_text("\n".join([*lines, "cashew milk,milk"]), encoding="utf-8")
    start = ["--decisions", str(reviews), "--from", str(model_directory)]
    status, message = continue_training(capsys, changed, *start, "-o", str(tmp_path / "new"))
    assert status == 0
    assert "note: 1 accepted concept is in the taxonomy by now" in message
    assert "note: 1 decision is left out: the parent is not in the taxonomy" in message


def test_decisions_need_a_model(
    reviews: Path, pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--decisions", str(reviews), "-o", str(tmp_path / "new")]
    status, message = continue_training(capsys, pantry, *options)
    assert status == 2
    assert "give the model with --from" in message


def test_a_store_without_decisions_is_refused(
    pantry: Path, model_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sqlalchemy")
    from taxoexpan.desk.store.decision_store import DecisionStore

    path, start = tmp_path / "reviews.db", ["--from", str(model_directory)]
    options = [*start, "--decisions", str(path), "-o", str(tmp_path / "new")]
    status, message = continue_training(capsys, pantry, *options)
    assert status != 0
    assert "reviews.db" in message
    assert not path.exists()
    with DecisionStore.open(str(path)) as store:
        store.add_concepts([Concept("", "cashew milk")])
    status, message = continue_training(capsys, pantry, *options)
    assert status == 2
    assert "has no accepted or rejected placements to learn from" in message
