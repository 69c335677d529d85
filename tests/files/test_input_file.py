"""Regular files, pipes and standard input are read; endless devices and pipes are not."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.files import input_file
from taxoexpan.files.input_file import open_input, read_input

MAX_MEMORY = 3 << 30
READ = "import sys; from pathlib import Path; from taxoexpan.files.input_file import read_input\n"
ALARM = (
    "import signal\n"
    "signal.signal(signal.SIGALRM, lambda *_: sys.exit(7))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
)
REFUSAL = "is a device, which may never end; give a file or a pipe"


def run_limited(
    code: str, arguments: Sequence[str] = (), stdin: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code in a process that can fill only a part of the memory."""
    return subprocess.run(
        [sys.executable, "-c", READ + code, *arguments],
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY)),
    )


def test_a_file_and_an_unnamed_pipe_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert read_input(tmp_path / "file") == b"content"
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    assert read_input(Path(f"/dev/fd/{reading}")) == b"piped"
    os.close(reading)
    assert read_input(Path(os.devnull)) == b""


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/random"])
def test_an_endless_device_is_refused(device: str) -> None:
    done = run_limited("read_input(Path(sys.argv[1]))", [device])
    assert f"FormatError: {device}: {REFUSAL}" in done.stderr
    with pytest.raises(FormatError, match=REFUSAL):
        open_input(Path(device))


@pytest.mark.parametrize(
    "code",
    [
        "from taxoexpan.formats.text_file import TextFile\nTextFile.load(Path('/dev/zero'))",
        "from taxoexpan.features.corpus.text_lines import read_lines\n"
        "next(read_lines(Path('/dev/zero')))",
    ],
    ids=["taxonomies, lists and suggestions", "corpora and glossaries"],
)
def test_the_readers_refuse_an_endless_device(code: str) -> None:
    assert f"FormatError: /dev/zero: {REFUSAL}" in run_limited(code).stderr


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_an_endless_standard_input_is_refused(name: str) -> None:
    with Path("/dev/zero").open("rb") as zeros:
        done = run_limited("read_input(Path(sys.argv[1]))", [name], zeros.fileno())
    assert f"FormatError: {name}: {REFUSAL}" in done.stderr


def test_a_terminal_is_read_until_its_end() -> None:
    ours, terminal = os.openpty()
    os.write(ours, b"a,b\n\x04")
    done = run_limited("sys.stdout.buffer.write(read_input(Path('-')))", stdin=terminal)
    os.close(ours)
    os.close(terminal)
    assert (done.returncode, done.stdout) == (0, "a,b\n"), done.stderr


def test_a_pipe_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_file, "MAX_STREAM_BYTES", 4)
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    with pytest.raises(FormatError, match="the stream has more than 4 bytes; save it as a file"):
        read_input(Path(f"/dev/fd/{reading}"))
    os.close(reading)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_signal_ends_the_reading_of_an_endless_pipe(name: str) -> None:
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as zeros:
        assert zeros.stdout is not None
        done = run_limited(ALARM + "read_input(Path(sys.argv[1]))", [name], zeros.stdout.fileno())
        zeros.kill()
    assert done.returncode == 7, done.stderr
