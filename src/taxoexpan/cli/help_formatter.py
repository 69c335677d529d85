"""The layout of help texts: examples keep their lines, and commands are listed in groups."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Generator

from taxoexpan.cli.examples import GROUPS


class HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of paragraphs that have indented lines, and fills the others."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = []
        for paragraph in text.split("\n\n"):
            if any(line.startswith(" ") for line in paragraph.splitlines()):
                filled.append(textwrap.indent(paragraph, indent))
            else:
                filled.append(super()._fill_text(paragraph, width, indent))
        return "\n\n".join(filled)


class GroupedHelpFormatter(HelpFormatter):
    """Lists the commands in groups; a command in no group comes last."""

    def _iter_indented_subactions(
        self, action: argparse.Action
    ) -> Generator[argparse.Action, None, None]:
        order = [name for names in GROUPS.values() for name in names]
        yield from sorted(
            super()._iter_indented_subactions(action),
            key=lambda each: order.index(each.dest) if each.dest in order else len(order),
        )

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        is_command = isinstance(action, argparse._SubParsersAction._ChoicesPseudoAction)
        titles = [title for title, names in GROUPS.items() if action.dest == names[0]]
        return f"\n{titles[0]}:\n{text}" if is_command and titles else text
