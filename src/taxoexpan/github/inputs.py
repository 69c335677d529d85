"""The inputs of the GitHub Action.

They come from environment variables, so that no text of a user becomes part of a shell script.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.github.workflow import ActionError

COMMANDS = ("check", "diff", "suggest")


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The inputs of the action; their names are those in action.yml."""

    commands: tuple[str, ...]
    files: tuple[str, ...]
    fail_on: str
    select: str
    ignore: str
    columns: str
    format: str
    language: str
    base: str
    terms: str
    model: str
    preset: str
    comment: bool
    title: str
    sarif: str
    patch: str

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Inputs:
        """Read the variables that action.yml sets."""

        def text(name: str) -> str:
            return environment.get(f"TAXOEXPAN_{name}", "").strip()

        return cls(
            commands=_known_commands(text("COMMANDS")),
            files=_matching(text("FILES").splitlines()),
            fail_on=text("FAIL_ON") or "warning",
            select=text("SELECT"),
            ignore=text("IGNORE"),
            columns=text("COLUMNS"),
            format=text("FORMAT"),
            language=text("LANGUAGE"),
            base=text("BASE"),
            terms=text("TERMS"),
            model=text("MODEL"),
            preset=text("PRESET") or "fast",
            comment=text("COMMENT").lower() == "true",
            title=text("TITLE") or "Vocabulary",
            sarif=text("SARIF") or "taxoexpan.sarif",
            patch=text("PATCH") or "taxoexpan.patch",
        )

    @property
    def read_options(self) -> list[str]:
        """The options of every command that reads the files."""
        given = {"columns": self.columns, "format": self.format, "language": self.language}
        return [f"--{name}={value}" for name, value in given.items() if value]


def _known_commands(text: str) -> tuple[str, ...]:
    commands = tuple(text.replace(",", " ").split())
    unknown = [name for name in commands if name not in COMMANDS]
    if unknown or not commands:
        wrong = f"unknown command {unknown[0]!r}" if unknown else "no command is given"
        raise ActionError(wrong, fix=f"choose from {', '.join(COMMANDS)}")
    return commands


def _matching(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the files that match the patterns, one pattern per line."""
    found: dict[str, None] = {}
    for pattern in filter(None, map(str.strip, patterns)):
        # Path.glob refuses absolute patterns.
        names = [pattern] if Path(pattern).exists() else glob.glob(pattern, recursive=True)  # noqa: PTH207
        if not names:
            raise ActionError(f"no file matches {pattern!r}", fix="correct the input files")
        found |= dict.fromkeys(sorted(names))
    if not found:
        raise ActionError("the input files is empty", fix="give at least one file or pattern")
    return tuple(f"./{name}" if name.startswith("-") else name for name in found)
