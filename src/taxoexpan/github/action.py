"""Runs the commands of the GitHub Action, and writes the summary, the comment and the outputs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from taxoexpan.errors import TaxoExpanError
from taxoexpan.github.commands import Report, check, diff, suggest
from taxoexpan.github.comment import comment_body, post_comment
from taxoexpan.github.inputs import Inputs
from taxoexpan.github.workflow import (
    ActionError,
    annotate,
    read_event,
    write_outputs,
    write_summary,
)


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the action; return the exit status."""
    try:
        if list(arguments) != ["run"]:
            raise ActionError("usage: python -P -m taxoexpan.github run")
        return run(Inputs.read(environment), environment)
    except TaxoExpanError as error:
        annotate("error", str(error))
        return 1


def run(inputs: Inputs, environment: Mapping[str, str]) -> int:
    """Run the commands, and write the summary, the comment and the outputs."""
    report = Report()
    event = read_event(environment)
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
    write_summary(environment, body)
    if inputs.comment:
        post_comment(environment, event, body, report.has_news)
    report.outputs["failed"] = str(bool(report.failures)).lower()
    write_outputs(environment, report.outputs)
    for message in report.failures:
        annotate("error", message)
    return int(bool(report.failures))
