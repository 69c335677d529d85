"""Reading the preset files, without the libraries that validate them."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from taxoexpan.errors import ConfigurationError

PRESETS = ("best", "paper", "authors")


def read_preset(name: str) -> dict[str, Any]:
    """Return the settings of a preset by name, as its file has them."""
    if name not in PRESETS:
        raise ConfigurationError(
            f"no preset is called {name!r}; choose one of {', '.join(PRESETS)}"
        )
    text = resources.files("taxoexpan").joinpath(f"presets/{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def setting_names() -> list[str]:
    """Return the names of all settings that a user can change."""
    return [name for name in read_preset("best") if name != "quirks"]
