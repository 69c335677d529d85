"""The ids that Open Food Facts derives from names, and the names on one line of a file.

The rules are `get_string_id_for_lang` and `sanitize_taxonomy_line` in openfoodfacts-server.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_UNACCENTED_LANGUAGES = frozenset({"ca", "en", "es", "fr", "it", "nl", "pt", "sk", "xx"})
_UNACCENT = str.maketrans(
    {
        **dict(zip("àáâãäåçèéêëìíîïñòóôõöùúûüýÿ", "aaaaaaceeeeiiiinooooouuuuyy", strict=True)),
        "œ": "oe",
        "æ": "ae",
        "ß": "ss",
    }
)
_ENTITY = re.compile(r"&(?:quot|lt|gt);")
_SEPARATORS = re.compile(
    r"""[-\s\x00-\x1f\u200b!"#$%&'()*+,/:;<=>?@\[\\\]^_`{|}~¡¢£¤¥¦§¨©ª«¬®¯°±²³´µ¶·¸¹º»¼⅓½⅔¾¿×ˆ˜"""
    r"""\u2013\u2014\u2018\u2019\u201a“”„†‡•…‰‹›€™]+"""
)
_CASE_KEPT = re.compile(r"[a-z-]+\.[a-zA-Z0-9_-]{9,}")
_ROMAN_NUMERAL = re.compile(r"\(([ivx]+)\)", re.IGNORECASE)
_COMMA_IN_NUMBER = re.compile(r"(\d),(\d)")
_LONE_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
_SEPARATOR = re.compile(r"\s*,\s*")
_PROTECTED = "\0"
"""Stands for a comma that belongs to a name; a text file cannot contain this character."""
_PLURALS = {"en": "s", "es": "s", "fr": "sx"}


def tag_id(language: str, name: str) -> str:
    """Return the id of a name without the language code, or "" if no letters or digits are left."""
    text = unicodedata.normalize("NFC", name)
    if not _CASE_KEPT.fullmatch(text):
        # Character by character, because Perl has no special form of a final sigma.
        text = text.lower() if text.isascii() else "".join(map(str.lower, text))
        text = text.replace(".", "-")
    if language in _UNACCENTED_LANGUAGES and not text.isascii():
        text = text.translate(_UNACCENT)
    if "&" in text:
        text = _ENTITY.sub("-", text)
    return _SEPARATORS.sub("-", text).strip("-")


def split_names(text: str) -> list[str]:
    r"""Split the names on a line; `\,` and a comma between digits belong to a name."""
    if "," not in text:
        return [text.strip()]
    text = _COMMA_IN_NUMBER.sub(rf"\1{_PROTECTED}\2", text).replace("\\,", _PROTECTED)
    return [name.replace(_PROTECTED, ",").strip() for name in _SEPARATOR.split(text)]


def plain_numerals(text: str) -> str:
    """Return a line without the parentheses of its first roman numeral."""
    return _ROMAN_NUMERAL.sub(r"\1", text, count=1) if "(" in text else text


def label_key(language: str, label: str) -> str:
    """Return the id, without language code, of a label that is the first name on its line."""
    return tag_id(language, plain_numerals(label))


def split_tag_ids(language: str, text: str) -> list[str]:
    """Return the ids of the names on a line."""
    return [tag_id(language, name) for name in split_names(plain_numerals(text))]


def escape_commas(name: str) -> str:
    r"""Write `\,` for every comma in a name that would separate names."""
    escaped = _LONE_COMMA.sub(r"\\,", name)
    return escaped if split_names(escaped) == [name] else name.replace(",", "\\,")


def reduced_tag_id(language: str, id: str, stopwords: Collection[str]) -> str:
    """Return an id without stop words and plural endings, which parent lines may omit."""
    endings = _PLURALS.get(language, "")
    words = [word for word in id.split("-") if word not in stopwords]
    return "-".join(word[:-1] if word[-1:] in tuple(endings) else word for word in words)
