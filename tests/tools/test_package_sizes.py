"""Tests of `tools/package_sizes.py`."""

from __future__ import annotations

from pathlib import Path

from tools.package_sizes import format_table, megabytes, size_of


def test_the_size_of_a_folder_is_the_sum_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "one").write_bytes(b"x" * 1_500_000)
    (tmp_path / "two").write_bytes(b"x" * 500_000)
    assert megabytes(size_of(tmp_path)) == "2.0 MB"


def test_the_table_is_markdown() -> None:
    table = format_table(("package", "size"), [("core", "1.0 MB"), ("extra `web`", "+ 2.0 MB")])
    assert table.splitlines() == [
        "| package | size |",
        "|---|---|",
        "| core | 1.0 MB |",
        "| extra `web` | + 2.0 MB |",
    ]
