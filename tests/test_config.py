from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan
from taxoexpan.config import CHOICES, SETTINGS, load_preset, parse_setting
from taxoexpan.errors import ConfigurationError
from taxoexpan.network.losses import LOSSES
from taxoexpan.network.matching import MATCHES
from taxoexpan.network.propagation import PROPAGATIONS
from taxoexpan.network.readout import READOUTS


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("hidden_dim=64", ("hidden_dim", 64)),
        ("dropout=0.3", ("dropout", 0.3)),
        ("dropout=0", ("dropout", 0.0)),
        ("use_mentions=true", ("use_mentions", True)),
        ("use_mentions=Yes", ("use_mentions", True)),
        ("use_mentions=0", ("use_mentions", False)),
        (" propagation = pgcn ", ("propagation", "pgcn")),
    ],
)
def test_a_value_is_read_by_the_type_of_its_setting(text: str, setting: tuple[str, object]) -> None:
    name, value = parse_setting(text)
    assert (name, value) == setting
    assert type(value) is type(setting[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hidden_dim", "'hidden_dim' sets nothing; write NAME=VALUE, such as hidden_dim=64"),
        ("hiden=64", "no setting is called 'hiden'; known: attention_dropout, batch_size,"),
        ("hidden_dim=big", "hidden_dim is 'big'; it must be a whole number"),
        ("hidden_dim=2.5", "hidden_dim is '2.5'; it must be a whole number"),
        ("hidden_dim=", "hidden_dim is ''; it must be a whole number"),
        ("use_mentions=maybe", "use_mentions is 'maybe'; it must be true or false"),
        ("dropout=much", "dropout is 'much'; it must be a number"),
    ],
)
def test_a_text_that_is_no_setting_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        parse_setting(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_dim": "big"}, "hidden_dim is 'big'; it must be a whole number"),
        ({"hidden_dim": 2.5}, "hidden_dim is 2.5; it must be a whole number"),
        ({"hidden_dim": None}, "hidden_dim is None; it must be a whole number"),
        ({"epochs": True}, "epochs is True; it must be a whole number"),
        ({"epochs": 2**63}, "it must be finite, and below 2^63"),
        ({"epochs": 10**400}, "it must be finite, and below 2^63"),
        ({"dropout": "0.5"}, "dropout is '0.5'; it must be a number"),
        ({"dropout": True}, "dropout is True; it must be a number"),
        ({"dropout": float("nan")}, "dropout is nan; it must be finite"),
        ({"dropout": 10**400}, "it must be a number"),
        ({"dropout": 0.999}, "dropout is 0.999; it must be below 0.998"),
        ({"learning_rate": float("inf")}, "learning_rate is inf; it must be finite"),
        ({"learning_rate": 0}, "learning_rate is 0.0; it must be above zero"),
        ({"num_layers": -1}, "num_layers is -1; it must be 0 or more"),
        ({"use_mentions": "yes"}, "use_mentions is 'yes'; it must be true or false"),
        ({"use_mentions": 1}, "use_mentions is 1; it must be true or false"),
        ({"features": 3}, "features is 3; it must be a word"),
        ({"propagation": "foo"}, "propagation is 'foo'; choose one of gcn, gat, pgcn, pgat"),
        ({"readout": "max"}, "readout is 'max'; choose one of mean, weighted, concat"),
        ({"matching": "dot"}, "matching is 'dot'; choose one of bilinear, mlp"),
        ({"loss": "mse"}, "loss is 'mse'; choose one of infonce, bce"),
        (
            {"negative_sampling": "few"},
            "negative_sampling is 'few'; choose one of sampled, uniform, shared, all",
        ),
    ],
)
def test_a_model_with_a_wrong_setting_is_never_made(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        TaxoExpan(device="cpu", **change)  # type: ignore[arg-type]  # the misuse is the point


def test_a_number_is_one_setting_whatever_its_type() -> None:
    plain = load_preset("best", hide_children_rate=0.0, hidden_dim=8, dropout=0.5)
    same = load_preset(
        "best", hide_children_rate=0, hidden_dim=np.int64(8), dropout=np.float32(0.5)
    )
    assert plain == same
    assert {name: type(value).__name__ for name, value in asdict(same).items()} == SETTINGS


def test_the_largest_dropout_leaves_something(pantry: Path) -> None:
    from taxoexpan import Taxonomy

    largest = {"dropout": 0.9979, "query_dropout": 0.9979, "epochs": 1}
    model = TaxoExpan(device="cpu", **largest).fit(Taxonomy.read(pantry))  # type: ignore[arg-type]
    assert model.history is not None
    assert model.history.best == 1


def test_the_choices_are_those_that_the_network_has() -> None:
    parts = {
        "propagation": PROPAGATIONS,
        "readout": READOUTS,
        "matching": MATCHES,
        "loss": LOSSES,
    }
    assert {name: set(CHOICES[name]) for name in parts} == {n: set(p) for n, p in parts.items()}


def as_toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
