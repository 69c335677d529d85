from __future__ import annotations

from pathlib import Path

from taxoexpan.errors import FileCycleError, FormatError, TaxoExpanError


def test_an_error_keeps_problem_fix_and_option_apart() -> None:
    error = TaxoExpanError("a table is not JSON", fix="omit one of the two", option="table")
    assert (error.place, error.problem, error.fix) == (
        "",
        "a table is not JSON",
        "omit one of the two",
    )
    assert str(error) == "a table is not JSON; omit one of the two (option table)"
    assert error.spelled(lambda option: f"--{option}").endswith("(option --table)")


def test_a_format_error_names_the_file_and_the_line() -> None:
    error = FormatError(Path("topics.ttl"), "the name is empty", fix="add a name", line=3)
    assert error.place == "topics.ttl, line 3"
    assert error.message == "the name is empty; add a name"
    assert str(error) == "topics.ttl, line 3: the name is empty; add a name"
    assert str(FormatError("topics.ttl", "is empty")) == "topics.ttl: is empty"


def test_a_fix_follows_a_list_on_a_line_of_its_own() -> None:
    assert str(TaxoExpanError("the columns are:\n  1 id", fix="choose one")).endswith(
        "\nchoose one"
    )


def test_a_cycle_has_its_lines_in_the_fix() -> None:
    error = FileCycleError("t.csv", [["a", "b"]], [[2, 3]])
    assert error.problem == "a cycle: a → b → a"
    assert "lines 2, 3" in error.fix
    assert error.line == 2
