from __future__ import annotations

import pytest

from taxoexpan.features.glossary.glossary import article_text, first_sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "Tea is a drink.",
        "A tool, e.g. a hammer or i.e. a thing of the U.S. Army, is used by hand.",
        "J. R. R. Tolkien was an English writer.",
        "St. Louis is a city named by Dr. Smith and Mr. Jones.",
        "Yahoo! Answers is a site.",
        "A chip (approx. 5 mm. Often less.) is small.",
        "Version 2.0 of ASP.NET is a framework!",
        "Foo Inc. is a company.",
        "Is tea a drink?",
    ],
)
def test_only_the_first_sentence_is_taken(sentence: str) -> None:
    assert first_sentence(f"{sentence} It was made in 1999. Nobody knows why.") == sentence
    assert first_sentence(sentence) == sentence


def test_a_text_without_a_complete_sentence_is_kept() -> None:
    assert first_sentence("a small drink of tea") == "a small drink of tea"
    assert first_sentence("Tea.") == "Tea."
    assert first_sentence("A (broken parenthesis is here. It goes on. So") == (
        "A (broken parenthesis is here."
    )
    assert first_sentence("") == ""


def test_an_article_may_begin_with_its_title() -> None:
    assert (
        article_text("Green Tea", "Green tea\n\nGreen tea is\na drink.") == "Green tea is a drink."
    )
    assert article_text("Green tea", "Green tea") == "Green tea"


@pytest.mark.parametrize(
    "text",
    [
        "Mercury most commonly refers to:\nMercury (planet)",
        "Mercury\n\nMercury may refer to:",
        "Mercury may also refer to a planet, a god or a metal",
        "#REDIRECT [[Mercury (planet)]]",
        "  ",
    ],
)
def test_an_article_that_defines_nothing_has_no_text(text: str) -> None:
    assert article_text("Mercury", text) == ""
