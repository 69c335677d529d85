"""Types of command-line arguments: numbers within bounds."""

from __future__ import annotations

import argparse


def natural(text: str) -> int:
    """Parse a whole number, zero or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of zero or more")
    return int(text)


def number_range(text: str) -> tuple[int, int]:
    """Parse two whole numbers with a hyphen between them."""
    first, hyphen, last = text.partition("-")
    if not hyphen:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range; write it as 5000-5999")
    return natural(first.strip()), natural(last.strip())


def positive(text: str) -> int:
    """Parse a whole number above zero."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def seed(text: str) -> int:
    """Parse a random seed."""
    if not (text.isascii() and text.isdigit()) or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def fraction(text: str) -> float:
    """Parse a number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number
