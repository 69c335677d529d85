"""MkDocs hook that generates the reference pages for commands, settings and methods."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from taxoexpan.cli.main import build_parser
from taxoexpan.config import PRESETS, Config, configure, preset_settings
from taxoexpan.evaluation.methods import METHODS


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    for path, content in (
        ("reference/commands.md", commands_page()),
        ("reference/settings.md", settings_page()),
        ("reference/methods.md", methods_page()),
    ):
        files.append(File.generated(config, path, content=content))
    return files


def commands_page() -> str:
    """Return the help text of every command."""
    lines = ["# Commands", "", "Generated from `taxoexpan COMMAND --help`.", ""]
    for name, parser in _subparsers(build_parser()):
        lines += [f"## {name}", "", "```", parser.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def settings_page() -> str:
    """Return a table of every setting with its description and its value in each preset."""
    presets = {name: configure(preset_settings(name)) for name in PRESETS}
    lines = [
        "# Settings",
        "",
        "Generated from `taxoexpan.config.Config`. Change one with `--set NAME=VALUE`, or in",
        "Python with `TaxoExpan(NAME=VALUE)`.",
        "",
        f"| setting | description | {' | '.join(f'`{name}`' for name in presets)} |",
        f"|---|---|{'---|' * len(presets)}",
    ]
    for name, description in Config.describe():
        values = " | ".join(_cell(getattr(preset, name)) for preset in presets.values())
        lines.append(f"| `{name}` | {description} | {values} |")
    return "\n".join([*lines, ""])


def methods_page() -> str:
    """Return a table of the registered methods."""
    rows = [
        f"| `{name}` | {each.description} | {'in a clone' if each.needs_clone else 'everywhere'} |"
        for name, each in METHODS.items()
    ]
    return "\n".join(
        [
            "# Methods",
            "",
            "Generated from `taxoexpan.evaluation.methods`. `taxoexpan evaluate --methods` and the",
            "experiments of the reproduction take these names; experiments take no whole models.",
            "",
            "| method | what it is | available |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def _cell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
