"""The settings of a model, and the presets that are kept as files beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from typing import Any, TypeVar

from taxoexpan.errors import ConfigurationError

T = TypeVar("T")

PRESETS = ("best", "paper")


@dataclass(frozen=True)
class Configuration:
    """Everything that decides what is learned, besides the taxonomy and the seed."""

    features: str
    """Which encoder makes the concepts' vectors."""
    propagation: str
    """What passes messages in an egonet: gcn, gat, pgcn or pgat (with positions)."""
    readout: str
    """What makes one vector of an egonet: mean, weighted, concat, or concat-egonet."""
    matching: str
    """What scores a pair: bilinear, mlp; or mlp-relu, bilinear-exp as in the authors' code."""
    loss: str
    """What is minimised: infonce or bce."""
    layers: int
    """Layers before the last one."""
    hidden: int
    """Size of each head of these layers, and of an MLP's hidden layer."""
    heads: int
    """Heads of these layers."""
    output: int
    """Size of an anchor's embedding."""
    output_heads: int
    """Heads of the last layer, which are averaged."""
    position: int
    """Size of a position embedding."""
    fusion: int
    """Hidden units of the fusion head; 0 leaves it out."""
    dropout: float
    """Share of every layer's input that is dropped while training."""
    query_dropout: float
    """Share of a query's vector that is dropped before it is matched while training."""
    siblings: int
    """The most children of an anchor in one egonet."""
    childless: float
    """Share of a batch's egonets that is shown without siblings, so that leaves can be parents."""
    batch_size: int
    """Relations in a batch."""
    negatives: str
    """Which anchors are negatives: sampled for each query, shared by a batch, or all."""
    drawn: int
    """How many are drawn: for each query if sampled, for a batch if shared."""
    learning_rate: float
    """Adam's first step size."""
    epochs: int
    """The most passes over the relations."""
    patience: int
    """Epochs without a better validation before training stops."""
    monitor: str
    """The validation figure that decides: mr, or reciprocal_rank."""
    validation_share: float
    """Share of the leaves that is masked for validation."""
    validation_most: int
    """The most leaves that are masked for validation."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str) and (
                value < 0 or (value == 0 and field.name in _POSITIVE)
            ):
                raise ConfigurationError(f"{field.name} is {value}; it must be above zero")
        if self.negatives not in ("sampled", "shared", "all"):
            message = f"negatives is {self.negatives!r}; choose one of sampled, shared, all"
            raise ConfigurationError(message)
        if self.monitor not in ("mr", "reciprocal_rank"):
            raise ConfigurationError(f"monitor is {self.monitor!r}; choose mr or reciprocal_rank")
        for name in ("dropout", "query_dropout", "childless", "validation_share"):
            if getattr(self, name) >= 1:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; it must be below 1")


_POSITIVE = {
    "hidden", "heads", "output", "output_heads", "position", "siblings", "batch_size", "drawn",
    "learning_rate", "epochs", "patience",
}  # fmt: skip


def pick(setting: str, name: str, choices: Mapping[str, T]) -> T:
    """What a setting's value stands for; an unknown one is an error that lists the choices."""
    if name not in choices:
        raise ConfigurationError(f"{setting} is {name!r}; choose one of {', '.join(choices)}")
    return choices[name]


def load_preset(name: str, **changes: Any) -> Configuration:
    """A preset by its name, with single settings changed."""
    if name not in PRESETS:
        raise ConfigurationError(
            f"no preset is called {name!r}; choose one of {', '.join(PRESETS)}"
        )
    text = resources.files("taxoexpan").joinpath(f"presets/{name}.toml").read_text("utf-8")
    return configure({**tomllib.loads(text), **changes})


def configure(settings: dict[str, Any]) -> Configuration:
    """A configuration from named settings; an unknown or missing one is an error."""
    known = {field.name for field in fields(Configuration)}
    for name in settings.keys() - known:
        raise ConfigurationError(
            f"no setting is called {name!r}; known: {', '.join(sorted(known))}"
        )
    for name in known - settings.keys():
        raise ConfigurationError(f"the setting {name!r} is missing")
    return Configuration(**settings)
