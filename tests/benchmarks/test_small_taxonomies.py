"""Tests of `benchmarks/small_taxonomies.py`: its subtrees, and its comparison."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import small_taxonomies as benchmark
from builders import pantry_csv, random_taxonomy
from conftest import SMALL
from small_taxonomies import SubtreeResult, compare_on, small_subtrees, table

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.errors import TaxonomyError


def test_subtrees_are_complete_and_have_no_common_concept() -> None:
    whole = random_taxonomy(5, 200, most_parents=1)
    subtrees = small_subtrees(whole, 4, 3, 12, seed=1)
    assert len(subtrees) == 4
    for subtree in subtrees:
        (root,) = subtree.roots
        assert set(subtree) == {root, *whole.descendants(root)}
        assert 3 <= len(subtree) <= 12
        inside = [pair for pair in whole.relations if pair[0] in subtree and pair[1] in subtree]
        assert sorted(subtree.relations) == sorted(inside)
    assert sum(map(len, subtrees)) == len(set().union(*subtrees))
    assert small_subtrees(whole, 4, 3, 12, seed=1) == subtrees
    assert small_subtrees(whole, 4, 3, 12, seed=2) != subtrees


def test_too_few_subtrees_are_refused() -> None:
    with pytest.raises(TaxonomyError, match=r"only \d+ disjoint subtrees .* lower --count"):
        small_subtrees(random_taxonomy(5, 50), 40, 5, 12, seed=1)


def test_both_methods_place_the_same_concepts(pantry: Path) -> None:
    model = TaxoExpan("fast", 0, "cpu", **SMALL)
    result = compare_on(Taxonomy.read(pantry), model, seed=0)
    assert (result.root, result.concepts) == ("food", 89)
    assert result.queries == 16
    assert len(model.taxonomy) == 89 - 16
    for hits in (result.model, result.baseline):
        assert hits * result.queries == pytest.approx(round(hits * result.queries))
    assert result.model > 0.5


def test_wins_and_losses_are_counted() -> None:
    results = [
        SubtreeResult("a", 200, 30, 0.5, 0.25),
        SubtreeResult("b", 300, 40, 0.5, 0.5),
        SubtreeResult("c", 400, 50, 0.75, 0.5),
        SubtreeResult("d", 500, 60, 0.25, 0.75),
    ]
    lines = table(results, "fast").splitlines()
    assert lines[0] == "| subtree | concepts | held out | fast | Closest-Parent | difference |"
    assert lines[2] == "| a | 200 | 30 | 0.500 | 0.250 | +0.250 |"
    assert lines[-3:] == [
        "| mean | | | 0.500 | 0.500 | +0.000 |",
        "",
        "Hit@1: wins 2, losses 1, ties 1",
    ]


def test_the_script_prints_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pantries.csv"
    lines = pantry_csv().splitlines()[1:]
    copies = [
        f"{n} {child},{n} {parent}"
        for n in "ab"
        for child, parent in (line.split(",") for line in lines)
        if parent
    ]
    copies += ["a food,all", "b food,all"]
    path.write_text("\n".join(["child,parent", *copies]) + "\n", encoding="utf-8")
    monkeypatch.setattr(benchmark, "MIN_SIZE", 80)
    monkeypatch.setattr(benchmark, "MAX_SIZE", 90)
    words = ["--preset", "fast", "--count", "2", "--device", "cpu", "--set", "epochs=2"]
    monkeypatch.setattr(sys, "argv", ["small_taxonomies.py", str(path), *words])
    benchmark.main()
    header, _, *rows, mean, _, last = capsys.readouterr().out.splitlines()
    assert header.startswith("| subtree | concepts | held out | fast |")
    assert sorted(row.split(" | ")[0] for row in rows) == ["| a food", "| b food"]
    assert mean.startswith("| mean | | | ")
    assert last.startswith("Hit@1: ")
    monkeypatch.setattr(sys, "argv", ["small_taxonomies.py", str(path), "--count", "3"])
    with pytest.raises(SystemExit, match="error: only 2 disjoint subtrees"):
        benchmark.main()
