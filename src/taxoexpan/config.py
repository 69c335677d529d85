"""The settings of a model: their types, allowed values and descriptions."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from taxoexpan.errors import ConfigurationError
from taxoexpan.large_parts import has_large
from taxoexpan.phrasing import did_you_mean
from taxoexpan.shared_options import FeatureOptions

PRESETS = ("best", "fast", "thorough", "paper", "authors")

_LIMIT = 2**63


UnknownWords = Literal["skip", "zero"]
"""How words without a vector count in the mean of a text: not at all, or as zeros."""
_PositiveInt = Annotated[int, Field(ge=1, lt=_LIMIT)]
_Count = Annotated[int, Field(ge=0, lt=_LIMIT)]
_PositiveFloat = Annotated[float, Field(gt=0, lt=_LIMIT)]
_Weight = Annotated[float, Field(ge=0, lt=_LIMIT)]
_Fraction = Annotated[float, Field(ge=0, lt=1)]
# Dropout is drawn in steps of 1/256, and some values must be left.
_Dropout = Annotated[float, Field(ge=0, lt=0.998)]


class AuthorQuirks(BaseModel):
    """Differences between the authors' code and the paper; experiments only, not for `--set`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attention_dropout: _Dropout = Field(
        default=0.0, description="dropout rate of gat's and pgat's messages"
    )
    first_parents_only: bool = Field(
        default=False, description="learn from the first parent of each concept only"
    )
    no_root_negatives: bool = Field(default=False, description="never use a root as a negative")
    egonet_concat: bool = Field(
        default=False, description="readout=concat divides by the size of the whole egonet"
    )
    mlp_relu: bool = Field(default=False, description="matching=mlp uses ReLU and no sigmoid")
    double_exp: bool = Field(default=False, description="matching=bilinear takes the exp twice")


