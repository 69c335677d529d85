"""Numbers, lists and texts of others."""

from __future__ import annotations

import json

import pytest

from taxoexpan.phrasing import (
    MAX_MESSAGE,
    MAX_QUOTED,
    pluralize,
    ranked_numbers,
    shortened,
    shortened_message,
    visible,
    visible_json,
)


@pytest.mark.parametrize(
    ("numbers", "scores", "texts"),
    [
        ([0.754, 0.07, 0.01], [0.5, 0.3, 0.2], ["0.75", "0.07", "0.01"]),
        ([0.414, 0.411, 0.1], [0.5, 0.3, 0.2], ["0.414", "0.411", "0.10"]),
        (
            [0.5, 0.136, 0.136],
            [0.9, 0.06, 0.04],
            ["0.50", "0.14 (score 0.06)", "0.14 (score 0.04)"],
        ),
        ([0.021, 0.0209], [0.021, 0.0209], ["0.021", "0.021"]),
        ([0.497], [0.1], ["0.4970"]),
        ([0.5], [0.1], ["0.50"]),
        ([], [], []),
    ],
)
def test_the_order_of_ranked_numbers_is_visible(
    numbers: list[float], scores: list[float], texts: list[str]
) -> None:
    assert ranked_numbers(numbers, scores) == texts


def test_a_noun_agrees_with_its_count() -> None:
    assert pluralize(1, "leaf", "leaves") == "1 leaf"
    assert pluralize(2, "leaf", "leaves") == "2 leaves"
    assert pluralize(2000, "relation") == "2,000 relations"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("crème 水 👨\u200d👩 ‏שלום", "crème 水 👨\u200d👩 ‏שלום"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\x9b8m\x7f", r"a\x9b8m\x7f"),
        ("a\r\n\tb", r"a\r\n\tb"),
        ("a\u202eb\u2069\u2028", r"a\u202eb\u2069\u2028"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_control_characters_are_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(text, keep="\n") == shown.replace(r"\n", "\n")


def test_json_stays_exact() -> None:
    value = {"a\x9b\x7f": ["\x1b", "\u202e", "\u2028", "é", "\n"]}
    text = visible_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(text) == value
    assert visible(text, keep="\n") == text


def test_a_long_text_is_shortened_in_the_middle() -> None:
    assert shortened("abcdefgh", 8) == "abcdefgh"
    assert shortened("abcdefghi", 8) == "abcd…ghi"


def test_a_long_quotation_leaves_the_rest_of_a_message() -> None:
    first, second = "it's " * 4000, '"\\' * 4000
    message = f"x.csv, line 3: {first!r} is {second!r}; the file's rows must differ"
    short = shortened_message(message)
    assert short.startswith("x.csv, line 3: \"it's ")
    assert " is '" in short
    assert short.endswith("; the file's rows must differ")
    assert len(short) <= 2 * MAX_QUOTED + 60


def test_an_endless_word_is_shortened() -> None:
    short = shortened_message(f"x.ttl: not well-formed: {'z' * 18_000} is no name; correct it")
    assert len(short) < MAX_QUOTED + 60
    assert short.endswith("is no name; correct it")


def test_no_message_is_endless() -> None:
    short = shortened_message("the line is " + "x " * 18_000 + "; correct it")
    assert len(short) == MAX_MESSAGE
    assert short.endswith("; correct it")
