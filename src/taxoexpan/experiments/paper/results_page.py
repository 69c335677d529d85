"""All that the kept runs say, as one page: tables, figures, and where the order differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import FormatError
from taxoexpan.experiments.paper.experiment import (
    PICTURES,
    TABLES,
    Experiment,
    all_experiments,
    find_experiments,
)
from taxoexpan.experiments.paper.figures import tasks_for
from taxoexpan.experiments.paper.result_tables import format_rank_range, tables_of, tasks_of
from taxoexpan.experiments.paper.run_record import Run, RunIndex, find_runs
from taxoexpan.experiments.paper.runner import mean_of

CASES = "main/taxoexpan-best"
"""The model whose queries are shown one by one."""

INTRODUCTION = """# The paper's experiments, run again

This page is written by `taxoexpan reproduce report` from the runs that it was given. Each table has
our figure (mean ± deviation over the seeds), the published one (*paper*), and the difference (Δ).

**The paper's vectors cannot be had**: 250 dimensions, learned from a corpus of papers that is not
published. Every figure here is of other vectors, named above each table, so the figures themselves
cannot agree; what can be compared is the order of the methods.

Every network but that of our own preset `best` is trained with learning rate .0015 and batches of
256, where the paper has .001 and 128. Of anchors that score the same, none counts as higher, as the
authors count; with half of them counted, popularity has mean rank 1,554 instead of 826 on MAG-CS.
With a share of the leaves (scalability) there are fewer anchors to rank among, so the mean ranks of
these rows cannot be compared.

```
taxoexpan reproduce prepare computer_science.terms -o task.npz --half --features SPEC
taxoexpan reproduce run main ablation loss sensitivity scalability --task task.npz
taxoexpan reproduce figure loss --vectors SPEC -o reproduction  # sensitivity, scalability, cases
taxoexpan reproduce report --pictures reproduction -o reproduction.md [--remarks FILE]
```
"""


def report_text(runs: Path, pictures: str, remarks: str) -> str:
    """The page in Markdown; `pictures` is the folder of the figures as seen from it."""
    found = find_runs(
        runs, [experiment for experiment in all_experiments() if experiment.group in TABLES]
    )
    parts = [INTRODUCTION.strip(), remarks.strip(), _circumstances(runs, found)]
    parts += [_section(table, found, pictures) for table in TABLES]
    parts.append(_cases(found, pictures))
    return "\n\n".join(part for part in parts if part) + "\n"


def _circumstances(runs: Path, found: RunIndex) -> str:
    """On what, with what and where it was run."""
    kept = [run for by_task in found.values() for those in by_task.values() for run in those]
    if not kept:
        raise FormatError(runs, "holds no runs; make some with reproduce run")
    distinct = {run.folder: run for run in kept}.values()
    lines = [f"{len(distinct)} runs were kept."]
    tasks = [run.record["task"] for run in distinct]
    for task in {(task["name"], task["features"]): task for task in tasks}.values():
        lines.append(f"- `{task['name']}` with `{task['features']}`: sha256 {task['sha256']}…")
    lines += [f"- on {device}" for device in sorted({r.record["device"] for r in distinct})]
    versions = {f"{k} {v}" for r in distinct for k, v in r.record["versions"].items()}
    return "\n".join([*lines, f"- {', '.join(sorted(versions))}"])


def _section(table: str, found: RunIndex, pictures: str) -> str:
    """A table of each task, the order of its rows, and its picture; nothing where none was run."""
    experiments = find_experiments([table])
    tasks = tasks_of(experiments, found)
    if not tasks:
        return ""
    parts = [f"## {TABLES[table]}", tables_of(experiments, found, tasks).strip()]
    if any(experiment.published for experiment in experiments):
        parts.append(_orders(experiments, found, tasks))
    if table in PICTURES:
        parts.append(_link(table, TABLES[table], found, pictures))
    return "\n\n".join(part for part in parts if part)


def _link(name: str, title: str, found: RunIndex, pictures: str) -> str:
    """A picture, if the runs are there that it is drawn from."""
    return f"![{title}]({pictures}/{name}.svg)" if tasks_for(name, found) else ""


def _orders(experiments: Sequence[Experiment], found: RunIndex, tasks: Sequence[str]) -> str:
    """The published order by MRR, and ours with each task."""
    published = {
        experiment.title: experiment.published["mrr"]
        for experiment in experiments
        if experiment.published
    }
    lines = ["Order by MRR:", "", f"- paper: {_listed(published)}"]
    for task in tasks:
        means = {c.title: mean_of(found[c.name].get(task, []), "mrr") for c in experiments}
        ours = {title: means[title] for title in published if not np.isnan(means[title])}
        if len(ours) > 1:
            same = f"{_agreement(published, ours):.0%} of the pairs as in the paper"
            lines.append(f"- {task}: {_listed(ours)} ({same})")
    return "\n".join(lines)


def _listed(values: Mapping[str, float]) -> str:
    """Titles from the highest value down, with `=` between equal ones."""
    titles = sorted(values, key=lambda title: -values[title])
    signs = ["=" if values[a] == values[b] else ">" for a, b in pairwise(titles)]
    return titles[0] + "".join(f" {sign} {b}" for sign, b in zip(signs, titles[1:], strict=True))


def _agreement(published: Mapping[str, float], ours: Mapping[str, float]) -> float:
    """The share of pairs of ours that are in the same order in both; a tie in one counts half."""
    pairs = list(combinations(ours, 2))
    one, other = (
        np.sign([values[a] - values[b] for a, b in pairs]) for values in (published, ours)
    )
    return 1 - float(np.abs(one - other).mean()) / 2


def _cases(found: RunIndex, pictures: str) -> str:
    """At which ranks the true parents are, and queries from the top, the middle and the tail."""
    picture, told = _link("cases", "ranks", found, pictures), _told_cases(found)
    parts = ["## Ranks of the true parents", picture, told]
    return "\n\n".join(part for part in parts if part) if picture else ""


def _told_cases(found: RunIndex) -> str:
    """The first run on each task: shares of the queries, and some of them."""
    (experiment,) = find_experiments([CASES])
    lines = []
    for first, *_ in found[experiment.name].values():
        best = np.array([ranks.min() for ranks in first.ranks()])
        shares = [
            f"{np.mean((best >= low) & (best < high)):.1%} at {format_rank_range(low, high)}"
            for low, high in pairwise((1, 2, 11, 101, 1001, np.inf))
        ]
        task = f"{first.record['task']['name']}, `{first.record['task']['features']}`"
        lines.append(f"- {experiment.title}, {task}: best true parent {', '.join(shares)}.")
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
