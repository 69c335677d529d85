"""The parser of the command line, which prints wrong arguments safely."""

from __future__ import annotations

import argparse
from typing import NoReturn

from taxoexpan.phrasing import shortened_message, visible


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors show control characters as escapes: a shell inserts file names."""

    def error(self, message: str) -> NoReturn:
        """Print an error with the usage, and exit."""
        super().error(visible(shortened_message(message)))
