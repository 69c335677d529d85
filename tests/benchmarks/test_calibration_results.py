"""Tests of `benchmarks/confidence_calibration.py`, its results and its plots."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import confidence_calibration as benchmark
import numpy as np
import pytest
from builders import random_taxonomy
from calibration_results import (
    AbstentionResult,
    ConfidenceResult,
    error_by_chance,
    load_result,
    roc_area,
    save_result,
    tables,
)
from conftest import SIZES
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.placement.learned.confidence import Reliability
from taxoexpan.taxonomy import Taxonomy

SOME = st.lists(st.integers(0, 4), min_size=1, max_size=8)
CONFIDENCE = ConfidenceResult(
    "Tea & <milk>",
    0,
    tuple("abcdef"),
    (0.91, 0.91, 0.62, 0.3, 0.3, 0.1),
    (0.5, 0.6, 0.2, 0.1, 0.1, 0.1),
    (True, False, True, False, True, False),
    (None, 0.95, 0.62, 0.3, 0.1),
    {"epochs": 3},
)
ABSTENTION = AbstentionResult(
    "herbs", 1, 40, (0.1, 0.2, 0.9), (False, False, True), (0.2, 0.8), 0.2, {"epochs": 3}
)


def run_benchmark(*words: str | Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["confidence_calibration.py", *map(str, words)])
        benchmark.main()


@given(SOME, SOME)
def test_the_area_is_the_fraction_of_pairs_in_the_right_order(
    low: list[int], high: list[int]
) -> None:
    pairs = [(a < b) + (a == b) / 2 for a in low for b in high]
    found = roc_area(np.array(low, float), np.array(high, float))
    assert found == pytest.approx(np.mean(pairs))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_error_by_chance_is_the_mean_error_of_calibrated_answers(
    confidence: list[float], seed: int
) -> None:
    sure = np.array(confidence)
    draws = np.random.default_rng(seed).random((20, len(sure))) < sure
    errors = [Reliability.of(sure, right).error for right in draws]
    assert error_by_chance(confidence, 20, seed) == pytest.approx(np.mean(errors))


def test_a_threshold_accepts_all_at_or_above_it() -> None:
    shares = [CONFIDENCE.accepted(threshold) for threshold in CONFIDENCE.thresholds]
    assert shares == [(0, None), (0, None), (0.5, 2 / 3), (5 / 6, 3 / 5), (1, 1 / 2)]
    table = tables([CONFIDENCE])
    assert "| 80% | none | none |" in table
    assert "| 60% | 83.3%, .60 | 83.3%, .60 |" in table


def test_abstention_means_odds_below_the_threshold() -> None:
    assert ABSTENTION.abstention_rates == (1 / 3, 0)
    assert ABSTENTION.area() == pytest.approx((1 + 0.75 + 0) / 3)
    assert ABSTENTION.area(without_parent=True) == pytest.approx((1 + 0.75) / 2)
    assert "| herbs | 1 | 40 | 3 and 2 | 67% | .58 | .88 | 33% | 0% |" in tables([ABSTENTION])


@pytest.mark.parametrize("found", [CONFIDENCE, ABSTENTION])
def test_saved_results_are_loaded_again(
    found: ConfidenceResult | AbstentionResult, tmp_path: Path
) -> None:
    path = save_result(found, tmp_path / "new")
    assert path.name == f"{'Tea_milk-0' if found is CONFIDENCE else 'herbs-1'}.json"
    assert load_result(path) == found
    path.write_text('{"kind": "confidence"}', encoding="utf-8")
    with pytest.raises(FormatError, match=r"not a result .*; make it with benchmarks/confidence_"):
        load_result(path)


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_branch_is_removed_completely(seed: int) -> None:
    whole = random_taxonomy(seed, 60, most_parents=2)
    id = whole.ids[seed % 10]
    trial = benchmark.without_branch(whole, id, 8, "", seed)
    gone = {id, *whole.descendants(id)}
    taken, rest = trial.branch, trial.test.taxonomy
    assert taken is not None
    assert taken.size == len(gone)
    assert len({concept.id for concept in taken.concepts}) == min(8, len(gone))
    for concept, kept in zip(taken.concepts, taken.has_parent, strict=True):
        assert concept.id in gone
        assert kept == (not gone.issuperset(whole.parents(concept.id)))
    assert gone.isdisjoint(rest)
    assert gone.isdisjoint(concept.id for concept in trial.test.concepts)
    assert {c.id for c in trial.test.concepts}.isdisjoint(rest)
    for concept, parents in zip(trial.test.concepts, trial.test.parents, strict=True):
        assert {rest.ids[i] for i in parents} == set(whole.parents(concept.id)) - gone


def test_results_are_computed_saved_and_plotted(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [
        f"--set={name}={value}" for name, value in (SIZES | {"validation_fraction": 0.9}).items()
    ]
    options = [*small, "--set=epochs=2", "--device=cpu", "--name=pantry", "-o", tmp_path / "kept"]
    run_benchmark("leaves", pantry, "--out", 16, "--seed", 0, 1, *options)
    printed = capsys.readouterr().out
    kept = [load_result(path) for path in sorted((tmp_path / "kept").iterdir())]
    whole = Taxonomy.read(pantry)
    for seed, answers in enumerate(kept):
        assert isinstance(answers, ConfidenceResult)
        assert (answers.seed, len(set(answers.queries))) == (seed, 16)
        assert answers.training["concepts"] == len(whole) - 16
    assert kept[0].queries != kept[1].queries
    run_benchmark("draw", tmp_path / "kept", "-o", tmp_path / "trust.svg")
    assert capsys.readouterr().out == printed
    assert ElementTree.parse(tmp_path / "trust.svg").getroot().get("viewBox")
    with pytest.raises(SystemExit, match="pantry, seed 0, is in 2 files"):
        run_benchmark("draw", tmp_path / "kept", tmp_path / "kept", "-o", tmp_path / "again.svg")
