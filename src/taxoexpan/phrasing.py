"""Formats numbers and lists for readers."""

from __future__ import annotations

from collections.abc import Sequence

ONE_HALF = 0.5
"""Above it, a suggestion is more likely right than wrong: readers compare numbers with it."""


def percent(fraction: float) -> str:
    """Format a fraction as a whole percentage."""
    return f"{100 * fraction:.0f}\N{NO-BREAK SPACE}%"


def signed(value: float) -> str:
    """Format a number that may be negative with two decimals and a typographic minus sign."""
    return f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Join words as in a sentence: "a", "a and b" or "a, b and c"."""
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def pluralize(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: "1 relation", "2,000 relations", "3 leaves"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def ranked_numbers(numbers: Sequence[float], scores: Sequence[float]) -> list[str]:
    """Format the confidences of ranked suggestions with two decimals, so that the order is visible.

    Neighbors that look equal get a third decimal. If they still look equal, their scores follow,
    unless the numbers are scores themselves.
    """
    texts = [_two_decimals(number) for number in numbers]
    finer = [f"{number:.3f}" for number in numbers]
    return [
        text
        if not _same_as_neighbor(texts, index)
        else finer[index]
        if numbers[index] == scores[index] or not _same_as_neighbor(finer, index)
        else f"{text} (score {scores[index]:.2g})"
        for index, text in enumerate(texts)
    ]


def _two_decimals(number: float) -> str:
    """Format a number with two decimals, or more if it is below one half and would not look so."""
    text = f"{number:.2f}"
    return f"{number:.4f}" if number < float(text) == ONE_HALF else text


def _same_as_neighbor(texts: Sequence[str], index: int) -> bool:
    """Return whether a text is next to an equal one."""
    return texts[index] in (*texts[max(index - 1, 0) : index], *texts[index + 1 : index + 2])
