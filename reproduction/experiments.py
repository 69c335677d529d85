"""One experiment: the method or the measurement, its settings, and the published results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.evaluation.methods import Method, has_setting, make_method, source_file

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

OWN = "own"
"""The group of the experiments in files of your own."""

TASK13 = "task13"
"""The group of SemEval-2016 Task 13, which has its own data and its own page."""

MEASURED = (
    "calibration",
    "cleaning",
    "recovery",
    "review",
    "signals",
    "small",
    TASK13,
    "updating",
)
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
    taxonomies of your own, and has `parameters`; with a `method`, it measures a rule instead of a
    model. `source` says where results that are only quoted come from.
    """

    name: str
    order: int = 0
    title: str = ""
    method: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    noise: float = 0.0
    leaf_fraction: float = 1.0
    timed: bool = False
    decision: str = "best"
    measurement: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    published: dict[str, float] = field(default_factory=dict)
    source: str = ""

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
                fix="compare it by `taxoexpan evaluate`, or by `evaluate_methods` in Python",
            )
        return method

    def has_setting(self, name: str) -> bool:
        """Return whether the method, or the models of the measurement, take a setting."""
        from taxoexpan.config import SETTINGS

        if self.method:
            return has_setting(self.method, name)
        return bool(self.measurement) and (name in SETTINGS or name == "preset")

    def with_settings(self, changes: Mapping[str, Any]) -> Experiment:
        """Return the experiment with those changes that it has a setting for."""
        own = {name: value for name, value in changes.items() if self.has_setting(name)}
        title = ", ".join([self.title, *(f"{name}={value}" for name, value in own.items())])
        return replace(self, title=title, settings={**self.settings, **own})


@cache
def all_experiments() -> tuple[Experiment, ...]:
    """Return every experiment, in the order of the paper."""
    files = (Path(__file__).parent / "configs").glob("*/*.toml")
    experiments = [read_experiment(file, file.parent.name) for file in files]
    return tuple(sorted(experiments, key=lambda e: (e.group, e.order, e.name)))


def read_experiment(path: Path, group: str = OWN) -> Experiment:
    """Read an experiment; the file of its method is relative to its own file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        fix = "give a TOML file"
        if path.suffix != ".toml":
            fix += "; names of experiments come before --config"
        raise FormatError(path, "the file does not exist", fix=fix) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"not a TOML file ({error})", fix="correct it") from None
    known = [each.name for each in fields(Experiment) if each.name != "name"]
    if unknown := [key for key in table if key not in known]:
        message = f"an experiment has no {unknown[0]!r}"
        raise FormatError(path, message, fix=f"choose from {', '.join(known)}")
    try:
        named = {"name": f"{group}/{path.stem}", "title": path.stem, **table}
        experiment = _adapter().validate_python(named)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise FormatError(path, f"{place}: {first['msg']}", fix="correct it") from None
    if not (experiment.method or experiment.measurement or experiment.published):
        message = "the experiment has no method"
        fix = 'add a line such as method = "FILE.py:NAME" or method = "closest-parent"'
        raise FormatError(path, message, fix=fix)
    if source := source_file(experiment.method):
        name = experiment.method.rpartition(":")[2]
        return replace(experiment, method=f"{path.parent / source}:{name}")
    return experiment


@cache
def _adapter() -> TypeAdapter[Experiment]:
    """Return the reader of experiments; making one takes longer than using it."""
    return TypeAdapter(Experiment)


def choose_experiments(
    patterns: Sequence[str], configs: Sequence[Path] = (), changes: Mapping[str, Any] | None = None
) -> list[Experiment]:
    """Return the experiments that match patterns, then those of files, with changed settings.

    Those with equal titles get their names added to them.
    """
    experiments = [*find_experiments(patterns), *map(read_experiment, configs)]
    if not experiments:
        raise ConfigurationError("no experiment is given", fix="give a name, or a file")
    names = [experiment.name for experiment in experiments]
    if double := next((name for name in names if names.count(name) > 1), None):
        message = f"two files give the experiment {double}"
        raise ConfigurationError(message, fix="give them different names")
    for name in changes or {}:
        if not any(experiment.has_setting(name) for experiment in experiments):
            message = f"none of the chosen experiments has the setting {name!r}"
            raise ConfigurationError(message, fix="see the settings of their methods")
    changed = [experiment.with_settings(changes or {}) for experiment in experiments]
    titles = [experiment.title for experiment in changed]
    return [
        each
        if titles.count(each.title) == 1
        else replace(each, title=f"{each.title} ({each.name})")
        for each in changed
    ]


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
