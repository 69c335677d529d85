from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from discovery_corpus import corpus, texts

from taxoexpan.cli.main import main
from taxoexpan.formats.concept_list import read_concepts


def run(*arguments: str | Path) -> int:
    return main(["discover", *map(str, arguments)])


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.csv"
    path.write_text("child,parent\ngrammar,\nmachine translation,grammar\n", encoding="utf-8")
    return path


def test_the_command_writes_a_list_of_new_concepts(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    output = tmp_path / "new.csv"
    assert run(path, "--taxonomy", topics, "-o", output, "--workers", "1") == 0
    assert "slot filling" in [concept.label for concept in read_concepts(output)]
    assert "may be in the taxonomy already" in capsys.readouterr().err
    assert run(path, "--taxonomy", topics, "-o", output) == 2
    assert "already exists" in capsys.readouterr().err


def test_the_command_prints_csv_or_json(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    assert run(path, "--taxonomy", topics, "--quiet") == 0
    header = "label,definition,synonyms,count,documents,score,might_duplicate,example"
    assert capsys.readouterr().out.splitlines()[0] == header
    assert run(path, "--taxonomy", topics, "--quiet", "--json", "--top", "1") == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert list(only) == header.split(",")


def test_the_command_refuses_a_corpus_without_new_phrases(
    tmp_path: Path, topics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = corpus(tmp_path, ["The grammar is this."] * 9)
    assert run(path, "--taxonomy", topics, "--quiet") == 2
    assert f"{path}: no new phrase" in capsys.readouterr().err


PASSES = ("counting", "reading")

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")


class Endless(threading.Thread):
    """Writes a corpus into a pipe: a finite one for the earlier passes, then an endless one."""

    def __init__(self, path: Path, doing: str) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._earlier = PASSES.index(doing)
        self.begun = threading.Event()
        os.mkfifo(path)

    def run(self) -> None:
        block = ("\n".join(texts("We like slot filling.", times=900)) + "\n").encode()
        for _ in range(self._earlier):
            with self._path.open("wb", buffering=0) as file:
                # The next pass opens another pipe, so this one can end.
                self._path.unlink()
                os.mkfifo(self._path)
                for _ in range(4):
                    file.write(block)
        with suppress(BrokenPipeError), self._path.open("wb") as file:
            self.begun.set()
            while True:
                file.write(block)


def children(parent: int) -> list[int]:
    """The running child processes of a process."""
    running = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, owner = path.read_text().rpartition(")")[2].split()[:2]
            if int(owner) == parent and state != "Z":
                running.append(int(path.parent.name))
    return running


def is_running(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def discovering(topics: Path, doing: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """The command and its two workers during a pass; afterwards all of them must be gone."""
    path, output = topics.with_name("corpus.txt"), topics.with_name("new.csv")
    feeder = Endless(path, doing)
    feeder.start()
    command = f"-m taxoexpan.cli.main discover {path} --taxonomy {topics} -o {output} --workers 2"
    process = subprocess.Popen(
        [sys.executable, *command.split()],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers: list[int] = []
    try:
        assert feeder.begun.wait(60)
        wait_until(lambda: len(children(process.pid)) == 2)
        workers = children(process.pid)
        yield process, workers
        wait_until(lambda: not any(map(is_running, workers)))
        assert not output.exists()
    finally:
        for number in [process.pid, *workers]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.communicate()


@on_linux
@pytest.mark.parametrize("doing", PASSES)
def test_an_interrupt_ends_either_pass(topics: Path, doing: str) -> None:
    with discovering(topics, doing) as (process, _):
        os.killpg(process.pid, signal.SIGINT)  # to the workers too, as a terminal does
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "taxoexpan: stopped"


@on_linux
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_workers_end_with_the_command(topics: Path, number: signal.Signals, status: int) -> None:
    with discovering(topics, "counting") as (process, _):
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert errors == ""


@on_linux
@pytest.mark.parametrize("doing", PASSES)
def test_a_worker_that_is_killed_ends_the_command(topics: Path, doing: str) -> None:
    with discovering(topics, doing) as (process, workers):
        os.kill(workers[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.startswith(
        "taxoexpan: a process that reads the corpus ended unexpectedly; if memory"
    )
    assert len(errors.splitlines()) == 1
