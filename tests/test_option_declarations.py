from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import pytest

from taxoexpan.cli.parser import ArgumentParser, add_options, options_of
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import (
    FRACTION,
    PATH,
    POSITIVE,
    RANGE,
    OptionGroup,
    argument,
    option,
    repeated,
    switch,
)


@dataclass(frozen=True, kw_only=True)
class Shared(OptionGroup):
    least: float | None = option("the least score", None, FRACTION)


@dataclass(frozen=True, kw_only=True)
class Example(Shared):
    file: Path = argument("FILE", "a file")
    count: int = option("how many", 5, POSITIVE)
    numbers: tuple[int, int] | None = option("from where to where", None, RANGE)
    kind: str = option("which", "a", choices=("a", "b"))
    also: tuple[Path, ...] = repeated("more files", PATH)
    must: str = option("a text", MISSING, flags=("-m", "--must"))
    is_quick: bool = switch("be quick")


def parse(*arguments: str) -> Example:
    parser = ArgumentParser()
    add_options(parser, Example)
    return options_of(Example, parser.parse_args(arguments))


def test_the_command_line_and_python_give_the_same_options() -> None:
    least = parse("x.csv", "-m", "y")
    assert least == Example(file="x.csv", must="y")  # type: ignore[arg-type]
    assert least.file == Path("x.csv")
    flags = ["--count", "2", "--numbers", "5-9", "--kind", "b", "--is-quick", "--least", "0.5"]
    assert parse("x.csv", "-m", "y", *flags, "--also", "a", "--also", "b") == Example(
        file=Path("x.csv"),
        must="y",
        count=2,
        numbers=(5, 9),
        kind="b",
        is_quick=True,
        least=0.5,
        also=(Path("a"), Path("b")),
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "0", 0),
        ("count", "two", "two"),
        ("count", "1.5", 1.5),
        ("least", "nan", float("nan")),
        ("least", "2", 2),
        ("numbers", "5", (5,)),
        ("numbers", "a-9", ("a", 9)),
        ("kind", "c", "c"),
    ],
)
def test_both_refuse_the_same_values(
    name: str, text: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse("x.csv", "-m", "y", f"--{name}", text)
    assert f"--{name}" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match=f"^{name} is "):
        Example(file=Path("x.csv"), must="y", **{name: value})


@pytest.mark.parametrize(("name", "value"), [("file", None), ("is_quick", 1), ("also", [3])])
def test_python_refuses_values_of_another_type(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} is "):
        Example(**{"file": "x.csv", "must": "y", name: value})


def test_the_help_has_own_options_first_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("--help")
    text = capsys.readouterr().out
    assert "how many (default: 5)" in text
    assert text.index("  --count") < text.index("  --least")
