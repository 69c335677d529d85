from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.phrases import PhraseMatcher, name_token, tokenize


def test_words_keep_their_inner_hyphens_and_apostrophes() -> None:
    text = "'Don’t' use state-of-the-art-, C3PO (_x_) or NAÏVE Müsli\u00adriegel; हिन्दी – ok."
    assert tokenize(text) == [
        *("don't", "use", "state-of-the-art", "c3po", "x", "or", "naïve"),
        *("müsliriegel", "हिन्दी", "ok"),
    ]


@given(st.text(alphabet="aZ0_-' .", max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_fast_path_for_ascii_gives_the_same_tokens(text: str) -> None:
    assert [*tokenize(text), "é"] == tokenize(f"{text} é")


def test_the_longest_name_from_the_left_is_joined() -> None:
    matcher = PhraseMatcher(["neural network", "deep neural", "network", "network protocol stack"])
    tokens = tokenize("a deep neural network protocol, neural network, neural")
    assert matcher.join(tokens) == [
        *("a", "deep_neural", "network", "protocol", "neural_network", "neural"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "joined"),
    [
        ("support vector machine", "Support-Vector Machines", ["support_vector_machine"]),
        ("part of speech tagging", "part-of-speech tagging", ["part_of_speech_tagging"]),
        ("Dijkstra s algorithm", "Dijkstra’s algorithm", ["dijkstra_s_algorithm"]),
        ("Dijkstra's algorithm", "dijkstra's algorithms", ["dijkstra_s_algorithm"]),
        ("L'Hôpital's rule", "l’hôpital’s rule", ["l_hôpital_s_rule"]),
        ("l hôpital s rule", "L'Hôpital's rules", ["l_hôpital_s_rule"]),
        ("об'єкт", "Об’єкт", ["об_єкт"]),
        ("e-mail", "email e mail", ["email", "e_mail"]),
        ("µ-law", "μ law", ["μ_law"]),
    ],
)
def test_hyphens_apostrophes_and_plurals_match(name: str, text: str, joined: list[str]) -> None:
    assert PhraseMatcher([name]).join(tokenize(text)) == joined
    assert name_token(name) == joined[-1]


def test_a_name_does_not_match_part_of_a_word() -> None:
    matcher = PhraseMatcher(["tree", "based model", "s"])
    assert matcher.join(tokenize("tree-based models' trees")) == ["tree-based", "models", "tree"]


def test_a_plural_that_is_a_name_itself_stays_as_it_is() -> None:
    for names in (["network", "networks"], ["networks", "network"]):
        assert PhraseMatcher(names).join(["networks", "network"]) == ["networks", "network"]


WORDS = st.sampled_from(["a", "b", "c", "as"])


def simple_join(names: list[tuple[str, ...]], tokens: list[str]) -> Iterator[str]:
    """Try every name at every position, the longest first and plurals last."""
    while tokens:
        sizes = sorted({len(name) for name in names}, reverse=True)
        for size, plural in ((size, plural) for size in sizes for plural in (False, True)):
            forms = {(*n[:-1], n[-1] + "s") if plural else n: n for n in names if len(n) == size}
            if name := forms.get(tuple(tokens[:size])):
                yield "_".join(name)
                tokens = tokens[size:]
                break
        else:
            yield tokens[0]
            tokens = tokens[1:]


@pytest.mark.slow
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), max_size=8), st.lists(WORDS, max_size=20))
@settings(max_examples=300, deadline=None)
def test_join_equals_trying_every_name_at_every_position(
    names: list[list[str]], tokens: list[str]
) -> None:
    expected = list(simple_join([tuple(name) for name in names], tokens))
    assert PhraseMatcher(" ".join(name) for name in names).join(tokens) == expected
