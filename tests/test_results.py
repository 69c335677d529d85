from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import taxoexpan
from taxoexpan import Concept, Suggestion, Suggestions, TaxoExpan, TaxoExpanError

KEFIR = Concept("1", "kefir")
CHAI = Concept("2", "chai")
GIVEN = [
    Suggestion(KEFIR, 1, Concept("m", "milk"), ("food", "milk"), 0.7, 0.9),
    Suggestion(KEFIR, 2, Concept("t", "tea"), ("food", "tea"), 0.2, 0.1),
    Suggestion(CHAI, 1, Concept("t", "tea"), ("food", "tea"), 0.6),
]


def test_suggestions_are_grouped_by_concept() -> None:
    suggestions = Suggestions(GIVEN)
    assert len(suggestions) == 2
    assert [list(ranked) for ranked in suggestions] == [GIVEN[:2], GIVEN[2:]]
    assert suggestions["chai"] == suggestions[1] == tuple(GIVEN[2:])
    assert suggestions[:1].flat == GIVEN[:2]
    assert suggestions == Suggestions(GIVEN)
    with pytest.raises(KeyError):
        suggestions["mate"]


def test_suggestions_become_dictionaries_and_a_data_frame() -> None:
    first, *_ = Suggestions(GIVEN).to_dicts()
    assert (first["query"], first["path"], first["confidence"]) == ("kefir", ["food", "milk"], 0.9)
    frame = Suggestions(GIVEN).to_frame()
    assert list(frame["parent_label"]) == ["milk", "tea", "tea"]
    assert list(frame.columns) == list(first)
    assert list(Suggestions([]).to_frame().columns) == list(first)


def test_suggestions_are_shown_as_a_short_table() -> None:
    lines = repr(Suggestions(GIVEN)).splitlines()
    assert lines[0] == "2 new concepts, 3 suggestions"
    assert lines[1] == "kefir"
    assert lines[2].split() == ["1", "0.90", "milk", "(food", ">", "milk)"]
    many = [Suggestion(Concept(str(i), f"a\x1b[{i}"), 1, CHAI) for i in range(1000)]
    shown = repr(Suggestions(many))
    assert len(shown.splitlines()) < 50
    assert "\x1b" not in shown


def test_a_model_takes_one_or_several_concepts(model: TaxoExpan) -> None:
    (ranked,) = model.suggest("cashew milk", top_k=2)
    assert [suggestion.rank for suggestion in ranked] == [1, 2]
    assert model.suggest({"label": "cashew milk"}, top_k=2)[0] == ranked
    assert model.suggest(Concept("", "cashew milk"), top_k=2)[0] == ranked


def test_a_model_cannot_be_pickled_but_copied(model: TaxoExpan) -> None:
    with pytest.raises(TaxoExpanError, match="save and load"):
        pickle.dumps(model)
    assert copy.copy(model).suggest("cashew milk") == model.suggest("cashew milk")


def test_the_package_lists_its_public_names() -> None:
    assert {"TaxoExpan", "read_taxonomy", "Metrics", "SuggestionKind"} <= set(dir(taxoexpan))
    for name in dir(taxoexpan):
        assert getattr(taxoexpan, name) is not None
    assert taxoexpan.__version__[0].isdigit()
    unknown = "Taxonomie"
    with pytest.raises(AttributeError):
        getattr(taxoexpan, unknown)


def test_the_log_of_the_package_tells_what_it_does(
    model: TaxoExpan, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="taxoexpan"):
        model.save(tmp_path / "model")
        TaxoExpan.load(tmp_path / "model", device="cpu")
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    assert "89 concepts" in caplog.text
