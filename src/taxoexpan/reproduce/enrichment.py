"""The table of SemEval-2016 Task 14: what others published, and ours over nouns and verbs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.reproduce.cells import Cell
from taxoexpan.reproduce.running import Run, find_runs
from taxoexpan.reproduce.semeval import (
    FILES,
    TASKS,
    Placed,
    Score,
    WordNet,
    read_key,
    score_key,
)
from taxoexpan.reproduce.tables import number, spelled

HEADS = {"wu_palmer": "Wu&P", "recall": "recall", "f1": "F1"}

Key = dict[str, Placed]


class Enrichment:
    """The keys that runs on nouns and on verbs come to together, and what they score."""

    def __init__(self, cells: Sequence[Cell], runs: Path, wordnet: Path, semeval: Path) -> None:
        self.cells, self.runs = cells, runs
        self.gold = read_key(semeval / FILES["test"][1])
        self.wordnets = WordNet.read(wordnet, instances=True)
        found = find_runs(runs, [cell for cell in cells if cell.method])
        self.by_features: dict[str, dict[str, dict[int, list[Run]]]] = {}
        for name, of_cell in found.items():
            for run in (run for those in of_cell.values() for run in those):
                if run.record["task"]["name"] in TASKS:
                    of_name = self.by_features.setdefault(run.record["task"]["features"], {})
                    of_name.setdefault(name, {}).setdefault(run.record["seed"], []).append(run)
        if not self.by_features:
            message = f"holds no run on {' and '.join(TASKS)}"
            raise FormatError(runs, f"{message}; prepare both with --semeval, and run them first")

    def text(self) -> str:
        """A Markdown table for each kind of vectors."""
        return "\n".join(self._table(features) for features in sorted(self.by_features))

    def keys(self, features: str, cell: Cell) -> dict[int, Key]:
        """The key of every seed that was run on nouns and verbs both."""
        seeds = self.by_features[features].get(cell.name, {})
        return {
            seed: {id: placed for run in both for id, placed in key_of(run).items()}
            for seed, both in sorted(seeds.items())
            if len(both) == len(TASKS)
        }

    def _table(self, features: str) -> str:
        heads = " | ".join(f"{head} | paper" for head in HEADS.values())
        rows = [self._row(cell, list(self.keys(features, cell).values())) for cell in self.cells]
        lines = [f"vectors `{features}`, {len(self.gold)} test concepts", ""]
        return "\n".join([*lines, f"| | {heads} | runs |", f"|---|{'---|' * 7}", *rows, ""])

    def _row(self, cell: Cell, keys: Sequence[Key]) -> str:
        scores = [score_key(key, self.gold, self.wordnets) for key in keys]
        parts = [
            part
            for figure in HEADS
            for part in (spelled(figure, _values(scores, figure)), _published(cell, figure))
        ]
        return f"| {cell.title} | {' | '.join(parts)} | {len(keys) if cell.method else 'quoted'} |"


def key_of(run: Run) -> Key:
    """Where a run puts each test concept: under its best anchor."""
    best = run.best()
    return {id: Placed(str(best[row, 0]), "attach") for row, id in enumerate(run.labels())}


def _values(scores: Sequence[Score], figure: str) -> list[float]:
    return [float(getattr(score, figure)) for score in scores]


def _published(cell: Cell, figure: str) -> str:
    return number(figure, cell.published[figure]) if figure in cell.published else ""
