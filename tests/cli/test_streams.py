"""Spreadsheets on the command line, standard input and standard output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from tests.support.command_line import run
from tests.support.expanded_files import write_file

TABLE = "Ref,Wort,Oben\n1,fruit,\n2,apple,1\n"
COLUMNS = ["--columns", "id=Ref,label=Wort,parent=3"]
DECISIONS = "query,parent_id,decision\nkiwi,1,accepted\n"


def run_process(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own, whose standard streams are real."""
    command = [sys.executable, "-m", "taxoexpan.cli.main", *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=300)


def run_shell(line: str) -> subprocess.CompletedProcess[bytes]:
    """Run `taxoexpan` with redirections of the shell."""
    command = ["sh", "-c", f"'{sys.executable}' -m taxoexpan {line}"]
    return subprocess.run(command, input=b"", capture_output=True, check=False, timeout=300)


def test_columns_are_chosen_on_the_command_line(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", TABLE)
    message = run("info", path, status=2).err
    assert "   3  Oben\n" in message
    assert "with the option columns" in message
    assert "relations                      1" in run("info", path, *COLUMNS).out
    run("check", path, *COLUMNS)
    run("convert", path, tmp_path / "x.xlsx", *COLUMNS)
    assert read_taxonomy(tmp_path / "x.xlsx").labels == ("fruit", "apple")
    messages = run("diff", tmp_path / "x.xlsx", tmp_path / "x.xlsx", "--sheet", "x", status=2).err
    assert "there is no sheet 'x'" in messages


def test_standard_input_and_output_are_used_for_a_dash(tmp_path: Path) -> None:
    decisions = write_file(tmp_path / "decisions.csv", DECISIONS)
    arguments = ["apply", "-", str(decisions), "-o", "-", *COLUMNS]
    done = run_process(*arguments, given=TABLE.encode())
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().startswith(TABLE)
    assert done.stdout.decode().removeprefix(TABLE).endswith(",kiwi,1\n")
    assert "expanded taxonomy in standard output" in done.stderr.decode()
    assert list(tmp_path.iterdir()) == [decisions]


def test_convert_writes_only_the_taxonomy_to_standard_output() -> None:
    done = run_process("convert", "-", "-", "--to", "json", given=b"child,parent\nb,a\n")
    assert done.returncode == 0, done.stderr
    back = run_process("info", "-", given=done.stdout)
    assert b"relations                      1" in back.stdout
    assert b"in standard output" in done.stderr


@pytest.mark.slow
def test_a_stream_without_a_format_or_with_several_files_is_refused() -> None:
    table = b"child,parent\nb,a\n"
    for arguments, message in (
        (("convert", "-", "-"), "does not say in which format to write"),
        (("convert", "-", "-", "--to", "terms"), "one stream"),
        (("info", "-", "--format", "rows"), "the table needs a column id or label"),
    ):
        done = run_process(*arguments, given=table)
        assert done.returncode == 2
        assert message in done.stderr.decode()
        assert done.stdout == b""


def test_expand_to_standard_output_needs_a_place_for_the_suggestions(tmp_path: Path) -> None:
    path, new = write_file(tmp_path / "x.csv", TABLE), write_file(tmp_path / "new.txt", "kiwi\n")
    assert "(option --suggestions)" in run("expand", path, new, "-o", "-", *COLUMNS, status=2).err


@pytest.mark.parametrize(
    "closed",
    [
        ">&-",
        "<&- >&- 2>&-",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("<&-", "2>&-")),
    ],
)
def test_a_closed_stream_is_like_the_null_device(tmp_path: Path, closed: str) -> None:
    path, output = write_file(tmp_path / "x.csv", TABLE), tmp_path / "y.csv"
    done = run_shell(f"info '{path}' --columns {COLUMNS[1]} {closed}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (done.stdout == b"") == (">&-" in closed.replace("2>&-", ""))
    done = run_shell(f"convert '{path}' '{output}' --to rows --columns {COLUMNS[1]} {closed}")
    assert done.returncode == 0
    assert done.stdout == b""  # messages go nowhere else
    assert read_taxonomy(output).labels == ("fruit", "apple")


def test_a_closed_stream_is_no_input_or_output(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.csv", "child,parent\nb,a\n")
    for line, message in (
        (f"convert '{path}' - --to rows >&-", b"standard output is closed; name a file"),
        ("info - <&-", b"standard input is closed; name a file"),
    ):
        done = run_shell(line)
        assert done.returncode == 2
        assert message in done.stderr
        assert b"Traceback" not in done.stderr
    assert run_shell(f"convert '{path}' - --to rows >&- 2>&-").returncode == 2
