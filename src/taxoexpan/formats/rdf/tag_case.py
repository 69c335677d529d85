"""The upper and lower case of language tags, such as `en-GB`, which pyoxigraph does not keep."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import pyoxigraph as ox

from taxoexpan.formats.format import Target
from taxoexpan.formats.rdf.statements import JSON_LD, RDF_XML, detect_syntax
from taxoexpan.formats.text_file import TextFile

_TAG = r"([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)"
# The characters before a tag do not occur unescaped inside a text, so no text can match.
_IN_XML = re.compile(rf"""(<[^<>]*\sxml:lang\s*=\s*["']){_TAG}(?=["'])""")
_IN_JSON = re.compile(rf"""("@?language"\s*:\s*"|"(?=[\w-]+"\s*:)){_TAG}(?=")""")
_IN_TURTLE = re.compile(rf"""((?<!\\)"@){_TAG}(?![\w-])""")


def tag_spellings(source: TextFile) -> dict[str, str]:
    """Return how a file spells each language tag most often, if not in lower case."""
    counts = Counter(match[2] for match in _places(detect_syntax(source)).finditer(source.text))
    return spellings(sorted(counts, key=lambda tag: counts[tag]))


def spellings(tags: Iterable[str]) -> dict[str, str]:
    """Return the spelling of each tag that is not in lower case; the last one counts."""
    last = {tag.lower(): tag for tag in tags}
    return {lower: tag for lower, tag in last.items() if lower != tag}


def target_spellings(target: Target) -> dict[str, str]:
    """Return the spellings of the tags of a new file."""
    return spellings([*target.other_tags.values(), target.language])


def respelled(text: str, known: Mapping[str, str], syntax: ox.RdfFormat) -> str:
    """Return serialized RDF with these spellings of its language tags."""
    if not known:
        return text
    return _places(syntax).sub(lambda match: match[1] + known.get(match[2], match[2]), text)


def _places(syntax: ox.RdfFormat | None) -> re.Pattern[str]:
    """Return a pattern with the text before a tag, and the tag."""
    if syntax == RDF_XML:
        return _IN_XML
    return _IN_JSON if syntax == JSON_LD else _IN_TURTLE
