"""Run taxoexpan in a GitHub workflow; `action.yml` calls this script.

All inputs come from environment variables, so that no text of a user becomes part of a shell
script. The script needs only Python and git; taxoexpan runs as a program of its own.

usage: python github_action.py install | run
"""

from __future__ import annotations

import csv
import glob
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from github_comment import annotate, comment_body, post_comment

COMMANDS = ("check", "diff", "suggest")
INSTALLED = "installed"
"""The version that means: do not install anything."""
MIN_CONFIDENCE = 0.5
"""The confidence at or above which a place is accepted, as in `taxoexpan expand`."""
ROOT = Path(__file__).resolve().parents[1]
_NO_COMMIT = "0" * 40


class ActionError(Exception):
    """A wrong input, or a command that failed."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of the action."""

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

        commands = tuple(text("COMMANDS").replace(",", " ").split())
        unknown = [name for name in commands if name not in COMMANDS]
        if unknown or not commands:
            wrong = f"unknown command {unknown[0]!r}" if unknown else "no command is given"
            raise ActionError(f"{wrong}; choose from {', '.join(COMMANDS)}")
        return cls(
            commands,
            _matching(text("FILES").splitlines()),
            text("FAIL_ON") or "warning",
            text("SELECT"),
            text("IGNORE"),
            text("COLUMNS"),
            text("FORMAT"),
            text("LANGUAGE"),
            text("BASE"),
            text("TERMS"),
            text("MODEL"),
            text("PRESET") or "fast",
            text("COMMENT").lower() == "true",
            text("TITLE") or "Vocabulary",
            text("SARIF") or "taxoexpan.sarif",
            text("PATCH") or "taxoexpan.patch",
        )

    @property
    def read_options(self) -> list[str]:
        """The options of every command that reads the files."""
        given = {"columns": self.columns, "format": self.format, "language": self.language}
        return [f"--{name}={value}" for name, value in given.items() if value]


