from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.document import (
    Array,
    JsonDocument,
    Number,
    Object,
    load,
    parse,
    value_span,
)
from taxoexpan.formats.text_file import TextFile
from tests.support.strategies import quickly

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=20,
)
texts = st.builds(
    json.dumps,
    values,
    ensure_ascii=st.booleans(),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    separators=st.sampled_from([(",", ":"), (", ", " : "), (" ,\r\n", ":\n")]),
)


def source(text: str) -> TextFile:
    return TextFile(Path("food.json"), text)


def expected(text: str) -> Any:
    """Return the value that the standard library reads; refuse repeated keys."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("repeated key")
        return dict(pairs)

    return json.loads(
        text, object_pairs_hook=once, parse_int=Number, parse_float=Number, parse_constant=Number
    )


def containers(value: Any) -> Iterator[Object | Array]:
    if isinstance(value, Object | Array):
        yield value
        for inner in value.values() if isinstance(value, Object) else value:
            yield from containers(inner)


@given(texts)
@quickly
def test_values_equal_those_of_the_standard_library(text: str) -> None:
    assert parse(source(text)) == load(source(text)) == expected(text)


@given(texts)
@quickly
def test_objects_and_lists_know_the_position_of_each_part(text: str) -> None:
    for value in containers(parse(source(text))):
        assert expected(text[value.start : value.end]) == value
        for key in value if isinstance(value, Object) else range(len(value)):
            start, end = value_span(text, value, key)
            assert expected(text[start:end]) == value[key]


@given(texts, st.data())
@quickly
def test_invalid_json_is_refused_if_the_standard_library_refuses_it(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 3)))
    put = data.draw(st.text('{}[],:"\\ 01-.eE+tfnNI\n\x01a', max_size=3))
    text = text[:start] + put + text[end:]
    try:
        value = expected(text)
    except ValueError:
        with pytest.raises(FormatError):
            parse(source(text))
    else:
        assert parse(source(text)) == value


@pytest.mark.parametrize("number", ["0", "-0", "12", "1.50", "1e400", "-Infinity", "9" * 5000])
def test_numbers_are_kept_as_written(number: str) -> None:
    value = load(source(f"[{number}]"))
    assert value == [number]
    assert isinstance(value[0], Number)


def test_values_and_entries_have_line_numbers() -> None:
    document = JsonDocument.locate(source('{"a": 1,\n"b": [\n2,\n\n3], "\\u0063": {}}'))
    value = document.value
    assert [document.line(value, key) for key in "abc"] == [1, 2, 5]
    assert [document.line(value["b"], place) for place in (0, 1)] == [3, 5]
    assert document.line(value["c"]) == 5


def test_values_without_positions_have_no_lines() -> None:
    document = JsonDocument.load(source('{"a": 1}'))
    assert (document.line(document.value), document.line(document.value, "a")) == (0, 0)


def test_depth_is_unlimited() -> None:
    depth = 100_000
    value = load(source("[" * depth + "]" * depth))
    for _ in range(depth - 1):
        (value,) = value
    assert value == []


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("", 1, "the end of the file"),
        ("[1,\n]", 2, "']'"),
        ("[1\n2]", 2, "'2]'"),
        ('{"a": 1]', 1, "']'"),
        ("{\n'a': 1}", 2, "'a': 1}"),
        ('{"a" 1}', 1, "not valid JSON"),
        ("[]\n{}", 2, "'{}'"),
        ('\n["a\n"]', 2, "quote"),
        ('[\n"\\x"]', 2, "not valid JSON"),
        ('{"a": 1,\n"a": 2}', 2, "the key 'a' is used twice"),
        ('[{"a": 1, "\\u0061": 2}]', 1, "the key 'a' is used twice"),
    ],
)
def test_an_error_names_its_line(text: str, line: int, word: str) -> None:
    with pytest.raises(FormatError, match=f"line {line}: ") as caught:
        load(source(text))
    assert word in str(caught.value)
