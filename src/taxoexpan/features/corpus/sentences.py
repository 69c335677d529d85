"""The sentences of a text."""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(
    # A single character class first lets the regex engine skip other text quickly.
    r"[.!?。！？\n](?:(?<=[.!?])"
    # Abbreviations and initials do not end a sentence.
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)(?<!\bal\.)(?<!\bFig\.)(?<!\b[A-Z]\.)"
    r"[\"')\]”’]*(\s++)|(?<=[。！？])()|(?<=\n)\s*\n)"
)


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, at full stops that no lower-case letter follows."""
    sentences = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if not text[match.end() : match.end() + 1].islower():
            sentences.append(text[start : match.start(match.lastindex or 0)])
            start = match.end()
    return [stripped for sentence in [*sentences, text[start:]] if (stripped := sentence.strip())]
