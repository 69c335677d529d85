"""One experiment of the paper: what is trained, and the figures that were published for it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

from taxoexpan.errors import ConfigurationError

FIGURES = ("mr", "hit_at_1", "hit_at_3", "mrr")
"""The figures that the paper publishes."""

TABLES = {
    "main": "Overall results (Table 2)",
    "ablation": "Architectures (Table 3)",
    "loss": "Training schemes, with and without wrong relations",
    "sensitivity": "Hyper-parameters",
    "scalability": "Scalability",
}
"""The tables, each of the group of experiments of its name, and their headings."""

SEMEVAL = "semeval"
"""The group of the table that is scored in another way, and has other data."""

PICTURES = {
    "loss": "loss",
    "sensitivity": "sensitivity",
    "scalability": "scalability",
    "cases": "main/taxoexpan*",
}
"""The pictures, and the experiments that each is drawn from."""


@dataclass(frozen=True)
class Experiment:
    """A row of a table, or a point of a figure.

    `method` is trained with `settings` on `share` of the leaves, after the share `noise` of the
    relations was given other parents; without a method the published figures are only quoted. Where
    it is `timed`, test queries are placed on a CPU too. How it is `decided` where SemEval's task
    puts a concept: under the best anchor, where the similarity is `expected` to be highest, or so
    and `merged` with what it is likely another name of.
    """

    name: str
    order: int
    title: str
    method: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    noise: float = 0.0
    share: float = 1.0
    timed: bool = False
    decided: str = "best"
    published: dict[str, float] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The table or figure that it belongs to."""
        return self.name.partition("/")[0]


@cache
def all_experiments() -> tuple[Experiment, ...]:
    """Every experiment that there is a file for, in the order of the paper."""
    groups = resources.files("taxoexpan").joinpath("experiments/paper/configs")
    experiments = [
        Experiment(
            f"{group.name}/{file.name.removesuffix('.toml')}", **tomllib.loads(file.read_text())
        )
        for group in groups.iterdir()
        for file in group.iterdir()
        if file.name.endswith(".toml")
    ]
    return tuple(
        sorted(
            experiments,
            key=lambda experiment: (experiment.group, experiment.order, experiment.name),
        )
    )


def find_experiments(patterns: Sequence[str]) -> list[Experiment]:
    """The experiments of these names, of these groups, or of patterns such as `ablation/*mlp`."""
    found: dict[str, Experiment] = {}
    for pattern in patterns:
        those = [c for c in all_experiments() if pattern == c.group or fnmatchcase(c.name, pattern)]
        if not those:
            groups = ", ".join(dict.fromkeys(experiment.group for experiment in all_experiments()))
            raise ConfigurationError(
                f"no experiment is called {pattern!r}; there are {groups}, and taxoexpan reproduce "
                "list names all of them"
            )
        found.update((experiment.name, experiment) for experiment in those)
    return list(found.values())
