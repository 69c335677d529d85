"""Numbers and lists as people read them, and when a page was made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def signed(value: float) -> str:
    """A number with two decimals that may be below zero, with a real minus."""
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")


def listed(names: Sequence[str]) -> str:
    """One, one and another, or several with commas."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def colophon(made: datetime) -> str:
    """What made the page, and when."""
    day = f"{made.day} {made:%B %Y}, {made:%H:%M %Z}".rstrip()
    return f"Made by taxoexpan {version('taxoexpan')} on {day}."


def pluralize(count: int, noun: str) -> str:
    """A number and what there are so many of: 1 relation, 2,000 relations."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
