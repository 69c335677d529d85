"""The presets: complete sets of settings, one TOML file each, and the functions that read them."""

from taxoexpan.presets.preset_files import PRESETS, read_preset, setting_names

__all__ = ["PRESETS", "read_preset", "setting_names"]