class Config(BaseModel):
    """All settings that decide what a model learns, apart from the taxonomy and the seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: str = Field(
        description="the encoder that makes the vectors of concepts, or several joined with +"
    )
    oov: UnknownWords = Field(
        description="how a word counts that a vector file lacks: skip (ignored) or zero (as a zero "
        "vector, so that the name gets less weight)"
    )
    name_weight: _Weight = Field(description="weight of a concept's names in its vector")
    definition_weight: _Weight = Field(description="weight of a concept's definition in its vector")
    join_definitions: bool = Field(
        description="whether a definition is encoded together with the label, as one text, which "
        "suits sentence models"
    )
    propagation: Literal["gcn", "gat", "pgcn", "pgat"] = Field(
        description="graph layers over an egonet: gcn, gat, or with position embeddings pgcn, pgat"
    )
    readout: Literal["mean", "weighted", "concat"] = Field(
        description="how the nodes of an egonet become one vector: mean, weighted (a mean with a "
        "learned weight per position) or concat (one mean per position)"
    )
    matching: Literal["bilinear", "mlp"] = Field(
        description="how a query and an anchor are scored: bilinear or mlp"
    )
    loss: Literal["infonce", "bce"] = Field(
        description="the loss: infonce or bce (binary cross-entropy)"
    )
    num_layers: _Count = Field(description="number of hidden graph layers")
    hidden_dim: _PositiveInt = Field(
        description="size of each head of a hidden graph layer, and of the hidden layer of mlp"
    )
    num_heads: _PositiveInt = Field(description="number of heads of each hidden graph layer")
    embedding_dim: _PositiveInt = Field(description="size of an anchor's embedding")
    num_output_heads: _PositiveInt = Field(
        description="number of heads of the last graph layer, which are averaged"
    )
    position_dim: _PositiveInt = Field(description="size of a position embedding")
    position_norm: _PositiveFloat = Field(
        description="approximate initial norm of a position embedding; the vector of a concept has "
        "norm 1"
    )
    use_mentions: Literal["auto"] | bool = Field(
        description="whether an anchor gets a bonus if the query's definition or name mentions it: "
        "true, false or auto (if at least a tenth of the concepts have a definition)"
    )
    dropout: _Dropout = Field(description="dropout rate of the input of every graph layer")
    query_dropout: _Dropout = Field(description="dropout rate of a query's vector")
    max_siblings: _PositiveInt = Field(description="maximum number of children in an egonet")
    hide_children_rate: _Fraction = Field(
        description="fraction of egonets shown without children during training, so that leaves "
        "can become parents"
    )
    batch_size: _PositiveInt = Field(description="relations per batch")
    negative_sampling: Literal["sampled", "uniform", "shared"] = Field(
        description="the negatives of a query: sampled (drawn per query), uniform (drawn per "
        "batch) or shared (uniform and the other parents of the batch)"
    )
    num_negatives: _PositiveInt = Field(
        description="negatives to draw, per query with sampled and per batch with uniform and "
        "shared"
    )
    learning_rate: _PositiveFloat = Field(description="initial learning rate of Adam")
    epochs: _Count = Field(
        description="maximum number of passes over the relations in which the network is trained; "
        "0 leaves the network out"
    )
    patience: _PositiveInt = Field(
        description="epochs without a better validation result before training stops"
    )
    monitor: Literal["mean_rank", "reciprocal_rank"] = Field(
        description="the validation metric that selects the best epoch: mean_rank or "
        "reciprocal_rank (the mean of 1 / rank)"
    )
    validation: Literal["leaves", "growth"] = Field(
        description="which leaves are held out for validation: leaves (at random) or growth (half "
        "of them as whole families, as real taxonomies grow)"
    )
    validation_fraction: Literal["auto"] | _Fraction = Field(
        description="fraction of the leaves held out for validation; auto is a tenth, or more in "
        "small taxonomies: up to 30 leaves, but at most a fifth"
    )
    max_validation_leaves: _Count = Field(
        description="maximum number of leaves held out for validation"
    )
    learn_fusion: bool = Field(
        description="whether anchors are ranked by a learned fusion of the network with the names, "
        "the words and the text encoder, instead of by the network alone"
    )
    compose_anchors: bool = Field(
        description="whether the vectors of an anchor's text and of its parent's label are added, "
        "instead of reading both together, which takes longer; not with a fine-tuned encoder"
    )
    map_epochs: _Count = Field(
        description="passes over the relations in which linear maps and vectors of words adapt the "
        "vectors of texts to the taxonomy; 0 leaves them as they are"
    )
    tower_epochs: _Count = Field(
        description="passes over the concepts in which the upper layers of the sentence model are "
        "fine-tuned, which takes long; 0 leaves them as they are"
    )
    tuned_layers: _PositiveInt = Field(
        description="number of upper layers that are fine-tuned; the lower ones and the vectors of "
        "tokens stay as they are. A model given with transformer: is fine-tuned as a whole"
    )
    tower_batch_size: _PositiveInt = Field(description="relations per batch of the fine-tuning")
    tower_learning_rate: _PositiveFloat = Field(
        description="highest learning rate of the fine-tuning"
    )
    quirks: AuthorQuirks = AuthorQuirks()

    @classmethod
    def describe(cls) -> Iterator[tuple[str, str]]:
        """Yield the name and the description of every setting that a user can change."""
        for name in SETTINGS:
            yield name, cls.model_fields[name].description or ""

    @property
    def uses_mentions(self) -> bool:
        """Whether mentions are used; False until `resolve_mentions` has replaced `auto`."""
        return self.use_mentions is True

    @model_validator(mode="after")
    def _has_a_text(self) -> Self:
        if not self.name_weight + self.definition_weight:
            problem = "name_weight and definition_weight are both 0"
            raise ValueError(problem, "set one of them above 0")
        if not self.epochs and not self.learn_fusion:
            problem = "epochs is 0 and learn_fusion is false, so nothing ranks the parents"
            raise ValueError(problem, "set epochs above 0, or learn_fusion to true")
        return self


class Settings(TypedDict, total=False):
    """The settings that a user can change, with their types; `Config` describes them.

    Examples:
        >>> from taxoexpan import Settings, TaxoExpan
        >>> settings: Settings = {"hidden_dim": 64, "epochs": 10}
        >>> TaxoExpan("best", **settings).config.hidden_dim
        64
    """

    features: str
    oov: Literal["skip", "zero"]
    name_weight: float
    definition_weight: float
    join_definitions: bool
    propagation: Literal["gcn", "gat", "pgcn", "pgat"]
    readout: Literal["mean", "weighted", "concat"]
    matching: Literal["bilinear", "mlp"]
    loss: Literal["infonce", "bce"]
    num_layers: int
    hidden_dim: int
    num_heads: int
    embedding_dim: int
    num_output_heads: int
    position_dim: int
    position_norm: float
    use_mentions: Literal["auto"] | bool
    dropout: float
    query_dropout: float
    max_siblings: int
    hide_children_rate: float
    batch_size: int
    negative_sampling: Literal["sampled", "uniform", "shared"]
    num_negatives: int
    learning_rate: float
    epochs: int
    patience: int
    monitor: Literal["mean_rank", "reciprocal_rank"]
    validation: Literal["leaves", "growth"]
    validation_fraction: Literal["auto"] | float
    max_validation_leaves: int
    learn_fusion: bool
    compose_anchors: bool
    map_epochs: int
    tower_epochs: int
    tuned_layers: int
    tower_batch_size: int
    tower_learning_rate: float
    quirks: Mapping[str, Any]


SETTINGS: tuple[str, ...] = tuple(name for name in Config.model_fields if name != "quirks")
"""The settings that a user can change."""


_OF_NETWORK = SETTINGS[SETTINGS.index("propagation") : SETTINGS.index("epochs")]
"""The settings of the network and of its training."""


def settings_without_effect(config: Config, names: Iterable[str]) -> dict[str, str]:
    """Return settings without effect and the reasons."""
    encoders = {part.strip().partition(":")[0] for part in config.features.split("+")}
    tower = ["tuned_layers", "tower_batch_size", "tower_learning_rate"]
    positions = ["position_dim", "position_norm"]
    # A setting that leaves something out has an effect.
    learned = [n for n in ("compose_anchors", "map_epochs", "tower_epochs") if getattr(config, n)]
    encoder = f"the encoder {config.features!r}"
    tuned = config.tower_epochs > 0
    rules: list[tuple[bool, Sequence[str], str]] = [
        (not config.epochs, _OF_NETWORK, "epochs is 0, so there is no network"),
        (config.propagation in ("gcn", "gat"), positions, "propagation has no positions"),
        ("vectors" not in encoders, ["oov"], f"{encoder} reads no vector file"),
        (
            not {"large", "pretrained"} & encoders,
            ["tuned_layers"],
            f"{encoder} is fine-tuned as a whole",
        ),
        (not tuned, tower, "tower_epochs is 0"),
        (tuned and config.compose_anchors, ["compose_anchors"], "the encoder is fine-tuned"),
        (
            not {"large", "pretrained", "transformer"} & encoders,
            [*learned, *tower],
            f"{encoder} has no sentence model",
        ),
        (not config.learn_fusion, [*learned, *tower], "learn_fusion is false"),
    ]
    reasons = {name: reason for applies, of, reason in rules if applies for name in of}
    return {name: reasons[name] for name in names if name in reasons}


def preset_settings(name: str) -> dict[str, Any]:
    """Return the settings of a preset where everything is installed."""
    if name not in PRESETS:
        raise ConfigurationError(
            f"no preset is called {name!r}", fix=f"choose one of {', '.join(PRESETS)}"
        )
    text = resources.files("taxoexpan").joinpath(f"presets/{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def load_preset(name: str, **changes: Any) -> Config:
    """Return the config of a preset, with some settings changed.

    Where the base of the encoder `large` is not installed, `pretrained` takes its place.
    """
    settings = preset_settings(name)
    if not has_large():
        settings["features"] = settings["features"].replace("large", "pretrained")
    if isinstance(changes.get("quirks"), Mapping):
        changes["quirks"] = {**settings.get("quirks", {}), **changes["quirks"]}
    return configure({**settings, **changes})


def configure(settings: Mapping[str, Any]) -> Config:
    """Build a config; an unknown, missing or invalid setting is an error."""
    try:
        return Config.model_validate(dict(settings))
    except ValidationError as error:
        raise _translated(error) from None


def changed_settings(options: FeatureOptions, epochs: int | None = None) -> dict[str, Any]:
    """Return the settings that the options change."""
    given = {"epochs": epochs, "features": options.features}
    return parse_changes(options.settings, given, parse_setting)


def parse_setting(text: str) -> tuple[str, str]:
    """Split `NAME=VALUE` into a setting's name and its value, which `configure` converts."""
    name, value = _split(text)
    check_setting_name(name)
    return name, value


