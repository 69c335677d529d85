from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.curation.discovery.phrase_finder import PhraseFinder, split_into_passages
from taxoexpan.curation.discovery.words import MAX_PHRASE_WORDS, WordKeys

PHRASES = st.lists(
    st.sampled_from(["red", "tea", "pot"]), min_size=1, max_size=MAX_PHRASE_WORDS + 1
)
TEXT = st.lists(st.sampled_from(["red", "teas", "pot", "lid", "the", "of", ".", "Pot"]))


@given(st.lists(PHRASES, max_size=8), st.lists(TEXT, max_size=3))
@quickly
def test_mentions_are_those_that_a_slow_search_finds(
    phrases: list[list[str]], documents: list[list[str]]
) -> None:
    numbers = {" ".join(phrase): number for number, phrase in enumerate(phrases)}
    texts = [" ".join(document) for document in documents]
    (passage,) = split_into_passages(["of it.", *texts])
    keys = WordKeys()
    words = [keys[token] or "." for token in passage.tokens]
    plain = {
        (numbers[phrase], start, end)
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + MAX_PHRASE_WORDS) + 1)
        if (phrase := " ".join(words[start:end])) in numbers
    }
    finder = PhraseFinder(numbers, keys, ["the"])
    found = list(finder.find(finder.codes_of(passage)).rows())
    assert set(found) == plain
    assert len(found) == len(plain)
