"""Print the table of settings for the documentation, in Markdown.

python tools/settings_table.py
"""

from __future__ import annotations

from taxoexpan.config import SETTINGS, Config, load_preset
from taxoexpan.presets import PRESETS


def settings_table() -> str:
    """One row per setting: its name, description and value in every preset."""
    presets = [load_preset(name).model_dump() for name in PRESETS]
    rows = [
        ["name", "description", *(f"`{name}`" for name in PRESETS)],
        ["---"] * (2 + len(presets)),
    ]
    for name in SETTINGS:
        values = [_as_toml(preset[name]) for preset in presets]
        rows.append([f"`{name}`", Config.model_fields[name].description or "", *values])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _as_toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    print(settings_table())