@dataclass
class Report:
    """What the commands found: sections of Markdown, values for later steps, and failures."""

    sections: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    has_news: bool = False


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Install taxoexpan, or run the commands of the inputs; return the exit status."""
    try:
        if list(arguments) == ["install"]:
            return install(environment)
        if list(arguments) != ["run"]:
            raise ActionError("give one argument: install or run")
        return run(Inputs.read(environment), environment)
    except ActionError as error:
        annotate("error", str(error))
        return 1


def install(environment: Mapping[str, str]) -> int:
    """Install the version of this action, or the version that is given."""
    version = environment.get("TAXOEXPAN_VERSION", "").strip()
    if version == INSTALLED:
        return 0
    extras = environment.get("TAXOEXPAN_EXTRAS", "").replace(" ", "")
    extra = f"[{extras}]" if extras else ""
    package = f"taxoexpan{extra}=={version}" if version else f"{ROOT}{extra}"
    constraints = ["-c", str(ROOT / "constraints.txt")]
    command = [sys.executable, "-m", "pip", "install", "--quiet", *constraints, package]
    return subprocess.run(command, check=False).returncode


def run(inputs: Inputs, environment: Mapping[str, str]) -> int:
    """Run the commands, and write the summary, the comment and the outputs."""
    report = Report()
    event = _event(environment)
    with tempfile.TemporaryDirectory() as folder:
        for command in inputs.commands:
            if command == "check":
                check(inputs, report, Path(folder))
            elif command == "diff":
                diff(inputs, report, event)
            else:
                suggest(inputs, report, Path(folder))
    body = comment_body(inputs.title, report.sections)
    comment_file = Path(environment.get("RUNNER_TEMP") or tempfile.gettempdir()) / "taxoexpan.md"
    comment_file.write_text(body, encoding="utf-8")
    report.outputs["comment-file"] = str(comment_file)
    _append(environment, "GITHUB_STEP_SUMMARY", body)
    if inputs.comment:
        post_comment(environment, event, body, report.has_news)
    report.outputs["failed"] = str(bool(report.failures)).lower()
    write_outputs(environment, report.outputs)
    for message in report.failures:
        annotate("error", message)
    return int(bool(report.failures))


def check(inputs: Inputs, report: Report, folder: Path) -> None:
    """Print annotations, and write SARIF."""
    markdown, sarif = folder / "findings.md", Path(inputs.sarif)
    command = ["check", *inputs.files, *inputs.read_options]
    command += ["--to", "github", "--fail-on", inputs.fail_on]
    command += ["-o", str(sarif), "-o", str(markdown), "--force"]
    command += ["--select", inputs.select] if inputs.select else []
    command += ["--ignore", inputs.ignore] if inputs.ignore else []
    result = subprocess.run(_program(*command), stderr=subprocess.PIPE, check=False)
    _log(result.stderr)
    if result.returncode not in (0, 1):
        raise ActionError("taxoexpan check could not run; its message is in the log")
    count = len(json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"])
    report.outputs |= {"findings": str(count), "sarif": str(sarif)}
    report.sections.append(markdown.read_text(encoding="utf-8"))
    report.has_news |= count > 0
    if result.returncode == 1:
        report.failures.append(f"there are findings of severity {inputs.fail_on} or worse")


def diff(inputs: Inputs, report: Report, event: Mapping[str, Any]) -> None:
    """Describe how the files differ from the base."""
    base = inputs.base or base_commit(event)
    report.outputs["changed"] = "false"
    if not base or base.startswith("-"):
        annotate("notice", "there is no commit to compare with, so there is no list of changes")
        return
    if not _has_commit(base):
        _git("fetch", "--no-tags", "--depth=1", "origin", base)
    if not _has_commit(base):
        raise ActionError(f"git has no commit {base}; set fetch-depth: 0 in actions/checkout")
    for path in inputs.files:
        if _git("diff", "--quiet", base, "--", path).returncode == 0:
            continue
        old = f"{base}:./{Path(os.path.relpath(path)).as_posix()}"
        if _git("cat-file", "-e", old).returncode:
            report.sections.append(f"## New file\n\n{_code(path)} is new.\n")
        else:
            report.sections.append(_changes(old, path, inputs.read_options))
        report.outputs["changed"] = "true"
        report.has_news = True


def suggest(inputs: Inputs, report: Report, folder: Path) -> None:
    """Place the listed terms, and write the accepted ones as a patch."""
    if not inputs.terms or len(inputs.files) != 1:
        raise ActionError("suggest needs the input terms, and exactly one file in the input files")
    suggestions, changes, patch = folder / "suggestions.csv", folder / "changes.md", inputs.patch
    _run_logged(place_command(inputs, suggestions))
    if inputs.model:
        decide(suggestions)
    _run_logged(apply_command(inputs, suggestions, changes))
    kept = Path(inputs.patch).with_suffix(".suggestions.csv")
    shutil.copyfile(suggestions, kept)
    report.outputs |= {"patch": patch, "suggestions": str(kept)}
    report.sections.append(_suggested(changes, suggestions, Path(patch), inputs.terms))
    report.has_news |= Path(patch).stat().st_size > 0


def place_command(inputs: Inputs, suggestions: Path) -> list[str]:
    """Return the command that writes suggestions; a model has its taxonomy in it."""
    if inputs.model:
        return ["suggest", inputs.model, inputs.terms, "-o", str(suggestions)]
    taxonomy = inputs.files[0]
    expanded = suggestions.with_name(f"expanded{''.join(Path(taxonomy).suffixes)}")
    command = ["expand", taxonomy, inputs.terms, *inputs.read_options, "-o", str(expanded)]
    return [*command, "--preset", inputs.preset, "--suggestions", str(suggestions)]


def apply_command(inputs: Inputs, suggestions: Path, changes: Path) -> list[str]:
    """Return the command that writes the accepted suggestions as a patch."""
    command = ["apply", inputs.files[0], str(suggestions), *inputs.read_options]
    command += ["--concepts", inputs.terms, "--patch", inputs.patch]
    return [*command, "--changes", str(changes), "--force"]


def decide(path: Path) -> None:
    """Accept what `expand` would accept: probable places, if there is a suitable parent."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    has_confidence = any(row["confidence"] for row in rows)
    for row in rows:
        is_probable = not has_confidence or float(row["confidence"] or 0) >= MIN_CONFIDENCE
        is_place = row["rank"] == "1" and row["place"] != "none" and row["kind"] != "merge"
        row["decision"] = "accepted" if is_probable and is_place else "undecided"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _run_logged(command: Sequence[str]) -> None:
    with without_commands():
        status = subprocess.run(_program(*command), check=False).returncode
    if status:
        raise ActionError(f"taxoexpan {command[0]} failed; its message is in the log")


