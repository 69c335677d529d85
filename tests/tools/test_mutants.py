from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mutants import Mutant, find_mutants
from mutation_run import Outcome, ReachingTests, Trial
from mutation_score import run_trials, sample, score_line

MODULE = '''"""A module."""

LIMIT = 3


def check(value: int, names: list[str] = []) -> bool:
    """Say whether a value is small and named."""
    if not names:
        raise ValueError(f"{value} has no name")
    names.append("x")
    return value < LIMIT and value + 1 > 0
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    return path


def run(mutant: Mutant) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(mutant.compile(), names)
    return names


def test_every_operator_number_and_statement_inside_functions_has_a_mutant(module: Path) -> None:
    found = [(mutant.line, mutant.change) for mutant in find_mutants(module)]
    assert sorted(found) == [
        (8, "condition negated"),
        (8, "not removed"),
        (9, "statement removed"),
        (10, "statement removed"),
        (11, "Add to Sub"),
        (11, "And to Or"),
        (11, "Gt to GtE"),
        (11, "Lt to LtE"),
        (11, "None returned"),
        (11, "number plus one"),
        (11, "number plus one"),
    ]


def test_a_mutant_has_exactly_its_change(module: Path) -> None:
    by_change = {mutant.change: run(mutant)["check"] for mutant in find_mutants(module)}
    assert by_change["Lt to LtE"](3, ["a"]) is True
    assert by_change["And to Or"](5, ["a"]) is True
    assert by_change["None returned"](1, ["a"]) is None
    assert by_change["not removed"](1, []) is True
    with pytest.raises(ValueError, match="1 has no name"):
        by_change["Lt to LtE"](1, [])


def test_a_sample_depends_on_its_seed_alone(module: Path) -> None:
    mutants = find_mutants(module)
    assert sample(mutants, 4, seed=1) == sample(mutants, 4, seed=1) != sample(mutants, 4, seed=2)
    assert len(sample(mutants, 1000, seed=1)) == len(mutants)


def test_the_tests_of_the_module_and_fast_tests_come_first() -> None:
    names = ["test_other.test_a", "test_names.test_slow", "test_names.test_fast"]
    seconds = {names[0]: 0.1, names[1]: 3.0, names[2]: 0.5}
    files = {"test_other": Path("tests/test_other.py"), "test_names": Path("tests/test_names.py")}
    tests = ReachingTests({"/src/names.py": {7: names}}, seconds, files)
    path = Path("/src/names.py")
    own = ["tests/test_names.py::test_fast", "tests/test_names.py::test_slow"]
    assert tests.reaching(path, 7, 10) == [*own, "tests/test_other.py::test_a"]
    assert tests.reaching(path, 7, 1) == own[:1]
    assert tests.reaching(path, 8, 10) == []


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


def test_mutants_that_hang_count_as_noticed() -> None:
    outcomes = [Outcome.KILLED, Outcome.TIMED_OUT, Outcome.SURVIVED, Outcome.NOT_REACHED]
    assert score_line("taxonomy", outcomes).split() == ["taxonomy", *"41111", "50%"]


def test_trials_run_in_several_processes_until_the_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mutation_score.ROOT", tmp_path)
    path = tmp_path / "counting.py"
    path.write_text("def one() -> int:\n    return 0 + 1\n")
    mutants = find_mutants(path)
    trials = [Trial(mutant, [], 10) for mutant in mutants]
    found = run_trials(trials, processes=2)
    assert sorted(each[0].number for each in found) == sorted(m.number for m in mutants)
    assert {outcome for _, outcome in found} == {Outcome.NOT_REACHED}
    assert run_trials(trials, processes=1, seconds=-1) == []
