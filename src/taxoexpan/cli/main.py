"""The entry point: parses the command line, runs the command, and prints errors as messages."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module, resources
from pathlib import Path

from taxoexpan.cli.examples import GROUPS, WORKFLOW, indented, with_examples
from taxoexpan.cli.messages import announce, warn, without_notes
from taxoexpan.cli.parser import (
    ArgumentParser,
    Version,
    add_options,
    flag,
    options_of,
)
from taxoexpan.cli.standard_output import standard_output
from taxoexpan.cli.stop_signals import StopSignals
from taxoexpan.errors import ChangedFileError, TaxoExpanError, is_out_of_memory
from taxoexpan.option_declarations import OptionGroup
from taxoexpan.shared_options import FeatureOptions, QuietOptions


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 for success, 1 for findings, 2 for an error.

    It is 3 if a file has changed since it was read, so that the result has another name.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = build_parser(arguments)
    if not arguments:
        with suppress(OSError):  # the reader may be gone
            parser.print_help(sys.stderr)
        announce("\ntaxoexpan: no command is given; try taxoexpan demo")
        return 2
    options = parser.parse_args(arguments)
    with StopSignals() as signals:
        try:
            return _run(options)
        except BaseException as error:
            # Libraries may turn the exception of a signal into another one.
            status = signals.exit_status(error)
            return _explain(error) if status is None else signals.report(status)


def _run(options: argparse.Namespace) -> int:
    """Run a command, and print its warnings as messages."""
    command = options.command
    given = options_of(command.Options, options)
    quiet = without_notes(isinstance(given, QuietOptions) and given.quiet)
    with warnings.catch_warnings(), standard_output(), _inherited_privacy(given), quiet:
        warnings.showwarning = _print_once()
        status: int = command.run(given)
        if sys.stdout is not None:
            sys.stdout.flush()
    return status


@contextmanager
def _inherited_privacy(options: OptionGroup) -> Iterator[None]:
    """Create outputs that only those can read who can read all files and directories given."""
    mask = before = os.umask(0o077)
    for value in vars(options).values():
        for path in value if isinstance(value, tuple | list) else (value,):
            with suppress(OSError, ValueError):  # it may be an output, or a wrong name
                mode = Path(path).stat().st_mode if isinstance(path, str | Path) else 0
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    mask |= 0 if mode & stat.S_IRGRP else 0o070
                    mask |= 0 if mode & stat.S_IROTH else 0o007
    os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _explain(error: BaseException) -> int:
    """Print an error as a message, unless it is a bug in the program."""
    if isinstance(error, TaxoExpanError):
        announce(f"taxoexpan: {error.spelled(flag)}")
        return 3 if isinstance(error, ChangedFileError) else 2
    if isinstance(error, MemoryError | RuntimeError) and is_out_of_memory(error):
        announce(
            "taxoexpan: out of memory; use a smaller file, or a smaller model (--set hidden_dim=16)"
        )
    elif isinstance(error, OSError):
        if sys.stdout is not None:  # otherwise, Python would report another error at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        announce(f"taxoexpan: {error.strerror}: {error.filename or 'standard output'}")
    else:
        raise error
    return 2


def _print_once() -> Callable[..., None]:
    """Return a function that prints each warning once, without its place in the code."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in shown:
            from tqdm import tqdm

            shown.add(str(message))
            with tqdm.external_write_mode(file=sys.stderr):  # above a progress bar
                warn(str(message))

    return show


def build_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser with all commands and their options.

    For given arguments, only the commands among them get options: all options take time.
    """
    parser = ArgumentParser(
        prog="taxoexpan",
        description="Add new concepts to an existing taxonomy.",
        epilog=f"{indented('the usual workflow', WORKFLOW)}\n\n"
        "Run taxoexpan COMMAND --help for the options of a command, with examples. Results are "
        "written to standard output or to the file given with -o, and messages to standard error.",
    )
    parser.add_argument("--version", action=Version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in (name for names in GROUPS.values() for name in names):
        command = import_module(f"taxoexpan.cli.{name}")
        summary = (command.__doc__ or "").partition("\n")[0]  # python -OO removes it
        subparser = commands.add_parser(name, help=summary, description=command.__doc__)
        if arguments is not None and name not in arguments:
            continue
        declared: type[OptionGroup] = command.Options
        add_options(subparser, declared)
        epilog = [with_examples(name), getattr(command, "EPILOG", "")]
        if issubclass(declared, FeatureOptions):
            # The module `config` is slow to import.
            preset = resources.files("taxoexpan").joinpath("presets/best.toml").read_text("utf-8")
            described = "The page Settings of the documentation (make docs) describes them."
            settings = f"Settings for --set: {', '.join(tomllib.loads(preset))}. {described}"
            epilog.append(settings)
        subparser.epilog = "\n\n".join(filter(None, epilog))
        subparser.set_defaults(command=command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
