"""The syntax of GitHub workflows: annotations, outputs, and text that is not a command."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taxoexpan.errors import TaxoExpanError


class ActionError(TaxoExpanError):
    """A wrong input of the action, or a command that failed."""


def annotate(kind: str, message: str) -> None:
    """Print an annotation."""
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{kind} title=taxoexpan::{escaped}", flush=True)


@contextmanager
def without_commands() -> Iterator[None]:
    """Print text in which GitHub looks for no commands, because labels are in it."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


def read_event(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read the event that started the workflow, if there is one."""
    path = environment.get("GITHUB_EVENT_PATH")
    event: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    return event


def write_summary(environment: Mapping[str, str], text: str) -> None:
    """Add Markdown to the summary of the job."""
    _append(environment, "GITHUB_STEP_SUMMARY", text)


def write_outputs(environment: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Write the outputs for later steps; a random delimiter keeps values apart."""
    for name, value in outputs.items():
        end = f"end_{secrets.token_hex(16)}"
        _append(environment, "GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


def _append(environment: Mapping[str, str], variable: str, text: str) -> None:
    if path := environment.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
