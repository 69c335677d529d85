from __future__ import annotations

import os

import pytest

from taxoexpan.desk.mcp import printing_to_standard_error


def test_what_libraries_print_does_not_reach_standard_output(
    capfd: pytest.CaptureFixture[str],
) -> None:
    print("before")
    with printing_to_standard_error():
        print("from Python")
        os.write(1, b"from C\n")
    print("after")
    captured = capfd.readouterr()
    assert captured.out == "before\nafter\n"
    assert "from Python" in captured.err
    assert "from C" in captured.err
