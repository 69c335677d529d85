from __future__ import annotations

from typing import get_type_hints

from taxoexpan import Settings
from taxoexpan.config import Config
from taxoexpan.expansion import ExpandFileOptions
from taxoexpan.option_declarations import declared_options
from taxoexpan.shared_options import ExpandOptions


def test_the_typed_settings_are_those_of_the_configuration() -> None:
    assert set(get_type_hints(Settings)) == set(Config.model_fields)


def test_the_typed_options_of_expand_file_are_those_of_the_command() -> None:
    given = set(declared_options(ExpandOptions)) - {"taxonomy", "new", "output"}
    assert set(get_type_hints(ExpandFileOptions)) == given | set(Config.model_fields)
