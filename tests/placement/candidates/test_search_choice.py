from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from fused_cases import fused_case, random_fusion
from resealing import change_tensors

from taxoexpan import TaxoExpan
from taxoexpan.archive import load_summary
from taxoexpan.cli.main import main
from taxoexpan.errors import ModelError
from taxoexpan.model_directory import SEARCH
from taxoexpan.placement.candidates import search_choice, search_record
from taxoexpan.placement.candidates.index_building import build_search
from taxoexpan.placement.candidates.search_choice import find_search, is_search_faster


def test_it_pays_for_many_anchors_and_later_on_a_gpu() -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert [is_search_faster(count, cpu) for count in (199_999, 200_000)] == [False, True]
    assert [is_search_faster(count, gpu) for count in (1_000_000, 2_000_000)] == [False, True]


def test_without_faiss_all_anchors_are_ranked_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_choice, "has_faiss", lambda: False)
    ranker, _ = fused_case(0)
    with pytest.warns(UserWarning, match=r'pip install "taxoexpan\[ann\]"'):
        assert find_search(ranker, None, 1.0) is None


def test_a_search_that_finds_too_little_is_not_used() -> None:
    pytest.importorskip("faiss")
    ranker = fused_case(0)[0].with_fusion(random_fusion(0))
    stored = build_search(ranker).stored()
    bad = replace(stored, record=replace(stored.record, recall=0.5))
    with pytest.warns(UserWarning, match=r"finds 50\.0% .* so all anchors are ranked"):
        assert find_search(ranker, bad, 1.0) is None
    other = replace(bad, record=replace(bad.record, taxonomy="another"))
    found = find_search(ranker, other, 1.0)
    assert found is not None
    assert found.record == stored.record


def test_a_new_search_that_finds_too_little_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept, so that it is stored, but its record says that it is not used."""
    pytest.importorskip("faiss")
    monkeypatch.setattr(search_record, "MIN_RECALL", 1.1)
    ranker = fused_case(0)[0].with_fusion(random_fusion(0))
    with pytest.warns(UserWarning, match="so all anchors are ranked"):
        search = find_search(ranker, None, 1.0)
    assert search is not None
    assert not search.record.is_used


def test_a_damaged_search_names_the_remedy() -> None:
    pytest.importorskip("faiss")
    ranker = fused_case(0)[0].with_fusion(random_fusion(0))
    stored = build_search(ranker).stored()
    damaged = replace(stored, anchor_graph=stored.anchor_graph[:4])
    with pytest.raises(ModelError, match=r"is damaged .*; train again, or use exact=True"):
        find_search(ranker, damaged, 1.0)


def test_a_model_of_a_large_taxonomy_searches_unless_it_is_exact(
    model: TaxoExpan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("faiss")
    path = tmp_path / "model"
    model.save(path)
    assert not (path / SEARCH).exists()
    monkeypatch.setattr(search_choice, "MIN_ANCHORS", 10)
    exact = TaxoExpan.load(path, "cpu", exact=True)
    assert exact._search is None
    large = TaxoExpan.load(path, "cpu")
    large.save(path, force=True)
    loaded = TaxoExpan.load(path, "cpu")
    assert loaded._search is not None
    assert loaded._fitted().search is not None
    given = ["truffle milk", "spelt bread"]
    for one, other in zip(loaded.suggest(given), exact.suggest(given), strict=True):
        assert (one.parent, one.kind, one.place) == (other.parent, other.kind, other.place)
        assert one.score == pytest.approx(other.score, abs=1e-5)
    record = load_summary(path).search
    assert record is not None
    assert record.recall == 1
    assert "finds 100.0% of the ten best parents" in (path / "README.md").read_text()
    assert main(["info", str(path)]) == 0
    assert "finds 100.0% of the ten best parents" in capsys.readouterr().out
    with (path / SEARCH).open("r+b") as file:
        file.seek(200)
        file.write(b"damage")
    with pytest.raises(ModelError, match=r"search\.safetensors is damaged"):
        TaxoExpan.load(path)


def test_a_graph_whose_damage_is_noticed_late_names_the_model(
    model: TaxoExpan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    model.save(tmp_path / "plain")
    monkeypatch.setattr(search_choice, "MIN_ANCHORS", 10)
    TaxoExpan.load(tmp_path / "plain", "cpu").save(path := tmp_path / "model")
    change_tensors(path, SEARCH, lambda parts: parts.update(anchor_graph=parts["anchor_graph"][:4]))
    message = rf"^{re.escape(str(path))}: the candidate search .* is damaged .*exact=True$"
    with pytest.raises(ModelError, match=message) as caught:
        TaxoExpan.load(path, "cpu").suggest(["truffle milk"])
    assert caught.value.options == ("exact=True",)
