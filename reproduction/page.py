"""One Markdown page with all stored runs: tables, figures, and the order of the methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reproduction.experiments import (
    FIGURES,
    TABLES,
    Experiment,
    all_experiments,
    find_experiments,
)
from reproduction.figures import tasks_for
from reproduction.runs import Run, RunIndex, find_runs
from reproduction.tables import (
    format_rank_range,
    markdown_tables,
    tasks_with_runs,
)
from taxoexpan.errors import FormatError

CASES = "main/taxoexpan-best"
"""The experiment whose queries are shown as examples."""

INTRODUCTION = Path(__file__).parent / "page.md"
"""The beginning of the page: how to run the experiments, and what was found."""


def page_text(runs: Path, pictures: str = "reproduction") -> str:
    """Return the page; `pictures` is the folder of the figures, relative to the page."""
    index = find_runs(runs, [e for e in all_experiments() if e.group in TABLES])
    parts = [INTRODUCTION.read_text(encoding="utf-8").strip(), _setup(runs, index)]
    parts += [_section(table, index, pictures) for table in TABLES]
    parts.append(_cases_section(index, pictures))
    return "\n\n".join(part for part in parts if part) + "\n"


def _setup(runs: Path, index: RunIndex) -> str:
    """List the tasks, devices and versions of all runs."""
    stored = [run for by_task in index.values() for group in by_task.values() for run in group]
    if not stored:
        raise FormatError(runs, "no runs", fix="make some with `make reproduce RUN=NAME`")
    records = list({run.folder: run.record for run in stored}.values())
    lines = ["## Runs", "", f"The following tables are based on {len(records)} runs.", ""]
    for task in {(r.task.name, r.task.features): r.task for r in records}.values():
        lines.append(f"- `{task.name}` with `{task.features}`: sha256 {task.sha256}…")
    lines += [f"- on {device}" for device in sorted({r.device for r in records})]
    versions = {f"{package} {number}" for r in records for package, number in r.versions.items()}
    return "\n".join([*lines, f"- {', '.join(sorted(versions))}"])


def _section(table: str, index: RunIndex, pictures: str) -> str:
    """Return the tables, the order of the methods and the figure; empty without runs."""
    experiments = find_experiments([table])
    tasks = tasks_with_runs(experiments, index)
    if not tasks:
        return ""
    parts = [f"## {TABLES[table]}", markdown_tables(experiments, index, tasks).strip()]
    if any(experiment.published for experiment in experiments):
        parts.append(_orders(experiments, index, tasks))
    if table in FIGURES:
        parts.append(_image_link(table, TABLES[table], index, pictures))
    return "\n\n".join(part for part in parts if part)


def _image_link(name: str, title: str, index: RunIndex, pictures: str) -> str:
    """Link a figure if all runs that it needs are stored."""
    return f"![{title}]({pictures}/{name}.svg)" if tasks_for(name, index) else ""


def _orders(experiments: Sequence[Experiment], index: RunIndex, tasks: Sequence[str]) -> str:
    """Compare the published order by MRR with the order on each task."""
    published = {e.title: e.published["mrr"] for e in experiments if e.published}
    lines = ["Order by scaled MRR:", "", f"- paper: {_ordered(published)}"]
    for task in tasks:
        runs = {e.title: index[e.name].get(task) for e in experiments if e.published}
        ours = {
            t: float(np.mean([run.metric("mrr") for run in rs])) for t, rs in runs.items() if rs
        }
        if len(ours) > 1:
            agreement = f"{_agreement(published, ours):.0%} of the pairs as in the paper"
            lines.append(f"- {task}: {_ordered(ours)} ({agreement})")
    return "\n".join(lines)


def _ordered(values: Mapping[str, float]) -> str:
    """Join the titles in descending order of their values, with `=` between equal values."""
    titles = sorted(values, key=lambda title: -values[title])
    signs = ["=" if values[a] == values[b] else ">" for a, b in pairwise(titles)]
    return titles[0] + "".join(f" {sign} {b}" for sign, b in zip(signs, titles[1:], strict=True))


def _agreement(published: Mapping[str, float], ours: Mapping[str, float]) -> float:
    """Return the fraction of our pairs with the same order in both; a tie in one counts half."""
    pairs = list(combinations(ours, 2))
    one, other = (
        np.sign([values[a] - values[b] for a, b in pairs]) for values in (published, ours)
    )
    return 1 - float(np.abs(one - other).mean()) / 2


def _cases_section(index: RunIndex, pictures: str) -> str:
    """Show at which ranks the true parents are, and some queries."""
    link = _image_link("cases", "ranks", index, pictures)
    parts = ["## Ranks of the true parents", link, _cases(index)]
    return "\n\n".join(part for part in parts if part) if link else ""


def _cases(index: RunIndex) -> str:
    """Describe the first run on each task: the distribution of ranks, and examples."""
    (experiment,) = find_experiments([CASES])
    lines = []
    for first, *_ in index[experiment.name].values():
        best = first.best_ranks()
        fractions = [
            f"{np.mean((best >= low) & (best < high)):.1%} at {format_rank_range(low, high)}"
            for low, high in pairwise((1, 2, 11, 101, 1001, np.inf))
        ]
        task = f"{first.record.task.name}, `{first.record.task.features}`"
        lines.append(f"- {experiment.title}, {task}: best true parent {', '.join(fractions)}.")
        lines += [f"  - {line}" for line in _examples(first, best)]
    return "\n".join(lines)


def _examples(run: Run, best: NDArray[np.floating]) -> list[str]:
    """List four queries each from the top, the middle and the tail of the ranks."""
    labels = run.labels()
    if not labels:
        return []
    order = np.argsort(best, kind="stable")
    lines = []
    for name, quantile in {"top": 0.05, "middle": 0.5, "tail": 0.99}.items():
        start = int(quantile * (len(order) - 1))
        queries = [f"{labels[i]} ({best[i]:.0f})" for i in order[start : start + 4].tolist()]
        lines.append(f"{name}: {', '.join(queries)}")
    return lines
