"""The settings of a model, and the presets that are kept as files beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import resources
from numbers import Integral, Real
from typing import Any, TypeVar

from taxoexpan.errors import ConfigurationError

T = TypeVar("T")

PRESETS = ("best", "paper", "authors")


@dataclass(frozen=True)
class Config:
    """Everything that decides what is learned, besides the taxonomy and the seed."""

    features: str
    """Which encoder makes the concepts' vectors."""
    oov: str
    """What a word counts that a file of vectors lacks: skip, nothing; or zero, so that a name known
    in part weighs less beside others."""
    name_weight: float
    """Weight of a concept's names beside its definition."""
    definition_weight: float
    """Weight of a concept's definition beside its names."""
    join_definitions: bool
    """Whether a name and its definition are encoded as one text, which transformers understand
    better, instead of being added by these weights."""
    propagation: str
    """What passes messages in an egonet: gcn, gat, pgcn or pgat (with positions)."""
    readout: str
    """What makes one vector of an egonet: mean, weighted, concat, or concat-egonet."""
    matching: str
    """What scores a pair: bilinear, mlp; or mlp-relu, bilinear-exp as in the authors' code."""
    loss: str
    """What is minimised: infonce or bce."""
    num_layers: int
    """Layers before the last one."""
    hidden_dim: int
    """Size of each head of these layers, and of an MLP's hidden layer."""
    num_heads: int
    """Heads of these layers."""
    embedding_dim: int
    """Size of an anchor's embedding."""
    num_output_heads: int
    """Heads of the last layer, which are averaged."""
    position_dim: int
    """Size of a position embedding."""
    position_norm: float
    """About how long these begin; a concept's vector has length 1, and far longer ones drown it."""
    fusion_dim: int
    """Hidden units of the fusion head; 0 leaves it out."""
    use_mentions: bool
    """Whether it counts in the match which concepts a query's definition and name mention."""
    dropout: float
    """Share of every layer's input that is dropped while training."""
    query_dropout: float
    """Share of a query's vector that is dropped before it is matched while training."""
    attention_dropout: float
    """Share of the messages of gat and pgat that is dropped, as in the authors' code."""
    max_siblings: int
    """The most children of an anchor in one egonet."""
    hide_children_rate: float
    """Share of a batch's egonets that is shown without siblings, so that leaves can be parents."""
    instances: str
    """What is learned from: all relations, or as the authors' code the first-parents alone."""
    batch_size: int
    """Relations in a batch."""
    negative_sampling: str
    """Which anchors are negatives: sampled for each query; uniform, the same draws for a batch;
    shared, these and the parents of the batch's queries; or all."""
    root_negatives: str
    """Whether roots may be negatives: yes, or no as in the authors' code."""
    num_negatives: int
    """How many are drawn: for each query if sampled, else for a batch."""
    learning_rate: float
    """Adam's first step size."""
    epochs: int
    """The most passes over the relations."""
    patience: int
    """Epochs without a better validation before training stops."""
    monitor: str
    """The validation figure that decides: mean_rank, or reciprocal_rank."""
    validation: str
    """What is masked for validation, to see when to stop and how sure to be: leaves, loose ones; or
    growth, as taxonomies grow: half of them whole families, whose parents have no child left."""
    validation_fraction: float
    """Share of the leaves that is masked for validation."""
    max_validation_leaves: int
    """The most leaves that are masked for validation."""

    def __post_init__(self) -> None:
        for name, kind in SETTINGS.items():
            value = _as_kind(name, kind, getattr(self, name))
            object.__setattr__(self, name, value)
            if isinstance(value, bool):
                continue
            if isinstance(value, str):
                if name in CHOICES and value not in CHOICES[name]:
                    raise _wrong_choice(name, value, CHOICES[name])
            elif not -(2**63) < value < 2**63:  # nor is anything true of NaN
                raise ConfigurationError(f"{name} is {value}; it must be finite, and below 2^63")
            elif value < 0 or (value == 0 and name in _POSITIVE):
                least = "above zero" if name in _POSITIVE else "0 or more"
                raise ConfigurationError(f"{name} is {value}; it must be {least}")
        if not self.name_weight + self.definition_weight:
            message = "name_weight and definition_weight are both 0; one must be above it"
            raise ConfigurationError(message)
        for name in (
            "dropout",
            "query_dropout",
            "attention_dropout",
            "hide_children_rate",
            "validation_fraction",
        ):
            # What is dropped is drawn in 256ths, and some must be left.
            most = 0.998 if name.endswith("dropout") else 1
            if getattr(self, name) >= most:
                raise ConfigurationError(
                    f"{name} is {getattr(self, name)}; it must be below {most}"
                )


