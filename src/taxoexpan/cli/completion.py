"""Print the shell completion script for bash, zsh or fish."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.option_declarations import TEXT, OptionGroup, argument

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, kw_only=True)
class Options(OptionGroup):
    """The options of `completion`."""

    shell: str = argument(None, "shell for which the script is printed", TEXT, choices=SHELLS)


def run(options: Options) -> int:
    """Print the completion script."""
    import shtab

    from taxoexpan.cli.main import build_parser
    from taxoexpan.config import PRESETS
    from taxoexpan.features.encoder_registry import ARGUMENTS, PLAIN
    from taxoexpan.formats.registry import FORMATS

    # These options accept other values, too.
    values = {
        "device": ("auto", "cpu", "cuda", "mps"),
        "features": (*PLAIN, *(f"{name}:" for name in ARGUMENTS)),
        "format": FORMATS,
        "preset": PRESETS,
    }
    parser = build_parser()
    for action in _all_actions(parser):
        if action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif not isinstance(action, argparse._SubParsersAction):
            # shtab takes a mapping of choices for a mapping of commands.
            action.choices = tuple(action.choices or values.get(action.dest, ())) or None
    print(shtab.complete(parser, options.shell))
    return 0


def _all_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments and options of a parser and of all its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _all_actions(subparser)