def parse_change(text: str) -> tuple[str, Any]:
    """Split `NAME=VALUE` for any method; the value is one of TOML, or else a string."""
    name, value = _split(text)
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def parse_changes(
    texts: Iterable[str | tuple[str, Any]],
    given: Mapping[str, Any],
    parse: Callable[[str], tuple[str, Any]] = parse_change,
) -> dict[str, Any]:
    """Return settings by name: those of `given` that are not None, and those of texts."""
    settings = {name: value for name, value in given.items() if value is not None}
    for each in texts:
        name, value = parse(each) if isinstance(each, str) else each
        if name in settings:
            raise ConfigurationError(f"{name} is set twice", fix="set it once")
        settings[name] = value
    return settings


def _split(text: str) -> tuple[str, str]:
    name, sign, value = (part.strip() for part in text.partition("="))
    if not sign or not name:
        raise ConfigurationError(
            f"{text!r} sets nothing", fix="write NAME=VALUE, such as hidden_dim=64"
        )
    return name, value


def check_setting_name(name: str, others: Iterable[str] = ()) -> None:
    """Refuse what is neither a setting nor one of the other names."""
    known = (*SETTINGS, *others)
    if name not in known:
        raise _unknown(name, known)


def _translated(error: ValidationError) -> ConfigurationError:
    """Convert pydantic's errors about one setting into an error that names it and the fix."""
    first, *others = error.errors()
    if first["type"] == "value_error":
        problem, fix = first["ctx"]["error"].args
        return ConfigurationError(problem, fix=fix)
    is_quirk = first["loc"][0] == "quirks"
    path = first["loc"][: 1 + is_quirk]
    name = ".".join(map(str, path))
    if first["type"] == "missing":
        return ConfigurationError(f"the setting {name!r} is missing")
    if first["type"] == "extra_forbidden":
        return _unknown(name, AuthorQuirks.model_fields if is_quirk else SETTINGS)
    same = [each["msg"] for each in (first, *others) if each["loc"][: 1 + is_quirk] == path]
    allowed = " or ".join(message.removeprefix("Input should be ") for message in same)
    return ConfigurationError(f"{name} is {first['input']!r}", fix=f"it must be {allowed}")


def _unknown(name: str, known: Iterable[str]) -> ConfigurationError:
    fix = did_you_mean(name, known) or f"known: {', '.join(sorted(known))}"
    return ConfigurationError(f"no setting is called {name!r}", fix=fix)
