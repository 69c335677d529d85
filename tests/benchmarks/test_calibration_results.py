"""Tests of `benchmarks/confidence_calibration.py`, its results and its plots."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import confidence_calibration as benchmark
import numpy as np
import pytest
from builders import random_taxonomy
from calibration_plots import plot_svg, pooled_bins
from calibration_results import (
    AbstentionResult,
    ConfidenceResult,
    error_by_chance,
    load_result,
    roc_area,
    save_result,
    tables,
)
from conftest import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import TaxoExpan
from taxoexpan.errors import FormatError, TaxonomyError
from taxoexpan.placement.learned.confidence import Reliability
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import hold_out_leaves

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


def test_error_by_chance_shrinks_with_more_queries() -> None:
    few, many = (error_by_chance(np.linspace(0, 1, count).tolist()) for count in (100, 10_000))
    assert few == pytest.approx(10 * many, rel=0.1)
    assert error_by_chance([0.0, 1.0]) == 0


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


def test_a_query_of_several_models_counts_once_for_the_error() -> None:
    once, thrice = pooled_bins([CONFIDENCE]), pooled_bins([CONFIDENCE] * 3)
    assert [p.error for p in once] == pytest.approx([p.error for p in thrice])
    assert [p.bin.count * 3 for p in once] == [p.bin.count for p in thrice]
    assert [p.bin.right for p in once] == [0, 0.5, 1, 0.5]
    assert all(p.error > 0 for p in once)


def test_the_results_can_be_plotted() -> None:
    assert ElementTree.fromstring(plot_svg([CONFIDENCE] * 3)).get("viewBox")


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


def test_a_branch_is_found_by_its_id_then_by_its_name() -> None:
    concepts = [Concept("tea", "herb"), Concept("2", "Tea"), Concept("3", "x"), Concept("4", "X")]
    taxonomy = Taxonomy(concepts)
    assert [benchmark.find_concept(taxonomy, text) for text in ("tea", "HERB")] == ["tea", "tea"]
    with pytest.raises(
        TaxonomyError, match="2 concepts have the label 'x'; give one of the ids '3', '4'"
    ):
        benchmark.find_concept(taxonomy, "x")
    with pytest.raises(TaxonomyError, match="the id or the label 'milk'"):
        benchmark.find_concept(taxonomy, "milk")


def test_results_are_computed_saved_and_plotted(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [
        f"--set={name}={value}" for name, value in (SMALL | {"validation_fraction": 0.9}).items()
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


def test_any_parent_that_remains_is_right(pantry: Path) -> None:
    whole = Taxonomy.read(pantry)
    asked = hold_out_leaves(whole, 0.2, 20, 0)
    settings = SMALL | {"validation_fraction": 0.9}
    model = TaxoExpan("fast", seed=0, device="cpu", **settings).fit(asked.taxonomy)
    firsts = [s.parent.id for s in model._suggest(asked.concepts, 1)[0]]
    right = benchmark.measure_confidence(model, benchmark.Trial("", 0, asked)).right
    assert any(right)
    assert right == tuple(
        first in whole.parents(concept.id)
        for first, concept in zip(firsts, asked.concepts, strict=True)
    )
    # A second parent counts as the first does.
    also = tuple(
        np.array([own[0], asked.taxonomy.index(first)])
        for own, first in zip(asked.parents, firsts, strict=True)
    )
    both = replace(asked, parents=also)
    assert all(benchmark.measure_confidence(model, benchmark.Trial("", 0, both)).right)
