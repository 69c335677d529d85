from __future__ import annotations

import os
from pathlib import Path

import pytest

from taxoexpan.files.regular_file import MAX_REASON, parse_json, read_regular, reason_of


def test_a_file_and_a_link_to_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    assert read_regular(tmp_path / "link") == b"12345"
    with pytest.raises(ValueError, match="it has 5 bytes, but at most 4 are read"):
        read_regular(tmp_path / "link", 4)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing")


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "circle").symlink_to("circle")
    for name in ("fifo", "endless", "."):
        with pytest.raises(ValueError, match="it is not a regular file"):
            read_regular(tmp_path / name)
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(tmp_path / "circle")


def test_json_is_parsed_as_the_standard_has_it() -> None:
    assert parse_json('{"a": [1, 2.5, null, "é"]}'.encode()) == {"a": [1, 2.5, None, "é"]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b'{"a": 1, "a": 2}', "a key twice"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b'{"a": "\xff"}', "can't decode byte 0xff"),
        (b"", "Expecting value"),
        (b"9" * 5000, "digits"),
    ],
)
def test_other_json_is_an_error(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(content)


def test_a_reason_is_one_short_line() -> None:
    assert reason_of(FileNotFoundError(2, "No such file")) == "No such file"
    assert reason_of(KeyError()) == "KeyError"
    assert reason_of(ValueError("two\nlines")) == "two lines"
    assert len(reason_of(ValueError("x" * 5000))) == MAX_REASON
