"""Smoke tests of the tools: the mutations, the audit, and the tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from audit_versions import AuditError, audit, read_report
from coverage_by_package import format_table, package_rows, ranges
from coverage_by_package import read_report as read_coverage
from mutants import find_mutants
from mutation_run import Outcome, Trial
from mutation_score import run_trials, sample, score_line

MODULE = '''"""A module."""


def check(value: int, names: list[str]) -> bool:
    """Say whether a value is small and named."""
    if not names:
        raise ValueError(f"{value} has no name")
    return value < 3 and value + 1 > 0
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    return path


def test_a_mutant_has_exactly_its_change(module: Path) -> None:
    checks: dict[str, Any] = {}
    for mutant in find_mutants(module):
        names: dict[str, Any] = {}
        exec(mutant.compile(), names)
        checks[mutant.change] = names["check"]
    assert checks["Lt to LtE"](3, ["a"]) is True
    assert checks["And to Or"](5, ["a"]) is True
    assert checks["None returned"](1, ["a"]) is None
    assert checks["not removed"](1, []) is True
    with pytest.raises(ValueError, match="no name"):
        checks["Lt to LtE"](1, [])


def test_a_mutant_is_killed_by_a_failing_test_and_survives_others(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    test = tmp_path / "test_module_itself.py"
    test.write_text("from module import check\ndef test_it(): assert check(1, ['a'])\n")
    outcomes = {
        mutant.change: Trial(mutant, [str(test)], timeout=60).run()
        for mutant in find_mutants(module)
        if mutant.change in ("None returned", "Lt to LtE")
    }
    assert outcomes == {"None returned": Outcome.KILLED, "Lt to LtE": Outcome.SURVIVED}
    line = score_line("taxonomy", [*outcomes.values(), Outcome.TIMED_OUT, Outcome.NOT_REACHED])
    assert line.split() == ["taxonomy", *"41111", "50%"]


def test_a_sample_of_mutants_is_tried(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mutation_score.ROOT", tmp_path)
    mutants = sample(find_mutants(module), 4, seed=1)
    assert mutants == sample(find_mutants(module), 4, seed=1)
    found = run_trials([Trial(mutant, [], 10) for mutant in mutants], processes=2)
    assert [outcome for _, outcome in found] == [Outcome.NOT_REACHED] * 4


SOUND = {"name": "jinja2", "version": "3.1.6", "vulns": []}
VULNERABLE = {
    "name": "pycrypto",
    "version": "2.6.1",
    "vulns": [{"id": "PYSEC-2018-97", "fix_versions": ["3.0", "2.7"]}],
}
SKIPPED = {"name": "anyio", "skip_reason": "Dependency not found on PyPI: anyio (4.16.0)"}


@pytest.mark.parametrize(
    ("packages", "passed", "shown"),
    [
        ([SOUND], True, "1 of 1 versions looked up: 0 vulnerabilities"),
        ([SOUND, VULNERABLE], False, "pycrypto 2.6.1: PYSEC-2018-97, fixed in 3.0, 2.7"),
        ([SOUND, SKIPPED], False, "not looked up: anyio"),
        ([SKIPPED], False, "the package index has no data"),
        ([], False, "0 of 0 versions"),
    ],
)
def test_only_versions_that_are_known_to_be_sound_pass(
    tmp_path: Path, packages: list[dict[str, Any]], passed: bool, shown: str
) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"dependencies": packages, "fixes": []}), encoding="utf-8")
    result = read_report(path)
    assert result.passed == passed
    assert shown in str(result)


def test_an_audit_without_a_network_says_why(tmp_path: Path) -> None:
    code = "import sys; sys.exit('ConnectionError: no route')"
    with pytest.raises(AuditError, match="ConnectionError: no route"):
        audit(tmp_path / "constraints.txt", (sys.executable, "-c", code))


def test_coverage_is_added_up_by_package(tmp_path: Path) -> None:
    modules = {"model.py": (10, [3]), "desk/web/server.py": (20, []), "desk/log.py": (20, [1, 2])}
    files = {
        f"src/taxoexpan/{name}": {"summary": {"num_statements": count}, "missing_lines": missing}
        for name, (count, missing) in modules.items()
    }
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps({"files": files}), encoding="utf-8")
    rows = package_rows(read_coverage(path))
    assert rows == [("desk", 40, 2), ("model.py", 10, 1)]
    assert format_table(rows).splitlines()[-1].split() == ["total", "50", "3", "94.0%"]
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
