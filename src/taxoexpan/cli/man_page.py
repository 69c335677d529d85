"""The manual page of the command line, generated from its parser when a wheel is built.

Only the standard library is used, so that a build needs no other package.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator


def man_page(parser: argparse.ArgumentParser, version: str) -> str:
    """Return the manual page of a parser and all its commands, in the roff macros of `man`."""
    title, summary = _escape(parser.prog), _escape(parser.description or "").rstrip(".")
    lines = [
        f'.TH "{title.upper()}" 1 "" "{title} {version}" "User Commands"',
        ".SH NAME",
        f"{title} \\- {summary[:1].lower()}{summary[1:]}",
        ".SH SYNOPSIS",
        f".B {title}",
        "\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        f"{_escape(parser.description or '')}",
        *_epilog(parser),
        ".SH OPTIONS",
        *(".TP", "\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "show the help of a command and exit"),
        *_arguments(parser),
        ".SH COMMANDS",
    ]
    for name, command in _commands(parser):
        lines += _command(name, command)
    lines += [".SH EXIT STATUS", *_exit_status(), ".SH ENVIRONMENT", *_environment()]
    return "\n".join(lines) + "\n"


def _command(name: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return the section of a command, and of the steps that it consists of."""
    lines = [f".SS {_escape(name)}", *_paragraphs(parser.description or "")]
    lines += [*_arguments(parser), *_epilog(parser)]
    for step, subparser in _commands(parser):
        lines += _command(f"{name} {step}", subparser)
    return lines


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the arguments and options of a parser, each as a tagged paragraph."""
    formatter = parser._get_formatter()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        if action.help == argparse.SUPPRESS:
            continue
        help = formatter._expand_help(action) if action.help else ""
        yield from (".TP", _usage(action), _escape(help))


def _usage(action: argparse.Action) -> str:
    """Return how an argument or an option is written, such as `-o, --output OUT`."""
    values = action.metavar or action.dest.upper()
    if action.choices is not None and action.metavar is None:
        values = "{" + ",".join(str(choice) for choice in action.choices) + "}"
    value = f"\\fI{_escape(' '.join(values) if isinstance(values, tuple) else values)}\\fR"
    if not action.option_strings:
        return f"{value} ..." if action.nargs in ("*", "+") else value
    names = ", ".join(f"\\fB{_escape(option)}\\fR" for option in action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _epilog(parser: argparse.ArgumentParser) -> list[str]:
    return [".PP", *_paragraphs(parser.epilog)] if parser.epilog else []


def _paragraphs(text: str) -> list[str]:
    """Return a text with its paragraphs; lines of indented ones, such as examples, are kept."""
    lines: list[str] = []
    for paragraph in filter(str.strip, re.split(r"\n\s*\n", text)):
        rows = paragraph.strip("\n").split("\n")
        is_literal = any(row.startswith(" ") for row in rows)
        body = [_escape(row) for row in rows if row.strip()]
        lines += [".PP", *([".nf", *body, ".fi"] if is_literal else body)]
    return lines[1:]


def _exit_status() -> list[str]:
    return [
        *(".TP", "0", "The command succeeded."),
        *(".TP", "1", "The command has findings, such as problems in a taxonomy."),
        *(".TP", "2", "The command failed; a message on standard error names the place and fix."),
        *(".TP", "130", "The command was stopped with Ctrl-C before there was a result."),
        *(".TP", "143", "The command was terminated."),
    ]


def _environment() -> list[str]:
    folder = "The folder of cached vectors; if it is set but empty, nothing is cached."
    token = "The secret that every request to a server must have."
    return [*(".TP", "TAXOEXPAN_CACHE", folder), *(".TP", "TAXOEXPAN_TOKEN", token)]


def _escape(text: str) -> str:
    """Escape what roff would read as a command; a hyphen in an option must stay a minus sign."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)
