"""Tests of `tools/audit_versions.py` with reports as pip-audit writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from audit_versions import AuditError, audit, read_report

SOUND = {"name": "jinja2", "version": "3.1.6", "vulns": []}
VULNERABLE = {
    "name": "pycrypto",
    "version": "2.6.1",
    "vulns": [
        {"id": "PYSEC-2017-94", "fix_versions": [], "aliases": [], "description": "overflow"},
        {"id": "PYSEC-2018-97", "fix_versions": ["3.0", "2.7"], "aliases": [], "description": "?"},
    ],
}
SKIPPED = {"name": "anyio", "skip_reason": "Dependency not found on PyPI: anyio (4.16.0)"}


def report_of(folder: Path, *packages: dict[str, Any]) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps({"dependencies": packages, "fixes": []}), encoding="utf-8")
    return path


def test_versions_without_vulnerabilities_pass(tmp_path: Path) -> None:
    result = read_report(report_of(tmp_path, SOUND))
    assert result.passed
    assert str(result) == "1 of 1 versions looked up: 0 vulnerabilities"


def test_vulnerabilities_are_listed_with_the_fix(tmp_path: Path) -> None:
    result = read_report(report_of(tmp_path, SOUND, VULNERABLE))
    assert not result.passed
    assert str(result).splitlines() == [
        "pycrypto 2.6.1: PYSEC-2017-94, fixed in no version",
        "pycrypto 2.6.1: PYSEC-2018-97, fixed in 3.0, 2.7",
        "2 of 2 versions looked up: 2 vulnerabilities",
    ]


def test_a_version_that_was_not_looked_up_does_not_pass(tmp_path: Path) -> None:
    result = read_report(report_of(tmp_path, SOUND, SKIPPED))
    assert not result.passed
    assert str(result).splitlines() == [
        "1 of 2 versions looked up: 0 vulnerabilities",
        "not looked up: anyio",
    ]


def test_a_source_without_data_does_not_pass(tmp_path: Path) -> None:
    result = read_report(report_of(tmp_path, SKIPPED))
    assert not result.passed
    first, second = str(result).splitlines()
    assert first == "0 of 1 versions looked up: 0 vulnerabilities"
    assert second.startswith("the package index has no data about vulnerabilities, or cannot be")


def test_a_file_without_versions_does_not_pass(tmp_path: Path) -> None:
    assert not read_report(report_of(tmp_path)).passed


def test_the_last_line_says_why_there_is_no_report(tmp_path: Path) -> None:
    code = "import sys; print('Traceback', file=sys.stderr); sys.exit('ConnectionError: no route')"
    with pytest.raises(AuditError, match=r"access to PyPI: ConnectionError: no route$"):
        audit(tmp_path / "constraints.txt", (sys.executable, "-c", code))


def test_the_report_of_the_command_is_read(tmp_path: Path) -> None:
    report = report_of(tmp_path, SOUND)
    code = f"import shutil, sys; shutil.copy({str(report)!r}, sys.argv[-1])"
    assert audit(tmp_path / "constraints.txt", (sys.executable, "-c", code)).names == ("jinja2",)
