from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.files import preflight, refuse_overwriting


def test_outputs_that_collide_are_refused_before_any_work(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    preflight([one, other], [], force=False)
    for outputs, inputs in (([one, one], []), ([one], [tmp_path / "x" / ".." / "one"])):
        with pytest.raises(FormatError, match="give each file its own name"):
            preflight(outputs, inputs, force=True)


def test_an_unused_name_is_accepted(tmp_path: Path) -> None:
    refuse_overwriting(tmp_path / "free", force=False)
