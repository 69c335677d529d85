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

from taxoexpan.formats.concept_list import read_concepts
from tests.support.command_line import run
from tests.support.discovery_corpus import corpus, texts


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.csv"
    path.write_text("child,parent\ngrammar,\nmachine translation,grammar\n", encoding="utf-8")
    return path


def test_the_command_writes_a_list_of_new_concepts(tmp_path: Path, topics: Path) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    output = tmp_path / "new.csv"
    messages = run("discover", path, "--taxonomy", topics, "-o", output, "--workers", "1").err
    assert "slot filling" in [concept.label for concept in read_concepts(output)]
    assert f"in {output}" in messages
    messages = run("discover", path, "--taxonomy", topics, "-o", output, status=2).err
    assert "already exists" in messages


def test_the_command_prints_csv_or_json(tmp_path: Path, topics: Path) -> None:
    path = corpus(tmp_path, texts("We like slot filling."))
    printed = run("discover", path, "--taxonomy", topics, "--quiet").out
    header = "label,synonyms,count,documents,score,example"
    assert printed.splitlines()[0] == header
    printed = run("discover", path, "--taxonomy", topics, "--quiet", "--json", "--top", "1").out
    (only,) = json.loads(printed)
    assert list(only) == header.split(",")


def test_the_command_refuses_a_corpus_without_new_phrases(tmp_path: Path, topics: Path) -> None:
    path = corpus(tmp_path, ["The grammar is this."] * 9)
    messages = run("discover", path, "--taxonomy", topics, "--quiet", status=2).err
    assert f"{path}: no new phrase" in messages


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")


def feed_endlessly(pipe: Path) -> None:
    """Write an endless corpus into a pipe, until its reader is gone."""
    block = ("\n".join(texts("We like slot filling.", times=900)) + "\n").encode()
    with suppress(BrokenPipeError), pipe.open("wb") as file:
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
def discovering(topics: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """The command and its two workers at work; afterwards all of them must be gone."""
    path, output = topics.with_name("corpus.txt"), topics.with_name("new.csv")
    os.mkfifo(path)
    threading.Thread(target=feed_endlessly, args=[path], daemon=True).start()
    command = f"-m taxoexpan.cli.main discover {path} --taxonomy {topics} -o {output} --workers 2"
    process = subprocess.Popen(
        [sys.executable, *command.split()],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    workers: list[int] = []
    try:
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
def test_an_interrupt_ends_the_command_and_its_workers(topics: Path) -> None:
    with discovering(topics) as (process, _):
        os.killpg(process.pid, signal.SIGINT)  # to the workers too, as a terminal does
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "taxoexpan: stopped"


@on_linux
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_workers_end_with_the_command(topics: Path, number: signal.Signals, status: int) -> None:
    with discovering(topics) as (process, _):
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert errors == ""


@on_linux
def test_a_worker_that_is_killed_ends_the_command(topics: Path) -> None:
    with discovering(topics) as (process, workers):
        os.kill(workers[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = errors.splitlines()
    assert "ended unexpectedly" in line
