"""The parser of the command line: helpful errors, and help with examples."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from taxoexpan.cli.help_formatter import HelpFormatter
from taxoexpan.phrasing import shortened_message, visible


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors name the option or command that was probably meant.

    They show control characters as escapes: a shell inserts file names.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": HelpFormatter, **options})
        self.color = False  # Python 3.14 would color the help
        self._given: list[str] = []

    def error(self, message: str) -> NoReturn:
        """Print an error with the usage, and exit."""
        if message.startswith("the following arguments are required"):
            # A misspelled option is the likely reason, and argparse does not mention it.
            message = "; ".join([message, *map(self._unknown, self._unknown_options())])
        super().error(visible(shortened_message(message)))

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments; unknown ones are refused here, by the parser of the command."""
        self._given = list(args or ())
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            options = [text for text in rest if text.startswith("-")]
            self.error(self._unknown((options or rest)[0]))
        return parsed, rest

    def _unknown(self, text: str) -> str:
        """Return that an argument is unknown, and what was probably meant."""
        name = text.partition("=")[0]
        if not name.startswith("-"):
            return f"unexpected argument {text!r}; omit it, or put quotes around a name with spaces"
        fix = _meant(name, self._option_string_actions) or f"; see {self.prog} --help for all"
        return f"unknown option {name}{fix}"

    def _unknown_options(self) -> list[str]:
        """Return the given options that this parser does not have, abbreviations aside."""
        names = [text.partition("=")[0] for text in self._given if text.startswith("--")]
        known = tuple(self._option_string_actions)
        return [name for name in names if not any(each.startswith(name) for each in known)]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            fix = _meant(value, action.choices) or f"; see {self.prog} --help for all of them"
            kind = str(action.metavar).lower()
            raise argparse.ArgumentError(None, f"unknown {kind} {value!r}{fix}")
        super()._check_value(action, value)


def _meant(text: str, names: Iterable[str]) -> str:
    """Return a question with the most similar name, if one is similar."""
    close = get_close_matches(text, list(names), 1)
    return f"; did you mean {close[0]}?" if close else ""
