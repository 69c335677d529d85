"""The definition in an entry of a glossary: the first sentence of its text."""

from __future__ import annotations

import re

from taxoexpan.features.corpus.phrases import split_sentences
from taxoexpan.taxonomy.names import normalize_name

MAX_TEXT_LENGTH = 1000
"""The characters of a text that are kept; definitions are shorter."""

MIN_WORDS = 4
"""The fewest words of a sentence that is a definition."""

_ABBREVIATION = re.compile(
    r"""[(["']*(?:approx|bros|ca|dr|ed|esp|est|gen|gov|hon|jr|lat|lit|mr|mrs|ms|mt|nos?|pl|prof|"""
    r"""pron|rev|sen|sgt|sr|st|vol)\.""",
    re.IGNORECASE,
)

_LIST_PAGE = re.compile(r"#redirect\b|.*:$|.*\b(?:may|can|could) (?:also )?refer to\b", re.I)


def article_text(title: str, text: str) -> str:
    """Return the start of an article as one line; empty if the article defines nothing.

    Articles may begin with their title. A first line that ends with a colon introduces a list, as
    on Wikipedia's pages for ambiguous titles: *Mercury may refer to:*.
    """
    first, _, rest = text.strip().partition("\n")
    if rest and normalize_name(first) == normalize_name(title):
        text = rest.strip()
        first = text.partition("\n")[0]
    if _LIST_PAGE.match(first.strip()):
        return ""
    return " ".join(text[: 2 * MAX_TEXT_LENGTH].split())[:MAX_TEXT_LENGTH]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text; abbreviations and initials do not end it.

    Neither does a full stop inside parentheses, nor one after very few words (*Yahoo! Answers*).
    """
    sentence = ""
    for part in split_sentences(text):
        sentence = f"{sentence} {part}".strip()
        if _is_complete(sentence):
            return sentence
    return next(iter(split_sentences(text)), "") if sentence.count("(") else sentence


def _is_complete(sentence: str) -> bool:
    words = sentence.split()
    return (
        len(words) >= MIN_WORDS
        and sentence.count("(") <= sentence.count(")")
        and not _ABBREVIATION.fullmatch(words[-1])
    )
