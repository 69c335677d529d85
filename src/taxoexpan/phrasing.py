"""Formats numbers and lists for readers."""

from __future__ import annotations

from collections.abc import Sequence


def percent(fraction: float) -> str:
    """Format a fraction as a whole percentage."""
    return f"{100 * fraction:.0f}\N{NO-BREAK SPACE}%"


def signed(value: float) -> str:
    """Format a number that may be negative with two decimals and a typographic minus sign."""
    return f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Join words as in a sentence: "a", "a and b" or "a, b and c"."""
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def pluralize(count: int, noun: str) -> str:
    """Format a count with its noun: "1 relation", "2,000 relations"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
