"""The commands of the GitHub Action; each runs taxoexpan as a program of its own."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from taxoexpan.github.inputs import Inputs
from taxoexpan.github.versions import (
    base_commit,
    fetch_commit,
    is_changed,
    new_version,
    patch_of,
    refuse_unpatchable,
    write_version,
)
from taxoexpan.github.workflow import ActionError, annotate, without_commands
from taxoexpan.thresholds import LIKELY


@dataclass
class Report:
    """What the commands found: sections of Markdown, values for later steps, and failures."""

    sections: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    has_news: bool = False


def check(inputs: Inputs, report: Report, folder: Path) -> None:
    """Print annotations, and write SARIF."""
    markdown = folder / "findings.md"
    sarif = Path(inputs.sarif)
    command = ["check", *inputs.files, *inputs.read_options]
    command += ["--to", "github", "--fail-on", inputs.fail_on]
    command += ["-o", str(sarif), "-o", str(markdown), "--force"]
    command += ["--select", inputs.select] if inputs.select else []
    command += ["--ignore", inputs.ignore] if inputs.ignore else []
    result = subprocess.run(_program(*command), stderr=subprocess.PIPE, check=False)
    _log(result.stderr)
    if result.returncode not in (0, 1):
        raise ActionError("taxoexpan check could not run", fix="its message is in the log")
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
    fetch_commit(base)
    for path in inputs.files:
        if not is_changed(base, path):
            continue
        with TemporaryDirectory() as folder:
            old = write_version(base, Path(path), Path(folder, "base"))
            if old is None:
                report.sections.append(f"## New file\n\n{_code(path)} is new.\n")
            else:
                report.sections.append(_changes(old, path, inputs.read_options))
        report.outputs["changed"] = "true"
        report.has_news = True


def suggest(inputs: Inputs, report: Report, folder: Path) -> None:
    """Place the listed terms, and write the accepted ones as a patch."""
    if not inputs.terms or len(inputs.files) != 1:
        raise ActionError("suggest needs the input terms, and exactly one file in the input files")
    taxonomy = Path(inputs.files[0])
    patch = Path(inputs.patch)
    refuse_unpatchable(taxonomy)
    suggestions = folder / "suggestions.csv"
    changes = folder / "changes.md"
    expanded = new_version(taxonomy, folder)
    _run_logged(place_command(inputs, suggestions))
    if inputs.model:
        decide(suggestions)
    _run_logged(apply_command(inputs, suggestions, expanded, changes))
    patch.write_bytes(patch_of(taxonomy, folder))
    kept = patch.with_suffix(".suggestions.csv")
    shutil.copyfile(suggestions, kept)
    report.outputs |= {"patch": str(patch), "suggestions": str(kept)}
    report.sections.append(_suggested(changes, suggestions, patch, inputs.terms))
    report.has_news |= patch.stat().st_size > 0


def place_command(inputs: Inputs, suggestions: Path) -> list[str]:
    """Return the command that writes suggestions; a model has its taxonomy in it."""
    if inputs.model:
        return ["suggest", inputs.model, inputs.terms, "-o", str(suggestions)]
    taxonomy = inputs.files[0]
    expanded = suggestions.with_name(f"expanded{''.join(Path(taxonomy).suffixes)}")
    command = ["expand", taxonomy, inputs.terms, *inputs.read_options, "-o", str(expanded)]
    return [*command, "--preset", inputs.preset, "--suggestions", str(suggestions)]


def apply_command(inputs: Inputs, suggestions: Path, expanded: Path, changes: Path) -> list[str]:
    """Return the command that writes the taxonomy with the accepted suggestions."""
    command = ["apply", inputs.files[0], str(suggestions), *inputs.read_options]
    command += ["--concepts", inputs.terms, "-o", str(expanded)]
    return [*command, "--changes", str(changes)]


def decide(path: Path) -> None:
    """Accept what `expand` would accept: probable places, if there is a suitable parent."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    has_confidence = any(row["confidence"] for row in rows)
    for row in rows:
        is_probable = not has_confidence or float(row["confidence"] or 0) >= LIKELY
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
        raise ActionError(f"taxoexpan {command[0]} failed", fix="its message is in the log")


def _log(printed: bytes) -> None:
    """Print what a program has printed, if it is anything."""
    if printed:
        with without_commands():
            sys.stdout.write(printed.decode("utf-8", "replace"))


def _changes(old: Path, new: str, read_options: Sequence[str]) -> str:
    """Return the changes as Markdown; 1 is the exit status of `diff` for a difference."""
    command = _program("diff", str(old), new, *read_options, "--to", "markdown")
    result = subprocess.run(command, capture_output=True, check=False)
    _log(result.stderr)
    if result.returncode not in (0, 1):
        return f"## Changes in {_code(new)}\n\nThey cannot be compared; see the log.\n"
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


def _program(*arguments: str) -> list[str]:
    """Return a command of taxoexpan; -P keeps modules of the repository from being imported."""
    return [sys.executable, "-P", "-m", "taxoexpan", *arguments]


def _code(text: str) -> str:
    """Return a name as a code span, in which nothing is markup."""
    return f"`` {' '.join(text.split()).replace('`', '')} ``"
