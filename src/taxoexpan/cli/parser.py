"""The parser of the command line: arguments from declared options, help, and helpful errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from taxoexpan.cli.examples import GROUPS
from taxoexpan.option_declarations import (
    PATH,
    TEXT,
    Option,
    OptionGroup,
    OptionKind,
    declared_options,
)
from taxoexpan.phrasing import did_you_mean, shortened_message, visible

Declared = TypeVar("Declared", bound=OptionGroup)


def add_options(parser: argparse.ArgumentParser, cls: type[OptionGroup]) -> None:
    """Add an argument for every declared option."""
    for name, (option, default) in declared_options(cls).items():
        metavar = option.metavar or (option.kind and option.kind.metavar)
        settings: dict[str, Any] = {"help": _help(option, default), "metavar": metavar}
        if option.kind is None:
            settings = {"help": option.help, "action": "store_true"}
        elif option.kind is not TEXT:
            settings["type"] = Path if option.kind is PATH else _reader(option.kind)
        if option.kind is not None and not option.is_repeated:
            settings |= {"default": None if default is MISSING else default}
        if option.choices:
            settings["choices"] = option.choices
        if option.is_positional:
            nargs = "+" if option.is_repeated else None if default is MISSING else "?"
            parser.add_argument(name, nargs=nargs, **settings)
            continue
        if option.is_repeated:
            settings["action"] = "append"
        elif default is MISSING:
            settings["required"] = True
        parser.add_argument(*(option.flags or (flag(name),)), dest=name, **settings)


def flag(option: str) -> str:
    """Return the flag of a Python parameter: `min_score` is `--min-score`."""
    return f"--{option.replace('_', '-')}"


def _help(option: Option, default: object) -> str:
    """Return the help text with the default, unless the text already mentions it."""
    if default in (None, MISSING, (), False) or "default" in option.help:
        return option.help
    return f"{option.help} (default: {default})"


def _reader(kind: OptionKind) -> Callable[[str], object]:
    """Return a function that parses strings, with errors that argparse can print."""

    def read(text: str) -> object:
        try:
            return kind.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def options_of(cls: type[Declared], parsed: argparse.Namespace) -> Declared:
    """Return the parsed options."""
    given = {name: getattr(parsed, name) for name in declared_options(cls)}
    return cls(**{name: value for name, value in given.items() if value is not None})


class Version(argparse.Action):
    """The option --version, which looks up the version only when requested."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and exit."""
        from importlib.metadata import version

        print(f"taxoexpan {version('taxoexpan')}")
        parser.exit()


class HelpFormatter(argparse.HelpFormatter):
    """A help formatter that keeps indented paragraphs, and puts titles before command groups."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        parts = text.split("\n\n")
        return "\n\n".join(p if "\n " in p else fill(p, width, indent) for p in parts)

    def _iter_indented_subactions(
        self, action: argparse.Action
    ) -> Generator[argparse.Action, None, None]:
        yield from list(super()._iter_indented_subactions(action))  # without the indentation

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        is_command = isinstance(action, argparse._SubParsersAction._ChoicesPseudoAction)
        titles = [title for title, names in GROUPS.items() if action.dest == names[0]]
        return f"\n{titles[0]}:\n{text}" if is_command and titles else text


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors suggest the intended name, and escape control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=HelpFormatter, **options)
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
        """Parse arguments; the parser of the command refuses unknown arguments here."""
        self._given = list(args or ())
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            options = [text for text in rest if text.startswith("-")]
            self.error(self._unknown((options or rest)[0]))
        return parsed, rest

    def _unknown(self, text: str) -> str:
        """Return a message about an unknown argument, with a similar known option."""
        name = text.partition("=")[0]
        if not name.startswith("-"):
            return f"unexpected argument {text!r}; omit it, or put quotes around a name with spaces"
        fix = did_you_mean(name, self._option_string_actions) or f"see {self.prog} --help for all"
        return f"unknown option {name}; {fix}"

    def _unknown_options(self) -> list[str]:
        """Return the given options that this parser does not have; abbreviations are known."""
        names = [text.partition("=")[0] for text in self._given if text.startswith("--")]
        known = tuple(self._option_string_actions)
        return [name for name in names if not any(each.startswith(name) for each in known)]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            fix = did_you_mean(value, action.choices) or f"see {self.prog} --help for all of them"
            kind = str(action.metavar).lower()
            raise argparse.ArgumentError(None, f"unknown {kind} {value!r}; {fix}")
        super()._check_value(action, value)
