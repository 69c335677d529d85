from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.config import (
    PRESETS,
    SETTINGS,
    AuthorQuirks,
    Config,
    load_preset,
    parse_setting,
    settings_without_effect,
)
from taxoexpan.errors import ConfigurationError
from taxoexpan.network.matching import MATCHES
from taxoexpan.network.matching_network import LOSSES
from taxoexpan.network.pooling import READOUTS
from taxoexpan.network.propagation import PROPAGATIONS
from tests.support.small_models import SMALL


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("hidden_dim=64", ("hidden_dim", 64)),
        ("dropout=0.3", ("dropout", 0.3)),
        ("dropout=0", ("dropout", 0.0)),
        ("use_mentions=true", ("use_mentions", True)),
        ("use_mentions=Yes", ("use_mentions", True)),
        ("use_mentions=0", ("use_mentions", False)),
        ("use_mentions=auto", ("use_mentions", "auto")),
        ("validation_fraction=auto", ("validation_fraction", "auto")),
        ("validation_fraction=0.3", ("validation_fraction", 0.3)),
        ("validation_fraction=0", ("validation_fraction", 0.0)),
        ("join_definitions=no", ("join_definitions", False)),
        (" propagation = pgcn ", ("propagation", "pgcn")),
    ],
)
def test_a_value_is_converted_to_the_type_of_its_setting(
    text: str, setting: tuple[str, object]
) -> None:
    name, value = parse_setting(text)
    found = getattr(load_preset("best", **{name: value}), name)
    assert (name, found) == setting
    assert type(found) is type(setting[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hidden_dim", "'hidden_dim' sets nothing; write NAME=VALUE, such as hidden_dim=64"),
        ("hiden=64", "no setting is called 'hiden'; did you mean hidden_dim?"),
        ("hidden_dim=big", "hidden_dim is 'big'; it must be a valid integer"),
        ("hidden_dim=2.5", "hidden_dim is '2.5'; it must be a valid integer"),
        ("hidden_dim=", "hidden_dim is ''; it must be a valid integer"),
        ("use_mentions=maybe", "use_mentions is 'maybe'; it must be 'auto' or a valid boolean"),
        ("join_definitions=auto", "join_definitions is 'auto'; it must be a valid boolean"),
        ("validation_fraction=some", "validation_fraction is 'some'; it must be 'auto' or a valid"),
        ("dropout=much", "dropout is 'much'; it must be a valid number"),
    ],
)
def test_a_text_that_is_not_a_setting_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        load_preset("best", **dict([parse_setting(text)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_dim": "big"}, "hidden_dim is 'big'; it must be a valid integer"),
        ({"hidden_dim": 2.5}, "hidden_dim is 2.5; it must be a valid integer"),
        ({"hidden_dim": None}, "hidden_dim is None; it must be a valid integer"),
        ({"patience": 2**63}, "it must be less than 9223372036854775808"),
        ({"epochs": 10**400}, "it must be less than 9223372036854775808"),
        ({"dropout": float("nan")}, "dropout is nan; it must be less than 0.998"),
        ({"dropout": 0.999}, "dropout is 0.999; it must be less than 0.998"),
        ({"learning_rate": float("inf")}, "learning_rate is inf; it must be less than"),
        ({"learning_rate": 0}, "learning_rate is 0; it must be greater than 0"),
        ({"num_layers": -1}, "num_layers is -1; it must be greater than or equal to 0"),
        ({"use_mentions": 2}, "use_mentions is 2; it must be 'auto' or a valid boolean"),
        ({"validation_fraction": 1}, "validation_fraction is 1; it must be 'auto' or less than 1"),
        ({"validation_fraction": float("nan")}, "validation_fraction is nan; it must be 'auto' or"),
        ({"features": 3}, "features is 3; it must be a valid string"),
        ({"propagation": "foo"}, "propagation is 'foo'; it must be 'gcn', 'gat', 'pgcn' or 'pgat'"),
        ({"readout": "max"}, "readout is 'max'; it must be 'mean', 'weighted' or 'concat'"),
        ({"matching": "dot"}, "matching is 'dot'; it must be 'bilinear' or 'mlp'"),
        ({"loss": "mse"}, "loss is 'mse'; it must be 'infonce' or 'bce'"),
        ({"negative_sampling": "few"}, "negative_sampling is 'few'; it must be 'sampled',"),
    ],
)
def test_a_model_with_a_wrong_setting_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        TaxoExpan("fast", device="cpu", **change)  # type: ignore[arg-type]  # the misuse is the point


def test_numpy_and_python_numbers_give_the_same_setting() -> None:
    plain = load_preset("best", hide_children_rate=0.0, hidden_dim=8, dropout=0.5)
    same = load_preset(
        "best", hide_children_rate=0, hidden_dim=np.int64(8), dropout=np.float32(0.5)
    )
    assert plain == same
    assert [type(value) for value in same.model_dump().values()] == [
        type(value) for value in plain.model_dump().values()
    ]


def test_the_largest_dropout_can_be_trained(pantry: Path) -> None:

    largest = {"dropout": 0.9979, "query_dropout": 0.9979, "epochs": 1, "features": "static"}
    model = TaxoExpan("fast", device="cpu", **largest).fit(read_taxonomy(pantry))  # type: ignore[arg-type]
    assert model.history is not None
    assert model.history.best == 1


def test_the_choices_are_those_of_the_network() -> None:
    parts = {"propagation": PROPAGATIONS, "readout": READOUTS, "matching": MATCHES, "loss": LOSSES}
    for name, choices in parts.items():
        assert get_args(Config.model_fields[name].annotation) == tuple(choices)


def test_every_preset_sets_every_setting() -> None:
    for preset in PRESETS:
        assert load_preset(preset).model_fields_set - {"quirks"} == set(SETTINGS)
    assert [name for name, _ in Config.describe()] == list(SETTINGS)


def test_a_user_cannot_set_the_quirks_of_the_authors() -> None:
    assert "quirks" not in SETTINGS
    for name in ("quirks", *AuthorQuirks.model_fields):
        with pytest.raises(ConfigurationError, match=f"no setting is called '{name}'"):
            parse_setting(f"{name}=1")


def test_presets_and_experiments_can_set_the_quirks_of_the_authors() -> None:
    assert load_preset("best").quirks == load_preset("paper").quirks == AuthorQuirks()
    changed = load_preset("authors", quirks={"mlp_relu": True}).quirks
    expected = {"attention_dropout": 0.1, "first_parents_only": True, "no_root_negatives": True}
    assert changed == AuthorQuirks(**expected, mlp_relu=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("quirks", "message"),
    [
        ({"attention_dropout": 1}, "quirks.attention_dropout is 1; it must be less than 0.998"),
        ({"mlp_relu": "maybe"}, "quirks.mlp_relu is 'maybe'; it must be a valid boolean"),
        (
            {"relu": True},
            "no setting is called 'quirks.relu'; known: attention_dropout, double_exp",
        ),
        (3, "quirks is 3; it must be a valid dictionary"),
    ],
)
def test_wrong_quirks_are_refused(quirks: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        load_preset("best", quirks=quirks)


def test_the_command_line_does_not_load_pydantic_before_it_needs_a_setting() -> None:
    script = (
        "import sys, taxoexpan.cli.main as m; m.build_parser(); print('pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_every_setting_has_a_description() -> None:
    described = dict(Config.describe())
    assert tuple(described) == SETTINGS
    assert all(described.values())
    for name, description in described.items():
        choices = get_args(Config.model_fields[name].annotation)
        assert all(choice in description for choice in choices if isinstance(choice, str))


@cache
def scores_of(pantry: Path, **settings: Hashable) -> list[float]:
    """Return scores by a model that is trained with these settings."""
    model = TaxoExpan("fast", device="cpu", **settings).fit(read_taxonomy(pantry))
    return [each.score for each in model.suggest(["cashew milk"]).flat]


@pytest.mark.parametrize(
    ("others", "setting", "reason"),
    [
        ({}, {"compose_anchors": True}, "the encoder 'static' has no sentence model"),
        ({}, {"map_epochs": 3}, "the encoder 'static' has no sentence model"),
        ({}, {"tower_epochs": 3}, "the encoder 'static' has no sentence model"),
        ({"tower_epochs": 1}, {"tower_batch_size": 5}, "the encoder 'static' has no sentence mo"),
        ({"tower_epochs": 1}, {"tuned_layers": 2}, "the encoder 'static' has no sentence model"),
        ({"learn_fusion": False}, {"tower_epochs": 3}, "learn_fusion is false"),
        ({}, {"oov": "zero"}, "the encoder 'static' reads no vector file"),
        ({"propagation": "gat"}, {"position_dim": 5}, "propagation has no positions"),
        ({"propagation": "gcn"}, {"position_norm": 9.0}, "propagation has no positions"),
    ],
)
def test_a_setting_without_effect_is_found_and_changes_nothing(
    pantry: Path, others: dict[str, Hashable], setting: dict[str, Hashable], reason: str
) -> None:
    (name,) = setting
    base = {**SMALL, "epochs": 1, **others}
    config = load_preset("fast", **{**base, **setting})
    found = settings_without_effect(config, [*base, name])
    assert found.keys() == {*others, name} & found.keys()
    assert found[name].startswith(reason)
    assert scores_of(pantry, **base, **setting) == scores_of(pantry, **base)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("encoder", ["pretrained", "transformer:x"])
def test_settings_with_an_effect_are_not_reported(preset: str, encoder: str) -> None:
    config = load_preset(preset, features=f"static+{encoder}+vectors:y", learn_fusion=True)
    tuned = config.model_copy(update={"tower_epochs": 2, "epochs": 3, "compose_anchors": False})
    whole = f"the encoder {tuned.features!r} is fine-tuned as a whole"
    idle = {} if encoder == "pretrained" else {"tuned_layers": whole}
    assert settings_without_effect(tuned, SETTINGS) == idle
    tuned = tuned.model_copy(update={"compose_anchors": True})
    assert settings_without_effect(tuned, SETTINGS) == {
        "compose_anchors": "the encoder is fine-tuned",
        **idle,
    }
    nothing = {"map_epochs": 0, "tower_epochs": 0, "features": "static+vectors:y"}
    untuned = config.model_copy(update=nothing)
    names = ["map_epochs", "tower_epochs", "tower_learning_rate"]
    found = settings_without_effect(untuned, names)
    assert found.keys() == {"tower_learning_rate"}