SETTINGS: dict[str, str] = {field.name: str(field.type) for field in fields(Config)}
"""Every setting, and its type: int, float, bool or str."""

CHOICES = {
    "oov": ("skip", "zero"),
    "propagation": ("gcn", "gat", "pgcn", "pgat"),
    "readout": ("mean", "weighted", "concat", "concat-egonet"),
    "matching": ("bilinear", "mlp", "mlp-relu", "bilinear-exp"),
    "loss": ("infonce", "bce"),
    "negative_sampling": ("sampled", "uniform", "shared", "all"),
    "instances": ("relations", "first-parents"),
    "root_negatives": ("yes", "no"),
    "monitor": ("mean_rank", "reciprocal_rank"),
    "validation": ("leaves", "growth"),
}
"""What a setting that is a word may be; known here, so that no network is needed to refuse it."""

_WANTED = {"int": "a whole number", "float": "a number", "str": "a word", "bool": "true or false"}

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""The texts that `--set` takes for a setting that is true or false."""

_POSITIVE = {
    "hidden_dim", "num_heads", "embedding_dim", "num_output_heads", "position_dim",
    "position_norm", "max_siblings", "batch_size", "num_negatives", "learning_rate", "epochs",
    "patience",
}  # fmt: skip


def pick(setting: str, name: str, choices: Mapping[str, T]) -> T:
    """What a setting's value stands for; an unknown one is an error that lists the choices."""
    if name not in choices:
        raise _wrong_choice(setting, name, choices)
    return choices[name]


def load_preset(name: str, **changes: Any) -> Config:
    """A preset by its name, with single settings changed."""
    if name not in PRESETS:
        raise ConfigurationError(
            f"no preset is called {name!r}; choose one of {', '.join(PRESETS)}"
        )
    text = resources.files("taxoexpan").joinpath(f"presets/{name}.toml").read_text("utf-8")
    return configure({**tomllib.loads(text), **changes})


def configure(settings: dict[str, Any]) -> Config:
    """A configuration from named settings; an unknown or missing one is an error."""
    for name in settings:
        _kind_of(name)
    for name in SETTINGS.keys() - settings.keys():
        raise ConfigurationError(f"the setting {name!r} is missing")
    return Config(**settings)


def parse_setting(text: str) -> tuple[str, str | int | float | bool]:
    """The setting's name, and its value by the setting's type, of a text `NAME=VALUE`."""
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign:
        raise ConfigurationError(f"{text!r} sets nothing; write NAME=VALUE, such as hidden_dim=64")
    kind = _kind_of(name)
    try:
        if kind == "int":
            return name, int(value)
        if kind == "bool":
            return name, _TRUTH[value.lower()]
        return name, float(value) if kind == "float" else value
    except (ValueError, KeyError):
        raise _wrong_kind(name, kind, value) from None


def _kind_of(name: str) -> str:
    if name not in SETTINGS:
        known = ", ".join(sorted(SETTINGS))
        raise ConfigurationError(f"no setting is called {name!r}; known: {known}")
    return SETTINGS[name]


def _as_kind(name: str, kind: str, value: object) -> str | int | float | bool:
    """The value as Python's own type, so that 0 and 0.0, or numpy's, are one setting."""
    if kind == "str" and isinstance(value, str):
        return value
    if kind == "bool" and isinstance(value, bool):
        return value
    if not isinstance(value, bool):
        if kind == "int" and isinstance(value, Integral):
            return int(value)
        if kind == "float" and isinstance(value, Real):
            with suppress(OverflowError):  # a whole number may be too large for it
                return float(value)
    raise _wrong_kind(name, kind, value)


def _wrong_kind(name: str, kind: str, value: object) -> ConfigurationError:
    return ConfigurationError(f"{name} is {value!r}; it must be {_WANTED[kind]}")


def _wrong_choice(name: str, value: str, choices: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(f"{name} is {value!r}; choose one of {', '.join(choices)}")
