"""The label, the synonyms and the definition of an entry in the chosen language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from taxoexpan.formats.openfoodfacts.blocks import Block, Blocks, NameLine
from taxoexpan.formats.rdf.languages import Languages
from taxoexpan.formats.text_file import TextFile

NO_LANGUAGE = "xx"
"""The language code of names that are the same in every language."""


def choose_language(source: TextFile) -> Languages:
    """Choose the language that the user requests, or else that of most ids."""
    blocks = source.parsed(Blocks.parse)
    labels = (
        [(language_tag(line.language), line.names[0]) for block in same for line in block.names]
        for same in blocks.by_id.values()
    )
    languages = Languages.choose(source, labels)
    ids = Counter(language_tag(id.partition(":")[0]) for id in blocks.by_id)
    main = max(ids, key=lambda tag: ids[tag], default="")
    chosen = languages.chosen if source.options.language else main
    return replace(languages, chosen=chosen, main=main)


@lru_cache(maxsize=1000)
def language_tag(code: str) -> str:
    """Return the language tag for a code of the file, such as `nl-be` for `nl_be`."""
    return "" if code == NO_LANGUAGE else code.replace("_", "-").lower()


def label_line(languages: Languages, blocks: Sequence[Block]) -> NameLine:
    """Return the line with the label of an entry."""
    lines = [line for block in blocks for line in block.names]
    return min(lines, key=lambda line: languages.rank(language_tag(line.language)))


def other_names(
    languages: Languages, label: NameLine, blocks: Sequence[Block]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the synonyms of an entry, and its names in other languages.

    Names in no language are synonyms too.
    """
    same: dict[str, None] = {}
    foreign: dict[str, None] = {}
    for line in (line for block in blocks for line in block.names):
        is_same = line.language == label.language
        is_same = is_same or not languages.is_foreign(language_tag(line.language))
        (same if is_same else foreign).update(dict.fromkeys(filter(None, line.names)))
    same.pop(label.names[0], None)
    return tuple(same), tuple(foreign)


def text_tags(label: NameLine, blocks: Sequence[Block]) -> dict[str, str]:
    """Return the language tag of every text of an entry, first of those on the label's line."""
    lines = [label, *(line for block in blocks for line in block.names)]
    tags: dict[str, str] = {}
    for line in lines:
        for name in line.names:
            tags.setdefault(name, language_tag(line.language))
    for code, text in (each for block in blocks for each in block.descriptions):
        tags.setdefault(text, language_tag(code))
    return tags


def definition(languages: Languages, label: NameLine, blocks: Sequence[Block]) -> str:
    """Return the description in the language of the label, or else in the chosen one."""
    texts = [
        (language_tag(code), text) for block in blocks for code, text in block.descriptions if text
    ]
    language = language_tag(label.language)
    matching = [text for tag, text in texts if tag == language]
    return next(iter(matching or languages.matching(texts, language)), "")
