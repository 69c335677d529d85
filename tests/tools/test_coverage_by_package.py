from __future__ import annotations

import json
from pathlib import Path

from coverage_by_package import (
    format_table,
    package_rows,
    ranges,
    read_report,
)


def report_of(folder: Path, modules: dict[str, tuple[int, list[int]]]) -> Path:
    """Write a report as `coverage json` does."""
    files = {
        path: {"summary": {"num_statements": statements}, "missing_lines": missing}
        for path, (statements, missing) in modules.items()
    }
    path = folder / "coverage.json"
    path.write_text(json.dumps({"files": files}), encoding="utf-8")
    return path


def test_modules_are_added_up_by_package(tmp_path: Path) -> None:
    report = report_of(
        tmp_path,
        {
            "src/taxoexpan/model.py": (10, [3]),
            "src/taxoexpan/desk/web/server.py": (20, []),
            "src/taxoexpan/desk/store/log.py": (20, [1, 2]),
            "src/taxoexpan/presets/__init__.py": (0, []),
        },
    )
    assert package_rows(read_report(report)) == [("desk", 40, 2), ("model.py", 10, 1)]


def test_the_table_ends_with_the_total() -> None:
    lines = format_table([("desk", 40, 2), ("model.py", 10, 1)]).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["desk", "40", "2", "95.0%"],
        ["model.py", "10", "1", "90.0%"],
        ["total", "50", "3", "94.0%"],
    ]


def test_neighboring_lines_become_a_range() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert ranges([]) == ""
