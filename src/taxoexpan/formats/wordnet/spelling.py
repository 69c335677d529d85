"""Words, glosses and sense ids as WordNet spells them."""

from __future__ import annotations

import re

EXAMPLE_START = '; "'
SENSE_ID = re.compile(r"(?P<lemma>.+)#(?P<pos>[nv])#(?P<sense>[1-9][0-9]{0,5})", re.DOTALL)

_BREAKS = re.compile(r"[ \r\n]")


def definition_in(gloss: str) -> str:
    """Return a gloss without its examples."""
    return gloss.partition(EXAMPLE_START)[0].strip()


def as_word(name: str) -> str:
    """Return a name as WordNet spells it, or "" if nothing is left."""
    word = _BREAKS.sub("_", name)
    if is_blank(word):
        return ""
    # A single bar would start the gloss.
    return "¦" if word == "|" else word


def is_blank(word: str) -> bool:
    """Return whether a word consists of spaces only."""
    return not word.replace("_", " ").strip()


def as_gloss(definition: str) -> str:
    """Return a definition as one line."""
    return _BREAKS.sub(" ", definition).strip()
