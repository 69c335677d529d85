"""Warns if labels are not in English, which is the only language that some encoders know."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Sequence

MAX_FOREIGN_FRACTION = 0.1
"""Labels with a larger fraction of foreign ones are not English.

Measured on 3,000 product categories of Shopify in each of 30 languages: Dutch 23 %, Finnish 28 %,
Italian 31 %, German 41 %, French 77 %, Czech 89 %, Russian, Japanese and Chinese over 99 %; only
Indonesian, with 7 %, is missed. Labels of one word show less: Czech 47 %, German 30 %, French 21 %,
Italian and Dutch 1 % at most. English stays far below: product categories, computer science and the
nouns of WordNet 0.3 % at most, names of chemicals 0.6 %, and names of species and genera, most of
them Latin, none. The words below were chosen on these lists too. WordNet and the chemicals are in
ASCII, so accents in English labels were measured on the product categories and computer science.
"""

_FUNCTION_WORDS = {
    "auf", "aus", "aux", "avec", "con", "da", "dan", "de", "degli", "del", "della",
    "delle", "dei", "der", "di", "dla", "du", "een", "für", "för", "het", 
    "için", "les", "los", "mit", "og", "och", "oder", "para", "pentru",
    "por", "pour", "senza", "sur", "til", "till", "una", "und", "une", "untuk", "ve",
    "von", "voor", "za", "zum", "zur",
}  # fmt: skip
"""Frequent short words of other languages that are neither English nor Latin."""

_WORD = re.compile(r"[^\W\d_]+")


def warn_of_language(features: str, labels: Sequence[str]) -> None:
    """Warn if an encoder that only knows English gets labels in another language."""
    if not all(_is_english(part.strip().lower()) for part in features.split("+")):
        return
    foreign = sum(map(_is_foreign, labels))
    if foreign > MAX_FOREIGN_FRACTION * len(labels):
        warnings.warn(
            f"the labels do not seem to be English, but the encoder {features!r} knows only "
            "English; set features to a multilingual one: transformer:NAME_OR_PATH",
            stacklevel=3,
        )


def _is_english(encoder: str) -> bool:
    """Return whether an encoder is known to be for English only."""
    is_transformer = encoder.startswith("transformer:")
    return encoder == "static" or (is_transformer and encoder.endswith("all-minilm-l6-v2"))


def _is_foreign(label: str) -> bool:
    """Return whether a label has a non-English letter or function word."""
    words = _WORD.findall(unicodedata.normalize("NFKC", label).lower())
    return any(word in _FUNCTION_WORDS or not _has_english_letters(word) for word in words)


def _has_english_letters(word: str) -> bool:
    """Return whether a word is in ASCII or a single Greek letter, as in *α-pinene*."""
    return word.isascii() or (len(word) == 1 and "α" <= word <= "ω")
