"""All that the kept runs say, as one page: tables, figures, and where the order differs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import FormatError
from taxoexpan.reproduce.cells import Cell, all_cells
from taxoexpan.reproduce.running import Run, mean_of, runs_of
from taxoexpan.reproduce.tables import spelled_ranks, table_text

HEADINGS = {
    "main": "Overall results (Table 2)",
    "ablation": "Architectures (Table 3)",
    "loss": "Training schemes, with and without wrong relations",
    "sensitivity": "Hyper-parameters",
    "scalability": "Scalability",
}
PICTURED = ("loss", "sensitivity", "scalability")

INTRODUCTION = """# The paper's experiments, run again

This page is written by `taxoexpan reproduce report` from the runs that it was given. Each table has
our figure (mean ± deviation over the seeds), the published one (*paper*), and the difference (Δ).

**The paper's vectors cannot be had**: 250 dimensions, learned from a corpus of papers that is not
published. Every figure here is of other vectors, named above each table, so the figures themselves
cannot agree; what can be compared is the order of the methods.

```
taxoexpan reproduce prepare computer_science.terms -o task.npz --half [--features …]
taxoexpan reproduce run main ablation loss sensitivity scalability --task task.npz --runs runs
taxoexpan reproduce figure loss --runs runs -o reproduction     # sensitivity, scalability, cases
taxoexpan reproduce report --runs runs --pictures reproduction -o reproduction.md
```
"""


def report_text(runs: Path, pictures: str, remarks: str) -> str:
    """The page in Markdown; `pictures` is the folder of the figures as seen from it."""
    parts = [INTRODUCTION, remarks.strip(), _circumstances(runs)]
    for group, heading in HEADINGS.items():
        cells = [cell for cell in all_cells() if cell.group == group]
        if not any(runs_of(runs, cell) for cell in cells):
            continue
        parts.append(f"## {heading}\n\n{table_text(cells, runs).strip()}")
        if any(cell.published for cell in cells):
            parts.append(_orders(cells, runs))
        if group in PICTURED:
            parts.append(f"![{heading}]({pictures}/{group}.svg)")
    cases = f"## Ranks of the true parents\n\n![ranks]({pictures}/cases.svg)\n\n{_cases(runs)}"
    return "\n\n".join(part for part in [*parts, cases] if part) + "\n"


def _circumstances(runs: Path) -> str:
    """On what, with what and where it was run."""
    kept = [run for cell in all_cells() for those in runs_of(runs, cell).values() for run in those]
    if not kept:
        raise FormatError(runs, "holds no runs; make some with reproduce run")
    distinct = {run.folder: run for run in kept}.values()
    lines = [f"{len(distinct)} runs were kept."]
    for run in {r.record["task"]["features"]: r for r in distinct}.values():
        task = run.record["task"]
        lines.append(f"- `{task['name']}` with `{task['features']}`: sha256 {task['sha256']}…")
    lines += [f"- on {device}" for device in sorted({r.record["device"] for r in distinct})]
    versions = {f"{k} {v}" for r in distinct for k, v in r.record["versions"].items()}
    return "\n".join([*lines, f"- {', '.join(sorted(versions))}"])


def _orders(cells: Sequence[Cell], runs: Path) -> str:
    """The published order by MRR, and ours with each task."""
    compared = [cell for cell in cells if cell.published]
    published = sorted(compared, key=lambda cell: -cell.published["mrr"])
    lines = ["Order by MRR:", "", f"- paper: {_listed(published)}"]
    tasks = sorted({task for cell in compared for task in runs_of(runs, cell)})
    for task in tasks:
        ours = {c.name: mean_of(runs_of(runs, c).get(task, []), "mrr") for c in compared}
        ran = [cell for cell in compared if not np.isnan(ours[cell.name])]
        if len(ran) < 2:
            continue
        ordered = sorted(ran, key=lambda cell: -ours[cell.name])
        same = _agreement([c for c in published if c in ran], ordered)
        lines.append(f"- {task}: {_listed(ordered)} ({same:.0%} of the pairs as in the paper)")
    return "\n".join(lines)


def _listed(cells: Sequence[Cell]) -> str:
    return " > ".join(cell.title for cell in cells)


def _agreement(published: Sequence[Cell], ours: Sequence[Cell]) -> float:
    """The share of pairs that are in the same order in both."""
    place = {cell.name: i for i, cell in enumerate(ours)}
    pairs = [(a.name, b.name) for i, a in enumerate(published) for b in published[i + 1 :]]
    return float(np.mean([place[a] < place[b] for a, b in pairs])) if pairs else 1.0


def _cases(runs: Path) -> str:
    """Queries at the top, in the middle and in the tail, as the runs have kept them."""
    lines = []
    for cell in all_cells():
        if cell.name != "main/taxoexpan-best":
            continue
        for those in runs_of(runs, cell).values():
            first = those[0]
            best = np.array([ranks.min() for ranks in first.ranks()])
            told = [
                f"{np.mean((best >= low) & (best < high)):.1%} at {spelled_ranks(low, high)}"
                for low, high in pairwise((1, 2, 11, 101, 1001, np.inf))
            ]
            features = first.record["task"]["features"]
            lines.append(f"- {cell.title}, `{features}`: best true parent {', '.join(told)}.")
            lines += [f"  - {line}" for line in _examples(first, best)]
    return "\n".join(lines)


def _examples(run: Run, best: NDArray[np.floating]) -> list[str]:
    labels = run.labels()
    if not labels:
        return []
    order = np.argsort(best, kind="stable")
    places = {"top": 0.05, "middle": 0.5, "tail": 0.99}
    lines = []
    for name, share in places.items():
        at = int(share * (len(order) - 1))
        those = [f"{labels[i]} ({best[i]:.0f})" for i in order[at : at + 4].tolist()]
        lines.append(f"{name}: {', '.join(those)}")
    return lines
