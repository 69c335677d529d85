"""One experiment: the method or the measurement, its settings, and the published results."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from taxoexpan.errors import ConfigurationError
from taxoexpan.evaluation.methods import Method, make_method

METRICS = ("mr", "hit_at_1", "hit_at_3", "mrr")
"""The metrics that the paper publishes."""

TABLES = {
    "main": "Overall results (Table 2)",
    "ablation": "Architectures (Table 3)",
    "loss": "Training schemes, with and without wrong relations",
    "sensitivity": "Hyper-parameters",
    "scalability": "Scalability",
}
"""The heading of each table; a table shows the group of experiments with the same name."""

SEMEVAL = "semeval"
"""The group of the SemEval table, which has its own data and its own score."""

MEASURED = ("calibration", "cleaning", "recovery", "review", "small", "updating")
"""The groups of the measurements, which are not in the paper."""

FIGURES = {
    "loss": "loss",
    "sensitivity": "sensitivity",
    "scalability": "scalability",
    "cases": "main/taxoexpan*",
}
"""The pattern of the experiments that each figure is drawn from."""


@dataclass(frozen=True)
class Experiment:
    """One row of a table, or one point of a figure.

    `method` is trained with `settings`; without a method, the published results are only quoted.
    `noise` is the fraction of the relations that get a random other parent before training, and
    `leaf_fraction` the fraction of the leaves that are kept. `timed` experiments also measure the
    placement of the test queries on the CPU. `decision` says where SemEval's task puts a concept:
    under the `best` anchor, under the anchor with the highest `expected` similarity, or the same
    with likely duplicates `merged`.

    Instead of ranking with a method, a `measurement` measures whole models with `settings` on
    taxonomies of your own, and has `parameters`.
    """

    name: str
    order: int
    title: str
    method: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    noise: float = 0.0
    leaf_fraction: float = 1.0
    timed: bool = False
    decision: str = "best"
    measurement: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    published: dict[str, float] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The table or figure that the experiment belongs to."""
        return self.name.partition("/")[0]

    def make_method(self) -> Method:
        """Make the method with the settings; a whole model is refused."""
        method = make_method(self.method, **self.settings)
        if not isinstance(method, Method):
            raise ConfigurationError(
                f"{self.method} is a whole model, and experiments rank with given vectors",
                fix="compare it by `taxoexpan evaluate` or `evaluate_methods`",
            )
        return method


@cache
def all_experiments() -> tuple[Experiment, ...]:
    """Return every experiment, in the order of the paper."""
    experiments = [
        Experiment(f"{file.parent.name}/{file.stem}", **tomllib.loads(file.read_text()))
        for file in (Path(__file__).parent / "configs").glob("*/*.toml")
    ]
    return tuple(sorted(experiments, key=lambda e: (e.group, e.order, e.name)))


def find_experiments(patterns: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names or groups, or that match patterns (`loss/*mlp*`)."""
    found: dict[str, Experiment] = {}
    for pattern in patterns:
        matches = [
            e for e in all_experiments() if pattern == e.group or fnmatchcase(e.name, pattern)
        ]
        if not matches:
            groups = ", ".join(dict.fromkeys(e.group for e in all_experiments()))
            raise ConfigurationError(
                f"no experiment matches {pattern!r}",
                fix=f"the groups are {groups}, and `make reproduce` lists every name",
            )
        found.update((experiment.name, experiment) for experiment in matches)
    return list(found.values())
