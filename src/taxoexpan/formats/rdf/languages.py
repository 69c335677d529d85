"""Which of a concept's labels to take when a file has them in several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile

Text = tuple[str, str]
"""A language tag, blank where there is none, and words in it."""

_NO_LANGUAGE = 3
_FALLBACK = 4


@dataclass(frozen=True)
class Languages:
    """The language that was chosen, the one that the file uses most, and all of them."""

    chosen: str
    main: str
    there: frozenset[str] = frozenset()

    @classmethod
    def choose(cls, source: TextFile, labels: Iterable[list[Text]]) -> Languages:
        """The language that the user names, else the one of most labels."""
        counts = Counter(language for texts in labels for language, _ in texts)
        # Statements have no order, so a tie must not be decided by it.
        main = min(counts, key=lambda tag: (-counts[tag], tag != "en", tag), default="")
        chosen = (source.options.language or main).lower()
        known = sorted(language for language in counts if language)
        if source.options.language and not any(_related(chosen, other) for other in known):
            there = ", ".join(known[:20]) or "none at all"
            message = f"no label is in the language {source.options.language!r}; there are: {there}"
            raise FormatError(source.path, message)
        return cls(chosen, main, frozenset(counts))

    @property
    def tag(self) -> str:
        """What new labels are marked with: the chosen language, or the variety that is there."""
        return min(self.there, key=lambda tag: (self.rank(tag), tag), default=self.chosen)

    def rank(self, language: str) -> int:
        """How far a language is from the chosen one; from `_FALLBACK` on it is another."""
        if language == self.chosen:
            return 0
        if _related(self.chosen, language):
            return 1 if language.startswith(self.chosen) else 2
        if not language:
            return _NO_LANGUAGE
        if language == self.main:
            return _FALLBACK
        return _FALLBACK + (1 if language == "en" else 2)

    def best(self, texts: list[Text]) -> Text | None:
        """The text to take; those that are blank never."""
        there = [text for text in texts if text[1]]
        return min(there, key=lambda text: self.rank(text[0]), default=None)

    def foreign(self, language: str) -> bool:
        """Whether a text is in another language than the chosen one."""
        return self.rank(language) >= _FALLBACK

    def alike(self, texts: list[Text], language: str) -> list[str]:
        """The words that go with a label in `language`."""
        return [
            words
            for other, words in texts
            if words and (other == language or not self.foreign(other))
        ]


def _related(one: str, other: str) -> bool:
    """Whether one language tag is the other or a variety of it: `de` and `de-AT`."""
    return bool(one and other) and (
        one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")
    )
