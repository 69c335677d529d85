"""Regular files, pipes and standard input are read; devices and endless streams are refused."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.files import inputs
from taxoexpan.files.inputs import (
    MAX_REASON,
    open_input,
    parse_json,
    read_input,
    read_regular,
    reason_of,
)

READ = "import sys; from pathlib import Path; from taxoexpan.files.inputs import read_input\n"
ALARM = (
    "import signal\n"
    "signal.signal(signal.SIGALRM, lambda *_: sys.exit(7))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
)


def run(code: str, stdin: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", READ + code]
    return subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=60)


def piped(content: bytes) -> Path:
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return Path(f"/dev/fd/{reading}")


def test_a_file_and_a_pipe_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert read_input(tmp_path / "file") == b"content"
    assert read_input(piped(b"piped")) == b"piped"


def test_devices_and_sockets_are_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path in (Path("/dev/zero"), tmp_path / "socket"):
            with pytest.raises(FormatError, match="is a device or a socket"):
                open_input(path)


def test_a_terminal_is_read_until_its_end() -> None:
    ours, terminal = os.openpty()
    os.write(ours, b"a,b\n\x04")
    done = run("sys.stdout.buffer.write(read_input(Path('-')))", terminal)
    os.close(ours)
    os.close(terminal)
    assert (done.returncode, done.stdout) == (0, "a,b\n"), done.stderr


def test_a_pipe_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_STREAM_BYTES", 4)
    with pytest.raises(FormatError, match="more than 4 bytes"):
        read_input(piped(b"piped"))


def test_a_signal_ends_the_reading_of_an_endless_pipe() -> None:
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as zeros:
        assert zeros.stdout is not None
        done = run(ALARM + "read_input(Path('-'))", zeros.stdout.fileno())
        zeros.kill()
    assert done.returncode == 7, done.stderr


def test_a_file_and_a_link_to_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file") == b"12345"
    assert read_regular(tmp_path / "link") == b"12345"
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
