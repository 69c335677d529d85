"""The option of the commands that rank parents."""

from __future__ import annotations

import argparse


def add_exact(parser: argparse.ArgumentParser) -> None:
    """Add the option to rank all anchors."""
    parser.add_argument(
        "--exact",
        action="store_true",
        help="compare every new concept with all concepts of the taxonomy, even if there are so "
        "many that only likely parents are searched by default (200,000 or more)",
    )