def _log(printed: bytes) -> None:
    """Print what a program has printed, if it is anything."""
    if printed:
        with without_commands():
            sys.stdout.write(printed.decode("utf-8", "replace"))


def _changes(old: str, path: str, read_options: Sequence[str]) -> str:
    """Return the changes as Markdown; 1 is the exit status of `diff` for a difference."""
    command = _program("diff", old, path, *read_options, "--to", "markdown")
    result = subprocess.run(command, capture_output=True, check=False)
    _log(result.stderr)
    if result.returncode not in (0, 1):
        return f"## Changes in {_code(path)}\n\nThey cannot be compared; see the log.\n"
    return result.stdout.decode("utf-8")


def _suggested(changes: Path, suggestions: Path, patch: Path, terms: str) -> str:
    """Return the additions as Markdown under a title of their own."""
    with suggestions.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    queries = {row["query"] for row in rows}
    accepted = {row["query"] for row in rows if row["decision"] == "accepted"}
    summary = f"{len(accepted):,} of {len(queries):,} new terms have a"
    if any(row["confidence"] for row in rows):
        summary += " probable place."
    else:
        summary += " place. Review all of them: the vocabulary is too small for a confidence."
    lines = [f"## Suggestions for {_code(terms)}", "", summary]
    if len(accepted) < len(queries):
        lines.append("The others are undecided in the table of suggestions.")
    # Without the marker, the title and the summary.
    lines += changes.read_text(encoding="utf-8").splitlines()[4:]
    if patch.stat().st_size:
        lines += ["", f"To add them, run {_code(f'git apply {patch.name}')}."]
    return "\n".join(lines) + "\n"


def base_commit(event: Mapping[str, Any]) -> str:
    """Return the commit that a pull request, a merge queue or a push starts from, or nothing."""
    for key in ("pull_request", "merge_group"):
        if key in event:
            part = event[key]
            return str(part["base"]["sha"] if key == "pull_request" else part["base_sha"])
    before = str(event.get("before", ""))
    return "" if before == _NO_COMMIT else before


def write_outputs(environment: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Write the outputs for later steps; a random delimiter keeps values apart."""
    for name, value in outputs.items():
        end = f"end_{secrets.token_hex(16)}"
        _append(environment, "GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


@contextmanager
def without_commands() -> Iterator[None]:
    """Print text in which GitHub looks for no commands, because labels are in it."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


def _matching(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the files that match the patterns, one pattern per line."""
    found: dict[str, None] = {}
    for pattern in filter(None, map(str.strip, patterns)):
        # Path.glob refuses absolute patterns.
        names = [pattern] if Path(pattern).exists() else glob.glob(pattern, recursive=True)  # noqa: PTH207
        if not names:
            raise ActionError(f"no file matches {pattern!r}; correct the input files")
        found |= dict.fromkeys(sorted(names))
    if not found:
        raise ActionError("the input files is empty; give at least one file or pattern")
    return tuple(f"./{name}" if name.startswith("-") else name for name in found)


def _event(environment: Mapping[str, str]) -> dict[str, Any]:
    path = environment.get("GITHUB_EVENT_PATH")
    event: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    return event


def _append(environment: Mapping[str, str], variable: str, text: str) -> None:
    if path := environment.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def _program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "taxoexpan", *arguments]


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], capture_output=True, check=False)


def _has_commit(revision: str) -> bool:
    return _git("cat-file", "-e", f"{revision}^{{commit}}").returncode == 0


def _code(text: str) -> str:
    """Return a name as a code span, in which nothing is markup."""
    return f"`` {' '.join(text.split()).replace('`', '')} ``"


if __name__ == "__main__":
    given = dict(os.environ)
    os.environ.pop("TAXOEXPAN_TOKEN", None)  # the programs that are started do not need it
    sys.exit(main(sys.argv[1:], given))
