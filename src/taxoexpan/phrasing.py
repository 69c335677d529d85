"""Formatting of numbers, lists and untrusted strings for readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

ONE_HALF = 0.5
"""Above it, a suggestion is more likely right than wrong: readers compare numbers with it."""

MAX_QUOTED = 120
"""The number of characters of a quotation in a message."""

MAX_MESSAGE = 3000
"""The number of characters of a message; the longest ones list the columns of a table."""

ELLIPSIS = "…"

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line separators, changes of the writing direction, and half characters."""

_QUOTATION = re.compile(r"""(?<!\w)(?:'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+")""")
"""A text as `repr` writes it."""

_ENDLESS_WORD = re.compile(r"\S{300,}")
"""Text that another parser has quoted in its own way; paths are shorter."""


def visible(text: str, keep: str = "") -> str:
    r"""Escape control characters, such as `\x1b`, which could hide text, unless `keep` has them."""
    if text.isprintable():
        return text
    return _CONTROLS.sub(
        lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text
    )


def visible_json(text: str) -> str:
    """Escape the control characters in a JSON string, except line ends."""
    return _CONTROLS.sub(
        lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text
    )


def shortened(text: str, limit: int) -> str:
    """Return a string of at most `limit` characters, without the middle if it is longer."""
    if len(text) <= limit:
        return text
    start = limit // 2
    return text[:start] + ELLIPSIS + text[len(text) - (limit - start - 1) :]


def shortened_message(text: str) -> str:
    """Shorten long quotations in a message, and the message itself."""
    if len(text) <= MAX_QUOTED:
        return text
    for pattern in (_QUOTATION, _ENDLESS_WORD):
        text = pattern.sub(lambda match: shortened(match[0], MAX_QUOTED), text)
    return shortened(text, MAX_MESSAGE)


def percent(fraction: float) -> str:
    """Format a fraction as a whole percentage."""
    return f"{100 * fraction:.0f}\N{NO-BREAK SPACE}%"


def signed(value: float) -> str:
    """Format a number with two decimals and a typographic minus sign."""
    return f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests the most similar name, or "" if none is similar."""
    close = get_close_matches(name, list(names), 1)
    return f"did you mean {close[0]}?" if close else ""


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Join words for a sentence: "a", "a and b" or "a, b and c"."""
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def join_counts(counts: Mapping[str, int]) -> str:
    """Join what was counted: "red" if there is nothing else, or "2 red and 1 blue"."""
    if len(counts) == 1:
        return next(iter(counts))
    return join_words([f"{count:,} {what}" for what, count in counts.items()])


def pluralize(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: "1 relation", "2,000 relations", "3 leaves"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def ranked_numbers(numbers: Sequence[float], scores: Sequence[float]) -> list[str]:
    """Format the confidences of ranked suggestions with two decimals.

    Neighbors that look equal get a third decimal, or else their scores, to show the order.
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
    """Format a number with two decimals, or four if it would be rounded up to one half."""
    text = f"{number:.2f}"
    return f"{number:.4f}" if number < float(text) == ONE_HALF else text


def _same_as_neighbor(texts: Sequence[str], index: int) -> bool:
    """Return whether a string is next to an equal string."""
    return texts[index] in (*texts[max(index - 1, 0) : index], *texts[index + 1 : index + 2])
