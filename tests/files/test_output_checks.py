from __future__ import annotations

import os
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.files import check_output, preflight, refuse_replacing


def test_outputs_that_collide_are_refused_before_any_work(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    preflight([one, other], [], force=False)
    for outputs, inputs in (([one, one], []), ([one], [tmp_path / "x" / ".." / "one"])):
        with pytest.raises(FormatError, match="give each file its own name"):
            preflight(outputs, inputs, force=True)


def test_a_folder_in_which_nothing_can_be_created_is_refused() -> None:
    """Its rights do not say so: root may write everywhere."""
    path = Path("/proc/model")
    message = r"^/proc/model: nothing can be created in the folder /proc \(.+\); choose another$"
    if not os.access("/proc", os.W_OK):
        message = "the folder /proc is not writable"
    with pytest.raises(FormatError, match=message):
        refuse_replacing(path, [], force=False)
    with pytest.raises(FormatError, match=message):
        check_output(path, force=True)
    with pytest.raises(FormatError, match=message):
        preflight([path], [], force=False)


def test_a_check_leaves_nothing(tmp_path: Path) -> None:
    for path in (tmp_path / "model", tmp_path / ("n" * 250), Path("-")):
        check_output(path, force=False)
    assert list(tmp_path.iterdir()) == []
