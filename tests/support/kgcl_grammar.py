"""The rules of KGCL's published grammar for the commands that taxoexpan writes."""

from __future__ import annotations

import re

_ID = r"(?:<[^\s<>]+>|[^\s<>'\"]+)"
_TEXT = r"'[^'\n\r]*'"
_LABEL = rf"{_TEXT}(?:@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)?"

COMMANDS = {
    name: re.compile(rule)
    for name, rule in {
        "create": rf"create node {_ID} {_LABEL}",
        "create_edge": rf"create edge {_ID} {_ID} {_ID}",
        "delete_edge": rf"delete edge {_ID} {_ID} {_ID}",
        "create_synonym": rf"create exact synonym {_LABEL} for {_ID}",
        "remove_synonym": rf"remove synonym {_LABEL} for {_ID}",
        "move": rf"move {_ID} {_ID} {_ID} from {_ID} to {_ID}",
        "rename": rf"rename {_ID} from {_LABEL} to {_LABEL}",
        "add_definition": rf"add definition {_TEXT} to {_ID}",
        "change_definition": rf"change definition of {_ID} from {_TEXT} to {_TEXT}",
        "remove_definition": rf"remove definition for {_ID}",
        "obsolete": rf"obsolete {_ID}",
        "unobsolete": rf"unobsolete {_ID}",
        "delete": rf"delete {_ID}",
    }.items()
}


def rule_of(command: str) -> str:
    """Return the name of the rule that a command follows."""
    return next(name for name, rule in COMMANDS.items() if rule.fullmatch(command))
